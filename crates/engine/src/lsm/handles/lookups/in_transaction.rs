//! Lookups through indexes in a transaction: rows of its snapshot and its own, in the order of the index.
//!
//! ```text
//! snapshot   ann->1  bob->2  cid->3       own writes   2 {email: zoe}   4 {email: abe}   remove 3
//! found      abe->4  ann->1  zoe->2       read         the entries from the start to the last one that was returned,
//!                                                      and row 1
//! ```
//!
//! So a row that comes to have such values, or had them and is written, is a conflict, and so is a phantom: one that
//! would have been found.

use super::index_rows::{IndexRows, KeyWithRow};
use super::own_entries::OwnEntries;
use crate::block::Slice;
use crate::error::Result;
use crate::lsm::handles::keyspace_index::KeyspaceIndex;
use crate::lsm::handles::range::seek::MoveEnds;
use crate::lsm::handles::transaction::{DbTransaction, SharedTransaction};
use crate::lsm::handles::transaction_range::{PassedKeys, WithOwnWrites};
use crate::lsm::read::scan::ScanBounds;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::operations::half_open;
use crate::types::{Value, end_of_prefix};
use std::ops::Bound;
use std::sync::Arc;

/// Records in the order of an index as a transaction sees them, from either end: see [`DbTransaction::index_range`].
/// After an error it ends.
#[derive(Debug)]
pub struct DbTransactionIndexRange {
    rows: WithOwnWrites<IndexRows, KeyWithRow, Arc<OwnEntries>>,
    transaction: Arc<SharedTransaction>,
    tree: Arc<KeyspaceTree>,
}

impl DbTransaction {
    /// The records with these values of an index, as [`KeyspaceIndex::get`] has them, with the writes up to now. The
    /// transaction has read the records that were returned, and that no others have such values, as far as the range
    /// was iterated.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::types::IndexDefinition;
    /// use ogive::{Cause, Error};
    ///
    /// ogive::row! {
    ///     struct User { name: String, email: String }
    /// }
    ///
    /// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let users = db.keyspace("users")?.typed::<u64, User>()?;
    /// let by_email = db.create_index("by_email", users.untyped(), &IndexDefinition::by("email")?)?;
    ///
    /// let tx = db.begin();
    /// assert!(tx.index_get(&by_email, &["ann@x".into()])?.next().is_none());
    /// tx.typed(&users).insert(1, User { name: "Ann".into(), email: "ann@x".into() })?;
    /// assert_eq!(tx.index_get(&by_email, &["ann@x".into()])?.count(), 1);
    ///
    /// // Meanwhile another user has got the address.
    /// users.insert(2, User { name: "Ana".into(), email: "ann@x".into() })?;
    /// assert_eq!(tx.commit().unwrap_err().cause, Cause::Conflict);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`KeyspaceIndex::get`]; [`Cause::Conflict`](crate::Cause::Conflict) if the index was created since the
    /// transaction began; [`Cause::Input`](crate::Cause::Input) if the transaction has written a value that is no row.
    pub fn index_get(&self, index: &KeyspaceIndex, values: &[Value]) -> Result<DbTransactionIndexRange> {
        self.index_range(index, Bound::Included(values), Bound::Included(values))
    }

    /// The records between two bounds of an index, as [`KeyspaceIndex::range`] has them, with the writes up to now: see
    /// [`Self::index_get`].
    ///
    /// # Errors
    /// As [`Self::index_get`].
    pub fn index_range(
        &self,
        index: &KeyspaceIndex,
        from: Bound<&[Value]>,
        to: Bound<&[Value]>,
    ) -> Result<DbTransactionIndexRange> {
        self.index_between(index, index.bounds(from, to)?)
    }

    /// The records whose values begin with these, as [`KeyspaceIndex::prefix`] has them, with the writes up to now: see
    /// [`Self::index_get`].
    ///
    /// # Errors
    /// As [`Self::index_get`].
    pub fn index_prefix(&self, index: &KeyspaceIndex, values: &[Value]) -> Result<DbTransactionIndexRange> {
        self.index_between(index, index.prefix_bounds(values)?)
    }

    fn index_between(&self, index: &KeyspaceIndex, bounds: ScanBounds) -> Result<DbTransactionIndexRange> {
        let transaction = self.shared();
        let (start, end) = half_open(&bounds);
        let rows = index.rows(self.snapshot(), bounds)?;
        let (tree, entries) = (index.keyspace().tree(), index.entries());
        // A keyspace that is altered from now on has been read.
        transaction.add_range(tree, &[], Some(&[]));
        let own = transaction.own_entries(index)?;
        let passed = PassedKeys::new(transaction, entries, (start.clone(), end.clone()));
        let rows = WithOwnWrites::new(rows, (own.within(&start, end.as_deref()), own), passed);
        Ok(DbTransactionIndexRange { rows, transaction: Arc::clone(transaction), tree: Arc::clone(tree) })
    }
}

impl DbTransactionIndexRange {
    /// Moves the front to the first record in the range whose values are at or behind these, as
    /// [`KeyspaceIndexRange::seek`](crate::lsm::KeyspaceIndexRange::seek) does. The transaction has not read what was
    /// skipped.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for values of other types; the range is where it was.
    pub fn seek(&mut self, values: &[Value]) -> Result<()> {
        let start = self.rows.stored().encode(values)?;
        self.rows.move_front(&start);
        Ok(())
    }

    /// Moves the back to the last record in the range whose values are at or before these, likewise.
    ///
    /// # Errors
    /// As [`Self::seek`].
    pub fn seek_for_prev(&mut self, values: &[Value]) -> Result<()> {
        let start = self.rows.stored().encode(values)?;
        self.rows.move_back(end_of_prefix(&start).as_deref());
        Ok(())
    }

    fn step(&mut self, forward: bool) -> Option<Result<(Slice, Slice)>> {
        let found = self.rows.guarded_step(forward)?;
        Some(found.map(|(_, (key, row))| {
            if !self.rows.hidden().has(&key) {
                self.transaction.add_point(&self.tree, &key);
            }
            (key, row)
        }))
    }
}

impl Iterator for DbTransactionIndexRange {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(true)
    }
}

impl DoubleEndedIterator for DbTransactionIndexRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(false)
    }
}
