//! Errors of the command: one line that says what failed, where, and what to do.

use crate::names::WORDS;
use crate::paths::has_table_name;
use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::parser::ParserError;
use ogive::io::locate_folder;
use ogive_ballista::{error_of_job, is_layer, is_lost_connection, plain_message};
use std::io;
use std::path::Path;

/// The exit code of commands that were interrupted: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

/// Result of the command or a part of it.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error that stops a statement or the command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// DataFusion, or a table that it reads, refuses or fails.
    Query(DataFusionError),
    /// A request that the command refuses, and the alternative.
    Refused {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
    /// A name or word that is unknown, and the known one that differs by a typing error.
    Mistyped {
        /// What is wrong.
        message: String,
        /// The known one.
        meant: String,
    },
    /// A file of the command itself cannot be used.
    File {
        /// A verb: "read", "write".
        action: &'static str,
        /// The file, as given.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The terminal cannot be read.
    Terminal(rustyline::error::ReadlineError),
    /// A failed write to standard output, perhaps since its reader has left.
    Output(io::Error),
    /// Ctrl-C.
    Interrupted,
    /// A failure with its place among the statements.
    At {
        /// File and line.
        place: String,
        /// The failure.
        failure: Box<Failure>,
    },
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        Self::Query(error)
    }
}

impl Failure {
    /// A [`Failure::Refused`].
    pub(crate) fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), hint: hint.into() }
    }

    /// Adds the table that was meant, if one of the session has nearly the name of one that is not there.
    pub(crate) fn among(self, context: &SessionContext) -> Self {
        let Self::Query(error) = &self else { return self };
        let line = message(error);
        let Some(name) =
            line.strip_prefix("table 'datafusion.public.").and_then(|rest| rest.strip_suffix("' not found"))
        else {
            return self;
        };
        let state = context.state();
        let names = state.schema_for_ref(name).map(|schema| schema.table_names()).unwrap_or_default();
        match similar(name, names.iter().map(String::as_str)) {
            Some(meant) => Self::Mistyped { message: format!("there is no table '{name}'"), meant: meant.to_owned() },
            None => self,
        }
    }

    /// Adds the word of SQL that was meant, if the parser stopped at nearly one.
    pub(crate) fn with_word_meant(self) -> Self {
        let line = self.line();
        let found = line.split_once(", found: ").and_then(|(_, rest)| rest.split_whitespace().next());
        match found.and_then(|found| similar(&found.to_lowercase(), WORDS.iter().copied())) {
            Some(meant) => Self::Mistyped { message: line, meant: meant.to_owned() },
            None => self,
        }
    }

    /// Adds the place of the statement.
    pub(crate) fn at(self, place: Option<String>) -> Self {
        match place {
            Some(place) if !self.is_closed_pipe() => Self::At { place, failure: Box::new(self) },
            _ => self,
        }
    }

    /// Whether the reader of standard output has left, as `head` does: no error.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code: 0 for a closed pipe, 130 for an interrupt as in shells, 2 for wrong usage, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::At { failure, .. } => failure.exit_code(),
            Self::Interrupted => INTERRUPTED,
            Self::Refused { .. } => 2,
            failure => u8::from(!failure.is_closed_pipe()),
        }
    }

    /// The error in one line.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Query(error) => of_query(error),
            Self::Refused { message, hint } => format!("{message}; {hint}"),
            Self::Mistyped { message, meant } => format!("{message}; did you mean '{meant}'?"),
            Self::File { action, path, source } => format!("cannot {action} {path}: {source}{}", advice(source)),
            Self::Terminal(error) => format!("cannot read the terminal: {error}; use -c or a file of statements"),
            Self::Output(error) => format!("cannot write to standard output: {error}{}", advice(error)),
            Self::Interrupted => "interrupted".to_owned(),
            Self::At { place, failure } => format!("{place}: {}", failure.line()),
        }
    }
}

