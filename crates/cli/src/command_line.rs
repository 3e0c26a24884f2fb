//! Parsing of the command line, with keys that begin with a hyphen.
//!
//! A word such as `-5`, `-inf` or `-0044-03-15` is a value, and so is any word with one hyphen after an option that
//! takes a key: `--from -x`. Anything else with a hyphen must be a known flag, so that a mistyped one is never taken
//! for a key; after `--`, all words are keys or values.

use crate::hints::{self, has_one_hyphen};
use crate::short_help::brief;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, Error};
use std::ffi::{OsStr, OsString};

/// The arguments of a command that these words are; the first is the name of the program.
pub(crate) fn parse(command: &Command, words: &[OsString]) -> Result<ArgMatches, Error> {
    let error = match brief(command.clone()).try_get_matches_from(words) {
        Err(error) if error.kind() == ErrorKind::UnknownArgument => error,
        Err(error) if hints::is_on_word(&error) => return Err(hints::on_word(error, command, words)),
        outcome => return outcome,
    };
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let key_options = key_options(command);
    let is_value = |index: usize| {
        let after_option = words.get(index.wrapping_sub(1)).is_some_and(|word| key_options.contains(word));
        is_negative(&words[index]) || after_option && has_one_hyphen(&words[index])
    };
    let values: Vec<usize> = (1..end).filter(|&index| is_value(index)).collect();
    // With a digit for each of these, everything else must be right.
    let mut plain = words.to_vec();
    values.iter().for_each(|&index| plain[index] = "0".into());
    if values.is_empty() || command.clone().try_get_matches_from(&plain).is_err() {
        return Err(hints::on_option(with_word(error, &words[..end]), command, words));
    }
    with_hyphens(command.clone()).try_get_matches_from(words)
}

/// The options that take keys: those that take negative numbers.
fn key_options(command: &Command) -> Vec<OsString> {
    let own = command.get_arguments().filter(|argument| argument.is_allow_negative_numbers_set());
    let own = own.filter_map(|argument| Some(format!("--{}", argument.get_long()?).into()));
    own.chain(command.get_subcommands().flat_map(key_options)).collect()
}

/// A command whose keys and values may begin with any hyphen.
fn with_hyphens(command: Command) -> Command {
    let command = command.mut_args(|argument| {
        let takes_hyphens = argument.is_allow_negative_numbers_set();
        argument.allow_hyphen_values(takes_hyphens)
    });
    command.mut_subcommands(with_hyphens)
}

/// Whether a word is a negative number, a date before year 0, or a tuple that begins with one of these.
fn is_negative(word: &OsStr) -> bool {
    let Some(rest) = word.to_str().and_then(|word| word.strip_prefix('-')) else { return false };
    let first = rest.split(',').next().unwrap_or_default();
    let is_word = ["inf", "infinity", "nan"].iter().any(|word| first.eq_ignore_ascii_case(word));
    is_word || first.starts_with(|character: char| character.is_ascii_digit() || character == '.')
}

/// Names the whole word with one hyphen in an error, of which clap names the first letter.
fn with_word(mut error: Error, words: &[OsString]) -> Error {
    let Some(ContextValue::String(letter)) = error.get(ContextKind::InvalidArg) else { return error };
    let letter = letter.clone();
    let begins = |word: &&str| word.starts_with(&letter) && has_one_hyphen(OsStr::new(word));
    if let Some(word) = words.iter().filter_map(|word| word.to_str()).find(begins) {
        error.insert(ContextKind::InvalidArg, ContextValue::String(word.to_owned()));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::{CommandFactory, FromArgMatches};

    fn parsed(line: &str) -> Result<String, String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let arguments = parse(&Arguments::command(), &words).and_then(|matches| Arguments::from_arg_matches(&matches));
        arguments.map(|arguments| format!("{arguments:?}")).map_err(|error| error.to_string())
    }

    #[test]
    fn negative_keys_need_no_escape() {
        for (line, key) in [
            ("ogive get t -5", "-5"),
            ("ogive get t -inf", "-inf"),
            ("ogive get t -inf --explain", "-inf"),
            ("ogive get t -.5e3 --json", "-.5e3"),
            ("ogive get t -5,abc", "-5,abc"),
            ("ogive get t -0044-03-15", "-0044-03-15"),
            ("ogive db put s -Infinity v", "-Infinity"),
            ("ogive index delete i -7 --all", "-7"),
            ("ogive rank t -inf", "-inf"),
            ("ogive scan t --from -inf --to -5 --reverse", "-inf"),
            ("ogive scan s --from a --to -x", "-x"),
            ("ogive count s --prefix -x", "-x"),
            ("ogive join a b -o c --left-from -inf --right-to -1,x", "-1,x"),
            ("ogive get t -- -x", "-x"),
            ("ogive get t -- --explain", "--explain"),
            ("ogive db put s -inf -- -v", "-v"),
        ] {
            let told = parsed(line);
            assert!(told.as_ref().is_ok_and(|told| told.contains(&format!("{key:?}"))), "{line}: {told:?}");
        }
    }

    #[test]
    fn a_mistyped_flag_is_no_key() {
        for line in [
            "ogive get t --explian",
            "ogive get t -inf --explian",
            "ogive db put s --durabilty v",
            "ogive db put s -inf v --durabilty x",
            "ogive scan t --from --reverse",
            "ogive scan t --limit -5",
            "ogive get t -x",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
        assert!(parsed("ogive get t --explian -inf").unwrap_err().contains("similar argument"));
        let told = parsed("ogive get t -word --explain").unwrap_err();
        assert!(told.contains("'-word'") && told.contains("-- -word"), "{told}");
    }
}
