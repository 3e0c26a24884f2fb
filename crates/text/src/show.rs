//! Values and counts as messages show them.

use ogive::KeyType;
use std::borrow::Cow;

/// Text without control characters is unchanged. Otherwise control characters, backslashes and invalid UTF-8 become
/// `\n`, `\\` or `\x9f`.
#[must_use]
pub fn escaped(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => Cow::Borrowed(text),
        _ => Cow::Owned(KeyType::Bytes.display(bytes)),
    }
}

/// A value of an input, shortened for messages.
#[must_use]
pub fn shortened(written: &[u8]) -> String {
    let shown = escaped(written);
    match shown.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &shown[..end]),
        None => shown.into_owned(),
    }
}
