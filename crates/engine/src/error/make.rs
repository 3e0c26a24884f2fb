//! Constructors of errors: one for each situation, with the advice for it.

use super::message::Message;
use super::{Advice, Call, Cause, Error, Facts, Library, Setting, VALUE_BYTES_MAX};
use std::io;
use std::path::PathBuf;

/// Why a store that was opened read-only is so.
const OPENED_READ_ONLY: &str = "is read-only: it was opened so";

/// The error of a conflict shows this many bytes of a key, at most.
const CONFLICT_KEY_BYTES_MAX: usize = 64;

/// A key, or its beginning, as the error of a conflict shows it.
fn shown_key(key: &[u8]) -> String {
    let shown = key.get(..CONFLICT_KEY_BYTES_MAX).unwrap_or(key);
    let rest = if shown.len() < key.len() { "..." } else { "" };
    format!("\"{}{rest}\"", shown.escape_ascii())
}

impl Error {
    #[cold]
    fn new(cause: Cause, facts: Facts) -> Self {
        Self { cause, facts: Box::new(facts) }
    }

    /// An error about a file or folder.
    fn of(cause: Cause, path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::new(cause, Facts { path: Some(path.into()), detail: detail.into(), ..Facts::default() })
    }

    fn or_use(self, call: Call) -> Self {
        self.advise(Advice::Use(call))
    }

