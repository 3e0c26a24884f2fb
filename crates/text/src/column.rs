//! Columns of files of separated fields: their names, and the values of their fields.

use crate::infer::{GuessedType, fits, may_be_string, truth};
use crate::numbers::{append_united, means_float};
use crate::plain::{is_as_printed, is_plain_timestamp, plain_float};
use crate::reader::Written;
use crate::show::shortened;
use ogive::types::ValueType;
use ogive::{KeyType, encode_f64};
use std::collections::{HashMap, HashSet};

/// Bytes of a date, behind which timestamps have a `T` or a space.
const DATE_BYTES: usize = 10;

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
    /// Whether the type is that of another column as well, whose equal numbers may be written otherwise.
    pub is_united: bool,
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
        Self { key_type, nullable, may_be_null, guessed: true, is_zoned, is_united: false }
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

    /// The text of a field as it is printed once it was read, appended to `target` unless it is the text itself. This
    /// is for rows whose values are only passed on.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn print<'a>(&self, written: Written<'a>, target: &mut Vec<u8>) -> Result<FieldBytes<'a>, Option<String>> {
        let start = target.len();
        let found = self.read(written, false, target)?;
        if found != FieldBytes::Encoded {
            return Ok(found);
        }
        let text = written.text();
        let shown = if is_as_printed(self.key_type, text, self.guessed) {
            target.truncate(start);
            return Ok(FieldBytes::Own(text));
        } else if is_plain_timestamp(self.key_type, text) {
            target.truncate(start);
            let (date, time) = text.split_at(DATE_BYTES);
            target.extend_from_slice(date);
            target.push(b'T');
            target.extend_from_slice(&time[1..]);
            return Ok(FieldBytes::Encoded);
        } else {
            self.key_type.display(&target[start..])
        };
        target.truncate(start);
        target.extend_from_slice(shown.as_bytes());
        Ok(FieldBytes::Encoded)
    }

    /// Appends the bytes of a field to `target`; `false` if it is not of the type.
    fn append(&self, written: &[u8], is_key: bool, target: &mut Vec<u8>) -> bool {
        let key_type = self.key_type;
        // Spreadsheets often pad numbers.
        let exact = self.guessed || matches!(key_type, KeyType::Tuple(_));
        let written = if exact { written } else { written.trim_ascii() };
        // Equal to a key of the other side is only what it means.
        if self.is_united
            && matches!(key_type, KeyType::F32 | KeyType::F64)
            && !std::str::from_utf8(written).is_ok_and(|text| means_float(key_type, text))
        {
            return false;
        }
        // Timestamps in this form have no zone.
        let may_be_plain = !(self.guessed && self.is_zoned && matches!(key_type, KeyType::Timestamp(_)));
        if may_be_plain && key_type.append_plain(written, target) {
            return true;
        }
        if key_type == KeyType::Bool
            && let Some(truth) = truth(written)
        {
            target.push(u8::from(truth));
            return true;
        }
        if key_type == KeyType::F64
            && let Some(float) = plain_float(written)
        {
            target.extend_from_slice(&encode_f64(float));
            return true;
        }
        let Ok(text) = std::str::from_utf8(written) else { return false };
        if self.is_united && append_united(key_type, text, target) {
            return true;
        }
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
