//! LIPP on disk: every key is in exactly the slot that the model of its node computes.
//!
//! Source: LIPP (Wu et al., VLDB 2021). The layout on disk follows "Updatable Learned Indexes Meet Disk-Resident DBMS"
//! (Lan et al., SIGMOD 2023), with these differences, each for fewer blocks, fewer bytes or for a bound that the
//! original lacks:
//!
//! * the model of a node that spans pages is stored in the slot that points to it, that of a small node next to its
//!   slots, so that each level costs one block;
//! * a slot takes a key, a payload and two bits; the authors' takes 24 bytes for an entry of 16. Small nodes share
//!   pages, as *cells*;
//! * nodes that span pages record which of their pages are in use, so that finding the next entry over any number of
//!   NULL slots reads at most three blocks;
//! * below a given depth, and if a line leaves half of the keys in one slot, keys are sorted in *packed* nodes, under
//!   *fences* if they exceed a page. Therefore no insert order and no key set makes the tree deep (the authors' grows
//!   without bound on sequential inserts) or the file large;
//! * a node that has lost 7/8 of its entries is rebuilt; the last entry of a node moves back to the slot in its parent.

mod build;
mod cells;
mod change;
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
