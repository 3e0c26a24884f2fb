//! Advice on unknown words of the command line, instead of the guesses of the parser: words that moved, and options
//! that other programs have.

use crate::shell::{program_name, shell_line, under_own_name};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use ogive_terminal::closest;
use std::ffi::{OsStr, OsString};

/// The commands that take a place of any kind.
const GENERAL: [&str; 12] =
    ["get", "scan", "count", "rank", "nth", "export", "verify", "repair", "info", "explain", "report", "stats"];

const KEYS_OF_JOINS: &str = "--on COL, or --on LEFT=RIGHT, says which columns are compared; tables, indexes and stores \
                             have their keys already; --where adds conditions";
const NULLS: &str = "an empty field of CSV without quotes, \\N of TSV and null of JSON are nulls already, where the \
                     type of the column takes them: --type 'COL=u64?'; --null TEXT names another text of CSV and TSV";
const EXPIRY_OF_RECORD: &str = "--ttl TIME and --expires-at TIME let a record expire";
const EXPIRY_OF_KEYSPACE: &str = "records of a keyspace expire by its rule: `ogive db alter STORE KEYSPACE \
                                  --expire-after 30d`, or --expire-at FIELD, then import; tables do not expire";

const WHOLE_STORE: &str =
    "this command works on the whole store; `ogive stats STORE --keyspace NAME` shows one keyspace";
const RANGES: &str = "--from KEY begins a range at a key, and --to KEY ends it before one";
const REVERSE: &str = "--reverse prints the entries in reverse order";
const EXPORTS_IN_ORDER: &str = "records are exported in key order; `ogive scan --reverse` prints them in reverse";
const EXPORTS_WHOLE: &str = "--from KEY and --to KEY export a range; `ogive scan --limit N` prints the first records";
const FORMAT_BY_NAME: &str =
    "the name of the output says its format, as rows.csv does; - is CSV, with --json JSON lines";
const OTHER_FORMATS: &str = "--json prints JSON lines; `ogive export PLACE OUTPUT` writes CSV, TSV, Parquet and tables";
const VERSION: &str = "-V and --version print the version";

/// Commands that take a range of keys, those that write many records, and those that print some.
const RANGED: &[&str] = &["scan", "count", "export"];
const WRITING: &[&str] = &["import", "ingest", "build"];
const PRINTING: &[&str] = &["get", "scan", "nth"];
/// The program itself, before any command.
const PROGRAM: &[&str] = &[""];

/// Options that do not exist, the commands where they are written, and what to write.
const OPTIONS: &[(&str, &[&str], &str)] = &[
    ("--start", RANGED, RANGES),
    ("--begin", RANGED, RANGES),
    ("--end", RANGED, RANGES),
    ("--until", RANGED, RANGES),
    ("--stop", RANGED, RANGES),
    ("--desc", &["scan"], REVERSE),
    ("--descending", &["scan"], REVERSE),
    ("--desc", &["export"], EXPORTS_IN_ORDER),
    ("--descending", &["export"], EXPORTS_IN_ORDER),
    ("--reverse", &["export"], EXPORTS_IN_ORDER),
    ("--limit", &["export"], EXPORTS_WHOLE),
    ("--format", &["export"], FORMAT_BY_NAME),
    ("--format", PRINTING, OTHER_FORMATS),
    ("-v", PROGRAM, VERSION),
    ("--keyspace", &["repair", "report"], WHOLE_STORE),
    ("--using", &["join"], KEYS_OF_JOINS),
    ("--key", &["join"], KEYS_OF_JOINS),
    ("--null", &["export"], NULLS),
    ("--nulls", &["build", "tune", "import", "load", "join", "export"], NULLS),
    ("--null-value", &["build", "tune", "import", "load", "join", "export"], NULLS),
    ("--na", &["build", "tune", "import", "load", "join", "export"], NULLS),
    ("--expire", &["put"], EXPIRY_OF_RECORD),
    ("--expires", &["put"], EXPIRY_OF_RECORD),
    ("--expiry", &["put"], EXPIRY_OF_RECORD),
    ("--ttl", WRITING, EXPIRY_OF_KEYSPACE),
    ("--expire", WRITING, EXPIRY_OF_KEYSPACE),
    ("--expires", WRITING, EXPIRY_OF_KEYSPACE),
    ("--expiry", WRITING, EXPIRY_OF_KEYSPACE),
];

