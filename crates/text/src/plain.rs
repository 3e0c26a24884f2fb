//! Fields in the spelling in which values are printed, which most fields of most files have.

use ogive::KeyType;
use std::fmt::{self, Write};

/// Digits of numbers that a float always keeps: two of them never have the same nearest float.
const EXACT_DIGITS: usize = 15;
/// Powers of ten up to those digits, which floats hold exactly.
const POWERS_OF_TEN: [f64; EXACT_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
/// Zeros behind the point of the smallest floats that are printed without an exponent: those of a millionth.
const ZEROS_MAX: usize = 5;
/// Digits before the point of floats that are surely printed without an exponent.
const WHOLE_DIGITS_MAX: usize = 20;
/// Most digits that surely fit 64 bits.
const LONG_DIGITS_MAX: usize = 19;
/// Bits of the fraction of a float, the bit in front of them, and the exponent of floats whose last bit is 1, with its
/// bias.
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
const IMPLICIT_BIT: u64 = 1 << MANTISSA_BITS;
const UNIT_EXPONENT: u64 = f64::MAX_EXP as u64 - 1 + MANTISSA_BITS as u64;
/// Longest text of a float without an exponent that is looked at here.
const FLOAT_BYTES_MAX: usize = 32;

/// The places of the digits of a number with a point and without an exponent.
struct Fraction<'a> {
    is_negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
}

impl<'a> Fraction<'a> {
    /// That of a text; `None` for another form, and for codes such as `007.5`.
    fn of(text: &'a [u8]) -> Option<Self> {
        let (is_negative, rest) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
        let point = rest.iter().position(|byte| *byte == b'.')?;
        let (whole, fraction) = (&rest[..point], &rest[point + 1..]);
        let are_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        let has_leading_zero = whole.len() > 1 && whole[0] == b'0';
        (are_digits(whole) && are_digits(fraction) && !has_leading_zero).then_some(Self {
            is_negative,
            whole,
            fraction,
        })
    }

    fn digits(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    /// All digits as a number, if they are at most [`LONG_DIGITS_MAX`].
    fn number(&self) -> u64 {
        let with = |number, digits: &[u8]| digits.iter().fold(number, |n: u64, digit| n * 10 + u64::from(digit - b'0'));
        with(with(0, self.whole), self.fraction)
    }

    /// Whether a float that is equal to it is printed like this.
    fn is_as_printed(&self) -> bool {
        let zeros = self.fraction.iter().take_while(|digit| **digit == b'0').count();
        let is_tiny = self.whole == b"0" && zeros > ZEROS_MAX;
        !is_tiny && self.whole.len() <= WHOLE_DIGITS_MAX && self.fraction.last() != Some(&b'0')
    }
}

/// The float of a number with a point and without an exponent that keeps its value: of few digits, or of those that the
/// float is printed with. `None` for other forms, and for zero, which may have a sign.
pub(crate) fn plain_float(text: &[u8]) -> Option<f64> {
    let parts = Fraction::of(text)?;
    let float = if parts.digits() <= EXACT_DIGITS {
        let number = parts.number();
        // Both are exact, so that the quotient is the nearest float.
        let float = number as f64 / POWERS_OF_TEN[parts.fraction.len()];
        if parts.is_negative { -float } else { float }
    } else {
        match shortest_float(&parts) {
            Shortest::Is(float) => float,
            Shortest::IsNot => return None,
            Shortest::Unknown => printed_float(text)?,
        }
    };
    Some(float).filter(|float| *float != 0.0)
}

/// The float that is printed with this text.
fn printed_float(text: &[u8]) -> Option<f64> {
    let float: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let mut shown = ShortText { bytes: [0; FLOAT_BYTES_MAX], length: 0 };
    write!(shown, "{float}").ok()?;
    (shown.bytes[..shown.length] == *text).then_some(float)
}

/// Whether a float is printed with the digits of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shortest {
    Is(f64),
    IsNot,
    /// Printing it tells.
    Unknown,
}

