//! Fuzz target: rows, with any type and any bytes.

use ogive::types::{Value, ValueType};

/// Types with a row of each, as text.
const ROWS: [(&str, &str); 5] = [
    ("text", "Größe"),
    ("{n: u8}", "7"),
    ("{a: i32, b: text, c: text?}", "-1,ogive,"),
    ("{\"x, y\": f64?, d: decimal(38,2), b: bytes?, u: uuid?, t: timestamp(ns)}", "NaN,1.50,,,1969-12-31T23:59:59.5"),
    ("{a: bool?, b: bool?, c: bool?, d: bool?, e: bool?, f: bool?, g: bool?, h: bool?, i: bool?}", ",,,,,,,,true"),
];

/// Reads any text as a type of values, and any bytes as a value of it. Input: the name of the type, a line feed, the
/// value.
///
/// # Panics
/// When a type is written as another one, or a value is read as one that its type cannot have: the broken promise.
pub fn value(data: &[u8]) {
    let Some(at) = data.iter().position(|&byte| byte == b'\n') else { return };
    let Ok(name) = std::str::from_utf8(&data[..at]) else { return };
    let Ok(value_type) = name.parse::<ValueType>() else { return };
    let written = value_type.to_string();
    assert!(written.parse::<ValueType>().is_ok_and(|read| read == value_type), "{name:?} is written as {written:?}");
    let bytes = &data[at + 1..];
    let shown = value_type.display(bytes);
    assert!(!shown.chars().any(char::is_control), "{shown:?}");
    let Ok(value) = value_type.decode(bytes) else { return };
    if let Value::Tuple(values) = &value {
        let row = value_type.row(bytes).expect("a row that was decoded");
        assert_eq!(values.len(), value_type.fields().len());
        for (index, field) in value_type.fields().iter().enumerate() {
            let found = row.field(index).expect("a field of a row that was decoded");
            assert_eq!(found.is_none(), values[index] == Value::Null);
            if let Some(found) = found {
                field.key_type.decode(found).expect("the bytes of a field that was decoded");
            }
        }
    }
    // Nulls of a field that may not be null come from types that were extended, and are not written.
    if let Ok(again) = value_type.encode(&value) {
        value_type.decode(&again).expect("a value that was written");
    }
}

/// A value of each type.
pub fn value_seeds() -> Vec<Vec<u8>> {
    let seed = |(name, text): &(&str, &str)| {
        let value = name.parse::<ValueType>().and_then(|value_type| value_type.parse(text)).unwrap_or_default();
        [name.as_bytes(), b"\n", &value].concat()
    };
    ROWS.iter().map(seed).collect()
}
