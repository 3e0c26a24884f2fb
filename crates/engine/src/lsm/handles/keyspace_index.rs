//! The indexes that a store keeps itself: they are created, dropped and listed by the handle of the store, and lead
//! from values to records.

use super::db::Db;
use super::keyspace::Keyspace;
use super::lookups::index_rows::{IndexRows, RowsOfIndex};
use super::pinned_types::PinnedTypes;
use super::range::DbRange;
use super::range::seek::MoveEnds;
use super::snapshot::DbSnapshot;
use crate::block::Slice;
use crate::error::{Cause, Error, Result};
use crate::lsm::indexes::compare::NoteFault;
use crate::lsm::read::scan::ScanBounds;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::types::{Component, IndexDefinition, KeyType, ResolvedIndex, Value, end_of_prefix};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// Bytes behind a component of variable length, which a prefix of it lacks.
const COMPONENT_END_BYTES: usize = 2;

/// A secondary index that the store keeps: see [`Db::create_index`].
#[derive(Clone)]
pub struct KeyspaceIndex {
    keyspace: Keyspace,
    index: KeptIndex,
    /// The types by which a typed handle reads its rows.
    pinned: Option<PinnedTypes>,
}

impl Db {
    /// Creates a secondary index of a keyspace with rows, which is recorded in the store, so that every write keeps it:
    /// batches, transactions, imports, by whatever program. Returns once it has the rows that are there; others read
    /// and write meanwhile. One that was not finished, because the process was killed, is kept by all writes; the same
    /// call goes on with it. If there is one of this name and definition, nothing is done.
    ///
    /// Each write of the keyspace then reads the rows that it replaces or removes, and is a transaction of its own: it
    /// is computed again if they were written meanwhile. A row whose values another row has in a unique index is
    /// refused. Removing a range reads its rows, unless it has no bounds. [Ingested](Keyspace::ingest) tables get
    /// tables of entries beside them. The indexed columns keep their types.
    ///
    /// The store gets the format [`INDEXED_FORMAT`](crate::lsm::INDEXED_FORMAT), which older programs refuse.
    ///
    /// ```
    /// use ogive::types::IndexDefinition;
    /// use ogive::{Cause, Error};
    ///
    /// ogive::row! {
    ///     struct User { name: String, email: Option<String> }
    /// }
    ///
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let users = db.keyspace("users")?.typed::<u64, User>()?;
    /// users.insert(1, User { name: "Ann".into(), email: Some("Ann@example.com".into()) })?;
    /// let definition = IndexDefinition::by("lower(email)")?.unique().where_not_null("email");
    /// let by_email = db.create_index("by_email", users.untyped(), &definition)?;
    ///
    /// let taken = users.insert(2, User { name: "Bob".into(), email: Some("ann@example.com".into()) }).unwrap_err();
    /// assert_eq!(taken.cause, Cause::NotUnique);
    /// assert!(taken.to_string().contains("of the row \"1\""), "{taken}");
    ///
    /// let (key, _) = by_email.get(&["ann@example.com".into()])?.next().expect("she is there")?;
    /// assert_eq!(*key, 1_u64.to_be_bytes());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a keyspace without rows of named columns, a definition that does not
    /// fit them, a name that is taken, and a value that is no row; [`Cause::NotUnique`](crate::Cause::NotUnique): after
    /// these, nothing of the index remains. As [`Batch::commit`](crate::Batch::commit).
    pub fn create_index(
        &self,
        name: &str,
        keyspace: impl AsRef<Keyspace>,
        definition: &IndexDefinition,
    ) -> Result<KeyspaceIndex> {
        self.create_index_showing(name, keyspace.as_ref(), definition, &mut |_| Ok(()))
    }

    /// As [`Self::create_index`]; `progress` gets the number of rows that are in the index, and stops it by an error.
    ///
    /// # Errors
    /// As [`Self::create_index`], and those of `progress`.
    #[doc(hidden)]
    pub fn create_index_showing(
        &self,
        name: &str,
        keyspace: &Keyspace,
        definition: &IndexDefinition,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<KeyspaceIndex> {
        keyspace.check_store(self.open())?;
        self.core().create_index(keyspace.tree(), name, definition, progress)?;
        self.index(name)
    }

    /// Drops an index; returns `false` if there is none of this name.
    ///
    /// # Errors
    /// As [`Batch::commit`](crate::Batch::commit).
    pub fn drop_index(&self, name: &str) -> Result<bool> {
        self.core().drop_index(name)
    }

    /// All indexes, by keyspace and name.
    #[must_use]
    pub fn indexes(&self) -> Vec<KeyspaceIndex> {
        self.core().all_indexes().into_iter().map(|found| self.of_index(found)).collect()
    }

    /// The index of this name.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if there is none, or it was not built to its end.
    pub fn index(&self, name: &str) -> Result<KeyspaceIndex> {
        let found = self.core().index_named(name);
        match found {
            Some((_, index)) if !index.record.is_complete => Err(self.core().no_index(name, true)),
            Some(found) => Ok(self.of_index(found)),
            None => Err(self.core().no_index(name, false)),
        }
    }

    /// Compares all complete indexes with their rows, and notes the differences.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub(crate) fn compare_indexes(&self, note: NoteFault<'_>) -> Result<()> {
        self.core().compare_indexes(note)
    }

