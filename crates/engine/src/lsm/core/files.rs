//! The files of an open store, and the folder that they are in.

use super::wal::{ClosedLog, WalWriter};
use crate::block::BlockCache;
use crate::block::header::StoreBinding;
use crate::error::Result;
use crate::io::local::sync::Mutex;
use crate::io::{FileLock, FolderIdentity, Storage};
use crate::lsm::objects::ObjectFolder;
use crate::lsm::state::file_numbers::FileNumbers;
use crate::lsm::state::version::ManifestState;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Groups without a sync between two looks whether the folder is in its place.
const UNCHECKED_GROUPS_MAX: u32 = 63;

/// The files of an open store, and the folder that they are in.
#[derive(Debug)]
pub(in crate::lsm) struct CoreFiles {
    pub(in crate::lsm) storage: Arc<dyn Storage>,
    /// The same, if it is an object store.
    pub(in crate::lsm) objects: Option<Arc<ObjectFolder>>,
    /// The identity of the store and of this opening; checksums of new files are bound to both.
    pub(in crate::lsm) binding: StoreBinding,
    pub(in crate::lsm) cache: Arc<BlockCache>,
    pub(in crate::lsm) numbers: FileNumbers,
    /// On an object store: the first number that this opening may have used.
    pub(in crate::lsm) first_file: u64,
    /// On an object store: the number of the newest manifest.
    manifest_number: AtomicU64,
    /// On an object store: whether this opening has put a manifest.
    has_put_manifest: AtomicBool,
    /// Held while the store is open for writing.
    pub(super) lock: Mutex<Option<Box<dyn FileLock>>>,
    /// Groups written since the folder was last found in its place.
    groups_unchecked: AtomicU32,
    /// The folder in which the store was opened, if it is on the local file system.
    pub(in crate::lsm) identity: Option<FolderIdentity>,
}

impl CoreFiles {
    /// The files of a store in this state. A lock guards the folder from now on.
    pub(in crate::lsm) fn new(
        (storage, objects): (Arc<dyn Storage>, Option<Arc<ObjectFolder>>),
        lock: Option<Box<dyn FileLock>>,
        cache: Arc<BlockCache>,
        state: &ManifestState,
        manifest_number: u64,
    ) -> Self {
        lock.iter().for_each(|lock| lock.guard_folder());
        Self {
            objects,
            binding: state.binding(),
            cache,
            numbers: FileNumbers::new(state.next_file),
            first_file: state.next_file,
            manifest_number: AtomicU64::new(manifest_number),
            has_put_manifest: AtomicBool::new(false),
            lock: Mutex::new(lock),
            groups_unchecked: AtomicU32::new(0),
            identity: storage.folder_identity(),
            storage,
        }
    }

    /// The path of the folder.
    pub(super) fn path(&self) -> PathBuf {
        let name = self.storage.path("x");
        name.parent().map_or_else(PathBuf::new, PathBuf::from)
    }

    pub(in crate::lsm) fn manifest_number(&self) -> u64 {
        self.manifest_number.load(Ordering::Relaxed)
    }

    pub(super) fn has_put_manifest(&self) -> bool {
        self.has_put_manifest.load(Ordering::Relaxed)
    }

    /// Notes that this opening has put a manifest.
    pub(super) fn note_manifest(&self, number: u64) {
        self.manifest_number.store(number, Ordering::Relaxed);
        self.has_put_manifest.store(true, Ordering::Relaxed);
    }

    /// Whether a group may be written without a look whether the folder is in its place; counts it then.
    pub(super) fn may_pass_unchecked(&self) -> bool {
        let groups = self.groups_unchecked.load(Ordering::Relaxed);
        let may_pass = groups < UNCHECKED_GROUPS_MAX;
        if may_pass {
            self.groups_unchecked.store(groups + 1, Ordering::Relaxed);
        }
        may_pass
    }

    /// Notes that the folder was found in its place.
    pub(super) fn note_checked(&self) {
        self.groups_unchecked.store(0, Ordering::Relaxed);
    }

    /// Creates a log, as [`WalWriter::create`] does.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(in crate::lsm) fn create_log(
        &self,
        number: u64,
        recycled: Option<u64>,
        previous: Option<ClosedLog>,
    ) -> Result<WalWriter> {
        let places = (&self.storage, self.objects.as_deref());
        WalWriter::create(places, self.binding, number, recycled, previous)
    }

    /// Releases the lock.
    pub(in crate::lsm) fn unlock(&self) {
        *self.lock.lock() = None;
    }
}
