//! Dates and times of day as text, in the proleptic Gregorian calendar (ISO 8601).

use super::TimeUnit;

/// The calendar repeats after this many years.
const YEARS_PER_ERA: i128 = 400;
/// Days in them.
const DAYS_PER_ERA: i128 = 146_097;
/// Days from 0000-03-01, where an era begins, to 1970-01-01.
const DAYS_TO_EPOCH: i128 = 719_468;
pub(super) const SECONDS_PER_DAY: i128 = 86_400;

/// Days since 1970-01-01 of a date; `None` if there is no such date.
fn days_of(year: i128, month: u32, day: u32) -> Option<i128> {
    let (era, year_of_era) = (year.div_euclid(YEARS_PER_ERA), year.rem_euclid(YEARS_PER_ERA) as i64);
    Some(era * DAYS_PER_ERA + i128::from(days_of_date(year_of_era, month, day)?))
}

/// The same for a year from 0 to 9999. Years count from March here, so that the day that only some have is the last of
/// them.
pub(super) fn days_of_date(year: i64, month: u32, day: u32) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    // Years count from March, a cycle later, so that none is negative.
    let year = if month > 2 { year + 400 } else { year + 399 };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * i64::from((month + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some((era - 1) * DAYS_PER_ERA as i64 + day_of_era - DAYS_TO_EPOCH as i64)
}

/// Year, month and day of a number of days since 1970-01-01.
fn date_of(days: i128) -> (i128, i128, i128) {
    let days = days + DAYS_TO_EPOCH;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months = (5 * day_of_year + 2) / 153;
    let month = if months < 10 { months + 3 } else { months - 9 };
    let year = era * 400 + year_of_era + i128::from(month <= 2);
    (year, month, day_of_year - (153 * months + 2) / 5 + 1)
}

/// Text of a date: `2024-02-29`; years beyond four digits have a sign.
pub(super) fn display_date(days: i128) -> String {
    let (year, month, day) = date_of(days);
    if (0..=9999).contains(&year) {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{year:+05}-{month:02}-{day:02}")
    }
}

/// Reads a date; `None` if it is not one.
pub(super) fn parse_date(text: &str) -> Option<i128> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => (1, text),
    };
    let mut parts = rest.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let is_signed = rest.len() != text.len();
    let year_fits = if is_signed { (4..=12).contains(&year.len()) } else { year.len() == 4 };
    if parts.next().is_some() || !year_fits || month.len() != 2 || day.len() != 2 {
        return None;
    }
    days_of(sign * number(year)?, number(month)?.try_into().ok()?, number(day)?.try_into().ok()?)
}

/// Text of a time of day in units since midnight: `23:59:59.5`; the fraction without zeros at its end.
pub(super) fn display_time(units: i128, unit: TimeUnit) -> String {
    let per_second = unit.per_second();
    let (seconds, fraction) = (units / per_second, units % per_second);
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction > 0 {
        let digits = format!("{fraction:0width$}", width = unit.digits());
        text.push('.');
        text.push_str(digits.trim_end_matches('0'));
    }
    text
}

/// Reads a time of day, with or without seconds; `None` if it is not one, or finer than the unit.
pub(super) fn parse_time(text: &str, unit: TimeUnit) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let parts: Vec<&str> = whole.split(':').collect();
    let (hours, minutes, seconds) = match parts[..] {
        [hours, minutes] if fraction.is_none() => (hours, minutes, "00"),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    let part = |text: &str, end: i128| (text.len() == 2).then(|| number(text)).flatten().filter(|&number| number < end);
    let seconds = part(hours, 24)? * 3600 + part(minutes, 60)? * 60 + part(seconds, 60)?;
    let fraction = fraction.map_or(Some(0), |digits| {
        let (kept, rest) = digits.split_at_checked(unit.digits()).unwrap_or((digits, ""));
        let is_exact = rest.bytes().all(|digit| digit == b'0') && !digits.is_empty();
        let missing = 10_i128.pow((unit.digits() - kept.len()) as u32);
        if kept.is_empty() { Some(0).filter(|_| is_exact) } else { Some(number(kept)? * missing).filter(|_| is_exact) }
    })?;
    Some(seconds * unit.per_second() + fraction)
}

/// Text of a timestamp: `2024-02-29T23:59:59.5`.
pub(super) fn display_timestamp(units: i128, unit: TimeUnit) -> String {
    let per_day = SECONDS_PER_DAY * unit.per_second();
    let (days, units) = (units.div_euclid(per_day), units.rem_euclid(per_day));
    format!("{}T{}", display_date(days), display_time(units, unit))
}

/// Text of a time in milliseconds since the start of 1970.
pub(crate) fn display_unix_ms(unix_ms: u64) -> String {
    display_timestamp(i128::from(unix_ms), TimeUnit::Millisecond)
}

