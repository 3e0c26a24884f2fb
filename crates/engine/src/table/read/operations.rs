//! The read operations of a table: point lookups, batches, ranks and ranges, with or without a read trace.

use super::context::ReadContext;
use super::deferred::{Deferrable, DeferredReads};
use super::lookup::{SearchPath, VersionQuery, VersionValue};
use super::range::TableRange;
use super::read_trace::ReadTrace;
use super::reader::{Table, TableInner};
use super::search::RecordPosition;
use crate::error::{Error, Result};
use crate::io::ReadableFile;
use crate::table::block::key::KeyBound;
use crate::table::block::parts::{SplitKey, StoredValue};
use crate::table::format::value::{ValuePointer, ValueReader};
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

/// Bytes that a group of lookups reads in a wave, at least: they stay in the processor's cache until they are searched.
/// The 8 MiB of a larger group are evicted before.
const WAVE_BYTES: u64 = 512 << 10;
/// Reads of a wave for each that the storage serves at once: so it waits for the slowest of them seldom.
const WAVE_ROUNDS: u64 = 16;

/// A record: key and value.
pub type Record = (Vec<u8>, Vec<u8>);
/// A version of a record in a versioned table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordVersion {
    /// The kind byte, which says what the version is of, as its writer defines it.
    pub kind: u8,
    /// The sequence number.
    pub sequence: u64,
    /// The value.
    pub value: Vec<u8>,
}

