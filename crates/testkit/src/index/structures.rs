//! The harness of a structure: a page file, and a map as the reference for every answer.

use super::counted_pages::CountedPages;
use crate::Random;
use ogive::Result;
use ogive::index::extend::{Amount, Entries, IndexLayout, Structure, Visitor, Word};
use ogive::io::{MemoryStorage, Storage};
use ogive::page::{PageFile, PageNumber, PageOptions, PageSnapshot, Pages, Transaction};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Payloads by key; one per key unless duplicates are allowed.
pub type Model<W> = BTreeMap<W, Vec<Vec<u8>>>;

/// The name of the file.
const NAME: &str = "index";

/// Small enough for several checkpoints per test.
const CHECKPOINT_BYTES: u64 = 256 << 10;

fn options(page_bytes: usize) -> PageOptions {
    let mut options = PageOptions::default();
    (options.page_bytes, options.checkpoint_bytes) = (page_bytes, CHECKPOINT_BYTES);
    options
}

fn file_in(storage: &Arc<dyn Storage>, page_bytes: usize) -> PageFile {
    PageFile::create(storage, NAME, &options(page_bytes), b"harness").unwrap()
}

/// An empty page file in memory.
pub fn page_file(page_bytes: usize) -> PageFile {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    file_in(&storage, page_bytes)
}

/// A stream of the entries of a vector.
pub struct SortedEntries<W> {
    entries: std::vec::IntoIter<(W, Vec<u8>)>,
}

impl<W> SortedEntries<W> {
    /// A stream of `entries`, which ascend.
    pub fn new(entries: Vec<(W, Vec<u8>)>) -> Self {
        Self { entries: entries.into_iter() }
    }
}

impl<W: Word> Entries<W> for SortedEntries<W> {
    fn next(&mut self, payload: &mut [u8]) -> Result<Option<W>> {
        Ok(self.entries.next().map(|(key, bytes)| {
            payload.copy_from_slice(&bytes);
            key
        }))
    }
}

/// A structure under test: every change is applied to a map too, and every answer compared with it.
pub struct StructureHarness<'a, W: Word> {
    /// The structure under test.
    pub structure: &'a dyn Structure<W>,
    /// The layout of its index.
    pub layout: IndexLayout,
    /// The expected entries.
    pub model: Model<W>,
    /// The state of its index.
    pub state: Vec<u8>,
    pub(super) file: PageFile,
    storage: Arc<dyn Storage>,
    page_bytes: usize,
    transaction: Option<Transaction>,
    committed: Model<W>,
    /// An old snapshot, and its expected entries.
    reader: Option<(PageSnapshot, Model<W>)>,
    serial: u64,
}

