//! Stores as the commands name and open them: folder, keyspace, memory, and the open keyspace as an ordered map.

use super::clock::{ClockAhead, open_to_read, warn_of_clock};
use super::kept_facts::KeptFacts;
use super::keys::{self, Brought, Keys};
use super::rows;
use super::stats::StoreStats;
use super::stoppable::Stoppable;
use crate::advice::{Foreign, foreign};
use crate::commands::ordered_map::{Change, OrderedMap, Report, Window, WritableMap};
use crate::export::RecordVisitor;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::reading::bounds::Bounds;
use crate::urls::{is_url, path_argument};
use crate::values::key;
use crate::values::records::RecordFields;
use crate::values::size::{ByteSize, duration, whole_number};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::Durability;
use ogive::block::Slice;
use ogive::io::Storage;
use ogive::lsm::{Db, DbOptions, Keyspace, KeyspaceStats, ManifestSummary, NamedKeys};
use ogive::types::{RecordType, ValueType};
use ogive::verify::verify_store_within;
use ogive::{Cause, Error, FileFormat, KeyType};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Read;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

/// The keyspace that every store has.
pub(super) const DEFAULT_KEYSPACE: &str = "default";

/// Entries between two looks at the clock.
const ENTRIES_A_STEP: u64 = 1 << 13;

/// The store, and how to open it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreFolder {
    /// Folder of the store, or its URL: s3://BUCKET/FOLDER
    #[arg(value_name = "STORE", value_parser = OsStringValueParser::new().try_map(path_argument))]
    pub(super) folder: PathBuf,

    /// Upper limit of the memory of the store, caches and memtables included
    #[arg(long, value_name = "N", default_value = "256MiB", help_heading = "Store")]
    memory: ByteSize,

    /// Maximum number of open files [default: half of the limit of the process]
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, help_heading = "Store")]
    open_files: Option<usize>,

    /// How long to wait for another process that has the store open for writing, or makes a backup to the same place,
    /// as in 10s
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration, help_heading = "Store")]
    wait: Duration,

    #[command(flatten)]
    clock: ClockAhead,
}

/// A store, or one keyspace of it.
#[derive(Clone, Debug)]
pub(crate) struct StorePart {
    pub(crate) store: StoreFolder,
    /// The keyspace; `None` for all.
    pub(crate) keyspace: Option<String>,
}

/// A keyspace of a store.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct KeyspaceName {
    #[command(flatten)]
    pub(super) store: StoreFolder,

    /// Keyspace: a named map within the store
    #[arg(long, value_name = "NAME", default_value = DEFAULT_KEYSPACE, help_heading = "Store")]
    pub(super) keyspace: String,
}

/// A keyspace of a store and its key type.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KeyspaceOptions {
    #[command(flatten)]
    pub(super) name: KeyspaceName,

    /// Type of the keys: bool, u8 to u128, i8 to i128, f32, f64, text, bytes, bytes1 to bytes255, uuid, date,
    /// time(UNIT), timestamp(UNIT), decimal(P,S), or a tuple such as '(text, date desc)' [default: as imported, else
    /// bytes]
    #[arg(long = "key-type", alias = "keys", value_name = "TYPE", help_heading = "Store")]
    pub(super) keys: Option<KeyType>,
}

/// An open keyspace.
#[derive(Debug)]
pub(crate) struct OpenKeyspace {
    pub(super) db: Db,
    pub(super) keyspace: Keyspace,
    pub(super) keys: Keys,
    /// The types that the store states, or is to state with the first write.
    pub(super) types: Arc<RecordType>,
    /// The columns of its records, with the key type as requested.
    pub(super) fields: RecordFields,
    /// Whether this command created it.
    pub(super) is_new: bool,
    /// Whether only the tables of some keys are open.
    is_part: bool,
}

/// The columns of records of these types, with keys of another type.
fn fields(types: &RecordType, keys: Keys) -> RecordFields {
    RecordFields::new(&RecordType { keys: keys.key_type(), ..types.clone() })
}

impl fmt::Display for StoreFolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.folder.display().fmt(formatter)
    }
}

impl fmt::Display for StorePart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(formatter)
    }
}

