//! A folder for jobs to work in, and tables read back.

use super::super::entry::Sequence;
use super::super::model::{History, Version};
use super::super::options::DbOptions;
use super::super::table_file::{Origin, TableFile};
use super::super::version::TableMeta;
use super::{Below, Collected, CompactJob, JobContext, Outcome, Part, run_job};
use crate::block::cache::BlockCache;
use crate::block::header::StoreBinding;
use crate::error::Result;
use crate::io::{MemoryStorage, Storage};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Identity of the store.
pub(crate) const OWNER: u64 = 77;

/// And of the opening.
pub(crate) const NONCE: u64 = 5;

/// A folder and what a job needs around it.
pub(crate) struct World {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) options: DbOptions,
    pub(crate) next_file: AtomicU64,
    pub(crate) stop: AtomicBool,
}

impl World {
    pub(crate) fn new(table_bytes: u64) -> Self {
        let options = DbOptions { table_bytes, block_bytes: 512, ..DbOptions::default() };
        Self::on(Arc::new(MemoryStorage::new()), options)
    }

    pub(crate) fn on(storage: Arc<dyn Storage>, options: DbOptions) -> Self {
        Self { storage, options, next_file: AtomicU64::new(1), stop: AtomicBool::new(false) }
    }

    pub(crate) fn context(&self) -> JobContext<'_> {
        JobContext {
            storage: &self.storage,
            bond: StoreBinding { store: OWNER, nonce: NONCE },
            options: &self.options,
            numbers: &self.next_file,
            origin: Origin::default(),
            stop: &self.stop,
            memory_bytes: 1 << 20,
        }
    }

    pub(crate) fn open(&self, meta: &TableMeta) -> Arc<TableFile> {
        let cache = Arc::new(BlockCache::new(1 << 20));
        TableFile::open(&self.storage, OWNER, Arc::new(meta.clone()), &cache, &self.options).unwrap()
    }

    pub(crate) fn run(&self, history: &History, level: usize, snapshots: &[Sequence], below: Below) -> Result<Outcome> {
        run_job(&self.context(), job(history, level, snapshots, below, &Collected::new()))
    }

    /// All that the tables hold.
    pub(crate) fn read(&self, tables: &[TableMeta]) -> History {
        let mut history = History::default();
        for meta in tables {
            let file = self.open(meta);
            history.versions.extend(entries(&file));
            history.removals.extend(&file.removals);
        }
        history.sort();
        history
    }
}

pub(crate) fn job<'a>(
    history: &History,
    level: usize,
    snapshots: &'a [Sequence],
    below: Below,
    collected: &'a Collected,
) -> CompactJob<'a> {
    CompactJob {
        cursor: history.cursor(),
        removals: vec![Arc::new(history.removals.clone())],
        level,
        cuts: None,
        snapshots,
        below,
        collected,
        part: Part::default(),
    }
}

pub(crate) fn entries(file: &Arc<TableFile>) -> Vec<Version> {
    let mut cursor = file.cursor(Some(1 << 16));
    let mut versions = Vec::new();
    cursor.first().unwrap();
    while let Some(entry) = cursor.entry() {
        let (key, value) = (entry.key.to_vec(), entry.value.to_vec());
        versions.push(Version { key, sequence: entry.sequence, kind: entry.kind, value });
        cursor.next().unwrap();
    }
    versions
}