/// Reads a timestamp: a date, `T` or a space, a time of day, and if any, `Z` or an offset from UTC such as `+02:00` or
/// `+02`. A date alone is its midnight. `None` if the text is none of this.
pub(super) fn parse_timestamp(text: &str, unit: TimeUnit) -> Option<i128> {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return Some(parse_date(text)? * SECONDS_PER_DAY * unit.per_second());
    };
    let (time, offset) = if let Some(time) = time.strip_suffix(['Z', 'z']) {
        (time, 0)
    } else if let Some(at) = time.find(['+', '-']) {
        let offset = parse_offset(&time[at + 1..])?;
        (&time[..at], if time[at..].starts_with('-') { -offset } else { offset })
    } else {
        (time, 0)
    };
    let seconds = parse_date(date)? * SECONDS_PER_DAY - offset;
    Some(seconds * unit.per_second() + parse_time(time, unit)?)
}

/// The seconds of an offset from UTC without its sign: hours, and minutes and seconds if it has them.
fn parse_offset(text: &str) -> Option<i128> {
    match text.len() {
        2 => number(text).filter(|hours| *hours < 24).map(|hours| hours * 3600),
        _ => parse_time(text, TimeUnit::Second),
    }
}

/// A number of digits only: `parse` would accept a sign.
fn number(text: &str) -> Option<i128> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_twelve_centuries_follows_the_one_before() {
        let mut days = parse_date("1500-01-01").unwrap();
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for year in 1500..2700 {
            for (month, length) in
                [31, 28 + u32::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].into_iter().enumerate()
            {
                for day in 1..=length {
                    let text = format!("{year:04}-{:02}-{day:02}", month + 1);
                    assert_eq!((parse_date(&text), display_date(days)), (Some(days), text));
                    days += 1;
                }
            }
        }
        assert_eq!(parse_date("1970-01-01"), Some(0));
    }

    #[test]
    fn dates_of_any_year_round_trip() {
        for days in [i128::from(i32::MIN), -719_529, -719_528, -1, 0, 2_932_896, 2_932_897, i128::from(i32::MAX)] {
            assert_eq!(parse_date(&display_date(days)), Some(days), "{}", display_date(days));
        }
        assert_eq!(display_date(2_932_897), "+10000-01-01");
        assert_eq!(display_date(-719_529), "-0001-12-31");
        for wrong in [
            "",
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-10",
            "24-01-01",
            "2024-1-1",
            "2024-01-01-",
            "2024-01-+1",
            "10000-01-01",
            "2024-04-31",
            "2024-01-00",
            "-",
        ] {
            assert_eq!(parse_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_and_timestamps_are_read_as_written() {
        for (text, unit, units) in [
            ("00:00:00", TimeUnit::Second, 0),
            ("23:59:59.5", TimeUnit::Millisecond, 86_399_500),
            ("12:30:00.000000001", TimeUnit::Nanosecond, 45_000_000_000_001),
        ] {
            assert_eq!((parse_time(text, unit), display_time(units, unit)), (Some(units), text.to_owned()));
        }
        assert_eq!(parse_time("07:30", TimeUnit::Second), Some(27_000));
        assert_eq!(parse_time("07:30:00.500000", TimeUnit::Millisecond), Some(27_000_500));
        for wrong in ["24:00:00", "1:00:00", "01:60:00", "01:00:60", "01:00:00.", "01:00:00.0001", "01:00.5", "+1:00"] {
            assert_eq!(parse_time(wrong, TimeUnit::Millisecond), None, "{wrong}");
        }
        let unit = TimeUnit::Microsecond;
        for (text, canonical) in [
            ("1969-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999"),
            ("2024-05-01 12:00", "2024-05-01T12:00:00"),
            ("2024-05-01", "2024-05-01T00:00:00"),
            ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00"),
            ("2024-05-01T00:30:00+02:00", "2024-04-30T22:30:00"),
            ("2024-05-01T23:30:00-02:00", "2024-05-02T01:30:00"),
            ("2024-05-01 00:30:00.25+02", "2024-04-30T22:30:00.25"),
            ("2024-05-01 23:30:00-00", "2024-05-01T23:30:00"),
        ] {
            assert_eq!(display_timestamp(parse_timestamp(text, unit).unwrap(), unit), canonical);
        }
        assert_eq!(parse_timestamp("1970-01-01T00:00:00.000001", unit), Some(1));
        for wrong in [
            "2024-05-01T",
            "2024-05-01T12:00:00+2",
            "2024-05-01T12:00:00+24",
            "2024-05-01T12:00:00ZZ",
            "T12:00:00",
            "now",
        ] {
            assert_eq!(parse_timestamp(wrong, unit), None, "{wrong}");
        }
    }
}
