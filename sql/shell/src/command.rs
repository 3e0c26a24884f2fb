//! Commands of the shell: lines that begin with a backslash.

use crate::output::{Format, RowLimit};
use clap::ValueEnum;
use std::path::PathBuf;

/// The text of `\?`.
pub(crate) const HELP: &str = "\
\\d                        list tables
\\d NAME                   list the columns of a table, or of a path in quotes
\\format table|csv|json    set how rows are printed
\\rows N|all               set how many rows of a table are printed
\\picture FILE             write a page with the plan of the last query and what each operator did
\\timing                   show or hide the time of statements
\\q                        leave (also Ctrl-D)
\\?                        this list
A statement ends with a semicolon and may take several lines. Tab completes words, names of tables and columns, and
paths in quotes. Ctrl-C cancels a query and clears a statement.
INSERT INTO and COPY ... TO write rows; UPDATE and DELETE change those of a keyspace of a store. ALTER TABLE changes its
columns: ADD COLUMN c TYPE, ALTER COLUMN c TYPE t, ALTER COLUMN c DROP NOT NULL. CREATE INDEX i ON t (c, ...) makes an
index that every write keeps. BEGIN, COMMIT and ROLLBACK make one transaction of the statements between, over one
store.";

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ShellCommand {
    /// Lists tables.
    Tables,
    /// Lists the columns of a table.
    Columns(String),
    /// Shows or hides times.
    Timing,
    /// Shows or sets the format of rows.
    Format(Option<Format>),
    /// Sets how many rows of a table are printed.
    Rows(RowLimit),
    /// Writes the plan of the last query.
    Picture(PathBuf),
    /// Leaves.
    Quit,
    /// Lists commands.
    Help,
}

/// Reads a line; `None` if it is no command.
///
/// # Errors
/// A message on a command that does not exist, or is incomplete.
pub(crate) fn command(line: &str) -> Option<Result<ShellCommand, String>> {
    let line = line.trim().trim_end_matches(';').trim_end();
    if matches!(line, "quit" | "exit") {
        return Some(Ok(ShellCommand::Quit));
    }
    let (word, argument) = match line.strip_prefix('\\')?.split_once(char::is_whitespace) {
        Some((word, argument)) => (word, argument.trim()),
        None => (line.strip_prefix('\\')?, ""),
    };
    Some(match (word, argument) {
        ("d", "") => Ok(ShellCommand::Tables),
        ("d", name) => Ok(ShellCommand::Columns(name.to_owned())),
        ("timing", "") => Ok(ShellCommand::Timing),
        ("format", "") => Ok(ShellCommand::Format(None)),
        ("format", name) => Format::from_str(name, true)
            .map(|format| ShellCommand::Format(Some(format)))
            .map_err(|_| format!("'{name}' is no format; use table, csv or json")),
        ("rows", rows) => rows.parse().map(ShellCommand::Rows),
        ("picture", "") => Err("\\picture needs the name of a page to write, such as \\picture plan.html".to_owned()),
        ("picture", file) => Ok(ShellCommand::Picture(unquoted(file).into())),
        ("q", "") => Ok(ShellCommand::Quit),
        ("?" | "h" | "help", "") => Ok(ShellCommand::Help),
        _ => Err(format!("'{line}' is no command; \\? lists them")),
    })
}

/// A name without the quotes around it.
pub(crate) fn unquoted(name: &str) -> &str {
    let within = |quote: char| name.strip_prefix(quote)?.strip_suffix(quote);
    within('\'').or_else(|| within('"')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_backslash_are_commands() {
        let cases = [
            ("\\d", ShellCommand::Tables),
            (" \\d  'a b.ogive' ;", ShellCommand::Columns("'a b.ogive'".into())),
            ("\\timing", ShellCommand::Timing),
            ("\\format CSV", ShellCommand::Format(Some(Format::Csv))),
            ("\\format", ShellCommand::Format(None)),
            ("\\rows 7", ShellCommand::Rows(RowLimit(Some(7)))),
            ("\\picture 'a.html'", ShellCommand::Picture("a.html".into())),
            ("\\q", ShellCommand::Quit),
            ("exit;", ShellCommand::Quit),
            ("\\?", ShellCommand::Help),
        ];
        for (line, expected) in cases {
            assert_eq!(command(line), Some(Ok(expected)), "{line}");
        }
        assert_eq!(command("select 1"), None);
        for wrong in ["\\", "\\x", "\\q now", "\\format xml", "\\picture", "\\rows", "\\rows few"] {
            assert!(command(wrong).is_some_and(|read| read.is_err()), "{wrong}");
        }
    }
}
