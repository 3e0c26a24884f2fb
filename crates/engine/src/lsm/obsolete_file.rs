//! Deferred deletion: an obsolete file is removed when its last reader drops it.

use crate::io::Storage;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Removes a file when it is dropped, once it is obsolete. It is the last field of what reads the file, so that the file is closed by then.
#[derive(Debug)]
pub(super) struct ObsoleteFile {
    storage: Arc<dyn Storage>,
    name: String,
    obsolete: AtomicBool,
}

impl ObsoleteFile {
    /// Keeps the file of a name, for now.
    pub(super) fn new(storage: &Arc<dyn Storage>, name: String) -> Self {
        Self { storage: Arc::clone(storage), name, obsolete: AtomicBool::new(false) }
    }

    /// Takes [`Self::mark_obsolete`] back.
    pub(super) fn keep(&self) {
        self.obsolete.store(false, Ordering::Release);
    }

    /// Lets the file be removed when the last reader has gone.
    pub(super) fn mark_obsolete(&self) {
        self.obsolete.store(true, Ordering::Release);
    }
}

impl Drop for ObsoleteFile {
    fn drop(&mut self) {
        if *self.obsolete.get_mut() {
            // What cannot be removed now is removed when the store is opened again.
            _ = self.storage.remove(&self.name);
        }
    }
}
