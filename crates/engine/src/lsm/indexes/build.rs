//! The making of an index on a store in use: the entries of the rows that were there before it was declared.
//!
//! ```text
//! declare   all writes keep the index from now on
//! build     rows up to k1 --> their entries, if none of these rows was written meanwhile; else again
//!           rows up to k2 --> ...
//! complete  the entries are durable; then the manifest says that lookups may use them
//! ```
//!
//! Each batch of entries notes how far they reach, under a key that no entry has. After a kill the index is there, kept
//! by all writes, and not complete: the next call goes on from there. After a repair, which may have lost entries, it
//! empties the index and begins anew.

use super::upkeep::check_entry;
use crate::error::{Cause, Error, Result};
use crate::lsm::core::store::Core;
use crate::lsm::state::entry::{Action, ValueKind};
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::operations::{Operations, ReadCondition};
use crate::lsm::state::transactions::read_set::ReadSet;
use crate::lsm::state::written_keyspace::WrittenKeyspace;
use crate::types::IndexDefinition;
use std::ops::{ControlFlow, RangeFull};
use std::sync::Arc;

/// Rows whose entries are written in one batch, and their bytes.
const BUILD_ROWS_MAX: usize = 4096;
const BUILD_BYTES_MAX: u64 = 4 << 20;

/// The key under which the keyspace of entries has how far their building has come. Entries begin with a byte that
/// tells whether their first value is null, which is less.
const PROGRESS_KEY: &[u8] = &[0xff];

/// The entries of some rows, and how far the building has come with them.
struct BuiltRows {
    operations: Operations,
    progress: BuildProgress,
}

/// How far the building of an index has come.
#[derive(Debug, PartialEq, Eq)]
struct BuildProgress {
    rows: u64,
    /// The key from which on rows have no entries yet; `None` once all have.
    next: Option<Vec<u8>>,
}

impl Default for BuildProgress {
    fn default() -> Self {
        Self { rows: 0, next: Some(Vec::new()) }
    }
}

impl BuildProgress {
    /// `rows: u64 | 1 if there is a next key: u8 | next key`.
    fn encode(&self) -> Vec<u8> {
        let next = self.next.as_deref();
        [&self.rows.to_le_bytes()[..], &[u8::from(next.is_some())], next.unwrap_or_default()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (rows, rest) = bytes.split_first_chunk()?;
        let (is_next, next) = rest.split_first()?;
        let next = match is_next {
            0 if next.is_empty() => None,
            1 => Some(next.to_vec()),
            _ => return None,
        };
        Some(Self { rows: u64::from_le_bytes(*rows), next })
    }
}

impl Core {
    /// Creates an index and builds it; `progress` gets the number of rows that are in it, and stops it by an error. One
    /// that is there and complete is left as it is.
    ///
    /// # Errors
    /// [`Cause::NotUnique`], and nothing remains of the index; [`Cause::Input`] as [`Core::declare_index`] has it, and
    /// for a row that is none; as for any write.
    pub(in crate::lsm) fn create_index(
        &self,
        tree: &Arc<KeyspaceTree>,
        name: &str,
        definition: &IndexDefinition,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        // One that begins while another is being built would empty what that has made.
        let _building = self.writes.building.lock();
        let index = self.declare_index(tree, name, definition)?;
        if index.record.is_complete {
            return Ok(());
        }
        let built = self.build_index(tree, &index, progress);
        if let Err(Error { cause: Cause::NotUnique | Cause::Input | Cause::KeyLength { .. }, .. }) = &built {
            // The rows do not admit it.
            self.drop_index(name)?;
        }
        built
    }

