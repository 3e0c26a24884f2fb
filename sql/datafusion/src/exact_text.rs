//! Texts of times that are finer than a time type.

use arrow_schema::{DataType, TimeUnit};
use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::compute::kernels::cast_utils::string_to_datetime;

/// Seconds of a day.
const DAY_SECONDS: i64 = 86_400;

/// Whether a text says more than a type of dates, times or timestamps can hold; its beginning is what is left of it.
pub(crate) fn is_finer(text: &str, data_type: &DataType) -> bool {
    match data_type {
        DataType::Date32 => has_time_of_day(text),
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) => {
            let digits = match unit {
                TimeUnit::Second => 0,
                TimeUnit::Millisecond => 3,
                TimeUnit::Microsecond => 6,
                TimeUnit::Nanosecond => 9,
            };
            let fraction = text.rsplit_once('.').map_or("", |(_, fraction)| fraction);
            fraction.bytes().take_while(u8::is_ascii_digit).skip(digits).any(|digit| digit != b'0')
        }
        _ => false,
    }
}

fn has_time_of_day(text: &str) -> bool {
    let Ok(utc) = "+00:00".parse::<Tz>() else { return false };
    match string_to_datetime(&utc, text) {
        Ok(time) => time.timestamp() % DAY_SECONDS != 0 || time.timestamp_subsec_nanos() != 0,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_behind_the_unit_count_unless_they_are_zeros() {
        let time = |unit| DataType::Timestamp(unit, None);
        for (text, data_type, finer) in [
            ("2024-01-01T00:00:01.000000001", time(TimeUnit::Microsecond), true),
            ("2024-01-01T00:00:01.000000001", time(TimeUnit::Nanosecond), false),
            ("2024-01-01T00:00:01.123000000", time(TimeUnit::Millisecond), false),
            ("2024-01-01T00:00:01.123+02:00", time(TimeUnit::Second), true),
            ("2024-01-01 00:00:01", time(TimeUnit::Second), false),
            ("12:00:00.0000001", DataType::Time64(TimeUnit::Microsecond), true),
            ("2024-01-01", DataType::Date32, false),
            ("2024-01-01 00:00:00", DataType::Date32, false),
            ("1924-01-01T00:00:00.1", DataType::Date32, true),
            ("2024-01-01T12:00:00Z", DataType::Date32, true),
        ] {
            assert_eq!(is_finer(text, &data_type), finer, "{text} as {data_type}");
        }
    }
}
