//! Models in memory of the papers' baselines, as pure functions from a key to a position, on the nodes of
//! `ogive_model`.
//!
//! * [`plr`], [`hist_tree`] and the functions `lines` of [`radix_spline`] and [`rmi`] build line nodes for index
//!   layers;
//! * [`pgm`], [`radix_spline`] and [`rmi`] are complete structures for searches in memory; [`Locate`] is their common
//!   interface, and [`tuning`] chooses their parameters; [`sampled`] reduces a sequence to every n-th key;
//! * [`fmcd`] is different: its line does not approximate where a key lies, it determines it.

pub mod fmcd;
pub mod hist_tree;
mod locate;
pub mod pgm;
pub mod plr;
pub mod radix_spline;
pub mod rmi;
pub mod sampled;
mod segment;
pub mod tuning;

pub use locate::{ForwardWalk, Locate, mean_window_children};
