//! The input of a sort: the rows of a relation in the order of arrival, with progress reports.

use crate::error::{Error, Result};
use crate::join::options::Phase;
use crate::join::rows::{RowStream, RowsView};
use crate::join::source::{KeyRange, Relation};
use crate::join::task::{Share, Task};
use std::sync::Arc;

/// So often is progress told.
const REPORTS: u64 = 100;
/// A scan of the input takes this part of what there is, within bounds: it is read in long stretches, and the rest is for what is made of it.
const INPUT_PART: u64 = 16;
const INPUT_BYTES_MIN: u64 = 32 << 10;
const INPUT_BYTES_MAX: u64 = 4 << 20;

/// What a scan of the input may take of so much memory.
pub(crate) fn input_bytes(memory_bytes: u64) -> u64 {
    (memory_bytes / INPUT_PART).clamp(INPUT_BYTES_MIN, INPUT_BYTES_MAX)
}

/// How far the arranging of both relations has come.
#[derive(Debug)]
pub(crate) struct Progress {
    task: Arc<Task>,
    done: u64,
    total: u64,
    next: u64,
}

impl Progress {
    /// The start of arranging so many rows.
    pub(crate) fn new(task: &Arc<Task>, total: u64) -> Self {
        Self { task: Arc::clone(task), done: 0, total, next: 0 }
    }

    /// So many rows more are arranged.
    pub(crate) fn add(&mut self, rows: u64) {
        self.done += rows;
        if self.done >= self.next {
            self.task.report(Phase::Arranging, self.done, self.total.max(self.done));
            self.next = self.done + self.total.div_ceil(REPORTS).max(1);
        }
    }
}

/// Rows of a relation.
pub(crate) struct Input<'a> {
    stream: Box<dyn RowStream>,
    task: Arc<Task>,
    progress: &'a mut Progress,
}

impl<'a> Input<'a> {
    /// Begins to read what lies in a range of keys, within `memory`.
    ///
    /// # Errors
    /// Those of the relation.
    pub(crate) fn open(
        relation: &dyn Relation,
        range: &KeyRange,
        task: &Arc<Task>,
        memory: Share,
        progress: &'a mut Progress,
    ) -> Result<Self> {
        Ok(Self { stream: relation.scan(range, task, memory)?, task: Arc::clone(task), progress })
    }

    /// Goes to the next chunk; `false` at the end.
    ///
    /// # Errors
    /// Those of the relation; [`Error::Interrupted`].
    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.task.check()?;
        let is_there = self.stream.advance(None)?;
        self.progress.add(self.rows().len() as u64 * u64::from(is_there));
        Ok(is_there)
    }

    /// The rows of the chunk.
    pub(crate) fn rows(&self) -> RowsView<'_> {
        self.stream.rows()
    }

    /// The rows of the chunk as arrays of key and value, `N` bytes together; `copies` holds them where they do not lie so.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a row of another width, which is a mistake of the source.
    pub(crate) fn arrays<'b, const N: usize>(
        &'b self,
        key: usize,
        copies: &'b mut Vec<[u8; N]>,
    ) -> Result<&'b [[u8; N]]> {
        let rows = self.stream.rows();
        if let RowsView::Dense { bytes, key: found, value } = rows
            && (found, value) == (key, N.saturating_sub(key))
        {
            return Ok(bytes.as_chunks().0);
        }
        copies.clear();
        for row in 0..rows.len() {
            let (key_bytes, value) = (rows.key(row), rows.value(row));
            if rows.is_long(row) || key_bytes.len() != key || key_bytes.len() + value.len() != N {
                return Err(Error::InvalidArgument(format!(
                    "a row is not {N} bytes wide, as all of its relation are to be"
                )));
            }
            let mut copy = [0; N];
            copy[..key].copy_from_slice(key_bytes);
            copy[key..].copy_from_slice(value);
            copies.push(copy);
        }
        Ok(copies)
    }

    /// Shows every row of the chunk; `long` holds values that lie elsewhere for the while.
    ///
    /// # Errors
    /// Those of the relation, and of `visit`.
    pub(crate) fn visit(
        &mut self,
        long: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for row in 0..self.stream.rows().len() {
            if self.stream.rows().is_long(row) {
                self.stream.long_value(row, long)?;
                visit(self.stream.rows().key(row), long)?;
            } else {
                let rows = self.stream.rows();
                visit(rows.key(row), rows.value(row))?;
            }
        }
        Ok(())
    }
}
