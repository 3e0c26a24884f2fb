//! `ogive db`: commands on stores, one file each.

mod alter;
mod arguments;
mod backup;
mod backups;
mod bench;
mod checkpoint;
mod compact;
mod delete;
mod drop_keyspace;
mod explain;
mod import;
mod info;
mod ingest;
mod input;
mod keys;
mod keyspaces;
mod put;
mod relation;
mod repair;
mod repeats;
mod report;
mod restore;
mod rows;
mod stats;
mod stoppable;
mod store;
mod upgrade;
mod verify;

pub(crate) use arguments::{DbCommand, EXAMPLES};
pub(crate) use explain::{explain, explain_lookup};
pub(crate) use info::info;
pub(crate) use input::input;
pub(crate) use relation::relation;
pub(crate) use repair::run as repair;
pub(crate) use report::picture;
pub(crate) use store::{KeyspaceOptions, OpenKeyspace, StoreFolder, StorePart};
