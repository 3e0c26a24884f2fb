//! Inference of the types of columns from their text.
//!
//! A type fits a column if every value can be written as one of that type without loss: `007` is no integer, and
//! `0.12345678901234567890` no float. The narrowest type that fits is taken; the rest is text. Numbers that all have as
//! many digits after the point are decimals of that scale, so that they come back as they were written.

use crate::numbers::NumberForms;
use crate::plain::plain_float;
use crate::reader::Written;
use crate::show::shortened;
use ogive::KeyType;
use ogive::types::TimeUnit;
use ogive_terminal::grouped;

/// What was seen of a column: the types that still fit, and why others do not.
#[derive(Clone, Debug)]
pub struct ColumnGuess {
    values: u64,
    /// Values that are numbers.
    numbers: u64,
    /// Strings of JSON that have the text of numbers, and how those are written.
    strings_of_numbers: u64,
    string_forms: NumberForms,
    /// Integer types that fit, from the narrowest.
    integers: [bool; INTEGERS.len()],
    is_float: bool,
    decimals: DecimalGuess,
    /// How its numbers are written.
    pub(crate) forms: NumberForms,
    is_bool: bool,
    /// The only text of all values, if that is one letter that may be a truth value.
    letter: Option<u8>,
    is_uuid: bool,
    is_date: bool,
    is_time: bool,
    is_timestamp: bool,
    /// Whether all timestamps are within the range of nanoseconds, which is three centuries.
    is_in_nanoseconds: bool,
    is_text: bool,
    /// Whether timestamps state a time zone.
    is_zoned: Option<bool>,
    /// Most digits of a fraction of a second.
    digits: usize,
    /// The first record with an empty field.
    first_empty: Option<u64>,
    /// Whether there are fields without anything, as opposed to empty text.
    has_nothing: bool,
    /// Whether there are empty fields that are empty text where none may be null; other nulls never are.
    has_blank: bool,
    /// The first record whose value is not a number, and that value.
    first_other: Option<(u64, String)>,
    /// The first record whose value is not UTF-8, and that value.
    first_not_text: Option<(u64, String)>,
    /// The first number that no float holds without loss, with its record.
    inexact: Option<(u64, String)>,
    /// The first value that was not of the type of all before it, with its record and that type: one of
    /// [`Self::is_special`].
    odd: Option<(u64, String, KeyType)>,
}

/// Integer types, from the narrowest; none of other widths is guessed.
const INTEGERS: [KeyType; 4] = [KeyType::U64, KeyType::I64, KeyType::U128, KeyType::I128];

/// What makes most text that is not UTF-8 so.
pub const CONVERTED: &str = "`iconv -f cp1252 -t utf-8` converts text of Windows";

/// Digits that a float always keeps.
const EXACT_DIGITS: usize = 15;

/// Digits of decimals that are guessed: those that 8 bytes hold, and those that 16 bytes do.
const DECIMAL_DIGITS: [u8; 2] = [18, 38];

/// Most digits after the point of numbers that were probably meant as decimals though not all have as many: those of
/// the smallest parts of currencies. Measurements have more, or any number of them.
const MONEY_SCALE_MAX: u8 = 8;

/// Whether values are decimals, and the digits that they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecimalGuess {
    /// None was seen.
    Unseen,
    /// All are integers or decimals.
    Digits {
        /// Most digits before the point; a single zero is none.
        whole: u8,
        /// Fewest and most digits after it.
        least: u8,
        scale: u8,
        /// Most digits of a value in all.
        digits: u8,
    },
    /// They are not.
    Never,
}

impl DecimalGuess {
    /// That of one value.
    fn of(text: &str) -> Self {
        let found = plain_digits(text).map(|(whole, scale)| (whole, scale, whole.saturating_add(scale)));
        match found {
            Some((whole, scale, digits)) if digits <= DECIMAL_DIGITS[1] => {
                Self::Digits { whole, least: scale, scale, digits }
            }
            _ => Self::Never,
        }
    }

