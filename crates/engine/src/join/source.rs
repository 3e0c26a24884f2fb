//! The relations of a join: the public `Source`, and the trait that the methods see.

use super::records::{CallerRelation, FileRelation, RecordShape, Records};
use super::rows::RowStream;
use super::scan::TableRelation;
use super::stored::{IndexRelation, SnapshotRelation};
use super::task::{Share, Task};
use crate::error::Result;
use crate::index::{Index, Key, Payload};
use crate::io::Storage;
use crate::lsm::{Keyspace, Snapshot};
use crate::table::external::RecordFile;
use crate::table::{KeyType, Table};
use std::fmt::Debug;
use std::ops::RangeBounds;
use std::sync::Arc;

/// What is known of a relation before it is read.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// What messages call it.
    pub(crate) name: String,
    /// Rows; about so many where `is_exact` is off.
    pub(crate) rows: u64,
    pub(crate) is_exact: bool,
    /// Bytes that reading all of it takes.
    pub(crate) bytes: u64,
    pub(crate) key_type: KeyType,
    /// Width of all keys, where they have one.
    pub(crate) key_bytes: Option<usize>,
    /// Width of all values, where they have one.
    pub(crate) value_bytes: Option<usize>,
    /// Whether [`Relation::scan`] gives rows in key order.
    pub(crate) is_sorted: bool,
    /// Whether no two rows have the same key, as far as is known.
    pub(crate) is_distinct: bool,
}

/// The keys from `from` (included) to `to` (not included).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) from: Option<Vec<u8>>,
    pub(crate) to: Option<Vec<u8>>,
}

impl KeyRange {
    /// Every key.
    pub(crate) fn all() -> Self {
        Self::default()
    }

    pub(crate) fn bounds(&self) -> (std::ops::Bound<&[u8]>, std::ops::Bound<&[u8]>) {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        (self.from.as_deref().map_or(Unbounded, Included), self.to.as_deref().map_or(Unbounded, Excluded))
    }

    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        self.from.as_deref().is_none_or(|from| key >= from) && self.to.as_deref().is_none_or(|to| key < to)
    }
}

/// A relation as the methods see it.
pub(crate) trait Relation: Debug + Send + Sync {
    fn facts(&self) -> &Facts;

    /// Its rows within a range of keys: in key order where the relation is sorted, else in the order of arrival. May be called again and
    /// again. All memory that the stream takes comes out of `memory`.
    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: Share) -> Result<Box<dyn RowStream>>;

    /// Shows the keys of about `rows` rows from all over the relation, without reading all of it; `false` where that cannot be done, nothing having been shown.
    /// Takes little memory: what some dozens of blocks have.
    fn sample(&self, rows: usize, seed: u64, task: &Arc<Task>, visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let _ = (rows, seed, task, visit);
        Ok(false)
    }

    /// Keys that cut it into about so many parts of like size, rising; none where it cannot tell without being read.
    fn cuts(&self, parts: usize) -> Vec<Vec<u8>> {
        let _ = parts;
        Vec::new()
    }

    /// The table, where it is one: its blocks can be read alone.
    fn table(&self) -> Option<&Table> {
        None
    }

    /// Where it is an index that finds a key by itself: a prober of its own for each thread.
    fn prober(&self) -> Option<Result<Box<dyn Prober>>> {
        None
    }
}

/// Looks keys up in an index, as one goes through them in order.
pub(crate) trait Prober {
    /// Shows the values of all rows of a key to `visit`, until it says `false`.
    fn probe(&mut self, key: &[u8], visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()>;
}

/// A relation to be joined; cheap to clone. Relations are read as they are while the join runs: a table never changes, and of an index and a
/// store one snapshot is joined.
#[derive(Clone, Debug)]
pub struct Source {
    pub(super) relation: Arc<dyn Relation>,
}

impl Source {
    /// All records of a table.
    #[must_use]
    pub fn table(table: &Table) -> Self {
        Self::of(TableRelation::new(table.clone()))
    }

    /// The entries of an index as its last commit left it. Keys become the order-preserving bytes of their type.
    ///
    /// # Errors
    /// What the storage reports, and damage.
    pub fn index<K: Key, V: Payload>(index: &Index<K, V>) -> Result<Self> {
        Ok(Self::of(IndexRelation::new(index)?))
    }

    /// The records that a range of a keyspace had when the snapshot was taken.
    #[must_use]
    pub fn snapshot<T: AsRef<[u8]>>(snapshot: &Snapshot, keyspace: &Keyspace, range: impl RangeBounds<T>) -> Self {
        Self::of(SnapshotRelation::new(snapshot.clone(), keyspace.clone(), range))
    }

    /// As [`Self::snapshot`], of a keyspace whose keys are all the order-preserving bytes of one type: those of the output are then, too.
    /// The join ends with [`Error::KeyLength`] where a key has another width.
    ///
    /// [`Error::KeyLength`]: crate::Error::KeyLength
    #[must_use]
    pub fn snapshot_of<T: AsRef<[u8]>>(
        snapshot: &Snapshot,
        keyspace: &Keyspace,
        key_type: KeyType,
        range: impl RangeBounds<T>,
    ) -> Self {
        Self::of(SnapshotRelation::new(snapshot.clone(), keyspace.clone(), range).with_keys(key_type))
    }

    /// The records of a file of ours or of somebody else, in the order in which they are there; none is under a checksum of ours.
    ///
    /// With `is_sorted`, the file is said to be in key order, so that it need not be sorted; the join ends with [`Error::Unsorted`] where it is not.
    ///
    /// # Errors
    /// [`Error::NotRecords`] when the file is not made of whole records, or not of so many as it states;
    /// [`Error::InvalidArgument`] for keys of another width than 8 or 16 bytes; what the storage reports.
    ///
    /// [`Error::Unsorted`]: crate::Error::Unsorted
    /// [`Error::NotRecords`]: crate::Error::NotRecords
    /// [`Error::InvalidArgument`]: crate::Error::InvalidArgument
    pub fn records(storage: &dyn Storage, name: &str, records: RecordFile, is_sorted: bool) -> Result<Self> {
        Ok(Self::of(FileRelation::open(storage, name, records, is_sorted)?))
    }

    /// Records in any order that `records` gives anew each time it is called, always the same ones: a join may go through them more
    /// than once. Values lie in memory, so that records are no longer than a part of what the join may take.
    #[must_use]
    pub fn unsorted(shape: RecordShape, records: impl Fn() -> Records + Send + Sync + 'static) -> Self {
        Self::of(CallerRelation::new(shape, Arc::new(records)))
    }

    pub(super) fn of(relation: impl Relation + 'static) -> Self {
        Self { relation: Arc::new(relation) }
    }
}
