//! Write transactions of an index.

use super::load::{CheckedEntries, CountedEntries, LastEntries};
use super::range::TransactionRange;
use super::shared::IndexShared;
use super::view::{IndexState, IndexView};
use crate::error::{Error, Result};
use crate::index::entries::key::Key;
use crate::index::entries::payload::Payload;
use crate::index::entries::word::Word;
use crate::index::tree::structure::{Amount, Entries};
use crate::page::{PageTouch, PageWriteStatistics, Transaction};
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

/// A write transaction: its changes become visible together, by [`Self::commit`]. [`Self::abort`], or a drop without a
/// commit, discards them. There is one at a time; [`Index::write`](crate::index::Index::write) waits for the previous
/// one.
///
/// It reads its own changes; readers see the last commit. After an error within a change it can only be aborted.
#[derive(Debug)]
pub struct WriteTransaction<K: Key, V: Payload> {
    shared: Arc<IndexShared<K>>,
    transaction: Transaction,
    state: Option<WriteState>,
    failed: bool,
    payload: PhantomData<fn() -> V>,
}

/// The state of an index within a transaction.
#[derive(Clone, Debug)]
struct WriteState {
    entries: u64,
    structure: Vec<u8>,
}

/// An empty stream of entries, for the first transaction of an index that was never loaded.
struct NoEntries;

impl<W: Word> Entries<W> for NoEntries {
    fn next(&mut self, _payload: &mut [u8]) -> Result<Option<W>> {
        Ok(None)
    }
}

impl<K: Key, V: Payload> WriteTransaction<K, V> {
    pub(in crate::index) fn new(shared: Arc<IndexShared<K>>) -> Result<Self> {
        let transaction = shared.file.begin()?;
        let state = IndexState::parse(&transaction, transaction.state())?;
        let state =
            state.map(|IndexState { entries, structure }| WriteState { entries, structure: structure.to_vec() });
        Ok(Self { shared, transaction, state, failed: false, payload: PhantomData })
    }

    /// Inserts an entry; without duplicates, overwrites an existing entry of the key. True if the number of entries
    /// grew.
    ///
    /// # Errors
    /// `Cause::Input` if the payload has another size than those of the index, which changes nothing;
    /// `Cause::Io`, `Cause::Damaged`, after which the transaction can only be aborted.
    pub fn insert(&mut self, key: K, value: V) -> Result<bool> {
        let mut payload = self.shared.payload();
        self.shared.store(&value, payload.as_mut_slice())?;
        self.change(|shared, transaction, state| {
            let grew = shared.structure.insert(transaction, &mut state.structure, key.to_word(), payload.as_slice())?;
            state.entries += u64::from(grew);
            Ok(grew)
        })
    }

    /// Removes an entry of a key: any one if keys repeat. False if there was none.
    ///
    /// # Errors
    /// `Cause::Io`, `Cause::Damaged`, after which the transaction can only be aborted.
    pub fn remove(&mut self, key: K) -> Result<bool> {
        Ok(self.remove_amount(key, Amount::One)? > 0)
    }

    /// Removes all entries of a key, and returns their number.
    ///
    /// # Errors
    /// As for [`Self::remove`].
    pub fn remove_all(&mut self, key: K) -> Result<u64> {
        self.remove_amount(key, Amount::All)
    }

    fn remove_amount(&mut self, key: K, amount: Amount) -> Result<u64> {
        self.change(|shared, transaction, state| {
            let removed = shared.structure.remove(transaction, &mut state.structure, key.to_word(), amount)?;
            let left = state.entries.checked_sub(removed);
            state.entries =
                left.ok_or_else(|| Error::damaged(&shared.path, 0, "it counts fewer entries than it has"))?;
            Ok(removed)
        })
    }

    /// Fills an empty index with sorted entries, which is many times faster than inserting them, to the fill of its
    /// options. Returns the number of entries.
    ///
    /// # Errors
    /// `Cause::NotEmpty`, which changes nothing; `Cause::Unsorted`, `Cause::Repeated` and those of
    /// [`Self::insert`], after which the transaction can only be aborted.
    pub fn bulk_load(&mut self, entries: impl IntoIterator<Item = (K, V)>) -> Result<u64> {
        self.try_bulk_load(entries.into_iter().map(Ok), &mut |_| Ok(()))
    }

