//! The making of an index on a store in use: the entries of the rows that were there before it was declared.
//!
//! ```text
//! declare   all writes keep the index from now on
//! build     rows up to k1 --> their entries, if none of these rows was written meanwhile; else again
//!           rows up to k2 --> ...
//! complete  the entries are durable; then the manifest says that lookups may use them
//! ```
//!
//! After a kill the index is there, kept by all writes, and not complete. The next call empties it and builds it anew.

use super::upkeep::check_entry;
use crate::error::{Cause, Error, Result};
use crate::lsm::core::store::Core;
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

/// Some rows, and what their entries are.
struct BuiltRows {
    operations: Operations,
    rows: u64,
    /// The first key behind them, if there may be more.
    next: Option<Vec<u8>>,
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
        if !self.is_empty_at(&index.entries, ReadPoint::with_expired(u64::MAX))? {
            let mut all = Operations::default();
            all.push_range::<&[u8]>(&WrittenKeyspace::new(Arc::clone(&index.entries)), &RangeFull);
            self.commit(all, None)?;
        }
        let (mut from, mut rows_max, mut done) = (Vec::new(), BUILD_ROWS_MAX, 0);
        loop {
            let pinned = self.pin_newest();
            let BuiltRows { operations, rows, next } =
                self.entries_of_rows(tree, index, (&from, rows_max), pinned.point())?;
            match self.commit(operations, None) {
                // Fewer rows are less likely to be written meanwhile.
                Err(Error { cause: Cause::Conflict, .. }) => rows_max = (rows_max / 2).max(1),
                outcome => {
                    outcome?;
                    done += rows;
                    progress(done)?;
                    rows_max = (rows_max * 2).min(BUILD_ROWS_MAX);
                    let Some(next) = next else { break };
                    from = next;
                }
            }
        }
        if index.record.definition.is_unique() {
            let pinned = self.pin_newest();
            self.check_all_unique(tree, index, pinned.point())?;
        }
        self.complete_index(tree, index.entries.id)
    }

    /// Checks that no two entries have the same values, once all rows have theirs: from then on each write checks its
    /// own.
    fn check_all_unique(&self, tree: &Arc<KeyspaceTree>, index: &KeptIndex, point: ReadPoint) -> Result<()> {
        let resolved = index.resolved(tree)?;
        let (mut values, mut key) = (Vec::new(), Vec::new());
        self.visit_rows(&index.entries, (&[], None), point, &mut |entry, _| {
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
        point: ReadPoint,
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
        operations.take_error()?;
        operations.set_condition(ReadCondition { reads, after: point.at });
        Ok(BuiltRows { operations, rows, next })
    }
}

/// The error of a record whose value is not of the types of its keyspace.
fn not_a_row(tree: &KeyspaceTree, key: &[u8], error: &Error) -> Error {
    let types = tree.types.get();
    let key = types.types.keys.display(key);
    Error::input(format!("the record {key:?} of the keyspace {:?} cannot be indexed: {error}", tree.name))
}
