//! A table as an input.

use super::record::InputFacts;
use super::stored::StoredInput;
use ogive::Error;
use ogive::io::Storage;
use ogive::table::{Table, TableOptions, TableRange};
use std::path::Path;
use std::sync::Arc;

/// Opens a table to examine it, with as much memory as that takes.
///
/// # Errors
/// As [`Table::open`].
pub(crate) fn open_to_see(storage: &Arc<dyn Storage>, name: &str) -> Result<Table, Error> {
    match Table::open(Arc::clone(storage), name, &TableOptions::default()) {
        Err(Error::MemoryShort { needed_bytes, .. }) => {
            let options = TableOptions::default().memory_bytes(needed_bytes);
            Table::open(Arc::clone(storage), name, &options)
        }
        opened => opened,
    }
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
