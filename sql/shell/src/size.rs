//! Numbers of bytes as arguments, and figures for people.

use std::str::FromStr;
use std::time::Duration;

/// A number of bytes: `4096`, `64k`, `256MiB`, `1.5GB`.
///
/// `k`, `M`, `G`, `T` and `KiB`, `MiB`, ... are powers of 1024, and `kB`, `MB`, ... powers of 1000, as in `ogive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) usize);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a size; use a number of bytes, or a unit as in 64MiB or 1GB");
        let unit_at = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let factor = unit_bytes(unit.trim()).ok_or_else(wrong)?;
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let bytes = (number * factor).round();
        // A float counts bytes exactly up to 2^53.
        if !(1.0..9.0e15).contains(&bytes) {
            return Err(format!("'{text}' is no amount of memory; use 1 byte to 8 PiB"));
        }
        usize::try_from(bytes as u64).map(Self).map_err(|_| format!("'{text}' is more than this machine addresses"))
    }
}

/// The bytes in a unit, if it is one.
fn unit_bytes(unit: &str) -> Option<f64> {
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
        "" | "ib" => Some(1024_f64.powi(power)),
        "b" => Some(1000_f64.powi(power)),
        _ => None,
    }
}

/// A time: `541 us`, `12.3 ms`, `2.30 s`, `3 min 5 s`.
pub(crate) fn shown_time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1e-3 {
        format!("{:.0} us", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else if seconds < 120.0 {
        format!("{seconds:.2} s")
    } else {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        let cases =
            [("4096", 4096), ("64k", 65_536), ("300MB", 300_000_000), ("256MiB", 256 << 20), ("1.5GiB", 3 << 29)];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for text in ["", "0", "k", "-1", "1x", "1..5k", "nan", "é", "99999999999G"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let shown = [541, 12_300, 2_300_000, 185_000_000].map(|us| shown_time(Duration::from_micros(us)));
        assert_eq!(shown, ["541 us", "12.3 ms", "2.30 s", "3 min 5 s"]);
    }
}
