//! Scalars of other crates, each behind the feature of its name. Times are kept in microseconds; what is finer is cut
//! off, towards the past.

use super::scalars::fixed;

#[cfg(feature = "uuid")]
fixed!(uuid::Uuid, 16, crate::types::KeyType::Uuid, |value| Ok(*value.as_bytes()), |bytes| {
    Some(uuid::Uuid::from_bytes(bytes))
});

#[cfg(any(feature = "chrono", feature = "jiff"))]
mod times {
    pub(super) use super::fixed;
    pub(super) use crate::error::{Error, Result};
    pub(super) use crate::types::{KeyType, TimeUnit, encode_i64};

    pub(super) const DATE: KeyType = KeyType::Date;
    pub(super) const TIME: KeyType = KeyType::Time(TimeUnit::Microsecond);
    pub(super) const TIMESTAMP: KeyType = KeyType::Timestamp(TimeUnit::Microsecond);

    pub(super) fn encode_days(days: i32) -> [u8; 4] {
        (days ^ i32::MIN).to_be_bytes()
    }

    pub(super) fn decode_days(bytes: [u8; 4]) -> i32 {
        i32::from_be_bytes(bytes) ^ i32::MIN
    }

    pub(super) fn decode_i64(bytes: [u8; 8]) -> i64 {
        i64::from_be_bytes(bytes) ^ i64::MIN
    }

    /// A time of day: seconds since midnight, and nanoseconds.
    pub(super) fn encode_time(seconds: u64, nanoseconds: u32) -> [u8; 8] {
        (seconds * 1_000_000 + u64::from(nanoseconds) / 1000).to_be_bytes()
    }

    /// Seconds since midnight, and nanoseconds.
    pub(super) fn decode_time(bytes: [u8; 8]) -> Option<(u32, u32)> {
        let microseconds = u64::from_be_bytes(bytes);
        let seconds = u32::try_from(microseconds / 1_000_000).ok()?;
        Some((seconds, (microseconds % 1_000_000) as u32 * 1000))
    }
}

#[cfg(feature = "chrono")]
mod of_chrono {
    use super::times::*;
    use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Utc};

    /// Days from the first day of year 1 to 1970-01-01, counted from 1.
    const EPOCH: i32 = 719_163;

    /// Leap seconds are told by their nanoseconds; neither times nor timestamps have them.
    fn refuse_leap(time: NaiveTime) -> Result<()> {
        match time.nanosecond() < 1_000_000_000 {
            true => Ok(()),
            false => Err(Error::input(format!("{time:?} is a leap second, which cannot be stored"))),
        }
    }

    fixed!(NaiveDate, 4, DATE, |value| Ok(encode_days(value.num_days_from_ce() - EPOCH)), |bytes| {
        NaiveDate::from_num_days_from_ce_opt(decode_days(bytes).checked_add(EPOCH)?)
    });
    fixed!(
        NaiveTime,
        8,
        TIME,
        |value| {
            refuse_leap(*value)?;
            Ok(encode_time(value.num_seconds_from_midnight().into(), value.nanosecond()))
        },
        |bytes| {
            let (seconds, nanoseconds) = decode_time(bytes)?;
            NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanoseconds)
        }
    );
    fixed!(
        NaiveDateTime,
        8,
        TIMESTAMP,
        |value| {
            refuse_leap(value.time())?;
            Ok(encode_i64(value.and_utc().timestamp_micros()))
        },
        |bytes| Some(DateTime::from_timestamp_micros(decode_i64(bytes))?.naive_utc())
    );
    fixed!(
        DateTime<Utc>,
        8,
        TIMESTAMP,
        |value| {
            refuse_leap(value.time())?;
            Ok(encode_i64(value.timestamp_micros()))
        },
        |bytes| DateTime::from_timestamp_micros(decode_i64(bytes))
    );
}

#[cfg(feature = "jiff")]
mod of_jiff {
    use super::times::*;
    use jiff::civil::{Date, DateTime, Time};
    use jiff::{SignedDuration, Timestamp};

    const EPOCH: Date = Date::constant(1970, 1, 1);
    const DAY_MICROSECONDS: i64 = 86_400_000_000;

    fn date(days: i64) -> Option<Date> {
        EPOCH.checked_add(SignedDuration::from_hours(days * 24)).ok()
    }

    fn time(bytes: [u8; 8]) -> Option<Time> {
        let (seconds, nanoseconds) = decode_time(bytes)?;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        Time::new(i8::try_from(hour).ok()?, minute as i8, second as i8, nanoseconds as i32).ok()
    }

    fixed!(Date, 4, DATE, |value| Ok(encode_days((value.duration_since(EPOCH).as_hours() / 24) as i32)), |bytes| date(
        decode_days(bytes).into()
    ));
    fixed!(
        Time,
        8,
        TIME,
        |value| {
            let seconds = value.hour() as u64 * 3600 + value.minute() as u64 * 60 + value.second() as u64;
            Ok(encode_time(seconds, value.subsec_nanosecond() as u32))
        },
        |bytes| time(bytes)
    );
    fixed!(
        DateTime,
        8,
        TIMESTAMP,
        |value| {
            let since = value.duration_since(EPOCH.to_datetime(Time::midnight()));
            Ok(encode_i64(since.as_nanos().div_euclid(1000) as i64))
        },
        |bytes| {
            let value = decode_i64(bytes);
            let (days, of_day) = (value.div_euclid(DAY_MICROSECONDS), value.rem_euclid(DAY_MICROSECONDS));
            Some(date(days)?.to_datetime(time(of_day.to_be_bytes())?))
        }
    );
    fixed!(Timestamp, 8, TIMESTAMP, |value| Ok(encode_i64(value.as_nanosecond().div_euclid(1000) as i64)), |bytes| {
        Timestamp::from_microsecond(decode_i64(bytes)).ok()
    });
}
