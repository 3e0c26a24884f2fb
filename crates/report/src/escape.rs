//! Escaping of text from files: in HTML and SVG, and in JSON within a page.

use serde::Serialize;
use std::fmt::Write;

/// Text for the content of an element or a quoted attribute.
///
/// Control characters, which HTML and XML do not allow, become U+FFFD. Characters that change the direction of text are
/// isolated by the page (`bdi`), not here.
///
/// ```
/// assert_eq!(ogive_report::escape::text("<b title='\"'>&"), "&lt;b title=&#39;&quot;&#39;&gt;&amp;");
/// ```
#[must_use]
pub fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            // XML allows neither control characters nor these two.
            _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// A document for `<script type="application/json">`: JSON without any character that could end the element, begin a
/// comment, or end a line of a script.
///
/// ```
/// let json = ogive_report::escape::json(&"</script><!-- \u{2028}");
/// assert_eq!(json, r#""\u003c/script\u003e\u003c!-- \u2028""#);
/// ```
#[must_use]
pub fn json(document: &impl Serialize) -> String {
    // Only maps with keys that are no strings fail; there are none in reports.
    let plain = serde_json::to_string(document).unwrap_or_else(|_| "null".to_owned());
    let mut escaped = String::with_capacity(plain.len());
    for letter in plain.chars() {
        match letter {
            // Within JSON these occur in strings only, where \u stands for them.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: [&str; 6] = [
        "</script><script>alert(1)</script>",
        "\"onmouseover=\"alert(1)",
        "'><img src=x onerror=alert(1)>",
        "<!--<script>",
        "\u{2028}\u{2029}\u{202e}abc\u{0}\u{7}",
        "]]>&amp;</style>",
    ];

    #[test]
    fn hostile_text_has_no_markup_left() {
        for hostile in HOSTILE {
            let escaped = text(hostile);
            assert!(!escaped.contains(['<', '>', '"', '\'', '\0', '\u{7}']), "{escaped}");
            assert!(escaped.split('&').skip(1).all(|rest| rest.contains(';')), "{escaped}");
        }
    }

    #[test]
    fn hostile_json_stays_in_its_element_and_means_the_same() {
        for hostile in HOSTILE {
            let escaped = json(&hostile);
            assert!(!escaped.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{escaped}");
            assert_eq!(serde_json::from_str::<String>(&escaped).ok().as_deref(), Some(hostile));
        }
    }
}
