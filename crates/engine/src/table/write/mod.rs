//! Writers of tables: blocks from records, index from blocks, and the check of both.

pub(super) mod borders;
pub(super) mod bottom_layer;
pub(super) mod coding;
pub(super) mod index;
pub(super) mod index_check;
#[cfg(test)]
mod index_check_tests;
mod key_order;
pub(super) mod pending;
pub(super) mod plan;
pub(super) mod published_file;
pub(super) mod rewrite;
pub(super) mod sections;
pub(super) mod writer;
