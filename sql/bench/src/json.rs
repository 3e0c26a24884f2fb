//! JSON text of results, one object a line.

use std::fmt::Write;

/// A text as JSON writes it, in quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            control if control < ' ' => _ = write!(quoted, "\\u{:04x}", control as u32),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_as_json_wants_it() {
        assert_eq!(quoted("a \"b\"\n\\ \u{1}é"), "\"a \\\"b\\\"\\n\\\\ \\u0001é\"");
    }
}
