//! Times in UTC as text, and read from it.

use ogive::KeyType;
use ogive::types::{TimeUnit, Value};
use std::time::{Duration, SystemTime};

/// The type of a time with milliseconds.
const MILLISECONDS: KeyType = KeyType::Timestamp(TimeUnit::Millisecond);

/// A time in UTC, as it is printed here or elsewhere: `2030-01-31`, `2030-01-31 12:00:00`, `2030-01-31T12:00:00.123Z`
/// or with UTC behind it.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn utc_time(text: &str) -> Result<SystemTime, String> {
    let plain = text.strip_suffix('Z').or_else(|| text.strip_suffix(" UTC")).unwrap_or(text);
    let read = MILLISECONDS.parse(plain).and_then(|time| MILLISECONDS.decode(&time));
    match read {
        Ok(Value::Signed(ms)) => Ok(SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or(0))),
        _ => Err(format!("{text:?} is no time in UTC, such as '2030-01-31 12:00:00'")),
    }
}

/// A time in UTC with milliseconds, if it has any: `2030-01-31T12:00:00`.
pub(crate) fn utc_text(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = MILLISECONDS.encode(&Value::Signed(since.as_millis() as i128));
    // Only times after the last year that is known have no text; they are as good as the last one.
    time.map_or_else(|_| "9999-12-31T23:59:59".to_owned(), |time| MILLISECONDS.display(&time))
}

/// A time in nanoseconds since 1970 as a date in UTC: `2026-11-21 12:33:01`.
///
/// The days are turned into a date as in Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms": years begin in
/// March, so that the leap day is the last one.
pub(crate) fn date(time_ns: u64) -> String {
    let seconds = time_ns / 1_000_000_000;
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_printed() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_896_091_200_123);
        assert_eq!(utc_text(time), "2030-01-31T12:00:00.123");
        for text in ["", "Z", " UTC"] {
            assert_eq!(utc_time(&(utc_text(time) + text)).unwrap(), time);
        }
        assert_eq!(utc_time("2030-01-31 12:00:00.123"), Ok(time));
        assert_eq!(utc_time("1970-01-01"), Ok(SystemTime::UNIX_EPOCH));
        assert!(utc_time("noon").is_err() && utc_time("Z").is_err());
        assert!(!utc_text(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40)).is_empty());
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_709_251_200, "2024-03-01 00:00:00"),
            (1_798_761_599, "2026-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(date(seconds * 1_000_000_000), text);
        }
        assert_eq!(date(u64::MAX), "2554-07-21 23:34:33");
    }
}
