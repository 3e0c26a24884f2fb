//! The folder of a store on an object store, as a storage of whole files.

use super::chain::{ChainFile, ChainWriter, put_part};
use super::later_file::{FilePlace, KnownFile, LaterFile};
use super::listing::Listing;
use super::object_file::ObjectFile;
use super::owner::{Owner, root};
use super::parts_file::PartsFile;
use super::retired::RetiredFiles;
use super::seal;
use super::stub::{self, FIRST_MANIFEST};
use super::version::StoreVersion;
use crate::error::{Cause, Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{
    FileCopy, FileLock, ListedFile, Purpose, ReadRequest, ReadableFile, Storage, UpdatableFile, WritableFile,
    copy_file, not_for_objects, remove_if_present,
};
use crate::lsm::state::version::{ChainId, is_chain, parse_part_name};
use crate::lsm::state::version::{FileKind, ManifestState, file_name, parse_file_name};
use crate::table::opening_bytes_of_file;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Longer ends of tables are not in the manifest: a table of 64 MiB with blocks of 4 KiB has 16,384 blocks, of one to
/// three bytes each for integer keys.
const TAIL_BYTES_MAX: u64 = 128 << 10;

/// Times that answers contradict each other about whether a part is there.
pub(super) const DENIALS_MAX: u32 = 4;

/// The purpose of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderPurpose {
    /// To write.
    Write,
    /// To read the newest version, or this one.
    Read(Option<StoreVersion>),
}

/// The folder of a store on an object store.
///
/// Files are removed after a grace period, by [`Self::remove_due`]; [`Storage::remove`] only lets them wait.
#[derive(Debug)]
pub(crate) struct ObjectFolder {
    pub(super) inner: Arc<dyn Storage>,
    mode: FolderPurpose,
    /// The objects while the store is opened: all that is decided then is decided on one listing.
    pub(super) listing: Mutex<Option<Listing>>,
    /// Parts that were read in that time. They never change.
    parts: Mutex<BTreeMap<String, Arc<[u8]>>>,
    /// Chains of which a reader knows the first parts, which are not read again.
    known_chains: Mutex<BTreeMap<ChainId, KnownChain>>,
    /// The ends of files that are known without a request, until these are opened.
    known: Mutex<BTreeMap<String, KnownFile>>,
    /// The objects of tables that were ingested by reference, by the names of these tables.
    objects: Mutex<BTreeMap<String, Arc<str>>>,
    pub(crate) retired: RetiredFiles,
    /// Seals of chains that are gone; they stay.
    seals: Mutex<Vec<String>>,
    /// Whether the first manifest is known to be a stub.
    pub(super) has_stub: AtomicBool,
    /// The store whose objects these are.
    pub(super) owner: Arc<Owner>,
    /// A part that a listing showed, and that was not there.
    pub(super) absent_part: OnceLock<String>,
}

/// The beginning of a log or a manifest that a reader knows: whole parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownChain {
    parts: u64,
    pub(crate) bytes: u64,
}

impl ObjectFolder {
    /// The number of the first manifest of a store.
    pub(crate) const FIRST_MANIFEST: u64 = FIRST_MANIFEST.number;

    /// # Errors
    /// Errors of the storage; [`Cause::VersionGone`] for a version that is not there any more.
    pub(crate) fn open(inner: Arc<dyn Storage>, mode: FolderPurpose, grace_s: u64) -> Result<Self> {
        let folder = Self::of(inner, mode, grace_s);
        folder.list_anew()?;
        Ok(folder)
    }

    fn of(inner: Arc<dyn Storage>, mode: FolderPurpose, grace_s: u64) -> Self {
        Self {
            inner,
            mode,
            listing: Mutex::default(),
            parts: Mutex::default(),
            known_chains: Mutex::default(),
            known: Mutex::default(),
            objects: Mutex::default(),
            retired: RetiredFiles::new(grace_s),
            seals: Mutex::default(),
            has_stub: AtomicBool::new(false),
            owner: Arc::default(),
            absent_part: OnceLock::new(),
        }
    }