    /// That of the values of both.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unseen, known) | (known, Self::Unseen) => known,
            (
                Self::Digits { whole, least, scale, digits },
                Self::Digits { whole: w, least: l, scale: s, digits: d },
            ) => Self::Digits { whole: whole.max(w), least: least.min(l), scale: scale.max(s), digits: digits.max(d) },
            _ => Self::Never,
        }
    }

    /// The type of decimals of one scale.
    fn key_type(self) -> Option<KeyType> {
        match self {
            Self::Digits { least, scale, digits, .. } if least == scale && scale > 0 => Self::of_digits(digits, scale),
            _ => None,
        }
    }

    /// The type that holds decimals of several scales.
    fn mixed_type(self) -> Option<KeyType> {
        match self {
            Self::Digits { whole, least, scale, .. } if least < scale => {
                Self::of_digits(whole.saturating_add(scale), scale)
            }
            _ => None,
        }
    }

    fn of_digits(digits: u8, scale: u8) -> Option<KeyType> {
        let precision = DECIMAL_DIGITS.into_iter().find(|precision| digits <= *precision)?;
        Some(KeyType::Decimal { precision, scale })
    }
}

/// The type of a column, as guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuessedType {
    /// The type.
    pub key_type: KeyType,
    /// Whether there are nulls: empty fields, but not in text, where `""` is empty text.
    pub nullable: bool,
    /// Whether timestamps state a time zone, and all others must.
    pub is_zoned: bool,
}

impl Default for ColumnGuess {
    fn default() -> Self {
        Self::new()
    }
}