impl StorePart {
    /// Opens the store read-only; also the statistics of its keyspaces, or of the one that is named.
    ///
    /// # Errors
    /// [`Failure::Refused`] when there is none of that name.
    pub(super) fn read(&self) -> Result<(Db, Vec<KeyspaceStats>)> {
        let db = self.store.read()?;
        let mut keyspaces = rows::keyspaces(&db);
        if let Some(name) = &self.keyspace {
            existing(&db, &self.store.folder, name)?;
            keyspaces.retain(|keyspace| keyspace.name == *name);
        }
        Ok((db, keyspaces))
    }
}

impl StoreFolder {
    pub(super) fn options(&self) -> DbOptions {
        let memory_bytes = self.memory.0;
        let memtable_bytes = (memory_bytes / 4).min(DbOptions::default().writes.memtable_bytes);
        let options = DbOptions::default()
            .memory_bytes(memory_bytes)
            .writes(|writes| writes.memtable_bytes(memtable_bytes))
            .open_files(self.open_files)
            .create(false)
            .wait_for_lock(self.wait);
        self.clock.applied_to(options)
    }

    /// The store at a path.
    pub(crate) fn at(folder: PathBuf, memory: ByteSize, open_files: Option<usize>) -> Self {
        Self { folder, memory, open_files, wait: Duration::ZERO, clock: ClockAhead::default() }
    }

    /// The same, with a clock that may be so far ahead.
    pub(crate) fn clock(self, clock: ClockAhead) -> Self {
        Self { clock, ..self }
    }

    /// Opens the store read-only.
    pub(super) fn read(&self) -> Result<Db> {
        self.check_there()?;
        open_to_read(&self.folder, &self.options())
    }

    /// Opens the store for writing.
    pub(super) fn write(&self) -> Result<Db> {
        self.check_there()?;
        Ok(Db::open(&self.folder, &self.options())?)
    }

    /// Opens the store for writing, and raises its format.
    pub(super) fn upgrade(&self) -> Result<Db> {
        self.check_there()?;
        Ok(Db::open(&self.folder, &self.options().upgrade(true))?)
    }

    /// How long to wait for other processes.
    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    /// The limit of its memory in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory.0
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// The names of all files behind a URL; none for a folder of the local file system.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        if is_url(&self.folder) { Ok(self.options().storage(&self.folder)?.list()?) } else { Ok(Vec::new()) }
    }

    /// The folder, with long work ended by interrupts.
    pub(super) fn stoppable(&self, interrupt: &Interrupt) -> Result<Arc<dyn Storage>> {
        Ok(Stoppable::around(self.options().storage(&self.folder)?, interrupt))
    }

    /// Opens the store for writing that may be interrupted, and counts the bytes that are read of tables and values.
    pub(super) fn write_counted(&self, interrupt: &Interrupt, read_bytes: &Arc<AtomicU64>) -> Result<Db> {
        self.check_there()?;
        let storage = Stoppable::counting(self.options().storage(&self.folder)?, interrupt, read_bytes);
        Db::open(storage, &self.options()).map_err(|error| match error {
            Error { cause: Cause::Interrupted, .. } => Failure::from(error).but("the store is unchanged"),
            error => error.into(),
        })
    }

    /// Opens the store for writing, and creates it if necessary.
    pub(super) fn create(&self, durability: Durability) -> Result<Db> {
        refuse_file(&self.folder)?;
        refuse_object(&self.folder)?;
        refuse_http(&self.folder)?;
        Ok(Db::open(&self.folder, &self.options().create(true).durability(durability))?)
    }

    /// Whether a file lies directly in the folder.
    pub(super) fn is_parent_of(&self, file: &Path) -> bool {
        file.parent().is_some_and(|parent| parent.components().eq(self.folder.components()))
    }

    /// Refuses a URL, for what is done in folders only.
    pub(super) fn refuse_url(&self, what: &str) -> Result<()> {
        if !is_url(&self.folder) {
            return Ok(());
        }
        let hint = "restore a backup; or copy all objects of the prefix with a tool of the object store, and keep them";
        Err(Failure::refused(format!("{}: a store in an object store is not {what}", self.folder.display()), hint))
    }

    /// Refuses a missing folder.
    pub(super) fn check_there(&self) -> Result<()> {
        check_there(&self.folder)
    }
}

