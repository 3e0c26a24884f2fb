//! The read operations of a table: point lookups, batches, ranks and ranges, with or without a read trace.

use super::block::{Key, Stored};
use super::key::Probe;
use super::range::Range;
use super::reader::{Inner, Reads, Table};
use super::receipt::Receipt;
use super::search::Position;
use super::value::{ValuePointer, ValueReader};
use crate::error::{Error, Result};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// Stretches merged by `multi_get` grow to this size at most, in bytes.
const MERGED_BYTES: u64 = 1 << 20;

/// A record: its key and its value.
pub type Record = (Vec<u8>, Vec<u8>);
/// A version of a record in a tagged table: tag, suffix, value.
pub type Version = (u8, u64, Vec<u8>);

impl Table {
    /// The same operations, with a receipt of what they read.
    ///
    /// ```
    /// # use ogive::io::MemoryStorage;
    /// # use ogive::table::{OpenOptions, Receipt, Table, TableWriter, WriteOptions};
    /// # let storage = std::sync::Arc::new(MemoryStorage::new());
    /// # let mut writer = TableWriter::create(storage.clone(), "t", WriteOptions::default())?;
    /// # writer.append(b"apple", b"red")?;
    /// # writer.finish()?;
    /// let table = Table::open(storage, "t", &OpenOptions::default())?;
    /// let mut receipt = Receipt::new();
    /// table.traced(&mut receipt).get(b"apple")?;
    /// assert_eq!(receipt.reads.len(), 1);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    pub fn traced<'a>(&'a self, receipt: &'a mut Receipt) -> Traced<'a> {
        Traced { table: self, reads: Reads { receipt: Some(receipt), ..Reads::default() } }
    }

    fn quiet(&self) -> Traced<'_> {
        Traced { table: self, reads: Reads::default() }
    }

    /// The value of a key: of its first record, where it has several.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for a key of another width than [`Self::key_type`] has: no such key can be there, and to say that it is absent would
    /// hide the mistake. [`Error::ValueTooLarge`] for a value larger than the budget: read it by [`Self::value_reader`]. What the storage
    /// reports, and damage.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.quiet().get(key)
    }

    /// Whether a key has a record.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn contains_key(&self, key: &[u8]) -> Result<bool> {
        self.quiet().contains_key(key)
    }

    /// The values of all records of a key, in order.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_all(&self, key: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.quiet().get_all(key)
    }

    /// The values of many keys, in the order of `keys`; blocks that lie together are read together where that is cheaper.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.quiet().multi_get(keys)
    }

    /// In a tagged table, the newest version of a key whose suffix is at most `suffix`.
    ///
    /// # Errors
    /// As [`Self::get`]; [`Error::InvalidArgument`] for a table without tags.
    pub fn get_tagged(&self, key: &[u8], suffix: u64) -> Result<Option<Version>> {
        self.quiet().get_tagged(key, suffix)
    }

    /// The records whose keys lie within bounds, from either end. Bounds are keys: where one has another width than [`Self::key_type`], the
    /// first step gives [`Error::KeyLength`], and the range ends.
    pub fn range<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> Range {
        let own = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        Range::new(self.clone(), (own(bounds.start_bound()), own(bounds.end_bound())))
    }

    /// All records.
    pub fn iter(&self) -> Range {
        self.range::<&[u8]>(..)
    }

    /// The number of records whose keys are below `key`, which need not be there.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for a key of another width than [`Self::key_type`] has; what the storage reports, and damage.
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        self.quiet().rank(key)
    }

    /// The record at a position, counted from 0.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn nth(&self, position: u64) -> Result<Option<Record>> {
        self.quiet().nth(position)
    }

    /// The number of records whose keys lie within bounds.
    ///
    /// # Errors
    /// As [`Self::rank`], for either bound.
    pub fn count<K: AsRef<[u8]>>(&self, bounds: impl RangeBounds<K>) -> Result<u64> {
        self.quiet().count(bounds)
    }

    /// The first record.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn first(&self) -> Result<Option<Record>> {
        self.iter().next().transpose()
    }

    /// The last record.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn last(&self) -> Result<Option<Record>> {
        self.iter().next_back().transpose()
    }

    /// The value of a key as a stream, whatever its length.
    ///
    /// # Errors
    /// As [`Self::rank`].
    pub fn value_reader(&self, key: &[u8]) -> Result<Option<ValueReader>> {
        let inner = &self.inner;
        inner.check_key(key)?;
        let Some(position) = inner.find(key, &mut Reads::default())? else { return Ok(None) };
        match inner.stored(&position)?.1 {
            Stored::Long(pointer) => ValueReader::new(inner.data.clone(), inner.data_file_id, pointer).map(Some),
            Stored::Inline(_) => Ok(Some(ValueReader::of_bytes(inner.data.clone(), inner.value_at(&position)?))),
        }
    }
}