impl ColumnGuess {
    /// Nothing seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            values: 0,
            numbers: 0,
            strings_of_numbers: 0,
            string_forms: NumberForms::NONE,
            integers: [true; INTEGERS.len()],
            is_float: true,
            decimals: DecimalGuess::Unseen,
            forms: NumberForms::NONE,
            is_bool: true,
            letter: None,
            is_uuid: true,
            is_date: true,
            is_time: true,
            is_timestamp: true,
            is_in_nanoseconds: true,
            is_text: true,
            is_zoned: None,
            digits: 0,
            first_empty: None,
            has_nothing: false,
            has_blank: false,
            first_other: None,
            first_not_text: None,
            inexact: None,
            odd: None,
        }
    }

    /// Nothing seen yet of a column whose numbers are floats to all who write them, as those of JSON are.
    #[must_use]
    pub fn of_floats() -> Self {
        Self { decimals: DecimalGuess::Never, ..Self::new() }
    }

    /// Adds the value of a record; records are counted from 1.
    pub fn see(&mut self, record: u64, written: Written<'_>) {
        self.has_nothing |= matches!(written, Written::Null | Written::Nothing);
        let is_string = matches!(written, Written::String(_));
        let field = written.text();
        if field.is_empty() && !is_string {
            self.has_blank |= !matches!(written, Written::Null);
            self.first_empty.get_or_insert(record);
            return;
        }
        let before = self.is_special().then(|| self.guessed(true).key_type);
        self.values += 1;
        self.see_value(record, field, is_string);
        if let Some(before) = before.filter(|_| self.odd.is_none() && !self.is_special()) {
            self.odd = Some((record, shortened(field), before));
        }
    }

    /// Whether all values are of one type that is neither text nor of all numbers: decimals of one scale, as those of
    /// money, truth values, UUIDs, dates or times.
    fn is_special(&self) -> bool {
        let is_money = |found| matches!(found, KeyType::Decimal { scale, .. } if scale <= MONEY_SCALE_MAX);
        self.values > 0
            && (self.is_bool
                || self.is_uuid
                || self.is_date
                || self.is_time
                || self.is_timestamp
                || self.decimals.key_type().is_some_and(is_money))
    }

    fn see_value(&mut self, record: u64, field: &[u8], is_string: bool) {
        let Ok(text) = std::str::from_utf8(field) else {
            self.is_text = false;
            self.first_not_text.get_or_insert_with(|| (record, shortened(field)));
            self.first_other.get_or_insert_with(|| (record, shortened(field)));
            return;
        };
        for (fits, key_type) in self.integers.iter_mut().zip(INTEGERS) {
            *fits = *fits && !is_string && is_integer(key_type, text);
        }
        let is_short_integer = self.integers.contains(&true) && text.len() <= EXACT_DIGITS && text != "-0";
        let is_number = is_short_integer || (!is_string && decimal(text).is_some());
        let may_be_float = !is_string || may_be_string(KeyType::F64, field);
        self.is_float = self.is_float && may_be_float && (is_short_integer || is_float(text));
        if is_number && !self.is_float && self.inexact.is_none() {
            self.inexact = Some((record, shortened(field)));
        }
        self.is_bool &= !is_string;
        self.letter = match field {
            &[letter @ (b't' | b'f')] if self.values == 1 || self.letter == Some(letter) => Some(letter),
            _ => None,
        };
        self.numbers += u64::from(is_number);
        if is_string && decimal(text).is_some() {
            self.strings_of_numbers += 1;
            self.string_forms = self.string_forms.with(NumberForms::of(text));
        }
        if self.first_other.is_none() && !self.is_float && !self.integers.contains(&true) {
            self.first_other = Some((record, shortened(field)));
        }
        if self.decimals != DecimalGuess::Never {
            let decimal = if is_string { DecimalGuess::Never } else { DecimalGuess::of(text) };
            self.decimals = self.decimals.with(decimal);
        }
        self.forms = self.forms.with(if is_string { NumberForms::OTHER } else { NumberForms::of(text) });
        if is_number {
            (self.is_bool, self.is_uuid, self.is_date) = (false, false, false);
            (self.is_time, self.is_timestamp) = (false, false);
        } else {
            self.see_other(text);
        }
    }

    /// Adds a value that is not a number.
    fn see_other(&mut self, text: &str) {
        self.is_bool = self.is_bool && fits(KeyType::Bool, false, text);
        self.is_uuid = self.is_uuid && fits(KeyType::Uuid, false, text);
        self.is_date = self.is_date && fits(KeyType::Date, false, text);
        self.is_time = self.is_time && fits(KeyType::Time(TimeUnit::Nanosecond), false, text);
        if self.is_time || self.is_timestamp {
            self.digits = self.digits.max(fraction_digits(text));
        }
        if self.is_timestamp {
            let zoned = is_zoned(text);
            let is_of_one_zone = *self.is_zoned.get_or_insert(zoned) == zoned;
            self.is_timestamp = is_of_one_zone && fits(KeyType::Timestamp(self.unit()), zoned, text);
            self.is_in_nanoseconds &= fits(KeyType::Timestamp(TimeUnit::Nanosecond), zoned, text);
        }
    }

    fn unit(&self) -> TimeUnit {
        match self.digits {
            0 => TimeUnit::Second,
            1..=3 => TimeUnit::Millisecond,
            4..=6 => TimeUnit::Microsecond,
            _ => TimeUnit::Nanosecond,
        }
    }

    /// Whether a value was seen.
    #[must_use]
    pub fn has_values(&self) -> bool {
        self.values > 0
    }

    /// Whether all values are numbers.
    pub(crate) fn are_numbers(&self) -> bool {
        self.numbers == self.values
    }

    /// The narrowest type for the values seen; a key that is not nullable has none for empty fields but text.
    #[must_use]
    pub fn guessed(&self, may_be_null: bool) -> GuessedType {
        let integer = self.integers.iter().zip(INTEGERS).find(|(fits, _)| **fits).map(|(_, key_type)| key_type);
        let exact = integer.or_else(|| self.decimals.key_type());
        let has_empty = self.first_empty.is_some();
        let key_type = match () {
            () if !self.is_text => KeyType::Bytes,
            () if self.values == 0 || (self.has_blank && !may_be_null) => KeyType::Text,
            () if exact.is_some() => exact.unwrap_or_default(),
            () if self.is_float && self.numbers > 0 => KeyType::F64,
            () if self.is_bool => KeyType::Bool,
            () if self.is_uuid => KeyType::Uuid,
            () if self.is_date => KeyType::Date,
            () if self.is_time => KeyType::Time(self.unit()),
            () if self.is_timestamp && (self.digits <= 6 || self.is_in_nanoseconds) => KeyType::Timestamp(self.unit()),
            () => KeyType::Text,
        };
        let nullable = match key_type {
            KeyType::Text | KeyType::Bytes => self.has_nothing && may_be_null,
            _ => has_empty && may_be_null,
        };
        GuessedType { key_type, nullable, is_zoned: self.is_zoned == Some(true) }
    }

    /// The type of decimals that holds the values of a column of floats or text exactly, if all are written as integers
    /// and decimals of few digits behind the point, as prices without and with cents are.
    #[must_use]
    pub fn mixed_decimal(&self, may_be_null: bool) -> Option<KeyType> {
        let found = self.decimals.mixed_type()?;
        let has_few_digits = matches!(found, KeyType::Decimal { scale, .. } if scale <= MONEY_SCALE_MAX);
        let is_other = match self.guessed(may_be_null).key_type {
            KeyType::F64 => true,
            key_type => key_type == KeyType::Text && self.numbers == self.values && self.inexact.is_some(),
        };
        (has_few_digits && is_other).then_some(found)
    }

    /// What is known of the values of two columns together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let mut integers = self.integers;
        integers.iter_mut().zip(other.integers).for_each(|(fits, also)| *fits &= also);
        Self {
            values: self.values + other.values,
            numbers: self.numbers + other.numbers,
            strings_of_numbers: self.strings_of_numbers + other.strings_of_numbers,
            string_forms: self.string_forms.with(other.string_forms),
            integers,
            is_float: self.is_float && other.is_float,
            decimals: self.decimals.with(other.decimals),
            forms: self.forms.with(other.forms),
            is_bool: self.is_bool && other.is_bool,
            letter: self.letter.filter(|letter| other.letter == Some(*letter)),
            is_uuid: self.is_uuid && other.is_uuid,
            is_date: self.is_date && other.is_date,
            is_time: self.is_time && other.is_time,
            // Those of a column with zones are converted to UTC, so they can be compared with others.
            is_timestamp: self.is_timestamp && other.is_timestamp,
            is_in_nanoseconds: self.is_in_nanoseconds && other.is_in_nanoseconds,
            is_text: self.is_text && other.is_text,
            is_zoned: self.is_zoned.or(other.is_zoned),
            digits: self.digits.max(other.digits),
            first_empty: self.first_empty.or(other.first_empty),
            has_nothing: self.has_nothing || other.has_nothing,
            has_blank: self.has_blank || other.has_blank,
            first_other: None,
            first_not_text: None,
            inexact: None,
            odd: None,
        }
    }

    /// The type of the numbers of this column and of another one, beside which the values of this one are text: they
    /// are strings of JSON, and all are numbers.
    #[must_use]
    pub fn strings_beside(&self, other: &Self) -> Option<KeyType> {
        let are_numbers = self.values > 0 && self.strings_of_numbers == self.values;
        let is_of_numbers = other.numbers > 0 && other.numbers == other.values;
        let exact = || self.string_forms.with(other.forms).key_type();
        (are_numbers && is_of_numbers).then(|| exact().unwrap_or(KeyType::F64))
    }

    /// Why values that are of a narrower type alone are text together with those of `other`, which are those of `path`.
    #[must_use]
    pub fn remark_with(&self, column: &str, other: &Self, path: &str, may_be_null: bool) -> Option<String> {
        let is_plain = |key_type| matches!(key_type, KeyType::Text | KeyType::Bytes);
        let (own, others) = (self.guessed(may_be_null).key_type, other.guessed(may_be_null).key_type);
        let together = self.with(other).guessed(may_be_null).key_type;
        if self.values == 0 || is_plain(own) || !is_plain(together) {
            return None;
        }
        let are_fractions = matches!(own, KeyType::F64 | KeyType::Decimal { .. });
        let inexact = other.inexact.as_ref().filter(|_| are_fractions && other.numbers == other.values);
        let reason = match (inexact, &other.first_other, other.first_empty) {
            (Some((record, text)), ..) => {
                format!("record {} of {path} is '{text}', which f64 cannot hold", grouped(*record))
            }
            (None, Some((record, text)), _) if self.numbers > 0 => {
                format!("record {} of {path} is '{text}'", grouped(*record))
            }
            (_, _, Some(record)) if is_plain(others) && other.numbers == other.values => {
                format!("record {} of {path} is empty", grouped(record))
            }
            _ => format!("those of {path} are {others}"),
        };
        Some(format!("{column} has keys of type {own}, but {reason}, so the keys of both are {together}"))
    }

    /// Why a column with numbers, dates or other values of a type is text, one of decimals floats, or one with text
    /// bytes, if it is.
    #[must_use]
    pub fn remark(&self, column: &str, may_be_null: bool) -> Option<String> {
        let key_type = self.guessed(may_be_null).key_type;
        if let Some((record, text)) = &self.first_not_text {
            let record = grouped(*record);
            return Some(format!("{column} is {key_type}, since record {record}, '{text}', is not UTF-8; {CONVERTED}"));
        }
        if let (KeyType::Bool, Some(letter)) = (key_type, self.letter) {
            let letter = char::from(letter);
            return Some(format!(
                "{column} is bool, since each of its values is '{letter}'; if that is no truth value, read it as text"
            ));
        }
        let is_text = matches!(key_type, KeyType::Text | KeyType::Bytes);
        if let Some((record, text, before)) = &self.odd
            && match before {
                KeyType::Decimal { .. } => key_type == KeyType::F64 && self.decimals == DecimalGuess::Never,
                _ => is_text,
            }
        {
            let record = grouped(*record);
            return Some(format!(
                "{column} is {before} as far as record {record}, which is '{text}', so all of it is {key_type}"
            ));
        }
        let without_empty = self.guessed(true).key_type;
        if is_text && self.numbers == 0 && self.values > 0 && without_empty != key_type {
            let record = grouped(self.first_empty?);
            return Some(format!("{column} is {without_empty}, but record {record} is empty, so all of it is text"));
        }
        if self.numbers == 0 || !is_text {
            return None;
        }
        let is_of_numbers = self.numbers == self.values && !self.integers.contains(&true);
        let reason = match (self.inexact.as_ref().filter(|_| is_of_numbers), &self.first_other) {
            (Some((record, text)), _) => format!("record {} is '{text}', which f64 cannot hold", grouped(*record)),
            (None, Some((record, text))) => format!("record {} is '{text}'", grouped(*record)),
            (None, None) => format!("record {} is empty", grouped(self.first_empty?)),
        };
        Some(format!("{column} has numbers, but {reason}, so all of it is {key_type} and ordered as such"))
    }
}

