//! Layouts of JSON whose lines are no rows: an object around an array of them, and objects of several lines.

use ogive_text::BYTE_ORDER_MARK;

/// The layout of JSON that begins with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JsonLayout {
    /// One object, of which this member is an array of objects.
    Wrapped(String),
    /// Objects that take several lines.
    Spread,
}

impl JsonLayout {
    /// The layout by the first bytes, which may be cut off; `None` if each line may be an object.
    pub(super) fn of(head: &[u8], is_cut: bool) -> Option<Self> {
        let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
        if !text.starts_with(b"{") {
            return None;
        }
        let is_json = |object: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(object).is_ok();
        let wrapped = |name: &[u8]| Self::Wrapped(String::from_utf8_lossy(name).into_owned());
        match first_object(text) {
            (Some(name), None) => is_cut.then(|| wrapped(name)),
            (None, None) => None,
            (name, Some(end)) => {
                let (object, rest) = text.split_at_checked(end)?;
                let is_line = !object.contains(&b'\n');
                let is_alone = rest.trim_ascii().is_empty();
                match name {
                    _ if (is_line && !is_alone) || !is_json(object) => None,
                    Some(name) if is_alone => Some(wrapped(name)),
                    _ => (!is_line).then_some(Self::Spread),
                }
            }
        }
    }

    /// What it is, and the line of shell that makes an input of it.
    pub(super) fn told(&self) -> (String, String) {
        match self {
            Self::Wrapped(name) => {
                let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                    && name.starts_with(|letter: char| !letter.is_ascii_digit());
                let place =
                    if is_plain { format!(".{name}") } else { format!(".[\"{}\"]", name.replace('\'', "'\\''")) };
                let what = format!("is one object of JSON, whose member '{name}' is an array of objects");
                (what, format!("take those out, as in `jq -c '{place}[]' FILE | ogive build - -o TABLE`"))
            }
            Self::Spread => (
                "is JSON whose objects take several lines".into(),
                "write each on a line, as in `jq -c . FILE | ogive build - -o TABLE`".into(),
            ),
        }
    }
}

/// The name of the first member of the first object that is an array of objects, and where the object ends.
fn first_object(text: &[u8]) -> (Option<&[u8]>, Option<usize>) {
    let (mut nesting, mut start, mut last, mut rows) = (Nesting::default(), 0, &text[..0], None);
    for (at, &byte) in text.iter().enumerate() {
        let (depth, is_string) = (nesting.depth, nesting.is_string);
        let has_ended = nesting.ends_with(byte);
        let behind = &text[at + 1..];
        match (depth, is_string, byte) {
            (1, false, b'"') => start = at + 1,
            (1, true, b'"') if !nesting.is_string => last = &text[start..at],
            (1, false, b'[') if behind.trim_ascii_start().starts_with(b"{") => rows = rows.or(Some(last)),
            _ => {}
        }
        if has_ended {
            return (rows, Some(at + 1));
        }
    }
    (rows, None)
}

/// Where a value of JSON ends.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    depth: u64,
    is_string: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Whether a value that is no object ends before this byte.
    pub(super) fn ends_before(&self, byte: u8) -> bool {
        self.depth == 0 && !self.is_string && matches!(byte, b',' | b']')
    }

    /// Takes a byte; returns whether it ends an object or an array.
    pub(super) fn ends_with(&mut self, byte: u8) -> bool {
        if self.is_string {
            self.is_string = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            return false;
        }
        match byte {
            b'"' => self.is_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_objects_are_told_from_one_object_around_them() {
        let wrapped = |name: &str| Some(JsonLayout::Wrapped(name.to_owned()));
        for (text, is_cut, layout) in [
            ("{\"rows\":[{\"a\":1}]}", false, wrapped("rows")),
            ("\u{feff}{\n \"n\": \"]}\\\"{\",\n \"the rows\": [\n {\"a\": 1}\n ]\n}\n", false, wrapped("the rows")),
            ("{\"type\":\"x\",\"features\":[{\"a\":1},{\"a\"", true, wrapped("features")),
            ("{\n \"a\": 1\n}\n{\n \"a\": 2\n}\n", false, Some(JsonLayout::Spread)),
            ("{\n \"a\": 1\n}\n", false, Some(JsonLayout::Spread)),
            // Lines, of which some may be bad.
            ("{\"a\":[{\"b\":1}]}\n{\"a\":[{\"b\":2}]}\n", false, None),
            ("{\"a\":1}\n", false, None),
            ("{\"a\":[1]}", false, None),
            ("{\"a\":1\n{\"a\":2}\n", false, None),
            ("{\"a\":[{\"b\":1}\n", false, None),
            ("[{\"a\":1}]", false, None),
            ("{\"a\":1,", true, None),
        ] {
            assert_eq!(JsonLayout::of(text.as_bytes(), is_cut), layout, "{text}");
        }
        assert!(JsonLayout::Wrapped("a b".into()).told().1.contains(r#"jq -c '.["a b"][]' FILE"#));
    }
}
