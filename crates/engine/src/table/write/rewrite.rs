//! The rewrite of a table from a sequential scan of another table, without use of the other's index.

use super::writer::TableWriter;
use crate::error::Result;
use crate::table::block::parts::StoredValue;
use crate::table::format::value::ValueReader;
use crate::table::read::context::ReadContext;
use crate::table::read::reader::Table;

impl TableWriter {
    /// Appends all records of a table in block order. Separately stored values are streamed.
    ///
    /// # Errors
    /// As [`Self::append`]; damage of the table, and errors of its storage.
    pub(in crate::table) fn append_scanned(&mut self, table: &Table) -> Result<()> {
        let inner = &*table.inner;
        let mut reads = ReadContext::default();
        for block in 0..inner.meta.blocks {
            let bytes = inner.child(0, block, &mut reads)?;
            let view = inner.view(block, &bytes)?;
            for record in 0..view.count() {
                let malformed = || inner.malformed(block);
                let key = view.key(record).ok_or_else(malformed)?.to_vec();
                let stored = view.value(record).ok_or_else(malformed)?;
                match (stored, stored.in_block()) {
                    (StoredValue::Long(pointer), _) => {
                        let mut value = ValueReader::new(inner.files.data().clone(), inner.files.data_id(), pointer)?;
                        self.append_stream(&key, &mut value)?;
                    }
                    (_, Some(value)) if inner.meta.versioned => {
                        self.append_with(&key, view.tag(record).ok_or_else(malformed)?, value)?;
                    }
                    (_, value) => self.append(&key, value.unwrap_or_default())?,
                }
            }
        }
        Ok(())
    }
}
