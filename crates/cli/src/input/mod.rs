//! Readers of input files: SOSD files, lines of text, separated values, JSON, and Parquet behind a feature.
//!
//! All give a stream of [`Record`]s whose keys are bytes that order like the keys. [`InputOptions::open`] chooses the
//! reader.

mod bad_rows;
mod builder;
mod columns;
mod content;
mod csv;
mod error;
#[cfg(feature = "parquet")]
mod folder;
#[cfg(feature = "parquet")]
mod folder_input;
mod format;
mod json;
mod json_layout;
mod known;
mod lines;
mod names;
mod null_keys;
mod open;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod payload;
mod printed;
mod recognised;
mod record;
mod rows;
mod schema;
mod sosd;
mod stored;
mod table;
mod united_keys;

pub(crate) use columns::Column;
pub(crate) use error::{InputError, is_like_value};
pub(crate) use format::Format;
pub(crate) use known::{ColumnType, INDEX, KEYSPACE, KnownColumns};
pub(crate) use names::format_name;
pub(crate) use open::InputColumns;
pub(crate) use options::{InputOptions, ROW_LIMIT, input_path, parse_delimiter};
pub(crate) use record::{Input, InputFacts, Record};
#[cfg(feature = "parquet")]
pub(crate) use schema::stated_twice;
pub(crate) use schema::{Schema, TypeSample, blame_durable_rows, blame_holder};
pub(crate) use stored::StoredInput;
pub(crate) use table::{open_to_look, open_to_see, refuse_beside, table_input};

#[cfg(test)]
mod tests;
