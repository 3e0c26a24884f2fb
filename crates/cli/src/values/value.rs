//! Conversion of values between their bytes and text or JSON, by their type.

use super::key;
use crate::failure::{Failure, Result};
use ogive::KeyType;
use ogive::types::{Field, Row, RowType, ValueType};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Values of bytes.
pub(crate) const BYTES: &ValueType = &ValueType::Scalar(KeyType::Bytes);

/// A value as text on a line: the fields of a row separated by tabs, nulls as nothing. A value that is not of the type
/// is shown as bytes.
pub(crate) fn shown<'a>(value_type: &ValueType, value: &'a [u8]) -> Cow<'a, str> {
    match value_type {
        ValueType::Scalar(KeyType::Bytes) => shown_bytes(value),
        ValueType::Scalar(key_type) => key::shown(*key_type, value),
        ValueType::Row(_) => {
            fields(value_type, value).map_or_else(|| shown_bytes(value), |fields| Cow::Owned(fields.join("\t")))
        }
    }
}

/// Bytes as text that [`from_escaped`] reads as these bytes.
fn shown_bytes(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|letter| letter.is_control() || letter == '\\') => Cow::Borrowed(text),
        _ => Cow::Owned(KeyType::Bytes.display(bytes)),
    }
}

/// A value in JSON: a row is an object.
pub(crate) fn to_json(value_type: &ValueType, value: &[u8]) -> Value {
    match value_type {
        ValueType::Scalar(KeyType::Bytes) => key::bytes_to_json(value),
        ValueType::Scalar(key_type) => key::to_json(*key_type, value),
        ValueType::Row(row_type) => row_json(row_type, value).unwrap_or_else(|| key::bytes_to_json(value)),
    }
}

/// A value in JSON as text, with the fields of a row in their order.
pub(crate) fn to_json_text(value_type: &ValueType, value: &[u8]) -> String {
    let shown = to_json(value_type, value);
    let Value::Object(mut members) = shown else { return shown.to_string() };
    let fields = value_type.fields().iter().filter_map(|field| members.remove_entry(&field.name));
    let mut fields: Vec<_> = fields.map(|(name, shown)| format!("{}:{shown}", Value::String(name))).collect();
    // Bytes in hexadecimal are no field.
    fields.extend(members.into_iter().map(|(name, shown)| format!("{}:{shown}", Value::String(name))));
    format!("{{{}}}", fields.join(","))
}

fn row_json(row_type: &RowType, value: &[u8]) -> Option<Value> {
    let row = Row::new(row_type, value).ok()?;
    let mut object = Map::new();
    for (index, field) in row_type.fields().iter().enumerate() {
        let found = row.field(index).ok()?;
        object.insert(field.name.clone(), found.map_or(Value::Null, |bytes| key::to_json(field.key_type, bytes)));
    }
    Some(Value::Object(object))
}

/// The fields of a row as text, nulls as nothing; `None` for a value that is not a row of the type.
fn fields(value_type: &ValueType, value: &[u8]) -> Option<Vec<String>> {
    let row = value_type.row(value).ok()?;
    let shown = |(index, field): (usize, &Field)| {
        let bytes = row.field(index).ok()?;
        Some(bytes.map(|bytes| key::shown(field.key_type, bytes).into_owned()).unwrap_or_default())
    };
    value_type.fields().iter().enumerate().map(shown).collect()
}

