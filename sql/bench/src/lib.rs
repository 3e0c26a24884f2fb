//! TPC-H, random queries, and measurements of SQL over Ogive tables, beside DataFusion over Parquet files and DuckDB.
//!
//! * [`tpch`] generates the eight tables at any scale factor and runs the 22 queries; their answers are compared with
//!   those of DuckDB.
//! * [`random`] draws schemas, rows and queries from a seed.
//! * [`measure`] times point queries, lists of keys, ranges, top-k, counts and joins, in interleaved rounds, or counts
//!   their requests to an object store ([`emulated`]).
//! * [`cluster`] counts tasks, reads and the bytes of links of the same queries in clusters, and [`model`] says by
//!   these counts what a large cluster would need.
//!
//! All of them write a table twice, as an Ogive table and as a Parquet file with the same rows ([`files`]), and compare
//! rows as text with types ([`answer`]).

pub mod answer;
pub mod cluster;
pub mod emulated;
mod error;
pub mod files;
mod json;
pub mod measure;
mod mixed;
pub mod model;
pub mod random;
pub mod session;
pub mod tpch;

pub use json::quoted;
