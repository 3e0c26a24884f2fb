//! Numbers as text: counts, bytes and times, short for axes and with all digits for tables.

pub use ogive_terminal::{counted, grouped};

/// At most three significant digits, without zeros at the end of a fraction.
fn short(number: f64) -> String {
    let magnitude = number.abs();
    let places = if magnitude >= 100.0 || magnitude.fract() == 0.0 {
        0
    } else if magnitude >= 10.0 {
        1
    } else if magnitude >= 1.0 {
        2
    } else {
        3
    };
    let text = format!("{number:.places$}");
    if places == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

fn scaled(number: f64, step: f64, units: &[&str]) -> String {
    let mut scale = 0;
    let mut left = number;
    // 999.6 would be shown as 1000.
    while left.abs() >= step * 0.9995 && scale + 1 < units.len() {
        left /= step;
        scale += 1;
    }
    format!("{}{}", short(left), units[scale])
}

/// A count with three digits: `12.3 M`.
#[must_use]
pub fn count(number: f64) -> String {
    scaled(number, 1000.0, &["", " k", " M", " G", " T", " P", " E"])
}

/// A number of bytes with three digits, in powers of 1024: `12.3 MiB`.
#[must_use]
pub fn bytes(number: f64) -> String {
    scaled(number, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"])
}

/// A time in microseconds with three digits: `12.3 ms`.
#[must_use]
pub fn time_us(us: f64) -> String {
    // Of a difference: no time is "-0".
    let us = us + 0.0;
    if us != 0.0 && us.abs() < 1.0 {
        return format!("{} ns", short(us * 1000.0));
    }
    scaled(us, 1000.0, &[" us", " ms", " s", " ks"])
}

/// A share of 1 as a percentage: `12.3 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", short(share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_the_unit_that_fits() {
        assert_eq!([count(0.0), count(999.0), count(1000.0), count(12_345.0)], ["0", "999", "1 k", "12.3 k"]);
        assert_eq!([bytes(1023.0), bytes(4096.0), bytes(1.5 * 1048576.0)], ["1023 B", "4 KiB", "1.5 MiB"]);
        assert_eq!(
            [time_us(0.25), time_us(63.4), time_us(999.9), time_us(40_123.0)],
            ["250 ns", "63.4 us", "1 ms", "40.1 ms"]
        );
        assert_eq!([grouped(0), grouped(999), grouped(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!(
            [counted(0, "table"), counted(1, "level"), counted(1_200, "row")],
            ["0 tables", "1 level", "1,200 rows"]
        );
        assert_eq!([percent(0.1234), percent(1.0)], ["12.3 %", "100 %"]);
    }
}
