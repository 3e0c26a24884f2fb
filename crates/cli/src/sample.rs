//! Samples of the keys, by which the size of data blocks is chosen.

use crate::failure::Result;
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, Unit};
use ogive::tune::Sample;

/// Keys of one stretch of neighbours, where not all are kept.
const STRETCH_KEYS: usize = 1 << 14;
/// Bytes of a block that hold no record.
const BLOCK_OVERHEAD_BYTES: u64 = 8;
/// Bytes that a record of varying width takes beside its key and value: its lengths, and where it starts.
const VARIED_OVERHEAD_BYTES: f64 = 5.0;
const KEY_BYTES: u64 = 8;
const RECORDS_A_STEP: u64 = 1 << 13;

/// Gathers keys in order: all of them while there is room, then stretches of neighbours, ever further apart but evenly
/// taken from the whole.
#[derive(Debug)]
struct Thinned {
    stretches: Vec<Vec<u64>>,
    /// Of so many stretches, one is kept.
    apart: u64,
    seen: u64,
    room: usize,
}

impl Thinned {
    /// Room for `keys` keys, and for two stretches at least.
    fn new(keys: usize) -> Self {
        Self { stretches: Vec::new(), apart: 1, seen: 0, room: (keys / STRETCH_KEYS).max(2) }
    }

    fn push(&mut self, key: u64) {
        let stretch = self.seen / STRETCH_KEYS as u64;
        let begins = self.seen.is_multiple_of(STRETCH_KEYS as u64);
        self.seen += 1;
        if !stretch.is_multiple_of(self.apart) {
            return;
        }
        if begins {
            if self.stretches.len() >= self.room {
                self.thin();
                if !stretch.is_multiple_of(self.apart) {
                    return;
                }
            }
            self.stretches.push(Vec::with_capacity(STRETCH_KEYS));
        }
        if let Some(last) = self.stretches.last_mut() {
            last.push(key);
        }
    }

    /// Drops every second stretch.
    fn thin(&mut self) {
        let mut number = 0;
        self.stretches.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        self.apart *= 2;
    }

    /// The stretches; where all keys are there, they are one.
    fn finish(self) -> Vec<Vec<u64>> {
        if self.apart == 1 { vec![self.stretches.concat()] } else { self.stretches }
    }
}

/// Samples a sorted input by reading all of it: exactly all keys, where `memory_bytes` hold them. Nothing for keys that are
/// no numbers, where the size of blocks is not chosen by the keys.
///
/// # Errors
/// Those of the input.
pub(crate) fn exact(input: &mut dyn Input, memory_bytes: u64, interrupt: &Interrupt) -> Result<Option<Sample>> {
    let facts = input.facts().clone();
    if !facts.key_type.is_numeric() {
        return Ok(None);
    }
    // Half of it, as joining the stretches takes them twice.
    let mut keys = Thinned::new(usize::try_from(memory_bytes / 2 / KEY_BYTES).unwrap_or(usize::MAX));
    let mut progress = Progress::start("reading all keys", facts.length_bytes, Unit::Bytes);
    let mut value_bytes = 0;
    while let Some(record) = input.next()? {
        value_bytes += record.value.len() as u64;
        if let Ok(key) = record.key.try_into() {
            keys.push(u64::from_be_bytes(key));
        }
        if keys.seen.is_multiple_of(RECORDS_A_STEP) {
            interrupt.check()?;
            progress.reach(input.position_bytes());
        }
    }
    let records = keys.seen;
    let mean_value_bytes = value_bytes as f64 / records.max(1) as f64;
    let varied = facts.dense_value_width().is_none();
    Ok(Some(sample(keys.finish(), records, mean_value_bytes, varied)))
}

/// A sample of these keys, which stand for `records` records.
pub(crate) fn sample(stretches: Vec<Vec<u64>>, records: u64, mean_value_bytes: f64, varied: bool) -> Sample {
    let overhead_bytes = if varied { VARIED_OVERHEAD_BYTES } else { 0.0 };
    let record_bytes = KEY_BYTES as f64 + mean_value_bytes + overhead_bytes;
    Sample { runs: stretches, records, record_bytes, block_overhead_bytes: BLOCK_OVERHEAD_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_everything_or_stretches_evenly_apart() {
        let stretch = STRETCH_KEYS as u64;
        let thinned = |keys: u64, room: usize| {
            let mut thinned = Thinned::new(room);
            (0..keys).for_each(|key| thinned.push(key));
            thinned.finish()
        };
        assert_eq!(thinned(5, 10), [(0..5).collect::<Vec<_>>()]);
        assert_eq!(thinned(4 * stretch, 4 * STRETCH_KEYS), [(0..4 * stretch).collect::<Vec<_>>()]);
        let firsts = |stretches: Vec<Vec<u64>>| stretches.iter().map(|keys| keys[0] / stretch).collect::<Vec<_>>();
        assert_eq!(firsts(thinned(5 * stretch, 4 * STRETCH_KEYS)), [0, 2, 4]);
        assert_eq!(firsts(thinned(40 * stretch, 4 * STRETCH_KEYS)), [0, 16, 32]);
        for stretches in [thinned(40 * stretch, 4 * STRETCH_KEYS), thinned(7 * stretch + 3, 2 * STRETCH_KEYS)] {
            assert!(stretches.iter().all(|keys| keys.len() <= STRETCH_KEYS && keys.is_sorted()));
        }
    }
}
