//! The error type of the engine. Every message names the file and says what to do.

use std::io;
use std::path::PathBuf;

/// Result of an engine operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong. Each message names the file (and the offset, where there is one) and ends with what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused: no space, no permission, no such file, a device error.
    #[error("cannot {action} {}: {source}{}", path.display(), hint(action, source))]
    Io {
        /// What was tried, as a verb phrase: "read", "create", "sync the directory of".
        action: &'static str,
        /// The file or directory it was tried on.
        path: PathBuf,
        /// The system's own word.
        source: io::Error,
    },
    /// A checksum, a length or a promise of the format does not hold.
    #[error("{} is damaged at byte {offset}: {detail}; run `ogive verify` on it (`ogive db verify` on a store, `ogive index verify` on an index), and restore it from a copy", path.display())]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// Where the damage was noticed, in bytes from the start of the file.
        offset: u64,
        /// What did not hold.
        detail: String,
    },
    /// The file is none of ours.
    #[error("{} is not an Ogive table: {detail}", path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
        /// What was missing.
        detail: String,
    },
    /// The file is no file of pages.
    #[error("{} is not an Ogive page file: {detail}", path.display())]
    NotAPageFile {
        /// The file.
        path: PathBuf,
        /// What was missing.
        detail: String,
    },
    /// The file has several names, and its lock and its log would be looked for under each of them.
    #[error("{} has other names: {detail}", path.display())]
    OtherNames {
        /// The file.
        path: PathBuf,
        /// Which, and what to do.
        detail: String,
    },
    /// The log may not grow further, and an old snapshot keeps a checkpoint from making it shorter. Readers go on.
    #[error("the log of {} has {log_bytes} bytes, and {reader} keeps it from being cut; drop old snapshots, or raise the limit of {limit} bytes", path.display())]
    LogFull {
        /// The page file.
        path: PathBuf,
        /// Length of the log.
        log_bytes: u64,
        /// The limit, `log_limit_bytes`.
        limit: u64,
        /// Who keeps the log from being cut.
        reader: String,
    },
    /// A reader on a medium that takes no files could not tell the writer of its snapshot, and the writer has gone past it.
    #[error("{} has changed since this reader opened it, and its snapshot is gone; open it again", path.display())]
    SnapshotGone {
        /// The page file.
        path: PathBuf,
    },
    /// The file was written by a newer version of the format.
    #[error("{} has format version {found}; this program reads up to version {supported}: use a newer ogive", path.display())]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// The version that the file states.
        found: u32,
        /// The newest version known here.
        supported: u32,
    },
    /// A file that is to be indexed does not consist of the records that were described.
    #[error("{} does not hold the records described: {detail}", path.display())]
    NotRecords {
        /// The file of records.
        path: PathBuf,
        /// What does not fit, and what to do.
        detail: String,
    },
    /// A sorted writer was given a record that belongs before the last one.
    #[error("record {record} of {} is out of order: its key lies before the one ahead of it; sort the input, or use the sorting writer", path.display())]
    Unsorted {
        /// The table that was being written.
        path: PathBuf,
        /// Number of the offending record, counted from 0.
        record: u64,
    },
    /// A key is longer than the format takes, or not of the table's fixed width.
    #[error("a key of {length} bytes does not fit {}: {detail}", path.display())]
    KeyLength {
        /// The table.
        path: PathBuf,
        /// Length of the offending key in bytes.
        length: u64,
        /// What the table takes.
        detail: String,
    },
    /// A value is longer than the format or the memory budget allows.
    #[error("a value of {length} bytes exceeds the {limit} bytes that {} allows here; read it as a stream with `value_reader`, or raise the budget", path.display())]
    ValueTooLarge {
        /// The table.
        path: PathBuf,
        /// Length of the value in bytes.
        length: u64,
        /// The limit that it exceeds, in bytes.
        limit: u64,
    },
    /// Memory is too short for what cannot be done without, such as the index of a table. Nothing was changed.
    #[error("{} takes at least {needed_bytes} bytes of memory, and {option} is {given_bytes}; raise it to {needed_bytes} or more", path.display())]
    MemoryShort {
        /// The table, or the folder of the store.
        path: PathBuf,
        /// What it takes, in bytes: with so much it works.
        needed_bytes: u64,
        /// What it was given, in bytes.
        given_bytes: u64,
        /// The option that gives it.
        option: &'static str,
    },
    /// The memory of a join is too short for one of its steps.
    #[error("{what}; raise `JoinOptions::memory_bytes`, which is {given_bytes}, to {needed_bytes} or more")]
    JoinMemoryShort {
        /// What does not fit.
        what: String,
        /// A limit, in bytes, with which this step fits as far as can be told; a later one may take more.
        needed_bytes: u64,
        /// The limit that the join was given, in bytes.
        given_bytes: u64,
    },
    /// An argument makes no sense; the message says which values do.
    #[error("{0}")]
    InvalidArgument(String),
    /// A check that Ogive makes of its own work failed. Nothing was published, and what was to be written is where it was.
    #[error("internal error while writing {}: {detail}; nothing was written under that name. This is a bug: please report it with this message, the options, and the keys if you can", path.display())]
    Internal {
        /// The file that was being written.
        path: PathBuf,
        /// What did not hold.
        detail: String,
    },
    /// The file that an index refers to has changed since the index was made.
    #[error("{} has changed since its index was built: {detail}; build the index again", path.display())]
    Changed {
        /// The data file.
        path: PathBuf,
        /// What is different.
        detail: String,
    },
    /// An earlier write or sync failed; what reached the disk is not known, so the handle takes no more.
    #[error("{} is closed to writes after a failed write or sync; discard it and start again", path.display())]
    Poisoned {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else holds the lock.
    #[error("{} is locked by another process; wait for it to finish", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The file of pages is no index.
    #[error("{} is not an Ogive index: {detail}", path.display())]
    NotAnIndex {
        /// The file.
        path: PathBuf,
        /// What was missing.
        detail: String,
    },
    /// An index was opened with other types of keys or payloads than it has.
    #[error("{} has other types: {detail}; open it with its own", path.display())]
    WrongType {
        /// The index.
        path: PathBuf,
        /// What it has, and what was asked for.
        detail: String,
    },
    /// A bulk load needs an empty index.
    #[error("{} has entries already, so it takes no bulk load; insert into it, or make a new one", path.display())]
    NotEmpty {
        /// The index.
        path: PathBuf,
    },
    /// A bulk load met a key twice, and the index allows no duplicates.
    #[error("record {record} of {} repeats the key ahead of it; make the index with duplicates, or drop the repetition", path.display())]
    Repeated {
        /// The index that was being loaded.
        path: PathBuf,
        /// Number of the offending record, counted from 0.
        record: u64,
    },
    /// One of the changes of a transaction failed, so that it cannot be committed.
    #[error("a change to {} failed, so its transaction takes nothing more; drop it and begin another", path.display())]
    Aborted {
        /// The file.
        path: PathBuf,
    },
    /// An earlier failure has closed a store to writes. Reads go on.
    #[error("{} is read-only after a failure ({cause}); put that right, then call `resume`, or open the store again", path.display())]
    StoreReadOnly {
        /// The folder of the store.
        path: PathBuf,
        /// What had failed.
        cause: String,
    },
    /// A file was closed to keep the number of open files low, and another process has removed or replaced it since.
    #[error("{} was closed to save file handles, and {detail} now; open it again, or let more files be open (`ulimit -n`, `--open-files`)", path.display())]
    FileReplaced {
        /// The file.
        path: PathBuf,
        /// What its name leads to now.
        detail: &'static str,
    },
    /// A keyspace was dropped while somebody still used it.
    #[error("the keyspace {name:?} of {} was dropped", path.display())]
    KeyspaceDropped {
        /// The folder of the store.
        path: PathBuf,
        /// Name of the keyspace.
        name: String,
    },
    /// The folder holds no store.
    #[error("{} is not an Ogive store: {detail}", path.display())]
    NotAStore {
        /// The folder.
        path: PathBuf,
        /// What was missing.
        detail: String,
    },
    /// The caller asked to stop. What there is then, the operation says that was stopped.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// An [`Error::Io`] for `action` on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }

    /// An [`Error::Damaged`] at `offset` of `path`.
    pub fn damaged(path: impl Into<PathBuf>, offset: u64, detail: impl Into<String>) -> Self {
        Self::Damaged { path: path.into(), offset, detail: detail.into() }
    }
}

/// What a person can do about the usual refusals of the operating system.
fn hint(action: &str, source: &io::Error) -> &'static str {
    if is_too_many_open_files(source) {
        return " (close other files, or raise the limit of open files: `ulimit -n`)";
    }
    if action.starts_with("start a thread") {
        return " (use fewer threads, or raise the limit of threads: `ulimit -u`)";
    }
    match source.kind() {
        io::ErrorKind::NotFound => " (check the path)",
        io::ErrorKind::PermissionDenied => " (check the permissions)",
        io::ErrorKind::StorageFull => " (free some space and try again)",
        _ => "",
    }
}

/// Whether the process (EMFILE) or the system (ENFILE) has no file handle left.
pub(crate) fn is_too_many_open_files(error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(code) if cfg!(unix) => matches!(code, 23 | 24),
        Some(code) if cfg!(windows) => code == 4,
        _ => false,
    }
}
