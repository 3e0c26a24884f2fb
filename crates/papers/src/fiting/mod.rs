//! The FITing-tree: segments with models and delta buffers under a B+-tree.
//!
//! Source: Galakatos et al., "FITing-Tree" (SIGMOD 2019), in the on-disk form of Lan et al. ("Updatable Learned Indexes
//! Meet Disk-Resident DBMS"): the segmentation is that of the PGM-index, each segment has one buffer page of new
//! entries and is segmented anew with them when that is full, and one more buffer holds entries below the first
//! segment.
//!
//! What is ours: a segment ends at the end of a page, or wastes little of it, and is never shorter than a page, so that
//! there are never more segments than a B+-tree would have leaves; models lie in the directory beside the address, so
//! that a look-up reads inner pages and then the page with the entry, or one beside it; the neighbour of a segment is
//! the next record of the directory, which takes the place of links; deletes work, and what is freed is used again.

mod build;
mod cursor;
mod directory;
mod insert;
mod node;
mod rebuild;
mod remove;
mod search;
mod splice;
#[cfg(test)]
mod tests;
mod tree;
mod verify;

pub use tree::{Fiting, FitingOptions};