/// The name that is most like one that is none of them, if it differs by a typing error: one letter, two in a long
/// name, or the order of two.
fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LONG: usize = 7;
    const SHORT: usize = 3;
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let distances = known.filter(|_| name.len() > SHORT).map(|known| (levenshtein(name, known), known));
    let near = distances.filter(|(distance, known)| match distance {
        1 => true,
        2 => name.len() >= LONG || letters(name) == letters(known),
        _ => false,
    });
    near.min().map(|(_, known)| known)
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; check the path",
        io::ErrorKind::PermissionDenied => "; check the permissions",
        io::ErrorKind::StorageFull => "; free some space, then try again",
        io::ErrorKind::InvalidData => "; statements are text in UTF-8, and names of tables end in .ogive or .parquet",
        _ => "",
    }
}

/// The error of a query whose scheduler, or an executor with rows of it, is gone.
const LOST_CONNECTION: &str = "the connection to the cluster is lost: its scheduler, or an executor with rows of the \
                               query, has ended or does not answer; see whether they run, and ask again";

/// The message of a query's error without the names of layers that it passed, and with advice.
fn of_query(error: &DataFusionError) -> String {
    if is_lost_connection(error) {
        return LOST_CONNECTION.to_owned();
    }
    let of_job = error_of_job(error);
    let error = of_job.as_ref().unwrap_or(error);
    let message = message(error);
    let message = message.split(DataFusionError::BACK_TRACE_SEP).next().unwrap_or_default();
    let words: Vec<&str> = message.split_whitespace().collect();
    let line = words.join(" ");
    // Before this sentence stand the same types for each candidate, as an internal error.
    let line = line.find("No function matches the given name").map_or(line.as_str(), |at| &line[at..]);
    let line = line.trim_end_matches(['.', ';']);
    match hint(error, line, of_job.is_some()) {
        Some(hint) => format!("{line}; {hint}"),
        None => line.to_owned(),
    }
}

fn message(error: &DataFusionError) -> String {
    match error {
        DataFusionError::SQL(error, _) => match error.as_ref() {
            ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
                format!("cannot parse: {message}")
            }
            ParserError::RecursionLimitExceeded => "the statement is nested too deeply".to_owned(),
        },
        DataFusionError::Plan(message) | DataFusionError::Execution(message) => plain_message(message),
        DataFusionError::SchemaError(error, _) => error.to_string(),
        DataFusionError::External(error) => match error.downcast_ref::<DataFusionError>() {
            Some(inner) => self::message(inner),
            None => error.to_string(),
        },
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::ExternalError(error) => match error.downcast_ref::<DataFusionError>() {
                Some(inner) => self::message(inner),
                None => error.to_string(),
            },
            error => plain_message(&error.to_string()),
        },
        DataFusionError::NotImplemented(message) => format!("not implemented: {message}"),
        DataFusionError::Internal(message) => match plain_message(message) {
            plain if plain == *message => format!("internal error: {message}"),
            plain => plain,
        },
        DataFusionError::ResourcesExhausted(message) => format!("not enough memory: {message}"),
        DataFusionError::Diagnostic(_, inner) => self::message(inner),
        DataFusionError::Shared(inner) => self::message(inner),
        DataFusionError::Context(context, inner) if is_layer(context) => self::message(inner),
        DataFusionError::Context(context, inner) => format!("{context}: {}", self::message(inner)),
        DataFusionError::Collection(errors) => errors.iter().map(self::message).collect::<Vec<_>>().join("; "),
        other => plain_message(&other.to_string()),
    }
}

/// Advice by how a message begins, where DataFusion gives none.
const ADVICE: [(&str, &str); 9] = [
    ("cannot cast", "use try_cast for a null instead, or another constant"),
    ("error parsing", "use try_cast for a null instead, or another constant"),
    ("ambiguous reference", "name the table before it, as in t.column"),
    ("divide by zero", "use nullif(x, 0) for the divisor"),
    ("unable to find factory for", "tables are STORED AS OGIVE, PARQUET, CSV, JSON, ARROW or AVRO"),
    ("there is no registered file format", "add STORED AS OGIVE, PARQUET, CSV or JSON, or such a suffix to the name"),
    ("inconsistent data length across values list", "give a value for each column, or name the columns: (a, b) values"),
    ("schema contains qualified field name", "rename one of the two columns by AS"),
    ("error, encoded message length too large", "write the constants of the statement to a table, and join that"),
];

