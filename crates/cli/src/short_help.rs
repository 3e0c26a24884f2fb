//! The help of `-h`, which fits one screen: a clause on each option, and the first examples. `--help` has all of it.

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// Examples that `-h` shows of a command, and of one with sub-commands, whose list is longer.
const EXAMPLES_SHOWN: usize = 3;
const EXAMPLES_OF_GROUPS: usize = 2;
/// Longest text on an option. With the option before it, a line has 100 columns.
const TEXT_LENGTH_MAX: usize = 62;

/// Headings of options that `-h` leaves out.
const HEADINGS_LEFT_OUT: [&str; 5] = ["Object stores", "Right side", "Both sides", "External index", "Lookups"];
/// Options that are rarely needed, which `-h` leaves out.
const LEFT_OUT: [&str; 26] = [
    "any-order",
    "assess",
    "batch",
    "block-size",
    "delimiter",
    "exact",
    "files",
    "ignore-table-log",
    "left-delimiter",
    "left-from",
    "left-to",
    "left-type",
    "lenient",
    "no-coding",
    "no-header",
    "null",
    "partition",
    "payload",
    "quote",
    "reader-memory",
    "resident",
    "row-limit",
    "scan-all",
    "skip-bad-rows",
    "sort-memory",
    "value-type",
];

/// The same command, and its sub-commands, with a short help beside the whole one.
pub(crate) fn brief(command: Command) -> Command {
    let whole = command.get_after_help().cloned().unwrap_or_default();
    let shown = if command.has_subcommands() { EXAMPLES_OF_GROUPS } else { EXAMPLES_SHOWN };
    let short = format!("{}\n\n--help shows all options and examples.", first_examples(&whole.to_string(), shown));
    command
        .after_help(short.trim_start().to_owned())
        .after_long_help(whole)
        .mut_args(brief_argument)
        .mut_subcommands(brief)
}

/// An argument with a clause of its text for `-h`, or none.
fn brief_argument(argument: Arg) -> Arg {
    let is_left_out = argument.get_help_heading().is_some_and(|heading| HEADINGS_LEFT_OUT.contains(&heading))
        || argument.get_long().is_some_and(|name| LEFT_OUT.contains(&name));
    let argument = if is_left_out { argument.hide_short_help(true) } else { argument };
    let Some(text) = argument.get_help().map(ToString::to_string) else { return argument };
    let whole = argument.get_long_help().cloned().unwrap_or_else(|| StyledStr::from(text.clone()));
    argument.help(clause(&text).to_owned()).long_help(whole)
}

/// The first examples of a help text, with the line above them.
fn first_examples(help: &str, most: usize) -> String {
    let mut shown = Vec::new();
    let mut examples = 0;
    for line in help.lines().take_while(|line| !line.is_empty()) {
        examples += usize::from(line.starts_with("  ogive ") || line.starts_with("  cp "));
        if examples > most {
            break;
        }
        shown.push(line);
    }
    shown.join("\n")
}

/// A text, or its first clause if it is long.
fn clause(text: &str) -> &str {
    if text.len() <= TEXT_LENGTH_MAX {
        return text;
    }
    // What an option is for, as in `For a store: keyspace`, is no clause of its own.
    let begins = text.starts_with("For ") || text.starts_with("With ");
    let start = if begins { text.find(": ").map_or(0, |colon| colon + 2) } else { 0 };
    let ended = |ends: &[&str]| {
        let ends = ends.iter().filter_map(|end| text[start..].find(end));
        ends.min().map_or(text, |end| &text[..start + end])
    };
    let clause = ended(&[". ", "; ", ": ", " [default", " ("]);
    let cut = || clause.match_indices(", ").find(|(at, comma)| *at > start && !is_in_list(&clause[at + comma.len()..]));
    match clause.len() > TEXT_LENGTH_MAX {
        true => cut().map_or(clause, |(at, _)| &clause[..at]),
        false => clause,
    }
}

/// Whether what is behind a comma goes on with the list, or with the exception, before it: without it, a text would
/// say something else.
fn is_in_list(rest: &str) -> bool {
    ["or ", "and ", "except "].iter().any(|word| rest.starts_with(word) || rest.contains(&format!(", {word}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::CommandFactory;

    /// Lines and columns of a screen.
    const SCREEN_LINES: usize = 40;
    const SCREEN_COLUMNS: usize = 100;

    fn check(command: &mut Command, path: &str, long: &mut Vec<String>) {
        let help = command.render_help().to_string();
        let lines: usize = help.lines().map(|line| line.chars().count().div_ceil(SCREEN_COLUMNS).max(1)).sum();
        if lines > SCREEN_LINES {
            long.push(format!("-h of {path} has {lines} lines:\n{help}"));
        }
        for command in command.get_subcommands_mut() {
            let path = format!("{path} {}", command.get_name());
            check(command, &path, long);
        }
    }

    #[test]
    fn the_short_help_of_every_command_fits_a_screen() {
        let mut command = brief(Arguments::command());
        command.build();
        let mut long = Vec::new();
        check(&mut command, "ogive", &mut long);
        assert!(long.is_empty(), "{}", long.join("\n"));
    }

    #[test]
    fn a_list_is_not_cut_within() {
        let place = "Table, index, store, or index of Parquet files, by its path or URL";
        assert_eq!(clause(place), "Table, index, store, or index of Parquet files");
        for text in [
            "Table, external index, index, index beside Parquet files, or store to report on",
            "Replace an existing file of any kind, except inputs, files of a store or an index, and pipes",
            "Folder on the device to measure, or URL of a folder in an object store",
        ] {
            assert_eq!(clause(text), text);
        }
    }

    #[test]
    fn a_clause_ends_where_a_list_begins() {
        let text = "Type of the keys: bool, u8 to u128, i8 to i128, f32, f64, text, bytes, uuid, date";
        assert_eq!(clause(text), "Type of the keys");
        assert_eq!(clause("Memory; more is faster"), "Memory; more is faster");
        let text = "Parts of the records to print in the order in which they are written, as one line each";
        assert_eq!(clause(text), "Parts of the records to print in the order in which they are written");
    }
}