impl<'a, W: Word> StructureHarness<'a, W> {
    /// Bulk-loads an index of `keys`, which ascend.
    pub fn new(structure: &'a dyn Structure<W>, layout: IndexLayout, page_bytes: usize, keys: &[W]) -> Self {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut harness = Self {
            structure,
            layout,
            model: Model::new(),
            state: Vec::new(),
            file: file_in(&storage, page_bytes),
            storage,
            page_bytes,
            transaction: None,
            committed: Model::new(),
            reader: None,
            serial: 0,
        };
        let entries: Vec<_> = keys.iter().map(|&key| (key, harness.fresh_payload())).collect();
        for (key, payload) in &entries {
            harness.model.entry(*key).or_default().push(payload.clone());
        }
        let mut transaction = harness.file.begin().unwrap();
        harness.state = structure.bulk_load(&mut transaction, &mut SortedEntries::new(entries)).unwrap();
        harness.transaction = Some(transaction);
        harness.commit();
        harness
    }

    /// A unique payload.
    fn fresh_payload(&mut self) -> Vec<u8> {
        self.serial += 1;
        let mut random = Random::new(self.serial);
        (0..self.layout.payload_bytes).map(|_| random.next_u64() as u8).collect()
    }

    fn transaction(&mut self) -> &mut Transaction {
        let file = &self.file;
        self.transaction.get_or_insert_with(|| file.begin().unwrap())
    }

    /// Calls `call` with the current pages: those of the open transaction, or of the last commit.
    pub fn with_pages<T>(&self, call: impl FnOnce(&dyn Pages) -> T) -> T {
        match &self.transaction {
            Some(transaction) => call(transaction),
            None => call(&self.file.snapshot().unwrap()),
        }
    }

    /// Entries in the map.
    pub fn count(&self) -> usize {
        self.model.values().map(Vec::len).sum()
    }

    /// Commits the changes, and continues with the state as stored.
    pub fn commit(&mut self) {
        assert!(self.state.len() <= 200, "a state of {} bytes", self.state.len());
        let state = self.state.clone();
        if let Some(mut transaction) = self.transaction.take() {
            transaction.set_state(&state);
            transaction.commit().unwrap();
        }
        self.committed.clone_from(&self.model);
        let snapshot = self.file.snapshot().unwrap();
        self.state = snapshot.state().to_vec();
        assert_eq!(self.state, state, "the state as committed");
    }

    /// Commits, closes the file, and opens it again.
    pub fn reopen(&mut self) {
        self.commit();
        self.change_readers();
        self.reader = None;
        // A placeholder while the file is closed.
        drop(std::mem::replace(&mut self.file, page_file(self.page_bytes)));
        self.file = PageFile::open(&self.storage, NAME, &options(self.page_bytes)).unwrap();
        assert_eq!(self.file.snapshot().unwrap().state(), self.state, "the state after opening again");
    }

    /// Discards all changes since the last commit.
    pub fn abort(&mut self) {
        self.transaction = None;
        self.model.clone_from(&self.committed);
        self.state = self.file.snapshot().unwrap().state().to_vec();
    }

    /// Takes a snapshot of the last commit, after checking that the previous one still has its entries.
    pub fn change_readers(&mut self) {
        let snapshot = self.file.snapshot().unwrap();
        if let Some((old, model)) = self.reader.replace((snapshot, self.committed.clone())) {
            let found = scan(self.structure, &old, old.state(), self.layout.payload_bytes);
            assert_same(&found, &model);
        }
    }

    /// Inserts `key` with a new payload.
    pub fn insert(&mut self, key: W) {
        let payload = self.fresh_payload();
        let (structure, mut state) = (self.structure, std::mem::take(&mut self.state));
        let grew = structure.insert(self.transaction(), &mut state, key, &payload).unwrap();
        self.state = state;
        let entries = self.model.entry(key).or_default();
        let expected = self.layout.duplicates || entries.is_empty();
        if !self.layout.duplicates {
            entries.clear();
        }
        entries.push(payload);
        assert_eq!(grew, expected, "whether an insert of {key} grew the index");
    }

    /// Removes entries of `key`.
    pub fn remove(&mut self, key: W, amount: Amount) {
        let (structure, mut state) = (self.structure, std::mem::take(&mut self.state));
        let removed = structure.remove(self.transaction(), &mut state, key, amount).unwrap();
        self.state = state;
        let before = self.model.remove(&key).unwrap_or_default();
        let expected = if amount == Amount::One { before.len().min(1) } else { before.len() };
        assert_eq!(removed, expected as u64, "entries of {key} removed");
        if expected < before.len() {
            let after = self.payloads_of(key);
            assert_eq!(after.len(), before.len() - 1, "entries of {key} after one was removed");
            let mut left = before;
            for payload in &after {
                let place = left.iter().position(|other| other == payload);
                left.remove(place.expect("an unknown payload"));
            }
            self.model.insert(key, after);
        }
    }

    /// All payloads of a key, read by a cursor.
    fn payloads_of(&self, key: W) -> Vec<Vec<u8>> {
        self.with_pages(|pages| {
            let mut cursor = self.structure.cursor(&self.state).unwrap();
            cursor.seek(pages, key).unwrap();
            let mut payload = vec![0; self.layout.payload_bytes];
            let (mut found, mut ids) = (Vec::new(), BTreeSet::new());
            while cursor.next(pages, &mut payload).unwrap() == Some(key) {
                assert!(
                    ids.insert(cursor.entry_id()) || !self.layout.duplicates,
                    "two entries of {key} have the same id"
                );
                found.push(payload.clone());
            }
            found
        })
    }

    /// Looks up `key`.
    pub fn get(&self, key: W) {
        let mut payload = vec![0; self.layout.payload_bytes];
        let found = self.with_pages(|pages| self.structure.get(pages, &self.state, key, &mut payload).unwrap());
        let expected = self.model.get(&key);
        assert_eq!(found, expected.is_some(), "whether {key} is there");
        if let Some(expected) = expected {
            assert!(expected.contains(&payload), "payload of {key}");
            if self.layout.duplicates {
                assert_eq!(self.payloads_of(key).first(), Some(&payload), "get of {key} finds the first entry");
            }
        }
    }

    /// Number of distinct pages that a lookup of `key` reads.
    pub fn blocks_of_get(&self, key: W) -> usize {
        let mut payload = vec![0; self.layout.payload_bytes];
        self.with_pages(|pages| {
            let counted = CountedPages::new(pages);
            self.structure.get(&counted, &self.state, key, &mut payload).unwrap();
            counted.blocks()
        })
    }

    /// Moves a cursor back and forth from `key` at random: each step must return the entry that the map has there.
    pub fn random_walk(&self, key: W, steps: usize, random: &mut Random) {
        let keys: Vec<W> = self.model.iter().flat_map(|(&key, entries)| entries.iter().map(move |_| key)).collect();
        let back = random.one_in(2);
        let mut position = keys.partition_point(|&other| if back { other <= key } else { other < key });
        self.with_pages(|pages| {
            let mut cursor = self.structure.cursor(&self.state).unwrap();
            if back { cursor.seek_back(pages, key) } else { cursor.seek(pages, key) }.unwrap();
            let mut payload = vec![0; self.layout.payload_bytes];
            let mut forward = !back;
            for _ in 0..steps {
                forward ^= random.one_in(6);
                let (found, expected) = if forward {
                    (cursor.next(pages, &mut payload).unwrap(), keys.get(position))
                } else {
                    (cursor.previous(pages, &mut payload).unwrap(), position.checked_sub(1).and_then(|i| keys.get(i)))
                };
                assert_eq!(found, expected.copied(), "entry {position} of {}, forward: {forward}", keys.len());
                if let Some(key) = found {
                    position = if forward { position + 1 } else { position - 1 };
                    assert!(self.model[&key].contains(&payload), "payload of {key} in a scan");
                }
            }
        });
    }

    /// Checks everything: verification, statistics, a scan in each direction; after a commit, also that each page of
    /// the file is either free or part of the structure.
    pub fn check(&self) {
        let mut recorded = RecordingVisitor::default();
        self.with_pages(|pages| {
            recorded.page_count = pages.page_count();
            let bounded = CountedPages::bounded(pages, 64 + 8 * u64::from(pages.page_count()));
            self.structure.verify(&bounded, &self.state, &mut recorded).unwrap();
            let statistics = self.structure.statistics(pages, &self.state).unwrap();
            assert_eq!(statistics.entries, self.count() as u64, "entries by statistics");
            let counted = statistics.leaf_pages + statistics.inner_pages;
            assert_eq!(counted, recorded.claimed.len() as u64, "pages by statistics and by verify");
            let found = scan(self.structure, pages, &self.state, self.layout.payload_bytes);
            assert_same(&found, &self.model);
        });
        let keys = self.model.iter().flat_map(|(&key, entries)| entries.iter().map(move |_| key));
        assert!(recorded.entries.iter().copied().eq(keys), "entries by verify");
        self.check_path(&recorded.claimed);
        if self.transaction.is_none() {
            let claimed: Vec<_> = recorded.claimed.iter().map(|&page| (page, 1)).collect();
            self.file.verify(&claimed).unwrap();
        }
    }

    /// Checks that the paths of some lookups consist of pages of the structure.
    fn check_path(&self, claimed: &BTreeSet<PageNumber>) {
        let few = self.model.keys().step_by(1 + self.model.len() / 8).copied().chain([W::MIN, W::MAX]);
        for key in few {
            let path = self.with_pages(|pages| self.structure.explain(pages, &self.state, key).unwrap());
            assert!(path.iter().all(|visit| claimed.contains(&visit.page)), "path to {key}: {path:?}");
        }
    }

    /// Frees all pages, and checks that the file is empty.
    pub fn free(mut self) {
        let (structure, state) = (self.structure, std::mem::take(&mut self.state));
        structure.free(self.transaction(), &state).unwrap();
        self.transaction.take().unwrap().commit().unwrap();
        self.file.verify(&[]).unwrap();
    }
}

