//! Advice on unknown words of the command line, instead of the guesses of the parser: words that moved, and options
//! that other programs have.

use crate::shell::shell_line;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use std::ffi::OsString;

/// The commands that take a place of any kind.
const GENERAL: [&str; 12] =
    ["get", "scan", "count", "rank", "nth", "export", "verify", "repair", "info", "explain", "report", "stats"];

const KEYS_OF_JOINS: &str = "a join is by key: --left-key and --right-key name the columns of files; tables, indexes \
                             and stores have their keys already; --where adds conditions";
const NULLS: &str = "an empty field of CSV without quotes, \\N of TSV and null of JSON are nulls already, where the \
                     type of the column takes them: --type 'COL=u64?'";
const EXPIRY: &str = "entries do not expire; begin keys with a time, as in --key-type '(timestamp(s), text)', and \
                      remove the old ones at once: `ogive db delete STORE --to '2030-01-01T00:00:00,'`";

const WHOLE_STORE: &str =
    "this command works on the whole store; `ogive stats STORE --keyspace NAME` shows one keyspace";

/// Options that do not exist, the commands where they are written, and what to write.
const OPTIONS: [(&str, &[&str], &str); 12] = [
    ("--keyspace", &["repair", "report"], WHOLE_STORE),
    ("--on", &["join"], KEYS_OF_JOINS),
    ("--using", &["join"], KEYS_OF_JOINS),
    ("--key", &["join"], KEYS_OF_JOINS),
    ("--null", &["build", "tune", "import", "load", "join", "export"], NULLS),
    ("--nulls", &["build", "tune", "import", "load", "join", "export"], NULLS),
    ("--null-value", &["build", "tune", "import", "load", "join", "export"], NULLS),
    ("--na", &["build", "tune", "import", "load", "join", "export"], NULLS),
    ("--ttl", &["put", "import", "ingest", "build"], EXPIRY),
    ("--expire", &["put", "import", "ingest", "build"], EXPIRY),
    ("--expires", &["put", "import", "ingest", "build"], EXPIRY),
    ("--expiry", &["put", "import", "ingest", "build"], EXPIRY),
];

/// The error on a word that is no sub-command; of one that moved, with the line that does it now.
pub(crate) fn on_word(error: Error, command: &Command, words: &[OsString]) -> Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let group = words.iter().skip(1).position(|group| group == "db" || group == "index").map(|at| at + 1);
    let Some(group) = group.filter(|_| GENERAL.contains(&word.as_str())) else { return error };
    let mut line: Vec<OsString> = words[1..group].iter().chain(&words[group + 1..]).cloned().collect();
    // This was the recovery of an index in its file.
    if words[group] == "index" && word == "repair" {
        line.push("--in-place".into());
    }
    let tip = format!("`ogive {word}` takes tables, indexes and stores alike: {}", shell_line(line.into_iter()));
    advised(&error, command, tip)
}

/// The error on an option that there is not; of one that is looked for here, with what to write.
pub(crate) fn on_option(error: Error, command: &Command, words: &[OsString]) -> Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return error };
    let name = option.split('=').next().unwrap_or_default();
    // The command, and the one below it.
    let named = words.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    let named: Vec<&str> = named.take(2).collect();
    let is_written = |commands: &[&str]| named.iter().any(|word| commands.contains(word));
    match OPTIONS.iter().find(|(known, commands, _)| *known == name && is_written(commands)) {
        Some((_, _, advice)) => advised(&error, command, (*advice).to_owned()),
        None => error,
    }
}

/// The same error with this advice alone.
fn advised(error: &Error, command: &Command, tip: String) -> Error {
    let mut advised = Error::new(error.kind()).with_cmd(command);
    let is_guess = |kind| matches!(kind, ContextKind::SuggestedArg | ContextKind::SuggestedSubcommand);
    for (kind, value) in error.context().filter(|(kind, _)| !is_guess(*kind)) {
        advised.insert(kind, value.clone());
    }
    advised.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    advised
}

/// Whether an error is on a word that is no sub-command.
pub(crate) fn is_on_word(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidSubcommand
}

#[cfg(test)]
mod tests {
    use crate::args::Arguments;
    use crate::command_line::parse;
    use clap::CommandFactory;
    use std::ffi::OsString;

    fn told(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        parse(&Arguments::command(), &words).unwrap_err().to_string()
    }

    #[test]
    fn a_word_that_moved_comes_with_the_new_line() {
        for (line, new) in [
            ("ogive db get s apple --keyspace red", "ogive get s apple --keyspace red"),
            ("ogive --json db scan s --from a", "ogive --json scan s --from a"),
            ("ogive db export s a b.csv", "ogive export s a b.csv"),
            ("ogive index explain i 5", "ogive explain i 5"),
            ("ogive index stats i", "ogive stats i"),
            ("ogive index repair i --accept-loss", "ogive repair i --accept-loss --in-place"),
        ] {
            let told = told(line);
            assert!(told.contains(&format!(": {new}\n")), "{told}");
            assert!(!told.contains("similar"), "{told}");
        }
        assert!(!told("ogive db gett s").contains("alike"));
    }

    #[test]
    fn options_of_other_programs_come_with_what_does_it_here() {
        for (line, advice) in [
            ("ogive join a b -o c --on id", "--left-key and --right-key"),
            ("ogive build a.csv -o b --null NA", "--type 'COL=u64?'"),
            ("ogive db import s a.csv --null NA", "--type 'COL=u64?'"),
            ("ogive db put s a b --ttl 60", "entries do not expire"),
            ("ogive repair s --keyspace k", "works on the whole store"),
            ("ogive report s --keyspace k -o p.html", "works on the whole store"),
        ] {
            let told = told(line);
            assert!(told.contains(advice) && !told.contains("similar") && !told.contains("to pass"), "{told}");
        }
    }
}