/// The bytes of a value given as an argument: a row is a record of CSV as exports write it, without escapes.
///
/// # Errors
/// [`Failure::Usage`] when it is not a value of the type.
pub(crate) fn from_argument(value_type: &ValueType, argument: &[u8]) -> Result<Vec<u8>> {
    if value_type.is_bytes() {
        return Ok(argument.to_vec());
    }
    let text = String::from_utf8_lossy(argument);
    let text = match value_type {
        // The fields of rows in text have escapes, and those of exports have none.
        ValueType::Row(_) => Cow::Owned(text.replace('\\', "\\\\")),
        ValueType::Scalar(_) => text,
    };
    let value = std::str::from_utf8(argument).ok().and_then(|_| value_type.parse(&text).ok());
    value.ok_or_else(|| {
        let hint = match value_type {
            ValueType::Row(_) => "write its fields in this order, separated by commas, each a value of its type",
            ValueType::Scalar(_) => "all values here have this type",
        };
        let fault = match value_type {
            ValueType::Row(row_type) => format!(": {}", row_type.fault(&text)),
            ValueType::Scalar(_) => String::new(),
        };
        let shown = ogive_text::shortened(argument);
        Failure::usage(format!("'{shown}' is not a value of type {value_type}{fault}"), hint)
    })
}

/// The bytes of a value given as an argument with the escapes that [`shown`] writes.
///
/// # Errors
/// [`Failure::Usage`] for what begins no escape.
pub(crate) fn from_escaped(argument: &[u8]) -> Result<Vec<u8>> {
    let value = std::str::from_utf8(argument).ok().and_then(|text| BYTES.parse(text).ok());
    value.ok_or_else(|| {
        let message = format!("'{}' has a backslash that begins no escape", ogive_text::shortened(argument));
        Failure::usage(message, "write a backslash as \\\\ and any byte as \\xNN, or remove --escaped")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_and_exported_is_read_as_what_it_is() {
        for bytes in [&b"\x01"[..], b"\\x01", b"\\", b"a\\b", b"\xff", b"plain", b"C:\\new"] {
            assert_eq!(from_escaped(shown(BYTES, bytes).as_bytes()).unwrap(), bytes, "{bytes:?}");
        }
        let row: ValueType = "{t: text, b: bytes}".parse().unwrap();
        for written in ["C:\\new,\\x41", "\\,\\\\", "\"a,\\t\",\\n"] {
            let value = from_argument(&row, written.as_bytes()).unwrap();
            let fields = to_json(&row, &value);
            assert!(written.contains(fields["t"].as_str().unwrap()), "{written}: {fields}");
        }
    }

    #[test]
    fn rows_are_shown_field_by_field() {
        let value_type: ValueType = "{n: u8?, \"a b\": text?, d: date}".parse().unwrap();
        let value = from_argument(&value_type, b"7,\"x\ty\",2024-02-29").unwrap();
        assert_eq!(shown(&value_type, &value), "7\tx\\ty\t2024-02-29");
        assert_eq!(to_json(&value_type, &value).to_string(), r#"{"a b":"x\ty","d":"2024-02-29","n":7}"#);
        let nulls = from_argument(&value_type, b",,2024-02-29").unwrap();
        assert_eq!(shown(&value_type, &nulls), "\t\t2024-02-29");
        assert_eq!(to_json(&value_type, &nulls).to_string(), r#"{"a b":null,"d":"2024-02-29","n":null}"#);
        for (wrong, fault) in [
            ("7,x", "it has 2 of 3 fields"),
            ("7,x,soon", "its field 'd' is not of type date"),
            ("7,x,", "its field 'd' is not of type date"),
            ("300,x,2024-02-29", "its field 'n' is not of type u8"),
            ("7,\"x,2024-02-29", "it is no record of CSV"),
        ] {
            let failure = from_argument(&value_type, wrong.as_bytes()).unwrap_err();
            assert_eq!(failure.exit_code(), 2);
            assert!(failure.to_string().ends_with(fault), "{failure}");
        }
        let with_bytes: ValueType = "{b: bytes, d: date}".parse().unwrap();
        let failure = from_argument(&with_bytes, b"C:\\quiet,soon").unwrap_err().to_string();
        assert!(failure.ends_with("its field 'd' is not of type date"), "{failure}");
        assert_eq!(shown(&value_type, b"\xff"), "\\xff", "not a row");
        assert_eq!(shown(BYTES, b"a\tb"), "a\\tb");
        assert_eq!(to_json(&KeyType::U64.into(), &7_u64.to_be_bytes()), 7);
    }
}
