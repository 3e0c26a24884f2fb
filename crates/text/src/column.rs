//! Columns of files of separated fields: their names, and the values of their fields.

use crate::infer::{GuessedType, fits, may_be_string};
use crate::reader::Written;
use crate::show::shortened;
use ogive::KeyType;
use ogive::types::ValueType;
use std::collections::{HashMap, HashSet};

/// Most digits of a number that surely fits 64 bits.
const PLAIN_DIGITS_MAX: usize = 19;

/// A field as the bytes of its column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldBytes<'a> {
    /// A null.
    Null,
    /// These, which are its own.
    Own(&'a [u8]),
    /// Those that were appended to the buffer.
    Encoded,
}

/// How the fields of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextColumn {
    /// The type of its values.
    pub key_type: KeyType,
    /// Whether an empty field is a null; in text, one without quotes.
    pub nullable: bool,
    /// Whether nulls make it a column of a type with nulls, if the type is guessed: see [`may_be_null`].
    pub may_be_null: bool,
    /// Whether the type is guessed, so that values must keep their form or value.
    pub guessed: bool,
    /// Whether timestamps state a time zone, if the type is guessed.
    pub is_zoned: bool,
}

/// Whether a column may have nulls if its type is guessed: the only column of the key has none, so that numbers with an
/// empty field are text in it.
#[must_use]
pub fn may_be_null(is_key: bool, key_columns: usize) -> bool {
    !is_key || key_columns > 1
}

impl TextColumn {
    /// A column of a type that was guessed from its fields.
    #[must_use]
    pub fn of_guess(guess: GuessedType, may_be_null: bool) -> Self {
        let GuessedType { key_type, nullable, is_zoned } = guess;
        Self { key_type, nullable, may_be_null, guessed: true, is_zoned }
    }

    /// The bytes of a field, appended to `target` unless they are those of the text.
    ///
    /// # Errors
    /// The text of a field that is not of the type, and nothing of a null.
    pub fn read<'a>(
        &self,
        written: Written<'a>,
        is_key: bool,
        target: &mut Vec<u8>,
    ) -> Result<FieldBytes<'a>, Option<String>> {
        let text = written.text();
        let is_plain = matches!(self.key_type, KeyType::Text | KeyType::Bytes);
        let is_fit = match written {
            Written::Null | Written::Nothing if self.nullable => return Ok(FieldBytes::Null),
            Written::Null | Written::Nested(_) => false,
            // A guess from the first records has not seen that there are nulls.
            Written::Nothing => !(is_plain && self.guessed && self.may_be_null),
            Written::Text([]) if self.nullable && !is_plain => return Ok(FieldBytes::Null),
            Written::Text(_) => true,
            Written::String(text) => !self.guessed || may_be_string(self.key_type, text),
        };
        match self.key_type {
            _ if written == Written::Null => Err(None),
            _ if !is_fit => Err(Some(shortened(text))),
            KeyType::Bytes => Ok(FieldBytes::Own(text)),
            KeyType::Text if std::str::from_utf8(text).is_ok() => Ok(FieldBytes::Own(text)),
            KeyType::FixedBytes(width) if text.len() == usize::from(width) => Ok(FieldBytes::Own(text)),
            KeyType::Text | KeyType::FixedBytes(_) => Err(Some(shortened(text))),
            _ if self.append(text, is_key, target) => Ok(FieldBytes::Encoded),
            _ => Err(Some(shortened(text))),
        }
    }

    /// Appends the bytes of a field to `target`; `false` if it is not of the type.
    fn append(&self, written: &[u8], is_key: bool, target: &mut Vec<u8>) -> bool {
        let key_type = self.key_type;
        // Spreadsheets often pad numbers.
        let exact = self.guessed || matches!(key_type, KeyType::Tuple(_));
        let written = if exact { written } else { written.trim_ascii() };
        if key_type == KeyType::U64
            && let Some(number) = plain_number(written)
        {
            target.extend_from_slice(&number.to_be_bytes());
            return true;
        }
        let Ok(text) = std::str::from_utf8(written) else { return false };
        if self.guessed && !fits(key_type, self.is_zoned, text) {
            return false;
        }
        // Floats keep the sign of zero in values.
        let parsed = if is_key { key_type.parse(text) } else { ValueType::Scalar(key_type).parse(text) };
        parsed.is_ok_and(|bytes| {
            target.extend_from_slice(&bytes);
            true
        })
    }
}

/// A decimal number without a sign and leading zeros. Most keys of text files are such numbers, so they are read here
/// without the steps that other types take.
fn plain_number(written: &[u8]) -> Option<u64> {
    let is_plain = (1..=PLAIN_DIGITS_MAX).contains(&written.len())
        && written.iter().all(u8::is_ascii_digit)
        && (written[0] != b'0' || written.len() == 1);
    is_plain.then(|| written.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// Names of columns, each once: a second `a` is `a_2`, and an empty one is named by its number.
#[must_use]
pub fn unique_names(names: &[String]) -> Vec<String> {
    let mut taken = HashSet::new();
    // The number that the next column of a name gets.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let name = |(index, name): (usize, &String)| {
        let first = if name.is_empty() { format!("column{}", index + 1) } else { name.clone() };
        let mut unique = first.clone();
        while !taken.insert(unique.clone()) {
            let number = numbers.entry(first.clone()).or_insert(2);
            unique = format!("{first}_{number}");
            *number += 1;
        }
        unique
    };
    names.iter().enumerate().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_unique() {
        let names = ["a", "", "a", "a_2", "a"].map(str::to_owned);
        assert_eq!(unique_names(&names), ["a", "column2", "a_2", "a_2_2", "a_3"]);
    }
}
