//! File names of the system as text: a storage names its files by strings, and names on disk may be any bytes.
//!
//! A name of valid Unicode is itself. Otherwise each byte that is not part of valid UTF-8 becomes one character from
//! U+F700 + 128 to U+F700 + 255, of the private use area. So that each name has one form, characters of that range in a
//! valid name are written as three bytes in the same way.

use std::ffi::{OsStr, OsString};

/// The character of byte 0; only bytes from 128 on occur.
#[cfg(unix)]
const FIRST: u32 = 0xf700;

#[cfg(unix)]
fn byte_of(character: char) -> Option<u8> {
    u8::try_from(u32::from(character).checked_sub(FIRST)?).ok().filter(|&byte| byte >= 128)
}

/// A name as text; `None` where the system has names that no text stands for.
#[cfg(unix)]
pub(in crate::io) fn encode(name: &OsStr) -> Option<String> {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::with_capacity(name.len());
    let push = |text: &mut String, bytes: &[u8]| {
        text.extend(bytes.iter().filter_map(|&byte| char::from_u32(FIRST + u32::from(byte))));
    };
    for chunk in name.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match byte_of(character) {
                Some(_) => push(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes()),
                None => text.push(character),
            }
        }
        push(&mut text, chunk.invalid());
    }
    Some(text)
}

/// The name that a text stands for.
#[cfg(unix)]
pub(in crate::io) fn decode(text: &str) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes)
}

/// A name as text; `None` where the system has names that no text stands for.
#[cfg(not(unix))]
pub(in crate::io) fn encode(name: &OsStr) -> Option<String> {
    name.to_str().map(str::to_owned)
}

/// The name that a text stands for.
#[cfg(not(unix))]
pub(in crate::io) fn decode(text: &str) -> OsString {
    text.into()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn every_name_has_a_text_of_its_own() {
        let mut names: Vec<Vec<u8>> = (0..=255_u8).map(|byte| vec![b'a', byte, b'b']).collect();
        names.extend(
            [&b"words.ogive"[..], "gr\u{f6}\u{df}er".as_bytes(), "\u{f7ff}\u{f780}".as_bytes(), b"\xe2\x82"]
                .map(<[u8]>::to_vec),
        );
        let texts: Vec<String> = names.iter().map(|name| encode(OsStr::from_bytes(name)).unwrap()).collect();
        for (name, text) in names.iter().zip(&texts) {
            assert_eq!(decode(text).as_bytes(), name);
            let is_plain = std::str::from_utf8(name).is_ok_and(|name| !name.chars().any(|it| byte_of(it).is_some()));
            assert_eq!(is_plain, text.as_bytes() == name, "{text:?}");
        }
        let distinct: std::collections::BTreeSet<&String> = texts.iter().collect();
        assert_eq!(distinct.len(), texts.len());
    }
}
