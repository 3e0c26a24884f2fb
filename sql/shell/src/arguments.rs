//! The command line: options, and the meaning of each argument.

use crate::failure::Failure;
use crate::output::{Format, RowLimit};
use crate::paths::has_table_name;
use crate::size;
use clap::Parser;
use ogive::FileFormat;
use ogive_ballista::StorageOption;
use ogive_datafusion::stores_and_keyspaces;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive-sql users.ogive                                          a shell in which `users` is a table
  ogive-sql users.ogive \"select count(*) from users\"
  ogive-sql \"select * from 'users.ogive' where id in (1, 2, 3)\" --json
  ogive-sql u=users.ogive e=events.parquet \"select u.name, e.* from u join e on u.id = e.user_id\"
  ogive-sql \"alter table 'shop#orders' add column note text\"      a column more in the keyspace 'orders' of a store
  ogive-sql report.sql                                           the statements of a file, one after the other
  ogive-sql < report.sql                                         of the standard input
  ogive-sql --cluster localhost:50050 users.ogive \"select count(*) from users\"
  ogive-sql cluster demo [STORE]                                 a cluster on this machine, which loses an executor

An argument is a table (a path or URL that ends in .ogive, .parquet, .csv or .json, or NAME=PATH), a statement (it holds
a space, or begins with a word of SQL), or a file of statements. Tables have the names of their files. Statements may
also name a table by its path or URL in quotes. Without statements, ogive-sql reads them from a terminal or from the
standard input.";

/// Runs SQL over Ogive tables, Parquet, CSV and JSON files.
#[derive(Debug, Parser)]
#[command(name = "ogive-sql", version, about, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Statements to run, separated by semicolons; they run before those of other arguments
    #[arg(short, long, value_name = "SQL")]
    pub(crate) command: Vec<String>,
    /// Tables, statements, and files of statements
    #[arg(value_name = "TABLE|SQL|FILE")]
    pub(crate) inputs: Vec<String>,
    /// How rows are printed; CSV and JSON as rows come, and nulls are empty in CSV, as empty texts are [default: table]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Print rows as JSON, one object a line: --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Rows of a table that are printed, or `all` [default: 40 on a terminal, else all]
    #[arg(long, value_name = "ROWS")]
    pub(crate) max_rows: Option<RowLimit>,
    /// Memory for sorts, joins and aggregations, such as 300MB; beyond it they use temporary files [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = size::memory)]
    pub(crate) memory: Option<usize>,
    /// Partitions of a scan: threads that work on a query [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = parse_partitions)]
    pub(crate) partitions: Option<NonZeroUsize>,
    /// Run queries in the cluster of the scheduler at this address, instead of in this process
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "memory")]
    pub(crate) cluster: Option<String>,
    /// Option of the object stores behind URLs, such as region=eu-west-1; may be repeated [default: the environment's].
    /// Executors of a cluster have their own
    #[arg(long = "storage-option", value_name = "KEY=VALUE")]
    pub(crate) storage_options: Vec<StorageOption>,
    /// Print rows and time of each statement to standard error
    #[arg(long)]
    pub(crate) timing: bool,
    /// Write a page with the plan of the last query and what each operator did; replaces a page, and no other file
    #[arg(long, value_name = "PAGE")]
    pub(crate) picture: Option<PathBuf>,
}

/// Meaning of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A table to register.
    Table {
        /// Its name in statements.
        name: String,
        /// Its path or URL.
        path: String,
    },
    /// Statements.
    Statements(String),
    /// A file of statements.
    Script(PathBuf),
}

/// Words by which statements begin.
const BEGINNINGS: [&str; 23] = [
    "alter",
    "analyze",
    "copy",
    "create",
    "deallocate",
    "delete",
    "desc",
    "describe",
    "drop",
    "execute",
    "explain",
    "from",
    "insert",
    "prepare",
    "reset",
    "select",
    "set",
    "show",
    "table",
    "truncate",
    "update",
    "values",
    "with",
];

fn parse_partitions(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "give a number of at least 1".to_owned())
}

impl Arguments {
    /// The format of rows.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format.unwrap_or(Format::Table) }
    }
}