/// The error on a word that is no sub-command; of one that moved, with the line that does it now.
pub(crate) fn on_word(error: Error, command: &Command, words: &[OsString]) -> Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let group = words.iter().skip(1).position(|group| group == "db" || group == "index").map(|at| at + 1);
    let Some(group) = group.filter(|_| GENERAL.contains(&word.as_str())) else { return error };
    let mut line: Vec<OsString> = words[1..group].iter().chain(&words[group + 1..]).cloned().collect();
    // This was the recovery of an index in its file; with a new file, it is one of the general command.
    if words[group] == "index" && word == "repair" && !words.iter().any(is_output) {
        line.push("--in-place".into());
    }
    let tip = format!("`ogive {word}` takes tables, indexes and stores alike: {}", shell_line(line.into_iter()));
    advised(&error, command, tip)
}

/// Whether a word is the option of an output file.
fn is_output(word: &OsString) -> bool {
    let word = word.to_string_lossy();
    word.starts_with("--output") || word.starts_with("-o")
}

/// The error on an option that there is not: with what to write instead, if it is looked for here; or with the option
/// that is close to it, or how to write it as a key, where there is such an option or a key.
pub(crate) fn on_option(error: Error, command: &Command, words: &[OsString]) -> Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return error };
    let option = option.clone();
    let name = option.split('=').next().unwrap_or_default();
    let mut command = command.clone();
    command.build();
    let (path, own) = innermost(&command, words);
    let is_written = |commands: &[&str]| match &path[..] {
        [] => commands == PROGRAM,
        path => path.iter().any(|word| commands.contains(word)),
    };
    if let Some((_, _, advice)) = OPTIONS.iter().find(|(known, commands, _)| *known == name && is_written(commands)) {
        return advised(&error, own, (*advice).to_owned());
    }
    if is_close_guess(&error, name) {
        return error;
    }
    let is_short = has_one_hyphen(OsStr::new(&option));
    if is_short && own.get_positionals().any(Arg::is_allow_negative_numbers_set) {
        return advised(&error, own, format!("to pass '{option}' as a key or value, put `--` before it: -- {option}"));
    }
    let help = std::iter::once(program_name()).chain(path).collect::<Vec<_>>().join(" ");
    advised(&error, own, format!("`{help} --help` lists the options"))
}

/// The names of the sub-commands that these words are, and the last of them.
fn innermost<'a>(program: &'a Command, words: &[OsString]) -> (Vec<&'a str>, &'a Command) {
    let (mut path, mut command) = (Vec::new(), program);
    for word in words.iter().skip(1) {
        if let Some(below) = command.find_subcommand(word) {
            path.push(below.get_name());
            command = below;
        }
    }
    (path, command)
}

/// Whether the parser guesses an option that is as close to the unknown one as a mistyped one.
fn is_close_guess(error: &Error, name: &str) -> bool {
    let Some(ContextValue::String(guess)) = error.get(ContextKind::SuggestedArg) else { return false };
    let guess = guess.split([' ', '=']).next().unwrap_or_default().trim_start_matches('-');
    !closest(name.trim_start_matches('-'), std::iter::once(guess)).is_empty()
}

/// Whether a word is a hyphen with other characters behind it.
pub(crate) fn has_one_hyphen(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.len() > 1 && bytes[0] == b'-' && bytes[1] != b'-'
}

