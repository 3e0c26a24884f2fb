//! The rows that are wanted, brought from key order into the order of the files within a limit of memory.

use super::memory::Shares;
use super::reading::WantedRow;
use crate::error::Result;
use ogive::Storage;
use ogive::table::sort::{Sorted, Sorter};
use std::sync::Arc;

/// Names of the files of the sort begin so.
const PREFIX: &str = "rows";

/// Rows that are added in the order in which they are wanted.
#[derive(Debug)]
pub(super) struct WantedList {
    /// Most rows in memory.
    most: usize,
    rows: Vec<WantedRow>,
    /// The rows, from the first on that memory does not hold.
    sorter: Option<Sorter>,
    next_place: u64,
}

/// The rows in the order of the files.
#[derive(Debug)]
pub(super) enum AscendingRows {
    Memory(Vec<WantedRow>),
    /// Sorted with files, and how many are taken at a time.
    Sorted(Box<Sorted>, usize),
}

/// The number of wanted rows that memory of this size holds.
pub(super) fn rows_within(bytes: u64) -> usize {
    (bytes as usize / size_of::<WantedRow>()).max(1)
}

impl WantedList {
    /// A list within this memory, in bytes.
    pub(super) fn new(memory_bytes: u64) -> Self {
        Self { most: rows_within(memory_bytes), rows: Vec::new(), sorter: None, next_place: 0 }
    }

    /// Adds a row behind those before.
    ///
    /// # Errors
    /// Those of a sort with files in `scratch`.
    pub(super) fn push(&mut self, row: u64, scratch: &dyn Fn() -> Result<Arc<dyn Storage>>) -> Result<()> {
        let wanted = WantedRow { row, place: self.next_place };
        self.next_place += 1;
        if self.sorter.is_none() && self.rows.len() < self.most {
            self.rows.push(wanted);
            return Ok(());
        }
        let sorter = match &mut self.sorter {
            Some(sorter) => sorter,
            None => {
                let memory_bytes = Shares::of_sort((self.most * size_of::<WantedRow>()) as u64);
                let sorter = self.sorter.insert(Sorter::new(scratch()?, memory_bytes, PREFIX)?);
                for wanted in std::mem::take(&mut self.rows) {
                    sorter.push(&wanted.row.to_be_bytes(), &wanted.place.to_be_bytes())?;
                }
                sorter
            }
        };
        Ok(sorter.push(&wanted.row.to_be_bytes(), &wanted.place.to_be_bytes())?)
    }

    /// The rows in the order of the files.
    ///
    /// # Errors
    /// Those of the sort.
    pub(super) fn finish(mut self) -> Result<AscendingRows> {
        match self.sorter {
            Some(sorter) => Ok(AscendingRows::Sorted(Box::new(sorter.finish()?), self.most)),
            None => {
                self.rows.sort_unstable();
                Ok(AscendingRows::Memory(self.rows))
            }
        }
    }
}

impl AscendingRows {
    /// The next rows, as many as memory holds; none at the end.
    ///
    /// # Errors
    /// Those of the sort.
    pub(super) fn next_rows(&mut self) -> Result<Vec<WantedRow>> {
        let (sorted, most) = match self {
            Self::Memory(rows) => return Ok(std::mem::take(rows)),
            Self::Sorted(sorted, most) => (sorted, *most),
        };
        let mut rows = Vec::new();
        while rows.len() < most
            && let Some((row, place)) = sorted.next_record()?
        {
            rows.push(WantedRow { row: crate::index::row_number(row), place: crate::index::row_number(place) });
        }
        Ok(rows)
    }
}