/// Tells what an argument is.
///
/// # Errors
/// [`Failure::Refused`] for one that is neither a table, a statement nor a file.
pub(crate) fn input(argument: &str) -> Result<Input, Failure> {
    let path = Path::new(argument);
    if path.is_dir() || path.is_file() && (has_table_name(argument) || is_of_ogive(path)) {
        return table(argument, argument);
    }
    // A keyspace of a store is named by itself.
    if let Some((_, keyspace)) = stores_and_keyspaces(argument).find(|(store, _)| Path::new(store).is_dir()) {
        return Ok(Input::Table { name: keyspace.to_lowercase(), path: argument.to_owned() });
    }
    if path.is_file() {
        return Ok(Input::Script(path.to_path_buf()));
    }
    if is_statement(argument) {
        return Ok(Input::Statements(argument.to_owned()));
    }
    match argument.split_once('=') {
        Some((name, path)) if is_name(name) => {
            return Ok(Input::Table { name: name.to_lowercase(), path: path.into() });
        }
        _ => {}
    }
    if argument.contains("://") || has_table_name(argument) {
        return table(argument, argument);
    }
    Err(Failure::refused(
        format!("'{argument}' is no file, no table and no statement"),
        "check the path, or put a statement in quotes, such as \"select 1\"",
    ))
}

/// Whether a file is a table or an index, whatever its name.
fn is_of_ogive(path: &Path) -> bool {
    matches!(FileFormat::at(path), Ok(Some(FileFormat::Table | FileFormat::PageFile)))
}

fn is_statement(argument: &str) -> bool {
    let trimmed = argument.trim();
    let begin = trimmed.trim_start_matches('(');
    let first = begin.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_url = trimmed.split_once("://").is_some_and(|(scheme, _)| is_name(scheme));
    trimmed.contains(char::is_whitespace) && !is_url
        || BEGINNINGS.contains(&first.to_ascii_lowercase().as_str()) && !has_table_name(trimmed)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// A table named by the stem of its path. SQL turns names without quotes into small letters, so the name has these.
fn table(argument: &str, path: &str) -> Result<Input, Failure> {
    let without_query = path.split(['?', '#']).next().unwrap_or(path);
    let file = without_query.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if stem.is_empty() {
        return Err(Failure::refused(format!("'{argument}' has no name for a table"), "use NAME=PATH"));
    }
    Ok(Input::Table { name: stem.to_lowercase(), path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, path: &str) -> Input {
        Input::Table { name: name.into(), path: path.into() }
    }

    #[test]
    fn arguments_are_tables_statements_or_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for name in ["Users.ogive", "run me.sql", "select.csv"] {
            std::fs::write(path(name), "").unwrap();
        }
        let read = |argument: &str| input(argument).unwrap();
        assert_eq!(read(&path("Users.ogive")), named("users", &path("Users.ogive")));
        assert_eq!(read(&path("run me.sql")), Input::Script(path("run me.sql").into()));
        assert_eq!(read(&path("select.csv")), named("select", &path("select.csv")));
        assert_eq!(read("s3://bucket/a/t.ogive?x=1.2"), named("t", "s3://bucket/a/t.ogive?x=1.2"));
        assert_eq!(read("U=absent.ogive"), named("u", "absent.ogive"));
        std::fs::create_dir(path("shop")).unwrap();
        assert_eq!(read(&path("shop#Orders")), named("orders", &path("shop#Orders")));
        assert_eq!(read("absent.parquet"), named("absent", "absent.parquet"));
        for statement in ["select 1", "SELECT(1)", "show tables", "(select 1)", "with a as (select 1) table a"] {
            assert_eq!(read(statement), Input::Statements(statement.into()), "{statement}");
        }
        assert!(input("absent").is_err() && input("absent.txt").is_err());
    }

    #[test]
    fn a_statement_that_names_a_url_is_no_table() {
        let statement = "select * from 's3://bucket/t.ogive'";
        assert_eq!(input(statement).unwrap(), Input::Statements(statement.into()));
        assert_eq!(input("s3://bucket/a b.ogive").unwrap(), named("a b", "s3://bucket/a b.ogive"));
    }
}