    fn build_index(
        &self,
        tree: &Arc<KeyspaceTree>,
        index: &KeptIndex,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let known = if index.record.is_repaired { None } else { self.build_progress(index)? };
        if known.is_none() && !self.is_empty_at(&index.entries, ReadPoint::with_expired(u64::MAX))? {
            let mut all = Operations::default();
            all.push_range::<&[u8]>(&WrittenKeyspace::new(Arc::clone(&index.entries)), &RangeFull);
            self.commit(all, None)?;
        }
        let BuildProgress { mut rows, mut next } = known.unwrap_or_default();
        let mut rows_max = BUILD_ROWS_MAX;
        while let Some(from) = &next {
            let pinned = self.pin_newest();
            let built = self.entries_of_rows(tree, index, (from, rows_max), (pinned.point(), rows))?;
            match self.commit(built.operations, None) {
                // Fewer rows are less likely to be written meanwhile.
                Err(Error { cause: Cause::Conflict, .. }) => rows_max = (rows_max / 2).max(1),
                outcome => {
                    outcome?;
                    BuildProgress { rows, next } = built.progress;
                    progress(rows)?;
                    rows_max = (rows_max * 2).min(BUILD_ROWS_MAX);
                }
            }
        }
        if index.record.definition.is_unique() {
            let pinned = self.pin_newest();
            self.check_all_unique(tree, index, pinned.point())?;
        }
        let mut done = Operations::default();
        done.push(&WrittenKeyspace::new(Arc::clone(&index.entries)), Action::Put(ValueKind::Remove), PROGRESS_KEY, &[]);
        self.commit(done, None)?;
        self.complete_index(tree, index.entries.id)
    }

    /// How far the building of an index has come; `None` if that is unknown.
    fn build_progress(&self, index: &KeptIndex) -> Result<Option<BuildProgress>> {
        let pinned = self.pin_newest();
        let found = self.rows_at(&index.entries, &[PROGRESS_KEY], pinned.point())?.pop().flatten();
        Ok(found.and_then(|bytes| BuildProgress::decode(&bytes)))
    }

    /// The number of rows that the building of an index has added to it.
    pub(in crate::lsm) fn built_rows(&self, index: &KeptIndex) -> Result<u64> {
        Ok(self.build_progress(index)?.unwrap_or_default().rows)
    }

    /// Checks that no two entries have the same values, once all rows have theirs: from then on each write checks its
    /// own.
    fn check_all_unique(&self, tree: &Arc<KeyspaceTree>, index: &KeptIndex, point: ReadPoint) -> Result<()> {
        let resolved = index.resolved(tree)?;
        let (mut values, mut key) = (Vec::new(), Vec::new());
        self.visit_rows(&index.entries, (&[], Some(PROGRESS_KEY)), point, &mut |entry, _| {
            let next = resolved.key_of(entry).unwrap_or_default();
            let of_next = entry.get(..entry.len() - next.len()).unwrap_or_default();
            if of_next == values && !resolved.has_null(of_next) {
                return Err(self.not_unique(tree, index, next, &key));
            }
            (values, key) = (of_next.to_vec(), next.to_vec());
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The entries of the rows from a key on, to be written if none of these rows was written meanwhile.
    fn entries_of_rows(
        &self,
        tree: &Arc<KeyspaceTree>,
        index: &KeptIndex,
        (from, rows_max): (&[u8], usize),
        (point, rows_before): (ReadPoint, u64),
    ) -> Result<BuiltRows> {
        let mut reads = ReadSet::new(self.options.transaction_limit_bytes());
        reads.add_range(tree, &[], Some(&[]));
        let resolved = index.resolved(tree)?;
        let (mut operations, written) = (Operations::default(), WrittenKeyspace::new(Arc::clone(&index.entries)));
        let (mut rows, mut bytes, mut next) = (0, 0, None);
        self.visit_rows(tree, (from, None), point, &mut |key, (row, expires_ms)| {
            if rows as usize >= rows_max || bytes >= BUILD_BYTES_MAX {
                next = Some(key.to_vec());
                return Ok(ControlFlow::Break(()));
            }
            (rows, bytes) = (rows + 1, bytes + (key.len() + row.len()) as u64);
            let new = resolved.values_of(key, row).map_err(|error| not_a_row(tree, key, &error))?;
            if let Some(new) = new {
                let entry = [&new.bytes[..], key].concat();
                check_entry(index, &entry, key)?;
                operations.push_value(&written, &entry, &[], expires_ms);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        reads.add_range(tree, from, next.as_deref());
        let progress = BuildProgress { rows: rows_before + rows, next };
        operations.push(&written, Action::Put(ValueKind::Value), PROGRESS_KEY, &progress.encode());
        operations.take_error()?;
        operations.set_condition(ReadCondition { reads, after: point.at });
        Ok(BuiltRows { operations, progress })
    }
}

/// The error of a record whose value is not of the types of its keyspace.
fn not_a_row(tree: &KeyspaceTree, key: &[u8], error: &Error) -> Error {
    let types = tree.types.get();
    let key = types.types.keys.display(key);
    Error::input(format!("the record {key:?} of the keyspace {:?} cannot be indexed: {error}", tree.name))
}
