//! Formatting of joined rows as text, CSV and JSON. All rows of a join have the same fields: the key, the left value,
//! and, unless the kind of join returns left rows alone, the right value; a value that a row lacks is empty, in JSON
//! null.

use super::arguments::OutputFormat;
use crate::key;
use ogive::KeyType;
use ogive::join::JoinKind;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The fields of the rows of a join, and their types.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowShape {
    pub(super) kind: JoinKind,
    pub(super) key_type: KeyType,
    /// Whether the left and right values are little-endian numbers.
    pub(super) numbers: [bool; 2],
}

impl RowShape {
    /// The first line of a format; empty if it has none.
    pub(super) fn header(self, to: OutputFormat) -> Vec<u8> {
        let Some(delimiter) = to.delimiter() else { return Vec::new() };
        let names = ["key", "left", "right"];
        let mut header = names[..1 + self.values([None; 2]).count()].join(&char::from(delimiter).to_string());
        header.push('\n');
        header.into_bytes()
    }

    /// Appends the line of a row.
    pub(super) fn push(self, to: OutputFormat, key: &[u8], values: [Option<&[u8]>; 2], line: &mut Vec<u8>) {
        match to.delimiter() {
            Some(delimiter) => self.record(delimiter, key, values, line),
            None if to == OutputFormat::Jsonl => self.object(key, values, line),
            None => self.line(key, values, line),
        }
    }

    /// The values of a row, each with whether it is a number.
    fn values(self, values: [Option<&[u8]>; 2]) -> impl Iterator<Item = (Option<&[u8]>, bool)> {
        values.into_iter().zip(self.numbers).take(if self.kind.pairs() { 2 } else { 1 })
    }

    /// Key and values, separated by tabs, without characters that would break a line.
    fn line(self, key: &[u8], values: [Option<&[u8]>; 2], line: &mut Vec<u8>) {
        line.extend_from_slice(key::shown(self.fitting(key), key).as_bytes());
        for (value, is_number) in self.values(values) {
            line.push(b'\t');
            line.extend_from_slice(shown(value.unwrap_or_default(), is_number).as_bytes());
        }
        line.push(b'\n');
    }

    /// A CSV record.
    fn record(self, delimiter: u8, key: &[u8], values: [Option<&[u8]>; 2], line: &mut Vec<u8>) {
        let key_type = self.fitting(key);
        match key_type {
            KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_) => push_field(delimiter, key, line),
            _ => push_field(delimiter, key::shown(key_type, key).as_bytes(), line),
        }
        for (value, is_number) in self.values(values) {
            line.push(delimiter);
            let value = value.unwrap_or_default();
            match number(value, is_number) {
                Some(number) => line.extend_from_slice(number.to_string().as_bytes()),
                None => push_field(delimiter, value, line),
            }
        }
        line.push(b'\n');
    }

    /// A JSON object.
    fn object(self, key: &[u8], values: [Option<&[u8]>; 2], line: &mut Vec<u8>) {
        let mut object = json!({ "key": key::to_json(self.fitting(key), key) });
        for (name, (value, is_number)) in ["left", "right"].into_iter().zip(self.values(values)) {
            object[name] = value.map_or(Value::Null, |value| to_json(value, is_number));
        }
        line.extend_from_slice(object.to_string().as_bytes());
        line.push(b'\n');
    }

    /// A key of another type is shown as bytes.
    fn fitting(self, key: &[u8]) -> KeyType {
        if self.key_type.width().is_some_and(|width| width != key.len()) { KeyType::Bytes } else { self.key_type }
    }
}

/// Appends a field, in quotes where it needs them.
fn push_field(delimiter: u8, field: &[u8], line: &mut Vec<u8>) {
    let is_special = |&byte: &u8| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
    if !field.iter().any(is_special) {
        return line.extend_from_slice(field);
    }
    line.push(b'"');
    for &byte in field {
        if byte == b'"' {
            line.push(b'"');
        }
        line.push(byte);
    }
    line.push(b'"');
}

fn number(value: &[u8], is_number: bool) -> Option<u64> {
    value.try_into().ok().map(u64::from_le_bytes).filter(|_| is_number)
}

fn shown(value: &[u8], is_number: bool) -> Cow<'_, str> {
    number(value, is_number).map_or_else(|| key::escaped(value), |number| Cow::Owned(number.to_string()))
}

fn to_json(value: &[u8], is_number: bool) -> Value {
    number(value, is_number).map_or_else(|| key::bytes_to_json(value), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: RowShape = RowShape { kind: JoinKind::Full, key_type: KeyType::U64, numbers: [false, true] };

    fn rows(shape: RowShape, to: OutputFormat) -> String {
        let mut lines = shape.header(to);
        shape.push(to, &7_u64.to_be_bytes(), [Some(b"a\t\"b"), Some(&9_u64.to_le_bytes())], &mut lines);
        shape.push(to, &8_u64.to_be_bytes(), [Some(b""), None], &mut lines);
        shape.push(to, b"k,y", [None, Some(b"odd")], &mut lines);
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn all_rows_have_the_same_fields() {
        assert_eq!(rows(SHAPE, OutputFormat::Text), "7\ta\\t\"b\t9\n8\t\t\nk,y\t\todd\n");
        assert_eq!(rows(SHAPE, OutputFormat::Csv), "key,left,right\n7,\"a\t\"\"b\",9\n8,,\n\"k,y\",,odd\n");
        assert_eq!(rows(SHAPE, OutputFormat::Tsv), "key\tleft\tright\n7\t\"a\t\"\"b\"\t9\n8\t\t\nk,y\t\todd\n");
        let objects = [
            json!({ "key": 7, "left": "a\t\"b", "right": 9 }),
            json!({ "key": 8, "left": "", "right": null }),
            json!({ "key": "k,y", "left": null, "right": "odd" }),
        ];
        assert_eq!(rows(SHAPE, OutputFormat::Jsonl), objects.map(|object| format!("{object}\n")).concat());
        let semi = RowShape { kind: JoinKind::Semi, ..SHAPE };
        assert_eq!(rows(semi, OutputFormat::Csv), "key,left\n7,\"a\t\"\"b\"\n8,\n\"k,y\",\n");
    }
}
