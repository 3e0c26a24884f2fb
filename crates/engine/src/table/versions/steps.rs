//! A lookup with a clock between its steps, for latency breakdowns (Bourbon, Figures 2 and 8).

use super::{FastLookup, FoundValue, FoundVersion, SearchPath};
use crate::block::Slice;
use crate::error::Result;
use crate::io::StepClock;
use crate::table::Table;

/// Nanoseconds of the steps in one table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableSteps {
    /// From the key to its block.
    pub(crate) search_index_ns: f64,
    pub(crate) search_filter_ns: f64,
    /// From the block's number to its bytes.
    pub(crate) load_block_ns: f64,
    /// From the block to the record.
    pub(crate) search_block_ns: f64,
}

impl Table {
    /// As [`Table::find_version`]; adds the duration of the steps. The fallback counts as search in the block.
    ///
    /// # Errors
    /// As [`Table::find_version`].
    pub(crate) fn find_version_timed(
        &self,
        key: &[u8],
        at: u64,
        path: SearchPath,
        clock: &mut StepClock,
        steps: &mut TableSteps,
    ) -> Result<Option<FoundVersion>> {
        let inner = &*self.inner;
        let start = if inner.directory.is_some() { inner.start(key, path)? } else { None };
        steps.search_index_ns += clock.lap_ns();
        if let Some(start) = &start {
            let may_hold = !start.is_exact || inner.filter_may_hold(key, start.block)?;
            steps.search_filter_ns += clock.lap_ns();
            if !may_hold {
                return Ok(None);
            }
            let mut show = |tag, sequence, value: FoundValue<'_>| match value {
                FoundValue::InBlock(block, place) => Slice::of_block(block, place).map(|value| (tag, sequence, value)),
                FoundValue::Read(value) => Some((tag, sequence, value.into())),
            };
            if let (Some(directory), Some(slots)) = (&inner.directory, inner.cache.slots()) {
                let visited = slots.visit(directory, start.block, |bytes, note| {
                    steps.load_block_ns += clock.lap_ns();
                    inner.in_quick(start, bytes, note, key, at, &mut show)
                });
                if let Some(Some(outcome)) = visited {
                    steps.search_block_ns += clock.lap_ns();
                    match outcome {
                        FastLookup::FoundValue(found) => return Ok(Some(found)),
                        FastLookup::Absent if start.is_exact => return Ok(None),
                        FastLookup::Absent | FastLookup::Unknown => {}
                    }
                }
            }
        }
        let found = self.find_version(key, at, path)?;
        steps.search_block_ns += clock.lap_ns();
        Ok(found)
    }
}