/// A keyspace of the store in a folder.
///
/// # Errors
/// [`Failure::Refused`] when there is none of that name.
pub(super) fn existing(db: &Db, folder: &Path, name: &str) -> Result<Keyspace> {
    let names = keys::named(db);
    if !names.iter().any(|known| known == name) {
        let message = format!("{}: the keyspace {name:?} was not found", folder.display());
        return Err(Failure::refused(message, format!("existing keyspaces: {}", names.join(", "))));
    }
    Ok(db.keyspace(name)?)
}

/// The hint to choose another keyspace by this flag, if this one is the default and empty, but others are not: commands
/// on it find nothing.
pub(super) fn hint_on_emptiness(db: &Db, keyspace: &Keyspace, flag: &str) -> Result<Option<String>> {
    if keyspace.name() != DEFAULT_KEYSPACE || !keyspace.is_empty()? {
        return Ok(None);
    }
    let mut full = Vec::new();
    for name in keys::named(db).into_iter().filter(|name| name != DEFAULT_KEYSPACE) {
        if !db.keyspace(&name)?.is_empty()? {
            full.push(name);
        }
    }
    let hint = || format!("hint: the keyspace {DEFAULT_KEYSPACE} is empty; use {flag}: {}", full.join(", "));
    Ok((!full.is_empty()).then(hint))
}

/// What is told of copies in other formats of a keyspace whose records expire.
pub(super) fn lost_expiry(keyspace: &str) -> String {
    format!(
        "note: records of the keyspace {keyspace} may expire, and the copy does not have the times at which they do; \
         `ogive db changes` prints them, and checkpoints and backups keep them"
    )
}

/// Whether there is a folder. Behind a URL, where folders are parts of names, the opening tells.
pub(super) fn is_there(folder: &Path) -> bool {
    is_url(folder) || folder.exists()
}

/// Refuses the URL of a file, where a store would hide it.
fn refuse_object(folder: &Path) -> Result<()> {
    // What has no name, or cannot be looked for, is up to the opening.
    let place = is_url(folder).then(|| crate::urls::place(folder, false)).and_then(ogive::Result::ok);
    if place.is_some_and(|(storage, name)| matches!(storage.exists(&name), Ok(true))) {
        let message = format!("{} is a file, but a store is a folder", folder.display());
        return Err(Failure::refused(message, "choose another URL for the store, or use `ogive get`"));
    }
    Ok(())
}

/// Refuses an address of the web, which is read only.
fn refuse_http(folder: &Path) -> Result<()> {
    if !crate::urls::is_http(folder) {
        return Ok(());
    }
    let hint = "write by the protocol of the store: s3://, gs:// or az://, with its endpoint in the environment or \
                by --storage-option endpoint=...";
    Err(Failure::refused(format!("{} cannot be written: http is read only", folder.display()), hint))
}

/// Refuses a missing folder, and a file.
pub(super) fn check_there(folder: &Path) -> Result<()> {
    refuse_file(folder)?;
    if is_there(folder) {
        return Ok(());
    }
    let hint = "check the path; `ogive db put` and `ogive db import` create a store";
    Err(Failure::refused(format!("{}: not found", folder.display()), hint))
}

/// Refuses a missing folder of backups.
pub(super) fn check_backups_there(folder: &Path) -> Result<()> {
    if is_url(folder) || folder.is_dir() {
        return Ok(());
    }
    let hint = "check the path; `ogive db backup` makes backups of a store";
    Err(Failure::refused(format!("{}: no such folder", folder.display()), hint))
}

/// Refuses the store's folder as the place of something that is made of it.
pub(super) fn refuse_same(store: &StoreFolder, place: &Path, what: &str) -> Result<()> {
    let whole = |path: &Path| if is_url(path) { Ok(path.components().collect()) } else { path.canonicalize() };
    match (whole(&store.folder), whole(place)) {
        (Ok(store), Ok(place)) if store == place => {
            let hint = format!("choose another folder for the {what}");
            Err(Failure::usage(format!("the {what} would be the store itself"), hint))
        }
        _ => Ok(()),
    }
}

