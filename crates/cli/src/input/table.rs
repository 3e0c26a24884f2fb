//! A table as an input.

use super::record::InputFacts;
use super::stored::StoredInput;
use crate::places::is_beside;
use ogive::io::Storage;
use ogive::table::{Table, TableOptions, TableRange};
use ogive::{Cause, Error};
use std::path::Path;
use std::sync::Arc;

/// Opens a table to examine it, with as much memory as that takes.
///
/// # Errors
/// As [`Table::open`] and [`refuse_beside`].
pub(crate) fn open_to_see(storage: &Arc<dyn Storage>, name: &str) -> Result<Table, Error> {
    let table = open_to_look(storage, name)?;
    refuse_beside(&table)?;
    Ok(table)
}

/// As [`open_to_see`], even if it holds an index of Parquet files.
///
/// # Errors
/// As [`Table::open`].
pub(crate) fn open_to_look(storage: &Arc<dyn Storage>, name: &str) -> Result<Table, Error> {
    match Table::open((Arc::clone(storage), name), &TableOptions::default()) {
        Err(Error { cause: Cause::Memory { needed_bytes, .. }, .. }) => {
            let options = TableOptions::default().memory_bytes(needed_bytes);
            Table::open((Arc::clone(storage), name), &options)
        }
        opened => opened,
    }
}

/// Refuses a table that holds an index of Parquet files: its records, if it has any, are not those rows.
///
/// # Errors
/// [`Cause::Unsupported`].
pub(crate) fn refuse_beside(table: &Table) -> Result<(), Error> {
    if !is_beside(table) {
        return Ok(());
    }
    let hint = "it is an index of Parquet files; use them as the input, or `ogive export` to write their rows";
    Err(Error::unsupported(table.path(), "take the records of", hint))
}

/// All records of `table`, at `path`, in order.
pub(crate) fn table_input(path: &Path, table: &Table) -> StoredInput<TableRange> {
    let records = table.len();
    let facts = InputFacts {
        path: path.to_owned(),
        record_type: table.record_type().clone(),
        value_width: table.value_width().and_then(|width| u32::try_from(width).ok()),
        records: Some(records),
        length_bytes: Some(records),
        may_be_empty: true,
    };
    StoredInput::new(facts, table.iter())
}
