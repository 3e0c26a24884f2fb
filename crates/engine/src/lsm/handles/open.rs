//! An open store as its handles share it: it is closed when the last of them is dropped.

use crate::error::{Cause, Error, Result};
use crate::io::Worker;
use crate::io::local::sync::Mutex;
use crate::lsm::core::store::Core;
use crate::lsm::open::folder::{NewFolder, remove_manifests};
use crate::lsm::state::entry::Sequence;
use std::sync::Arc;

/// An open store, closed when the last of its handles, keyspaces, snapshots and ranges is dropped.
#[derive(Debug)]
pub(in crate::lsm) struct Open {
    pub(in crate::lsm) core: Arc<Core>,
    /// The newest operation when it was opened.
    opened_at: Sequence,
    /// Background threads; they are stopped and joined before the store closes.
    workers: Mutex<Vec<Worker>>,
    is_closed: Mutex<bool>,
    /// The folder that was made for a store that this opening created.
    new_folder: Mutex<Option<NewFolder>>,
}

impl Open {
    /// Begins the background work of a store, with this many threads.
    pub(super) fn start(core: Arc<Core>, threads: usize) -> Result<Self> {
        let open = Self {
            core: Arc::clone(&core),
            opened_at: core.visible(),
            workers: Mutex::default(),
            is_closed: Mutex::default(),
            new_folder: Mutex::default(),
        };
        for number in 0..threads {
            let core = Arc::clone(&core);
            let path = core.path();
            let worker = Worker::spawn("ogive-db", &path, move || core.work(number))?;
            open.workers.lock().push(worker);
        }
        if threads > 0 && core.options.scrub_bytes_per_s > 0 {
            let (path, scrubbed) = (core.path(), Arc::clone(&core));
            let worker = Worker::spawn("ogive-scrub", &path, move || scrubbed.scrub())?;
            open.workers.lock().push(worker);
        }
        // The store is open. If work that is due fails, the store is closed to writes, and they report the cause.
        core.work_after_write();
        Ok(open)
    }

    /// Notes the folder that was made for a store that this opening created.
    pub(super) fn note_new_folder(&self, folder: Option<NewFolder>) {
        *self.new_folder.lock() = folder;
    }

    pub(super) fn close(&self) -> Result<()> {
        // Another caller waits here until the store is closed.
        let mut is_closed = self.is_closed.lock();
        if *is_closed {
            return Ok(());
        }
        let persisted = if self.core.access.is_read_only() { Ok(()) } else { self.core.persist() };
        if !matches!(persisted, Ok(()) | Err(Error { cause: Cause::Gone, .. })) {
            return persisted;
        }
        let flushed = if persisted.is_ok() { self.core.flush_long_logs() } else { Ok(()) };
        self.core.refuse_uses();
        *is_closed = true;
        let finished = self.finish();
        self.core.end_reads();
        self.explain_gone(persisted.and(flushed).and(finished))
    }

    /// The outcome of a closing. A store whose folder is gone can be closed: what was acknowledged is in that folder,
    /// wherever it is. Of an object store that is gone, so is what this handle wrote.
    fn explain_gone(&self, outcome: Result<()>) -> Result<()> {
        let is_lost = self.core.files.objects.is_some() && self.core.visible() > self.opened_at;
        match outcome {
            Err(Error { cause: Cause::Gone, .. }) if !is_lost => Ok(()),
            outcome => outcome,
        }
    }

    pub(super) fn take_back(&self) -> Result<bool> {
        let mut is_closed = self.is_closed.lock();
        if *is_closed || self.core.visible() > 0 {
            return Ok(false);
        }
        let Some(folder) = self.new_folder.lock().take() else { return Ok(false) };
        self.core.refuse_uses();
        *is_closed = true;
        // A write that is under way ends first.
        drop(self.core.writer_alone());
        if self.core.visible() > 0 {
            let finished = self.finish();
            self.core.end_reads();
            return self.explain_gone(finished).map(|()| false);
        }
        self.core.stop();
        self.workers.lock().clear();
        // Under the lock: what is left then is no store.
        let removed = remove_manifests(&*self.core.files.storage);
        self.core.end_reads();
        folder.remove();
        removed.map(|()| true)
    }

    /// Stops the background threads, and records that everything is in its files.
    fn finish(&self) -> Result<()> {
        self.core.stop();
        self.workers.lock().clear();
        self.core.close()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // Callers that want the error call `close`; acknowledged writes are recovered either way.
        if !*self.is_closed.lock() {
            if !std::thread::panicking() {
                _ = self.core.flush_long_logs();
            }
            _ = self.finish();
        }
    }
}
