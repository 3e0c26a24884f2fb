//! The blocks at which several ranges begin, read in one wave before the ranges are: these find them in the cache.

use crate::error::Result;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::view::KeyspaceView;
use crate::table::read::deferred::DeferredReads;
use std::sync::Arc;

/// Reads the blocks at which ranges begin, in all tables side by side. Only an index in memory leads to them. A single
/// one is left to its range.
///
/// # Errors
/// Errors of the storage, and damage.
pub(in crate::lsm) fn read_starts<K: AsRef<[u8]>>(view: &KeyspaceView, starts: &[K]) -> Result<()> {
    if starts.len() < 2 {
        return Ok(());
    }
    let mut waves: Vec<(&Arc<TableFile>, DeferredReads<'_>)> = Vec::new();
    for table in &view.levels.newest {
        let mut reads = DeferredReads::default();
        for start in starts.iter().filter(|start| !table.meta.ends_before(start.as_ref())) {
            table.defer_start(start.as_ref(), &mut reads)?;
        }
        waves.push((table, reads));
    }
    for (_, level) in &view.levels.deeper {
        for start in starts {
            let Some(table) = level.at_or_behind(start.as_ref()) else { continue };
            let known = waves.iter().position(|(known, _)| Arc::ptr_eq(known, table));
            let place = known.unwrap_or_else(|| {
                waves.push((table, DeferredReads::default()));
                waves.len() - 1
            });
            table.defer_start(start.as_ref(), &mut waves[place].1)?;
        }
    }
    let mut started = Vec::with_capacity(waves.len());
    for (table, mut reads) in waves.into_iter().filter(|(_, reads)| reads.has_missing()) {
        started.push((table, table.start_deferred(&mut reads)?, reads));
    }
    started.into_iter().try_for_each(|(table, wave, mut reads)| table.finish_deferred(wave, &mut reads))
}
