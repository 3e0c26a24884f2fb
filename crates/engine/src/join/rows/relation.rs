//! Relations as the methods see them: their facts, their rows by ranges of keys, and their lookups.

use super::stream::RowStream;
use super::task::{MemoryGrant, Task};
use crate::error::Result;
use crate::table::Table;
use crate::types::KeyType;
use std::fmt::Debug;
use std::sync::Arc;

/// Properties of a relation that are known before it is read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelationFacts {
    /// Name for messages.
    pub name: String,
    /// Number of rows; an estimate unless `is_exact`.
    pub rows: u64,
    /// Whether the number of rows is exact.
    pub is_exact: bool,
    /// Bytes read by a full scan.
    pub bytes: u64,
    /// Estimated bytes of all keys and values in memory: more than are read if they are stored coded or compressed.
    pub decoded_bytes: u64,
    /// The type of the keys.
    pub key_type: KeyType,
    /// Width of all keys, if fixed.
    pub key_bytes: Option<usize>,
    /// Width of all values, if fixed.
    pub value_bytes: Option<usize>,
    /// Whether rows come in key order.
    pub is_sorted: bool,
    /// Whether keys are known to be distinct.
    pub is_distinct: bool,
}

impl RelationFacts {
    /// Bytes of all keys and values in memory; estimated unless all rows have one width.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self.key_bytes.zip(self.value_bytes) {
            Some((key, value)) if key + value > 0 => self.rows.saturating_mul((key + value) as u64),
            _ => self.decoded_bytes,
        }
    }
}

/// The keys from `from` (inclusive) to `to` (exclusive).
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

/// A relation, as the join methods see it.
pub(crate) trait Relation: Debug + Send + Sync {
    fn facts(&self) -> &RelationFacts;

    /// Streams the rows within a range of keys: in key order if the relation is sorted, otherwise in order of arrival.
    /// May be called any number of times. The stream takes all its memory from `memory`.
    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>>;

    /// Whether a scan of a range reads hardly more than its rows, so that ranges can be scanned one by one.
    fn scans_ranges(&self) -> bool {
        self.facts().is_sorted
    }

    /// Visits the keys of about `rows` rows spread over the relation, without a full scan. Returns `false`, having
    /// visited nothing, if the relation cannot be sampled. Takes little memory: that of a few dozen blocks.
    fn sample(&self, rows: usize, seed: u64, task: &Arc<Task>, visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let _ = (rows, seed, task, visit);
        Ok(false)
    }

    /// Ascending keys that cut the relation into about `parts` parts of similar size; empty if they cannot be told
    /// without a scan.
    fn cuts(&self, parts: usize) -> Vec<Vec<u8>> {
        let _ = parts;
        Vec::new()
    }

    /// The table, if the relation is one: its blocks can be read individually.
    fn table(&self) -> Option<&Table> {
        None
    }

    /// A prober for one thread, if the relation is an index or store that can look keys up.
    fn prober(&self) -> Option<Result<Box<dyn Prober>>> {
        None
    }
}

/// Point lookups in an index, in key order.
pub(crate) trait Prober {
    /// Visits the values of all rows with this key, until `visit` returns `false`.
    fn probe(&mut self, key: &[u8], visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()>;
}