    /// A folder in which nothing is open, for a copy of a store, with its identity. What is removed goes with the next
    /// collection.
    pub(crate) fn new(inner: Arc<dyn Storage>, store: u64) -> Self {
        let folder = Self::of(inner, FolderPurpose::Write, 0);
        folder.owner.set(store);
        folder
    }

    /// Decides on a new listing from now on.
    pub(crate) fn list_anew(&self) -> Result<()> {
        let listing = self.read_listing()?;
        let chains = match &self.mode {
            FolderPurpose::Read(Some(version)) => version.chains().to_vec(),
            _ => listing.last_manifests(),
        };
        *self.listing.lock() = Some(listing);
        chains.into_iter().try_for_each(|chain| self.fill_holes(chain))?;
        let Some(mut listing) = self.listing.lock().take() else { return Ok(()) };
        self.check_shown(&listing)?;
        if let FolderPurpose::Read(Some(version)) = &self.mode
            && !listing.cut(version)
        {
            return Err(self.version_gone());
        }
        *self.listing.lock() = Some(listing);
        Ok(())
    }

    /// Adds the parts of a chain that the listing by which the store is being opened has left out before others, though
    /// they are there. Parts before a listed one belong to its version: a writer orders its parts before it puts them.
    pub(super) fn fill_holes(&self, chain: ChainId) -> Result<()> {
        let hole = || self.listing.lock().as_ref().and_then(|listing| listing.hole(chain));
        let mut filled = None;
        while let Some(part) = hole().filter(|&part| filled < Some(part)) {
            let Some(found) = self.inner.find_file(&chain.part_name(part))? else { return Ok(()) };
            if let Some(listing) = &mut *self.listing.lock() {
                listing.add_left_out(found);
            }
            filled = Some(part);
        }
        Ok(())
    }

    /// The same store as it is now, for a reader that knows this manifest.
    ///
    /// # Errors
    /// [`Cause::Gone`] if the store was removed; errors of the storage.
    pub(crate) fn newest(&self, known: &StoreVersion) -> Result<Self> {
        self.newest_beyond(known.manifest)
    }

    /// As [`Self::newest`], for one that knows the manifest of this number.
    pub(super) fn newest_beyond(&self, manifest: u64) -> Result<Self> {
        let mut folder = Self::of(Arc::clone(&self.inner), FolderPurpose::Read(None), 0);
        folder.owner = Arc::new(Owner::going_on(&self.owner, manifest));
        // What is wrong with the listing of another store does not matter.
        let listed = folder.list_anew().and_then(|()| folder.settle());
        listed.or_else(|error| self.check_in_place().and(Err(error)))?;
        Ok(folder)
    }

    /// Ends the time of one listing.
    pub(crate) fn forget_listing(&self) {
        *self.listing.lock() = None;
        self.known_chains.lock().clear();
        self.parts.lock().clear();
    }

    /// States the store, for what is put, and names the objects of its tables that were ingested by reference.
    pub(crate) fn name_objects(&self, state: &ManifestState) {
        self.owner.set(state.owner);
        for (_, _, table) in state.tables() {
            if let Some(object) = &table.object {
                self.name_object(table.number, object);
            }
        }
        for table in state.kept.tables.values() {
            table.object.iter().for_each(|object| self.name_object(table.number, object));
        }
    }

    /// Names the object of a table that was ingested by reference.
    pub(crate) fn name_object(&self, table: u64, object: &Arc<str>) {
        self.objects.lock().insert(file_name(table, FileKind::Table), Arc::clone(object));
    }

    /// Forgets the object of a table that did not become one of the store.
    pub(crate) fn forget_object(&self, table: u64) {
        self.objects.lock().remove(&file_name(table, FileKind::Table));
    }

    /// Whether an object belongs to the store: as a table, or as one that waits for its removal.
    pub(crate) fn has_object(&self, object: &str) -> bool {
        self.objects.lock().values().any(|known| **known == *object) || self.retired.has(object)
    }

    /// The object of a file that is one.
    fn object_of(&self, name: &str) -> Arc<str> {
        self.objects.lock().get(name).map_or_else(|| name.into(), Arc::clone)
    }

