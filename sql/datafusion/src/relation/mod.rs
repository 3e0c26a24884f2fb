//! Relations: sorted rows of one key, how they are opened and how they are read.

mod any_index;
mod condition_index;
mod index_expression;
mod index_order;
mod interface;
mod keyspace;
mod open;
mod parquet;
mod records;
mod table;

pub(crate) use any_index::IndexRelation;
pub(crate) use condition_index::ByIndexes;
pub(crate) use index_order::{IndexOrder, OrderedPart};
pub use interface::RelationIdentity;
pub(crate) use interface::{Relation, RowCount, Scan, ScanRequest, key_names, key_positions};
pub(crate) use keyspace::KeyspaceRelation;
pub use open::{OgiveOptions, stores_and_keyspaces};
pub(crate) use open::{TABLE_SUFFIX, absolute, decided, folder, keyspace_of, profile_of};
pub(crate) use parquet::ParquetRelation;
pub(crate) use records::{RecordRange, RecordScan, Records, VisitFound};
pub(crate) use table::TableRelation;
