//! A cache of objects on the local disk.
//!
//! Objects are kept in pages of [`PAGE_BYTES`]. Two files hold them:
//!
//! ```text
//! ogive-cache.pages   slot 0 | slot 1 | ...            a page each
//! ogive-cache.slots   header, 4 KiB | entry 0 | ...    64 bytes each: the page in the slot, and its checksum
//! ```
//!
//! A page is written before its entry, in place, and nothing is synced. The checksum of an entry covers the page, the
//! object and the number of the page, so whatever a kill, a crash or a full disk leaves half written is a miss. So is
//! what another process is writing: one process at a time writes, the one that holds the lock, and others only read.
//!
//! The object is known by a hash of 128 bits of its URL, endpoint, length and ETag (where there is none, time of
//! modification). So a page of an object that was replaced is never found by a reader of the new one.
//!
//! A hand goes round over the slots, and replaces the first page that was not asked for since it came by last (the
//! clock algorithm, Corbato 1968). A page that came once, in a scan, goes before those that were asked for again.

use bytes::Bytes;
use ogive::io::{FileLock, LocalStorage, Purpose, ReadRequest, Storage, UpdatableFile};
use ogive::{Cause, Error, Result};
use std::collections::HashMap;
use std::fmt;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::spawn_blocking;
use twox_hash::XxHash3_64;

/// Size of a page. On an object store, a read of a page takes a fiftieth longer than one of nothing; what a page costs
/// in memory, some 90 bytes, is a thousandth of it.
pub(crate) const PAGE_BYTES: u64 = 64 << 10;
/// The size where none is given, in bytes.
pub const CACHE_BYTES_DEFAULT: u64 = 1 << 30;
/// The smallest size: a few pages.
const CACHE_BYTES_MIN: u64 = 1 << 20;
/// A read of more than the size divided by this passes the cache by, since it would replace most of it.
const LARGE_READ_SHARE: u64 = 4;

const PAGES: &str = "ogive-cache.pages";
const SLOTS: &str = "ogive-cache.slots";
const LOCK: &str = "ogive-cache.lock";

/// Permissions of the files and of a folder that is made for them: they have copies of the data.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// The header of the entries: magic, version, size of a page, checksum.
const HEADER_BYTES: u64 = 4096;
const HEADER_READ_BYTES: usize = 24;
const MAGIC: [u8; 8] = *b"ogivecch";
const VERSION: u32 = 1;
/// Object (16 bytes), number of the page (8), length (4), zeros (4), checksum of the page (8), checksum of the entry
/// (8), zeros.
const ENTRY_BYTES: u64 = 64;
/// Entries are read at opening in pieces of this size.
const LOAD_BYTES: u64 = 1 << 20;
/// Seeds of the two halves of the hash of an object.
const OBJECT_SEEDS: [u64; 2] = [0x6f67_6976_6563_6131, 0x6f67_6976_6563_6132];

/// An object, by the hash of what tells it from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CachedObject([u64; 2]);

