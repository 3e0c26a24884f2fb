//! The error type of the engine. Every message names the file and says what to do.

use std::io;
use std::path::PathBuf;

/// Result of an engine operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Longest value in any format, in bytes: 1 GiB.
pub(crate) const VALUE_BYTES_MAX: u64 = 1 << 30;

/// An error of the engine. Each message names the file (and the offset, if there is one) and ends with what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operating system error: no space, no permission, no such file, a device failure.
    #[error("cannot {action} {}: {}{}", path.display(), plain(source), hint(action, source))]
    Io {
        /// The failed action as a verb phrase: "read", "create", "sync the directory of".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A checksum, a length or another property of the format does not hold.
    #[error(
        "{} is damaged at byte {offset}: {detail}; run `ogive verify` on it, or on its folder if that is a store, and \
         restore it from a copy",
        path.display()
    )]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// Offset at which the damage was noticed, in bytes from the start of the file.
        offset: u64,
        /// The property that does not hold.
        detail: String,
    },
    /// Nothing of a damaged file can be saved by a repair.
    #[error("nothing of {} can be saved: {detail}", path.display())]
    NotRepairable {
        /// The file.
        path: PathBuf,
        /// What is lost, and what to do.
        detail: String,
    },
    /// The file is not an Ogive table.
    #[error("{} is not an Ogive table: {detail}", path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
        /// What is missing.
        detail: String,
    },
    /// The file is not an Ogive page file.
    #[error("{} is not an Ogive index: {detail}", path.display())]
    NotAPageFile {
        /// The file.
        path: PathBuf,
        /// What is missing.
        detail: String,
    },
    /// The file has several names. Its lock and its log are found by name, so another name would have others.
    #[error("{} has other names: {detail}", path.display())]
    OtherNames {
        /// The file.
        path: PathBuf,
        /// The other names, and what to do.
        detail: String,
    },
    /// The log has reached its limit, and an old snapshot prevents a checkpoint from truncating it. Readers are
    /// unaffected.
    #[error(
        "the log of {} has reached {log_bytes} bytes, and {reader} keeps it from being truncated; drop old \
         snapshots, or raise the limit of {limit} bytes",
        path.display()
    )]
    LogFull {
        /// The page file.
        path: PathBuf,
        /// Length of the log.
        log_bytes: u64,
        /// The limit, `log_limit_bytes`.
        limit: u64,
        /// The reader that prevents the truncation.
        reader: String,
    },
    /// A reader on a read-only medium cannot register its snapshot with the writer, and the writer has discarded the
    /// snapshot.
    #[error("{} has changed since this reader opened it, and its snapshot is gone; open it again", path.display())]
    SnapshotGone {
        /// The page file.
        path: PathBuf,
    },
    /// The file was written by a newer version of the format, or by a development version.
    #[error("{} {}", path.display(), version_detail(*found, *supported))]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// The version that the file states; 0 for a file of a development version before 0.1.
        found: u32,
        /// The newest version known here.
        supported: u32,
    },
    /// A file to be indexed does not consist of the records described.
    #[error("{} does not hold the records described: {detail}", path.display())]
    NotRecords {
        /// The file of records.
        path: PathBuf,
        /// The difference, and what to do.
        detail: String,
    },
    /// A sorted writer received a record that belongs before the previous one.
    #[error(
        "record {record} of {} is out of order: its key is less than the previous one; sort the input, or use the \
         sorting writer",
        path.display()
    )]
    Unsorted {
        /// The table that was being written.
        path: PathBuf,
        /// Number of the offending record, counted from 0.
        record: u64,
    },
    /// A key is longer than the format allows, or does not have the table's fixed width.
    #[error("a key of {length} bytes does not fit {}: {detail}", path.display())]
    KeyLength {
        /// The table.
        path: PathBuf,
        /// Length of the offending key in bytes.
        length: u64,
        /// The lengths that the table accepts.
        detail: String,
    },
    /// A value is longer than the format or the memory budget allows.
    #[error(
        "a value of {length} bytes exceeds the limit of {limit} bytes in {}; {}",
        path.display(), advice_on_length(*limit)
    )]
    ValueTooLarge {
        /// The table.
        path: PathBuf,
        /// Length of the value in bytes.
        length: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The memory limit is too small for a required structure, such as the index of a table. Nothing was changed.
    #[error(
        "{} needs at least {needed_bytes} bytes of memory, but {option} is {given_bytes}; raise it to \
         {needed_bytes} or more",
        path.display()
    )]
    MemoryShort {
        /// The table, or the folder of the store.
        path: PathBuf,
        /// The memory that suffices, in bytes.
        needed_bytes: u64,
        /// The given limit in bytes.
        given_bytes: u64,
        /// The option that sets the limit.
        option: &'static str,
    },
    /// The memory limit of a join is too small for one of its steps.
    #[error("{what}; raise `JoinOptions::memory_bytes`, which is {given_bytes}, to {needed_bytes} or more")]
    JoinMemoryShort {
        /// The step or structure that does not fit.
        what: String,
        /// A limit in bytes that suffices for this step, as far as can be determined; a later step may need more.
        needed_bytes: u64,
        /// The limit of the join, in bytes.
        given_bytes: u64,
    },
    /// An invalid argument; the message states which values are valid.
    #[error("{0}")]
    InvalidArgument(String),
    /// An internal check of the engine's own output failed. Nothing was published, and the input is unchanged.
    #[error(
        "internal error while writing {}: {detail}; nothing was written under that name. This is a bug: please \
         report it with this message, the options, and the keys if you can",
        path.display()
    )]
    Internal {
        /// The file that was being written.
        path: PathBuf,
        /// The check that failed.
        detail: String,
    },
    /// The file that an index refers to has changed since the index was built.
    #[error("{} has changed since its index was built: {detail}; build the index again", path.display())]
    Changed {
        /// The data file.
        path: PathBuf,
        /// The difference.
        detail: String,
    },
    /// An earlier write or sync failed. The state of the file on disk is unknown, so the handle accepts no further
    /// writes.
    #[error(
        "{} is closed to writes after a failed write or sync; close it, see that its storage has space and is sound, \
         and open it again: what was committed is there",
        path.display()
    )]
    Poisoned {
        /// The file.
        path: PathBuf,
    },
    /// The storage cannot do this: objects of an object store, for example, are written once and as a whole.
    #[error("cannot {action} {}: {hint}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The operation, as a verb.
        action: &'static str,
        /// The reason, and what to do instead.
        hint: String,
    },
    /// The lock is held, by another handle of this process or by another process.
    #[error("{} is locked by {}", path.display(), holder(*is_own))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Whether this process holds it.
        is_own: bool,
    },
    /// The page file is not an index.
    #[error("{} is not an Ogive index: {detail}", path.display())]
    NotAnIndex {
        /// The file.
        path: PathBuf,
        /// What is missing.
        detail: String,
    },
    /// The structure of an index is not registered in this program.
    #[error("{} is an index of {}", path.display(), unregistered(*code, *kind))]
    UnregisteredKind {
        /// The index.
        path: PathBuf,
        /// The code of its structure in the file.
        code: u8,
        /// The name of its structure, where the code is a reserved one.
        kind: Option<&'static str>,
    },
    /// A join method is not registered in this program.
    #[error(
        "the join method '{method}' is not registered in this program; call `ogive_papers::register()` for the methods \
         of ogive-papers (or `JoinMethod::register` for one of another crate), or use the command `ogive`"
    )]
    UnregisteredMethod {
        /// The method, as text.
        method: String,
    },
    /// The learning policy of a store is not registered in this program.
    #[error(
        "the learning policy '{name}' belongs to ogive-papers, which this program has not registered; \
         call `ogive_papers::register()`"
    )]
    UnregisteredPolicy {
        /// The name of the policy.
        name: String,
    },
    /// An index was opened with key or payload types other than its own.
    #[error("{} has different key or payload types: {detail}; open it with its own types", path.display())]
    WrongType {
        /// The index.
        path: PathBuf,
        /// The types of the index, and those requested.
        detail: String,
    },
    /// A bulk load requires an empty index.
    #[error("cannot bulk load {}: it has entries already; insert into it, or create a new index", path.display())]
    NotEmpty {
        /// The index.
        path: PathBuf,
    },
    /// A bulk load received a key twice, and the index does not allow duplicates.
    #[error(
        "record {record} of {} repeats the previous key; create the index with duplicates, or remove the repeated \
         record",
        path.display()
    )]
    Repeated {
        /// The index that was being loaded.
        path: PathBuf,
        /// Number of the offending record, counted from 0.
        record: u64,
    },
    /// A change in a transaction failed, so the transaction cannot be committed.
    #[error("a change to {} failed, so its transaction cannot continue; drop it and begin another", path.display())]
    Aborted {
        /// The file.
        path: PathBuf,
    },
    /// A store was opened read-only, or an earlier failure has made it so. Reads are unaffected.
    #[error("{} is read-only{}", path.display(), read_only_since(cause))]
    StoreReadOnly {
        /// The folder of the store.
        path: PathBuf,
        /// The failure.
        cause: String,
    },
    /// Another process or handle has opened a store on an object store for writing since. What this handle has
    /// acknowledged is in the store; what failed with this error is not.
    #[error(
        "{} {}; a store has one writer at a time; open it again to take it back",
        path.display(),
        if *was_opening {
            "was not opened: another writer has opened it meanwhile, or a listing was out of date"
        } else {
            "was taken over by another writer, so this one cannot write any more"
        }
    )]
    Fenced {
        /// The folder of the store.
        path: PathBuf,
        /// Whether this handle was being opened. The newest manifest may then have been there before, and left out by
        /// the listing that the opening has used.
        was_opening: bool,
    },
    /// The version of a store that a reader has open is gone: its writer removed files of it after the grace period.
    #[error(
        "the version of {} that this reader opened was removed by its writer; refresh the reader, or open the store \
         again (or write with a longer `DbOptions::object_grace_s`)",
        path.display()
    )]
    VersionGone {
        /// The folder of the store.
        path: PathBuf,
    },
    /// An object store gave an answer that cannot be right: it contradicts another one, or is none to what was asked.
    /// It says nothing about the data.
    #[error(
        "the object store answered wrongly about {}: {detail}; try again, and if it goes on, check the endpoint, and \
         proxies and caches before it",
        path.display()
    )]
    WrongAnswer {
        /// The URL of the object or folder.
        path: PathBuf,
        /// What is wrong with the answer.
        detail: String,
    },
    /// A store was closed by [`Db::close`](crate::lsm::Db::close), and another of its handles was used after that.
    #[error("{} was closed; open it again", path.display())]
    StoreClosed {
        /// The folder of the store.
        path: PathBuf,
    },
    /// The folder of a store, or the file of an index, is not where it was: another process, or the user, has removed,
    /// renamed or replaced it. What is written to it would be lost, or would get into what is there now.
    #[error("{} was removed, renamed or replaced since it was opened; open it again", path.display())]
    Gone {
        /// The folder of the store, the file of the index, or its lock file.
        path: PathBuf,
    },
    /// A file was closed to limit the number of open files, and another process has removed or replaced it since.
    #[error(
        "{} was closed to save file handles, and {detail} now; open it again, or raise the limit of open files \
         (`ulimit -n`, `--open-files`)",
        path.display()
    )]
    FileReplaced {
        /// The file.
        path: PathBuf,
        /// What its name leads to now.
        detail: &'static str,
    },
    /// A keyspace with records, or with typed handles, was opened with other types than its own.
    #[error(
        "the keyspace {name:?} of {} is {found}, not {asked}; open it with its own types, {}",
        path.display(), how_to_replace_types(*handles)
    )]
    WrongRecordType {
        /// The folder of the store.
        path: PathBuf,
        /// Name of the keyspace.
        name: String,
        /// Its types.
        found: String,
        /// The types requested.
        asked: String,
        /// Typed handles, ranges and batches of this process that use its types; 0 if they are not what forbids others.
        handles: usize,
    },
    /// A table was read with other types than its own.
    #[error("{} is a table of {found}, not {asked}; read it with its own types", path.display())]
    WrongTableType {
        /// The table.
        path: PathBuf,
        /// Its types.
        found: String,
        /// The types requested.
        asked: String,
    },
    /// A keyspace was dropped while in use.
    #[error("the keyspace {name:?} of {} was dropped", path.display())]
    KeyspaceDropped {
        /// The folder of the store.
        path: PathBuf,
        /// Name of the keyspace.
        name: String,
    },
    /// The folder is not an Ogive store.
    #[error("{} is not an Ogive store: {detail}", path.display())]
    NotAStore {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        detail: String,
    },
    /// An object was replaced, truncated or removed while it was open: bytes of two objects are never mixed.
    #[error("{} was changed while it was open: {detail}; open it again", path.display())]
    ObjectChanged {
        /// The URL of the object.
        path: PathBuf,
        /// The difference.
        detail: String,
    },
    /// A URL whose scheme is not registered in this program.
    #[error("cannot open {url}: {detail}")]
    UnknownScheme {
        /// The URL, without its query.
        url: String,
        /// The reason, and what to do.
        detail: String,
    },
    /// The caller requested cancellation. The operation documents the resulting state.
    #[error("interrupted")]
    Interrupted,
}

