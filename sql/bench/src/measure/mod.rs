//! Measurements of queries: over an Ogive table, over a Parquet file of the same rows in DataFusion at its best
//! settings, and in DuckDB on its own file and on the Parquet file.
//!
//! Two related tables come from a seed: `users`, by distinct ids with gaps and regions of different density, and
//! `events`, by the id of their user, with repeats, users without events, and a few events without a user. Streams of
//! ids in no order are joined with `users` at ratios of 1 to 10,000.
//!
//! All runs are in one process and in interleaved rounds: each round runs the same new queries on all subjects, in
//! turn. The first round is not counted; its answers are compared with those of DuckDB.
//!
//! With `--storage object-store`, the files are objects of a store that is emulated on the local disk ([`emulated`]):
//! requests and bytes are counted, and times are modelled.
//!
//! [`emulated`]: crate::emulated

mod case;
mod data;
mod duckdb;
mod files;
mod judge;
mod object_report;
mod objects;
mod report;
mod run;
mod storage;
mod subject;

pub(crate) use case::{Case, cases};
pub(crate) use files::DataFiles;
pub use files::MeasuredData;
pub(crate) use objects::ObjectQueries;
pub use run::{MeasureArguments, run};
