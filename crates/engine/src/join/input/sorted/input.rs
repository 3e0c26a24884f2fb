//! The input of a sort: the rows of a relation in the order of arrival, counted as progress.

use crate::error::{Error, Result};
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::stream::{RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use std::sync::Arc;

/// The scan of the input gets 1/16 of the memory, within bounds: it reads in long requests, and the rest is for
/// sorting.
const INPUT_DIVISOR: u64 = 16;
const INPUT_BYTES_MIN: u64 = 32 << 10;
const INPUT_BYTES_MAX: u64 = 4 << 20;

/// Memory for the scan of the input, out of `memory_bytes`.
pub(crate) fn input_bytes(memory_bytes: u64) -> u64 {
    (memory_bytes / INPUT_DIVISOR).clamp(INPUT_BYTES_MIN, INPUT_BYTES_MAX)
}

/// The rows of a relation, chunk by chunk.
pub(crate) struct SortInput<'a> {
    stream: Box<dyn RowStream>,
    task: Arc<Task>,
    progress: &'a mut SortProgress,
}

impl<'a> SortInput<'a> {
    /// Opens the rows within a range of keys, using `memory`.
    ///
    /// # Errors
    /// Errors of the relation.
    pub(crate) fn open(
        relation: &dyn Relation,
        range: &KeyRange,
        task: &Arc<Task>,
        memory: MemoryGrant,
        progress: &'a mut SortProgress,
    ) -> Result<Self> {
        Ok(Self { stream: relation.scan(range, task, memory)?, task: Arc::clone(task), progress })
    }

    /// Moves to the next chunk; `false` at the end.
    ///
    /// # Errors
    /// Errors of the relation; [`Cause::Interrupted`](crate::Cause::Interrupted).
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

    /// The rows of the chunk as arrays of `N` bytes, key and value; `copies` holds them unless they are dense.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a row of another width, an error of the source.
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
                return Err(Error::input(format!("a row is not {N} bytes wide, unlike its relation states")));
            }
            let mut copy = [0; N];
            copy[..key].copy_from_slice(key_bytes);
            copy[key..].copy_from_slice(value);
            copies.push(copy);
        }
        Ok(copies)
    }

    /// Visits every row of the chunk; `long` is a buffer for out-of-line values.
    ///
    /// # Errors
    /// Errors of the relation, and of `visit`.
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