    /// An error of the system for `action`, a verb phrase such as "read", on `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        let is_bare = source.get_ref().is_none();
        let advice = (source.kind() == io::ErrorKind::NotFound && is_bare).then(|| Advice::Look(path.clone()));
        let detail = source.to_string();
        let cause = Cause::Io(source.kind());
        Self::new(cause, Facts { path: Some(path), action, detail, source: Some(source), advice, ..Facts::default() })
    }

    /// Damage at `offset` of `path`, in bytes.
    pub fn damaged(path: impl Into<PathBuf>, offset: u64, detail: impl Into<String>) -> Self {
        let mut error = Self::of(Cause::Damaged, path, detail);
        error.facts.offset = Some(offset);
        error.or_use(Call::Verify)
    }

    /// An invalid argument; the detail states which values are valid.
    pub fn input(detail: impl Into<String>) -> Self {
        Self::new(Cause::Input, Facts { detail: detail.into(), ..Facts::default() })
    }

    /// A design of an index, or a builder of its layers, that only `ogive-research` registers.
    pub(crate) fn design_of_papers(name: &str) -> Self {
        Self::input(format!("the design '{name}' is one of papers, which this program has not registered"))
            .or_use(Call::RegisterPapers)
    }

    /// The end that the caller requested.
    pub fn interrupted() -> Self {
        Self::new(Cause::Interrupted, Facts { detail: "interrupted".to_owned(), ..Facts::default() })
    }

    /// What a storage cannot do: `action` is a verb phrase, and the detail says why, and what to do instead.
    pub fn unsupported(path: impl Into<PathBuf>, action: &'static str, detail: impl Into<String>) -> Self {
        let mut error = Self::of(Cause::Unsupported, path, detail);
        error.facts.action = action;
        error
    }

    /// A lock that is held, by this process or another.
    pub fn locked(path: impl Into<PathBuf>, is_own: bool) -> Self {
        let (holder, call) = match is_own {
            true => ("is locked by this process already, through another handle", Call::CloseOther),
            false => ("is locked by another process", Call::WaitForOther),
        };
        Self::of(Cause::Locked { is_own }, path, holder).or_use(call)
    }

    /// A lock that another process holds, whose number the lock file states.
    pub(crate) fn locked_by(path: impl Into<PathBuf>, process: u32) -> Self {
        let holder = format!("is locked by process {process}");
        Self::of(Cause::Locked { is_own: false }, path, holder).or_use(Call::WaitForOther)
    }

    /// A file whose earlier write or sync failed.
    pub fn poisoned(path: impl Into<PathBuf>) -> Self {
        let detail = "is closed to writes after a failed write or sync; what was committed is there";
        Self::of(Cause::Poisoned, path, detail).or_use(Call::OpenRecovered)
    }

    /// A folder, file or lock that is not where it was.
    pub fn gone(path: impl Into<PathBuf>) -> Self {
        Self::of(Cause::Gone, path, "was removed, renamed or replaced since it was opened").or_use(Call::OpenAgain)
    }

    /// An answer of an object store that cannot be right.
    pub fn wrong_answer(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::WrongAnswer, path, detail).or_use(Call::AskAgain)
    }

    /// An object that has changed while it was open.
    pub fn object_changed(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::ObjectChanged, path, detail).or_use(Call::OpenAgain)
    }

    /// A URL whose scheme nothing in this program serves.
    pub fn unknown_scheme(url: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::UnknownScheme, url, detail)
    }

    /// A file of which nothing can be saved.
    pub(crate) fn not_repairable(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::NotRepairable, path, detail)
    }

    #[doc(hidden)]
    pub fn not_a_table(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::NotATable, path, detail)
    }

    pub(crate) fn not_an_index(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::NotAnIndex, path, detail)
    }

    pub(crate) fn not_a_store(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::NotAStore, path, detail)
    }

    /// A file with several names, which the detail lists.
    pub(crate) fn other_names(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::OtherNames, path, detail)
    }

    /// A log of `log_bytes` that `reader` keeps from being truncated.
    pub(crate) fn log_full(path: impl Into<PathBuf>, log_bytes: u64, limit_bytes: u64, reader: &str) -> Self {
        let detail = format!(
            "has reached {log_bytes} bytes, beyond its limit of {limit_bytes} bytes, and {reader} keeps it from being \
             truncated"
        );
        Self::of(Cause::LogFull, path, detail).or_use(Call::DropSnapshots)
    }

    pub(crate) fn snapshot_gone(path: impl Into<PathBuf>) -> Self {
        let detail = "has changed since this reader opened it, and its snapshot is gone";
        Self::of(Cause::SnapshotGone, path, detail).or_use(Call::OpenAgain)
    }

    /// A file of another version than those known, up to `supported`.
    pub(crate) fn version(path: impl Into<PathBuf>, found: u32, supported: u32) -> Self {
        let detail = match found {
            0 => "was written by a development version of Ogive before 0.1; export it with that version and import it \
                  here"
                .to_owned(),
            _ => {
                format!("has format version {found}; this program reads up to version {supported}: use a newer ogive")
            }
        };
        Self::of(Cause::Version { found, supported }, path, detail)
    }

    /// The error for a file that begins or ends as those of development versions before 0.1.
    pub(crate) fn development_version(path: impl Into<PathBuf>) -> Self {
        Self::version(path, 0, 1)
    }

    /// A file to be indexed that does not consist of the records described.
    pub(crate) fn not_records(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::NotRecords, path, detail)
    }

    /// A record that belongs before the previous one; `record` is its number, counted from 0.
    #[doc(hidden)]
    pub fn unsorted(path: impl Into<PathBuf>, record: u64) -> Self {
        let detail = "is out of order: its key is less than the previous one";
        Self::of(Cause::Unsorted { record }, path, detail).or_use(Call::Sort)
    }

    /// A key that comes twice; `record` is the number of the second one, counted from 0.
    pub(crate) fn repeated(path: impl Into<PathBuf>, record: u64) -> Self {
        Self::of(Cause::Repeated { record }, path, "repeats the previous key").or_use(Call::AllowDuplicates)
    }

    pub(crate) fn not_empty(path: impl Into<PathBuf>) -> Self {
        Self::of(Cause::NotEmpty, path, "has entries already, so it cannot be bulk loaded").or_use(Call::Insert)
    }

    /// A key of `length` bytes that does not fit; the detail states which lengths do.
    #[doc(hidden)]
    pub fn key_length(path: impl Into<PathBuf>, length: u64, detail: impl Into<String>) -> Self {
        Self::of(Cause::KeyLength { length }, path, detail)
    }

    /// A value of `length` bytes beyond a limit: that of the formats, or that of the memory.
    #[doc(hidden)]
    pub fn value_too_large(path: impl Into<PathBuf>, length: u64, limit: u64) -> Self {
        let error = Self::of(Cause::ValueTooLarge { length, limit }, path, "");
        if limit == VALUE_BYTES_MAX { error } else { error.or_use(Call::ReadStream) }
    }

    /// A memory limit, set by `option`, that is too small.
    #[doc(hidden)]
    pub fn memory(path: impl Into<PathBuf>, needed_bytes: u64, given_bytes: u64, option: Setting) -> Self {
        let cause = Cause::Memory { needed_bytes, given_bytes };
        Self::of(cause, path, "").advise(Advice::Raise { option, to: Some(needed_bytes) })
    }

    /// A memory limit of a join that is too small for `what`.
    pub(crate) fn join_memory(what: impl Into<String>, needed_bytes: u64, given_bytes: u64) -> Self {
        let cause = Cause::JoinMemory { needed_bytes, given_bytes };
        let advice = Advice::Raise { option: Setting::JoinMemory, to: Some(needed_bytes) };
        Self::new(cause, Facts { detail: what.into(), ..Facts::default() }).advise(advice)
    }

    /// A failed check of the engine's own output.
    pub(crate) fn bug(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::Bug, path, detail).or_use(Call::Report)
    }

    /// A data file that has changed since its index was built.
    pub(crate) fn changed(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::of(Cause::Changed, path, detail).or_use(Call::Build)
    }

    /// An index of a structure that is not registered; `kind` is the name of a reserved one.
    pub(crate) fn unregistered_kind(path: impl Into<PathBuf>, code: u8, kind: Option<&str>) -> Self {
        let (structure, call) = match kind {
            Some(kind) => (format!("kind '{kind}'"), Call::RegisterPapers),
            None => (format!("a kind with code {code}"), Call::RegisterKind),
        };
        let detail = format!("is an index of {structure}, which this program has not registered");
        let mut error = Self::of(Cause::UnregisteredKind { code }, path, detail).or_use(call);
        error.facts.name = kind.unwrap_or_default().to_owned();
        error
    }

    pub(crate) fn unregistered_method(method: impl Into<String>) -> Self {
        let name = method.into();
        let detail = format!("the join method '{name}' is not registered in this program");
        Self::new(Cause::UnregisteredMethod, Facts { name, detail, ..Facts::default() }).or_use(Call::RegisterMethod)
    }

    pub(crate) fn unregistered_policy(name: impl Into<String>) -> Self {
        let name = name.into();
        let detail = format!("the learning policy '{name}' is one of papers, which this program has not registered");
        Self::new(Cause::UnregisteredPolicy, Facts { name, detail, ..Facts::default() }).or_use(Call::RegisterPapers)
    }

    /// An index whose own types the detail states, and those requested.
    pub(crate) fn wrong_type(path: impl Into<PathBuf>, detail: &str) -> Self {
        let detail = format!("has different key or payload types: {detail}");
        Self::of(Cause::WrongType { handles: 0 }, path, detail).or_use(Call::OwnTypes)
    }

    /// A keyspace of the types `found`; `handles` typed handles, ranges and batches of this process use them, if that
    /// is what forbids others.
    #[doc(hidden)]
    pub fn wrong_record_type(
        path: impl Into<PathBuf>,
        name: impl Into<String>,
        [found, asked]: [&str; 2],
        handles: usize,
    ) -> Self {
        let others = match handles {
            0 => ", or use another keyspace".to_owned(),
            1 => ", or drop the 1 typed handle, range or batch that uses them; it has no records".to_owned(),
            _ => format!(", or drop the {handles} typed handles, ranges and batches that use them; it has no records"),
        };
        let detail = format!("is {found}, not {asked}; open it with its own types{others}");
        let mut error = Self::of(Cause::WrongType { handles }, path, detail);
        error.facts.name = name.into();
        error
    }

    /// A table of the types `found`.
    pub(crate) fn wrong_table_type(path: impl Into<PathBuf>, found: &str, asked: &str) -> Self {
        let detail = format!("is a table of {found}, not {asked}");
        Self::of(Cause::WrongType { handles: 0 }, path, detail).or_use(Call::OwnTypes)
    }

    pub(crate) fn aborted(path: impl Into<PathBuf>) -> Self {
        let detail = "has a transaction that cannot continue, since one of its changes failed";
        Self::of(Cause::Aborted, path, detail).or_use(Call::BeginAgain)
    }

    pub(crate) fn opened_read_only(path: impl Into<PathBuf>) -> Self {
        Self::of(Cause::ReadOnly, path, OPENED_READ_ONLY).or_use(Call::OpenForWriting)
    }

    /// A store that takes no writes since a failure.
    pub(crate) fn stopped(path: impl Into<PathBuf>, failure: &StoreFailure) -> Self {
        let error = Self::of(Cause::ReadOnly, path, format!("is read-only after a failure ({})", failure.message));
        match &failure.advice {
            Some(raise @ Advice::Raise { .. }) => error.advise(raise.clone()),
            _ => error.or_use(Call::Resume),
        }
    }

    /// A store that another writer has opened; `was_opening` if this handle was being opened. The newest manifest may
    /// then have been there before, and left out by the listing that the opening has used.
    pub(crate) fn fenced(path: impl Into<PathBuf>, was_opening: bool) -> Self {
        let detail = match was_opening {
            true => "was not opened: another writer has opened it meanwhile, or a listing was out of date",
            false => "was taken over by another writer, so this one cannot write any more",
        };
        Self::of(Cause::Fenced, path, detail).or_use(Call::TakeBack)
    }

    pub(crate) fn version_gone(path: impl Into<PathBuf>) -> Self {
        let detail = "has no longer the version that this reader opened: its writer has removed it";
        Self::of(Cause::VersionGone, path, detail).or_use(Call::Refresh)
    }

    /// Changes that a follower asks for, and that are gone.
    pub(crate) fn changes_gone(path: impl Into<PathBuf>, oldest: u64) -> Self {
        let detail = format!(
            "does not have the next changes any more, and those behind number {oldest} at most; read all its records, \
             and follow it from there"
        );
        Self::of(Cause::ChangesGone { oldest }, path, detail)
    }

    /// A subscriber that is not there.
    pub(crate) fn no_subscriber(path: impl Into<PathBuf>, name: &str) -> Self {
        let path = path.into();
        let detail = format!("{} has no subscriber {name:?}, or it was removed", path.display());
        Self::of(Cause::Input, path, detail).or_use(Call::Subscribe)
    }

    /// A transaction that was not committed, and what happened to a keyspace that it has read.
    pub(crate) fn conflict(path: impl Into<PathBuf>, name: &str, detail: impl Into<String>) -> Self {
        let mut error = Self::of(Cause::Conflict, path, detail).or_use(Call::BeginAgain);
        error.facts.name = name.to_owned();
        error
    }

    /// A clock that is further ahead of the time of the store than it may be.
    pub(crate) fn clock_ahead(store: impl Into<PathBuf>, time: &str, clock: &str) -> Self {
        let store = store.into();
        let detail = format!(
            "the clock says {clock}, but by what has passed since {} was last written it is at most {time}, by \
             which records expire: no new one is written that does, and those that have expired since are still read; \
             set the clock",
            store.display()
        );
        let mut error = Self::of(Cause::Input, store, detail);
        error.facts.advice = Some(Advice::Raise { option: Setting::ClockAhead, to: None });
        error
    }

    /// A clock that is as far behind the time of the store as it must not be ahead of it.
    pub(crate) fn clock_behind(store: impl Into<PathBuf>, time: &str, clock: &str) -> Self {
        let store = store.into();
        let detail = format!(
            "the clock says {clock}, but the time of {}, by which records expire, is {time} and never goes back: no \
             new one is written that expires, since it might have done so already; set the clock, or, if it was ahead \
             when the store was written, copy the records to a new store",
            store.display()
        );
        let mut error = Self::of(Cause::Input, store, detail);
        error.facts.advice = Some(Advice::Raise { option: Setting::ClockAhead, to: None });
        error
    }

    /// A transaction that has read a key that was written since.
    pub(crate) fn conflict_of_key(path: impl Into<PathBuf>, name: &str, key: &[u8]) -> Self {
        let detail = format!("its key {} was written since the transaction began", shown_key(key));
        let mut error = Self::conflict(path, name, detail);
        error.facts.key = Some(key.to_vec());
        error
    }

    /// A batch that was not committed, since a key does not have the value that it expects.
    pub(crate) fn other_value(path: impl Into<PathBuf>, name: &str, key: &[u8]) -> Self {
        let detail = format!("its key {} does not have the value that is expected; read it again", shown_key(key));
        let mut error = Self::of(Cause::Conflict, path, detail);
        (error.facts.name, error.facts.key) = (name.to_owned(), Some(key.to_vec()));
        error
    }

    /// A write that was refused by a unique index: the keys of its row and of the one that has its values.
    pub(crate) fn not_unique(
        path: impl Into<PathBuf>,
        (name, index): (&str, &str),
        (key, other): (&[u8], &[u8]),
        detail: impl Into<String>,
    ) -> Self {
        let mut error = Self::of(Cause::NotUnique, path, detail);
        (error.facts.name, error.facts.key) = (name.to_owned(), Some(key.to_vec()));
        error.facts.refusal = Some((index.to_owned(), other.to_vec()));
        error
    }

    #[doc(hidden)]
    pub fn closed(path: impl Into<PathBuf>) -> Self {
        Self::of(Cause::Closed, path, "was closed").or_use(Call::OpenAgain)
    }

    /// A file that was closed to save file handles, and what its name leads to now.
    pub(crate) fn file_replaced(path: impl Into<PathBuf>, now: &str) -> Self {
        let detail = format!("was closed to save file handles, and {now} now; open it again");
        let advice = Advice::Raise { option: Setting::OpenFiles, to: None };
        Self::of(Cause::FileReplaced, path, detail).advise(advice)
    }

    #[doc(hidden)]
    pub fn keyspace_dropped(path: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        let mut error = Self::of(Cause::KeyspaceDropped, path, "");
        error.facts.name = name.into();
        error
    }
}

/// The failure that has closed a store to writes.
#[derive(Clone, Debug)]
pub(crate) struct StoreFailure {
    message: String,
    advice: Option<Advice>,
}

impl From<&Error> for StoreFailure {
    fn from(error: &Error) -> Self {
        // Whether the commit that met it has an outcome does not matter to later ones.
        Self { message: Message { error, voice: &Library }.to_string(), advice: error.advice().cloned() }
    }
}

impl From<&str> for StoreFailure {
    fn from(message: &str) -> Self {
        Self { message: message.to_owned(), advice: None }
    }
}
