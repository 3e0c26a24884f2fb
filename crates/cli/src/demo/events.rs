//! Generated data: the times of events, which come in bursts with gaps between them.

use crate::input::{Input, InputError, InputFacts, Record};
use ogive::KeyType;
use ogive::types::{RecordType, TimeUnit};

/// The time before the first event: 2024-01-01, in nanoseconds since 1970.
const BEGIN_NS: i64 = 1_704_067_200_000_000_000;
/// The generator of random numbers of Knuth's MMIX. Its high bits are used, the low ones repeat soon.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;
/// Nanoseconds between two events of a burst: at least, and bits of what is added.
const STEP_NS_MIN: i64 = 1000;
const STEP_BITS: u32 = 20;
/// Bits of the nanoseconds between two bursts, up to 18 minutes, and of the mean number of events in one.
const GAP_BITS: u32 = 40;
const BURST_BITS: u32 = 12;

/// The times of events, in nanoseconds since 1970: strictly ascending, the same in each run.
#[derive(Clone, Debug)]
pub(super) struct Events {
    left: u64,
    time_ns: i64,
    state: u64,
}

impl Events {
    /// This number of them.
    pub(super) fn new(count: u64) -> Self {
        Self { left: count, time_ns: BEGIN_NS, state: 1 }
    }

    /// A random number of `bits` bits.
    fn draw(&mut self, bits: u32) -> i64 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        (self.state >> (u64::BITS - bits)).cast_signed()
    }
}

impl Iterator for Events {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        self.time_ns += STEP_NS_MIN + self.draw(STEP_BITS);
        if self.draw(BURST_BITS) == 0 {
            self.time_ns += self.draw(GAP_BITS);
        }
        Some(self.time_ns)
    }
}

/// The key of a time, in the type of [`EventsInput`].
pub(super) fn key(time_ns: i64) -> [u8; 8] {
    (time_ns ^ i64::MIN).to_be_bytes()
}

/// Events as an input: a time leads to the number of the event, counted from 0.
#[derive(Debug)]
pub(super) struct EventsInput {
    events: Events,
    facts: InputFacts,
    record: [[u8; 8]; 2],
    done: u64,
}

impl EventsInput {
    /// This number of events.
    pub(super) fn new(count: u64) -> Self {
        let facts = InputFacts {
            path: "events".into(),
            record_type: RecordType::new(KeyType::Timestamp(TimeUnit::Nanosecond), KeyType::U64),
            value_width: Some(8),
            records: Some(count),
            length_bytes: Some(count),
            may_be_empty: false,
        };
        Self { events: Events::new(count), facts, record: [[0; 8]; 2], done: 0 }
    }
}

impl Input for EventsInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        let Some(time_ns) = self.events.next() else { return Ok(None) };
        self.record = [key(time_ns), self.done.to_be_bytes()];
        self.done += 1;
        let [key, value] = &self.record;
        Ok(Some(Record { key, value }))
    }

    fn position_bytes(&self) -> u64 {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::types::Value;

    #[test]
    fn events_come_in_bursts_with_gaps_and_keys_are_of_their_type() {
        let times: Vec<i64> = Events::new(100_000).collect();
        assert!(times.is_sorted_by(|one, next| one + STEP_NS_MIN <= *next));
        let is_gap = |pair: &&[i64]| pair[1] - pair[0] > STEP_NS_MIN + (1 << STEP_BITS);
        let gaps = times.windows(2).filter(is_gap).count();
        assert!((10..50).contains(&gaps), "{gaps}");
        let mut input = EventsInput::new(3);
        let key_type = input.facts().record_type.keys;
        for (number, time_ns) in (0_u64..3).zip(times) {
            let record = input.next().unwrap().unwrap();
            assert_eq!(record.key, key_type.encode(&Value::Signed(time_ns.into())).unwrap());
            assert_eq!(record.value, number.to_be_bytes());
        }
        assert_eq!(input.next().unwrap(), None);
    }
}
