//! `Memtable`: entries and range tombstones of one keyspace in memory.

use super::cursor::MemtableCursor;
use super::insert::Inserter;
use super::key_prefix::distinguishing_prefix;
use super::list::{HEAD, List};
use crate::block::Slice;
use crate::io::local::sync::{Mutex, Published};
use crate::lsm::state::entry::{Action, Entry, Operation, Sequence, ValueKind};
use crate::lsm::state::range_tombstones::RangeTombstones;
use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};

/// Entries and range tombstones of one keyspace, in memory. One thread inserts at a time; readers never wait. A reader
/// sees everything that was inserted before it began, and possibly some later entries, whose sequence numbers are newer
/// than its own.
pub(crate) struct Memtable {
    /// The first list is allocated with the first entry, since many keyspaces may be idle. If the first keys came one
    /// by one, so that their common prefix was unknown, a second list replaces it once there are enough of them.
    /// Readers of the first one may go on: they miss only entries newer than their start.
    lists: [OnceLock<Box<List>>; 2],
    inserter: Mutex<Inserter>,
    tombstones: Published<RangeTombstones>,
    has_tombstones: AtomicBool,
    /// A lower bound of the operations that still fit.
    room: AtomicUsize,
    entries: AtomicUsize,
    /// Entries that remove their key.
    point_tombstones: AtomicUsize,
    memory_bytes: AtomicU64,
}

impl Memtable {
    /// Creates an empty memtable.
    pub(crate) fn new() -> Self {
        Self::with_prefix(None)
    }

    /// Creates an empty memtable that follows `older`, whose keys predict the common prefix of the next keys.
    pub(crate) fn after(older: &Self) -> Self {
        let prefix = older.list().and_then(|(_, list)| {
            let (first, last) = (list.entry(list.after(HEAD))?, list.entry(list.last())?);
            let is_telling = first.key != last.key;
            is_telling.then(|| distinguishing_prefix(first.key, std::iter::once(last.key)).to_vec())
        });
        Self::with_prefix(prefix)
    }

    fn with_prefix(prefix: Option<Vec<u8>>) -> Self {
        let inserter = Inserter::new(prefix);
        Self {
            lists: [const { OnceLock::new() }; 2],
            room: AtomicUsize::new(inserter.room()),
            inserter: Mutex::new(inserter),
            tombstones: Published::new(RangeTombstones::new()),
            has_tombstones: AtomicBool::new(false),
            entries: AtomicUsize::new(0),
            point_tombstones: AtomicUsize::new(0),
            memory_bytes: AtomicU64::new(size_of::<Self>() as u64),
        }
    }

    /// Inserts the operations of a group that belong to this keyspace; `bytes` is the buffer of the group. Returns
    /// `false`, with nothing inserted, if there is [no room](Self::room).
    #[must_use]
    pub(crate) fn add(&self, bytes: &Arc<Vec<u8>>, operations: &[Operation]) -> bool {
        let mut inserter = self.inserter.lock();
        if operations.len() > inserter.room() {
            return false;
        }
        let tombstones = operations.iter().filter(|operation| operation.action == Action::RemoveRange);
        let (removed, mut taken) = (tombstones.clone().count(), 0);
        if removed < operations.len() {
            let (list, grown) = self.list_for(&mut inserter, bytes, operations);
            taken += grown + inserter.insert(list, bytes, operations);
        }
        if removed > 0 {
            taken += self.remove_ranges(bytes, tombstones);
        }
        self.memory_bytes.fetch_add(taken, Relaxed);
        self.room.store(inserter.room(), Relaxed);
        self.entries.fetch_add(operations.len() - removed, Relaxed);
        let is_tombstone = |operation: &&Operation| operation.action == Action::Put(ValueKind::Remove);
        self.point_tombstones.fetch_add(operations.iter().filter(is_tombstone).count(), Relaxed);
        true
    }