/// The cause of [`Error::StoreReadOnly`] for a store that was opened so.
pub(crate) const OPENED_READ_ONLY: &str = "it was opened read-only";

/// Why a store is read-only, and what to do.
fn read_only_since(cause: &str) -> String {
    match cause {
        OPENED_READ_ONLY => format!(": {cause}; open it for writing"),
        _ => format!(" after a failure ({cause}); fix the cause, then call `resume`, or open the store again"),
    }
}

impl Error {
    /// The error for a file that begins or ends as those of development versions before 0.1.
    pub(crate) fn development_version(path: impl Into<PathBuf>) -> Self {
        Self::UnknownVersion { path: path.into(), found: 0, supported: 1 }
    }

    /// Whether a storage that does not wait has no answer yet.
    pub(crate) fn is_would_block(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::WouldBlock)
    }

    /// An [`Error::Io`] for `action` on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }

    /// An [`Error::Damaged`] at `offset` of `path`.
    pub fn damaged(path: impl Into<PathBuf>, offset: u64, detail: impl Into<String>) -> Self {
        Self::Damaged { path: path.into(), offset, detail: detail.into() }
    }
}

/// The structure of an index that cannot be opened, and how it can.
fn version_detail(found: u32, supported: u32) -> String {
    match found {
        0 => "was written by a development version of Ogive before 0.1; export it with that version and import it here"
            .to_owned(),
        _ => format!("has format version {found}; this program reads up to version {supported}: use a newer ogive"),
    }
}

