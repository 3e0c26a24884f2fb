//! Command lines of this program, as a shell takes them, and its name in advice.

use ogive_terminal::shell_word;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

/// The name of the program, unless another one extends it.
const OWN_NAME: &str = "ogive";
/// The start of a command line in advice.
const COMMAND: &str = "`ogive ";

/// The name of a program that extends this one.
static NAME: OnceLock<&str> = OnceLock::new();

/// States the name of a program that extends this one. The first one stays.
pub(crate) fn set_program_name(name: &'static str) {
    NAME.get_or_init(|| name);
}

/// The name of the running program.
pub(crate) fn program_name() -> &'static str {
    NAME.get().copied().unwrap_or(OWN_NAME)
}

/// The command line of these words, behind the name of the program.
pub(crate) fn shell_line(words: impl Iterator<Item = OsString>) -> String {
    let words = words.map(|word| shell_word(&word.to_string_lossy()).into_owned());
    std::iter::once(program_name().to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A path as a shell takes it; without the `./` that the storage puts before a name, unless it would be another word.
pub(crate) fn shell_path(path: &Path) -> String {
    let short = path.strip_prefix(".").unwrap_or(path).to_string_lossy();
    let is_kept = short.is_empty() || short.starts_with('-');
    let shown = if is_kept && !path.as_os_str().is_empty() { path.to_string_lossy() } else { short };
    shell_word(&shown).into_owned()
}

/// Advice with the name of this program in its command lines, which are written as those of `ogive`.
pub(crate) fn under_own_name(advice: &str) -> Cow<'_, str> {
    under_name(program_name(), advice)
}

fn under_name<'a>(name: &str, advice: &'a str) -> Cow<'a, str> {
    match name == OWN_NAME {
        true => Cow::Borrowed(advice),
        false => Cow::Owned(advice.replace(COMMAND, &format!("`{name} "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        for (path, word) in [
            ("./a.ogive", "a.ogive"),
            ("my file.csv", "'my file.csv'"),
            ("a/it's", "'a/it'\\''s'"),
            (".", "."),
            ("./-x", "./-x"),
        ] {
            assert_eq!(shell_path(Path::new(path)), word);
        }
    }

    #[test]
    fn a_program_with_an_extension_advises_its_own_name() {
        let advice = "`ogive get a.ogx 5` or `ogive-research info a.ogx`; an ogive without it";
        assert_eq!(under_name("ogive", advice), advice);
        let own = "`ogive-research get a.ogx 5` or `ogive-research info a.ogx`; an ogive without it";
        assert_eq!(under_name("ogive-research", advice), own);
    }
}
