//! `SortingLoader`: inserts of entries in any order, sorted within a limit of memory.

use super::shared::{IndexShared, PayloadBuffer};
use super::write::WriteTransaction;
use crate::error::{Error, Result};
use crate::index::entries::key::Key;
use crate::index::entries::payload::Payload;
use crate::index::entries::word::Word;
use crate::index::tree::structure::Entries;
use crate::table::sort::{SORT_MEMORY_BYTES_MIN, Sorted, Sorter, remove_leftovers};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

/// Entries between two calls of an observer.
const ENTRIES_PER_OBSERVER_CALL: u64 = 1 << 12;
/// Bytes of the longest key.
const WORD_BYTES_MAX: usize = 16;
/// The sort has memory for at least this many entries, of which one may take a quarter of the memory.
const SORTED_ENTRIES_MIN: usize = 8;

/// Inserts entries in any order, all in one transaction: collects and sorts them, and applies them in key order, leaf
/// by leaf. This is many times faster than inserts in the order of arrival, which read and write a leaf for each entry.
///
/// The loader holds the write transaction of the index from its creation on, so that other writers wait. Entries beyond
/// the memory are sorted in temporary files next to the index ([`crate::table::sort`]). Without
/// [`Self::finish`], nothing changes. Entries of equal keys are inserted in the order in which they were appended:
/// without duplicates, the last one counts.
///
/// ```
/// # use ogive::index::{Index, IndexOptions};
/// # let storage = std::sync::Arc::new(ogive::MemoryStorage::new());
/// let index: Index<u64, u64> = Index::create((storage, "cubes"), &IndexOptions::default())?;
/// let mut loader = index.sorting_loader(64 << 20)?;
/// for i in (0..1000).rev() {
///     loader.append(i, i * i * i)?;
/// }
/// assert_eq!(loader.finish()?, 1000);
/// assert_eq!(index.get(9)?, Some(729));
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Debug)]
pub struct SortingLoader<K: Key, V: Payload> {
    transaction: WriteTransaction<K, V>,
    shared: Arc<IndexShared<K>>,
    sorter: Sorter,
    value: PayloadBuffer,
    payload: PhantomData<fn() -> V>,
}

impl<K: Key, V: Payload> SortingLoader<K, V> {
    pub(in crate::index) fn new(shared: Arc<IndexShared<K>>, memory_bytes: u64) -> Result<Self> {
        let transaction = WriteTransaction::new(Arc::clone(&shared))?;
        let (storage, name) = shared.file.place();
        let entry_bytes = WORD_BYTES_MAX + shared.header.layout.payload_bytes;
        let least = (SORTED_ENTRIES_MIN * entry_bytes) as u64;
        let sort_bytes = if memory_bytes < SORT_MEMORY_BYTES_MIN { memory_bytes } else { memory_bytes.max(least) };
        let sorter = Sorter::new(Arc::clone(storage), sort_bytes, name)?;
        // The transaction is the only one, so no other loader sorts.
        remove_leftovers(&**storage, name)?;
        let value = shared.payload();
        Ok(Self { transaction, shared, sorter, value, payload: PhantomData })
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// `Cause::Input` if the payload has another size than those of the index, which changes nothing;
    /// storage errors, after which every call fails.
    pub fn append(&mut self, key: K, value: V) -> Result<()> {
        self.shared.store(&value, self.value.as_mut_slice())?;
        // Big-endian integers are in the order of their bytes.
        let word = key.to_word().to_u128().to_be_bytes();
        let key = word.get(WORD_BYTES_MAX - <K::Word as Word>::BYTES..).unwrap_or(&word);
        self.sorter.push(key, self.value.as_slice())
    }

    /// Number of entries appended so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.sorter.records()
    }

    /// Whether no entry was appended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the entries appended so far, as they are sorted.
    #[must_use]
    pub fn sorted_bytes(&self) -> u64 {
        self.sorter.record_bytes()
    }

    /// Sorts the entries, inserts them and commits. Returns the number by which the entries of the index grew.
    ///
    /// # Errors
    /// Those of [`WriteTransaction::insert`] and [`WriteTransaction::commit`]; without a commit, nothing has changed.
    pub fn finish(self) -> Result<u64> {
        self.finish_observed(&mut |_, _| Ok(()))
    }

    /// As [`Self::finish`]. `observer` receives the bytes of entries sorted so far, and those of the whole sort, whose
    /// last pass inserts the entries; it can stop the work with an error, such as `Cause::Interrupted`.
    ///
    /// # Errors
    /// As there, and those of `observer`.
    pub fn finish_observed(self, observer: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<u64> {
        let Self { mut transaction, shared, sorter, .. } = self;
        if sorter.records() == 0 {
            transaction.abort();
            return Ok(0);
        }
        let mut stopped = Ok(());
        let sorted = sorter.finish_observed(&mut |done, total| {
            if stopped.is_ok() {
                stopped = observer(done, total);
            }
        })?;
        stopped?;
        let mut entries = SortedEntries { sorted, path: shared.path.clone(), observer, entries: 0 };
        let grown = transaction.insert_entries(&mut entries)?;
        drop(entries);
        transaction.commit()?;
        Ok(grown)
    }
}

/// The entries of a sort.
struct SortedEntries<'a> {
    sorted: Sorted,
    path: PathBuf,
    observer: &'a mut dyn FnMut(u64, u64) -> Result<()>,
    entries: u64,
}

impl<W: Word> Entries<W> for SortedEntries<'_> {
    fn next(&mut self, payload: &mut [u8]) -> Result<Option<W>> {
        if self.entries.is_multiple_of(ENTRIES_PER_OBSERVER_CALL) {
            let (done, total) = self.sorted.progress();
            (self.observer)(done, total)?;
        }
        self.entries += 1;
        let Some((key, value)) = self.sorted.next_record()? else { return Ok(None) };
        let mut word = [0; WORD_BYTES_MAX];
        match word.get_mut(WORD_BYTES_MAX - W::BYTES..) {
            Some(target) if target.len() == key.len() && value.len() == payload.len() => target.copy_from_slice(key),
            _ => return Err(Error::damaged(&self.path, 0, "a sorted entry differs from the entry given to the sort")),
        }
        payload.copy_from_slice(value);
        Ok(Some(W::from_u128(u128::from_be_bytes(word))))
    }
}