/// Refuses a file in the place of a store.
fn refuse_file(path: &Path) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let (what, commands) = match FileFormat::at(path)? {
        Some(FileFormat::Table) => ("a table", "use `ogive get`, `ogive scan` and the other commands on tables"),
        Some(FileFormat::PageFile | FileFormat::PageLog) => ("a file of an index", "use `ogive index`"),
        Some(_) => ("a file of a store", "name its folder instead"),
        None => {
            let what = match foreign(path) {
                Some(Foreign::Input(format)) => format,
                Some(Foreign::Profile(_)) => "a storage profile",
                _ => "a file",
            };
            (what, "`ogive db import` reads files of text, CSV, JSON lines and Parquet into a store")
        }
    };
    let message = format!("{} is {what}, but a store is a folder", path.display());
    Err(Failure::refused(message, commands))
}

impl KeyspaceOptions {
    /// A keyspace of a store, by default the one that every store has.
    pub(crate) fn at(store: StoreFolder, keyspace: Option<String>, keys: Option<KeyType>) -> Self {
        let keyspace = keyspace.unwrap_or_else(|| DEFAULT_KEYSPACE.to_owned());
        Self { name: KeyspaceName { store, keyspace }, keys }
    }

    /// Opens the keyspace read-only.
    ///
    /// # Errors
    /// [`Failure::Refused`] when there is none of that name.
    pub(crate) fn read(&self) -> Result<OpenKeyspace> {
        self.existing(self.name.store.read()?)
    }

    /// As [`Self::read`], for lookups of these keys alone, if they are given: of keys and keyspaces that the manifest
    /// alone explains, only the tables are opened that may hold them.
    pub(crate) fn read_for(&self, keys: Option<&[OsString]>) -> Result<OpenKeyspace> {
        let Some(written) = keys.filter(|_| self.keys.is_none()) else { return self.read() };
        let (store, name) = (&self.name.store, &self.name.keyspace);
        store.check_there()?;
        let is_part = Cell::new(false);
        let choose = |summary: ManifestSummary<'_>| {
            let key_type = keys::stated(summary, name)?;
            let parse = |written: &OsString| Some((name.clone(), key::from_argument(key_type, written).ok()?));
            let chosen: Option<NamedKeys> = written.iter().map(parse).collect();
            is_part.set(chosen.is_some());
            chosen
        };
        let db = Db::open_for_keys(&store.folder, &store.options(), &choose)?;
        warn_of_clock(&store.folder, &db);
        Ok(OpenKeyspace { is_part: is_part.get(), ..self.existing(db)? })
    }

    /// Opens an existing keyspace for writing.
    pub(super) fn write(&self) -> Result<OpenKeyspace> {
        self.existing(self.name.store.write()?)
    }

    /// Opens the keyspace for writing; creates it and the store if necessary. `brought` has the types of an input. The
    /// first write states new types.
    pub(super) fn create(&self, durability: Durability, brought: Option<Brought<'_>>) -> Result<OpenKeyspace> {
        keys::check_name(&self.name.keyspace)?;
        let db = self.name.store.create(durability)?;
        let is_there = db.keyspaces().contains(&self.name.keyspace);
        let keyspace = db.keyspace(&self.name.keyspace)?;
        let (keys, stated) = keys::resolve(&db, &keyspace, self.keys, brought)?;
        let (keyspace, types) = match stated {
            Some(types) => (keyspace.stating(&types)?, Arc::new(types)),
            None => (keyspace.clone(), keyspace.record_type()),
        };
        Ok(OpenKeyspace { fields: fields(&types, keys), types, db, keyspace, keys, is_new: !is_there, is_part: false })
    }

    /// The types of the keyspace, if it is there and they are decided, and whether it has no records.
    pub(super) fn known_types(&self) -> Result<Option<(RecordType, bool)>> {
        if !is_there(&self.name.store.folder) {
            return Ok(None);
        }
        self.name.store.check_there()?;
        let db = match Db::open_read_only(&self.name.store.folder, &self.name.store.options()) {
            Err(Error { cause: Cause::NotAStore, .. }) => return Ok(None),
            db => db?,
        };
        if !db.keyspaces().contains(&self.name.keyspace) {
            return Ok(None);
        }
        let keyspace = db.keyspace(&self.name.keyspace)?;
        if keyspace.is_undecided()? {
            return Ok(None);
        }
        let keys = keys::of(&db, &keyspace, None)?;
        let types = RecordType { keys: keys.key_type(), ..keyspace.record_type().as_ref().clone() };
        Ok(Some((types, keyspace.is_empty()?)))
    }

    /// The keyspace in an open store.
    pub(super) fn existing(&self, db: Db) -> Result<OpenKeyspace> {
        keys::check_name(&self.name.keyspace)?;
        let keyspace = existing(&db, &self.name.store.folder, &self.name.keyspace)?;
        let keys = keys::of(&db, &keyspace, self.keys)?;
        let types = keyspace.record_type();
        Ok(OpenKeyspace { fields: fields(&types, keys), types, db, keyspace, keys, is_new: false, is_part: false })
    }
}

