//! Amounts of memory in arguments, and readable times.

use ogive_terminal::ByteSize;
use std::time::Duration;

/// An amount of memory, such as `256MiB`.
///
/// # Errors
/// A message for what is no size, 0, or more than this machine addresses.
pub(crate) fn memory(text: &str) -> Result<usize, String> {
    match text.parse()? {
        ByteSize(0) => Err(format!("'{text}' is no amount of memory; use at least 1 byte")),
        ByteSize(bytes) => usize::try_from(bytes).map_err(|_| format!("'{text}' is more than this machine addresses")),
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
            assert_eq!(memory(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "k", "-1", "1x", "1..5k", "nan", "é", "99999999999G"] {
            assert!(memory(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let shown = [541, 12_300, 2_300_000, 185_000_000].map(|us| shown_time(Duration::from_micros(us)));
        assert_eq!(shown, ["541 us", "12.3 ms", "2.30 s", "3 min 5 s"]);
    }
}