impl Table {
    /// The same operations, with a trace of their reads.
    ///
    /// ```
    /// # use ogive::io::MemoryStorage;
    /// # use ogive::table::{TableOptions, ReadTrace, Table, TableWriter, TableWriteOptions};
    /// # let storage = std::sync::Arc::new(MemoryStorage::new());
    /// # let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default())?;
    /// # writer.append(b"apple", b"red")?;
    /// # writer.finish()?;
    /// let table = Table::open((storage, "t"), &TableOptions::default())?;
    /// let mut trace = ReadTrace::new();
    /// table.traced(&mut trace).get(b"apple")?;
    /// assert_eq!(trace.reads.len(), 1);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    pub fn traced<'a>(&'a self, trace: &'a mut ReadTrace) -> Traced<'a> {
        Traced { table: self, reads: ReadContext { trace: Some(trace), ..ReadContext::default() } }
    }

    fn quiet(&self) -> Traced<'_> {
        Traced { table: self, reads: ReadContext::default() }
    }

    /// Returns the value of `key`, or of its first record if there are several.
    ///
    /// # Errors
    /// `Cause::KeyLength` if the key does not have the fixed width of [`Self::key_type`]; reporting such a key as
    /// absent would hide a mistake. `Cause::ValueTooLarge` for a value larger than the memory budget; use
    /// [`Self::value_reader`] instead. Storage errors, and [`Cause::Damaged`](crate::Cause::Damaged).
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.quiet().get(key)
    }

    /// Returns whether `key` has a record.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn contains_key(&self, key: &[u8]) -> Result<bool> {
        self.quiet().contains_key(key)
    }

    /// Returns the values of all records of `key`, in order.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_all(&self, key: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.quiet().get_all(key)
    }

    /// Returns the values of several keys, in the order of `keys`. Neighbouring blocks are read together where that is
    /// cheaper.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.quiet().multi_get(keys)
    }

    /// Passes the values of several keys to `visit`, each with the place of its key in `keys`, in ascending order of
    /// the keys. As [`Self::multi_get`], without an allocation for each value. An error of `visit` ends the lookups.
    ///
    /// ```
    /// # use ogive::io::MemoryStorage;
    /// # use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
    /// # let storage = std::sync::Arc::new(MemoryStorage::new());
    /// # let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default())?;
    /// # writer.append(b"apple", b"red")?;
    /// # writer.append(b"lemon", b"yellow")?;
    /// # writer.finish()?;
    /// # let table = Table::open((storage, "t"), &TableOptions::default())?;
    /// let mut found = Vec::new();
    /// table.multi_get_with(&[b"lemon", b"melon", b"apple"], |place, value| {
    ///     found.push((place, value.len()));
    ///     Ok(())
    /// })?;
    /// assert_eq!(found, [(2, 3), (0, 6)]);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::get`], and those of `visit`.
    pub fn multi_get_with(&self, keys: &[&[u8]], visit: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        self.quiet().multi_get_with(keys, visit)
    }

    /// Number of keys that [`Self::multi_get`] looks up at once: their blocks count against the memory.
    #[must_use]
    pub fn batch_keys(&self) -> usize {
        let per_key = self.inner.meta.max_read_bytes.max(self.inner.meta.block_bytes).max(1);
        (self.inner.memory.working_bytes() / 4 / per_key).clamp(1, 1 << 16) as usize
    }

    /// In a versioned table, returns the newest version of `key` with a sequence number of at most `sequence`.
    ///
    /// # Errors
    /// As [`Self::get`]; [`Cause::Input`](crate::Cause::Input) for a table that is not versioned.
    #[doc(hidden)]
    pub fn get_version(&self, key: &[u8], sequence: u64) -> Result<Option<RecordVersion>> {
        self.quiet().get_version(key, sequence)
    }

    /// Returns an iterator over the records whose keys lie within `bounds`, from either end. If a bound does not have
    /// the fixed width of [`Self::key_type`], the first item is `Cause::KeyLength`, and the iterator ends.
    pub fn range<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> TableRange {
        let own = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        TableRange::new(self.clone(), (own(bounds.start_bound()), own(bounds.end_bound())))
    }

    /// Returns an iterator over all records.
    pub fn iter(&self) -> TableRange {
        self.range::<&[u8]>(..)
    }

    /// Returns the number of records with keys less than `key`, whether or not `key` is present.
    ///
    /// # Errors
    /// `Cause::KeyLength` if the key does not have the fixed width of [`Self::key_type`]; storage errors, and
    /// [`Cause::Damaged`](crate::Cause::Damaged).
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        self.quiet().rank(key)
    }

    /// Returns the record at a position, counted from 0.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn nth(&self, position: u64) -> Result<Option<Record>> {
        self.quiet().nth(position)
    }

    /// Returns the keys at several positions, counted from 0; their blocks are read side by side.
    ///
    /// # Errors
    /// As [`Self::rank`].
    pub fn keys_at(&self, positions: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        self.quiet().keys_at(positions)
    }

    /// Returns the number of records whose keys lie within `bounds`.
    ///
    /// # Errors
    /// As [`Self::rank`], for either bound.
    pub fn count<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> Result<u64> {
        self.quiet().count(bounds)
    }

    /// Returns the positions, counted from 0, of the records whose keys lie within `bounds`. The blocks at both ends
    /// are read side by side.
    ///
    /// ```
    /// # use ogive::io::MemoryStorage;
    /// # use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
    /// # let storage = std::sync::Arc::new(MemoryStorage::new());
    /// # let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default())?;
    /// # writer.append(b"apple", b"red")?;
    /// # writer.append(b"lemon", b"yellow")?;
    /// # writer.append(b"plum", b"blue")?;
    /// # writer.finish()?;
    /// # let table = Table::open((storage, "t"), &TableOptions::default())?;
    /// let positions = table.positions("b".."q")?;
    /// assert_eq!(positions, 1..3);
    /// assert_eq!(table.keys_at(&[positions.start, positions.end])?, [Some(b"lemon".to_vec()), None]);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::rank`], for either bound.
    pub fn positions<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> Result<Range<u64>> {
        self.quiet().positions(bounds)
    }

    /// Returns the first record.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn first(&self) -> Result<Option<Record>> {
        self.iter().next().transpose()
    }

    /// Returns the last record.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn last(&self) -> Result<Option<Record>> {
        self.iter().next_back().transpose()
    }

    /// Returns the value of `key` as a stream, of any length.
    ///
    /// # Errors
    /// As [`Self::rank`].
    pub fn value_reader(&self, key: &[u8]) -> Result<Option<ValueReader>> {
        let inner = &self.inner;
        inner.check_key(key)?;
        inner.note_lookup(key);
        let Some(position) = inner.find_record(key, &mut ReadContext::default())? else { return Ok(None) };
        match inner.stored(&position)?.1 {
            StoredValue::Long(pointer) => inner.value_stream(pointer).map(Some),
            StoredValue::Inline(_) | StoredValue::Short(_) => {
                Ok(Some(ValueReader::of_bytes(inner.files.data().clone(), inner.value_at(&position)?)))
            }
        }
    }
}