    /// Like [`Self::bulk_load`], for fallible entries. `observer` is called every few thousand entries with the number
    /// loaded so far; it can stop the load with an error, such as [`Cause::Interrupted`](crate::Cause::Interrupted).
    ///
    /// # Errors
    /// As for [`Self::bulk_load`], and those of `entries` and `observer`.
    pub fn try_bulk_load(
        &mut self,
        entries: impl IntoIterator<Item = Result<(K, V)>>,
        observer: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<u64> {
        if !self.is_empty() {
            return Err(Error::not_empty(self.shared.path.clone()));
        }
        self.check_whole()?;
        let shared = Arc::clone(&self.shared);
        self.load_entries(&mut CountedEntries::new(&mut CheckedEntries::new(&shared, entries.into_iter(), observer)))
    }

    /// Fills an empty index, and returns the number of entries.
    fn load_entries(&mut self, entries: &mut CountedEntries<'_, K::Word>) -> Result<u64> {
        self.failed = true;
        if let Some(old) = self.state.take() {
            self.shared.structure.free(&mut self.transaction, &old.structure)?;
        }
        let structure = self.shared.structure.bulk_load(&mut self.transaction, entries)?;
        let entries = entries.entries;
        self.state = Some(WriteState { entries, structure });
        self.failed = false;
        Ok(entries)
    }

    /// Inserts sorted entries, each like [`Self::insert`], and returns the number by which the entries grew. Keys may
    /// repeat: without duplicates, the last entry of a key counts.
    ///
    /// Structures with leaves, such as the default one, change each leaf once, so that a batch is many times faster
    /// than single inserts, and takes no more space. For entries in any order, see
    /// [`Index::sorting_loader`](crate::index::Index::sorting_loader).
    ///
    /// ```
    /// # use ogive::index::{Index, IndexOptions};
    /// # let storage = std::sync::Arc::new(ogive::MemoryStorage::new());
    /// let index: Index<u64, u64> = Index::create((storage, "squares"), &IndexOptions::default())?;
    /// index.bulk_load((0..1000).map(|i| (i * 2, 0)))?;
    /// let mut transaction = index.write()?;
    /// assert_eq!(transaction.insert_sorted((0..1000).map(|i| (i, i * i)))?, 500);
    /// transaction.commit()?;
    /// assert_eq!(index.get(12)?, Some(144));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Cause::Unsorted` and those of [`Self::insert`], after which the transaction can only be aborted.
    pub fn insert_sorted(&mut self, entries: impl IntoIterator<Item = (K, V)>) -> Result<u64> {
        self.try_insert_sorted(entries.into_iter().map(Ok), &mut |_| Ok(()))
    }

    /// Like [`Self::insert_sorted`], for fallible entries. `observer` is called every few thousand entries with the
    /// number read so far; it can stop with an error, such as [`Cause::Interrupted`](crate::Cause::Interrupted).
    ///
    /// # Errors
    /// As for [`Self::insert_sorted`], and those of `entries` and `observer`.
    pub fn try_insert_sorted(
        &mut self,
        entries: impl IntoIterator<Item = Result<(K, V)>>,
        observer: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<u64> {
        let shared = Arc::clone(&self.shared);
        self.insert_entries(&mut CheckedEntries::new(&shared, entries.into_iter(), observer).repeating())
    }

    /// Inserts entries whose keys ascend, and may repeat.
    pub(in crate::index) fn insert_entries(&mut self, entries: &mut dyn Entries<K::Word>) -> Result<u64> {
        let layout = self.shared.header.layout;
        let mut last = LastEntries::new(entries, layout.payload_bytes);
        let entries: &mut dyn Entries<K::Word> = if layout.duplicates { last.source() } else { &mut last };
        let batches = self.shared.file.options().fast_paths.batches;
        if batches && self.is_empty() {
            self.check_whole()?;
            return self.load_entries(&mut CountedEntries::new(entries));
        }
        self.change(|shared, transaction, state| {
            let grown = match batches {
                true => {
                    let (bytes, structure) = (layout.payload_bytes, &shared.structure);
                    structure.insert_sorted(transaction, &mut state.structure, entries, bytes)?
                }
                false => insert_singly(shared, transaction, state, entries)?,
            };
            state.entries += grown;
            Ok(grown)
        })
    }

    /// Makes all changes visible, with the [durability](crate::page::PageOptions) of the file.
    ///
    /// # Errors
    /// `Cause::Aborted` after an error in one of the changes; `Cause::Io`, after which the index rejects further
    /// writes.
    pub fn commit(mut self) -> Result<()> {
        self.check_whole()?;
        if let Some(state) = &self.state {
            self.transaction.set_state(&IndexState::join(state.entries, &state.structure));
        }
        self.transaction.commit()
    }

    /// Discards all changes, like a drop.
    pub fn abort(self) {
        drop(self);
    }

    /// The payload of a key; of its first entry if keys repeat.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io), [`Cause::Damaged`](crate::Cause::Damaged).
    pub fn get(&self, key: K) -> Result<Option<V>> {
        self.view().get(key)
    }

    /// Whether the key exists.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn contains_key(&self, key: K) -> Result<bool> {
        self.view().contains_key(key)
    }

    /// The payloads of all entries of a key, in order.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn get_all(&self, key: K) -> Result<Vec<V>> {
        self.view().get_all(key)
    }

