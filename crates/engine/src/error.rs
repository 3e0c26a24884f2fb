//! The error type of the engine: what failed, where, and what to do as data, which each interface puts in words of its
//! own.

mod advice;
mod library;
mod make;
mod message;
mod samples;

pub use advice::{Advice, Call, Setting, Voice};
pub use library::Library;
pub(crate) use make::StoreFailure;
pub use samples::{samples, words_of_others};

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What the message of a commit says that may have taken effect.
const UNKNOWN_OUTCOME: &str = "the outcome is unknown: the writes may be there when the store is opened again";

/// Result of an engine operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Longest value in any format, in bytes: 1 GiB.
pub(crate) const VALUE_BYTES_MAX: u64 = 1 << 30;

/// The kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system, a device or an object store failed or refused, or a handle is closed after such a failure.
    Io,
    /// There is no such file, folder, object or keyspace, or it is there no more.
    NotFound,
    /// A checksum, a length or another property of the format does not hold.
    Damaged,
    /// A file has a format that this program does not read, or it is not the version of a file that was indexed.
    Version,
    /// The lock is held by another handle or another process.
    Locked,
    /// Another reader or writer prevents the operation, or has changed what this one had open.
    Busy,
    /// The memory limit is too small.
    Memory,
    /// The file, its keys or its values are of another type.
    Type,
    /// An argument or a record is invalid.
    Input,
    /// The storage, the file or this program cannot do this.
    Unsupported,
    /// The caller requested cancellation.
    Interrupted,
    /// An internal check of the engine's own output failed.
    Bug,
}

/// The cause of an [`Error`], for programs that decide by more than its [`ErrorKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// An operating system error: no space, no permission, no such file, a device failure.
    Io(io::ErrorKind),
    /// An object store gave an answer that cannot be right: it contradicts another one, or is none to what was asked.
    /// It says nothing about the data.
    WrongAnswer,
    /// An earlier write or sync failed. The state of the file on disk is unknown, so the handle accepts no further
    /// writes.
    Poisoned,
    /// A store was opened read-only, or an earlier failure has made it so. Reads are unaffected.
    ReadOnly,
    /// A change in a transaction failed, so the transaction cannot be committed.
    Aborted,
    /// The folder of a store, or the file of an index, is not where it was: another process, or the user, has removed,
    /// renamed or replaced it. What is written to it would be lost, or would get into what is there now.
    Gone,
    /// A keyspace was dropped while in use.
    KeyspaceDropped,
    /// A checksum, a length or another property of the format does not hold.
    Damaged,
    /// Nothing of a damaged file can be saved by a repair.
    NotRepairable,
    /// The file was written by a newer version of the format, or by a development version.
    Version {
        /// The version that the file states; 0 for a file of a development version before 0.1.
        found: u32,
        /// The newest version known here.
        supported: u32,
    },
    /// The file that an index refers to has changed since the index was built.
    Changed,
    /// The lock is held, by another handle of this process or by another process.
    Locked {
        /// Whether this process holds it.
        is_own: bool,
    },
    /// The log has reached its limit, and an old snapshot prevents a checkpoint from truncating it. Readers are
    /// unaffected.
    LogFull,
    /// A reader on a read-only medium cannot register its snapshot with the writer, and the writer has discarded the
    /// snapshot.
    SnapshotGone,
    /// The version of a store that a reader has open is gone: its writer removed files of it after the grace period.
    VersionGone,
    /// Another process or handle has opened a store on an object store for writing since. What this handle has
    /// acknowledged is in the store; what failed with this error is not.
    Fenced,
    /// A transaction of a store was not committed: what it has read was written, dropped or altered since. Nothing has
    /// changed. Begin it again.
    Conflict,
    /// A write to a keyspace with a unique index would give two rows the same values: the message names the key of the
    /// other row. Nothing has changed.
    NotUnique,
    /// The changes that a follower of a store asks for are not there any more.
    ChangesGone {
        /// The number of the change behind which it can follow again, once it has read all records.
        oldest: u64,
    },
    /// An object was replaced, truncated or removed while it was open: bytes of two objects are never mixed.
    ObjectChanged,
    /// A file was closed to limit the number of open files, and another process has removed or replaced it since.
    FileReplaced,
    /// The memory limit is too small for a required structure, such as the index of a table. Nothing was changed.
    Memory {
        /// The memory that suffices, in bytes.
        needed_bytes: u64,
        /// The given limit in bytes.
        given_bytes: u64,
    },
    /// The memory limit of a join is too small for one of its steps.
    JoinMemory {
        /// A limit in bytes that suffices for this step, as far as can be determined; a later step may need more.
        needed_bytes: u64,
        /// The limit of the join, in bytes.
        given_bytes: u64,
    },
    /// The file is not an Ogive table.
    NotATable,
    /// The file is not an Ogive index.
    NotAnIndex,
    /// The folder is not an Ogive store.
    NotAStore,
    /// An index, a table, or a keyspace with records or with typed handles, was used with other types than its own.
    WrongType {
        /// Typed handles, ranges and batches of this process that use the types; 0 if they are not what forbids others.
        handles: usize,
    },
    /// An invalid argument; the message states which values are valid.
    Input,
    /// A file to be indexed does not consist of the records described.
    NotRecords,
    /// A sorted writer received a record that belongs before the previous one.
    Unsorted {
        /// Number of the offending record, counted from 0.
        record: u64,
    },
    /// A bulk load received a key twice, and the index does not allow duplicates.
    Repeated {
        /// Number of the offending record, counted from 0.
        record: u64,
    },
    /// A bulk load requires an empty index.
    NotEmpty,
    /// A key is longer than the format allows, or does not have the table's fixed width.
    KeyLength {
        /// Length of the offending key in bytes.
        length: u64,
    },
    /// A value is longer than the format or the memory allows.
    ValueTooLarge {
        /// Length of the value in bytes.
        length: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A store was closed by [`Db::close`](crate::lsm::Db::close), and another of its handles was used after that.
    Closed,
    /// The file has several names. Its lock and its log are found by name, so another name would have others.
    OtherNames,
    /// The storage cannot do this: objects of an object store, for example, are written once and as a whole.
    Unsupported,
    /// The structure of an index is not registered in this program.
    UnregisteredKind {
        /// The code of its structure in the file.
        code: u8,
    },
    /// A join method is not registered in this program.
    UnregisteredMethod,
    /// The learning policy of a store is not registered in this program.
    UnregisteredPolicy,
    /// A URL whose scheme is not registered in this program.
    UnknownScheme,
    /// The caller requested cancellation. The operation documents the resulting state.
    Interrupted,
    /// An internal check of the engine's own output failed. Nothing was published, and the input is unchanged.
    Bug,
}