/// Advice that DataFusion does not give.
fn hint(error: &DataFusionError, line: &str, is_of_cluster: bool) -> Option<String> {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) if is_of_cluster => {
            return Some("raise --memory-limit of the executors, or lower their --vcores".to_owned());
        }
        DataFusionError::ResourcesExhausted(_) => {
            return Some(
                "raise --memory, lower --partitions, or print by --format csv, which keeps no rows".to_owned(),
            );
        }
        DataFusionError::SchemaError(error, _) => {
            if let SchemaError::FieldNotFound { valid_fields, .. } = error.as_ref() {
                return Some(match valid_fields.is_empty() {
                    true => "there is no table here to take it from; quote text by '...'".to_owned(),
                    false => "text is written in '...', and \"...\" are names".to_owned(),
                });
            }
        }
        _ => {}
    }
    let small = line.to_lowercase();
    let begins = |text: &str| small.starts_with(text);
    if line.ends_with("found: \\ at Line: 1, Column: 1") {
        return Some("commands with a backslash are of the interactive shell; use `show tables` or `describe`".into());
    }
    let advice = ADVICE.iter().find(|(text, _)| begins(text)).map(|(_, advice)| (*advice).to_owned());
    advice.or_else(|| absent_table(line))
}

/// Advice on a table that does not exist: DataFusion names it with catalog and schema.
fn absent_table(line: &str) -> Option<String> {
    let name = line.strip_prefix("table '")?.strip_suffix("' not found")?;
    // A name without quotes takes the place of the schema when it holds a dot.
    let bare = name.strip_prefix("datafusion.public.");
    let path = bare.or_else(|| name.strip_prefix("datafusion.")).unwrap_or(name);
    let is_path = has_table_name(path) || path.contains(['/', '\\']);
    Some(match (is_path, bare.is_some()) {
        (true, false) => format!("quote paths: '{path}'"),
        (true, true) if path.contains("://") => of_url(path),
        (_, true) if Path::new(path).is_dir() => {
            "the folder has no table of Ogive, no store, and no file that can be read".to_owned()
        }
        (true, true) if Path::new(path).exists() => "its format is not known, or it cannot be read".to_owned(),
        (true, true) => "no such file; check the path".to_owned(),
        (false, true) if Path::new(path).exists() => {
            "its format is not known; names of tables end in .ogive, .parquet, \
                                                      .csv or .json"
                .to_owned()
        }
        (false, _) => "list tables by `show tables`, or name a file by its path in quotes".to_owned(),
    })
}

