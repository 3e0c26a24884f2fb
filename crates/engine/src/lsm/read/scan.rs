//! Scans of a view: a cursor over all its sources, at one end of a key range.

use super::merge::MergeCursor;
use super::visible::{EntrySource, VisibleCursor};
use crate::error::Result;
use crate::lsm::core::store::Core;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::tables::level::{LevelCursor, LevelTables};
use crate::lsm::state::view::KeyspaceView;
use std::ops::Bound;
use std::sync::Arc;

/// The ends of a key range.
pub(in crate::lsm) type ScanBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

impl Core {
    /// The current view, and the point up to the newest operation that is visible, whose value files the view has.
    pub(in crate::lsm) fn view_at(&self, tree: &KeyspaceTree, point: ReadPoint) -> (Arc<KeyspaceView>, ReadPoint) {
        loop {
            let view = tree.view.get();
            let point = point.up_to(self.visible());
            if tree.has_current(&view) {
                return (view, point);
            }
        }
    }

    /// Whether a keyspace has no record at a point. Reads keys alone, so that no value is too long for it.
    ///
    /// # Errors
    /// [`Cause::KeyspaceDropped`](crate::Cause::KeyspaceDropped); errors of the storage, and damage.
    pub(in crate::lsm) fn is_empty_at(&self, tree: &KeyspaceTree, point: ReadPoint) -> Result<bool> {
        let (view, point) = self.view_at(tree, point);
        if tree.is_dropped() {
            return Err(self.gone(tree));
        }
        let mut first = positioned_cursor(&view, point, &(Bound::Unbounded, Bound::Unbounded), true)?;
        if let Some(run) = first.take_skipped() {
            self.note_skipped(tree, run);
        }
        Ok(first.entry().is_none())
    }
}

/// A cursor at the first record from one end.
pub(in crate::lsm) fn positioned_cursor(
    view: &KeyspaceView,
    point: ReadPoint,
    bounds: &ScanBounds,
    forward: bool,
) -> Result<VisibleCursor> {
    let now_ms = point.fixed(&view.time).now_ms(&view.time);
    let mut visible = VisibleCursor::new(sources(view), view.tombstones(), point.at, now_ms);
    match (forward, if forward { &bounds.0 } else { &bounds.1 }) {
        (true, Bound::Unbounded) => visible.first()?,
        (true, Bound::Included(key)) => visible.seek(key)?,
        (true, Bound::Excluded(key)) => visible.seek(&successor(key))?,
        (false, Bound::Unbounded) => visible.last()?,
        (false, Bound::Excluded(key)) => visible.seek_before(key)?,
        (false, Bound::Included(key)) => visible.seek_before(&successor(key))?,
    }
    Ok(visible)
}

/// The smallest key greater than `key`.
pub(in crate::lsm) fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// A cursor over all sources of a view, newest first.
fn sources(view: &KeyspaceView) -> EntrySource {
    let mut sources: Vec<Box<dyn EntryCursor>> = Vec::new();
    for memtable in view.memtables().filter(|memtable| !memtable.is_empty()) {
        sources.push(Box::new(memtable.cursor()));
    }
    for table in &view.levels.newest {
        sources.push(table.cursor(None));
    }
    let level = |level: &Arc<LevelTables>| LevelCursor::new(Arc::clone(level), None);
    if let ([], [(_, only)]) = (&sources[..], &view.levels.deeper[..]) {
        return EntrySource::Level(level(only));
    }
    for (_, deeper) in &view.levels.deeper {
        sources.push(Box::new(level(deeper)));
    }
    EntrySource::Any(match sources.len() {
        1 => sources.remove(0),
        _ => Box::new(MergeCursor::new(sources)),
    })
}
