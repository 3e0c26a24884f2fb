//! The names of spill files, and the lock that protects those of a running join.

use crate::block::checksum::identity;
use crate::error::{Cause, Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{FileLock, Storage, random_u64};
use crate::join::rows::task::{Task, TimedPhase};
use crate::table::sort::{ChunkFileWriter, TemporaryFile};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Suffix of a spill file's name; files that belong to it continue the name with a dot.
const SUFFIX: &str = ".spill";
/// Suffix of a lock file's name.
const LOCK_SUFFIX: &str = ".spill-lock";
/// Hexadecimal digits of a claim.
const CLAIM_DIGITS: usize = 16;
/// Claims are random 64-bit numbers: a second collision means that the locks of the storage do not work.
const CLAIM_ATTEMPTS: u32 = 8;

/// The spill files of one join.
#[derive(Debug)]
pub(crate) struct Spill {
    task: Arc<Task>,
    storage: Arc<dyn Storage>,
    prefix: String,
    claim: Mutex<Option<Arc<SpillClaim>>>,
    files: AtomicU64,
}

impl Spill {
    /// Opens the spill files of a join, whose names begin with `prefix`, and removes leftovers of dead joins with this
    /// prefix. Writes nothing before the first file is created.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn open(task: &Arc<Task>, storage: Arc<dyn Storage>, prefix: &str) -> Result<Arc<Self>> {
        remove_leftovers(&*storage, prefix)?;
        Ok(Arc::new(Self {
            task: Arc::clone(task),
            storage,
            prefix: prefix.to_owned(),
            claim: Mutex::new(None),
            files: AtomicU64::new(0),
        }))
    }

    /// The join that owns the files.
    pub(crate) fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// The storage of the files.
    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Creates a file.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn create(self: &Arc<Self>) -> Result<ChunkFileWriter<SpillName>> {
        ChunkFileWriter::create(self.name()?)
    }

    /// An unused name prefix, for files created by other code: all files with this prefix are removed when it is
    /// dropped.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn name(self: &Arc<Self>) -> Result<SpillName> {
        let claim = self.claim()?;
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{:016x}-{number:03}{SUFFIX}", self.prefix, claim.id);
        Ok(SpillName { spill: Arc::clone(self), number, owner: claim.id, name, _claim: claim })
    }

    fn claim(&self) -> Result<Arc<SpillClaim>> {
        let mut slot = self.claim.lock();
        if let Some(claim) = &*slot {
            return Ok(Arc::clone(claim));
        }
        let claim = Arc::new(SpillClaim::take(&self.storage, &self.prefix)?);
        *slot = Some(Arc::clone(&claim));
        Ok(claim)
    }
}

/// The lock that protects a join's spill files; its file is removed with it.
#[derive(Debug)]
struct SpillClaim {
    storage: Arc<dyn Storage>,
    id: u64,
    lock_name: String,
    _lock: Box<dyn FileLock>,
}

impl SpillClaim {
    fn take(storage: &Arc<dyn Storage>, prefix: &str) -> Result<Self> {
        let mut refusal = None;
        for _ in 0..CLAIM_ATTEMPTS {
            let id = random_u64();
            let lock_name = lock_name(prefix, id);
            match storage.lock(&lock_name) {
                // A join that started between the creation of the lock file and its locking has removed it as a
                // leftover.
                Ok(_) if !storage.exists(&lock_name)? => {}
                Ok(lock) => return Ok(Self { storage: Arc::clone(storage), id, lock_name, _lock: lock }),
                Err(error @ Error { cause: Cause::Locked { .. }, .. }) => refusal = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refusal.unwrap_or_else(|| Error::locked(storage.path(&format!("{prefix}{LOCK_SUFFIX}")), false)))
    }
}

impl Drop for SpillClaim {
    fn drop(&mut self) {
        // Removed while locked; a file that cannot be removed now is a leftover for the next join.
        _ = self.storage.remove(&self.lock_name);
    }
}

fn lock_name(prefix: &str, claim: u64) -> String {
    format!("{prefix}.{claim:016x}{LOCK_SUFFIX}")
}

/// The name of a spill file. All files whose names begin with it are removed when this is dropped.
#[derive(Debug)]
pub struct SpillName {
    spill: Arc<Spill>,
    number: u64,
    /// The identity that the checksums of the join's files cover.
    owner: u64,
    name: String,
    _claim: Arc<SpillClaim>,
}

impl SpillName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Counts reads of files of this name that [`TemporaryFile::read`] does not make.
    pub(crate) fn count_reads(&self, requests: u64, bytes: u64) {
        self.spill.task.count_reads(requests, bytes);
    }
}

/// Reads and writes count as those of the join, and end with it.
impl TemporaryFile for SpillName {
    fn storage(&self) -> &dyn Storage {
        &*self.spill.storage
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> u64 {
        identity(self.owner, self.number)
    }

    fn write<R>(&self, write: impl FnOnce() -> Result<R>) -> Result<R> {
        self.spill.task.check()?;
        self.spill.task.timed(TimedPhase::Writing, write)
    }

    fn read<R>(&self, requests: u64, bytes: u64, read: impl FnOnce() -> Result<R>) -> Result<R> {
        self.spill.task.check()?;
        self.count_reads(requests, bytes);
        self.spill.task.timed(TimedPhase::Reading, read)
    }
}

impl Drop for SpillName {
    fn drop(&mut self) {
        let storage = &self.spill.storage;
        // A file that was never created or cannot be removed is not an error: the next join with this prefix finds it.
        _ = storage.remove(&self.name);
        let belongs = |name: &&String| name.strip_prefix(&self.name).is_some_and(|rest| rest.starts_with('.'));
        for name in storage.list().unwrap_or_default().iter().filter(belongs) {
            _ = storage.remove(name);
        }
    }
}

/// The claim in the name of a spill file or lock of this prefix; `None` for any other name.
fn claim_of(prefix: &str, name: &str) -> Option<u64> {
    let rest = name.strip_prefix(prefix)?.strip_prefix('.')?;
    let (claim, rest) = rest.split_at_checked(CLAIM_DIGITS)?;
    let is_hexadecimal = claim.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let is_file = || {
        let (number, rest) = rest.strip_prefix('-')?.split_once('.')?;
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        let behind = rest.strip_prefix(&SUFFIX[1..])?;
        Some(is_number && (behind.is_empty() || behind.starts_with('.')))
    };
    let is_ours = is_hexadecimal && (rest == LOCK_SUFFIX || is_file().unwrap_or(false));
    is_ours.then(|| u64::from_str_radix(claim, 16).ok()).flatten()
}

/// Removes leftovers of dead joins with this prefix, and returns the number of files removed.
fn remove_leftovers(storage: &dyn Storage, prefix: &str) -> Result<usize> {
    let claims: BTreeSet<u64> = storage.list()?.iter().filter_map(|name| claim_of(prefix, name)).collect();
    let mut removed = 0;
    for claim in claims {
        let lock_name = lock_name(prefix, claim);
        // The join is running, another process is removing its leftovers, or they are those of another user. They need
        // not keep this join from running.
        let Ok(lock) = storage.lock(&lock_name) else { continue };
        // List again: the join may have created files after the claims were listed.
        let names = storage.list()?;
        let mut are_gone = true;
        for name in names.iter().filter(|name| claim_of(prefix, name) == Some(claim) && **name != lock_name) {
            let is_removed = storage.remove(name).is_ok();
            removed += usize::from(is_removed);
            are_gone &= is_removed;
        }
        if are_gone {
            _ = storage.remove(&lock_name);
        }
        drop(lock);
    }
    Ok(removed)
}