impl CachedObject {
    /// The object at this URL of this endpoint with this length and version.
    pub(crate) fn new(endpoint: &str, url: &Path, length_bytes: u64, version: &str) -> Self {
        let mut identity = Vec::new();
        for part in [endpoint, &url.to_string_lossy(), version] {
            identity.extend((part.len() as u64).to_le_bytes());
            identity.extend(part.as_bytes());
        }
        identity.extend(length_bytes.to_le_bytes());
        Self(OBJECT_SEEDS.map(|seed| XxHash3_64::oneshot_with_seed(seed, &identity)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PageKey {
    object: CachedObject,
    page: u64,
}

/// A page in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    key: PageKey,
    bytes: u32,
    checksum: u64,
}

impl Entry {
    fn of(key: PageKey, page: &[u8]) -> Self {
        let mut entry = Self { key, bytes: page.len() as u32, checksum: 0 };
        entry.checksum = XxHash3_64::oneshot_with_seed(entry.seed(), page);
        entry
    }

    /// The seed of the checksum of the page, which binds it to what it is a page of.
    fn seed(&self) -> u64 {
        XxHash3_64::oneshot(&self.encode()[..32])
    }

    fn is_of(&self, page: &[u8]) -> bool {
        XxHash3_64::oneshot_with_seed(self.seed(), page) == self.checksum
    }

    fn encode(&self) -> [u8; ENTRY_BYTES as usize] {
        let mut bytes = [0; ENTRY_BYTES as usize];
        let CachedObject([first, second]) = self.key.object;
        for (place, word) in [first, second, self.key.page, self.bytes.into(), self.checksum].into_iter().enumerate() {
            bytes[place * 8..][..8].copy_from_slice(&word.to_le_bytes());
        }
        let checksum = XxHash3_64::oneshot(&bytes[..40]);
        bytes[40..48].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The entry of these bytes; `None` for an empty one, and for a damaged one.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |place: usize| Some(u64::from_le_bytes(*bytes.get(place * 8..)?.first_chunk()?));
        let is_sound = XxHash3_64::oneshot(bytes.get(..40)?) == word(5)?;
        let length = u32::try_from(word(3)?).ok().filter(|&length| (1..=PAGE_BYTES).contains(&length.into()))?;
        let key = PageKey { object: CachedObject([word(0)?, word(1)?]), page: word(2)? };
        is_sound.then_some(Self { key, bytes: length, checksum: word(4)? })
    }
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Empty,
    /// Being written.
    Taken,
    Filled {
        entry: Entry,
        /// Whether it was asked for since the hand came by.
        is_used: bool,
    },
}

#[derive(Debug, Default)]
struct State {
    slots: Vec<Slot>,
    /// Slots below the length of `slots` that are empty.
    empty: Vec<u32>,
    places: HashMap<PageKey, u32>,
    hand: usize,
    /// Why nothing is written any more.
    failure: Option<String>,
}

impl State {
    /// Takes a slot for a new page; `None` if all are being written.
    fn take(&mut self, capacity: usize) -> Option<u32> {
        if let Some(place) = self.empty.pop() {
            self.slots[place as usize] = Slot::Taken;
            return Some(place);
        }
        if self.slots.len() < capacity {
            self.slots.push(Slot::Taken);
            return Some(self.slots.len() as u32 - 1);
        }
        // The first round may clear all marks; the second one meets a page without.
        for _ in 0..2 * capacity {
            let place = self.hand;
            self.hand = (place + 1) % capacity;
            match &mut self.slots[place] {
                Slot::Filled { is_used, .. } if *is_used => *is_used = false,
                Slot::Filled { entry, .. } => {
                    self.places.remove(&entry.key);
                    self.slots[place] = Slot::Taken;
                    return Some(place as u32);
                }
                Slot::Empty | Slot::Taken => {}
            }
        }
        None
    }

    fn fill(&mut self, place: u32, entry: Entry) {
        if self.places.contains_key(&entry.key) {
            // Another reader has written it meanwhile.
            return self.give_up(place);
        }
        self.places.insert(entry.key, place);
        self.slots[place as usize] = Slot::Filled { entry, is_used: false };
    }

    fn give_up(&mut self, place: u32) {
        self.slots[place as usize] = Slot::Empty;
        self.empty.push(place);
    }

    /// The place of a page, which is marked as used.
    fn find(&mut self, key: &PageKey) -> Option<(u32, Entry)> {
        let place = *self.places.get(key)?;
        match &mut self.slots[place as usize] {
            Slot::Filled { entry, is_used } => {
                *is_used = true;
                Some((place, *entry))
            }
            Slot::Empty | Slot::Taken => None,
        }
    }

    /// Forgets a page whose bytes are not what was written, unless its slot has another one by now.
    fn forget(&mut self, place: u32, entry: &Entry) {
        if matches!(&self.slots[place as usize], Slot::Filled { entry: found, .. } if found == entry) {
            self.places.remove(&entry.key);
            self.give_up(place);
        }
    }
}

/// A cache, as a connection uses it.
#[derive(Clone, Debug)]
pub(crate) struct LocalCache {
    pub(crate) cache: Arc<DiskCache>,
    /// What tells the store from others that have the same URLs.
    pub(crate) endpoint: String,
}

impl LocalCache {
    /// The pages of an object that are there, read by a thread that may wait for the disk.
    pub(crate) async fn get(&self, object: CachedObject, pages: Range<u64>) -> Vec<Option<Bytes>> {
        let (cache, count) = (Arc::clone(&self.cache), (pages.end - pages.start) as usize);
        // A thread that has ended is a miss.
        spawn_blocking(move || cache.get(object, pages)).await.unwrap_or_else(|_| vec![None; count])
    }

    /// Keeps successive pages, written by a thread that may wait for the disk.
    pub(crate) async fn put(&self, object: CachedObject, first: u64, bytes: Bytes) {
        let cache = Arc::clone(&self.cache);
        _ = spawn_blocking(move || cache.put(object, first, &bytes)).await;
    }
}

/// Whether reads for this purpose use a cache: those that are made once would only replace others.
pub(crate) fn is_cached(purpose: Option<Purpose>) -> bool {
    !matches!(purpose, Some(Purpose::Walk | Purpose::Input | Purpose::Log))
}

/// What a cache has done since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskCacheCounts {
    /// Pages that were asked for and found.
    pub hits: u64,
    /// Pages that were asked for and not found.
    pub misses: u64,
    /// Pages that were written.
    pub written: u64,
    /// Pages in the cache now.
    pub pages: u64,
    /// Most pages that fit the size.
    pub capacity_pages: u64,
    /// The failure after which no further pages are written, such as that of a full disk.
    pub failure: Option<String>,
}

/// A cache of objects on the local disk, which survives restarts and kills. See
/// [`ObjectOptions::cache`](crate::ObjectOptions::cache).
///
/// Any number of processes may have it open. The first one adds what it reads; the others find what was there when they
/// opened it, and add nothing. Its files are for their owner alone.
///
/// Blocks, filters and values are kept in pages of 64 KiB, each with a checksum, and found by URL, length and ETag of
/// the object. What `verify` walks over, logs, and inputs of `build` are read from the store. A cache never makes a
/// read fail: what it cannot read or write is requested. It takes some 90 bytes of memory a page.
pub struct DiskCache {
    folder: PathBuf,
    pages: Arc<dyn UpdatableFile>,
    slots: Arc<dyn UpdatableFile>,
    capacity: usize,
    state: Mutex<State>,
    hits: AtomicU64,
    misses: AtomicU64,
    written: AtomicU64,
    /// Held by the one that writes.
    lock: Option<Box<dyn FileLock>>,
}

impl fmt::Debug for DiskCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DiskCache").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl DiskCache {
    /// Opens the cache in a folder, which is created if it is missing. Its files take at most `size_bytes`; with a
    /// smaller size than before, what lies beyond is dropped.
    ///
    /// # Errors
    /// [`Cause::Input`] for a size below 1 MiB; storage errors.
    pub fn open(folder: &Path, size_bytes: u64) -> Result<Arc<Self>> {
        let is_new = LocalStorage::names(folder).is_err();
        LocalStorage::create_folder(folder)?;
        if is_new {
            keep_private(folder, FOLDER_MODE);
        }
        let cache = Self::open_in(&LocalStorage::new(folder), size_bytes)?;
        // If they are new, they have no data yet.
        [PAGES, SLOTS, LOCK].iter().for_each(|name| keep_private(&folder.join(name), FILE_MODE));
        Ok(cache)
    }

    /// As [`Self::open`], in a storage whose files can be updated in place.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_in(storage: &dyn Storage, size_bytes: u64) -> Result<Arc<Self>> {
        if size_bytes < CACHE_BYTES_MIN {
            return Err(Error::input(format!(
                "a cache of {size_bytes} bytes is too small; give at least {CACHE_BYTES_MIN}"
            )));
        }
        let capacity = (size_bytes - HEADER_BYTES) / (PAGE_BYTES + ENTRY_BYTES);
        let capacity = capacity.min(u32::MAX.into()) as usize;
        let lock = match storage.lock(LOCK) {
            Err(Error { cause: Cause::Locked { .. }, .. }) => None,
            lock => Some(lock?),
        };
        let (slots, pages) = (open_or_create(storage, SLOTS)?, open_or_create(storage, PAGES)?);
        let state = match has_header(&*slots)? {
            true => load(&*slots, capacity)?,
            false => State::default(),
        };
        if lock.is_some() {
            prepare(&*slots, &*pages, capacity)?;
        }
        let folder = storage.path(PAGES).parent().map(Path::to_owned).unwrap_or_default();
        Ok(Arc::new(Self {
            folder,
            pages,
            slots,
            capacity,
            state: Mutex::new(state),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            written: AtomicU64::new(0),
            lock,
        }))
    }

