//! Fuzz targets for text that people type: keys and designs.

use crate::input::take_u8;
use ogive::KeyType;
use ogive::tune::DesignRequest;
use ogive::types::Value;

/// Names of types, each with a key as text.
const KEYS: [(&str, &str); 21] = [
    ("u64", "18446744073709551615"),
    ("u128", "340282366920938463463374607431768211455"),
    ("i64", "-1"),
    ("f64", "-1.5e-300"),
    ("text", "Größe"),
    ("bytes", "a\\x00\\\\"),
    ("u32", "4294967295"),
    ("i128", "-170141183460469231731687303715884105728"),
    ("bytes3", "a\\x00\\\\"),
    ("bytes16", "0123456789abcdef"),
    ("bool", "true"),
    ("i16", "-300"),
    ("f32", "0.1"),
    ("uuid", "01890a5d-ac96-774b-bcce-b302099a8057"),
    ("date", "2024-02-29"),
    ("time(ms)", "23:59:59.5"),
    ("timestamp(ns)", "1969-12-31T23:59:59.999999999"),
    ("timestamp(s)", "2024-05-01 12:00+02:00"),
    ("decimal(10,2)", "-3.50"),
    ("(text, u32? desc nulls first)", "\"a,\"\"b\"\"\","),
    ("(bytes? nulls last, f64 desc, date)", ",NaN,-0044-03-15"),
];

/// Reads any text as a key and shows any bytes as one. Input: type u8, the text or the bytes.
///
/// # Panics
/// When a key that was read, or any bytes that a key of the type may have, are shown as another key: the broken
/// promise.
pub fn key(mut data: &[u8]) {
    let (name, _) = KEYS[usize::from(take_u8(&mut data)) % KEYS.len()];
    let Ok(key_type) = name.parse::<KeyType>() else { return };
    if let Some(key) = std::str::from_utf8(data).ok().and_then(|text| key_type.parse(text).ok()) {
        check_key(key_type, &key);
    }
    let bytes = key_type.width().map_or(data, |width| &data[..data.len().min(width)]);
    // Keys that were written before -0 and NaN had one form each differ from those that are read.
    let again = key_type.decode(bytes).and_then(|value| key_type.encode(&value));
    match again {
        Ok(again) if name.contains("f32") || name.contains("f64") => check_key(key_type, &again),
        Ok(again) => {
            assert_eq!(again, bytes, "a key of type {key_type} has two forms");
            check_key(key_type, bytes);
        }
        Err(_) => drop(key_type.display(bytes)),
    }
}

fn check_key(key_type: KeyType, key: &[u8]) {
    let shown = key_type.display(key);
    let read = key_type.parse(&shown);
    // Text with control characters is shown so that it can do no harm, not so that it can be read.
    let holds_text = key_type.to_string().contains("text");
    let is_exact = !holds_text || key_type.decode(key).is_ok_and(|value| !has_control(&value));
    assert!(!is_exact || read.is_ok_and(|read| read == key), "{key:?} of type {key_type} is shown as {shown:?}");
}

fn has_control(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.chars().any(char::is_control),
        Value::Tuple(values) => values.iter().any(has_control),
        _ => false,
    }
}

/// Keys of each type.
pub fn key_seeds() -> Vec<Vec<u8>> {
    (0_u8..).zip(KEYS).map(|(key_type, (_, text))| [&[key_type], text.as_bytes()].concat()).collect()
}

/// Reads any text as the name of a type.
///
/// # Panics
/// When a type that was read is written as another one: the broken promise.
pub fn key_type(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(key_type) = text.parse::<KeyType>() else { return };
    let written = key_type.to_string();
    assert!(written.parse::<KeyType>().is_ok_and(|read| read == key_type), "{text:?} is written as {written:?}");
}

/// The name of each type.
pub fn key_type_seeds() -> Vec<Vec<u8>> {
    KEYS.iter().map(|(name, _)| name.as_bytes().to_vec()).collect()
}

/// Reads any text as a design.
///
/// # Panics
/// When a design that was read is written as another one: the broken promise.
pub fn design(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(design) = text.parse::<DesignRequest>() else { return };
    let written = design.to_string();
    assert!(written.parse::<DesignRequest>().is_ok_and(|read| read == design), "{text:?} is written as {written:?}");
}

/// Designs of each form.
pub fn design_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "tuned",
        "btree",
        "coded",
        "none",
        "layers=2,builder=gband/gstep,lambda=4096/512",
        "layers=3,builder=pla/coded/pla,lambda=-/512/-,error=8/-/1",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}
