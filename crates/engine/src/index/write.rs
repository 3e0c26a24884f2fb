//! Changing an index.

use super::key::Key;
use super::load::Sorted;
use super::payload::Payload;
use super::range::Range;
use super::shared::Shared;
use super::structure::{Amount, Entries};
use super::view::{State, View};
use super::word::Word;
use crate::error::{Error, Result};
use crate::page::{PageTouch, Transaction, WriteStatistics};
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

/// Changes to an index that become visible, all together, by [`Self::commit`]. Dropped without it, or given to
/// [`Self::abort`], they leave no trace. There is one at a time; [`Index::write`](super::Index::write) waits for the
/// one before.
///
/// It reads its own changes; everybody else reads the last commit. After an error in the middle of a change it can only
/// be aborted.
#[derive(Debug)]
pub struct WriteTransaction<K: Key, V: Payload> {
    shared: Arc<Shared<K>>,
    transaction: Transaction,
    state: Option<Changing>,
    failed: bool,
    payload: PhantomData<fn() -> V>,
}

/// The state of an index under change.
#[derive(Clone, Debug)]
struct Changing {
    entries: u64,
    structure: Vec<u8>,
}

/// No entries at all: what a structure is made of that was never loaded.
struct Nothing;

impl<W: Word> Entries<W> for Nothing {
    fn next(&mut self, _payload: &mut [u8]) -> Result<Option<W>> {
        Ok(None)
    }
}

impl<K: Key, V: Payload> WriteTransaction<K, V> {
    pub(super) fn new(shared: Arc<Shared<K>>) -> Result<Self> {
        let transaction = shared.file.begin()?;
        let state = State::parse(&transaction, transaction.state())?;
        let state = state.map(|State { entries, structure }| Changing { entries, structure: structure.to_vec() });
        Ok(Self { shared, transaction, state, failed: false, payload: PhantomData })
    }

    /// Puts an entry in. One that has the key is overwritten, unless the index allows duplicates. True if the number of
    /// entries grew.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a payload of another size than those of the index, which changes nothing;
    /// [`Error::Io`], [`Error::Damaged`], after which only an abort is left.
    pub fn insert(&mut self, key: K, value: V) -> Result<bool> {
        let mut payload = self.shared.payload();
        self.shared.store(&value, payload.as_mut_slice())?;
        self.change(|shared, transaction, state| {
            let grew = shared.structure.insert(transaction, &mut state.structure, key.to_word(), payload.as_slice())?;
            state.entries += u64::from(grew);
            Ok(grew)
        })
    }

    /// Removes an entry of a key, any one where keys repeat. False if there was none.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`], after which only an abort is left.
    pub fn remove(&mut self, key: K) -> Result<bool> {
        Ok(self.remove_amount(key, Amount::One)? > 0)
    }

    /// Removes all entries of a key, and returns how many there were.
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

    /// Fills an empty index with sorted entries, which is many times faster than to insert them, and packs them as the
    /// index was made to. Returns their number.
    ///
    /// # Errors
    /// [`Error::NotEmpty`], which changes nothing; [`Error::Unsorted`], [`Error::Repeated`] and those of
    /// [`Self::insert`], after which only an abort is left.
    pub fn bulk_load(&mut self, entries: impl IntoIterator<Item = (K, V)>) -> Result<u64> {
        self.try_bulk_load(entries.into_iter().map(Ok), &mut |_| Ok(()))
    }

    /// As [`Self::bulk_load`], from entries that may fail; `observer` is told now and then how many were taken, and may
    /// stop the load by an error, such as [`Error::Interrupted`].
    ///
    /// # Errors
    /// As for [`Self::bulk_load`], and those of `entries` and `observer`.
    pub fn try_bulk_load(
        &mut self,
        entries: impl IntoIterator<Item = Result<(K, V)>>,
        observer: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<u64> {
        if !self.is_empty() {
            return Err(Error::NotEmpty { path: self.shared.path.clone() });
        }
        self.check_whole()?;
        self.failed = true;
        if let Some(former) = self.state.take() {
            self.shared.structure.free(&mut self.transaction, &former.structure)?;
        }
        let mut entries = Sorted::new(&self.shared, entries.into_iter(), observer);
        let structure = self.shared.structure.bulk_load(&mut self.transaction, &mut entries)?;
        let entries = entries.entries;
        self.state = Some(Changing { entries, structure });
        self.failed = false;
        Ok(entries)
    }

    /// Makes all changes visible, and durable as the [durability](crate::page::PageOptions) of the file says.
    ///
    /// # Errors
    /// [`Error::Aborted`] after an error in one of the changes; [`Error::Io`], after which the index refuses further
    /// writes.
    pub fn commit(mut self) -> Result<()> {
        self.check_whole()?;
        if let Some(state) = &self.state {
            self.transaction.set_state(&State::join(state.entries, &state.structure));
        }
        self.transaction.commit()
    }

    /// Forgets all changes, as dropping does.
    pub fn abort(self) {
        drop(self);
    }

    /// The payload of a key; of its first entry where keys repeat.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn get(&self, key: K) -> Result<Option<V>> {
        self.view().get(key)
    }

    /// Whether there is an entry of this key.
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

    /// The entries whose keys lie within the bounds, in order; bounds that cross hold none.
    pub fn range(&self, range: impl RangeBounds<K>) -> Range<'_, K, V> {
        Range::of_transaction(&self.shared, &self.transaction, self.view().state, &range)
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

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was done so far, by phase.
    pub fn tally(&self) -> WriteStatistics {
        self.transaction.write_statistics()
    }

    /// Measures the time of phases from now on, or no longer; see
    /// [`PhaseStatistics::time_ns`](crate::page::PhaseStatistics::time_ns).
    pub fn set_timed(&mut self, timed: bool) {
        self.transaction.set_timed(timed);
    }

    /// Begins to note which pages are touched, or ends it: for evaluations that count blocks.
    pub fn watch(&mut self, on: bool) {
        self.transaction.watch(on);
    }

    /// The distinct pages touched since the last call, in order, where [`Self::watch`] began it.
    pub fn take_touched(&mut self) -> Vec<PageTouch> {
        self.transaction.take_touched()
    }

    fn view(&self) -> View<'_, K> {
        let state = self.state.as_ref();
        let state = state.map(|state| State { entries: state.entries, structure: &state.structure });
        View { shared: &self.shared, pages: &self.transaction, state }
    }

    fn check_whole(&self) -> Result<()> {
        if self.failed { Err(Error::Aborted { path: self.shared.path.clone() }) } else { Ok(()) }
    }

    /// Makes one change, in a structure that is made first where there is none yet; a change that fails spoils the
    /// transaction.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&Shared<K>, &mut Transaction, &mut Changing) -> Result<T>,
    ) -> Result<T> {
        self.check_whole()?;
        self.failed = true;
        self.transaction.begin_operation();
        let state = match &mut self.state {
            Some(state) => state,
            none => {
                let structure = self.shared.structure.bulk_load(&mut self.transaction, &mut Nothing)?;
                none.insert(Changing { entries: 0, structure })
            }
        };
        self.transaction.begin_operation();
        let done = change(&self.shared, &mut self.transaction, state)?;
        self.failed = false;
        Ok(done)
    }
}
