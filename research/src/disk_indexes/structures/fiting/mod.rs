//! The FITing-tree: segments with models and delta buffers under a B+-tree.
//!
//! Source: Galakatos et al., "FITing-Tree" (SIGMOD 2019), in the on-disk form of Lan et al. ("Updatable Learned Indexes
//! Meet Disk-Resident DBMS"). Segmentation is that of the PGM-index. Each segment has one buffer page of new entries;
//! when it is full, segment and buffer are segmented again. One more buffer holds the entries below the first segment.
//!
//! Differences from the papers: a segment ends near the end of a page and is never shorter than a page, so that there
//! are never more segments than leaves of a B+-tree; models are stored in the directory next to the addresses, so that
//! a lookup reads inner pages and then the page with the entry, or an adjacent one; the directory replaces links
//! between segments; deletes are supported, and freed pages are reused.

mod build;
mod cursor;
mod directory;
mod insert;
mod node;
mod rebuild;
mod remove;
mod search;
mod splice;
mod structure;
#[cfg(test)]
mod tests;
mod tree;
mod verify;

pub use tree::{Fiting, FitingOptions};
