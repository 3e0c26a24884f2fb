//! Test support for jobs: a folder to run them in, and the tables read back.

use super::{CollectedFiles, JobContext, JobOutput, JobRange, LevelsBelow, MergeJob, TableForm, run_job};
use crate::block::cache::BlockCache;
use crate::block::header::StoreBinding;
use crate::error::Result;
use crate::io::{MemoryStorage, Storage};
use crate::lsm::state::entry::Sequence;
use crate::lsm::state::live_snapshots::SeenAt;
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::table_file::{KeyspaceStatement, TableFile, TableOrigin};
use crate::lsm::state::test_model::{History, OwnedEntry};
use crate::lsm::state::version::TableFileMeta;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The identity of the store.
pub(crate) const OWNER: u64 = 77;

/// The nonce of the opening.
pub(crate) const NONCE: u64 = 5;

/// A folder with the context of a job.
pub(crate) struct TestFolder {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) options: DbOptions,
    pub(crate) next_file: AtomicU64,
    pub(crate) stop: AtomicBool,
    pub(crate) statement: KeyspaceStatement,
}

impl TestFolder {
    pub(crate) fn new(table_bytes: u64) -> Self {
        let options = DbOptions::default().levels(|levels| levels.table_bytes(table_bytes).block_bytes(512));
        Self::on(Arc::new(MemoryStorage::new()), options)
    }

    pub(crate) fn on(storage: Arc<dyn Storage>, options: DbOptions) -> Self {
        Self {
            storage,
            options,
            next_file: AtomicU64::new(1),
            stop: AtomicBool::new(false),
            statement: KeyspaceStatement::default(),
        }
    }

    pub(crate) fn context(&self) -> JobContext<'_> {
        JobContext {
            storage: &self.storage,
            binding: StoreBinding { store: OWNER, nonce: NONCE },
            options: &self.options,
            form: TableForm::usual(&self.options),
            learner: None,
            numbers: &self.next_file,
            origin: TableOrigin::default(),
            statement: &self.statement,
            stop: &self.stop,
            memory_bytes: 1 << 20,
        }
    }

    pub(crate) fn open(&self, meta: &TableFileMeta) -> Arc<TableFile> {
        let cache = Arc::new(BlockCache::for_blocks_of(1 << 20, 4096));
        TableFile::open(&self.storage, OWNER, Arc::new(meta.clone()), &cache, &self.options.of_tables(), None).unwrap()
    }

    pub(crate) fn run(
        &self,
        history: &History,
        level: usize,
        snapshots: &[Sequence],
        below: LevelsBelow,
    ) -> Result<JobOutput> {
        let snapshots = points(snapshots);
        run_job(&self.context(), job(history, level, &snapshots, below, &CollectedFiles::new()))
    }

    /// All entries and tombstones of some tables.
    pub(crate) fn read(&self, tables: &[TableFileMeta]) -> History {
        let mut history = History::default();
        for meta in tables {
            let file = self.open(meta);
            history.versions.extend(entries(&file));
            history.tombstones.extend(&file.tombstones);
        }
        history.sort();
        history
    }
}

/// Snapshots at these sequence numbers, that have seen no entry expire.
pub(crate) fn points(snapshots: &[Sequence]) -> Vec<SeenAt> {
    snapshots.iter().map(|&sequence| SeenAt { sequence, now_ms: 0 }).collect()
}

pub(crate) fn job<'a>(
    history: &History,
    level: usize,
    snapshots: &'a [SeenAt],
    below: LevelsBelow,
    collected: &'a CollectedFiles,
) -> MergeJob<'a> {
    MergeJob {
        cursor: history.cursor(),
        tombstones: vec![Arc::new(history.tombstones.clone())],
        level,
        cuts: None,
        snapshots,
        expired_by_ms: 0,
        below,
        collected,
        separated_from_bytes: u64::MAX,
        part: JobRange::default(),
    }
}

pub(crate) fn entries(file: &Arc<TableFile>) -> Vec<OwnedEntry> {
    let mut cursor = file.cursor(Some(1 << 16));
    let mut versions = Vec::new();
    cursor.first().unwrap();
    while let Some(entry) = cursor.entry() {
        let (key, value) = (entry.key.to_vec(), entry.value.to_vec());
        versions.push(OwnedEntry { key, sequence: entry.sequence, kind: entry.kind, value });
        cursor.next().unwrap();
    }
    versions
}
