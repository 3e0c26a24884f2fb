//! `ogive db`: commands on stores, one file each.

mod arguments;
mod bench;
mod checkpoint;
mod compact;
mod delete;
mod export;
mod get;
mod import;
mod info;
mod ingest;
mod keys;
mod put;
mod relation;
mod repair;
mod scan;
mod stats;
mod stoppable;
mod store;
mod verify;

pub(crate) use arguments::{DbCommand, EXAMPLES};
pub(crate) use info::info;
pub(crate) use relation::relation;
