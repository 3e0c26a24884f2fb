//! Words of command lines, as shells take them.

use std::borrow::Cow;

/// A word as a shell takes it: in quotes if it has other characters than letters, digits and a few signs.
#[must_use]
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_asks_for_it() {
        for (word, expected) in
            [("/usr/bin/a-b.txt", "/usr/bin/a-b.txt"), ("", "''"), ("it's", "'it'\\''s'"), ("a b", "'a b'")]
        {
            assert_eq!(shell_word(word), expected);
        }
    }
}