/// Whether a string of JSON may be a value of a type: numbers and truth values are no strings, other than those that
/// JSON cannot write.
#[must_use]
pub fn may_be_string(key_type: KeyType, text: &[u8]) -> bool {
    match key_type {
        KeyType::U64 | KeyType::I64 | KeyType::U128 | KeyType::I128 | KeyType::Bool | KeyType::Decimal { .. } => false,
        KeyType::F64 => matches!(text, b"NaN" | b"Infinity" | b"-Infinity" | b"inf" | b"-inf"),
        _ => true,
    }
}

/// A truth value, as it is printed or in the form of PostgreSQL, of Python, or of R.
pub(crate) fn truth(text: &[u8]) -> Option<bool> {
    match text {
        b"true" | b"t" | b"True" | b"TRUE" => Some(true),
        b"false" | b"f" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// Whether text is a value of a type without loss. Timestamps must have a time zone or not, as stated.
#[must_use]
pub fn fits(key_type: KeyType, zoned: bool, text: &str) -> bool {
    match key_type {
        KeyType::U64 | KeyType::I64 | KeyType::U128 | KeyType::I128 => is_integer(key_type, text),
        KeyType::F64 => is_float(text),
        KeyType::Decimal { precision, scale } => {
            decimal_digits(text).is_some_and(|(own, digits)| own == scale && digits <= precision)
        }
        KeyType::Bool => truth(text.as_bytes()).is_some(),
        KeyType::Uuid => text.len() == 36 && key_type.parse(text).is_ok(),
        KeyType::Timestamp(_) => {
            text.as_bytes().get(4) == Some(&b'-') && is_zoned(text) == zoned && key_type.parse(text).is_ok()
        }
        KeyType::Date => text.len() == 10 && key_type.parse(text).is_ok(),
        KeyType::Text | KeyType::Bytes => true,
        _ => key_type.parse(text).is_ok(),
    }
}

/// Whether text is an integer of a type in its shortest form.
fn is_integer(key_type: KeyType, text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let is_shortest =
        digits.iter().all(u8::is_ascii_digit) && (digits.first() != Some(&b'0') || text == "0") && !digits.is_empty();
    is_shortest
        && match key_type {
            KeyType::U64 => text.parse::<u64>().is_ok(),
            KeyType::I64 => text.parse::<i64>().is_ok(),
            KeyType::U128 => text.parse::<u128>().is_ok(),
            _ => text.parse::<i128>().is_ok(),
        }
}

/// The digits of a decimal number without zeros at either end, and the exponent of ten of the last one.
fn decimal(text: &str) -> Option<(String, i64)> {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok().filter(|e| e.abs() < 10_000)?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    // Codes such as 007 or 00.5 are not numbers.
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    if whole.is_empty() || has_leading_zero || !is_plain(whole) || !is_plain(fraction) || mantissa.ends_with('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let exponent = exponent - fraction.len() as i64 + (digits.len() - kept.len()) as i64;
    let digits = kept.trim_start_matches('0').to_owned();
    let exponent = if digits.is_empty() { 0 } else { exponent };
    Some((digits, exponent))
}

/// The digits after the point of a number in the form in which decimals are shown, and all of its digits but a single
/// zero before the point. Zero has no sign.
fn decimal_digits(text: &str) -> Option<(u8, u8)> {
    let (whole, scale) = plain_digits(text).filter(|(_, scale)| *scale > 0)?;
    Some((scale, whole.checked_add(scale)?))
}

/// The digits before the point of an integer or a decimal in the form in which they are shown, without a single zero,
/// and those after it. Zero has no sign.
fn plain_digits(text: &str) -> Option<(u8, u8)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match digits.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (digits, ""),
    };
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    let is_signed_zero = digits.len() < text.len() && digits.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if whole.is_empty() || !is_plain(whole) || !is_plain(fraction) || has_leading_zero || is_signed_zero {
        return None;
    }
    let whole_digits = if whole == "0" { 0 } else { whole.len() };
    Some((u8::try_from(whole_digits).ok()?, u8::try_from(fraction.len()).ok()?))
}

/// Whether text is a float that keeps its value: the decimal closest to it is the same number, or it is an integer that
/// a float holds.
fn is_float(text: &str) -> bool {
    if matches!(text, "NaN" | "Infinity" | "-Infinity" | "inf" | "-inf") {
        return true;
    }
    if plain_float(text.as_bytes()).is_some() {
        return true;
    }
    let Some((digits, exponent)) = decimal(text) else { return false };
    if !text.contains(['.', 'e', 'E']) {
        return KeyType::F64.parse(text).is_ok();
    }
    let Ok(value) = text.parse::<f64>() else { return false };
    let is_normal = value == 0.0 || (value.is_finite() && value.abs() >= f64::MIN_POSITIVE);
    if digits.len() <= EXACT_DIGITS && is_normal && (value != 0.0 || digits.is_empty()) {
        return true;
    }
    value.is_finite() && decimal(&format!("{value:e}")) == Some((digits, exponent))
}

fn is_zoned(text: &str) -> bool {
    text.get(10..).is_some_and(|rest| rest.ends_with(['Z', 'z']) || rest.contains(['+', '-']))
}

fn fraction_digits(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(values: &[&str]) -> String {
        let mut guess = ColumnGuess::new();
        for (index, value) in values.iter().enumerate() {
            let written = match *value {
                "" => Written::Nothing,
                "\"\"" => Written::Text(b""),
                value => Written::Text(value.as_bytes()),
            };
            guess.see(index as u64 + 1, written);
        }
        let GuessedType { key_type, nullable, .. } = guess.guessed(true);
        format!("{key_type}{}", if nullable { "?" } else { "" })
    }

    #[test]
    fn the_narrowest_type_is_taken_that_loses_nothing() {
        for (values, name) in [
            (&["0", "17", "18446744073709551615"][..], "u64"),
            (&["0", "-17", "9223372036854775807"], "i64"),
            (&["-3", "2", "18446744073709551615"], "i128"),
            (&["18446744073709551616", "1"], "u128"),
            (&["1.5", "2", "-3e5"], "f64"),
            (&["1", "", "3"], "u64?"),
            (&["0.1", "NaN", "-inf", "1.50", "1e300", "5e-324"], "f64"),
            (&["18410.40", "-0.05", "", "0.00"], "decimal(18,2)?"),
            (&["t", "f", "", "t"], "bool?"),
            (&["t", "f", "x"], "text"),
            (&["2024-01-01 10:00:00+00", "2024-01-01 10:00:00.25-05:30"], "timestamp(ms)"),
            (&["0.123456789012345678"], "decimal(18,18)"),
            (&["1234567890123456.78"], "decimal(18,2)"),
            (&["12345678901234567.89", "1.00"], "decimal(38,2)"),
            (&["0.12345678901234567890123456789012345678"], "decimal(38,38)"),
            (&["0.123456789012345678901234567890123456789"], "text"),
            (&["1.50", "1.5"], "f64"),
            (&["1.50", "2"], "f64"),
            (&["1.50", "-0.00"], "f64"),
            (&["1.50", "1e2"], "f64"),
            (&["1.50", "NaN"], "f64"),
            (&["1.50", "x"], "text"),
            (&["01.50"], "text"),
            (&["12345678901234567.89", "1.5"], "text"),
            (&["0.12345678901234567891", "1"], "text"),
            (&["9007199254740993", "0.5"], "text"),
            (&["9007199254740992", "0.5"], "f64"),
            (&["1e999"], "text"),
            (&["1e-999"], "text"),
            (&["NaN", "inf"], "text"),
            (&["007"], "text"),
            (&["+7"], "text"),
            (&["-0"], "f64"),
            (&["1", "x"], "text"),
            (&["", ""], "text?"),
            (&["a", ""], "text?"),
            (&["a", "\"\""], "text"),
            (&["a", "\"\"", ""], "text?"),
            (&["1", "\"\""], "u64?"),
            (&[], "text"),
            (&["true", "false"], "bool"),
            (&["True", "FALSE"], "bool"),
            (&["true", "yes"], "text"),
            (&["2024-02-29", "1969-12-31"], "date"),
            (&["2024-02-30"], "text"),
            (&["2024-02-29", "2024-02-29T12:00:00.5"], "timestamp(ms)"),
            (&["2024-02-29 12:00:00", "2024-02-29T12:00:00.123456789"], "timestamp(ns)"),
            (&["2024-02-29T12:00:00Z", "2024-02-29T12:00:00+01:00"], "timestamp(s)"),
            (&["2024-02-29T12:00:00Z", "2024-02-29T12:00:00"], "text"),
            (&["9999-02-28T12:00:00.1234567"], "text"),
            (&["9999-02-28T12:00:00", "2024-02-28T12:00:00.1234567"], "text"),
            (&["9999-02-28T12:00:00", "2024-02-28T12:00:00.123456"], "timestamp(us)"),
            (&["12:00:00", "23:59:59.25"], "time(ms)"),
            (&["01890a5d-ac96-774b-bcce-b302099a8057"], "uuid"),
            (&["01890a5dac96774bbcceb302099a8057"], "text"),
            (&["20240229", "2024-02-29"], "text"),
        ] {
            assert_eq!(guess(values), name, "{values:?}");
        }
        let mut bytes = ColumnGuess::new();
        bytes.see(1, Written::Text(b"7"));
        bytes.see(2, Written::Text(b"\xff"));
        assert_eq!(bytes.guessed(true).key_type, KeyType::Bytes);
        assert!(bytes.remark("n", true).unwrap().contains("record 2, '\\xff', is not UTF-8"));
    }

    #[test]
    fn numbers_that_become_text_are_told_with_the_first_reason() {
        let mut guess = ColumnGuess::new();
        for (index, value) in ["1", "2", "n/a", "3", "x"].into_iter().enumerate() {
            guess.see(index as u64 + 1, Written::Text(value.as_bytes()));
        }
        let remark = guess.remark("price", true).unwrap();
        assert!(
            remark.contains("price") && remark.contains("record 3 is 'n/a'") && remark.contains("text"),
            "{remark}"
        );
        let mut keys = ColumnGuess::new();
        keys.see(1, Written::Text(b"1"));
        keys.see(2, Written::Nothing);
        assert!(keys.remark("id", false).unwrap().contains("record 2 is empty"));
        assert_eq!(keys.remark("id", true), None);
        let mut words = ColumnGuess::new();
        words.see(1, Written::Text(b"a"));
        assert_eq!(words.remark("word", true), None);
    }

    #[test]
    fn what_fits_a_guess_keeps_its_value() {
        for text in ["0", "-1.25", "1e5", "123456.789", "0.1"] {
            assert!(fits(KeyType::F64, false, text), "{text}");
        }
        let price = KeyType::Decimal { precision: 18, scale: 2 };
        for (text, is_fit) in [("1.50", true), ("-0.05", true), ("1.5", false), ("2", false), ("-0.00", false)] {
            assert_eq!(fits(price, false, text), is_fit, "{text}");
        }
        for text in ["0x1", "1.", ".5", "1e", "infinity", "1_0", "00.5", "0.1234567890123456789"] {
            assert!(!fits(KeyType::F64, false, text), "{text}");
        }
    }
}
