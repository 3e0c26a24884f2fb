//! Command lines of this program, as a shell takes them.

use std::ffi::OsString;

/// The command line of these words, behind the name of the program.
pub(crate) fn shell_line(words: impl Iterator<Item = OsString>) -> String {
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("ogive".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
