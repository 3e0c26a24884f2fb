//! Coded inner nodes: separators and child pages of an updatable search tree, as lines plus packed residuals.
//!
//! An inner node maps a key to the page of a child: separators `s_0 < s_1 < ...` and children `c_0, c_1, ...`, of which child `j` holds
//! the keys above `s_(j-1)` and up to `s_j`, inclusive. What a B+-tree stores in 12 bytes a child (20 for keys of 16 bytes) takes 1 to 4
//! here, because three things are predictable:
//!
//! 1. **A separator may be any value in the gap between two children**, so that whoever splits a child takes the [`roundest`] value that
//!    is possible. The separators of a *group* of neighbours are then multiples of `2^shift`, and only `q = separator >> shift` is coded.
//! 2. **Children are of similar sizes**, so that the `q` of a group lie near a line.
//! 3. **Neighbouring children were often written one after the other**: their pages follow one another, too. Those that came later are
//!    told apart by a bit each.
//!
//! ```text
//! separator(j) = start + ((rise(j) + residual_j - bias) << shift)        rise(j) = (mantissa * j << exponent) >> 24
//!
//! separators     4096   8192  12800  16384      all are multiples of 512 = 2^9, from start = 4096
//! q                 0      8     17     24
//! rise              0      8     16     24      a line of slope 8
//! residual                 0      1      0      1 bit each, none for the first
//!
//! pages           700    701   9152    702      base 700; in the run?  1 1 0 1;  the others: 9152 - other base, in few bits
//! ```
//!
//! Groups are cut where that saves bytes, so that a line need not cross a jump. Because the separators of a group are *exact multiples*,
//! a child can be put in or taken out with nothing known but the separators themselves: the group is decoded, changed, and coded anew with
//! another line.
//!
//! What it guarantees: it is a **proof**. Every key is led to the child that holds it, whatever the keys and whatever the history. A node never
//! takes more bytes than plain separators and pages would: [`encode`] falls back to them ([`Kind::Plain`]), so that a node has never fewer
//! children than a B+-tree's of the same size. All decoding is total: any bytes give an answer or `None`, in bounded time.
//!
//! What it costs: a look-up decodes about seven separators after a bisection over the groups (some ten operations each), and a change codes
//! one group anew, some microseconds. Not a promise: an upper bound on the bytes a child on adversarial keys other than the plain form's.
//!
//! All arithmetic is on integers, so every machine decodes the same separators.

mod change;
mod cut;
mod fit;
mod group;
mod node;
mod round;
mod write;

pub use change::{Change, replace_group};
pub use cut::{CodedGroup, coded_bytes, cut_groups, spread};
pub use group::{GROUP_CHILDREN_MAX, GroupView};
pub use node::{Children, Found, HEADER_BYTES, Kind, NodeView, Position};
pub use round::roundest;
pub use write::{KeyWidth, NodeWriter, encode, plain_capacity};
