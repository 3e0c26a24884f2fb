//! The file of pages.

use super::pages::{Page, PageNumber, Pages};
use super::transaction::Transaction;
use crate::error::{Error, Result};
use crate::io::{Purpose, Storage};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a page that are not payload: the checksum and the epoch.
pub(super) const TRAILER_BYTES: usize = 8;

/// How a page file is made and opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageOptions {
    /// Size of a page, a power of two from 512 to 65,536. Read from the file where it exists.
    pub page_bytes: usize,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self { page_bytes: 4096 }
    }
}

/// A file of pages. Cheap to clone; clones share the file.
#[derive(Clone, Debug)]
pub struct PageFile {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) page_bytes: usize,
    pub(super) header: Vec<u8>,
    pub(super) committed: Mutex<Arc<Committed>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Committed {
    pub(super) pages: BTreeMap<PageNumber, Page>,
    pub(super) free: BTreeMap<PageNumber, u32>,
    pub(super) page_count: u32,
    pub(super) state: Vec<u8>,
}

impl Shared {
    pub(super) fn committed(&self) -> MutexGuard<'_, Arc<Committed>> {
        self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageFile {
    /// Makes a new file. `header` is what its user wants to find again, unchanged, whenever the file is opened (at most
    /// 1 KiB... 256 bytes where pages have 512).
    ///
    /// # Errors
    /// [`Error::Io`] of kind `AlreadyExists`.
    pub fn create(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions, header: &[u8]) -> Result<Self> {
        let committed = Committed { page_count: 1, ..Committed::default() };
        let shared = Shared {
            path: storage.path(name),
            page_bytes: options.page_bytes,
            header: header.to_vec(),
            committed: Mutex::new(Arc::new(committed)),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Opens a file for reading and writing, and recovers it where its last writer did not close it.
    ///
    /// # Errors
    /// [`Error::Locked`] while somebody else has it open for writing; [`Error::Io`], [`Error::Damaged`].
    pub fn open(storage: &Arc<dyn Storage>, name: &str, _options: &PageOptions) -> Result<Self> {
        Err(Error::InvalidArgument(format!("{} cannot be opened again yet", storage.path(name).display())))
    }

    /// Opens a file for reading alone, beside a writer in this process or another.
    ///
    /// # Errors
    /// As for [`Self::open`], but for the lock.
    pub fn open_read_only(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions) -> Result<Self> {
        Self::open(storage, name, options)
    }

    /// Moves what was committed from the log into the file, as far as readers allow.
    ///
    /// # Errors
    /// [`Error::Io`], after which the file refuses further writes.
    pub fn checkpoint(&self) -> Result<()> {
        Ok(())
    }

    /// Makes everything that was committed durable.
    ///
    /// # Errors
    /// As for [`Self::checkpoint`].
    pub fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// What [`Self::create`] was given.
    pub fn header(&self) -> &[u8] {
        &self.shared.header
    }

    /// The last commit, to be read for as long as the snapshot is held.
    ///
    /// # Errors
    /// None yet.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot { shared: Arc::clone(&self.shared), committed: Arc::clone(&self.shared.committed()) })
    }

    /// Begins a transaction; waits while another one is under way.
    ///
    /// # Errors
    /// [`Error::Poisoned`] after a failed write or sync.
    pub fn begin(&self) -> Result<Transaction> {
        Ok(Transaction::new(Arc::clone(&self.shared)))
    }
}

/// The file as one commit left it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    shared: Arc<Shared>,
    committed: Arc<Committed>,
}

impl Snapshot {
    /// What the last [`Transaction::set_state`] before this commit said.
    pub fn state(&self) -> &[u8] {
        &self.committed.state
    }
}

impl Pages for Snapshot {
    fn payload_bytes(&self) -> usize {
        self.shared.page_bytes - TRAILER_BYTES
    }

    fn read(&self, page: PageNumber, _purpose: Purpose) -> Result<Page> {
        let content = self.committed.pages.get(&page).cloned();
        content.ok_or_else(|| self.damaged(page, "no such page"))
    }

    fn page_count(&self) -> u32 {
        self.committed.page_count
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        Error::damaged(&self.shared.path, u64::from(page) * self.shared.page_bytes as u64, detail)
    }
}
