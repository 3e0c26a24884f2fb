//! Keys in text inputs: conversion to ordered bytes, and guessing of their type.

use super::InputError;
use crate::key;
use ogive::KeyType;
use ogive::types::{Component, NullOrder, TupleType, Value};
use std::path::{Path, PathBuf};

/// Converts the keys of one input to bytes that order like the keys.
#[derive(Debug)]
pub(crate) struct KeyReader {
    path: PathBuf,
    key_type: KeyType,
    /// The components of a tuple.
    components: Vec<Component>,
    /// Whether a key must be in canonical form.
    exact: bool,
    records: u64,
    key: Vec<u8>,
}

impl KeyReader {
    /// For keys of `key_type` in the file at `path`. With a guessed type, numbers must be in canonical form: `007` is
    /// not 7.
    pub(crate) fn new(path: &Path, key_type: KeyType, guessed: bool) -> Self {
        let components = match key_type {
            KeyType::Tuple(tuple) => tuple.components().collect(),
            _ => Vec::new(),
        };
        Self { path: path.to_owned(), key_type, components, exact: guessed, records: 0, key: Vec::new() }
    }

    /// Keys read so far.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// The bytes of a key.
    ///
    /// # Errors
    /// [`InputError::WrongKeyType`] for a key of another type.
    pub(crate) fn read<'a>(&'a mut self, written: &'a [u8]) -> Result<&'a [u8], InputError> {
        self.records += 1;
        match self.key_type {
            KeyType::Bytes => return Ok(written),
            KeyType::Text if std::str::from_utf8(written).is_ok() => return Ok(written),
            KeyType::FixedBytes(width) if written.len() == usize::from(width) => return Ok(written),
            KeyType::Text | KeyType::FixedBytes(_) => return Err(self.refuse(written)),
            _ => {}
        }
        // Spreadsheets often pad numbers.
        let is_exact = self.exact || matches!(self.key_type, KeyType::Tuple(_));
        let number = if is_exact { written } else { written.trim_ascii() };
        match key::from_input(self.key_type, number) {
            Some(key) if !self.exact || self.key_type.display(&key).as_bytes() == written => self.key = key,
            _ => return Err(self.refuse(written)),
        }
        Ok(&self.key)
    }

    /// The bytes of a key whose components are in columns of their own: of a tuple, unless there is but one column. An
    /// empty field is a null, where there may be one.
    ///
    /// # Errors
    /// [`InputError::WrongKeyType`] for a key of another type.
    pub(crate) fn read_fields<'a>(&'a mut self, fields: &[&'a [u8]]) -> Result<&'a [u8], InputError> {
        if let &[field] = fields {
            return self.read(field);
        }
        self.records += 1;
        let values = self.components.iter().zip(fields).map(|(component, field)| self.component(*component, field));
        let key =
            values.collect::<Option<Vec<_>>>().and_then(|values| self.key_type.encode(&Value::Tuple(values)).ok());
        match key {
            Some(key) => self.key = key,
            None => return Err(self.refuse(&fields.join(&b','))),
        }
        Ok(&self.key)
    }

    fn component(&self, component: Component, field: &[u8]) -> Option<Value> {
        match component.key_type {
            _ if field.is_empty() && component.nulls != NullOrder::Never => Some(Value::Null),
            KeyType::Bytes | KeyType::FixedBytes(_) => Some(Value::Bytes(field.to_vec())),
            KeyType::Text => Some(Value::Text(std::str::from_utf8(field).ok()?.to_owned())),
            key_type => {
                let key = key::from_input(key_type, if self.exact { field } else { field.trim_ascii() })?;
                let is_canonical = !self.exact || key_type.display(&key).as_bytes() == field;
                is_canonical.then(|| key_type.decode(&key).ok()).flatten()
            }
        }
    }

    fn refuse(&self, written: &[u8]) -> InputError {
        InputError::WrongKeyType {
            path: self.path.clone(),
            record: self.records,
            key: shortened(written),
            wanted: self.key_type.to_string(),
        }
    }
}

/// The narrowest type that fits all keys seen: unsigned, else signed integers in plain decimal, else text or bytes.
///
/// Numbers must be in canonical form, so `007` is text.
#[derive(Debug)]
pub(crate) struct KeyGuess {
    keys: u64,
    unsigned: bool,
    signed: bool,
    text: bool,
}

impl KeyGuess {
    /// Nothing seen yet.
    pub(crate) fn new() -> Self {
        Self { keys: 0, unsigned: true, signed: true, text: true }
    }

