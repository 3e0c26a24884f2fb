//! Fields of JSON as they are written, and the keys and values that they make: the inverse of
//! [`key::to_json`](super::key::to_json) and [`value::to_json`](super::value::to_json).
//!
//! Numbers and truth values may be of any type that their text fits, strings are not numbers to types that are guessed.
//! `{"hex": "ff00"}` stands for bytes that are not text.

use ogive::KeyType;
use ogive::types::{NullOrder, RowBuilder, RowType, TupleType, Value, ValueType};
use ogive_text::{FieldBytes, TextColumn, Written, shortened};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The member that holds bytes in hexadecimal.
const HEX: &str = "hex";

/// A field of an object as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonField {
    Absent,
    Null,
    /// A number, `true` or `false`, as written.
    Token(Vec<u8>),
    String(Vec<u8>),
    /// An array or an object, as written.
    Nested(String),
}

impl JsonField {
    /// A field that is there.
    ///
    /// # Errors
    /// That of a string that is none of JSON.
    pub(crate) fn of(written: &str) -> serde_json::Result<Self> {
        Ok(match written.as_bytes().first() {
            Some(b'"') => Self::String(serde_json::from_str::<String>(written)?.into_bytes()),
            Some(b'{') => match hex_of_json(written) {
                Some(bytes) => Self::String(bytes),
                None => Self::Nested(written.to_owned()),
            },
            Some(b'[') => Self::Nested(written.to_owned()),
            Some(b'n') => Self::Null,
            _ => Self::Token(written.as_bytes().to_vec()),
        })
    }

    /// As fields of text are read.
    pub(crate) fn written(&self) -> Written<'_> {
        match self {
            Self::Absent | Self::Null => Written::Null,
            Self::Token(text) => Written::Text(text),
            Self::String(text) => Written::String(text),
            Self::Nested(text) => Written::Nested(text.as_bytes()),
        }
    }
}

/// The bytes of an object that has nothing but them in hexadecimal.
pub(crate) fn hex_of_json(written: &str) -> Option<Vec<u8>> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(written).ok()?;
    let digits = object.get(HEX).filter(|_| object.len() == 1)?.as_str()?;
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

/// The bytes of a key, of which a tuple is an array.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn key_of_json(key_type: KeyType, written: &RawValue) -> Result<Vec<u8>, String> {
    match key_type {
        KeyType::Tuple(tuple) => tuple_of_json(key_type, tuple, written),
        _ => scalar(key_type, (false, true), written)?.ok_or_else(|| format!("null is no key of type {key_type}")),
    }
}

fn tuple_of_json(key_type: KeyType, tuple: TupleType, written: &RawValue) -> Result<Vec<u8>, String> {
    let wrong = || format!("{} is no key of type {key_type}, an array", shortened(written.get().as_bytes()));
    let parts: Vec<&RawValue> = serde_json::from_str(written.get()).map_err(|_| wrong())?;
    if parts.len() != tuple.components().len() {
        return Err(wrong());
    }
    let mut values = Vec::with_capacity(parts.len());
    for (component, part) in tuple.components().zip(parts) {
        let nullable = component.nulls != NullOrder::Never;
        values.push(match scalar(component.key_type, (nullable, true), part)? {
            Some(bytes) => component.key_type.decode(&bytes).map_err(|_| wrong())?,
            None => Value::Null,
        });
    }
    key_type.encode(&Value::Tuple(values)).map_err(|_| wrong())
}

/// The bytes of a value, of which a row is an object; members that are missing are null.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn value_of_json(value_type: &ValueType, written: &RawValue) -> Result<Vec<u8>, String> {
    match value_type {
        ValueType::Scalar(scalar_type) => scalar(*scalar_type, (false, false), written)?
            .ok_or_else(|| format!("null is no value of type {scalar_type}")),
        ValueType::Row(row_type) => row_of_json(row_type, written),
    }
}