    fn of_index(&self, (tree, index): (Arc<KeyspaceTree>, KeptIndex)) -> KeyspaceIndex {
        KeyspaceIndex { keyspace: Keyspace::new(Arc::clone(self.open()), tree), index, pinned: None }
    }
}

impl Keyspace {
    /// Its index of this name.
    ///
    /// # Errors
    /// As [`Db::index`]; [`Cause::Input`](crate::Cause::Input) for one of another keyspace.
    pub(crate) fn index(&self, name: &str) -> Result<KeyspaceIndex> {
        let index = self.store()?.index(name)?;
        if index.keyspace == *self {
            return Ok(index);
        }
        let of = index.keyspace.name();
        Err(Error::input(format!("the index {name:?} is of the keyspace {of:?}, not of {:?}", self.name())))
    }
}

impl KeyspaceIndex {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.index.name()
    }

    /// The keyspace that it is of.
    #[must_use]
    pub fn keyspace(&self) -> &Keyspace {
        &self.keyspace
    }

    /// What it contains.
    #[must_use]
    pub fn definition(&self) -> &IndexDefinition {
        &self.index.record.definition
    }

    /// Whether it was built to its end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.index.record.is_complete
    }

    /// The number of rows that a build which has not ended has added to it. Writes add theirs meanwhile.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub fn built_rows(&self) -> Result<u64> {
        self.keyspace.open().core.built_rows(&self.index)
    }

    /// The types of its values.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) once the keyspace is of other types.
    pub fn value_types(&self) -> Result<Vec<KeyType>> {
        let resolved = self.index.resolved(self.keyspace.tree())?;
        Ok(resolved.tuple().components().map(|component| component.key_type).collect())
    }

    /// The first values of the index as text has them: a record of CSV, as `de,2024-02-29`, whose empty fields are
    /// nulls.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for text that is no such record.
    pub fn parse(&self, text: &str) -> Result<Vec<Value>> {
        self.index.resolved(self.keyspace.tree())?.parse(text)
    }

    /// The records with these values, which are the first or all of the index, ordered by the others and the key.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for values of other types; [`Cause::KeyspaceDropped`] once the index was
    /// dropped.
    ///
    /// [`Cause::KeyspaceDropped`]: crate::Cause::KeyspaceDropped
    pub fn get(&self, values: &[Value]) -> Result<KeyspaceIndexRange> {
        self.range(Bound::Included(values), Bound::Included(values))
    }

    /// The records between two bounds, each of the first values of the index, in its order, from either end. A bound of
    /// some values stands for all records with these.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn range(&self, from: Bound<&[Value]>, to: Bound<&[Value]>) -> Result<KeyspaceIndexRange> {
        self.between(self.bounds(from, to)?)
    }

    /// The records whose values begin with these, the last of which is the beginning of a text or of bytes.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn prefix(&self, values: &[Value]) -> Result<KeyspaceIndexRange> {
        self.between(self.prefix_bounds(values)?)
    }

    /// The bounds of the entries with values between two bounds.
    pub(super) fn bounds(&self, from: Bound<&[Value]>, to: Bound<&[Value]>) -> Result<ScanBounds> {
        let start = match from {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(values) => Bound::Included(self.encode(values)?),
            Bound::Excluded(values) => match end_of_prefix(&self.encode(values)?) {
                Some(end) => Bound::Included(end),
                None => Bound::Excluded(self.encode(values)?),
            },
        };
        let end = match to {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Excluded(values) => Bound::Excluded(self.encode(values)?),
            Bound::Included(values) => end_of_prefix(&self.encode(values)?).map_or(Bound::Unbounded, Bound::Excluded),
        };
        Ok((start, end))
    }

    /// The bounds of the entries whose values begin with these.
    pub(super) fn prefix_bounds(&self, values: &[Value]) -> Result<ScanBounds> {
        let mut start = self.encode(values)?;
        if matches!(values.last(), Some(Value::Text(_) | Value::Bytes(_))) {
            start.truncate(start.len().saturating_sub(COMPONENT_END_BYTES));
        }
        let end = end_of_prefix(&start).map_or(Bound::Unbounded, Bound::Excluded);
        Ok((Bound::Included(start), end))
    }

    fn encode(&self, values: &[Value]) -> Result<Vec<u8>> {
        let tuple = self.index.resolved(self.keyspace.tree())?.tuple();
        KeyType::Tuple(tuple).encode_prefix(values)
    }

    fn between(&self, bounds: ScanBounds) -> Result<KeyspaceIndexRange> {
        self.rows(&self.keyspace.store()?.snapshot(), bounds).map(KeyspaceIndexRange)
    }

    /// The rows whose entries are within bounds, as of a snapshot.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the index is not complete, and for a snapshot of another store;
    /// [`Cause::Conflict`](crate::Cause::Conflict) if it was not complete at the snapshot.
    pub(super) fn rows(&self, snapshot: &DbSnapshot, bounds: ScanBounds) -> Result<IndexRows> {
        let entries = self.entries_at(snapshot, bounds)?;
        let of = RowsOfIndex { index: self.index.clone(), rows: self.keyspace.clone(), _pinned: self.pinned.clone() };
        Ok(IndexRows::new(of, snapshot.clone(), entries))
    }

    /// The entries within bounds, as [`Self::rows`] has them.
    fn entries_at(&self, snapshot: &DbSnapshot, bounds: ScanBounds) -> Result<DbRange> {
        let (tree, core) = (self.keyspace.tree(), self.keyspace.core());
        let of_now = tree.indexes.get();
        let of_now = of_now.iter().find(|index| index.entries.id == self.index.entries.id);
        // Of one that was dropped, its range tells.
        let KeptIndex { record, complete_from, .. } = of_now.unwrap_or(&self.index);
        if !record.is_complete {
            return Err(core.no_index(self.name(), true));
        }
        if snapshot.sequence() < *complete_from {
            let detail = format!("its index {:?} was created since the transaction began", self.name());
            return Err(Error::conflict(core.path(), &tree.name, detail));
        }
        let entries = Keyspace::new(Arc::clone(self.keyspace.open()), Arc::clone(&self.index.entries));
        Ok(snapshot.range::<Vec<u8>>(&entries, bounds))
    }

    /// The keyspace of its entries.
    pub(super) fn entries(&self) -> &Arc<KeyspaceTree> {
        &self.index.entries
    }

    /// Its definition for the types that the keyspace has now.
    pub(super) fn resolved(&self) -> Result<Arc<ResolvedIndex>> {
        self.index.resolved(self.keyspace.tree())
    }

    /// The components of its entries.
    ///
    /// # Errors
    /// As [`Self::value_types`].
    #[doc(hidden)]
    pub fn components(&self) -> Result<Vec<Component>> {
        Ok(self.resolved()?.tuple().components().collect())
    }

    /// The records whose entries are within a range of bytes, in the order of the index, as of a snapshot.
    ///
    /// # Errors
    /// As [`Self::get`]; [`Cause::Conflict`] for a snapshot that is older than the index.
    #[doc(hidden)]
    pub fn rows_within(&self, snapshot: &DbSnapshot, range: ScanBounds) -> Result<KeyspaceIndexRange> {
        self.rows(snapshot, range).map(KeyspaceIndexRange)
    }

    /// The keys to which the entries within ranges of bytes lead, as of a snapshot. Rows are not read: some may have
    /// other values. `None` if there are more than `most`, or the snapshot is older than the index.
    ///
    /// # Errors
    /// As [`Self::get`].
    #[doc(hidden)]
    pub fn keys_within(
        &self,
        snapshot: &DbSnapshot,
        ranges: impl IntoIterator<Item = ScanBounds>,
        most: usize,
    ) -> Result<Option<Vec<Slice>>> {
        let (resolved, mut keys) = (self.resolved()?, Vec::new());
        let no_entry = || Error::input(format!("an entry of the index {:?} is none", self.name()));
        for range in ranges {
            let entries = match self.entries_at(snapshot, range) {
                Err(Error { cause: Cause::Conflict, .. }) => return Ok(None),
                entries => entries?,
            };
            for entry in entries.keys() {
                if keys.len() == most {
                    return Ok(None);
                }
                keys.push(resolved.key_of(&entry?).map(Slice::from).ok_or_else(no_entry)?);
            }
        }
        Ok(Some(keys))
    }

    /// The same index, which keeps these types as they are while it is used.
    pub(crate) fn pinning(self, types: &PinnedTypes) -> Self {
        Self { pinned: Some(types.clone()), ..self }
    }
}