/// The same error with this advice alone, and the usage of the command, which a guess may be a part of.
fn advised(error: &Error, command: &Command, tip: String) -> Error {
    let mut advised = Error::new(error.kind()).with_cmd(command);
    let is_guess = |kind| matches!(kind, ContextKind::SuggestedArg | ContextKind::SuggestedSubcommand);
    for (kind, value) in error.context().filter(|(kind, _)| !is_guess(*kind)) {
        advised.insert(kind, value.clone());
    }
    if error.get(ContextKind::SuggestedArg).is_some() {
        let usage = command.clone().render_usage();
        advised.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    let tip = under_own_name(&tip).into_owned();
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
    use clap::{Arg, CommandFactory};
    use std::ffi::OsString;
    use std::path::Path;

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
            ("ogive index repair i -o n", "ogive repair i -o n"),
            ("ogive index repair i --output=n", "ogive repair i --output=n"),
        ] {
            let told = told(line);
            assert!(told.contains(&format!(": {new}\n")), "{told}");
            assert!(!told.contains("similar"), "{told}");
        }
        assert!(!told("ogive db gett s").contains("alike"));
    }

    #[test]
    fn a_guess_is_made_only_of_what_is_close() {
        for (line, advice) in [
            ("ogive scan t --start 5", "--from KEY begins"),
            ("ogive scan t --desc", "--reverse prints"),
            ("ogive scan t --format csv", "`ogive export PLACE OUTPUT`"),
            ("ogive export t x.csv --reverse", "`ogive scan --reverse`"),
            ("ogive export t x.csv --format csv", "the name of the output"),
            ("ogive -v", "-V and --version"),
            ("ogive export t x.csv -v", "`ogive export --help`"),
            ("ogive db keyspaces s --keyspace k", "`ogive db keyspaces --help`"),
            ("ogive get t --explian 5", "'--explain'"),
            ("ogive get t -word", "-- -word"),
        ] {
            let told = told(line);
            assert!(told.contains(advice), "{told}");
            let tips = told.lines().filter(|line| line.contains("tip:")).count();
            assert!(tips == 1 && !told.contains("as a value") && !told.contains("<KEY=VALUE>"), "{told}");
        }
    }

    #[test]
    fn options_of_other_programs_come_with_what_does_it_here() {
        for (line, advice) in [
            ("ogive join a b -o c --using id", "--on COL"),
            ("ogive build a.csv -o b --na NA", "--null TEXT"),
            ("ogive db import s a.csv --nulls NA", "--type 'COL=u64?'"),
            ("ogive db put s a b --expires 60", "--ttl TIME"),
            ("ogive db import s a.csv --ttl 60", "--expire-after 30d"),
            ("ogive repair s --keyspace k", "works on the whole store"),
            ("ogive report s --keyspace k -o p.html", "works on the whole store"),
        ] {
            let told = told(line);
            assert!(told.contains(advice) && !told.contains("similar") && !told.contains("to pass"), "{told}");
        }
    }

    /// The source of the command in a folder and below it, with each text on one line.
    fn sources(folder: &Path) -> String {
        let mut text = String::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => text.push_str(&sources(&path)),
                false => text.push_str(&std::fs::read_to_string(path).unwrap()),
            }
        }
        let mut lines = text.split("\\\n");
        let first = lines.next().unwrap_or_default().to_owned();
        lines.fold(first, |text, line| text + line.trim_start())
    }

    #[test]
    fn lines_that_are_advised_have_flags_of_their_commands() {
        let mut program = Arguments::command();
        program.build();
        let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
        let mut flags = 0;
        for advised in sources.split(['`', '\n', '|']).filter_map(|part| part.trim_start().strip_prefix("ogive ")) {
            let (mut command, mut words) = (&program, advised.split([' ', ';', ',', ')']).peekable());
            while let Some(inner) = words.peek().and_then(|word| command.find_subcommand(word)) {
                (command, _) = (inner, words.next());
            }
            for flag in words.filter_map(|word| word.strip_prefix("--")).filter(|flag| !flag.is_empty()) {
                let flag = flag.split(['=', '\'', '"', '.', '\\']).next().unwrap_or_default();
                let is_own = |argument: &Arg| {
                    argument.get_long() == Some(flag)
                        || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&flag))
                };
                assert!(command.get_arguments().any(is_own), "`ogive {advised}`: --{flag}");
                flags += 1;
            }
        }
        assert!(flags > 100, "{flags}");
    }
}