/// Whether the nearest float of a number is printed like it: no number of fewer digits has the same nearest float, and
/// none of as many digits is closer to it. Numbers of many floats are printed to be compared, which takes ten times as
/// long as these integers of 128 bits.
fn shortest_float(parts: &Fraction<'_>) -> Shortest {
    if parts.digits() > LONG_DIGITS_MAX {
        return Shortest::Unknown;
    }
    let number = parts.number();
    let last_digit = i128::from(number % 10);
    if last_digit == 0 {
        // A fraction is printed without zeros at its end.
        return Shortest::IsNot;
    }
    let power = 10_u64.pow(parts.fraction.len() as u32);
    // The power is exact, so this is the nearest float, or one of its neighbours.
    let near = (number as f64 / power as f64).to_bits();
    let mut mantissa = (near & (IMPLICIT_BIT - 1)) | IMPLICIT_BIT;
    let Some(shift) = UNIT_EXPONENT.checked_sub(near >> MANTISSA_BITS) else { return Shortest::Unknown };
    // From here on, numbers are multiples of 1 / (power * 2^(shift + 1)): the last digit of the text is one `digit`,
    // the last bit of the mantissa is two `half`.
    let (digit, half) = (1_i128 << (shift + 1), i128::from(power));
    let mut distance = i128::from(number) * digit - i128::from(2 * mantissa) * half;
    // Each rounding of the quotient was off by less than a bit.
    for _ in 0..2 {
        if distance > half {
            (mantissa, distance) = (mantissa + 1, distance - 2 * half);
        } else if distance < -half {
            (mantissa, distance) = (mantissa - 1, distance + 2 * half);
        }
    }
    let (below, above) = (distance - last_digit * digit, distance + (10 - last_digit) * digit);
    let is_tie = distance.abs() >= half || below.abs() == half || above.abs() == half || 2 * distance.abs() == digit;
    // Floats below a power of two are closer to it.
    if is_tie || mantissa <= IMPLICIT_BIT || mantissa >= 2 * IMPLICIT_BIT {
        return Shortest::Unknown;
    }
    if below.abs() < half || above.abs() < half || 2 * distance.abs() > digit {
        return Shortest::IsNot;
    }
    let float = f64::from_bits((near & !(IMPLICIT_BIT - 1)) | (mantissa & (IMPLICIT_BIT - 1)));
    Shortest::Is(if parts.is_negative { -float } else { float })
}

/// Text of a limited length.
struct ShortText {
    bytes: [u8; FLOAT_BYTES_MAX],
    length: usize,
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Whether the text of a value of this type is surely the one that the value is printed with. Text that is no value of
/// the type may have any answer. `is_exact` says that a float keeps the value of the text, so that its digits are those
/// that are printed.
pub(crate) fn is_as_printed(key_type: KeyType, text: &[u8], is_exact: bool) -> bool {
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    match key_type {
        KeyType::U8 | KeyType::U16 | KeyType::U32 | KeyType::U64 | KeyType::U128 => is_shortest_integer(text),
        KeyType::I8 | KeyType::I16 | KeyType::I32 | KeyType::I64 | KeyType::I128 => {
            let digits = text.strip_prefix(b"-").unwrap_or(text);
            is_shortest_integer(digits) && text != b"-0"
        }
        KeyType::Decimal { scale, .. } => Fraction::of(text).is_some_and(|parts| {
            let is_zero = || parts.whole.iter().chain(parts.fraction).all(|digit| *digit == b'0');
            parts.fraction.len() == usize::from(scale) && !(parts.is_negative && is_zero())
        }),
        KeyType::F64 => match Fraction::of(text) {
            Some(parts) => parts.is_as_printed() && (is_exact || parts.digits() <= EXACT_DIGITS),
            None => is_shortest_integer(text) && text.len() <= EXACT_DIGITS,
        },
        KeyType::Bool => matches!(text, b"true" | b"false"),
        KeyType::Date => text.len() == 10 && is_digit(0) && is_digit(9),
        KeyType::Time(_) => is_plain_time(text),
        KeyType::Timestamp(_) => text.get(10) == Some(&b'T') && is_plain_timestamp(key_type, text),
        KeyType::Uuid => text.len() == 36 && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-')),
        _ => false,
    }
}

/// Whether text is that of a timestamp which is printed with its digits, and `T` before the time.
pub(crate) fn is_plain_timestamp(key_type: KeyType, text: &[u8]) -> bool {
    let is_date = text.first().is_some_and(u8::is_ascii_digit) && text.get(4) == Some(&b'-');
    matches!(key_type, KeyType::Timestamp(_)) && is_date && text.get(11..).is_some_and(is_plain_time)
}

/// Whether text is that of a time with seconds, and with a fraction that does not end with a zero if it has one.
fn is_plain_time(text: &[u8]) -> bool {
    let is_of_digits = text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    is_of_digits && text.get(5) == Some(&b':') && (text.len() == 8 || (text.len() > 9 && text.last() != Some(&b'0')))
}

/// Whether text is an integer without a sign in its shortest form.
fn is_shortest_integer(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit) && (text[0] != b'0' || text.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FieldBytes, TextColumn, Written};

