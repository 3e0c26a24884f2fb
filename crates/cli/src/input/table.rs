//! A table as an input.

use super::InputError;
use super::record::{Input, InputFacts, Record};
use ogive::Error;
use ogive::io::Storage;
use ogive::table::{Table, TableOptions, TableRange};
use std::io;
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

/// Reads the records of a table in order.
#[derive(Debug)]
pub(crate) struct TableInput {
    facts: InputFacts,
    range: TableRange,
    record: (Vec<u8>, Vec<u8>),
    done: u64,
}

impl TableInput {
    /// All records of `table`, at `path`.
    pub(crate) fn new(path: &Path, table: &Table) -> Self {
        let records = table.len();
        let facts = InputFacts {
            path: path.to_owned(),
            key_type: table.key_type(),
            value_width: table.value_width().and_then(|width| u32::try_from(width).ok()),
            records: Some(records),
            length_bytes: Some(records),
        };
        Self { facts, range: table.iter(), record: (Vec::new(), Vec::new()), done: 0 }
    }
}

impl Input for TableInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        let Some(record) = self.range.next() else { return Ok(None) };
        self.record = record
            .map_err(|error| InputError::Io { path: self.facts.path.clone(), source: io::Error::other(error) })?;
        self.done += 1;
        Ok(Some(Record { key: &self.record.0, value: &self.record.1 }))
    }

    fn position_bytes(&self) -> u64 {
        self.done
    }
}