impl OpenKeyspace {
    /// Closes the store, which makes all writes durable and the next opening fast. `done` names what is durable even if
    /// closing fails.
    pub(super) fn close(self, done: &str) -> Result<()> {
        drop(self.keyspace);
        self.db.close().map_err(|error| Failure::from(error).but(done))
    }

    /// The statistics of the keyspace.
    fn keyspace_stats(&self) -> Option<KeyspaceStats> {
        self.db.stats().keyspaces.into_iter().find(|found| found.name == self.keyspace.name())
    }

    /// Takes back what opening the keyspace created, the store too, if nothing was written to it, and closes the store.
    pub(super) fn take_back(self) -> Result<()> {
        if self.db.take_back()? {
            return Ok(());
        }
        if self.is_new && self.keyspace.is_empty()? {
            self.db.drop_keyspace(self.keyspace.name())?;
        }
        self.close("nothing was written")
    }

    /// The types of its records: as stated, with the key type as requested.
    pub(super) fn types(&self) -> RecordType {
        self.fields.types().clone()
    }

    /// As [`WritableMap::put`], with a value of up to 1 GiB.
    pub(super) fn put_stream(self, key: &[u8], value: &mut dyn Read) -> Result<Change> {
        match self.keyspace.insert_stream(key, value) {
            Ok(()) => self.written(),
            Err(error) => self.refused(error),
        }
    }

    /// As [`WritableMap::put`], with a value that expires.
    pub(super) fn put_until(self, key: &[u8], value: &[u8], expires: SystemTime) -> Result<Change> {
        match self.keyspace.insert_with(key, value, expires) {
            Ok(()) => self.written(),
            Err(error) => self.refused(error),
        }
    }

    /// The failure of a write, which leaves nothing of a new store.
    fn refused(self, error: Error) -> Result<Change> {
        let failure = keys::refusal(&self.db, error);
        // It says more than a failure to take back.
        _ = self.take_back();
        Err(failure)
    }

    /// Closes the store after a write.
    fn written(self) -> Result<Change> {
        self.close("the entry is durable")?;
        Ok(Change { field: ("durable", true.into()), done: Some("written".into()) })
    }
}

impl OrderedMap for OpenKeyspace {
    type Location = StorePart;
    type Key = Vec<u8>;
    type Value = Slice;

    const WHAT: &'static str = "the keyspace";

    fn parse_key(&self, written: &OsStr) -> Result<Vec<u8>> {
        self.keys.parse(written)
    }

    fn parse_prefix(&self, written: &OsStr) -> Result<Bounds<Vec<u8>>> {
        self.keys.parse_prefix(written)
    }

    fn value_type(&self) -> &ValueType {
        &self.types.values
    }