/// A table with a receipt: see [`Table::traced`]. Each method is that of [`Table`].
#[derive(Debug)]
pub struct Traced<'a> {
    table: &'a Table,
    reads: Reads<'a>,
}

#[expect(missing_docs, clippy::missing_errors_doc, reason = "each method is documented on Table")]
impl Traced<'_> {
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let inner = &*self.table.inner;
        inner.check_key(key)?;
        match inner.find(key, &mut self.reads)? {
            Some(position) => inner.value_at(&position).map(Some),
            None => Ok(None),
        }
    }

    pub fn contains_key(&mut self, key: &[u8]) -> Result<bool> {
        self.table.inner.check_key(key)?;
        Ok(self.table.inner.find(key, &mut self.reads)?.is_some())
    }

    pub fn get_all(&mut self, key: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut values = Vec::new();
        self.visit_versions(key, |inner, position| {
            values.push(inner.value_at(position)?);
            Ok(true)
        })?;
        Ok(values)
    }

    pub fn get_tagged(&mut self, key: &[u8], suffix: u64) -> Result<Option<Version>> {
        if !self.table.inner.meta.tagged {
            return Err(Error::InvalidArgument("this table has no tags".into()));
        }
        let mut found = None;
        self.visit_versions(key, |inner, position| {
            let (tag, version) = inner.tag_at(position)?;
            if version <= suffix {
                found = Some((tag, version, inner.value_at(position)?));
            }
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    /// Visits the records of a key in order, until told to stop.
    fn visit_versions(&mut self, key: &[u8], mut visit: impl FnMut(&Inner, &Position) -> Result<bool>) -> Result<()> {
        let inner = &*self.table.inner;
        inner.check_key(key)?;
        let Some(mut position) = inner.find(key, &mut self.reads)? else { return Ok(()) };
        while visit(inner, &position)? {
            match inner.next_position(position, &mut self.reads)? {
                Some(next) if inner.stored(&next)?.0.is(key) => position = next,
                _ => break,
            }
        }
        Ok(())
    }

    pub fn multi_get(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        keys.iter().try_for_each(|key| self.table.inner.check_key(key))?;
        if !self.table.inner.fast_paths.batches {
            return keys.iter().map(|key| self.get(key)).collect();
        }
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&i| keys[i]);
        let sorted: Vec<&[u8]> = order.iter().map(|&i| keys[i]).collect();
        let mut values = vec![None; keys.len()];
        // What is read ahead for a batch counts against the budget, so large sets of keys go in batches.
        let per_key = self.table.inner.meta.max_read_bytes.max(self.table.inner.meta.block_bytes).max(1);
        let batch = (self.table.inner.working_bytes / 4 / per_key).clamp(1, 1 << 16) as usize;
        for (part, places) in sorted.chunks(batch).zip(order.chunks(batch)) {
            let done = self.get_batch(part, places, &mut values);
            self.reads.ahead.clear();
            done?;
        }
        Ok(values)
    }

    fn get_batch(&mut self, keys: &[&[u8]], places: &[usize], values: &mut [Option<Vec<u8>>]) -> Result<()> {
        if self.table.inner.fast_paths.prefetch {
            self.table.inner.prefetch(keys, &mut self.reads)?;
        }
        for (key, &place) in keys.iter().zip(places) {
            values[place] = self.get(key)?;
        }
        Ok(())
    }

    pub fn rank(&mut self, key: &[u8]) -> Result<u64> {
        self.rank_of(Probe { key, behind: false })
    }

    fn rank_of(&mut self, probe: Probe<'_>) -> Result<u64> {
        let inner = &*self.table.inner;
        inner.check_key(probe.key)?;
        let position = inner.lower_bound(probe, &mut self.reads)?;
        let counts = inner.counts(&mut self.reads)?;
        let before =
            counts.before(position.block).ok_or_else(|| inner.damaged(inner.tail_offset, "malformed counts"))?;
        Ok(before + position.index as u64)
    }

    pub fn nth(&mut self, position: u64) -> Result<Option<Record>> {
        let inner = &*self.table.inner;
        if position >= inner.meta.records {
            return Ok(None);
        }
        let malformed = || inner.damaged(inner.tail_offset, "malformed counts");
        let (block, before) = inner.counts(&mut self.reads)?.locate(position).ok_or_else(malformed)?;
        let bytes = inner.child(0, block, &mut self.reads)?;
        let place = Position { block, index: (position - before) as usize, bytes: Some(bytes) };
        Ok(Some((inner.stored(&place)?.0.to_vec(), inner.value_at(&place)?)))
    }

    pub fn count<K: AsRef<[u8]>>(&mut self, bounds: impl RangeBounds<K>) -> Result<u64> {
        let end = match bounds.end_bound() {
            Bound::Unbounded => self.table.inner.meta.records,
            Bound::Included(key) => self.rank_of(Probe { key: key.as_ref(), behind: true })?,
            Bound::Excluded(key) => self.rank_of(Probe { key: key.as_ref(), behind: false })?,
        };
        let start = match bounds.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.rank_of(Probe { key: key.as_ref(), behind: false })?,
            Bound::Excluded(key) => self.rank_of(Probe { key: key.as_ref(), behind: true })?,
        };
        Ok(end.saturating_sub(start))
    }
}