impl Cause {
    /// The kind of errors of this cause.
    pub fn kind(self) -> ErrorKind {
        match self {
            Self::Io(io::ErrorKind::NotFound) | Self::Gone | Self::KeyspaceDropped => ErrorKind::NotFound,
            Self::Io(_) | Self::WrongAnswer | Self::Poisoned | Self::ReadOnly | Self::Aborted => ErrorKind::Io,
            Self::Damaged | Self::NotRepairable => ErrorKind::Damaged,
            Self::Version { .. } | Self::Changed => ErrorKind::Version,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::LogFull | Self::SnapshotGone | Self::VersionGone | Self::Fenced => ErrorKind::Busy,
            Self::ObjectChanged | Self::FileReplaced | Self::Conflict | Self::ChangesGone { .. } => ErrorKind::Busy,
            Self::Memory { .. } | Self::JoinMemory { .. } => ErrorKind::Memory,
            Self::NotATable | Self::NotAnIndex | Self::NotAStore | Self::WrongType { .. } => ErrorKind::Type,
            Self::Input | Self::NotRecords | Self::Unsorted { .. } | Self::Repeated { .. } => ErrorKind::Input,
            Self::NotEmpty | Self::KeyLength { .. } | Self::ValueTooLarge { .. } | Self::Closed => ErrorKind::Input,
            Self::NotUnique => ErrorKind::Input,
            Self::OtherNames | Self::Unsupported | Self::UnknownScheme => ErrorKind::Unsupported,
            Self::UnregisteredKind { .. } | Self::UnregisteredMethod | Self::UnregisteredPolicy => {
                ErrorKind::Unsupported
            }
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Bug => ErrorKind::Bug,
        }
    }
}

/// An error of the engine. Its message says what failed, where, and what to do.
#[derive(Debug)]
pub struct Error {
    /// The cause, to match on.
    pub cause: Cause,
    facts: Box<Facts>,
}

/// What an error tells beside its cause.
#[derive(Debug, Default)]
struct Facts {
    /// The file, folder or URL.
    path: Option<PathBuf>,
    /// Bytes from the start of the file.
    offset: Option<u64>,
    /// The failed action as a verb phrase.
    action: &'static str,
    /// The name of a keyspace, a method or a policy.
    name: String,
    /// The key of a conflict, or of a row that a unique index refuses.
    key: Option<Vec<u8>>,
    /// The unique index that refuses a row, and the key of the row that has its values.
    refusal: Option<(String, Vec<u8>)>,
    /// Whether what failed may be done all the same.
    is_outcome_unknown: bool,
    detail: String,
    source: Option<io::Error>,
    advice: Option<Advice>,
}

