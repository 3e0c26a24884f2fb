//! ALEX on disk: inner nodes that compute the child of a key, gapped arrays below them that compute its place.
//!
//! Source: ALEX (Ding et al., SIGMOD 2020); its layout on disk follows "Updatable Learned Indexes Meet Disk-Resident
//! DBMS" (Lan et al., SIGMOD 2023), with these differences, each for fewer blocks or for a bound that the original
//! lacks:
//!
//! * the model of a node lies in the pointer to it, so that each level costs one block, and a look-up reads no node
//!   header;
//! * the bitmap of a data node is cut up, each page holding that of its own slots; and each page states the range of
//!   keys that belongs to it. So one page tells whether a key is there, scans read no bitmap blocks, and the search for
//!   the page ends however wrong the model is;
//! * costs are counted in blocks: extra pages that a mispredicted look-up reads, and pages of file;
//! * what a line cannot divide is divided by count under *plain* inner nodes, which grow like a B+-tree's: so no order
//!   of inserts and no set of keys makes the tree deep (the authors' code reaches depth 855 on lognormal inserts);
//! * the keys beyond either end of an inner node's line belong to its outermost children, so that appends need no new
//!   root, and any key can be erased.

mod build;
mod child;
mod cost;
mod cursor;
mod inner;
mod insert;
mod leaf;
mod line;
mod node;
mod options;
mod plan;
mod remove;
mod search;
mod shape;
mod split;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod verify;
mod widen;

pub use options::AlexOptions;
pub use tree::Alex;
