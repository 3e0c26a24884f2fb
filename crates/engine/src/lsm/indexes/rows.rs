//! Rows and entries of keyspaces at one point, as the upkeep of indexes reads them.

use crate::block::Slice;
use crate::error::Result;
use crate::lsm::core::store::Core;
use crate::lsm::read::batch_get::{self, ExpiringValue};
use crate::lsm::read::scan::positioned_cursor;
use crate::lsm::read::value_wave::BatchLimits;
use crate::lsm::state::entry::ValueKind;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use std::ops::{Bound, ControlFlow};

/// Takes a key and its row, with the time at which it expires, if it does.
pub(super) type VisitRow<'a> = &'a mut dyn FnMut(&[u8], (&[u8], Option<u64>)) -> Result<ControlFlow<()>>;

impl Core {
    /// The rows of keys, in the types that the keyspace has now. They are read in one wave.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub(super) fn rows_at<K: AsRef<[u8]>>(
        &self,
        tree: &KeyspaceTree,
        keys: &[K],
        point: ReadPoint,
    ) -> Result<Vec<Option<Slice>>> {
        let (view, point) = self.view_at(tree, point);
        let limits = BatchLimits { memory_bytes: self.options.memory_bytes, path: &|| self.path() };
        let found = batch_get::multi_get(&view, point, keys, &in_key_order(keys), u64::MAX, &limits)?;
        found.into_iter().map(|row| row.map(|row| delivered(tree, &row)).transpose()).collect()
    }

    /// As [`Self::rows_at`], with those that have expired but are still there; each with the time at which it expires.
    ///
    /// # Errors
    /// As [`Self::rows_at`].
    pub(super) fn rows_with_expired<K: AsRef<[u8]>>(
        &self,
        tree: &KeyspaceTree,
        keys: &[K],
        point: ReadPoint,
    ) -> Result<Vec<Option<ExpiringValue>>> {
        if !self.contents.time.is_used() {
            let rows = self.rows_at(tree, keys, point)?;
            return Ok(rows.into_iter().map(|row| Some((row?, None))).collect());
        }
        let (view, point) = self.view_at(tree, ReadPoint::with_expired(point.at));
        let limits = BatchLimits { memory_bytes: self.options.memory_bytes, path: &|| self.path() };
        let found = batch_get::multi_get_with_expired(&view, point.at, keys, &in_key_order(keys), &limits)?;
        let delivered = |(row, expires_ms): ExpiringValue| Ok((delivered(tree, &row)?, expires_ms));
        found.into_iter().map(|row| row.map(delivered).transpose()).collect()
    }

    /// Passes the rows from `start` up to `end` on, with keys in ascending order, until `visit` breaks.
    ///
    /// # Errors
    /// As [`Self::rows_at`], and those of `visit`.
    pub(super) fn visit_rows(
        &self,
        tree: &KeyspaceTree,
        (start, end): (&[u8], Option<&[u8]>),
        point: ReadPoint,
        visit: VisitRow<'_>,
    ) -> Result<()> {
        let (view, point) = self.view_at(tree, point);
        let mut cursor = positioned_cursor(&view, point, &(Bound::Included(start.to_vec()), Bound::Unbounded), true)?;
        while let Some(entry) = cursor.entry().filter(|entry| end.is_none_or(|end| entry.key < end)) {
            let expires_ms = cursor.expires_ms();
            let flow = match entry.kind {
                ValueKind::Pointer => {
                    let stored = view.values.get(entry.value, self.options.memory_bytes, &|| self.path())?;
                    visit(entry.key, (&tree.delivered(None, &stored)?, expires_ms))?
                }
                _ => visit(entry.key, (&tree.delivered(None, entry.value)?, expires_ms))?,
            };
            if flow.is_break() {
                break;
            }
            cursor.next()?;
        }
        Ok(())
    }
}

/// The indexes of keys, sorted by the keys.
fn in_key_order<K: AsRef<[u8]>>(keys: &[K]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&one, &other| keys[one].as_ref().cmp(keys[other].as_ref()));
    order
}

/// A row in the types that its keyspace has now.
fn delivered(tree: &KeyspaceTree, stored: &[u8]) -> Result<Slice> {
    Ok(tree.delivered(None, stored)?[..].into())
}
