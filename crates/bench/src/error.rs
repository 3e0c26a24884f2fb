//! The one error type of the crate: every variant names its file or key set and says what to do.

use std::io;
use std::path::PathBuf;

/// Result of reading, making or sampling keys.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with key sets and workloads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb phrase.
        action: &'static str,
        /// The file it was tried on.
        path: PathBuf,
        /// The system's own word.
        source: io::Error,
    },
    /// The name of a key set or a workload does not parse.
    #[error("{spec:?}: {detail}")]
    Spec {
        /// What was asked for.
        spec: String,
        /// What is wrong with it, and what would be right.
        detail: String,
    },
    /// A generator cannot make as many keys as were asked for.
    #[error("{spec}: {detail}")]
    TooManyKeys {
        /// The key set.
        spec: String,
        /// How many it can make.
        detail: String,
    },
    /// A SOSD file is too short to hold even its count.
    #[error("{} has {length_bytes} bytes, and a SOSD file starts with a count of 8 bytes; is it a SOSD file?", path.display())]
    SosdHeader {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length_bytes: u64,
    },
    /// A SOSD file is not as long as its count says: cut short, with a tail, or of another format.
    #[error("{} states {count} keys, which take {expected_bytes} bytes, but has {found_bytes}; copy it again, or check that its keys are 8 bytes wide", path.display())]
    SosdLength {
        /// The file.
        path: PathBuf,
        /// Number of keys that its first 8 bytes state.
        count: u64,
        /// Length in bytes that such a file has.
        expected_bytes: u128,
        /// Length in bytes that it has.
        found_bytes: u64,
    },
    /// The keys of a file are not in ascending order.
    #[error("{}: key {index} lies before the one ahead of it; sort the file{}", path.display(), hint)]
    Unsorted {
        /// The file.
        path: PathBuf,
        /// Number of the first key that is out of order, counted from 0.
        index: u64,
        /// How to sort it, where there is a ready command.
        hint: &'static str,
    },
    /// Integers were asked of a set of strings, or strings of a set of integers.
    #[error("{name} holds {holds}; this needs {needs}")]
    KeyKind {
        /// The key set.
        name: String,
        /// What its keys are.
        holds: &'static str,
        /// What was asked for.
        needs: &'static str,
    },
    /// A workload cannot be drawn from this key set.
    #[error("{name}: {detail}")]
    NoLookups {
        /// The key set.
        name: String,
        /// Why, and what to use instead.
        detail: String,
    },
    /// A file exists that would be overwritten.
    #[error("{} exists; remove it, or say --force to replace it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    /// An [`Error::Io`] for `action` on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }

    /// An [`Error::Spec`] about `spec`.
    pub fn spec(spec: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Spec { spec: spec.into(), detail: detail.into() }
    }
}
