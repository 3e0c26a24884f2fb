//! Messages: what failed and where, in words that all interfaces share.

use super::{Cause, Error, VALUE_BYTES_MAX, Voice, is_too_many_open_files};
use std::fmt;
use std::io;
use std::path::Path;

/// What an error says without what to do. It names no method and no option.
pub(super) struct Message<'a> {
    pub(super) error: &'a Error,
    pub(super) voice: &'a dyn Voice,
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.error;
        let (path, detail) = (error.path().unwrap_or(Path::new("")).display(), error.detail());
        match error.cause {
            Cause::Io(_) => self.system_error(f),
            Cause::WrongAnswer => write!(f, "the object store answered wrongly about {path}: {detail}"),
            Cause::Damaged => match error.offset() {
                Some(offset) => write!(f, "{path} is damaged at byte {offset}: {detail}"),
                None => write!(f, "{path} is damaged: {detail}"),
            },
            Cause::NotRepairable => write!(f, "nothing of {path} can be saved: {detail}"),
            Cause::Changed => write!(f, "{path} has changed since its index was built: {detail}"),
            Cause::LogFull => write!(f, "the log of {path} {detail}"),
            Cause::ObjectChanged => write!(f, "{path} was changed while it was open: {detail}"),
            Cause::NotATable => write!(f, "{path} is not an Ogive table: {detail}"),
            Cause::NotAnIndex => write!(f, "{path} is not an Ogive index: {detail}"),
            Cause::NotAStore => write!(f, "{path} is not an Ogive store: {detail}"),
            Cause::NotRecords => write!(f, "{path} does not hold the records described: {detail}"),
            Cause::OtherNames => write!(f, "{path} has other names: {detail}"),
            Cause::Unsupported => write!(f, "cannot {} {path}: {detail}", error.action()),
            Cause::UnknownScheme => write!(f, "cannot open {path}: {detail}"),
            Cause::Unsorted { record } | Cause::Repeated { record } => write!(f, "record {record} of {path} {detail}"),
            Cause::KeyLength { length } => write!(f, "a key of {length} bytes does not fit {path}: {detail}"),
            Cause::ValueTooLarge { length, limit } => {
                write!(f, "a value of {length} bytes exceeds the limit of {limit} bytes in {path}")?;
                let is_of_formats = limit == VALUE_BYTES_MAX;
                f.write_str(if is_of_formats { "; no value may be longer, so divide it over several keys" } else { "" })
            }
            Cause::Memory { needed_bytes, given_bytes } => {
                let (needed, given) = (self.voice.bytes(needed_bytes), self.voice.bytes(given_bytes));
                write!(f, "{path} needs at least {needed} of memory, but may take {given}")
            }
            Cause::JoinMemory { given_bytes, .. } => {
                write!(f, "{detail}; the join may take {}", self.voice.bytes(given_bytes))
            }
            Cause::Conflict => {
                write!(f, "conflict in the keyspace {:?} of {path}: {detail}", error.name())
            }
            Cause::NotUnique => write!(f, "not unique in the keyspace {:?} of {path}: {detail}", error.name()),
            Cause::KeyspaceDropped => write!(f, "the keyspace {:?} of {path} was dropped", error.name()),
            Cause::WrongType { .. } if !error.name().is_empty() => {
                write!(f, "the keyspace {:?} of {path} {detail}", error.name())
            }
            Cause::Bug => write!(
                f,
                "internal error while writing {path}: {detail}; nothing was written under that name. This is a bug"
            ),
            Cause::Interrupted | Cause::Input | Cause::UnregisteredMethod | Cause::UnregisteredPolicy => {
                f.write_str(detail)
            }
            Cause::Poisoned
            | Cause::ReadOnly
            | Cause::Aborted
            | Cause::Gone
            | Cause::Version { .. }
            | Cause::Locked { .. }
            | Cause::SnapshotGone
            | Cause::VersionGone
            | Cause::ChangesGone { .. }
            | Cause::Fenced
            | Cause::FileReplaced
            | Cause::WrongType { .. }
            | Cause::NotEmpty
            | Cause::Closed
            | Cause::UnregisteredKind { .. } => write!(f, "{path} {detail}"),
        }
    }
}

impl Message<'_> {
    fn system_error(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(source) = self.error.io_error() else { return f.write_str(self.error.detail()) };
        let (action, path) = (self.error.action(), self.error.path().unwrap_or(Path::new("")).display());
        write!(f, "cannot {action} {path}: {}{}", plain(source), hint(action, source))
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

/// What a person can do about the usual refusals of the operating system, with any interface.
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
        io::ErrorKind::PermissionDenied => " (check the permissions)",
        io::ErrorKind::StorageFull => " (free some space and try again)",
        io::ErrorKind::AlreadyExists => " (choose another name, or remove it first)",
        io::ErrorKind::IsADirectory => " (a table or an index is a file; a store is a folder)",
        io::ErrorKind::NotADirectory => " (a store is a folder; a table or an index is a file)",
        _ => "",
    }
}
