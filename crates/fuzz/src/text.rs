//! Fuzz targets for text that people type: keys and designs.

use crate::input::take_u8;
use ogive::KeyType;
use ogive::tune::DesignRequest;

const KEY_TYPES: [KeyType; 10] = [
    KeyType::U64,
    KeyType::U128,
    KeyType::I64,
    KeyType::F64,
    KeyType::Text,
    KeyType::Bytes,
    KeyType::U32,
    KeyType::I128,
    KeyType::FixedBytes(3),
    KeyType::FixedBytes(16),
];

/// Reads any text as a key and shows any bytes as one. Input: type u8, the text or the bytes.
///
/// # Panics
/// When a key that was read, or any bytes that a key of the type may have, are shown as another key: the broken
/// promise.
pub fn key(mut data: &[u8]) {
    let key_type = KEY_TYPES[usize::from(take_u8(&mut data)) % KEY_TYPES.len()];
    if let Some(key) = std::str::from_utf8(data).ok().and_then(|text| key_type.parse(text).ok()) {
        check_key(key_type, &key);
    }
    let bytes = key_type.width().map_or(data, |width| &data[..data.len().min(width)]);
    let whole = key_type.width().is_none_or(|width| bytes.len() == width);
    let shown = key_type.display(bytes);
    // The bits of what is no number are no key.
    if whole && shown != "NaN" {
        check_key(key_type, bytes);
    }
}

fn check_key(key_type: KeyType, key: &[u8]) {
    let shown = key_type.display(key);
    let read = key_type.parse(&shown);
    // Control characters of text are shown so that they can do no harm, not so that they can be read.
    let is_plain = std::str::from_utf8(key).is_ok_and(|text| !text.chars().any(char::is_control));
    let is_exact = key_type != KeyType::Text || is_plain;
    assert!(!is_exact || read.is_ok_and(|read| read == key), "{key:?} of type {key_type} is shown as {shown:?}");
}

/// Keys of each type.
pub fn key_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "18446744073709551615",
        "340282366920938463463374607431768211455",
        "-1",
        "-1.5e-300",
        "Größe",
        "a\\x00\\\\",
        "4294967295",
        "-170141183460469231731687303715884105728",
        "a\\x00\\\\",
        "0123456789abcdef",
    ];
    (0_u8..).zip(texts).map(|(key_type, text)| [&[key_type], text.as_bytes()].concat()).collect()
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
        "pgm:64",
        "coded",
        "none",
        "layers=2,builder=gband/gstep,lambda=4096/512",
        "layers=3,builder=pla/coded/plr,lambda=-/512/-,error=8/-/1",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}
