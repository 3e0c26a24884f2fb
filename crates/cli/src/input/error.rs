//! What can be wrong with an input file.

use crate::size::{grouped, human_bytes};
use std::io;
use std::path::PathBuf;

/// An input that cannot be used: which file, where in it, and why.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// The system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The input file.
        path: PathBuf,
        /// The system's own word.
        source: io::Error,
    },
    /// There is no record in it.
    #[error("{} holds no records", path.display())]
    Empty {
        /// The input file.
        path: PathBuf,
    },
    /// The length of a SOSD file is not what its count asks for.
    #[error("{} is not a SOSD file of {key_bytes}-byte keys: {detail}", path.display())]
    NotSosd {
        /// The input file.
        path: PathBuf,
        /// Bytes of a key, by the file's name.
        key_bytes: u64,
        /// What does not fit.
        detail: String,
    },
    /// The column asked for is not there.
    #[error("{} has no column '{column}'", path.display())]
    NoSuchColumn {
        /// The input file.
        path: PathBuf,
        /// The column that was asked for.
        column: String,
        /// The columns there are.
        available: Vec<String>,
    },
    /// A key is not of the type asked for.
    #[error("key '{key}' in record {} of {} is not one of type {wanted}", grouped(*record), path.display())]
    WrongKeyType {
        /// The input file.
        path: PathBuf,
        /// Number of the record, counted from 1, headers not counted.
        record: u64,
        /// The key as it stands there.
        key: String,
        /// The type asked for.
        wanted: String,
    },
    /// A record, or a line, is longer than what is held in memory at once.
    #[error("record {} of {} is longer than {}", grouped(*record), path.display(), human_bytes(*limit_bytes))]
    RecordTooLong {
        /// The input file.
        path: PathBuf,
        /// Number of the record, counted from 1.
        record: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// The file breaks the rules of its format.
    #[error("{}: {detail}", path.display())]
    Malformed {
        /// The input file.
        path: PathBuf,
        /// Where, and which rule.
        detail: String,
    },
}

impl InputError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "check the path".into(),
                io::ErrorKind::PermissionDenied => "check the permissions".into(),
                io::ErrorKind::IsADirectory => "give a file, not a directory".into(),
                _ => return None,
            },
            Self::Empty { .. } => "a table needs at least one record; check that this is the right file".into(),
            Self::NotSosd { .. } => "such a file is a little-endian u64 count, then that many little-endian keys; \
                 if it is another kind of file, say so with --format"
                .into(),
            Self::NoSuchColumn { available, .. } => format!(
                "its columns are {}; columns also go by number, from 1 to {}",
                available.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", "),
                available.len()
            ),
            Self::WrongKeyType { .. } => "choose another type with --key-type; `--key-type text` takes any line".into(),
            Self::RecordTooLong { .. } => {
                "if this is not a file of lines or of comma-separated values, say what it is with --format".into()
            }
            Self::Malformed { .. } => return None,
        })
    }
}