    /// States the beginnings of logs and manifests that need not be read.
    pub(crate) fn set_known(&self, kind: FileKind, chains: impl IntoIterator<Item = (u64, KnownChain)>) {
        let chains = chains.into_iter().map(|(number, known)| (ChainId { kind, number }, known));
        self.known_chains.lock().extend(chains);
    }

    /// Forgets the parts of a log or a manifest that was read up to `end`. Returns what of it is known now, if these
    /// are all.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn end_chain(&self, kind: FileKind, number: u64, end: u64) -> Result<Option<KnownChain>> {
        let chain = ChainId { kind, number };
        let length = self.read_chain(&file_name(number, kind), chain)?.len();
        let parts = self.listed(|listing| listing.parts(chain))?;
        self.parts.lock().retain(|name, _| !is_part_of(name, chain));
        Ok((length == end).then_some(KnownChain { parts, bytes: end }))
    }

    pub(super) fn listed<T>(&self, look: impl FnOnce(&Listing) -> T) -> Result<T> {
        match &*self.listing.lock() {
            Some(listing) => Ok(look(listing)),
            None => Ok(look(&self.read_listing()?)),
        }
    }

    /// A part as the listing shows it by which the store is being opened.
    pub(super) fn part_while_opening(&self, name: &str) -> ListedFile {
        let listing = self.listing.lock();
        listing.as_ref().map_or_else(|| ListedFile::named(name), |listing| listing.part(name))
    }

    pub(super) fn read_listing(&self) -> Result<Listing> {
        let mut listing = Listing::read(&*self.inner)?;
        if self.has_stub.load(Ordering::Relaxed) {
            listing.note_stub();
        }
        Ok(listing)
    }

    /// The names of all files, also of those that are of another store.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn all_names(&self) -> Result<Vec<String>> {
        let mut names = self.listed(Listing::files)?;
        let objects = self.objects.lock();
        if !objects.is_empty() {
            let names_of: BTreeMap<&str, &String> = objects.iter().map(|(name, object)| (&**object, name)).collect();
            names.iter_mut().for_each(|name| {
                if let Some(known) = names_of.get(name.as_str()) {
                    (*known).clone_into(name);
                }
            });
            names.sort_unstable();
        }
        Ok(names)
    }

    /// The version that was found.
    pub(crate) fn version(&self) -> Result<StoreVersion> {
        self.listed(Listing::version)
    }

    pub(crate) fn version_gone(&self) -> Error {
        Error::version_gone(self.store())
    }

    pub(super) fn store(&self) -> PathBuf {
        root(&*self.inner)
    }

    /// States the end of a file, for its next opening.
    pub(crate) fn set_known_end(&self, name: &str, file: KnownFile) {
        self.known.lock().insert(name.to_owned(), file);
    }

    /// Reads the end of a table with which it is opened, and keeps it for its next opening. `None` if it is too long
    /// for a manifest.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn read_tail(&self, name: &str, length_bytes: u64) -> Result<Option<Arc<[u8]>>> {
        let tail_bytes = opening_bytes_of_file(length_bytes);
        if tail_bytes > TAIL_BYTES_MAX {
            return Ok(None);
        }
        let mut tail = vec![0; tail_bytes as usize];
        let file = self.open_later(name, length_bytes);
        file.read(ReadRequest { offset: length_bytes - tail_bytes, buffer: &mut tail, purpose: Purpose::Open })?;
        let known = KnownFile { length_bytes, tail: tail.into() };
        self.set_known_end(name, known.clone());
        Ok(Some(known.tail))
    }

    /// Opens a file of a known length without a request.
    pub(crate) fn open_later(&self, name: &str, length_bytes: u64) -> Arc<dyn ReadableFile> {
        let known = KnownFile { length_bytes, tail: Arc::default() };
        Arc::new(LaterFile::new(self.place_of(&self.object_of(name)), known))
    }

    /// Opens a file as the listing shows it, without a request if that states its length: what is different then is an
    /// error of the first read.
    ///
    /// # Errors
    /// As [`Storage::open`].
    pub(crate) fn open_as_listed(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        let object = self.object_of(name);
        let listed = self.listing.lock().as_ref().and_then(|listing| listing.object(&object));
        let Some((listed, length_bytes)) = listed.and_then(|listed| Some((listed.clone(), listed.length_bytes?)))
        else {
            return self.open(name);
        };
        let later = LaterFile::new(self.place_of(&object), KnownFile { length_bytes, tail: Arc::default() });
        _ = later.file.set(self.explained_part(&listed, self.inner.open_known(&listed))?);
        Ok(Arc::new(later))
    }

    /// The place of a file that is a single object.
    fn place_of(&self, object: &str) -> FilePlace {
        let listed = self.listing.lock().as_ref().and_then(|listing| listing.object(object));
        let place = FilePlace::new(&self.inner, object, self.is_reading(), &self.owner);
        place.with_e_tag(listed.and_then(|listed| listed.e_tag))
    }

    /// Whether this is a reader of the newest version.
    pub(crate) fn reads_newest(&self) -> bool {
        self.mode == FolderPurpose::Read(None)
    }

    /// Whether this is a reader of an old version, whose manifest a newer one has replaced.
    pub(crate) fn is_superseded(&self) -> Result<bool> {
        let FolderPurpose::Read(Some(version)) = &self.mode else { return Ok(false) };
        Ok(self.read_listing()?.newest(FileKind::Manifest) > version.manifest)
    }

    pub(crate) fn is_reading(&self) -> bool {
        matches!(self.mode, FolderPurpose::Read(_))
    }

    /// Ends a chain, so that its writer cannot go on: puts a seal in place of its first absent part. Parts that arrive
    /// in the meantime count.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`] for answers that contradict each other; errors of the storage.
    pub(crate) fn seal(&self, kind: FileKind, number: u64, nonce: u64) -> Result<()> {
        let chain = ChainId { kind, number };
        let listed = self.listed(|listing| listing.parts(chain))?;
        if self.seal_foreign(chain, listed, nonce)? {
            return Ok(());
        }
        // The last part may be a seal already.
        let mut part = listed.saturating_sub(1);
        let mut denied = 0;
        loop {
            let name = chain.part_name(part);
            match self.read_shown_part(&name)? {
                Some(bytes) => {
                    let is_seal = self.is_seal_of(&name, &bytes)?;
                    self.note_part(name);
                    if is_seal {
                        return Ok(());
                    }
                }
                None => match put_part(&*self.inner, chain, part, &seal::encode(nonce, &name)) {
                    Ok(()) => {
                        let length_bytes = Some(seal::SEAL_BYTES as u64);
                        self.add_shown(ListedFile { length_bytes, ..ListedFile::named(name) });
                        return Ok(());
                    }
                    // A part has arrived meanwhile.
                    Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }) => {
                        denied += 1;
                        if denied == DENIALS_MAX {
                            return Err(self.denied(&name, "a put of it is refused since it is there"));
                        }
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            }
            (part, denied) = (part + 1, 0);
        }
    }

    /// What a reader does not find was removed by the store's writer.
    fn explained<T>(&self, outcome: Result<T>) -> Result<T> {
        match outcome {
            Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) if self.is_reading() => Err(self.version_gone()),
            outcome => outcome,
        }
    }

    pub(super) fn add_shown(&self, file: ListedFile) {
        if let Some(listing) = &mut *self.listing.lock() {
            listing.add(file);
        }
    }

    fn note_part(&self, name: String) {
        if let Some(listing) = &mut *self.listing.lock()
            && listing.part(&name) == ListedFile::named(&*name)
        {
            listing.add(ListedFile::named(name));
        }
    }

    pub(super) fn read_part(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let listed = self.listed(|listing| listing.part(name))?;
        self.read_listed_part(&listed)
    }

    pub(super) fn read_listed_part(&self, listed: &ListedFile) -> Result<Option<Vec<u8>>> {
        match self.inner.read_listed(std::slice::from_ref(listed)).pop() {
            Some(Ok(bytes)) => Ok(Some(bytes)),
            Some(Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. })) => Ok(None),
            Some(Err(error)) => Err(error),
            None => Ok(None),
        }
    }

    pub(super) fn note_read(&self, name: &str, part: Vec<u8>) {
        self.parts.lock().insert(name.to_owned(), part.into());
    }

    pub(super) fn has_read(&self, name: &str) -> Option<Arc<[u8]>> {
        self.parts.lock().get(name).map(Arc::clone)
    }

    /// Reads a chain up to its seal or its end, without the beginning that is known.
    fn read_chain(&self, name: &str, chain: ChainId) -> Result<PartsFile> {
        self.fill_holes(chain)?;
        let parts = self.listed(|listing| listing.parts(chain))?;
        let path = self.inner.path(name);
        let known = self.known_chain(chain);
        if parts == 0 || parts < known.parts {
            self.check_not_left_out(&[chain.part_name(parts)])?;
            return self.explained(Err(Error::io("open", path, ErrorKind::NotFound.into())));
        }
        let names: Vec<String> = (known.parts..parts).map(|part| chain.part_name(part)).collect();
        self.fetch(&names, &[])?;
        let mut parts = self.parts.lock();
        if chain == FIRST_MANIFEST && parts.get(&stub::stub_name()).is_some_and(|part| stub::is_stub(part)) {
            return Err(self.outdated_by_stub());
        }
        let mut found = Vec::new();
        for (name, part) in names.iter().map_while(|name| parts.get_key_value(name)) {
            if self.is_seal_of(name, part)? || self.is_foreign(name, part)? {
                break;
            }
            found.push(Arc::clone(part));
        }
        let file = PartsFile::new(known.bytes, found, path);
        // Afterwards they are hardly read again.
        if self.listing.lock().is_none() {
            parts.clear();
        }
        Ok(file)
    }

    fn known_chain(&self, chain: ChainId) -> KnownChain {
        self.known_chains.lock().get(&chain).copied().unwrap_or_default()
    }

    /// Reads the parts of logs side by side, before they are opened one after the other.
    ///
    /// # Errors
    /// Errors of the storage; [`Cause::WrongAnswer`] for a reader if the manifest has grown since it was listed, so
    /// that the logs may contain what came after an edit that the reader does not know, or a log that has ended is
    /// longer than it was listed. Unless it `is_thorough`, that is looked for where the listing may be of several
    /// moments.
    pub(crate) fn fetch_logs(&self, numbers: &BTreeSet<u64>, is_thorough: bool) -> Result<()> {
        let (mut names, mut later) = (Vec::new(), Vec::new());
        for chain in numbers.iter().map(|&number| ChainId { kind: FileKind::Log, number }) {
            self.fill_holes(chain)?;
            let parts = self.listed(|listing| listing.parts(chain))?;
            names.extend((self.known_chain(chain).parts..parts).map(|part| chain.part_name(part)));
            later.push(chain.part_name(parts));
        }
        // Without logs, no group can be newer than the manifest.
        if !self.reads_newest() || numbers.is_empty() || !is_thorough && !self.listed(Listing::is_mixed)? {
            return self.fetch(&names, &[]).map(drop);
        }
        // The last one goes on.
        later.pop();
        later.extend(self.listed(Listing::next_manifest_parts)?);
        self.fetch(&names, &later)?.map_or(Ok(()), |name| Err(self.leaves_out(&name)))
    }

    /// Reads those of these parts that were not read yet, and with the same requests looks for others. Returns the
    /// first of those that is there.
    pub(super) fn fetch(&self, names: &[String], others: &[String]) -> Result<Option<String>> {
        let known = self.parts.lock();
        let wanted: Vec<&String> = names.iter().filter(|name| !known.contains_key(*name)).collect();
        drop(known);
        let missing = wanted.len();
        let mut wanted: Vec<ListedFile> =
            self.listed(|listing| wanted.into_iter().map(|name| listing.part(name)).collect())?;
        wanted.extend(others.iter().map(ListedFile::named));
        let mut read = wanted.iter().zip(self.inner.read_listed(&wanted));
        for (listed, part) in read.by_ref().take(missing) {
            let part = self.explained_part(listed, part)?;
            self.note_read(&listed.name, part);
        }
        let mut found = None;
        for (listed, other) in read {
            match other {
                Ok(part) => {
                    found.get_or_insert_with(|| listed.name.clone());
                    self.note_read(&listed.name, part);
                }
                Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// A new log, of which nothing is stored yet.
    pub(crate) fn create_log(&self, number: u64) -> Arc<ChainWriter> {
        Arc::new(ChainWriter::new(&self.inner, ChainId { kind: FileKind::Log, number }, self.owner.identity()))
    }

    /// Removes the files whose grace period has passed, and lets those wait that a killed or late writer has left.
    /// `is_left` tells which files no version has had since this opening, `kept` which ones stay for these subscribers.
    /// The first manifest becomes the stub of `store`. Nothing is removed by a listing that does not show the newest
    /// manifest, if there is one.
    ///
    /// # Errors
    /// As [`Self::check_newest`]; the rest is removed the next time.
    pub(crate) fn collect(
        &self,
        store: u64,
        newest: Option<u64>,
        is_left: impl Fn(&str) -> bool,
        kept: impl FnOnce(&[ListedFile]) -> Result<BTreeSet<String>>,
    ) -> Result<()> {
        self.retired.begin_collection();
        let listing = newest.map_or_else(|| self.read_listing(), |newest| self.list_with(newest, true))?;
        listing.files().iter().filter(|name| is_left(name)).for_each(|name| self.retired.add(name));
        // Before what is kept is known: a file that waits from now on may be kept for a subscriber.
        let due = self.retired.due();
        let kept = kept(&listing.subscribers())?;
        for name in due {
            if kept.contains(&name) {
                self.retired.hold(&name);
                continue;
            }
            match chain_of(&name) {
                Some(chain) => {
                    if chain == FIRST_MANIFEST && !listing.has_stub() {
                        self.put_stub(store)?;
                    }
                    self.remove_parts(chain, &listing)?;
                }
                None => remove_if_present(&*self.inner, &name)?,
            }
            self.retired.forget(&name);
        }
        self.retired.release(&kept);
        // The rest of a chain that is gone: a seal, or parts that have arrived late. A listing that lags may leave the
        // first part out of one that is in use.
        let is_rest = |chain: &ChainId| listing.parts(*chain) == 0 && is_left(&file_name(chain.number, chain.kind));
        let rests = listing.chains().filter(is_rest);
        rests.into_iter().try_for_each(|chain| self.remove_parts(chain, &listing))
    }

    /// Removes the parts of a chain, the first one first, so that no reader takes the rest for the whole. Its seal
    /// stays: a writer that sleeps meanwhile must still meet it. So does the stub.
    fn remove_parts(&self, chain: ChainId, listing: &Listing) -> Result<()> {
        for part in listing.all_parts(chain) {
            let name = chain.part_name(part);
            if self.seals.lock().contains(&name) || (chain, part) == (FIRST_MANIFEST, 0) {
                continue;
            }
            // It need not be the last one: groups that were in flight may have arrived behind it.
            let listed = listing.part(&name);
            let may_be_seal = listed.length_bytes.is_none_or(|length_bytes| length_bytes == seal::SEAL_BYTES as u64);
            if may_be_seal && self.read_listed_part(&listed)?.is_some_and(|bytes| seal::is_seal(&bytes)) {
                self.seals.lock().push(name);
                continue;
            }
            remove_if_present(&*self.inner, &name)?;
        }
        Ok(())
    }
}

/// Whether an object is a part of a chain.
fn is_part_of(name: &str, chain: ChainId) -> bool {
    parse_part_name(name).is_some_and(|(found, _)| found == chain)
}

/// The chain of a file; `None` for other files.
pub(super) fn chain_of(name: &str) -> Option<ChainId> {
    let (number, kind) = parse_file_name(name)?;
    is_chain(kind).then_some(ChainId { kind, number })
}

impl Storage for ObjectFolder {
    fn is_object_store(&self) -> bool {
        true
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        if let Some(chain) = chain_of(name) {
            return Ok(Arc::new(self.read_chain(name, chain)?));
        }
        let object = self.object_of(name);
        if let Some(known) = self.known.lock().remove(name) {
            return Ok(Arc::new(LaterFile::new(self.place_of(&object), known)));
        }
        let listed = self.listing.lock().as_ref().and_then(|listing| listing.object(&object));
        let file = match listed {
            Some(listed) => self.explained_part(&listed, self.inner.open_listed(&listed))?,
            None => self.place_of(&object).explained(self.inner.open(&object))?,
        };
        let known = KnownFile { length_bytes: file.len(), tail: Arc::default() };
        let later = LaterFile::new(self.place_of(&object), known);
        _ = later.file.set(file);
        Ok(Arc::new(later))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        match chain_of(name) {
            Some(chain) => Ok(Box::new(ChainFile(ChainWriter::new(&self.inner, chain, self.owner.identity())))),
            None => self.inner.create(name),
        }
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Err(not_for_objects("update", self.path(name)))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        match chain_of(name) {
            Some(chain) => Ok(Arc::new(ChainWriter::new(&self.inner, chain, self.owner.identity()))),
            None => Ok(Arc::new(ObjectFile::create(&*self.inner, name, self.place_of(name))?)),
        }
    }

    fn rename(&self, from: &str, _: &str) -> Result<()> {
        Err(not_for_objects("rename", self.path(from)))
    }

    fn remove(&self, name: &str) -> Result<()> {
        if !self.is_reading() {
            self.retired.add(&self.object_of(name));
        }
        Ok(())
    }

    fn exists(&self, name: &str) -> Result<bool> {
        match chain_of(name) {
            Some(chain) => self.listed(|listing| listing.parts(chain) > 0),
            None if self.listing.lock().is_some() => {
                let object = self.object_of(name);
                self.listed(|listing| listing.has_object(&object))
            }
            None => self.inner.exists(&self.object_of(name)),
        }
    }

    fn list(&self) -> Result<Vec<String>> {
        self.settle()?;
        self.all_names()
    }

    fn sync_directory(&self) -> Result<()> {
        Ok(())
    }

    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>> {
        Err(not_for_objects("lock", self.path(name)))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inner.path(&self.object_of(name))
    }

    fn object_store(&self) -> Option<&dyn Any> {
        self.inner.object_store()
    }

    fn export(&self, name: &str, target: &dyn Storage, new_name: &str) -> Result<()> {
        match chain_of(name) {
            Some(_) => copy_file(&*self.open(name)?, target, new_name),
            None => {
                let object = self.object_of(name);
                self.place_of(&object).explained(self.inner.export(&object, target, new_name))
            }
        }
    }

    fn copy_within(&self, files: &[FileCopy], target: &dyn Storage) -> Vec<Result<bool>> {
        let object = |file: &FileCopy| FileCopy { name: self.object_of(&file.name).to_string(), ..file.clone() };
        let is_object = |file: &&FileCopy| chain_of(&file.name).is_none();
        let objects: Vec<FileCopy> = files.iter().filter(is_object).map(object).collect();
        let copied = self.inner.copy_within(&objects, target).into_iter();
        let mut copied = objects.iter().zip(copied).map(|(file, copied)| self.place_of(&file.name).explained(copied));
        let outcome = |file| if is_object(&file) { copied.next().unwrap_or(Ok(false)) } else { Ok(false) };
        files.iter().map(outcome).collect()
    }

    /// Of a chain, the length of its parts, as they are there.
    fn find_file(&self, name: &str) -> Result<Option<ListedFile>> {
        let Some(chain) = chain_of(name) else { return self.inner.find_file(&self.object_of(name)) };
        let mut found = None;
        for part in 0.. {
            let Some(part) = self.inner.find_file(&chain.part_name(part))? else { break };
            found = Some(found.unwrap_or(0) + part.length_bytes.unwrap_or(0));
        }
        Ok(found.map(|bytes| ListedFile { length_bytes: Some(bytes), ..ListedFile::named(name) }))
    }
}