    const TEXTS: [&str; 78] = [
        "0",
        "-0",
        "7",
        "-7",
        "07",
        "+7",
        " 7",
        "7 ",
        "",
        "255",
        "256",
        "18446744073709551615",
        "1e5",
        "100000",
        "1.5",
        "1.50",
        "01.5",
        "-1.5",
        "-0.0",
        "0.0",
        "0.00",
        "-0.00",
        "0.05",
        ".5",
        "5.",
        "1.5e3",
        "0.000001",
        "0.0000012",
        "0.0000001",
        "123456789.123456",
        "0.1234567890123456",
        "0.30166981626884520",
        "0.3016698162688452",
        "0.30166981626884521",
        "9007199254740993.5",
        "9007199254740993",
        "123456789012345",
        "1234567890123456",
        "123456789012345678901.5",
        "1234567890123456789012.5",
        "1e21",
        "1e-7",
        "NaN",
        "nan",
        "inf",
        "-inf",
        "Infinity",
        "4.9e-324",
        "5e-324",
        "true",
        "false",
        "TRUE",
        "2024-02-29",
        "2023-02-29",
        "+2024-02-29",
        " 2024-02-2",
        "+12024-02-29",
        "12:00",
        "12:00:00",
        "12:00:00.5",
        "12:00:00.50",
        "12:00:00.",
        "24:00:00",
        "2024-02-29T12:00:00",
        "2024-02-29 12:00:00",
        "2024-02-29t12:00:00",
        "2024-02-29 12:00",
        "2024-02-29T12:00:00.500",
        "2024-02-29 12:00:00.5",
        "2024-02-29T12:00:00Z",
        "2024-02-29T12:00:00+01:00",
        "+12024-02-29T12:00:00",
        "01890a5d-ac96-774b-bcce-b302099a8057",
        "01890A5D-ac96-774b-bcce-b302099a8057",
        "01890a5dac96774bbcceb302099a8057",
        "x",
        "a,\"b\"",
        "caf\u{e9}",
    ];
    const TYPES: [&str; 20] = [
        "u8",
        "u64",
        "i64",
        "u128",
        "i128",
        "f32",
        "f64",
        "decimal(8,2)",
        "decimal(38,1)",
        "decimal(5,0)",
        "bool",
        "date",
        "time(s)",
        "time(ms)",
        "timestamp(s)",
        "timestamp(us)",
        "uuid",
        "text",
        "bytes",
        "bytes3",
    ];