fn row_of_json(row_type: &RowType, written: &RawValue) -> Result<Vec<u8>, String> {
    let shown = || shortened(written.get().as_bytes());
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_str(written.get())
        .map_err(|_| format!("{} is no row of type {row_type}, an object", shown()))?;
    let mut row = RowBuilder::new(row_type.clone());
    for field in row_type.fields() {
        let name = &field.name;
        let found = members.remove(name).map_or(Ok(None), |member| {
            let read = scalar(field.key_type, (field.nullable, false), member);
            read.map_err(|fault| format!("{fault}, the type of the field '{name}'"))
        });
        let pushed = row.push_bytes(found?.as_deref());
        pushed.map_err(|_| format!("{} has no value of the field '{name}', which is never null", shown()))?;
    }
    if let Some(unknown) = members.keys().next() {
        return Err(format!("there is no field '{unknown}' in {row_type}"));
    }
    let mut value = Vec::new();
    row.finish(&mut value).map_err(|_| format!("{} is too long", shown()))?;
    Ok(value)
}

/// The bytes of a scalar, or none of a null, if it may be one.
fn scalar(key_type: KeyType, (nullable, is_key): (bool, bool), written: &RawValue) -> Result<Option<Vec<u8>>, String> {
    let column =
        TextColumn { key_type, nullable, may_be_null: false, guessed: false, is_zoned: false, is_united: false };
    let field = JsonField::of(written.get()).map_err(|error| error.to_string())?;
    let mut target = Vec::new();
    match column.read(field.written(), is_key, &mut target) {
        Ok(FieldBytes::Own(bytes)) => Ok(Some(bytes.to_vec())),
        Ok(FieldBytes::Encoded) => Ok(Some(target)),
        Ok(FieldBytes::Null) => Ok(None),
        Err(_) => Err(format!("{} is not of type {key_type}", shortened(written.get().as_bytes()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{key, value};

    fn raw(written: &str) -> Box<RawValue> {
        RawValue::from_string(written.to_owned()).unwrap()
    }

    #[test]
    fn what_is_printed_as_json_is_read_as_what_it_is() {
        for (name, text) in [
            ("u64", "18446744073709551615"),
            ("u128", "340282366920938463463374607431768211455"),
            ("i8", "-7"),
            ("f64", "0.1"),
            ("f32", "-inf"),
            ("f64", "NaN"),
            ("bool", "true"),
            ("text", "a\\tb"),
            ("bytes", "\\xff\\x00"),
            ("bytes2", "\\xff\\x00"),
            ("date", "2024-02-29"),
            ("decimal(4,2)", "1.50"),
            ("uuid", "01890a5d-ac96-774b-bcce-b302099a8057"),
            ("(text?, i8, bytes, f32 desc)", ",-3,\\xff,0.1"),
        ] {
            let key_type: KeyType = name.parse().unwrap();
            let bytes = key_type.parse(text).unwrap();
            let shown = key::to_json(key_type, &bytes).to_string();
            assert_eq!(key_of_json(key_type, &raw(&shown)).unwrap(), bytes, "{name}: {shown}");
        }
        let row: ValueType = "{n: u8?, t: text, b: bytes?}".parse().unwrap();
        for written in ["7,x,y", ",\"\",", "0,\"a,b\",C:\\new"] {
            let bytes = value::from_argument(&row, written.as_bytes()).unwrap();
            let shown = value::to_json(&row, &bytes).to_string();
            assert_eq!(value_of_json(&row, &raw(&shown)).unwrap(), bytes, "{shown}");
        }
        let bytes = value_of_json(&row, &raw(r#"{"t": "x"}"#)).unwrap();
        assert_eq!(value::to_json(&row, &bytes).to_string(), r#"{"b":null,"n":null,"t":"x"}"#);
    }

    #[test]
    fn what_is_of_another_type_is_told() {
        let row: ValueType = "{n: u8, t: text?}".parse().unwrap();
        for (written, part) in [
            ("7", "an object"),
            (r#"{"n": 300}"#, "300 is not of type u8, the type of the field 'n'"),
            (r#"{"t": "x"}"#, "the field 'n', which is never null"),
            (r#"{"n": 1, "u": 2}"#, "there is no field 'u'"),
        ] {
            let fault = value_of_json(&row, &raw(written)).unwrap_err();
            assert!(fault.contains(part), "{fault}");
        }
        for (key_type, written) in
            [("u8", "\"x\""), ("u8", "null"), ("text", "[1]"), ("(u8, u8)", "[1]"), ("(u8, u8)", "1")]
        {
            assert!(key_of_json(key_type.parse().unwrap(), &raw(written)).is_err(), "{written}");
        }
    }
}
