//! LIPP on disk: every key lies in the slot that the model of its node computes, and nowhere else.
//!
//! Source: LIPP (Wu et al., VLDB 2021); its layout on disk follows "Updatable Learned Indexes Meet Disk-Resident DBMS"
//! (Lan et al., SIGMOD 2023), with these differences, each for fewer blocks, fewer bytes or for a bound that the
//! original lacks:
//!
//! * the model of a node that spans pages lies in the slot that leads to it, that of a small node beside its slots: a
//!   level costs one block;
//! * a slot takes a key, a payload and two bits, where the authors' takes 24 bytes for 16 of entry; small nodes share
//!   pages, as *cells*;
//! * nodes that span pages know which of their pages hold anything, so that the next entry is found over any number of
//!   NULL slots in three blocks at most;
//! * below a stated depth, and wherever a line leaves half of the keys in one slot, keys lie sorted in *packed* nodes,
//!   under *fences* where one page does not hold them. So no order of inserts and no set of keys makes the tree deep
//!   (the authors' grows without bound on sequential inserts) or the file large;
//! * a node that has lost seven of eight entries is built anew, one of a single entry goes back into the slot that
//!   leads to it.

mod build;
mod cells;
mod cursor;
mod fence;
mod header;
mod insert;
mod line;
mod link;
mod mixed;
mod node;
mod options;
mod packed;
mod rebuild;
mod recent;
mod remove;
mod search;
mod shape;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod verify;
mod wide;

pub use options::LippOptions;
pub use tree::Lipp;
