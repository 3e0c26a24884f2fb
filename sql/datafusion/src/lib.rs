//! Ogive tables in [Apache DataFusion](https://datafusion.apache.org).
//!
//! [`OgiveTable`] is a [`TableProvider`](datafusion::catalog::TableProvider) for a table file. Conditions on its key
//! become ranges and look-ups, exactly: `=`, `IN`, `<`, `BETWEEN`, `LIKE 'a%'`, `starts_with`, and `AND`, `OR` of
//! these. A query that reads no value column reads no values; `count(*)` over a range reads the blocks at its ends.
//! Rows are in the order of the key, in partitions that are ranges of equal numbers of rows.
//!
//! A key of several columns, or of 128 bits, for which Arrow has no integers, is read as a whole.
//!
//! ```
//! use datafusion::prelude::SessionContext;
//! use ogive::{KeyType, LocalStorage, Table, TableOptions, TableWriteOptions, TableWriter};
//! use ogive_datafusion::OgiveTable;
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let storage = Arc::new(LocalStorage::new(folder.path()));
//! let options = TableWriteOptions::default().key_type(KeyType::U64);
//! let mut writer = TableWriter::create((storage.clone(), "squares.ogive"), options)?;
//! for number in 0..1_000_u64 {
//!     writer.append(&(number * number).to_be_bytes(), number.to_string().as_bytes())?;
//! }
//! writer.finish()?;
//!
//! let context = SessionContext::new();
//! let table = Table::open((storage, "squares.ogive"), &TableOptions::default())?;
//! context.register_table("squares", Arc::new(OgiveTable::new(table)?))?;
//! let found = context.sql("select count(*) from squares where key between 100 and 400").await?.collect().await?;
//! println!("{}", datafusion::arrow::util::pretty::pretty_format_batches(&found)?);
//! # Ok(())
//! # }
//! ```

mod alter;
mod blocking;
mod dynamic_filter;
mod error;
mod exact_cast;
mod exact_literals;
mod exact_numbers;
mod exact_text;
mod external_table;
mod filter;
mod float_bounds;
mod in_list;
mod join;
mod key_columns;
mod key_lists;
mod key_set;
mod metrics;
mod null_lists;
mod open;
mod order;
mod packed_keys;
mod parse;
mod partition;
mod relation;
mod session;
mod side_by_side;
mod single_value;
mod source;
mod store_schema;
mod table;
mod transaction;
mod unambiguous_filters;
mod unary;
mod url;
mod voice;
mod write;

pub use alter::{AlteredTable, alter_table, change_indexes};
pub use blocking::blocking;
pub use exact_cast::scalar_function;
pub use external_table::OgiveTableFactory;
pub use join::{FenceExec, Hidden, KeyJoinNode, KeyJoinPlanner, LookUpJoinExec, MarkKeyJoins};
pub use key_set::KeyRange;
pub use parse::parse_statements;
pub use relation::{OgiveOptions, RelationIdentity, stores_and_keyspaces};
pub use session::{configure, with_key_joins, with_long_timestamps, with_ogive, without_changes};
pub use single_value::aggregate_function;
pub use source::{OgiveSource, PartitionRows, partition_rows};
pub use store_schema::StoreSchema;
pub use table::OgiveTable;
pub use transaction::{begin_transaction, has_transaction, transact, with_transactions};
pub use url::UrlTables;
pub use write::{
    KeyRangesExec, PartsNode, PartsPlanner, PartsStep, SampleKeysExec, StagedNames, Staging, TablesPlace, WriteRequest,
    WriteTablesExec, WriteTarget, cuts_of,
};
