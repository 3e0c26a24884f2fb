//! Learned and exact index nodes as pure functions from a key to a position, without I/O or dependencies.
//!
//! A sorted file is a row of *children* (blocks of data, or units of an index layer), and between two neighbours lies a
//! [`Fence`]. A node answers one question: which children may hold coordinate `x`? Two kinds of node answer it:
//!
//! * **proofs** ([`step`], [`coded`], and [`inner`] for trees that are updated): exact separators; a look-up trusts them, for absent
//!   keys too;
//! * **hints** ([`mod@line`], built by [`band`], [`plr`] and [`pla`]): a line and a window that was measured, when the node
//!   was built, with the arithmetic of the look-up on the parameters as stored; a reader still checks what it read.
//!
//! [`pgm`], [`radix_spline`] and [`rmi`] are whole structures of hints for a row that is searched from memory; what they have in
//! common is [`Locate`], and [`tuning`] chooses their settings. [`sampled`] makes a row of every so many-th key.
//!
//! Apart from all, [`fmcd`] lays keys out: its line does not say where a key lies, it decides it.

pub mod band;
pub mod bits;
mod bytes;
pub mod coded;
mod corridor;
mod fence;
pub mod fmcd;
pub mod inner;
pub mod line;
mod locate;
pub mod pgm;
pub mod pla;
pub mod plr;
pub mod radix_spline;
pub mod rmi;
mod run;
pub mod sampled;
mod segment;
pub mod step;
mod stretch;
pub mod tuning;

pub use fence::Fence;
pub use locate::{Forward, Locate, mean_window_children};
pub use run::FenceRun;
