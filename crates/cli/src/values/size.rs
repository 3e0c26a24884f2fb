//! Counts and sizes as arguments, and as text for people.

use ogive::SortingWriter;
pub(crate) use ogive_terminal::{ByteSize, counted, duration, exact_size, grouped, human_bytes, human_us, the_first};
use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;
use std::time::Duration;

/// A number of records or the like as an argument.
///
/// # Errors
/// A message for the user for what is not a whole number of the type.
pub(crate) fn whole_number<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "the number is too large".into(),
        _ => "use a whole number in digits, without units".into(),
    })
}

/// As [`whole_number`], and at least 1.
///
/// # Errors
/// As there.
pub(crate) fn positive_count(text: &str) -> Result<u64, String> {
    match whole_number::<u64>(text)? {
        0 => Err("use at least 1".into()),
        count => Ok(count),
    }
}

/// A time that passes, as an argument, longer than none.
///
/// # Errors
/// A message for the user for what is no time, and for none and less.
pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    let passes = |text: &str| duration(text).map(|time| !time.is_zero());
    match text.strip_prefix('-') {
        Some(past) if duration(past).is_ok() => Err("the time must be longer than 0".into()),
        _ if passes(text)? => duration(text),
        _ => Err("the time must be longer than 0".into()),
    }
}

/// Memory for sorting as an argument.
///
/// # Errors
/// A message for the user for what is not a size or less than a sort takes.
pub(crate) fn sort_memory(text: &str) -> Result<ByteSize, String> {
    match text.parse()? {
        ByteSize(bytes) if bytes < SortingWriter::MEMORY_BYTES_MIN => {
            Err(format!("sorting takes at least {} KiB of memory", SortingWriter::MEMORY_BYTES_MIN >> 10))
        }
        size => Ok(size),
    }
}