/// A table that traces its reads: see [`Table::traced`]. The methods are those of [`Table`].
#[derive(Debug)]
pub struct Traced<'a> {
    table: &'a Table,
    reads: ReadContext<'a>,
}

#[expect(missing_docs, clippy::missing_errors_doc, reason = "each method is documented on Table")]
impl<'a> Traced<'a> {
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let inner = self.looked_up(key)?;
        inner.gets.add(1);
        self.table.find(
            key,
            u64::MAX,
            SearchPath::Separators,
            Some(&mut self.reads),
            |_| {},
            |_, _, value| value.into_vec(),
        )
    }

    pub fn contains_key(&mut self, key: &[u8]) -> Result<bool> {
        let inner = self.looked_up(key)?;
        let query = VersionQuery { key, at: u64::MAX, path: SearchPath::Separators, reads_long: false };
        let found = inner.find_version(&query, Some(&mut self.reads), |_| {}, |_, _, _| Some(()))?;
        Ok(found.is_some())
    }

    pub fn get_all(&mut self, key: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut values = Vec::new();
        self.visit_versions(key, |inner, position| {
            values.push(inner.value_at(position)?);
            Ok(true)
        })?;
        Ok(values)
    }

    #[doc(hidden)]
    pub fn get_version(&mut self, key: &[u8], sequence: u64) -> Result<Option<RecordVersion>> {
        if !self.table.inner.meta.versioned {
            return Err(Error::input("this table is not versioned"));
        }
        self.looked_up(key)?;
        let show =
            |kind, sequence, value: VersionValue<'_>| Some(RecordVersion { kind, sequence, value: value.into_vec()? });
        self.table.find(key, sequence, SearchPath::Separators, Some(&mut self.reads), |_| {}, show)
    }

    /// The table, after a check of a key that is looked up there.
    fn looked_up(&self, key: &[u8]) -> Result<&'a TableInner> {
        let inner = &*self.table.inner;
        inner.check_key(key)?;
        inner.note_lookup(key);
        Ok(inner)
    }

    /// Visits the records of a key in order until `visit` returns `false`.
    fn visit_versions(
        &mut self,
        key: &[u8],
        mut visit: impl FnMut(&TableInner, &RecordPosition) -> Result<bool>,
    ) -> Result<()> {
        let inner = self.looked_up(key)?;
        let Some(mut position) = inner.find_record(key, &mut self.reads)? else { return Ok(()) };
        while visit(inner, &position)? {
            match inner.next_position(position, &mut self.reads)? {
                Some(next) if inner.stored(&next)?.0.is(key) => position = next,
                _ => break,
            }
        }
        Ok(())
    }

    pub fn multi_get(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = vec![None; keys.len()];
        self.multi_get_with(keys, |place, value| {
            values[place] = Some(value.to_vec());
            Ok(())
        })?;
        Ok(values)
    }

    pub fn multi_get_with(&mut self, keys: &[&[u8]], mut visit: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        keys.iter().try_for_each(|key| self.table.inner.check_key(key))?;
        keys.iter().for_each(|key| self.table.inner.note_lookup(key));
        if keys.is_sorted() {
            return self.get_sorted(keys, &mut visit);
        }
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&i| keys[i]);
        let sorted: Vec<&[u8]> = order.iter().map(|&i| keys[i]).collect();
        self.get_sorted(&sorted, &mut |place, value| visit(order[place], value))
    }

    /// The values of keys in ascending order.
    fn get_sorted(&mut self, keys: &[&[u8]], visit: &mut impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        // Prefetched blocks count against the budget, so large key sets are split into batches.
        let batch = self.table.batch_keys();
        for (part, first) in keys.chunks(batch).zip((0..).step_by(batch)) {
            let done = self.get_batch(part, &mut |place, value| visit(first + place, value));
            self.reads.ahead.clear();
            done?;
        }
        Ok(())
    }

    fn get_batch(&mut self, keys: &[&[u8]], visit: &mut impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let inner = &*self.table.inner;
        if !inner.fast_paths.prefetch || !inner.fast_paths.batches {
            for (place, key) in keys.iter().enumerate() {
                if let Some(value) = self.get(key)? {
                    visit(place, &value)?;
                }
            }
            return Ok(());
        }
        let mut reads = DeferredReads::of(std::mem::take(&mut self.reads));
        let done = inner.get_waves(keys, visit, &mut reads);
        self.reads = ReadContext { missing: None, ..reads.context };
        done
    }

    /// The values of the first of several keys, of each `all` or only the first value: as many as take `room_bytes`
    /// together, and those of one key in any case. All keys are searched side by side; values outside the blocks are
    /// read only where there is room for them.
    #[doc(hidden)]
    pub fn multi_get_within(&mut self, keys: &[&[u8]], all: bool, room_bytes: u64) -> Result<Vec<Vec<Vec<u8>>>> {
        let inner = &*self.table.inner;
        keys.iter().try_for_each(|key| inner.check_key(key))?;
        let mut answers: Vec<Vec<Vec<u8>>> = Vec::with_capacity(keys.len());
        let mut left_bytes = room_bytes;
        for batch in keys.chunks(self.table.batch_keys()) {
            let found = self.side_by_side(batch, |key, reads| inner.find_record(key, reads))?;
            for (key, first) in batch.iter().zip(found) {
                let most_bytes = if answers.is_empty() { u64::MAX } else { left_bytes };
                let Some((values, bytes)) = self.values_within(key, first, all, most_bytes)? else {
                    return Ok(answers);
                };
                inner.note_lookup(key);
                left_bytes = left_bytes.saturating_sub(bytes);
                answers.push(values);
            }
        }
        Ok(answers)
    }

    /// The values of a key from its first record on, `all` or only the first, and their bytes in memory; `None` if
    /// those exceed the most.
    fn values_within(
        &mut self,
        key: &[u8],
        first: Option<RecordPosition>,
        all: bool,
        most_bytes: u64,
    ) -> Result<Option<(Vec<Vec<u8>>, u64)>> {
        let inner = &*self.table.inner;
        let (mut values, mut bytes, mut next) = (Vec::new(), 0, first);
        while let Some(position) = next {
            let (found, value) = inner.stored(&position)?;
            if !found.is(key) {
                break;
            }
            bytes += value.value_bytes() + size_of::<Vec<u8>>() as u64;
            if bytes > most_bytes {
                return Ok(None);
            }
            values.push(inner.value_of(value)?);
            let is_last = !all || inner.meta.distinct;
            next = if is_last { None } else { inner.next_position(position, &mut self.reads)? };
        }
        Ok(Some((values, bytes)))
    }

    pub fn rank(&mut self, key: &[u8]) -> Result<u64> {
        self.table.inner.rank(KeyBound { key, after: false }, &mut self.reads)
    }

    pub fn nth(&mut self, position: u64) -> Result<Option<Record>> {
        let inner = &*self.table.inner;
        let Some(place) = inner.record_at(position, &mut self.reads)? else { return Ok(None) };
        Ok(Some((inner.stored(&place)?.0.to_vec(), inner.value_at(&place)?)))
    }

    pub fn keys_at(&mut self, positions: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        let inner = &*self.table.inner;
        self.side_by_side(positions, |&position, reads| match inner.record_at(position, reads)? {
            Some(place) => Ok(Some(inner.stored(&place)?.0.to_vec())),
            None => Ok(None),
        })
    }

    pub fn count<K: AsRef<[u8]>>(&mut self, bounds: impl RangeBounds<K>) -> Result<u64> {
        let positions = self.positions(bounds)?;
        Ok(positions.end - positions.start)
    }

    pub fn positions<K: AsRef<[u8]>>(&mut self, bounds: impl RangeBounds<K>) -> Result<Range<u64>> {
        let inner = &*self.table.inner;
        let bound = |bound: Bound<&K>, is_end: bool| match bound {
            Bound::Unbounded => None,
            Bound::Included(key) => Some((key.as_ref().to_vec(), is_end)),
            Bound::Excluded(key) => Some((key.as_ref().to_vec(), !is_end)),
        };
        let ends = [bound(bounds.start_bound(), false), bound(bounds.end_bound(), true)];
        let ranks = self.side_by_side(&ends, |end, reads| match end {
            Some((key, after)) => inner.rank(KeyBound { key, after: *after }, reads).map(Some),
            None => Ok(None),
        })?;
        let (start, end) = (ranks[0].unwrap_or(0), ranks[1].unwrap_or(inner.meta.records));
        Ok(start..end.max(start))
    }

    /// Runs a read operation for each of several arguments, in waves of reads.
    fn side_by_side<A, T>(
        &mut self,
        arguments: &[A],
        operation: impl Fn(&A, &mut ReadContext<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let inner = &*self.table.inner;
        if !inner.fast_paths.prefetch || !inner.fast_paths.batches {
            return arguments.iter().map(|argument| operation(argument, &mut self.reads)).collect();
        }
        let mut outcomes = Vec::with_capacity(arguments.len());
        // Blocks that are read ahead count against the memory.
        for batch in arguments.chunks(self.table.batch_keys()) {
            let mut reads = DeferredReads::of(std::mem::take(&mut self.reads));
            let done = inner.in_waves(batch, &operation, &mut reads);
            self.reads = ReadContext { missing: None, ..reads.context };
            self.reads.ahead.clear();
            outcomes.append(&mut done?);
        }
        Ok(outcomes)
    }
}

