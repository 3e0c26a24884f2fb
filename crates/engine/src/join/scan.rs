//! A table read from end to end.

use super::rows::{Chunk, RowStream, RowsView};
use super::source::{Facts, KeyRange, Relation};
use super::task::{Share, Task};
use crate::error::Result;
use crate::table::{Range, Table};
use std::sync::Arc;

/// A table as a relation.
#[derive(Debug)]
pub(crate) struct TableRelation {
    table: Table,
    facts: Facts,
}

impl TableRelation {
    pub(crate) fn new(table: Table) -> Self {
        let report = table.explain();
        let facts = Facts {
            name: table.path().display().to_string(),
            rows: table.len(),
            is_exact: true,
            bytes: report.data_bytes,
            key_type: table.key_type(),
            key_bytes: table.key_type().width(),
            value_bytes: table.value_width().map(|width| width as usize),
            is_sorted: true,
            is_distinct: table.is_distinct(),
        };
        Self { table, facts }
    }
}

impl Relation for TableRelation {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: Share) -> Result<Box<dyn RowStream>> {
        let chunk = Chunk::new(self.facts.key_bytes, self.facts.value_bytes, memory.bytes() as usize / 4);
        let rows = self.table.range::<&[u8]>(range.bounds());
        Ok(Box::new(TableScan { rows, chunk, task: task.clone(), memory }))
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.table)
    }
}

/// Rows copied from a range of the table.
struct TableScan {
    rows: Range,
    chunk: Chunk,
    task: Arc<Task>,
    memory: Share,
}

impl RowStream for TableScan {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        self.chunk.clear();
        while (self.chunk.taken_bytes() as u64) < self.memory.bytes() / 8 {
            let Some(row) = self.rows.next() else { break };
            let (key, value) = row?;
            if from.is_none_or(|from| *key >= *from) {
                self.chunk.push(&key, &value);
            }
        }
        Ok(!self.chunk.is_empty())
    }

    fn rows(&self) -> RowsView<'_> {
        self.chunk.rows()
    }
}