/// Advice on a URL that is no table.
fn of_url(url: &str) -> String {
    let is_bucket = url.split_once("://").is_some_and(|(_, path)| !path.contains('/'));
    match locate_folder(url) {
        Err(error) => error.to_string(),
        _ if is_bucket => "it names a bucket; name a file in it, such as s3://bucket/table.ogive".to_owned(),
        _ => "check the URL and its credentials".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::Column;

    fn of_plan(message: &str) -> String {
        Failure::Query(DataFusionError::Plan(message.to_owned())).line()
    }

    #[test]
    fn what_is_nearly_a_name_is_meant() {
        let words = |word: &str| similar(word, WORDS.iter().copied());
        assert_eq!([words("selec"), words("form"), words("whre")], [Some("select"), Some("from"), Some("where")]);
        assert_eq!([words("x"), words("select"), words("users"), words("7")], [None; 4]);
        let parser = ParserError::ParserError("Expected: an SQL statement, found: selec at Line: 1".to_owned());
        let failure = Failure::Query(DataFusionError::SQL(Box::new(parser), None)).with_word_meant();
        assert!(failure.line().ends_with("; did you mean 'select'?"), "{}", failure.line());
    }

    #[test]
    fn an_absent_table_that_looks_like_a_path_is_to_be_quoted() {
        let line = of_plan("table 'datafusion.users.ogive' not found");
        assert_eq!(line, "table 'datafusion.users.ogive' not found; quote paths: 'users.ogive'");
        assert!(
            of_plan("table 'datafusion.public.nowhere/t.ogive' not found").ends_with("; no such file; check the path")
        );
        assert!(of_plan("table 'datafusion.public.users' not found").contains("show tables"));
    }

    #[test]
    fn an_error_is_one_line_without_the_layers_it_passed() {
        let inner = DataFusionError::External(Box::new(io::Error::other("t.ogive is\n damaged")));
        let outer = DataFusionError::External(Box::new(inner)).context("reading");
        assert_eq!(Failure::Query(outer).line(), "reading: t.ogive is damaged");
        let parser = ParserError::ParserError("Expected: a, found: b at Line: 1, Column: 2".to_owned());
        let failure = Failure::Query(DataFusionError::SQL(Box::new(parser), None)).at(Some("a.sql:3".to_owned()));
        assert_eq!(failure.line(), "a.sql:3: cannot parse: Expected: a, found: b at Line: 1, Column: 2");
    }

    #[test]
    fn errors_of_constants_and_names_say_what_to_do() {
        let cast = ArrowError::CastError("Cannot cast string 'a' to value of Int64 type".to_owned());
        let cast = DataFusionError::ArrowError(Box::new(cast), None).context("Optimizer rule 'simplify' failed");
        assert_eq!(
            Failure::Query(cast).line(),
            "Cannot cast string 'a' to value of Int64 type; use try_cast for a null instead, or another constant"
        );
        let twice = SchemaError::AmbiguousReference { field: Box::new(Column::from_name("k")) };
        let line = Failure::Query(DataFusionError::SchemaError(Box::new(twice), Box::new(None))).line();
        assert!(line.contains("field k; name the table before it"), "{line}");
    }

    #[test]
    fn the_error_of_a_task_is_that_of_this_process() {
        let of_task = |error: &str| {
            let layers = "Job 7xQ failed: Job failed due to stage 1 failed: Task failed due to runtime execution error";
            Failure::Query(DataFusionError::Execution(format!("{layers}: DataFusionError({error})\n"))).line()
        };
        let zero = of_task("ArrowError(DivideByZero, Some(\"\"))");
        assert_eq!(zero, "divide by zero; use nullif(x, 0) for the divisor");
        let memory = of_task("ResourcesExhausted(\"Failed to allocate 7 bytes\")");
        assert!(memory.starts_with("not enough memory: Failed to allocate 7 bytes; raise --memory-limit"), "{memory}");
        let damaged = of_task("External(t.ogive is damaged at byte 7: \"x\" (y))");
        assert_eq!(damaged, "t.ogive is damaged at byte 7: \"x\" (y)");
    }

    #[test]
    fn what_datafusion_thinks_was_meant_is_kept() {
        let error = SchemaError::FieldNotFound {
            field: Box::new(Column::from_name("nmae")),
            valid_fields: vec![Column::from_name("name")],
        };
        let line = Failure::Query(DataFusionError::SchemaError(Box::new(error), Box::new(None))).line();
        assert!(line.contains("Did you mean 'name'"), "{line}");
    }

    #[test]
    fn only_a_closed_pipe_is_no_error() {
        let codes = [
            Failure::Output(io::ErrorKind::BrokenPipe.into()).at(Some("-c".to_owned())),
            Failure::Output(io::ErrorKind::StorageFull.into()),
            Failure::Interrupted.at(Some("-c".to_owned())),
            Failure::refused("no", "yes"),
        ];
        assert_eq!(codes.map(|failure| failure.exit_code()), [0, 1, 130, 2]);
    }
}