impl fmt::Debug for KeyspaceIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "index {:?} of {:?} by {}", self.name(), self.keyspace.name(), self.definition())
    }
}

/// Records in the order of an index, as of one time, from either end: see [`KeyspaceIndex::range`]. Rows are read in
/// waves, and compared with the entries that led to them.
#[derive(Debug)]
pub struct KeyspaceIndexRange(IndexRows);

impl KeyspaceIndexRange {
    /// Moves the front to the first record in the range whose values are at or behind these in the order of the index,
    /// as [`DbRange::seek`](crate::lsm::DbRange::seek) does. There may be fewer values than the index has.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for values of other types; the range is where it was.
    pub fn seek(&mut self, values: &[Value]) -> Result<()> {
        let start = self.0.encode(values)?;
        self.0.move_front(&start);
        Ok(())
    }

    /// Moves the back to the last record in the range whose values are at or before these, likewise.
    ///
    /// # Errors
    /// As [`Self::seek`].
    pub fn seek_for_prev(&mut self, values: &[Value]) -> Result<()> {
        let start = self.0.encode(values)?;
        self.0.move_back(end_of_prefix(&start).as_deref());
        Ok(())
    }
}

impl Iterator for KeyspaceIndexRange {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|row| row.map(|(_, record)| record))
    }
}

impl DoubleEndedIterator for KeyspaceIndexRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|row| row.map(|(_, record)| record))
    }
}