    /// What the cache has done since it was opened.
    #[must_use]
    pub fn counts(&self) -> DiskCacheCounts {
        let state = self.state();
        DiskCacheCounts {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
            pages: state.places.len() as u64,
            capacity_pages: self.capacity as u64,
            failure: state.failure.clone(),
        }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a read of this range may use the cache.
    pub(crate) fn takes(&self, range: &Range<u64>) -> bool {
        range.end - range.start <= self.capacity as u64 * PAGE_BYTES / LARGE_READ_SHARE
    }

    /// The pages of an object that are there.
    pub(crate) fn get(&self, object: CachedObject, pages: Range<u64>) -> Vec<Option<Bytes>> {
        pages.map(|page| self.get_page(PageKey { object, page })).collect()
    }

    /// The first page of an object, which counts neither as found nor as missing.
    pub(crate) fn peek(&self, object: CachedObject) -> Option<Bytes> {
        self.find_page(PageKey { object, page: 0 })
    }

    fn find_page(&self, key: PageKey) -> Option<Bytes> {
        let (place, entry) = self.state().find(&key)?;
        let mut buffer = vec![0; entry.bytes as usize];
        let offset = u64::from(place) * PAGE_BYTES;
        let read = self.pages.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Data });
        if read.is_ok() && entry.is_of(&buffer) {
            return Some(Bytes::from(buffer));
        }
        self.state().forget(place, &entry);
        None
    }

    fn get_page(&self, key: PageKey) -> Option<Bytes> {
        let page = self.find_page(key);
        let counter = if page.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        page
    }

    /// Keeps successive pages of an object, the first of which has this number; `bytes` begin there.
    pub(crate) fn put(&self, object: CachedObject, first: u64, bytes: &[u8]) {
        for (page, bytes) in (first..).zip(bytes.chunks(PAGE_BYTES as usize)) {
            self.put_page(PageKey { object, page }, bytes);
        }
    }

    fn put_page(&self, key: PageKey, page: &[u8]) {
        let place = {
            let mut state = self.state();
            if self.lock.is_none() || state.failure.is_some() || state.places.contains_key(&key) {
                return;
            }
            let Some(place) = state.take(self.capacity) else { return };
            place
        };
        let entry = Entry::of(key, page);
        let written = self.pages.write_at(u64::from(place) * PAGE_BYTES, page, Purpose::Data).and_then(|()| {
            let offset = HEADER_BYTES + u64::from(place) * ENTRY_BYTES;
            self.slots.write_at(offset, &entry.encode(), Purpose::Open)
        });
        let mut state = self.state();
        match written {
            Ok(()) => {
                state.fill(place, entry);
                self.written.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                state.give_up(place);
                state.failure.get_or_insert_with(|| error.message());
            }
        }
    }

    /// Drops all pages of an object: for good, if no other process writes.
    pub(crate) fn forget(&self, object: CachedObject) {
        let mut state = self.state();
        let dropped: Vec<u32> =
            state.places.iter().filter(|(key, _)| key.object == object).map(|(_, place)| *place).collect();
        state.places.retain(|key, _| key.object != object);
        for &place in &dropped {
            state.slots[place as usize] = Slot::Taken;
        }
        drop(state);
        for place in dropped {
            let offset = HEADER_BYTES + u64::from(place) * ENTRY_BYTES;
            let written = match self.lock {
                Some(_) => self.slots.write_at(offset, &[0; ENTRY_BYTES as usize], Purpose::Open),
                None => Ok(()),
            };
            let mut state = self.state();
            state.give_up(place);
            if let Err(error) = written {
                state.failure.get_or_insert_with(|| error.message());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a file of the cache, which another process may be creating, too.
fn open_or_create(storage: &dyn Storage, name: &str) -> Result<Arc<dyn UpdatableFile>> {
    let created = match storage.open_update(name) {
        Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => storage.create_update(name),
        opened => return opened,
    };
    match created {
        Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }) => storage.open_update(name),
        created => created,
    }
}

/// Lets the owner of a file or folder alone use it. Those of another user stay as they are.
#[cfg(unix)]
fn keep_private(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
}

/// Other systems give a file the permissions of its folder.
#[cfg(not(unix))]
fn keep_private(_: &Path, _: u32) {}

/// Makes the files ready for writing: a header, and no more than the capacity.
fn prepare(slots: &dyn UpdatableFile, pages: &dyn UpdatableFile, capacity: usize) -> Result<()> {
    if !has_header(slots)? {
        slots.set_len(0)?;
        slots.write_at(0, &header(), Purpose::Open)?;
    }
    let most = |per_slot: u64| per_slot * capacity as u64;
    for (file, most_bytes) in [(slots, HEADER_BYTES + most(ENTRY_BYTES)), (pages, most(PAGE_BYTES))] {
        if file.len() > most_bytes {
            file.set_len(most_bytes)?;
        }
    }
    Ok(())
}

fn header() -> [u8; HEADER_BYTES as usize] {
    let mut bytes = [0; HEADER_BYTES as usize];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&(PAGE_BYTES as u32).to_le_bytes());
    let checksum = XxHash3_64::oneshot(&bytes[..16]);
    bytes[16..24].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Whether the file of entries begins with a whole header of this version. If not, because it is new, was torn by a
/// crash or is of another version, the cache begins anew.
fn has_header(slots: &dyn UpdatableFile) -> Result<bool> {
    let mut found = [0; HEADER_READ_BYTES];
    if slots.len() < HEADER_BYTES {
        return Ok(false);
    }
    slots.read(ReadRequest { offset: 0, buffer: &mut found, purpose: Purpose::Open })?;
    Ok(found == header()[..HEADER_READ_BYTES])
}

/// The entries of slots below the capacity.
fn load(slots: &dyn UpdatableFile, capacity: usize) -> Result<State> {
    let count = ((slots.len() - HEADER_BYTES) / ENTRY_BYTES).min(capacity as u64);
    let mut state = State::default();
    let mut buffer = Vec::new();
    let mut next = 0;
    while next < count {
        let entries = (count - next).min(LOAD_BYTES / ENTRY_BYTES);
        buffer.resize((entries * ENTRY_BYTES) as usize, 0);
        let offset = HEADER_BYTES + next * ENTRY_BYTES;
        slots.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Open })?;
        for bytes in buffer.chunks_exact(ENTRY_BYTES as usize) {
            let place = state.slots.len() as u32;
            state.slots.push(Slot::Taken);
            match Entry::decode(bytes) {
                Some(entry) => state.fill(place, entry),
                None => state.give_up(place),
            }
        }
        next += entries;
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::io::MemoryStorage;

    const SIZE: u64 = CACHE_BYTES_MIN;

    fn object(number: u64) -> CachedObject {
        CachedObject::new("endpoint", Path::new("s3://bucket/a"), 1 << 40, &number.to_string())
    }

    fn page(number: u64) -> Vec<u8> {
        (0..PAGE_BYTES).map(|at| (at * 7 + number) as u8).collect()
    }

    fn found(cache: &DiskCache, number: u64) -> Option<Bytes> {
        cache.get(object(number), number..number + 1).pop().unwrap()
    }

    #[test]
    fn pages_are_found_again_after_an_opening_up_to_the_size() {
        let storage = MemoryStorage::new();
        let cache = DiskCache::open_in(&storage, SIZE).unwrap();
        let capacity = cache.counts().capacity_pages;
        assert_eq!(capacity, 15);
        (0..40).for_each(|number| cache.put(object(number), number, &page(number)));
        assert!((0..25).all(|number| found(&cache, number).is_none()));
        drop(cache);
        let cache = DiskCache::open_in(&storage, SIZE).unwrap();
        for number in 25..40 {
            assert_eq!(found(&cache, number).unwrap(), page(number));
        }
        assert!(found(&cache, 24).is_none());
        let bytes: u64 = [PAGES, SLOTS].iter().map(|name| storage.open(name).unwrap().len()).sum();
        assert!(bytes <= SIZE, "{bytes}");
    }

    #[test]
    fn a_page_that_was_asked_for_again_stays_longer() {
        let cache = DiskCache::open_in(&MemoryStorage::new(), SIZE).unwrap();
        (0..15).for_each(|number| cache.put(object(number), number, &page(number)));
        assert!(found(&cache, 3).is_some());
        (100..114).for_each(|number| cache.put(object(number), number, &page(number)));
        assert_eq!(found(&cache, 3).unwrap(), page(3));
        assert!((0..15).filter(|&number| number != 3).all(|number| found(&cache, number).is_none()));
    }

    #[test]
    fn a_smaller_size_drops_what_lies_beyond() {
        let storage = MemoryStorage::new();
        let cache = DiskCache::open_in(&storage, 4 * SIZE).unwrap();
        (0..60).for_each(|number| cache.put(object(number), number, &page(number)));
        drop(cache);
        let cache = DiskCache::open_in(&storage, SIZE).unwrap();
        assert_eq!(cache.counts().pages, 15);
        assert!(storage.open(PAGES).unwrap().len() <= SIZE);
        (0..15).for_each(|number| assert_eq!(found(&cache, number).unwrap(), page(number)));
    }

    #[test]
    fn a_damaged_page_or_entry_is_a_miss_and_is_written_anew() {
        let storage = MemoryStorage::new();
        for (name, offset) in [(PAGES, 5 * PAGE_BYTES + 17), (SLOTS, HEADER_BYTES + 5 * ENTRY_BYTES + 20)] {
            let cache = DiskCache::open_in(&storage, SIZE).unwrap();
            (0..10).for_each(|number| cache.put(object(number), number, &page(number)));
            drop(cache);
            storage.open_update(name).unwrap().write_at(offset, &[0xff], Purpose::Data).unwrap();
            let cache = DiskCache::open_in(&storage, SIZE).unwrap();
            for number in 0..10 {
                assert_eq!(found(&cache, number).map(Vec::from), (number != 5).then(|| page(number)), "{name}");
            }
            cache.put(object(5), 5, &page(5));
            assert_eq!(found(&cache, 5).unwrap(), page(5));
        }
    }

    #[test]
    fn a_page_in_the_slot_of_another_is_a_miss() {
        let storage = MemoryStorage::new();
        let cache = DiskCache::open_in(&storage, SIZE).unwrap();
        (0..2).for_each(|number| cache.put(object(number), number, &page(number)));
        drop(cache);
        // As after a crash between the page and its entry.
        storage.open_update(PAGES).unwrap().write_at(0, &page(1), Purpose::Data).unwrap();
        let cache = DiskCache::open_in(&storage, SIZE).unwrap();
        assert!(found(&cache, 0).is_none());
        assert_eq!(found(&cache, 1).unwrap(), page(1));
    }

    #[test]
    fn a_second_opening_reads_what_is_there_and_writes_nothing() {
        let storage = MemoryStorage::new();
        let cache = DiskCache::open_in(&storage, SIZE).unwrap();
        cache.put(object(1), 1, &page(1));
        let second = DiskCache::open_in(&storage, SIZE).unwrap();
        assert_eq!(found(&second, 1).unwrap(), page(1));
        second.put(object(2), 2, &page(2));
        assert!(found(&second, 2).is_none() && second.counts().written == 0);
        // The first one puts other pages where the second one knows its own.
        (100..200).for_each(|number| cache.put(object(number), number, &page(number)));
        assert!(found(&second, 1).is_none());
        assert_eq!(found(&cache, 199).unwrap(), page(199));
        drop(cache);
        let third = DiskCache::open_in(&storage, SIZE).unwrap();
        third.put(object(3), 3, &page(3));
        assert_eq!((found(&third, 199).unwrap(), found(&third, 3).unwrap()), (page(199).into(), page(3).into()));
    }

    #[test]
    fn a_small_size_is_refused() {
        let opened = DiskCache::open_in(&MemoryStorage::new(), 1000);
        assert!(matches!(opened, Err(Error { cause: Cause::Input, .. })));
    }

    #[test]
    fn a_header_that_was_cut_short_or_is_of_another_version_starts_anew() {
        for length in [0, 3, 8, 20, 4000] {
            let storage = MemoryStorage::new();
            let cache = DiskCache::open_in(&storage, SIZE).unwrap();
            cache.put(object(1), 1, &page(1));
            drop(cache);
            storage.open_update(SLOTS).unwrap().set_len(length).unwrap();
            let cache = DiskCache::open_in(&storage, SIZE).unwrap();
            assert!(found(&cache, 1).is_none());
            cache.put(object(1), 1, &page(1));
            assert_eq!(found(&cache, 1).unwrap(), page(1));
        }
        let storage = MemoryStorage::new();
        drop(DiskCache::open_in(&storage, SIZE).unwrap());
        storage.open_update(SLOTS).unwrap().write_at(8, &[VERSION as u8 + 1], Purpose::Open).unwrap();
        assert_eq!(DiskCache::open_in(&storage, SIZE).unwrap().counts().pages, 0);
    }
}
