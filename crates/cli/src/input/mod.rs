//! Inputs of `build` and `tune`: SOSD files, lines of text, comma-separated values, and Parquet behind a feature.
//!
//! All arrive as one stream of [`Record`]s whose keys are bytes that compare as the keys do; [`InputOptions::open`]
//! tells the formats apart.

mod columns;
mod csv;
mod error;
mod keys;
mod lines;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod payload;
mod record;
mod sosd;
mod table;

pub(crate) use columns::Column;
pub(crate) use error::InputError;
pub(crate) use options::{Format, InputOptions};
pub(crate) use record::{Facts, Input, Record};
pub(crate) use table::{TableInput, open_to_see};

#[cfg(test)]
mod tests;