    /// The entries with keys within the bounds, in order; none if the bounds cross.
    pub fn range(&self, range: impl RangeBounds<K>) -> TransactionRange<'_, K, V> {
        TransactionRange::new(self.view(), &range)
    }

    /// The first entry.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.view().end(true)
    }

    /// The last entry.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn last(&self) -> Result<Option<(K, V)>> {
        self.view().end(false)
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.view().len()
    }

    /// Whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Statistics of the changes so far, by phase.
    #[doc(hidden)]
    pub fn write_statistics(&self) -> PageWriteStatistics {
        self.transaction.write_statistics()
    }

    /// Starts or stops measuring the time of phases; see
    /// [`PhaseStatistics::time_ns`](crate::page::PagePhaseStatistics::time_ns).
    pub fn set_timed(&mut self, timed: bool) {
        self.transaction.set_timed(timed);
    }

    /// Starts or stops recording the pages touched: for evaluations that count blocks.
    pub fn watch(&mut self, on: bool) {
        self.transaction.watch(on);
    }

    /// The distinct pages touched since the last call, in order, while [`Self::watch`] is on.
    pub fn take_touched(&mut self) -> Vec<PageTouch> {
        self.transaction.take_touched()
    }

    fn view(&self) -> IndexView<'_, K> {
        let state = self.state.as_ref();
        let state = state.map(|state| IndexState { entries: state.entries, structure: &state.structure });
        IndexView { shared: &self.shared, pages: &self.transaction, state }
    }

    fn check_whole(&self) -> Result<()> {
        if self.failed { Err(Error::aborted(self.shared.path.clone())) } else { Ok(()) }
    }

    /// Applies one change, after creating the structure if there is none yet. A failed change leaves the transaction
    /// failed.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&IndexShared<K>, &mut Transaction, &mut WriteState) -> Result<T>,
    ) -> Result<T> {
        self.check_whole()?;
        self.failed = true;
        self.transaction.begin_operation();
        let state = match &mut self.state {
            Some(state) => state,
            none => {
                let structure = self.shared.structure.bulk_load(&mut self.transaction, &mut NoEntries)?;
                none.insert(WriteState { entries: 0, structure })
            }
        };
        self.transaction.begin_operation();
        let done = change(&self.shared, &mut self.transaction, state)?;
        self.failed = false;
        Ok(done)
    }
}

/// Inserts entries one by one: the path that batches must agree with.
fn insert_singly<K: Key>(
    shared: &IndexShared<K>,
    transaction: &mut Transaction,
    state: &mut WriteState,
    entries: &mut dyn Entries<K::Word>,
) -> Result<u64> {
    let mut payload = shared.payload();
    let mut grown = 0;
    while let Some(word) = entries.next(payload.as_mut_slice())? {
        transaction.begin_operation();
        let is_new = shared.structure.insert(transaction, &mut state.structure, word, payload.as_slice())?;
        grown += u64::from(is_new);
    }
    Ok(grown)
}