fn unregistered(code: u8, kind: Option<&str>) -> String {
    match kind {
        Some(kind) => format!(
            "kind '{kind}', which this program has not registered; \
            call `ogive_papers::register()`, or open it with the command `ogive`"
        ),
        None => format!(
            "a kind with code {code}, which this program has not registered; \
            register the crate of its structure (`IndexKind::register`) before opening it"
        ),
    }
}

/// What helps against a limit on the length of a value: that of the formats, or that of a memory budget.
fn advice_on_length(limit_bytes: u64) -> &'static str {
    match limit_bytes {
        VALUE_BYTES_MAX => "no value may be longer, so divide it over several keys",
        _ => "read it as a stream with `value_reader`, or raise `memory_bytes`",
    }
}

/// The holder of a lock, and what to do.
fn holder(is_own: bool) -> &'static str {
    match is_own {
        true => "this process already, through another handle; close that one first",
        false => "another process; wait for it to finish",
    }
}

/// An error of the system in its words; the standard library calls a missing file an entity.
fn plain(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound if is_bare(source) => "no such file or directory".into(),
        io::ErrorKind::AlreadyExists if is_bare(source) => "the name is taken".into(),
        _ => source.to_string(),
    }
}

/// Whether an error has no words but those of its kind.
fn is_bare(source: &io::Error) -> bool {
    source.raw_os_error().is_none() && source.get_ref().is_none()
}