impl Inner {
    /// Refuses a key that no record of the table can have, for its width.
    #[inline]
    pub(super) fn check_key(&self, key: &[u8]) -> Result<()> {
        match self.meta.key_type.width() {
            Some(width) if width != key.len() => Err(self.wrong_width(key, width)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn wrong_width(&self, key: &[u8], width: usize) -> Error {
        let path = self.file.path().to_owned();
        let detail = format!("its keys are {}, of {width} bytes each", self.meta.key_type);
        Error::KeyLength { path, length: key.len() as u64, detail }
    }

    /// The record at a position, as it is stored.
    pub(super) fn stored<'p>(&self, position: &'p Position) -> Result<(Key<'p>, Stored<'p>)> {
        let malformed = || self.malformed(position.block);
        let bytes: &'p Arc<[u8]> = position.bytes.as_ref().ok_or_else(malformed)?;
        let view = self.view(position.block, bytes)?;
        view.key(position.index).zip(view.value(position.index)).ok_or_else(malformed)
    }

    /// The value at a position.
    pub(super) fn value_at(&self, position: &Position) -> Result<Vec<u8>> {
        match self.stored(position)?.1 {
            Stored::Inline(value) => Ok(value.to_vec()),
            Stored::Long(pointer) => self.long_value(pointer),
        }
    }

    /// A value that lies outside the blocks.
    pub(super) fn long_value(&self, pointer: ValuePointer) -> Result<Vec<u8>> {
        if pointer.length > self.budget_bytes {
            let path = self.data.path().to_owned();
            return Err(Error::ValueTooLarge { path, length: pointer.length, limit: self.budget_bytes });
        }
        ValueReader::new(self.data.clone(), self.data_file_id, pointer)?.read_to_vec(self.budget_bytes)
    }

    fn tag_at(&self, position: &Position) -> Result<(u8, u64)> {
        let malformed = || self.malformed(position.block);
        let bytes = position.bytes.as_ref().ok_or_else(malformed)?;
        let tag = self.view(position.block, bytes)?.tag(position.index).ok_or_else(malformed)?;
        Ok((tag.kind, tag.suffix))
    }

    /// The record behind one that was seen.
    pub(super) fn next_position(&self, mut position: Position, reads: &mut Reads<'_>) -> Result<Option<Position>> {
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
                return Ok(Some(Position { bytes: Some(bytes), ..position }));
            }
            position = Position { block: position.block + 1, index: 0, bytes: None };
        }
    }

    /// Reads ahead, level by level, what look-ups of sorted keys will need.
    fn prefetch(&self, keys: &[&[u8]], reads: &mut Reads<'_>) -> Result<()> {
        if self.meta.blocks == 0 {
            return Ok(());
        }
        for level in (0..self.meta.layers.len().max(1)).rev() {
            let mut ranges: Vec<(u64, u64)> = Vec::new();
            for &key in keys {
                let Some(target) = self.target(Probe { key, behind: false }) else { continue };
                let window = self.route(&target, level, reads)?;
                if self.exceeds_memory(level, window.first, window.last) {
                    continue;
                }
                match ranges.last_mut() {
                    Some(range) if window.first <= range.1 + 1 => range.1 = range.1.max(window.last),
                    _ => ranges.push((window.first, window.last)),
                }
            }
            let merge = |a: super::format::Section, b: super::format::Section| {
                let whole = b.offset + b.bytes - a.offset;
                whole <= MERGED_BYTES
                    && self.profile.time_us(whole) < self.profile.time_us(a.bytes) + self.profile.time_us(b.bytes)
            };
            self.read_ahead(level, &ranges, merge, reads)?;
        }
        Ok(())
    }
}
