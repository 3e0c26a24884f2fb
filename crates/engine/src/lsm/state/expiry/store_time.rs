//! The time of a store, by which its records expire.
//!
//! ```text
//! base     the time of day as of the last edit of the manifest, if that was credible; else the base before, and what
//!          has passed since then by a clock that does not jump: since the machine was started, or the store opened
//! bound    base + what has passed since then + 24 h
//! time     the time of day, at most the bound; it never goes back, also when the store is opened again
//! ```
//!
//! So a clock that is set back lets no record come back, and one that is far ahead lets few records expire before their
//! time, however often the manifest is written. How long a store was closed is known as long as its machine runs: the
//! manifest has the time since its start. Otherwise an opening goes on from the base that the manifest has, and after a
//! longer time than the bound allows,
//! [`DbExpiryOptions::clock_ahead_max`](crate::lsm::DbExpiryOptions::clock_ahead_max) says that the clock is right.

use crate::io::local::sync::Mutex;
use crate::io::{Clock, SinceBoot};
use crate::lsm::state::entry::Sequence;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Milliseconds of a duration, as many as there may be.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A time in milliseconds since the start of 1970; times before that are 0, and those too far away the greatest.
pub(crate) fn unix_ms_of(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, millis)
}

/// The time that is this many milliseconds after the start of 1970; the latest one that the system knows, if it does
/// not know that.
pub(crate) fn system_time_of(unix_ms: u64) -> SystemTime {
    let mut after = Duration::from_millis(unix_ms);
    loop {
        match SystemTime::UNIX_EPOCH.checked_add(after) {
            Some(time) => return time,
            None => after /= 2,
        }
    }
}

/// The time of an open store, shared by all its readers and writers.
#[derive(Debug)]
pub(in crate::lsm) struct StoreTime {
    clock: Clock,
    /// How far the clock may be ahead of what has passed.
    ahead_max_ms: u64,
    /// Whether there may be records that expire.
    is_used: AtomicBool,
    /// The latest time that was told.
    told_ms: AtomicU64,
    base: Mutex<TimeBase>,
}

/// The times of a store as its manifest has them, in milliseconds since the start of 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordedTimes {
    /// No reader has seen a later time.
    pub(crate) told_ms: u64,
    /// What the bound of later times is counted from.
    pub(crate) base_ms: u64,
    /// When that was, if it is known.
    pub(crate) since_boot: Option<SinceBoot>,
}

impl RecordedTimes {
    /// The later ones of both.
    pub(crate) fn latest(self, other: Self) -> Self {
        let later = if other.base_ms >= self.base_ms { other } else { self };
        Self { told_ms: self.told_ms.max(other.told_ms), ..later }
    }

    /// The base as of now.
    fn base_now_ms(self, clock: &Clock) -> u64 {
        let passed = self.since_boot.zip(clock.since_boot()).filter(|(then, now)| then.boot == now.boot);
        let passed_ms = passed.map_or(0, |(then, now)| now.ms.saturating_sub(then.ms));
        self.base_ms.saturating_add(passed_ms)
    }
}

/// The base, and what had passed then.
#[derive(Clone, Copy, Debug, Default)]
struct TimeBase {
    unix_ms: u64,
    passed_ms: u64,
}

/// The time of a store, beside that of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct TimeReading {
    pub(in crate::lsm) now_ms: u64,
    pub(in crate::lsm) clock_ms: u64,
    /// Whether the clock is further ahead than it may be.
    pub(in crate::lsm) is_ahead: bool,
}

impl StoreTime {
    /// The time of a store whose manifest has these times; `None` if none of its records expires.
    pub(in crate::lsm) fn new(clock: Clock, ahead_max: Duration, recorded: Option<RecordedTimes>) -> Self {
        let time = Self {
            clock,
            ahead_max_ms: millis(ahead_max),
            is_used: AtomicBool::new(false),
            told_ms: AtomicU64::new(0),
            base: Mutex::default(),
        };
        time.note_recorded(recorded);
        time
    }

