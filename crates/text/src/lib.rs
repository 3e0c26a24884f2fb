//! Text files of separated fields, and the types of their columns: one reading for the command and for Python.
//!
//! [`FieldReader`] reads rows of fields, [`ColumnGuess`] the types of columns from them, [`TextColumn`] the values of
//! their fields, and [`Separated`] writes rows.
#![doc = include_str!("../README.md")]

mod column;
mod infer;
mod numbers;
mod plain;
mod reader;
mod row_parser;
mod separated;
mod show;

pub use column::{FieldBytes, TextColumn, may_be_null, unique_names};
pub use infer::{CONVERTED, ColumnGuess, GuessedType, fits, may_be_string};
pub use reader::{BYTE_ORDER_MARK, COLUMNS_MAX, FieldReader, Layout, TextError, Written};
pub use separated::{FieldForm, QUOTE, Quote, Separated, SeparatedRow, SeparatorLine, parse_quote};
pub use show::{escaped, shortened};