impl TableInner {
    /// Adds a lookup to the sample, if there is one.
    #[inline]
    fn note_lookup(&self, key: &[u8]) {
        if let Some(sample) = &self.lookup_sample {
            sample.note(key);
        }
    }

    /// Rejects a key whose width no record of the table can have.
    #[inline]
    pub(in crate::table) fn check_key(&self, key: &[u8]) -> Result<()> {
        match self.meta.record_type.keys.width() {
            Some(width) if width != key.len() => Err(self.wrong_width(key, width)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn wrong_width(&self, key: &[u8], width: usize) -> Error {
        let path = self.files.own().path().to_owned();
        let detail = format!("its keys are {}, of {width} bytes each", self.meta.record_type.keys);
        Error::key_length(path, key.len() as u64, detail)
    }

    /// The record at a position, as it is stored.
    pub(in crate::table) fn stored<'p>(&self, position: &'p RecordPosition) -> Result<(SplitKey<'p>, StoredValue<'p>)> {
        let view = self.view_at(position)?;
        view.key(position.index).zip(view.value(position.index)).ok_or_else(|| self.malformed(position.block))
    }

    /// The value at a position.
    pub(in crate::table) fn value_at(&self, position: &RecordPosition) -> Result<Vec<u8>> {
        self.value_of(self.view_at(position)?.value(position.index).ok_or_else(|| self.malformed(position.block))?)
    }

    /// The bytes of a stored value.
    pub(in crate::table) fn value_of(&self, value: StoredValue<'_>) -> Result<Vec<u8>> {
        match value {
            StoredValue::Inline(value) => Ok(value.to_vec()),
            StoredValue::Short(value) => Ok(value.to_vec()),
            StoredValue::Long(pointer) => self.long_value(pointer),
        }
    }

    /// A value that is stored outside the blocks.
    pub(in crate::table) fn long_value(&self, pointer: ValuePointer) -> Result<Vec<u8>> {
        if pointer.length > self.memory.limit_bytes() {
            let path = self.files.data().path().to_owned();
            return Err(Error::value_too_large(path, pointer.length, self.memory.limit_bytes()));
        }
        self.value_stream(pointer)?.read_to_vec(self.memory.limit_bytes())
    }

    /// A value that is stored outside the blocks, as a stream. In an object store it is read far ahead, within the
    /// memory.
    pub(in crate::table) fn value_stream(&self, pointer: ValuePointer) -> Result<ValueReader> {
        self.value_stream_of(self.files.data(), pointer)
    }

    /// As [`Self::value_stream`], with the file of the blocks as the caller reads it.
    pub(in crate::table) fn value_stream_of(
        &self,
        data: &Arc<dyn ReadableFile>,
        pointer: ValuePointer,
    ) -> Result<ValueReader> {
        let ahead_bytes = if self.files.storage().is_object_store() { self.memory.working_bytes() / 4 } else { 0 };
        let reader = ValueReader::new(Arc::clone(data), self.files.data_id(), pointer)?;
        Ok(reader.ahead(usize::try_from(ahead_bytes).unwrap_or(usize::MAX)))
    }

    /// The record after a given one.
    pub(in crate::table) fn next_position(
        &self,
        mut position: RecordPosition,
        reads: &mut ReadContext<'_>,
    ) -> Result<Option<RecordPosition>> {
        position.index += 1;
        loop {
            if position.block >= self.meta.blocks {
                return Ok(None);
            }
            let bytes = match position.bytes.take() {
                Some(bytes) => bytes,
                None => self.child(0, position.block, reads)?,
            };
            if position.index < self.view(position.block, &bytes)?.count() {
                return Ok(Some(RecordPosition { bytes: Some(bytes), ..position }));
            }
            position = RecordPosition::unread(position.block + 1, 0);
        }
    }

    /// The number of records before a bound.
    fn rank(&self, probe: KeyBound<'_>, reads: &mut ReadContext<'_>) -> Result<u64> {
        self.check_key(probe.key)?;
        // In a wave, both are asked for before either is waited for.
        let (position, counts) = (self.lower_bound(probe, reads), self.counts(reads));
        let (position, counts) = (position?, counts?);
        let before = counts.before(position.block).ok_or_else(|| self.malformed_counts())?;
        Ok(before + position.index as u64)
    }

    /// The record at a position in all records.
    fn record_at(&self, position: u64, reads: &mut ReadContext<'_>) -> Result<Option<RecordPosition>> {
        if position >= self.meta.records {
            return Ok(None);
        }
        // The counts are not needed for either end.
        let (block, index) = if position == 0 {
            (0, Some(0))
        } else if position + 1 == self.meta.records {
            (self.meta.blocks.saturating_sub(1), None)
        } else {
            let (block, before) = self.counts(reads)?.locate(position).ok_or_else(|| self.malformed_counts())?;
            (block, Some((position - before) as usize))
        };
        let bytes = self.child(0, block, reads)?;
        let index = match index {
            Some(index) => index,
            None => self.view(block, &bytes)?.count().saturating_sub(1),
        };
        Ok(Some(RecordPosition { bytes: Some(bytes), ..RecordPosition::unread(block, index) }))
    }

    #[cold]
    fn malformed_counts(&self) -> Error {
        self.damaged(self.files.tail_offset(), "the record counts are malformed")
    }

    /// Runs an operation for each argument, in waves of reads.
    fn in_waves<A, T>(
        &self,
        arguments: &[A],
        operation: &impl Fn(&A, &mut ReadContext<'_>) -> Result<T>,
        reads: &mut DeferredReads<'_>,
    ) -> Result<Vec<T>> {
        let mut outcomes: Vec<Option<T>> = arguments.iter().map(|_| None).collect();
        loop {
            for (outcome, argument) in outcomes.iter_mut().zip(arguments).filter(|(outcome, _)| outcome.is_none()) {
                match reads.attempt(|context| operation(argument, context))? {
                    Deferrable::Done(done) => *outcome = Some(done),
                    Deferrable::Deferred => {}
                }
            }
            if !reads.has_missing() {
                return Ok(outcomes.into_iter().flatten().collect());
            }
            let started = self.start_deferred(reads)?;
            self.finish_deferred(started, reads)?;
        }
    }

    /// Looks up sorted keys, a group at a time: as many as lack blocks for one wave of reads.
    fn get_waves(
        &self,
        keys: &[&[u8]],
        visit: &mut impl FnMut(usize, &[u8]) -> Result<()>,
        reads: &mut DeferredReads<'_>,
    ) -> Result<()> {
        let most = self.wave_bytes();
        let mut next = 0;
        while next < keys.len() {
            let mut late = LateValues::default();
            let group = self.get_in_memory(keys, next..keys.len(), most, &mut late, visit, reads)?;
            next = group.end;
            let mut deferred = group.deferred;
            while !deferred.is_empty() {
                let started = self.start_deferred(reads)?;
                self.finish_deferred(started, reads)?;
                let places = deferred.into_iter();
                deferred = self.get_in_memory(keys, places, u64::MAX, &mut late, visit, reads)?.deferred;
            }
            late.visit(visit)?;
            reads.context.ahead.clear();
        }
        Ok(())
    }

    /// Bytes that a group of lookups reads in a wave.
    fn wave_bytes(&self) -> u64 {
        let at_once = u64::from(self.profile.parallel()).saturating_mul(self.meta.block_bytes);
        at_once.saturating_mul(WAVE_ROUNDS).max(WAVE_BYTES).min(self.memory.working_bytes() / 4)
    }

    /// Looks up keys at ascending places until they lack `most` bytes. Values behind a key that lacks something are
    /// kept for later.
    fn get_in_memory(
        &self,
        keys: &[&[u8]],
        places: impl Iterator<Item = usize>,
        most: u64,
        late: &mut LateValues,
        visit: &mut impl FnMut(usize, &[u8]) -> Result<()>,
        reads: &mut DeferredReads<'_>,
    ) -> Result<Group> {
        let mut group = Group::default();
        // Keys ascend, and many may be in one block.
        let mut earlier: Option<RecordPosition> = None;
        for place in places {
            let key = keys[place];
            let is_found = match &mut earlier {
                Some(earlier) => self.move_on(earlier, key)?,
                None => None,
            };
            let is_found = match is_found {
                Some(is_found) => is_found,
                None => match reads.attempt(|context| self.find_record(key, context))? {
                    Deferrable::Done(None) => false,
                    Deferrable::Done(found) => {
                        earlier = found;
                        true
                    }
                    Deferrable::Deferred => {
                        group.deferred.push(place);
                        false
                    }
                },
            };
            if let Some(position) = earlier.as_ref().filter(|_| is_found) {
                self.visit_value(position, |value| match group.deferred.is_empty() && late.places.is_empty() {
                    true => visit(place, value),
                    false => late.keep(place, value),
                })?;
            }
            group.end = place + 1;
            if reads.missing_bytes() >= most {
                break;
            }
        }
        Ok(group)
    }

    /// Passes the value at a position on.
    fn visit_value<R>(&self, position: &RecordPosition, visit: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let value = self.view_at(position)?.value(position.index).ok_or_else(|| self.malformed(position.block))?;
        match value.in_block() {
            Some(value) => visit(value),
            None => visit(&self.value_of(value)?),
        }
    }
}

/// Keys that were looked up in memory.
#[derive(Default)]
struct Group {
    /// The place behind the last of them.
    end: usize,
    /// The places of those that lack something.
    deferred: Vec<usize>,
}

/// Values of keys behind one that waited for a read.
#[derive(Default)]
struct LateValues {
    bytes: Vec<u8>,
    /// The place of each key, and its bytes.
    places: Vec<(usize, Range<usize>)>,
}

impl LateValues {
    fn keep(&mut self, place: usize, value: &[u8]) -> Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.places.push((place, start..self.bytes.len()));
        Ok(())
    }

    /// Passes the values on in the order of their keys.
    fn visit(mut self, visit: &mut impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        self.places.sort_unstable_by_key(|(place, _)| *place);
        let bytes = |range| self.bytes.get(range).unwrap_or_default();
        self.places.into_iter().try_for_each(|(place, range)| visit(place, bytes(range)))
    }
}
