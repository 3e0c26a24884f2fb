//! Checkpoints: consistent copies of an open store.
//!
//! Tables and finished value files are immutable, so a checkpoint consists of hard links to them and a manifest of its
//! own. Memtables are flushed first, so no log is copied.

use super::closed_image::ClosedImage;
use crate::error::Result;
use crate::io::Storage;
use crate::lsm::core::store::Core;
use crate::lsm::state::file_numbers::FileNumberSource;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::tables::value_files::ValueFiles;
use crate::lsm::state::version::ManifestState;
use std::sync::Arc;

/// The state of a store, with its files pinned: they are not removed while this exists.
#[derive(Debug)]
pub(crate) struct PinnedFiles {
    pub(crate) state: ManifestState,
    pub(crate) storage: Arc<dyn Storage>,
    _tables: Vec<Arc<TableFile>>,
    _values: Arc<ValueFiles>,
}

impl Core {
    /// Pins all files that the manifest names.
    pub(in crate::lsm) fn pin_files(&self) -> PinnedFiles {
        let shared = self.contents.lock();
        PinnedFiles {
            state: shared.state.clone(),
            storage: Arc::clone(&self.files.storage),
            _tables: shared.tables.values().cloned().collect(),
            _values: Arc::clone(&shared.values),
        }
    }

    /// Copies the store as it is now to a storage.
    ///
    /// # Errors
    /// [`Cause::ReadOnly`](crate::Cause::ReadOnly); errors of the storages.
    pub(in crate::lsm) fn checkpoint_in(&self, target: &Arc<dyn Storage>) -> Result<()> {
        self.flush()?;
        let pinned = self.pin_files();
        // No file of this store will have this number.
        let number = self.take_number()?;
        let image = ClosedImage::without_logs(&pinned.storage, pinned.state.clone(), number);
        image.copy_to(target, &mut |name, target| pinned.storage.export(name, target, name))
    }
}