    /// Whether there may be records that expire: one atomic load.
    #[inline]
    pub(in crate::lsm) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Acquire)
    }

    /// Notes the times that the manifest has.
    pub(in crate::lsm) fn note_recorded(&self, recorded: Option<RecordedTimes>) {
        let Some(recorded) = recorded else { return };
        let mut base = self.base.lock();
        let noted = TimeBase { unix_ms: recorded.base_now_ms(&self.clock), passed_ms: self.clock.passed_ms() };
        if noted.unix_ms > base.unix_ms.saturating_add(noted.passed_ms.saturating_sub(base.passed_ms)) {
            *base = noted;
        }
        self.told_ms.fetch_max(recorded.told_ms, Ordering::AcqRel);
        self.is_used.store(true, Ordering::Release);
    }

    /// The times for the manifest to have, from which on records may expire.
    pub(in crate::lsm) fn to_record(&self) -> RecordedTimes {
        let (reading, base_ms) = self.read_from_base();
        let base_ms = if reading.is_ahead { base_ms } else { reading.clock_ms.max(base_ms) };
        let since_boot = self.clock.since_boot();
        RecordedTimes { told_ms: reading.now_ms, base_ms: base_ms.min(reading.now_ms), since_boot }
    }

    /// The time, and that of the clock.
    pub(in crate::lsm) fn read(&self) -> TimeReading {
        self.read_from_base().0
    }

    /// The time, and the base with what has passed since.
    fn read_from_base(&self) -> (TimeReading, u64) {
        let base = *self.base.lock();
        let clock_ms = self.clock.unix_ms();
        let passed_ms = self.clock.passed_ms().saturating_sub(base.passed_ms);
        if !self.is_used() {
            return (TimeReading { now_ms: clock_ms, clock_ms, is_ahead: false }, clock_ms);
        }
        let base_ms = base.unix_ms.saturating_add(passed_ms);
        let bound_ms = base_ms.saturating_add(self.ahead_max_ms);
        let time_ms = clock_ms.min(bound_ms);
        // Others may have told a later time.
        let now_ms = self.told_ms.fetch_max(time_ms, Ordering::AcqRel).max(time_ms);
        (TimeReading { now_ms, clock_ms, is_ahead: clock_ms > bound_ms }, base_ms)
    }

    /// Milliseconds that have passed since some time, by a clock that does not jump.
    #[inline]
    pub(in crate::lsm) fn passed_ms(&self) -> u64 {
        self.clock.passed_ms()
    }

    /// Whether the clock is as far behind the time as it must not be ahead of it.
    pub(in crate::lsm) fn is_behind(&self, reading: TimeReading) -> bool {
        self.is_used() && reading.now_ms > reading.clock_ms.saturating_add(self.ahead_max_ms)
    }

    /// The time, in milliseconds since the start of 1970.
    #[cold]
    pub(in crate::lsm) fn now_ms(&self) -> u64 {
        self.read().now_ms
    }

    /// The time, or 0 if none of the records that are visible now expires.
    #[inline]
    pub(in crate::lsm) fn now_if_used(&self) -> u64 {
        if self.is_used() { self.now_ms() } else { 0 }
    }
}

/// What a reader sees of a store: the operations up to a number, without the records that have expired by a time. Two
/// words, so that it is passed in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct ReadPoint {
    pub(in crate::lsm) at: Sequence,
    /// The time since 1970, or [`TIME_OF_READ_MS`].
    time_ms: u64,
}

/// Stands for the time of the read, which is asked for only if an entry expires.
const TIME_OF_READ_MS: u64 = u64::MAX;

impl ReadPoint {
    /// All operations, at the time of the read.
    pub(in crate::lsm) const NEWEST: Self = Self { at: Sequence::MAX, time_ms: TIME_OF_READ_MS };

    /// The operations up to a number, with those that have expired.
    pub(in crate::lsm) fn with_expired(at: Sequence) -> Self {
        Self { at, time_ms: 0 }
    }

    /// The operations up to a number, at a time.
    pub(in crate::lsm) fn at_time(at: Sequence, now_ms: u64) -> Self {
        Self { at, time_ms: now_ms.min(TIME_OF_READ_MS - 1) }
    }

    /// The same time, with operations up to a number only.
    #[inline]
    pub(in crate::lsm) fn up_to(self, at: Sequence) -> Self {
        Self { at: self.at.min(at), ..self }
    }

    /// The same for a reader that goes on for a while: its time is that of its beginning.
    #[inline]
    pub(in crate::lsm) fn fixed(self, time: &StoreTime) -> Self {
        self.fixed_ms().map_or_else(|| Self::at_time(self.at, time.now_if_used()), |_| self)
    }

