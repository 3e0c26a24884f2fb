//! The format of table files around the blocks: metadata, sections, index pages, filters, options.

pub(super) mod counts;
pub mod filter;
pub(super) mod histogram;
pub(super) mod index_page;
pub(super) mod locations;
pub(super) mod meta;
pub(super) mod options;
pub(super) mod stated_objective;
pub mod value;
pub(super) mod wire;
