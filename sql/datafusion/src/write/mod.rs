//! Writing of rows: `COPY ... STORED AS OGIVE` to a table or a keyspace of a store, `INSERT INTO` a keyspace, and
//! `DELETE` and `UPDATE` of one.
//!
//! In one process, a [`RowSink`] sorts rows to a table. In a cluster, rows are written as several tables, each of a
//! range of keys, which the target takes in one commit: see [`PartsNode`].

mod changes;
mod format;
mod options;
mod parts;
mod records;
mod request;
mod sink;
mod staging;
mod statements;
mod target;

pub(crate) use changes::{ChangePlanner, check_keys_stay, with_changes};
pub(crate) use format::OgiveFormatFactory;
pub use parts::{
    KeyRangesExec, PartsNode, PartsPlanner, PartsStep, SampleKeysExec, TablesPlace, WriteTablesExec, cuts_of,
};
pub use request::WriteRequest;
pub(crate) use request::existing;
pub(crate) use sink::RowSink;
pub use staging::{StagedNames, Staging};
pub use target::WriteTarget;