/// All entries; a backward scan must return the same in reverse.
fn scan<W: Word>(
    structure: &dyn Structure<W>,
    pages: &dyn Pages,
    state: &[u8],
    payload_bytes: usize,
) -> Vec<(W, Vec<u8>)> {
    let mut cursor = structure.cursor(state).unwrap();
    let mut payload = vec![0; payload_bytes];
    let mut forward = Vec::new();
    cursor.seek(pages, W::MIN).unwrap();
    while let Some(key) = cursor.next(pages, &mut payload).unwrap() {
        forward.push((key, payload.clone()));
    }
    let mut backward = Vec::new();
    cursor.seek_back(pages, W::MAX).unwrap();
    while let Some(key) = cursor.previous(pages, &mut payload).unwrap() {
        backward.push((key, payload.clone()));
    }
    backward.reverse();
    assert!(forward == backward, "a scan backwards differs from one forwards");
    forward
}

/// Checks for the same keys, with the same payloads in any order.
fn assert_same<W: Word>(found: &[(W, Vec<u8>)], model: &Model<W>) {
    let mut map = Model::<W>::new();
    assert!(found.is_sorted_by_key(|(key, _)| *key), "keys of a scan are out of order");
    for (key, payload) in found {
        map.entry(*key).or_default().push(payload.clone());
    }
    let sorted = |mut map: Model<W>| {
        map.values_mut().for_each(|payloads| payloads.sort());
        map
    };
    assert!(sorted(map) == sorted(model.clone()), "a scan differs from the map");
}

/// A recorder of the pages and entries that verification visits.
struct RecordingVisitor<W> {
    claimed: BTreeSet<PageNumber>,
    entries: Vec<W>,
    page_count: u32,
}

impl<W> Default for RecordingVisitor<W> {
    fn default() -> Self {
        Self { claimed: BTreeSet::new(), entries: Vec::new(), page_count: 0 }
    }
}

impl<W: Word> Visitor<W> for RecordingVisitor<W> {
    fn pages(&mut self, first: PageNumber, pages: u32) -> Result<()> {
        for page in first..first + pages {
            assert!(page < self.page_count, "page {page} is beyond the file");
            assert!(self.claimed.insert(page), "page {page} belongs to two nodes");
        }
        Ok(())
    }

    fn entry(&mut self, key: W) -> Result<()> {
        self.entries.push(key);
        Ok(())
    }
}