    /// Every text as every type, given and guessed, against the value that is read and then shown.
    #[test]
    fn fields_are_printed_as_the_values_that_are_read() {
        let mut kept = 0;
        for key_type in TYPES.map(|name| name.parse::<KeyType>().unwrap()) {
            for (nullable, guessed, is_zoned) in
                [(false, false, false), (true, false, false), (true, true, false), (true, true, true)]
            {
                let column = TextColumn { key_type, nullable, may_be_null: true, guessed, is_zoned, is_united: false };
                let texts = TEXTS.iter().map(|text| Written::Text(text.as_bytes()));
                for written in texts.chain([Written::Null, Written::Nothing, Written::Text(b"\xff")]) {
                    let (mut bytes, mut shown) = (Vec::new(), b"before".to_vec());
                    let read = column.read(written, false, &mut bytes);
                    let printed = column.print(written, &mut shown);
                    let what = format!("{written:?} as {column:?}");
                    match (read, printed) {
                        (Ok(FieldBytes::Encoded), Ok(FieldBytes::Own(text))) => {
                            kept += 1;
                            assert_eq!(key_type.display(&bytes).as_bytes(), text, "{what}");
                        }
                        (Ok(FieldBytes::Encoded), Ok(FieldBytes::Encoded)) => {
                            assert_eq!(shown, [b"before", key_type.display(&bytes).as_bytes()].concat(), "{what}");
                        }
                        (read, printed) => assert_eq!(read, printed, "{what}"),
                    }
                }
            }
        }
        assert!(kept > 100, "{kept}");
    }

    /// Floats as they are printed, their neighbours in the last digit, and any digits, against printing them.
    #[test]
    fn integers_tell_whether_a_float_is_printed_like_a_text() {
        let (mut state, mut found) = (1_u64, [0; 3]);
        for round in 0..60_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let float = (state >> 11) as f64 / (1_u64 << 53) as f64 * 10_f64.powi(round % 19 - 3);
            let mut text =
                if round % 3 == 0 { format!("{float:.*}", (state % 19) as usize) } else { float.to_string() };
            if round % 3 == 1 && text.contains('.') {
                let last = text.pop().unwrap();
                text.push(if last == '9' { '1' } else { (last as u8 + 1) as char });
            }
            let Some(parts) = Fraction::of(text.as_bytes()) else { continue };
            let printed = printed_float(text.as_bytes());
            let shortest = shortest_float(&parts);
            match shortest {
                Shortest::Is(float) => assert_eq!(printed.map(f64::to_bits), Some(float.to_bits()), "{text}"),
                Shortest::IsNot => assert_eq!(printed, None, "{text}"),
                Shortest::Unknown => {}
            }
            found[[Shortest::IsNot, Shortest::Unknown].iter().position(|one| *one == shortest).unwrap_or(2)] += 1;
        }
        assert!(found[0] > 5_000 && found[2] > 20_000, "{found:?}");
    }

    /// Guessed floats, read fast and otherwise, are the nearest ones.
    #[test]
    fn floats_with_a_point_are_the_nearest_ones() {
        let mut state = 1_u64;
        for round in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let float = f64::from_bits(state >> 2) * if round % 2 == 0 { 1.0 } else { -1.0 };
            let scaled = (state >> 20) as f64 / 1e9;
            for text in [float.to_string(), scaled.to_string(), format!("{:.4}", scaled)] {
                let column = TextColumn {
                    key_type: KeyType::F64,
                    nullable: false,
                    is_united: false,
                    may_be_null: false,
                    guessed: true,
                    is_zoned: false,
                };
                if let Some(found) = plain_float(text.as_bytes()) {
                    assert_eq!(Ok(found), text.parse(), "{text}");
                    assert!(crate::fits(KeyType::F64, false, &text), "{text}");
                    let (mut bytes, mut shown) = (Vec::new(), Vec::new());
                    let read = column.read(Written::Text(text.as_bytes()), false, &mut bytes);
                    assert_eq!(read, Ok(FieldBytes::Encoded));
                    let printed = match column.print(Written::Text(text.as_bytes()), &mut shown).unwrap() {
                        FieldBytes::Own(text) => text,
                        _ => &shown,
                    };
                    assert_eq!(KeyType::F64.display(&bytes).as_bytes(), printed, "{text}");
                }
            }
        }
    }
}
