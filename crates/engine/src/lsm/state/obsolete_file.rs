//! Deferred deletion: an obsolete file is removed when its last reader drops it.

use crate::io::Storage;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Removes a file on drop if it is marked obsolete. It must be the last field of its owner, so that the file is closed
/// by then.
#[derive(Debug)]
pub(super) struct ObsoleteFile {
    storage: Arc<dyn Storage>,
    name: String,
    obsolete: AtomicBool,
}

impl ObsoleteFile {
    /// Keeps the file, for now.
    pub(super) fn new(storage: &Arc<dyn Storage>, name: String) -> Self {
        Self { storage: Arc::clone(storage), name, obsolete: AtomicBool::new(false) }
    }

    /// Reverts [`Self::mark_obsolete`].
    pub(super) fn keep(&self) {
        self.obsolete.store(false, Ordering::Release);
    }

    /// Whether it is to be removed.
    pub(super) fn is_obsolete(&self) -> bool {
        self.obsolete.load(Ordering::Acquire)
    }

    /// Lets the file be removed once its last reader is gone.
    pub(super) fn mark_obsolete(&self) {
        self.obsolete.store(true, Ordering::Release);
    }
}

impl Drop for ObsoleteFile {
    fn drop(&mut self) {
        if *self.obsolete.get_mut() {
            // A file that cannot be removed now is removed at the next opening.
            _ = self.storage.remove(&self.name);
        }
    }
}
