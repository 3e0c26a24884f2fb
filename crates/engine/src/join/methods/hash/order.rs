//! The output sort of a hash join: puts rows in key order.

use crate::error::{Error, Result};
use crate::join::rows::sink::RowSink;
use crate::join::rows::spill::{Spill, SpillName};
use crate::join::rows::task::{MemoryGrant, Task};
use crate::table::sort::{SORT_MEMORY_BYTES_MIN, Sorter};
use std::sync::Arc;

/// Header of the values: bits 0 and 1 for whether there is a right and a left one, and the length of the left one, u32
/// little-endian.
const VALUE_HEADER_BYTES: usize = 5;

/// A sink that takes rows in any order and passes them on in key order.
pub(super) struct OrderSink {
    // Declared before `_name`: run files must be dropped before their name is released.
    sorter: Sorter,
    _name: SpillName,
    value: Vec<u8>,
    rows: u64,
    task: Arc<Task>,
    _memory: MemoryGrant,
}

impl OrderSink {
    /// A sink that sorts within `memory_bytes` of the budget.
    pub(super) fn new(spill: &Arc<Spill>, memory_bytes: u64) -> Result<Self> {
        let memory = spill.task().budget.take(memory_bytes.max(SORT_MEMORY_BYTES_MIN), "sorting the output")?;
        let name = spill.name()?;
        let sorter = Sorter::new(Arc::clone(spill.storage()), memory.bytes(), name.as_str())?;
        Ok(Self { sorter, _name: name, value: Vec::new(), rows: 0, task: Arc::clone(spill.task()), _memory: memory })
    }

    /// Ends the input, and passes all rows to another sink.
    pub(super) fn drain_to(self, sink: &mut dyn RowSink) -> Result<()> {
        let Self { sorter, _name, value, task, _memory, .. } = self;
        drop(value);
        let mut sorted = sorter.finish()?;
        let mut given = 0_u64;
        while let Some((key, value)) = sorted.next_record()? {
            let parts = value.split_first_chunk::<VALUE_HEADER_BYTES>().and_then(|([flag, length @ ..], rest)| {
                let (left, right) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                Some(((*flag & 2 > 0).then_some(left), (*flag & 1 > 0).then_some(right)))
            });
            let Some((left, right)) = parts else {
                return Err(Error::input("a sorted row differs from the row that was sorted"));
            };
            sink.row(key, left, right)?;
            given += 1;
            if given.is_multiple_of(1024) {
                task.check()?;
            }
        }
        Ok(())
    }
}

impl RowSink for OrderSink {
    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        self.value.clear();
        self.value.push(u8::from(right.is_some()) | u8::from(left.is_some()) << 1);
        let left = left.unwrap_or_default();
        self.value.extend_from_slice(&(left.len() as u32).to_le_bytes());
        self.value.extend_from_slice(left);
        self.value.extend_from_slice(right.unwrap_or_default());
        self.rows += 1;
        self.sorter.push(key, &self.value).map_err(|error| self.task.budget.sort_error(error))
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
