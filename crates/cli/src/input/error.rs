//! Errors of input files.

use crate::reading::standard_input::shown;
use crate::values::size::{grouped, human_bytes};
use ogive::KeyType;
use ogive::types::TimeUnit;
use ogive_text::CONVERTED;
use std::io;
use std::path::{Path, PathBuf};

/// An unusable input: the file, the place in it, and the reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// An error of the system.
    #[error("cannot read {}: {source}", shown(path))]
    Io {
        /// The input file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An input without records.
    #[error("{} contains no records", shown(path))]
    Empty {
        /// The input file.
        path: PathBuf,
    },
    /// An input whose rows were all left out.
    #[error("no row of {} can be read: all {} were left out", shown(path), grouped(*rows))]
    NoGoodRow {
        /// The input file.
        path: PathBuf,
        /// Rows that were left out.
        rows: u64,
        /// The file that has them.
        bad_rows: PathBuf,
    },
    /// A SOSD file whose length does not match its count.
    #[error("{} is not a SOSD file of {key_bytes}-byte keys: {detail}", shown(path))]
    NotSosd {
        /// The input file.
        path: PathBuf,
        /// Bytes per key, from the file's name.
        key_bytes: u64,
        /// The mismatch.
        detail: String,
    },
    /// A missing column.
    #[error("{} has no column '{column}'", shown(path))]
    NoSuchColumn {
        /// The input file.
        path: PathBuf,
        /// The requested column.
        column: String,
        /// The existing columns.
        available: Vec<String>,
    },
    /// A field of another type.
    #[error(
        "{}{} in record {} of {}{} is not of type {wanted}",
        place(column.as_deref(), *is_key),
        shown_field(written.as_deref(), *is_key),
        grouped(*record),
        shown(path),
        line.map_or_else(String::new, |line| format!(" (line {})", grouped(line)))
    )]
    WrongType {
        /// The input file.
        path: PathBuf,
        /// Number of the record, counted from 1 without the header.
        record: u64,
        /// Number of its line, if it is of a text, counted from 1 with the header.
        line: Option<u64>,
        /// The name of the column, if it has one.
        column: Option<Box<str>>,
        /// Whether it is a column of the key.
        is_key: bool,
        /// The field as written; none if it is a null.
        written: Option<Box<str>>,
        /// The type of the column.
        wanted: Box<str>,
        /// The option that reads it: with the narrowest type of this value and those by which the type was guessed, or,
        /// if it is a null in a key, with keys that may be null.
        remedy: Option<Box<str>>,
    },
    /// An array or an object in the place of a scalar.
    #[error("field '{field}' in record {} of {} is {what}, but fields are scalars", grouped(*record), shown(path))]
    Nested {
        /// The input file.
        path: PathBuf,
        /// Number of the record, counted from 1.
        record: u64,
        /// The name of the field.
        field: String,
        /// The kind of the value.
        what: &'static str,
    },
    /// A field that the records before do not have.
    #[error("line {} of {} has a field '{field}' that the lines before do not have", grouped(*line), shown(path))]
    NewField {
        /// The input file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: u64,
        /// The name of the field.
        field: String,
    },
    /// A file of keys without a line.
    #[error("{} contains no keys", shown(path))]
    NoKeys {
        /// The file.
        path: PathBuf,
    },
    /// A line that is no key of a table.
    #[error("'{written}' in line {} of {} is not a key of type {wanted}", grouped(*line), shown(path))]
    WrongKey {
        /// The file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: u64,
        /// The line.
        written: String,
        /// The type of the table's keys.
        wanted: String,
        /// A description of its keys.
        described: String,
    },
    /// A line that is longer than any key.
    #[error(
        "line {} of {} is longer than {}, the longest key",
        grouped(*line), shown(path), human_bytes(*limit_bytes)
    )]
    LineTooLong {
        /// The input file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// A row that exceeds the limit on memory.
    #[error(
        "row {} of {} is longer than {}, the limit of --row-limit",
        grouped(*record), shown(path), human_bytes(*limit_bytes)
    )]
    RowTooLong {
        /// The input file.
        path: PathBuf,
        /// Number of the row, counted from 1 without the header.
        record: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// Text between a closing quote and the end of the field.
    #[error("line {} of {} has text behind a closing quote", grouped(*line), shown(path))]
    TextBehindQuote {
        /// The input file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: u64,
    },
    /// A backslash that begins no escape.
    #[error("line {} of {} has a backslash that begins no escape", grouped(*line), shown(path))]
    UnknownEscape {
        /// The input file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: u64,
    },
    /// A carriage return within a row of escaped fields.
    #[error("line {} of {} has a carriage return within a field", grouped(*line), shown(path))]
    BareReturn {
        /// The input file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: u64,
    },
    /// A row that cannot be read, while those behind it can.
    #[error("{}: {detail}", shown(path))]
    BadRow {
        /// The input file.
        path: PathBuf,
        /// The place and the rule.
        detail: String,
    },
    /// A file of rows that are left out which cannot be written.
    #[error("cannot write {}, the file of --skip-bad-rows: {source}", shown(path))]
    BadRows {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A violation of the file's format.
    #[error("{}: {detail}", shown(path))]
    Malformed {
        /// The input file.
        path: PathBuf,
        /// The place and the rule.
        detail: String,
    },
}

/// Whether a name of a column is rather a value of the first row of a file without names.
pub(crate) fn is_like_value(name: &str) -> bool {
    let key_types = [KeyType::F64, KeyType::Date, KeyType::Timestamp(TimeUnit::Nanosecond)];
    let has_digit = name.bytes().any(|byte| byte.is_ascii_digit());
    name == "\\N" || has_digit && key_types.into_iter().any(|key_type| key_type.parse(name).is_ok())
}

/// What writes a frame of pandas as an input.
pub(super) const PANDAS_ROWS: &str = "pandas writes a row on each line by to_json(FILE, orient='records', lines=True)";

/// A field, for messages.
fn shown_field(written: Option<&str>, is_key: bool) -> String {
    match written {
        None => "a null".to_owned(),
        Some("") if is_key => "an empty field, which is a null,".to_owned(),
        Some(written) => format!("'{written}'"),
    }
}

/// The column of a field, for messages.
fn place(column: Option<&str>, is_key: bool) -> String {
    match column {
        Some(column) if is_key => format!("key column '{column}': "),
        Some(column) => format!("column '{column}': "),
        None => "key ".to_owned(),
    }
}

impl InputError {
    /// Whether the rows behind this one can be read.
    pub(crate) fn is_of_row(&self) -> bool {
        matches!(self, Self::WrongType { .. } | Self::Nested { .. } | Self::NewField { .. } | Self::BadRow { .. })
    }

    /// The column of a value of a wrong type, and whether it is one of the key.
    pub(crate) fn wrong_column(&self) -> Option<(bool, &str)> {
        match self {
            Self::WrongType { is_key, column, .. } => Some((*is_key, column.as_deref().unwrap_or_default())),
            _ => None,
        }
    }

    /// The option that reads the value, if it is of another type than those before it.
    pub(crate) fn remedy(&self) -> Option<&str> {
        match self {
            Self::WrongType { remedy, .. } => remedy.as_deref(),
            _ => None,
        }
    }

    /// Advice on a value of a wrong type.
    fn hint_of_type(&self) -> Option<String> {
        Some(match self {
            Self::WrongType { is_key: true, column: None, .. } => {
                "choose another type with --key-type; `bytes` fits any line, but no index".into()
            }
            Self::WrongType { is_key: true, written, remedy, .. } if written.as_deref().is_none_or(str::is_empty) => {
                match remedy {
                    Some(remedy) => format!("read nulls in keys with {remedy}"),
                    None => "give each row a key".into(),
                }
            }
            Self::WrongType { remedy: Some(remedy), .. } => {
                format!("{remedy} reads it; --scan-all finds types by all rows")
            }
            // Bytes that are no text are written with escapes.
            Self::WrongType { wanted, written: Some(written), .. }
                if **wanted == *"text" && written.contains("\\x") =>
            {
                format!("{CONVERTED}; or choose bytes in the place of text")
            }
            Self::WrongType { is_key: true, .. } => "choose another type with --key-type, such as text".into(),
            Self::WrongType { column, written, wanted, .. } => {
                let column = column.as_deref().unwrap_or("1");
                match written.as_deref() {
                    None => format!("allow nulls with --type '{column}={wanted}?'"),
                    Some("") => format!("allow empty fields with --type '{column}={wanted}?'"),
                    Some(_) => format!("choose another type with --type, such as --type '{column}=text'"),
                }
            }
            _ => return None,
        })
    }

    /// Advice for the user.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { path, source } => return advice_on_io(path, source),
            Self::Empty { .. } => "give a file with at least one record; check that this is the right one".into(),
            Self::NoGoodRow { bad_rows, .. } => {
                format!("see the reasons in {}; check --format and --type", bad_rows.display())
            }
            Self::NotSosd { .. } => {
                "a SOSD file is a little-endian u64 count followed by that number of little-endian \
                 keys; for another kind of file, use --format"
                    .into()
            }
            Self::NoSuchColumn { available, .. } => {
                let names = available.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
                let hint = format!("its columns are {names}; or use a number from 1 to {}", available.len());
                match available.iter().any(|name| is_like_value(name)) {
                    true => format!("{hint}; --no-header reads a first line without names as a row"),
                    false => hint,
                }
            }
            Self::WrongType { .. } => return self.hint_of_type(),
            Self::Nested { record, .. } => {
                let choice = "choose other fields with --key and --value, or make scalars of this one";
                // A frame that is written as one object has columns in the place of rows.
                if *record == 1 { format!("{choice}; {PANDAS_ROWS}") } else { choice.into() }
            }
            Self::NewField { .. } => "choose the fields to read with --key and --value".into(),
            Self::LineTooLong { .. } => {
                "each line is a key; put long text into a column of a CSV or TSV file and name it with --value, or set \
                 --format if this file does not consist of lines"
                    .into()
            }
            Self::RowTooLong { .. } => {
                "close a quote that was left open, or raise --row-limit; `ogive db put --file` writes a single long \
                 value"
                    .into()
            }
            Self::NoKeys { .. } => "give a file with a key on each line, as `ogive get` takes them".into(),
            Self::WrongKey { described, .. } => format!("keys of the table are {described}, one on each line"),
            Self::TextBehindQuote { .. } => {
                "write a quote within quotes twice, in Spark by option(\"escape\", \"\\\"\"); --lenient takes such \
                 text as a part of the field, backslashes included"
                    .into()
            }
            Self::UnknownEscape { .. } => "the escapes are \\t, \\n, \\r, \\b, \\f, \\v, \\\\, and \\N for a null; \
                 --lenient takes other backslashes as they are, and --quote '\"' reads quoted fields"
                .into(),
            Self::BareReturn { .. } => "write it as \\r; --lenient takes it as the end of a row".into(),
            Self::BadRows { source, .. } => match source.kind() {
                io::ErrorKind::AlreadyExists => "it exists: remove it, or give another name".into(),
                _ => return None,
            },
            Self::BadRow { .. } => "--skip-bad-rows FILE leaves such rows out, and writes them to FILE".into(),
            Self::Malformed { .. } => return None,
        })
    }
}

/// Advice on an error of the system.
fn advice_on_io(path: &Path, source: &io::Error) -> Option<String> {
    Some(match source.kind() {
        io::ErrorKind::NotFound => "check the path".into(),
        io::ErrorKind::PermissionDenied => "check the permissions".into(),
        io::ErrorKind::IsADirectory => crate::advice::advice_on_folder(path),
        _ => return None,
    })
}