    /// Adds a key.
    pub(crate) fn see(&mut self, written: &[u8]) {
        self.keys += 1;
        let text = std::str::from_utf8(written).ok();
        self.text &= text.is_some();
        let number = text.unwrap_or_default();
        self.unsigned = self.unsigned && number.parse::<u64>().is_ok_and(|parsed| parsed.to_string() == number);
        self.signed = self.signed && number.parse::<i64>().is_ok_and(|parsed| parsed.to_string() == number);
    }

    /// The narrowest type for the keys seen.
    pub(crate) fn key_type(&self) -> KeyType {
        match self {
            Self { keys: 0, .. } => KeyType::Text,
            Self { unsigned: true, .. } => KeyType::U64,
            Self { signed: true, .. } => KeyType::I64,
            Self { text: true, .. } => KeyType::Text,
            _ => KeyType::Bytes,
        }
    }
}

/// The type of keys in several columns, of which each has its own.
pub(crate) fn tuple_of(columns: impl IntoIterator<Item = KeyType>) -> Option<KeyType> {
    let components: Vec<Component> = columns.into_iter().map(Component::new).collect();
    TupleType::new(&components).ok().map(KeyType::Tuple)
}

/// A key, shortened for messages.
fn shortened(written: &[u8]) -> String {
    let shown = key::escaped(written);
    match shown.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &shown[..end]),
        None => shown.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(keys: &[&[u8]]) -> KeyType {
        let mut guess = KeyGuess::new();
        keys.iter().for_each(|key| guess.see(key));
        guess.key_type()
    }

    #[test]
    fn a_guess_takes_only_numbers_that_print_back_the_same() {
        assert_eq!(guess(&[b"0", b"17", b"18446744073709551615"]), KeyType::U64);
        assert_eq!(guess(&[b"0", b"-17"]), KeyType::I64);
        assert_eq!(guess(&[b"-17", b"18446744073709551615"]), KeyType::Text);
        assert_eq!(guess(&[b"007"]), KeyType::Text);
        assert_eq!(guess(&[b"+7"]), KeyType::Text);
        assert_eq!(guess(&[b"1.5"]), KeyType::Text);
        assert_eq!(guess(&[b"1", b""]), KeyType::Text);
        assert_eq!(guess(&[b"1", b"\xff"]), KeyType::Bytes);
        assert_eq!(guess(&[]), KeyType::Text);
    }

    #[test]
    fn fields_become_a_tuple_whose_empty_ones_are_null_where_they_may_be() {
        let key_type: KeyType = "(text, u64?, date)".parse().unwrap();
        let mut keys = KeyReader::new(Path::new("visits.csv"), key_type, false);
        let mut shown = |fields: &[&[u8]]| keys.read_fields(fields).map(|key| key_type.display(key));
        assert_eq!(shown(&[b"a,b", b" 7", b"2024-02-29"]).unwrap(), "\"a,b\",7,2024-02-29");
        assert_eq!(shown(&[b"", b"", b"2024-02-29"]).unwrap(), "\"\",,2024-02-29");
        let message = shown(&[b"a", b"7", b""]).unwrap_err().to_string();
        assert!(message.contains("record 3") && message.contains("a,7,"), "{message}");
        let guessed = tuple_of([KeyType::U64, KeyType::Text]).unwrap();
        let mut keys = KeyReader::new(Path::new("visits.csv"), guessed, true);
        assert!(keys.read_fields(&[b"7", b"x"]).is_ok());
        assert!(keys.read_fields(&[b"07", b"x"]).is_err(), "such a number would not print back the same");
    }

    #[test]
    fn a_key_of_another_type_is_named_with_its_record() {
        let mut keys = KeyReader::new(Path::new("ids.csv"), KeyType::U64, false);
        assert_eq!(keys.read(b" 7 ").unwrap(), 7_u64.to_be_bytes());
        let message = keys.read(&[b'x'; 100]).unwrap_err().to_string();
        assert!(
            message.contains("record 2 of ids.csv") && message.contains("xxx...") && message.len() < 150,
            "{message}"
        );
    }
}
