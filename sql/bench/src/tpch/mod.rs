//! TPC-H: the eight tables at any scale factor, and the 22 queries with the parameters of the specification's
//! validation.
//!
//! Rows are those of the reference generator (crate `tpchgen`), so the answers are those of every other engine with the
//! same data. Source: TPC Benchmark H, revision 3, sections 1.4 and 2.4.

mod queries;
mod run;
mod tables;

pub use queries::{QUERIES, TpchQuery};
pub use run::{ANSWERED_SCALE, TpchArguments, ogive_session, parquet_session, register_tables, run};
pub use tables::{TABLES, TpchTable, write_files, write_ogive};
