//! Sizes and times: as arguments, and for people.

use crate::grouped;
use std::str::FromStr;
use std::time::Duration;

/// A number of bytes as an argument: `4096`, `64k`, `256MiB`, `1.5GB`.
///
/// As with the GNU tools, `k`, `M`, `G`, `T` and `KiB`, `MiB`, ... are powers of 1024, and `kB`, `MB`, ... powers of
/// 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

/// A number of bytes as [`ByteSize`] reads it, in the greatest unit that is exact.
#[must_use]
pub fn exact_size(size_bytes: u64) -> String {
    let is_multiple = |shift: u32| size_bytes > 0 && size_bytes.trailing_zeros() >= shift;
    match size_bytes {
        _ if is_multiple(30) => format!("{}GiB", size_bytes >> 30),
        _ if is_multiple(20) => format!("{}MiB", size_bytes >> 20),
        _ if is_multiple(10) => format!("{}KiB", size_bytes >> 10),
        _ => size_bytes.to_string(),
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a size; use a number of bytes, or a unit as in 64KiB or 1GB");
        let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let factor = unit_bytes(unit.trim()).ok_or_else(wrong)?;
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).map(ByteSize).ok_or_else(|| format!("'{text}' is more than 2^64 bytes"));
        }
        let number = number.parse::<f64>().map_err(|_| wrong())?;
        let bytes = (number * factor as f64).round();
        if !(0.0..9.0e18).contains(&bytes) {
            return Err(format!("'{text}' is more than 2^63 bytes"));
        }
        Ok(ByteSize(bytes as u64))
    }
}

/// The bytes in a unit, if it is one.
fn unit_bytes(unit: &str) -> Option<u64> {
    let lower = unit.to_ascii_lowercase();
    let (power, rest) = match lower.as_bytes().first() {
        None | Some(b'b') => (0, lower.as_str()),
        Some(b'k') => (1, &lower[1..]),
        Some(b'm') => (2, &lower[1..]),
        Some(b'g') => (3, &lower[1..]),
        Some(b't') => (4, &lower[1..]),
        Some(_) => return None,
    };
    match rest {
        "" | "ib" => Some(1024_u64.pow(power)),
        "b" => Some(1000_u64.pow(power)),
        _ => None,
    }
}

/// A time as an argument: `500ms`, `10s`, `2m`, `1h`, `30d`; a number alone is seconds.
///
/// # Errors
/// A message for the user.
pub fn duration(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" => Some(1e-3),
        "" | "s" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        "d" => Some(86_400.0),
        _ => None,
    };
    let seconds = seconds.zip(number.parse::<f64>().ok()).map(|(unit, number)| unit * number);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| format!("'{text}' is not a time; use a number with a unit, as in 500ms, 10s or 2m"))
}

/// A size with three significant digits in powers of 1024; exact below 10 KiB.
#[must_use]
pub fn human_bytes(size_bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if size_bytes < 10 * 1024 {
        return format!("{} B", grouped(size_bytes));
    }
    let mut scaled = size_bytes as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 1023.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let decimals = if scaled < 9.995 {
        2
    } else if scaled < 99.95 {
        1
    } else {
        0
    };
    format!("{scaled:.decimals$} {}", UNITS[unit])
}

/// A time in microseconds, shown in a suitable unit: `541 us`, `101.1 ms`, `2.30 s`.
#[must_use]
pub fn human_us(time_us: f64) -> String {
    if !time_us.is_finite() {
        "unknown".into()
    } else if time_us < 9_999.5 {
        let decimals = usize::from(time_us < 99.95);
        format!("{time_us:.decimals$} us")
    } else if time_us < 999_950.0 {
        format!("{:.1} ms", time_us / 1e3)
    } else {
        format!("{:.2} s", time_us / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        let cases = [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("64k", 65_536),
            ("64K", 65_536),
            ("64KiB", 65_536),
            ("64 KiB", 65_536),
            ("64kB", 64_000),
            ("256MiB", 256 << 20),
            ("256mb", 256_000_000),
            ("1.5GiB", 3 << 29),
            ("2t", 2 << 40),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "k", "-1", "1x", "1kk", "1..5k", "nan", "1e300", "99999999999G", "18446744073709551616", "é"]
        {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(human_bytes(10_239), "10,239 B");
        assert_eq!(human_bytes(10_240), "10.0 KiB");
        assert_eq!(human_bytes(1 << 20), "1.00 MiB");
        assert_eq!(human_bytes((1 << 20) - 1), "1.00 MiB");
        assert_eq!(human_bytes(u64::MAX), "16.0 EiB");
        assert_eq!(human_us(63.41), "63.4 us");
        assert_eq!(human_us(541.2), "541 us");
        assert_eq!(human_us(101_123.0), "101.1 ms");
        assert_eq!(human_us(2_300_000.0), "2.30 s");
        assert_eq!(human_us(f64::NAN), "unknown");
    }
}
