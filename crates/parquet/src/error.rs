//! The error type of this crate: what failed, where, and what to do as data, which each interface puts in words of its
//! own.

use ogive::{Advice, Call, Library, Voice};
use std::fmt;
use std::path::{Path, PathBuf};

/// Result of an operation on an index beside Parquet files.
pub type Result<T, E = ParquetIndexError> = std::result::Result<T, E>;

/// An error of an index beside Parquet files.
#[derive(Debug)]
#[non_exhaustive]
pub enum ParquetIndexError {
    /// An error of the engine: of the index file, or of reading a storage.
    Engine(ogive::Error),
    /// A data file is not the one that was indexed.
    Changed {
        /// The data file.
        path: PathBuf,
        /// What differs.
        detail: String,
        /// Whether the file may be the same one, copied.
        may_be_copy: bool,
    },
    /// A data file that was indexed is gone.
    Gone {
        /// The data file.
        path: PathBuf,
    },
    /// Another writer replaced the index while a new one was made of it.
    Replaced {
        /// The index file.
        path: PathBuf,
    },
    /// A file is no Parquet file, is damaged, or uses a part of Parquet that is not supported.
    Malformed {
        /// The data file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A timestamp of the type INT96 that the type of its column here cannot hold.
    NoTimestamp {
        /// The data file.
        path: PathBuf,
        /// The number of the row in the file, counted from 1.
        row: u64,
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// Why it is none.
        detail: String,
        /// What to do, if the detail does not say it.
        remedy: Option<Box<Remedy>>,
    },
    /// The files cannot be indexed together, or not by this key.
    NotIndexable {
        /// The data file or folder.
        path: PathBuf,
        /// The reason, and what to do.
        detail: String,
    },
    /// The files can be indexed once something is stated.
    Unstated {
        /// The data file or folder.
        path: PathBuf,
        /// What is not stated.
        detail: String,
        /// How to state it.
        remedy: Box<Remedy>,
    },
    /// There is no such column.
    NoColumn {
        /// The data file, or the index.
        path: PathBuf,
        /// The name that was asked for.
        column: String,
        /// The names that there are.
        known: String,
    },
    /// The folder belongs to a table format.
    TableFormat {
        /// The folder.
        path: PathBuf,
        /// The table format.
        format: &'static str,
    },
    /// The log of a lake table says that data files do not show its rows.
    TableLog {
        /// The folder of the table.
        path: PathBuf,
        /// The table format.
        format: &'static str,
        /// What its log says, or why it cannot be read.
        detail: String,
    },
    /// The file is an Ogive table, but no index beside Parquet files, or its content contradicts itself.
    NotAnIndex {
        /// The index file.
        path: PathBuf,
        /// What is missing or wrong.
        detail: String,
    },
    /// The index was written by a newer version of this crate.
    NewerVersion {
        /// The index file.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// The newest version known.
        known: u64,
    },
}

/// What to do about an error of an index beside Parquet files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// As an error of the engine advises.
    Take(Advice),
    /// Read a column in microseconds, and build an index of an earlier version again.
    Microseconds {
        /// The column.
        column: String,
        /// The type that is not to be stated.
        column_type: String,
    },
    /// Read a column in nanoseconds.
    Nanoseconds {
        /// The column.
        column: String,
        /// The type to state.
        column_type: String,
    },
    /// State the type of a column of paths, which is one of these.
    PartitionType {
        /// The column.
        column: String,
        /// Names of types.
        types: &'static [&'static str],
    },
}

/// The words of an interface for what to do about an index beside Parquet files.
pub trait ParquetVoice: Voice {
    /// The whole advice, beginning with a verb; `None` if nothing can be done.
    fn advise_on_parquet(&self, remedy: &Remedy) -> Option<String>;
}

impl ParquetVoice for Library {
    fn advise_on_parquet(&self, remedy: &Remedy) -> Option<String> {
        Some(match remedy {
            Remedy::Take(advice) => return self.advise(advice),
            Remedy::Microseconds { column, .. } => format!(
                "read the column in microseconds: leave {column:?} out of `BuildOptions::nanoseconds`, and build an \
                 index of an earlier version again"
            ),
            Remedy::Nanoseconds { column, .. } => format!(
                "if all its years are 1677 to 2262, read the column in nanoseconds: add {column:?} to \
                 `BuildOptions::nanoseconds`"
            ),
            Remedy::PartitionType { column, types } => {
                format!("state the type of {column:?} ({}) by `BuildOptions::partitions`", types.join(" or "))
            }
        })
    }
}

