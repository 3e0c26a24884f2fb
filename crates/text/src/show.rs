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

/// A count with thousands separators: 1,234,567.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 block`, `2 blocks`, `2 entries`.
#[must_use]
pub fn counted(count: u64, what: &str) -> String {
    let count_shown = grouped(count);
    match what.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        _ if count == 1 => format!("{count_shown} {what}"),
        Some(stem) => format!("{count_shown} {stem}ies"),
        None => format!("{count_shown} {what}s"),
    }
}

/// The first records of many, and the verb that goes with them: `the first 2 rows are`, `the first row is`.
#[must_use]
pub fn the_first(count: u64, what: &str) -> String {
    match count {
        1 => format!("the first {what} is"),
        count => format!("the first {} are", counted(count, what)),
    }
}
