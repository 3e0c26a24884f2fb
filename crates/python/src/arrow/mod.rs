//! Arrow data and frames as inputs and results: keys, columns, rows.

pub(crate) mod columns;
pub(crate) mod errors;
pub(crate) mod frames;
pub(crate) mod input;
pub(crate) mod keys;
pub(crate) mod numpy;
pub(crate) mod output;
pub(crate) mod rows;
