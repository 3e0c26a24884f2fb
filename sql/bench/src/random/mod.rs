//! Random data sets and random queries of them, from a seed.
//!
//! A data set has two or three tables of random columns and keys. Some columns of different tables have the same
//! values, so that joins find partners. Queries are written in the SQL that DataFusion and DuckDB share, and order
//! their rows totally, so that any two correct engines return the same rows in the same order.

mod column;
mod data_set;
mod query;
mod reference;
mod run;

pub use data_set::{DataSet, RandomTable, Size};
pub use query::random_query;
pub use reference::{answer_of, reference_session};
pub use run::{RandomArguments, run};
