//! Text inputs: rows of fields, and the records that they make.

use super::InputError;
use super::infer;
use super::record::{Input, InputFacts, Record};
use super::schema::{ReadColumn, Schema};
use crate::key;
use ogive::KeyType;
use ogive::types::{RowBuilder, Value, ValueType};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// Rows of text: the lines of a file, or the records of CSV.
pub(crate) trait TextRows: Debug + Send {
    /// Names of the columns.
    fn names(&self) -> &[String];

    /// Reads the next row; `false` at the end.
    ///
    /// # Errors
    /// [`InputError`] for a bad file; the rows must not be used afterwards.
    fn advance(&mut self) -> Result<bool, InputError>;

    /// A field of the current row.
    fn field(&self, column: usize) -> &[u8];

    /// Bytes of the file read so far.
    fn position_bytes(&self) -> u64;

    /// Length of the file in bytes, if known.
    fn length_bytes(&self) -> Option<u64>;
}

/// The records of rows of text.
#[derive(Debug)]
pub(crate) struct TextInput {
    rows: Box<dyn TextRows>,
    reader: RecordReader,
    facts: InputFacts,
}

impl TextInput {
    /// The records of these rows, which are at the start of the file at `path`.
    pub(crate) fn new(path: &Path, rows: Box<dyn TextRows>, schema: &Schema) -> Self {
        let facts = InputFacts {
            path: path.to_owned(),
            record_type: schema.record_type.clone(),
            value_width: schema.value_width(),
            records: None,
            length_bytes: rows.length_bytes(),
        };
        Self { rows, reader: RecordReader::new(path, schema), facts }
    }
}

impl Input for TextInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        if !self.rows.advance()? {
            return Ok(None);
        }
        let rows = &*self.rows;
        self.reader.read(|column| rows.field(column)).map(Some)
    }

    fn position_bytes(&self) -> u64 {
        self.rows.position_bytes()
    }
}

/// Converts fields to the bytes of keys and values.
#[derive(Debug)]
pub(crate) struct RecordReader {
    path: PathBuf,
    keys: Vec<ReadColumn>,
    values: Vec<ReadColumn>,
    key_type: KeyType,
    builder: Option<RowBuilder>,
    records: u64,
    key: Vec<u8>,
    value: Vec<u8>,
    /// The bytes of one field.
    scratch: Vec<u8>,
}

impl RecordReader {
    /// For records of this schema in the file at `path`.
    pub(crate) fn new(path: &Path, schema: &Schema) -> Self {
        let builder = match &schema.record_type.values {
            ValueType::Row(row_type) => Some(RowBuilder::new(row_type.clone())),
            ValueType::Scalar(_) => None,
        };
        Self {
            path: path.to_owned(),
            keys: schema.keys.clone(),
            values: schema.values.clone(),
            key_type: schema.record_type.keys,
            builder,
            records: 0,
            key: Vec::new(),
            value: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The record of a row whose fields `field` gives.
    ///
    /// # Errors
    /// [`InputError::WrongType`] for a field that is not of its type.
    pub(crate) fn read<'a>(&mut self, field: impl Fn(usize) -> &'a [u8]) -> Result<Record<'_>, InputError> {
        self.records += 1;
        self.key.clear();
        match &self.keys[..] {
            [column] => {
                let written = field(column.position);
                if !append(column, written, &mut self.key) {
                    return Err(self.refuse(&self.keys[0], written));
                }
            }
            columns => {
                let mut components = Vec::with_capacity(columns.len());
                for column in columns {
                    let written = field(column.position);
                    match component(column, written) {
                        Some(value) => components.push(value),
                        None => return Err(self.refuse(column, written)),
                    }
                }
                match self.key_type.encode(&Value::Tuple(components)) {
                    Ok(key) => self.key = key,
                    Err(_) => return Err(self.refuse(&self.keys[0], field(self.keys[0].position))),
                }
            }
        }
        self.value.clear();
        let Some(builder) = &mut self.builder else {
            if let Some(column) = self.values.first() {
                self.value.extend_from_slice(field(column.position));
            }
            return Ok(Record { key: &self.key, value: &self.value });
        };
        for index in 0..self.values.len() {
            let column = &self.values[index];
            let written = field(column.position);
            let pushed = if column.nullable && written.is_empty() {
                builder.push_bytes(None).is_ok()
            } else if matches!(column.key_type, KeyType::Bytes) {
                builder.push_bytes(Some(written)).is_ok()
            } else {
                self.scratch.clear();
                append(column, written, &mut self.scratch) && builder.push_bytes(Some(&self.scratch)).is_ok()
            };
            if !pushed {
                builder.clear();
                return Err(self.refuse(&self.values[index], written));
            }
        }
        if builder.finish(&mut self.value).is_err() {
            return Err(InputError::Malformed {
                path: self.path.clone(),
                detail: format!("record {} is too long", self.records),
            });
        }
        Ok(Record { key: &self.key, value: &self.value })
    }

