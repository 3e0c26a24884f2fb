//! Rows and entries of keyspaces at a sequence number, as the upkeep of indexes reads them.

use crate::block::Slice;
use crate::error::Result;
use crate::lsm::core::store::Core;
use crate::lsm::read::batch_get;
use crate::lsm::read::scan::positioned_cursor;
use crate::lsm::read::value_wave::BatchLimits;
use crate::lsm::state::entry::{Sequence, ValueKind};
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use std::ops::{Bound, ControlFlow};

/// Takes a key and its row.
pub(super) type VisitRow<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>;

impl Core {
    /// The rows of keys, in the types that the keyspace has now. They are read in one wave.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub(super) fn rows_at<K: AsRef<[u8]>>(
        &self,
        tree: &KeyspaceTree,
        keys: &[K],
        at: Sequence,
    ) -> Result<Vec<Option<Slice>>> {
        let (view, at) = self.view_at(tree, at);
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|&one, &other| keys[one].as_ref().cmp(keys[other].as_ref()));
        let limits = BatchLimits { memory_bytes: self.options.memory_bytes, path: &|| self.path() };
        let found = batch_get::multi_get(&view, at, keys, &order, u64::MAX, &limits)?;
        let delivered = |row: Option<Slice>| row.map(|row| Ok(tree.delivered(None, &row)?[..].into())).transpose();
        found.into_iter().map(delivered).collect()
    }

    /// Passes the rows from `start` up to `end` on, with keys in ascending order, until `visit` breaks.
    ///
    /// # Errors
    /// As [`Self::rows_at`], and those of `visit`.
    pub(super) fn visit_rows(
        &self,
        tree: &KeyspaceTree,
        (start, end): (&[u8], Option<&[u8]>),
        at: Sequence,
        visit: VisitRow<'_>,
    ) -> Result<()> {
        let (view, at) = self.view_at(tree, at);
        let mut cursor = positioned_cursor(&view, at, &(Bound::Included(start.to_vec()), Bound::Unbounded), true)?;
        while let Some(entry) = cursor.entry().filter(|entry| end.is_none_or(|end| entry.key < end)) {
            let flow = match entry.kind {
                ValueKind::Pointer => {
                    let stored = view.values.get(entry.value, self.options.memory_bytes, &|| self.path())?;
                    visit(entry.key, &tree.delivered(None, &stored)?)?
                }
                _ => visit(entry.key, &tree.delivered(None, entry.value)?)?,
            };
            if flow.is_break() {
                break;
            }
            cursor.next()?;
        }
        Ok(())
    }
}
