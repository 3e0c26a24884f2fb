//! ALEX on disk: inner nodes with models that compute the child of a key, over gapped arrays with models that compute
//! its slot.
//!
//! Source: ALEX (Ding et al., SIGMOD 2020). The layout on disk follows "Updatable Learned Indexes Meet Disk-Resident
//! DBMS" (Lan et al., SIGMOD 2023), with these differences, each for fewer blocks or for a bound that the original
//! lacks:
//!
//! * the model of a node is stored in the pointer to it, so that each level costs one block, and a lookup reads no node
//!   header;
//! * each page of a data node has the bitmap of its own slots, and the range of its keys. Therefore one page decides
//!   whether a key exists, scans read no bitmap blocks, and the search for the page ends even if the model is wrong;
//! * costs are counted in blocks: extra pages read by mispredicted lookups, and pages of the file;
//! * keys that a line cannot divide are divided by count under *plain* inner nodes, which grow like those of a B+-tree.
//!   Therefore no key set and no insert order makes the tree deep (the authors' code reaches depth 855 on lognormal
//!   inserts);
//! * keys beyond either end of an inner node's line belong to its outermost children, so that appends need no new root,
//!   and any key can be removed.

mod build;
mod change;
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
