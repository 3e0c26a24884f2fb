//! Coded inner nodes: separators and child pages of an updatable search tree, as lines plus packed residuals.
//!
//! An inner node maps a key to the page of a child: separators `s_0 < s_1 < ...` and children `c_0, c_1, ...`, of which
//! child `j` holds the keys above `s_(j-1)` and up to `s_j`, inclusive. What a B+-tree stores in 12 bytes per child (20
//! for keys of 16 bytes) takes 1 to 4 here, because three things are predictable:
//!
//! 1. **A separator may be any value in the gap between two children**, so a split can choose the [`roundest`] possible
//!    value. The separators of a *group* of neighbours are then multiples of `2^shift`, and only `q = separator >>
//!    shift` is coded.
//! 2. **Children are of similar sizes**, so the `q` of a group lie near a line.
//! 3. **Neighbouring children were often written one after the other**, so their pages are consecutive, too. Later ones
//!    are marked by a bit each.
//!
//! ```text
//! separator(j) = start + ((rise(j) + residual_j - bias) << shift)        rise(j) = (mantissa * j << exponent) >> 24
//!
//! separators     4096   8192  12800  16384      all are multiples of 512 = 2^9, from start = 4096
//! q                 0      8     17     24
//! rise              0      8     16     24      a line of slope 8
//! residual                 0      1      0      1 bit each, none for the first
//!
//! pages           700    701   9152    702      base 700; in the run: 1 1 0 1; others: 9152 - other base, in few bits
//! ```
//!
//! Groups are split where that saves bytes, so that a line need not cross a jump. Because the separators of a group are
//! *exact multiples*, a child can be inserted or removed using only the separators themselves: the group is decoded,
//! changed, and coded again with another line.
//!
//! Guarantee: the node is **exact**. Every key is led to the child that holds it, whatever the keys and the history. A
//! node never takes more bytes than plain separators and pages: [`encode`] falls back to them ([`NodeForm::Plain`]), so
//! that a node has at least as many children as a B+-tree's of the same size. All decoding is total: any bytes give an
//! answer or `None`, in bounded time.
//!
//! Cost: a lookup decodes about seven separators after a bisection over the groups (some ten operations each), and a
//! change recodes one group, in some microseconds. Not guaranteed: a better bound than the plain form on the bytes per
//! child for adversarial keys.
//!
//! All arithmetic is on integers, so every machine decodes the same separators.

mod change;
mod cut;
mod fit;
mod group;
mod node;
mod round;
mod write;

pub use change::{NodeChange, replace_group};
pub use cut::{CodedGroup, coded_bytes, cut_groups, spread};
pub use group::{GROUP_CHILDREN_MAX, GroupView};
pub use node::{ChildPosition, Children, FoundChild, HEADER_BYTES, NodeForm, NodeView};
pub use round::roundest;
pub use write::{KeyWidth, NodeWriter, encode, plain_capacity};