impl Error {
    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.cause.kind()
    }

    /// The file, folder or URL that the error is about, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.facts.path.as_deref()
    }

    /// Where the damage was noticed, in bytes from the start of the file, if the file is damaged.
    pub fn offset(&self) -> Option<u64> {
        self.facts.offset
    }

    /// What the error tells beside its kind and its path.
    pub fn detail(&self) -> &str {
        &self.facts.detail
    }

    /// The failed action as a verb phrase, if a storage failed or cannot do it: "read", "create".
    pub fn action(&self) -> &'static str {
        self.facts.action
    }

    /// The name of the keyspace, method, policy or structure that the error is about; empty if it is about none.
    pub fn name(&self) -> &str {
        &self.facts.name
    }

    /// The key that was written by others, of a conflict about one; that of the row that a unique index refuses.
    pub fn key(&self) -> Option<&[u8]> {
        self.facts.key.as_deref()
    }

    /// The unique index that refuses a row, of [`Cause::NotUnique`].
    pub fn index(&self) -> Option<&str> {
        self.facts.refusal.as_ref().map(|(index, _)| &index[..])
    }

    /// The key of the row that has the values of the one refused, of [`Cause::NotUnique`].
    pub fn other_key(&self) -> Option<&[u8]> {
        self.facts.refusal.as_ref().map(|(_, other)| &other[..])
    }

    /// Whether the failed commit of a store may be found when the store is opened again: its request, write or sync
    /// has failed, but may have taken effect. After any other error of a commit, nothing has changed.
    pub fn is_outcome_unknown(&self) -> bool {
        self.facts.is_outcome_unknown
    }

    /// The error of a commit that may have taken effect; not of one that another writer has refused for good.
    #[must_use]
    pub(crate) fn of_unknown_outcome(mut self) -> Self {
        self.facts.is_outcome_unknown = !matches!(self.cause, Cause::Fenced | Cause::Gone | Cause::Closed);
        self
    }

    /// What to do, if there is more to do than what the message says.
    pub fn advice(&self) -> Option<&Advice> {
        self.facts.advice.as_ref()
    }

    /// The system's error, if a storage failed.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.facts.source.as_ref()
    }

    /// The system's error; the error itself if it has none.
    ///
    /// # Errors
    /// The error itself.
    pub fn into_io_error(self) -> Result<io::Error> {
        let Self { cause, mut facts } = self;
        facts.source.take().ok_or(Self { cause, facts })
    }

    /// The path; empty if there is none.
    pub(crate) fn place(&self) -> PathBuf {
        self.path().map(Path::to_owned).unwrap_or_default()
    }

    /// Replaces the detail.
    #[must_use]
    pub(crate) fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.facts.detail = detail.into();
        self
    }

    /// Adds or replaces what to do.
    #[doc(hidden)]
    #[must_use]
    pub fn advise(mut self, advice: Advice) -> Self {
        self.facts.advice = Some(advice);
        self
    }

    /// What failed and where, without what to do.
    pub fn message(&self) -> String {
        self.message_in(&Library)
    }

    /// What failed and where, with the sizes of a voice, without what to do.
    pub fn message_in(&self, voice: &dyn Voice) -> String {
        let message = message::Message { error: self, voice };
        match self.facts.is_outcome_unknown {
            true => format!("{message}; {UNKNOWN_OUTCOME}"),
            false => message.to_string(),
        }
    }

    /// What failed, where, and what to do in the words of a voice.
    pub fn told_in(&self, voice: &dyn Voice) -> String {
        let message = self.message_in(voice);
        match self.advice().and_then(|advice| voice.advise(advice)) {
            Some(advice) => format!("{message}; {advice}"),
            None => message,
        }
    }

    /// Whether a storage that does not wait has no answer yet.
    pub(crate) fn is_would_block(&self) -> bool {
        self.cause == Cause::Io(io::ErrorKind::WouldBlock)
    }

    /// A copy, whose system error has its kind only.
    pub(crate) fn again(&self) -> Self {
        let Facts { path, offset, action, name, key, refusal, is_outcome_unknown, detail, source, advice } =
            &*self.facts;
        let facts = Facts {
            path: path.clone(),
            offset: *offset,
            action,
            name: name.clone(),
            key: key.clone(),
            refusal: refusal.clone(),
            is_outcome_unknown: *is_outcome_unknown,
            detail: detail.clone(),
            source: source.as_ref().map(|source| source.kind().into()),
            advice: advice.clone(),
        };
        Self { cause: self.cause, facts: Box::new(facts) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.told_in(&Library))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.facts.source.as_ref().map(|source| source as _)
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

/// Whether a device could not read (EIO, and the other codes that file systems have for it): what else of the file is
/// there can still be read.
pub(crate) fn is_device_error(error: &Error) -> bool {
    match error.io_error().and_then(io::Error::raw_os_error) {
        // EIO, EREMOTEIO, EILSEQ, EBADMSG, ENODATA and EUCLEAN.
        Some(code) if cfg!(target_os = "linux") => matches!(code, 5 | 121 | 84 | 74 | 61 | 117),
        Some(code) if cfg!(unix) => code == 5,
        // ERROR_CRC, ERROR_SECTOR_NOT_FOUND, ERROR_READ_FAULT and ERROR_IO_DEVICE.
        Some(code) if cfg!(windows) => matches!(code, 23 | 27 | 30 | 1117),
        _ => false,
    }
}

/// Whether something has the name that cannot be opened as a file: a folder, a pipe, a link to itself, or a file that
/// the device cannot find.
pub(crate) fn is_no_file(error: &Error) -> bool {
    // ELOOP, which has no stable name.
    const LOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };
    let Some(source) = error.io_error().filter(|_| error.action() == "open") else { return false };
    matches!(source.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::NotSeekable)
        || cfg!(unix) && source.raw_os_error() == Some(LOOP)
        || is_device_error(error)
}

#[cfg(test)]
mod tests;
