//! Samples of the keys, from which the size of data blocks is chosen.

use crate::failure::Result;
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, Unit};
use ogive::tune::TableSample;

/// Keys per run of neighbours, where not all are kept.
const RUN_KEYS: usize = 1 << 14;
/// Bytes of a block that hold no records.
const BLOCK_OVERHEAD_BYTES: u64 = 8;
/// Overhead of a record of variable width, in bytes: its lengths and its offset.
const VARIED_OVERHEAD_BYTES: f64 = 5.0;
const KEY_BYTES: u64 = 8;
const PROGRESS_RECORDS: u64 = 1 << 13;

/// Collects keys in order: all of them while there is room, then evenly spaced runs of neighbours, further and further
/// apart.
#[derive(Debug)]
struct ThinnedRuns {
    runs: Vec<Vec<u64>>,
    /// One in this many runs is kept.
    apart: u64,
    seen: u64,
    room: usize,
}

impl ThinnedRuns {
    /// Room for `keys` keys, and for at least two runs.
    fn new(keys: usize) -> Self {
        Self { runs: Vec::new(), apart: 1, seen: 0, room: (keys / RUN_KEYS).max(2) }
    }

    fn push(&mut self, key: u64) {
        let run = self.seen / RUN_KEYS as u64;
        let begins = self.seen.is_multiple_of(RUN_KEYS as u64);
        self.seen += 1;
        if !run.is_multiple_of(self.apart) {
            return;
        }
        if begins {
            if self.runs.len() >= self.room {
                self.thin();
                if !run.is_multiple_of(self.apart) {
                    return;
                }
            }
            self.runs.push(Vec::with_capacity(RUN_KEYS));
        }
        if let Some(last) = self.runs.last_mut() {
            last.push(key);
        }
    }

    /// Drops every second run.
    fn thin(&mut self) {
        let mut number = 0;
        self.runs.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        self.apart *= 2;
    }

    /// The runs; a single one if all keys were kept.
    fn finish(self) -> Vec<Vec<u64>> {
        if self.apart == 1 { vec![self.runs.concat()] } else { self.runs }
    }
}

/// Samples a sorted input by reading all of it: all keys if they fit in `memory_bytes`. `None` for keys that are not
/// numbers, for which the block size does not depend on the keys.
///
/// # Errors
/// Those of the input.
pub(crate) fn exact(input: &mut dyn Input, memory_bytes: u64, interrupt: &Interrupt) -> Result<Option<TableSample>> {
    let facts = input.facts().clone();
    if !facts.record_type.keys.is_numeric() {
        return Ok(None);
    }
    // Half of it, since joining the runs holds them twice.
    let mut keys = ThinnedRuns::new(usize::try_from(memory_bytes / 2 / KEY_BYTES).unwrap_or(usize::MAX));
    let mut progress = Progress::start("reading all keys", facts.length_bytes, Unit::Bytes);
    let mut value_bytes = 0;
    while let Some(record) = input.next()? {
        value_bytes += record.value.len() as u64;
        if let Ok(key) = record.key.try_into() {
            keys.push(u64::from_be_bytes(key));
        }
        if keys.seen.is_multiple_of(PROGRESS_RECORDS) {
            interrupt.check()?;
            progress.reach(input.position_bytes());
        }
    }
    let records = keys.seen;
    let mean_value_bytes = value_bytes as f64 / records.max(1) as f64;
    let varied = facts.dense_value_width().is_none();
    Ok(Some(sample(keys.finish(), records, mean_value_bytes, varied)))
}

/// A sample of these keys, representing `records` records.
pub(crate) fn sample(runs: Vec<Vec<u64>>, records: u64, mean_value_bytes: f64, varied: bool) -> TableSample {
    let overhead_bytes = if varied { VARIED_OVERHEAD_BYTES } else { 0.0 };
    let record_bytes = KEY_BYTES as f64 + mean_value_bytes + overhead_bytes;
    TableSample { runs, records, record_bytes, block_overhead_bytes: BLOCK_OVERHEAD_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_everything_or_runs_evenly_apart() {
        let run = RUN_KEYS as u64;
        let thinned = |keys: u64, room: usize| {
            let mut thinned = ThinnedRuns::new(room);
            (0..keys).for_each(|key| thinned.push(key));
            thinned.finish()
        };
        assert_eq!(thinned(5, 10), [(0..5).collect::<Vec<_>>()]);
        assert_eq!(thinned(4 * run, 4 * RUN_KEYS), [(0..4 * run).collect::<Vec<_>>()]);
        let firsts = |runs: Vec<Vec<u64>>| runs.iter().map(|keys| keys[0] / run).collect::<Vec<_>>();
        assert_eq!(firsts(thinned(5 * run, 4 * RUN_KEYS)), [0, 2, 4]);
        assert_eq!(firsts(thinned(40 * run, 4 * RUN_KEYS)), [0, 16, 32]);
        for runs in [thinned(40 * run, 4 * RUN_KEYS), thinned(7 * run + 3, 2 * RUN_KEYS)] {
            assert!(runs.iter().all(|keys| keys.len() <= RUN_KEYS && keys.is_sorted()));
        }
    }
}