    fn refuse(&self, column: &ReadColumn, written: &[u8]) -> InputError {
        let is_key = self.keys.iter().any(|key| key.position == column.position);
        InputError::WrongType {
            path: self.path.clone(),
            record: self.records,
            column: (!column.name.is_empty()).then(|| column.name.clone()),
            is_key,
            written: key::shortened(written),
            wanted: column.key_type.to_string(),
        }
    }
}

/// Appends the bytes of a field to `target`; `false` if it is not of the column's type.
fn append(column: &ReadColumn, written: &[u8], target: &mut Vec<u8>) -> bool {
    match column.key_type {
        KeyType::Bytes => target.extend_from_slice(written),
        KeyType::Text if std::str::from_utf8(written).is_ok() => target.extend_from_slice(written),
        KeyType::FixedBytes(width) if written.len() == usize::from(width) => target.extend_from_slice(written),
        KeyType::Text | KeyType::FixedBytes(_) => return false,
        key_type => {
            // Spreadsheets often pad numbers.
            let exact = column.guessed || matches!(key_type, KeyType::Tuple(_));
            let written = if exact { written } else { written.trim_ascii() };
            if key_type == KeyType::U64
                && let Some(number) = plain_number(written)
            {
                target.extend_from_slice(&number.to_be_bytes());
                return true;
            }
            let Ok(text) = std::str::from_utf8(written) else { return false };
            if column.guessed && !infer::fits(key_type, column.is_zoned, text) {
                return false;
            }
            match key_type.parse(text) {
                Ok(bytes) => target.extend_from_slice(&bytes),
                Err(_) => return false,
            }
        }
    }
    true
}

/// Most digits of a number that surely fits 64 bits.
const PLAIN_DIGITS_MAX: usize = 19;

/// A decimal number without a sign and leading zeros. Most keys of text files are such numbers, so they are read here
/// without the steps that other types take.
fn plain_number(written: &[u8]) -> Option<u64> {
    let is_plain = (1..=PLAIN_DIGITS_MAX).contains(&written.len())
        && written.iter().all(u8::is_ascii_digit)
        && (written[0] != b'0' || written.len() == 1);
    is_plain.then(|| written.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// A component of a tuple; `None` if the field is not of its type.
fn component(column: &ReadColumn, written: &[u8]) -> Option<Value> {
    if column.nullable && written.is_empty() {
        return Some(Value::Null);
    }
    let mut bytes = Vec::new();
    append(column, written, &mut bytes).then(|| column.key_type.decode(&bytes).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(position: usize, name: &str, type_name: &str, guessed: bool) -> ReadColumn {
        let (type_name, nullable) = type_name.strip_suffix('?').map_or((type_name, false), |name| (name, true));
        let key_type = type_name.parse().unwrap();
        ReadColumn { position, name: name.into(), key_type, nullable, guessed, is_zoned: false }
    }

    fn reader(keys: Vec<ReadColumn>, key_type: &str) -> RecordReader {
        let schema = Schema { keys, ..Schema::of_keys(key_type.parse().unwrap()) };
        RecordReader::new(Path::new("visits.csv"), &schema)
    }

    fn key(reader: &mut RecordReader, key_type: &str, fields: &[&[u8]]) -> Result<String, InputError> {
        let key_type: KeyType = key_type.parse().unwrap();
        reader.read(|column| fields[column]).map(|record| key_type.display(record.key))
    }

    #[test]
    fn fields_become_a_tuple_whose_empty_ones_are_null_where_they_may_be() {
        let name = "(text, u64?, date)";
        let columns =
            vec![column(0, "who", "text", false), column(1, "n", "u64?", false), column(2, "on", "date", false)];
        let mut reader = reader(columns, name);
        assert_eq!(key(&mut reader, name, &[b"a,b", b" 7", b"2024-02-29"]).unwrap(), "\"a,b\",7,2024-02-29");
        assert_eq!(key(&mut reader, name, &[b"", b"", b"2024-02-29"]).unwrap(), "\"\",,2024-02-29");
        let message = key(&mut reader, name, &[b"a", b"7", b""]).unwrap_err().to_string();
        assert!(message.contains("record 3") && message.contains("on"), "{message}");
    }

    #[test]
    fn guessed_numbers_keep_their_form_and_given_ones_may_be_padded() {
        let mut guessed = reader(vec![column(0, "", "u64", true)], "u64");
        assert_eq!(key(&mut guessed, "u64", &[b"7"]).unwrap(), "7");
        assert_eq!(key(&mut guessed, "u64", &[b"18446744073709551615"]).unwrap(), u64::MAX.to_string());
        for wrong in ["07", " 7", "+7", "", "18446744073709551616", "x"] {
            assert!(key(&mut guessed, "u64", &[wrong.as_bytes()]).is_err(), "{wrong}");
        }
        let mut given = reader(vec![column(0, "id", "u64", false)], "u64");
        for fit in ["07", " 7 ", "+7"] {
            assert_eq!(key(&mut given, "u64", &[fit.as_bytes()]).unwrap(), "7");
        }
        let message = key(&mut given, "u64", &[&[b'x'; 100]]).unwrap_err().to_string();
        assert!(
            message.contains("record 4 of visits.csv") && message.contains("xxx...") && message.len() < 160,
            "{message}"
        );
    }
}
