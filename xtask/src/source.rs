//! The files of the repository, and Rust text without its comments and strings.

use crate::Failure;
use std::path::Path;
use std::process::Command;

/// One Rust file.
pub(crate) struct Source {
    /// Path from the root of the repository, with `/` between its parts.
    pub(crate) path: String,
    /// The file as it is.
    pub(crate) text: String,
    /// The same, line for line and column for column, with blanks where comments, strings and characters were.
    pub(crate) code: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned(), code: code_only(text) }
    }
}

/// Paths of all files that are part of the project, sorted: tracked ones, and new ones that git does not ignore.
pub(crate) fn project_files(root: &Path) -> Result<Vec<String>, Failure> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| Failure::Check(format!("cannot start git: {error}; install it and try again")))?;
    if !listed.status.success() {
        let said = String::from_utf8_lossy(&listed.stderr);
        return Err(Failure::Check(format!(
            "git cannot list the files ({}); run in a clone of the repository",
            said.trim()
        )));
    }
    let names = String::from_utf8_lossy(&listed.stdout);
    // A tracked file that was just deleted is still listed.
    let mut paths: Vec<String> =
        names.split('\0').filter(|path| root.join(path).is_file()).map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// All Rust files of the project.
pub(crate) fn rust_sources(root: &Path) -> Result<Vec<Source>, Failure> {
    let paths = project_files(root)?.into_iter().filter(|path| path.ends_with(".rs"));
    paths.map(|path| Ok(Source::new(&path, &read_text(root, &path)?))).collect()
}

/// Content of a text file of the project.
pub(crate) fn read_text(root: &Path, path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(root.join(path)).map_err(|error| Failure::Check(format!("cannot read {path}: {error}")))
}

/// Number of the line, counted from 1, that holds byte `offset`.
pub(crate) fn line_number(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Whether a byte can be part of an identifier.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Rust text with every comment, string and character literal blanked out; all line breaks stay.
fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        match end_of_quoted(&bytes[at..]) {
            Some(length) => {
                code[at..at + length].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
                at += length;
            }
            None => at += 1,
        }
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// Length of the comment or literal that starts `rest`, if one does.
fn end_of_quoted(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'/', b'/', ..] => Some(find(rest, b"\n").unwrap_or(rest.len())),
        [b'/', b'*', ..] => Some(block_comment(rest)),
        [b'"', ..] => Some(string(rest)),
        [b'r', b'"' | b'#', ..] => raw_string(rest),
        [b'\'', b'\\', escaped, ..] => {
            let from = 2 + usize::from(*escaped == b'\'' || *escaped == b'\\');
            Some(find(&rest[from..], b"'").map_or(rest.len(), |end| from + end + 1))
        }
        // A character, unless it is a lifetime. A character has at most four bytes.
        [b'\'', first, ..] => {
            let width = 1 + rest[2..]
                .iter()
                .take(3)
                .take_while(|_| *first >= 0x80)
                .filter(|byte| **byte & 0xC0 == 0x80)
                .count();
            (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
        }
        _ => None,
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at + 1 < rest.len() {
        match &rest[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return at + 2,
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    let body = 2 + hashes;
    if rest.get(body - 1) != Some(&b'"') {
        return None;
    }
    let closing: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    Some(find(&rest[body..], &closing).map_or(rest.len(), |end| body + end + closing.len()))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_vanish_and_code_stays() {
        // A dot stands for a byte that is blanked out.
        let cases = [
            ("a // b\nc", "a ....\nc"),
            ("a /* b /* c */ d */ e", "a ................. e"),
            (r#"f("x\"y") + 1"#, "f(......) + 1"),
            ("r#\"a\"b\"# c", "........ c"),
            ("r#type + br\"x\"", "r#type + b...."),
            ("'\\'' '\\\\' 'x' c", ".... .... ... c"),
            ("'\\u{e9}' 'é' c", "........ .... c"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        ];
        for (text, expected) in cases {
            assert_eq!(code_only(text), expected.replace('.', " "), "{text}");
        }
    }

    #[test]
    fn an_unclosed_literal_ends_with_the_text() {
        for text in ["\"abc", "r#\"abc\"", "/* abc", "'\\", "'\\n", "\"abc\\", "'", "/"] {
            assert_eq!(code_only(text).len(), text.len(), "{text}");
        }
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!([0, 1, 2, 3].map(|offset| line_number("a\n\nb", offset)), [1, 1, 2, 3]);
    }
}