/// What a person can do about the usual refusals of the operating system.
fn hint(action: &str, source: &io::Error) -> &'static str {
    if is_too_many_open_files(source) {
        return " (close other files, or raise the limit of open files: `ulimit -n`)";
    }
    if action.starts_with("start a thread") {
        return " (use fewer threads, or raise the limit of threads: `ulimit -u`)";
    }
    if source.get_ref().is_some() {
        // Its words include the advice.
        return "";
    }
    match source.kind() {
        io::ErrorKind::NotFound => " (check the path)",
        io::ErrorKind::PermissionDenied => " (check the permissions)",
        io::ErrorKind::StorageFull => " (free some space and try again)",
        io::ErrorKind::AlreadyExists => " (choose another name, or remove it first)",
        io::ErrorKind::IsADirectory => " (a table or an index is a file; a store is a folder)",
        io::ErrorKind::NotADirectory => " (a store is a folder; a table or an index is a file)",
        _ => "",
    }
}

/// The way to other types of a keyspace whose types are in use.
fn how_to_replace_types(handles: usize) -> String {
    match handles {
        0 => "or use another keyspace".to_owned(),
        1 => "or drop the 1 typed handle, range or batch that uses them; it has no records".to_owned(),
        _ => format!("or drop the {handles} typed handles, ranges and batches that use them; it has no records"),
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
    let Error::Io { source, .. } = error else { return false };
    match source.raw_os_error() {
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
    let Error::Io { action: "open", source, .. } = error else { return false };
    matches!(source.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::NotSeekable)
        || cfg!(unix) && source.raw_os_error() == Some(LOOP)
        || is_device_error(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_engine_itself_name_files_and_no_entities() {
        for kind in [io::ErrorKind::NotFound, io::ErrorKind::AlreadyExists] {
            let message = Error::io("open", "here", kind.into()).to_string();
            assert!(!message.contains("entity") && message.starts_with("cannot open here: "), "{message}");
        }
    }
}
