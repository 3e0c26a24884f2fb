//! Opening the tables of a store.

use crate::block::BlockCache;
use crate::error::{Cause, Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{FastPaths, Storage, spawn_helper};
use crate::lsm::core::room::check_room;
use crate::lsm::core::store::Core;
use crate::lsm::objects::{KnownFile, ObjectFolder};
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::learner::Learner;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::version::{FileKind, ManifestState, TableFileMeta, file_name};
use crate::table::{SharedOptions, opening_bytes_of_file};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reads in flight while a store is opened: as many requests as an object store serves at once.
const READS_MAX: usize = 64;

/// An index larger than the memory takes at most this many times its stored bytes.
const INDEX_EXPANSION_MAX: u64 = 4;

/// Ends of tables are kept in memory, for the next manifest, while they take at most this share of the memory of
/// tables.
const TAILS_DIVISOR: u64 = 32;

/// Runs the steps below `count` in several threads, while this one does something else first; in this one alone if the
/// options say so. If the system cannot start a thread, this one does more.
pub(super) fn side_by_side<T>(
    count: usize,
    options: &DbOptions,
    step: impl Fn(usize) + Sync,
    meanwhile: impl FnOnce() -> T,
) -> T {
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&at| at < count) {
            step(at);
        }
    };
    let helpers = if options.threads == 0 { 0 } else { count.min(READS_MAX) };
    std::thread::scope(|scope| {
        let _helpers: Vec<_> = (0..helpers).map(|_| spawn_helper(scope, "ogive-opening", run)).collect();
        let done = meanwhile();
        run();
        done
    })
}

/// Opens the tables of a store.
pub(super) struct TableOpener<'a> {
    pub(super) places: (&'a Arc<dyn Storage>, Option<&'a ObjectFolder>),
    pub(super) cache: &'a Arc<BlockCache>,
    pub(super) options: &'a DbOptions,
    /// A reader that may have some of them open.
    pub(super) before: Option<&'a Core>,
    /// For lookups of few keys: the tables that are asked last for each of their keys.
    pub(super) asked_last: Option<BTreeSet<u64>>,
}

impl TableOpener<'_> {
    /// Opens all tables: with no read if the manifest has the end of the table, else with one. Ends that it lacks are
    /// read side by side, and added to the state.
    ///
    /// # Errors
    /// [`Cause::Memory`] if their resident parts exceed their share of memory, with the memory needed.
    pub(super) fn open_all(
        &self,
        state: &mut ManifestState,
        learner: &Option<Arc<dyn Learner>>,
    ) -> Result<BTreeMap<u64, Arc<TableFile>>> {
        state.add_tails(&self.read_tails(state));
        self.open_tables(state, learner.as_deref())
    }

    /// The ends of tables that the manifest lacks. One that cannot be read is left to the opening of its table.
    fn read_tails(&self, state: &ManifestState) -> BTreeMap<u64, Arc<[u8]>> {
        let Some(objects) = self.places.1 else { return BTreeMap::new() };
        let lacks = |table: &&Arc<TableFileMeta>| table.tail.is_none() && self.open_before(table).is_none();
        let tables: Vec<&Arc<TableFileMeta>> = state.tables().map(|(.., table)| table).filter(lacks).collect();
        let bytes: u64 = tables.iter().map(|table| opening_bytes_of_file(table.bytes)).sum();
        if bytes > self.options.tables_limit_bytes() / TAILS_DIVISOR {
            return BTreeMap::new();
        }
        let tails = Mutex::new(BTreeMap::new());
        let read = |at: usize| {
            if let Some(table) = tables.get(at)
                && let Ok(Some(tail)) = objects.read_tail(&file_name(table.number, FileKind::Table), table.bytes)
            {
                tails.lock().insert(table.number, tail);
            }
        };
        side_by_side(tables.len(), self.options, read, || {});
        std::mem::take(&mut *tails.lock())
    }

    fn open_tables(
        &self,
        state: &ManifestState,
        learner: Option<&dyn Learner>,
    ) -> Result<BTreeMap<u64, Arc<TableFile>>> {
        let (mut tables, mut reserved_bytes) = (BTreeMap::new(), 0_u64);
        for (_, level, meta) in state.tables() {
            let table = match self.open(state.owner, meta, learner) {
                Ok(table) => table,
                // The index alone exceeds the whole memory; unfolded it takes about twice as much.
                Err(Error { cause: Cause::Memory { needed_bytes, .. }, .. }) => {
                    reserved_bytes = reserved_bytes.saturating_add(needed_bytes.saturating_mul(INDEX_EXPANSION_MAX));
                    continue;
                }
                Err(error) => return Err(error),
            };
            reserved_bytes = reserved_bytes.saturating_add(table.reserved_bytes());
            // If memory is exceeded, the remaining tables are opened one at a time, to report the memory needed.
            if reserved_bytes <= self.options.tables_limit_bytes() {
                if let Some(learner) = learner {
                    learner.table_added(level, &table);
                }
                tables.insert(meta.number, table);
            }
        }
        check_room(self.options, reserved_bytes, || {
            self.places.0.path("x").parent().map(Into::into).unwrap_or_default()
        })?;
        Ok(tables)
    }

    /// The table, if the reader before has it open.
    fn open_before(&self, meta: &TableFileMeta) -> Option<Arc<TableFile>> {
        let open = self.before.and_then(|before| before.contents.lock().tables.get(&meta.number).cloned());
        open.filter(|open| open.meta.file_id == meta.file_id)
    }

    fn open(&self, owner: u64, meta: &Arc<TableFileMeta>, learner: Option<&dyn Learner>) -> Result<Arc<TableFile>> {
        if let Some(open) = self.open_before(meta) {
            return Ok(open);
        }
        let (storage, objects) = self.places;
        if let (Some(objects), Some(tail)) = (objects, &meta.tail) {
            let known = KnownFile { length_bytes: meta.bytes, tail: Arc::clone(tail) };
            objects.set_known_end(&file_name(meta.number, FileKind::Table), known);
        }
        TableFile::open(storage, owner, Arc::clone(meta), self.cache, &self.options_of(meta.number), learner)
    }

    /// The options of a table. For few keys, its filter is read in pages, or not at all.
    fn options_of(&self, number: u64) -> SharedOptions {
        let options = self.options.of_tables();
        let Some(asked_last) = &self.asked_last else { return options };
        let filter = options.fast_paths.filter && !asked_last.contains(&number);
        SharedOptions { keeps_filter: false, fast_paths: FastPaths { filter, ..options.fast_paths }, ..options }
    }
}