    /// The list to insert operations into, and the bytes allocated for it.
    fn list_for(&self, inserter: &mut Inserter, bytes: &[u8], operations: &[Operation]) -> (&List, u64) {
        let mut grown = 0;
        let mut begun = |(list, taken)| {
            grown = taken;
            Box::new(list)
        };
        let list = match (self.list(), &self.lists) {
            (None, [first, _]) => first.get_or_init(|| begun(inserter.begin(bytes, operations))),
            (Some((_, list)), [_, second]) => match inserter.begin_again(list, bytes, operations) {
                Some(again) => second.get_or_init(|| begun(again)),
                None => list,
            },
        };
        (list, grown)
    }

    fn remove_ranges<'a>(&self, bytes: &[u8], operations: impl Iterator<Item = &'a Operation>) -> u64 {
        let mut tombstones = RangeTombstones::clone(&self.tombstones());
        let before = tombstones.memory_bytes();
        for operation in operations {
            let part = |range: &std::ops::Range<u32>| bytes.get(range.start as usize..range.end as usize);
            let (start, end) = (part(&operation.key), part(&operation.value));
            tombstones.add(start.unwrap_or_default(), end.unwrap_or_default(), operation.sequence);
        }
        let taken = tombstones.memory_bytes().saturating_sub(before);
        self.tombstones.set(tombstones);
        self.has_tombstones.store(true, Release);
        taken
    }

    /// The newest entry of `key` at or below `at`, regardless of range tombstones.
    pub(crate) fn get(&self, key: &[u8], at: Sequence) -> Option<Entry<'_>> {
        let (_, list) = self.list()?;
        list.entry(list.find(&list.target(key, at)).1).filter(|entry| entry.key == key)
    }

    /// As [`get`](Self::get): the kind, sequence number and value.
    pub(crate) fn get_slice(&self, key: &[u8], at: Sequence) -> Option<(ValueKind, Sequence, Slice)> {
        let (_, list) = self.list()?;
        let node = list.find(&list.target(key, at)).1;
        let entry = list.entry(node).filter(|entry| entry.key == key)?;
        Some((entry.kind, entry.sequence, list.value_slice(node)?))
    }

    /// The newest range tombstone at or below `at` that covers `key`; 0 if there is none.
    pub(crate) fn covering(&self, key: &[u8], at: Sequence) -> Sequence {
        if !self.has_tombstones.load(Acquire) {
            return 0;
        }
        self.tombstones.peek().covering(key, at)
    }

    /// All range tombstones.
    pub(crate) fn tombstones(&self) -> Arc<RangeTombstones> {
        self.tombstones.get()
    }

    /// Memory in bytes: nodes, group buffers, range tombstones. A buffer shared with other memtables counts in part.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes.load(Relaxed)
    }

    /// Number of entries, without range tombstones.
    pub(crate) fn len(&self) -> usize {
        self.entries.load(Relaxed)
    }

    /// Number of entries that remove their key.
    pub(crate) fn point_tombstones(&self) -> usize {
        self.point_tombstones.load(Relaxed)
    }

    /// Whether it has no entries and no range tombstones.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0 && !self.has_tombstones.load(Acquire)
    }

    /// The number of operations that certainly fit; an empty memtable has room for some hundred million.
    pub(crate) fn room(&self) -> usize {
        self.room.load(Relaxed)
    }

    /// The [room](Self::room) of an empty memtable.
    pub(crate) fn room_of_empty() -> usize {
        Inserter::new(None).room()
    }

    /// A cursor over the entries, including those inserted later.
    pub(crate) fn cursor(self: &Arc<Self>) -> MemtableCursor {
        MemtableCursor::new(Arc::clone(self))
    }

    /// The list with all entries, and its number.
    #[inline]
    pub(super) fn list(&self) -> Option<(usize, &List)> {
        let [first, second] = &self.lists;
        let newest = second.get().map(|list| (1, list)).or_else(|| first.get().map(|list| (0, list)));
        newest.map(|(number, list)| (number, &**list))
    }

    /// A list by its number.
    #[inline]
    pub(super) fn list_of(&self, number: usize) -> Option<&List> {
        self.lists.get(number)?.get().map(|list| &**list)
    }
}

impl fmt::Debug for Memtable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Memtable");
        shown.field("entries", &self.len()).field("memory_bytes", &self.memory_bytes()).finish_non_exhaustive()
    }
}
