//! Bytes as text: `\n`, `\r`, `\t` or `\xNN` for a byte that is not printable text, and `\\` for a backslash.
//!
//! Text is written so only where it must be: if it has control characters, or would be read as an escape. It is read
//! as it is unless each of its backslashes begins an escape, so that paths such as `C:\dir` stay what they are.

/// Writes bytes as text that [`unescape`] reads.
pub(super) fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                c if c.is_control() => c.to_string().bytes().for_each(|byte| text.push_str(&format!("\\x{byte:02x}"))),
                c => text.push(c),
            }
        }
        part.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// Reads bytes from text with escapes; `None` for an unknown or incomplete one.
pub(super) fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let plain = match rest.first()? {
            b'\\' => Some(b'\\'),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            _ => None,
        };
        if let Some(plain) = plain {
            bytes.push(plain);
            rest = &rest[1..];
        } else {
            // `from_str_radix` would accept a sign.
            let digits = rest.strip_prefix(b"x")?.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &rest[3..];
        }
    }
    Some(bytes)
}

/// Writes text as [`read_text`] reads it.
pub(super) fn display_text(text: &str) -> String {
    let is_plain = !text.contains(char::is_control) && read_text(text) == text;
    if is_plain { text.to_owned() } else { escape(text.as_bytes()) }
}

/// Reads text with escapes, or as it is if there is a backslash that begins none.
pub(super) fn read_text(text: &str) -> String {
    let unescaped = if text.contains('\\') { unescape(text) } else { None };
    unescaped.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| text.to_owned())
}