    fn shown_key<'a>(&self, key: &'a Vec<u8>) -> Cow<'a, str> {
        self.keys.shown(key)
    }

    fn key_to_json(&self, key: &Vec<u8>) -> Value {
        self.keys.to_json(key)
    }

    fn record_to_json(&self, key: &Vec<u8>, value: Option<&[u8]>) -> String {
        self.fields.json(key, value)
    }

    fn get(&self, key: &Vec<u8>, _: bool) -> Result<Vec<Slice>> {
        Ok(self.keyspace.get(key)?.into_iter().collect())
    }

    fn get_some(&self, keys: &[Vec<u8>], _: bool, room_bytes: u64) -> Result<Vec<Vec<Slice>>> {
        let found = self.keyspace.multi_get_within(keys, room_bytes)?;
        Ok(found.into_iter().map(|value| value.into_iter().collect()).collect())
    }

    fn value_reader<'a>(&'a self, key: &Vec<u8>) -> Result<Option<Box<dyn Read + 'a>>> {
        Ok(self.keyspace.get_stream(key)?.map(|reader| Box::new(reader) as Box<dyn Read>))
    }

    fn remark_on_emptiness(&self) -> Result<Option<String>> {
        if self.is_part {
            // The keyspace has tables.
            return Ok(None);
        }
        hint_on_emptiness(&self.db, &self.keyspace, "--keyspace")
    }

    fn remark_on_copies(&self) -> Option<String> {
        self.keyspace_stats().filter(|stats| stats.may_expire).map(|stats| lost_expiry(&stats.name))
    }

    /// Reads the keys before it, and its value.
    fn nth(&self, position: u64) -> Result<Option<(Vec<u8>, Slice)>> {
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        let Some(key) = self.keyspace.iter().keys().nth(position).transpose()? else { return Ok(None) };
        let key = key.to_vec();
        Ok(self.keyspace.get(&key)?.map(|value| (key, value)))
    }

    fn record_type(&self) -> RecordType {
        self.types()
    }

    fn expected(&self) -> Option<u64> {
        self.keyspace_stats().map(|stats| stats.rows)
    }

    fn export(&self, range: Bounds<Vec<u8>>, visit: &mut RecordVisitor<'_>) -> Result<()> {
        for entry in self.keyspace.range(range) {
            let (key, value) = entry?;
            visit(&key, &value)?;
        }
        Ok(())
    }

    fn scan(&self, range: Bounds<Vec<u8>>, window: Window, output: &mut Output) -> Result<()> {
        window.visit(self.keyspace.range(range).pairs(), |pair| {
            let value = if window.keys_only { None } else { Some(pair.value()?) };
            self.print_entry(&pair.key().to_vec(), value.as_deref(), output)
        })
    }

    fn count(&self, range: Bounds<Vec<u8>>) -> Result<u64> {
        if matches!(range, (Bound::Unbounded, Bound::Unbounded))
            && let Some(stats) = self.keyspace_stats().filter(|stats| stats.is_exact)
        {
            return Ok(stats.rows);
        }
        let mut count = 0;
        let mut progress = Progress::start("counting", None, Unit::Items);
        for key in self.keyspace.range(range).keys() {
            key?;
            count += 1;
            if count % ENTRIES_A_STEP == 0 {
                progress.reach(count);
            }
        }
        Ok(count)
    }

    /// Statistics of the whole store, with those of one keyspace alone if it is named.
    fn stats(place: &StorePart) -> Result<impl Report> {
        let (db, keyspaces) = place.read()?;
        let kept = KeptFacts::of(&db, place.keyspace.as_deref())?;
        Ok(StoreStats::of(&db, keyspaces, kept))
    }

    /// Checks the whole store.
    fn verify(place: &StorePart) -> Result<impl Report> {
        let StorePart { store, .. } = place;
        store.check_there()?;
        let storage = store.options().storage(&store.folder)?;
        let verify = |progress: &mut dyn FnMut(u64, u64)| verify_store_within(&storage, store.memory.0, progress);
        Ok(Progress::during("verifying", Unit::Bytes, verify)?)
    }
}

impl WritableMap for OpenKeyspace {
    fn put(self, key: &Vec<u8>, value: &[u8]) -> Result<Change> {
        match self.keyspace.insert(key, value) {
            Ok(()) => self.written(),
            Err(error) => self.refused(error),
        }
    }

    fn remove(self, key: &Vec<u8>, _: bool) -> Result<Change> {
        let is_there = self.keyspace.contains_key(key)?;
        if is_there {
            self.keyspace.remove(key)?;
        }
        self.close(if is_there { "the entry was removed" } else { "the key was absent" })?;
        Ok(Change { field: ("removed", u64::from(is_there).into()), done: is_there.then(|| "removed".into()) })
    }
}