impl ParquetIndexError {
    /// The file or folder that the error is about, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Engine(error) => error.path(),
            Self::Changed { path, .. }
            | Self::Gone { path }
            | Self::Replaced { path }
            | Self::Malformed { path, .. }
            | Self::NoTimestamp { path, .. }
            | Self::NotIndexable { path, .. }
            | Self::Unstated { path, .. }
            | Self::NoColumn { path, .. }
            | Self::TableFormat { path, .. }
            | Self::TableLog { path, .. }
            | Self::NotAnIndex { path, .. }
            | Self::NewerVersion { path, .. } => Some(path),
        }
    }

    /// What to do, if there is more to do than what the message says.
    pub fn remedy(&self) -> Option<Remedy> {
        let call = match self {
            Self::Engine(error) => return error.advice().cloned().map(Remedy::Take),
            Self::NoTimestamp { remedy, .. } => return remedy.as_deref().cloned(),
            Self::Unstated { remedy, .. } => return Some((**remedy).clone()),
            Self::Changed { may_be_copy: true, .. } => Call::AcceptCopies,
            Self::Changed { .. } | Self::Gone { .. } => Call::UpdateIndex,
            Self::TableFormat { .. } => Call::ListFiles,
            Self::TableLog { .. } => Call::IgnoreTableLog,
            Self::NotAnIndex { .. } => Call::Build,
            Self::Replaced { .. } => return Some(Remedy::Take(Advice::Again)),
            Self::Malformed { .. } | Self::NotIndexable { .. } | Self::NoColumn { .. } | Self::NewerVersion { .. } => {
                return None;
            }
        };
        Some(Remedy::Take(Advice::Use(call)))
    }

    /// What failed and where, without what to do.
    pub fn message(&self) -> String {
        self.message_in(&Library)
    }

    /// What failed and where, with the sizes of a voice, without what to do.
    pub fn message_in(&self, voice: &dyn Voice) -> String {
        let path = self.path().unwrap_or(Path::new("")).display();
        match self {
            Self::Engine(error) => error.message_in(voice),
            Self::Changed { detail, .. } => format!("{path} has changed since it was indexed: {detail}"),
            Self::Gone { .. } => format!("{path} is indexed, but is gone"),
            Self::Replaced { .. } => format!("{path} was replaced while it was updated, and is left as it is now"),
            Self::Malformed { detail, .. } => format!("{path} is not a readable Parquet file: {detail}"),
            Self::NoTimestamp { row, column, value, detail, .. } => {
                format!("{path}: row {row} of column '{column}' is {value}, {detail}")
            }
            Self::NotIndexable { detail, .. } | Self::Unstated { detail, .. } => {
                format!("{path} cannot be indexed: {detail}")
            }
            Self::NoColumn { column, known, .. } => format!("{path} has no column '{column}'; its columns are {known}"),
            Self::TableFormat { format, .. } => format!(
                "{path} belongs to a table of {format}, whose folder may hold files that are no longer part of the \
                 table"
            ),
            Self::TableLog { format, detail, .. } => {
                format!("{path} is a table of {format}, whose log {detail}, so its files may not show its rows")
            }
            Self::NotAnIndex { detail, .. } => format!("{path} is no index of Parquet files: {detail}"),
            Self::NewerVersion { version, known, .. } => format!(
                "{path} is an index of Parquet files of version {version}, only those up to {known} are known; use a \
                 newer ogive"
            ),
        }
    }

    /// What failed, where, and what to do in the words of a voice.
    pub fn told_in(&self, voice: &dyn ParquetVoice) -> String {
        let message = self.message_in(voice);
        match self.remedy().and_then(|remedy| voice.advise_on_parquet(&remedy)) {
            Some(advice) => format!("{message}; {advice}"),
            None => message,
        }
    }
}

impl fmt::Display for ParquetIndexError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.told_in(&Library))
    }
}

impl std::error::Error for ParquetIndexError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => error.source(),
            _ => None,
        }
    }
}

impl From<ogive::Error> for ParquetIndexError {
    fn from(error: ogive::Error) -> Self {
        Self::Engine(error)
    }
}

/// An error of each kind with each remedy, for the tests of each interface.
#[doc(hidden)]
pub fn error_samples() -> Vec<ParquetIndexError> {
    let (path, column, detail) = (|| PathBuf::from("f"), || "c".to_owned(), || "it fails".to_owned());
    let remedies = [
        Remedy::Take(Advice::Use(Call::NameKey)),
        Remedy::Take(Advice::Use(Call::ListFiles)),
        Remedy::Microseconds { column: column(), column_type: "timestamp(ns)".to_owned() },
        Remedy::Nanoseconds { column: column(), column_type: "timestamp(ns)?".to_owned() },
        Remedy::PartitionType { column: column(), types: &["i64", "text"] },
    ];
    let unstated =
        remedies.map(|remedy| ParquetIndexError::Unstated { path: path(), detail: detail(), remedy: Box::new(remedy) });
    let others = [
        ParquetIndexError::Engine(ogive::Error::damaged(path(), 1, detail())),
        ParquetIndexError::Changed { path: path(), detail: detail(), may_be_copy: false },
        ParquetIndexError::Changed { path: path(), detail: detail(), may_be_copy: true },
        ParquetIndexError::Gone { path: path() },
        ParquetIndexError::Replaced { path: path() },
        ParquetIndexError::Malformed { path: path(), detail: detail() },
        ParquetIndexError::NoTimestamp {
            path: path(),
            row: 1,
            column: column(),
            value: "1500-01-01".to_owned(),
            detail: detail(),
            remedy: None,
        },
        ParquetIndexError::NotIndexable { path: path(), detail: detail() },
        ParquetIndexError::NoColumn { path: path(), column: column(), known: "a, b".to_owned() },
        ParquetIndexError::TableFormat { path: path(), format: "Iceberg" },
        ParquetIndexError::TableLog { path: path(), format: "Delta Lake", detail: detail() },
        ParquetIndexError::NotAnIndex { path: path(), detail: detail() },
        ParquetIndexError::NewerVersion { path: path(), version: 9, known: 1 },
    ];
    unstated.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::words_of_others;

    #[test]
    fn every_error_is_told_in_the_words_of_the_library() {
        for error in error_samples() {
            let (text, message) = (error.to_string(), error.message());
            assert!(words_of_others("library", &text).is_empty(), "{text}");
            assert!(words_of_others("none", &message).is_empty(), "{message}");
        }
    }
}
