//! Relations: sorted rows of one key, and how they are read.

mod any_index;
mod interface;
mod keyspace;
mod parquet;
mod records;
mod table;

pub(crate) use any_index::IndexRelation;
pub use interface::RelationIdentity;
pub(crate) use interface::{Relation, RowCount, Scan, ScanRequest, key_names, key_positions};
pub(crate) use keyspace::KeyspaceRelation;
pub(crate) use parquet::ParquetRelation;
pub(crate) use table::TableRelation;