    /// The time, unless it is that of the read.
    #[inline]
    pub(in crate::lsm) fn fixed_ms(self) -> Option<u64> {
        Some(self.time_ms).filter(|&time_ms| time_ms != TIME_OF_READ_MS)
    }

    /// The time as of which it sees records that expire, by the time of the store.
    #[inline]
    pub(in crate::lsm) fn now_ms(self, time: &StoreTime) -> u64 {
        self.fixed_ms().unwrap_or_else(|| time.now_ms())
    }
}

impl Default for StoreTime {
    fn default() -> Self {
        Self::new(Clock::default(), Duration::ZERO, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;

    fn time(clock: &Clock, recorded_ms: u64) -> StoreTime {
        let recorded = RecordedTimes { told_ms: recorded_ms, base_ms: recorded_ms, since_boot: None };
        StoreTime::new(clock.clone(), Duration::from_secs(24 * 3600), Some(recorded))
    }

    #[test]
    fn the_time_never_goes_back_and_is_never_before_what_was_recorded() {
        let clock = Clock::moved_by_hand(1000 * HOUR);
        let time = time(&clock, 1000 * HOUR);
        clock.pass(5 * HOUR);
        assert_eq!(time.now_ms(), 1005 * HOUR);
        clock.set_unix_ms(3 * HOUR);
        assert_eq!(time.read(), TimeReading { now_ms: 1005 * HOUR, clock_ms: 3 * HOUR, is_ahead: false });
        assert_eq!(time.to_record().told_ms, 1005 * HOUR);
        assert_eq!(self::time(&clock, 1004 * HOUR).now_ms(), 1004 * HOUR);
    }

    #[test]
    fn the_time_moves_at_most_a_day_more_than_what_has_passed_however_often_it_is_recorded() {
        let clock = Clock::moved_by_hand(1000 * HOUR);
        let mut time = time(&clock, 1000 * HOUR);
        clock.pass(HOUR);
        clock.set_unix_ms(9000 * HOUR);
        for passed in 1..5 {
            let now_ms = (1024 + passed) * HOUR;
            assert_eq!(time.read(), TimeReading { now_ms, clock_ms: (8999 + passed) * HOUR, is_ahead: true });
            let recorded = time.to_record();
            assert_eq!((recorded.told_ms, recorded.base_ms), (now_ms, (1000 + passed) * HOUR));
            time.note_recorded(Some(recorded));
            time = StoreTime::new(clock.clone(), Duration::from_secs(24 * 3600), Some(recorded));
            clock.pass(HOUR);
        }
        clock.set_unix_ms(1020 * HOUR);
        assert!(!time.read().is_ahead);
        time.note_recorded(Some(time.to_record()));
        clock.set_unix_ms(1044 * HOUR);
        assert!(!time.read().is_ahead);
    }

    #[test]
    fn how_long_a_store_was_closed_is_known_until_the_machine_is_started_again() {
        let clock = Clock::moved_by_hand(1000 * HOUR);
        let recorded = time(&clock, 1000 * HOUR).to_record();
        let opened = || StoreTime::new(clock.clone(), Duration::from_secs(24 * 3600), Some(recorded));
        clock.pass(500 * HOUR);
        assert_eq!(opened().read(), TimeReading { now_ms: 1500 * HOUR, clock_ms: 1500 * HOUR, is_ahead: false });
        clock.set_unix_ms(1525 * HOUR);
        assert_eq!(opened().read(), TimeReading { now_ms: 1524 * HOUR, clock_ms: 1525 * HOUR, is_ahead: true });
        clock.restart();
        assert_eq!(opened().read(), TimeReading { now_ms: 1024 * HOUR, clock_ms: 1525 * HOUR, is_ahead: true });
        // The later base counts, with what was known of its time.
        let later = RecordedTimes { told_ms: 1, base_ms: recorded.base_ms + 1, since_boot: None };
        let latest = RecordedTimes { told_ms: recorded.told_ms, ..later };
        assert_eq!((recorded.latest(later), later.latest(recorded)), (latest, latest));
    }

    #[test]
    fn times_that_no_clock_shows_are_the_nearest_ones() {
        assert_eq!(unix_ms_of(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), 0);
        assert_eq!(unix_ms_of(system_time_of(7)), 7);
        assert!(unix_ms_of(system_time_of(u64::MAX)) > 1 << 50);
        assert_eq!(millis(Duration::MAX), u64::MAX);
    }
}
