//! The simulated disk: in memory; it loses, reorders and tears unsynced writes.

use crate::image::{self, Survival};
use ogive::io::{
    FileLock, Purpose, ReadRequest, ReadableFile, Storage, UpdatableFile, WritableFile, check_name, check_range,
    check_write,
};
use ogive::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of a file, which stays the same when it is renamed.
pub(crate) type FileId = usize;

/// A storage that remembers, beside what a running process sees, what would be left after a loss of power.
///
/// Writes become durable by a sync of their file, and creations, renames and removals by a sync of the directory;
/// neither implies the other. [`SimulatedDisk::crash`] makes the disk as it may look afterwards. Clones share the disk.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) files: Vec<Content>,
    pub(crate) names: Names,
    /// Changes since the last sync that covers them, oldest first.
    pub(crate) pending: Vec<Change>,
    locks: BTreeSet<String>,
    mutating_calls: u64,
    stop_at: Option<u64>,
    stopped: bool,
}

/// A file as it is seen, and as it is for sure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    seen: Vec<u8>,
    pub(crate) durable: Vec<u8>,
}

/// The directory as it is seen, and as it is for sure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    seen: BTreeMap<String, FileId>,
    pub(crate) durable: BTreeMap<String, FileId>,
}

/// A change that is not durable yet.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write { file: FileId, offset: usize, bytes: Vec<u8> },
    SetLen { file: FileId, length: usize },
    Create { name: String, file: FileId },
    Rename { from: String, to: String, file: FileId },
    Remove { name: String, file: FileId },
}

impl Change {
    /// Whether it changes a file rather than the directory.
    pub(crate) fn is_write(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::SetLen { .. })
    }

    fn is_of(&self, of: FileId) -> bool {
        matches!(self, Self::Write { file, .. } | Self::SetLen { file, .. } if *file == of)
    }

    /// Does to the bytes of the files what this change does; one of the directory does nothing.
    pub(crate) fn apply_to_files(&self, files: &mut [Vec<u8>]) {
        match self {
            Self::Write { file, offset, bytes } => overlay(&mut files[*file], *offset, bytes),
            Self::SetLen { file, length } => files[*file].resize(*length, 0),
            Self::Create { .. } | Self::Rename { .. } | Self::Remove { .. } => {}
        }
    }

    /// Does to a directory what this change does; a write does nothing.
    pub(crate) fn apply_to_names(&self, names: &mut BTreeMap<String, FileId>) {
        match self {
            Self::Write { .. } | Self::SetLen { .. } => {}
            Self::Create { name, file } => {
                names.insert(name.clone(), *file);
            }
            Self::Rename { from, to, file } => {
                if names.get(from) == Some(file) {
                    names.remove(from);
                }
                names.insert(to.clone(), *file);
            }
            Self::Remove { name, file } => {
                if names.get(name) == Some(file) {
                    names.remove(name);
                }
            }
        }
    }
}

/// Writes into a growing array; a gap is filled with zeros.
pub(crate) fn overlay(target: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if target.len() < end {
        target.resize(end, 0);
    }
    target[offset..end].copy_from_slice(bytes);
}

impl SimulatedDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// A disk that holds these files, all durable.
    pub fn with_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let disk = Self::new();
        {
            let mut state = disk.state();
            for (name, bytes) in files {
                let file = state.files.len();
                state.files.push(Content { seen: bytes.clone(), durable: bytes });
                state.names.seen.insert(name.clone(), file);
                state.names.durable.insert(name, file);
            }
        }
        disk
    }

    /// An independent copy, running, without locks, counting its calls from zero.
    pub fn fork(&self) -> Self {
        let state = self.state();
        let copy = State {
            files: state.files.clone(),
            names: state.names.clone(),
            pending: state.pending.clone(),
            ..State::default()
        };
        Self { state: Arc::new(Mutex::new(copy)) }
    }

    /// Loses power at the mutating call of this number, counted from 0: that call fails, half done, and so does every
    /// call after it, reads too.
    pub fn stop_at(&self, mutating_call: u64) {
        self.state().stop_at = Some(mutating_call);
    }

    /// Whether the power is gone.
    pub fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// Number of changing calls so far: create, append, write, sync, rename, remove, directory sync.
    pub fn mutating_calls(&self) -> u64 {
        self.state().mutating_calls
    }

    /// Number of changes that a loss of power could undo now.
    pub fn changes_at_risk(&self) -> usize {
        self.state().pending.len()
    }

    /// The disk after a loss of power: everything that was synced, and of the rest what `survival` says. The same
    /// `survival` gives the same disk. This disk is left as it is.
    pub fn crash(&self, survival: Survival) -> Self {
        Self::with_files(image::after_crash(&self.state(), survival))
    }

    /// A copy of all files as a running process sees them.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        state.names.seen.iter().map(|(name, &file)| (name.clone(), state.files[file].seen.clone())).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self, action: &'static str, path: &Path) -> Result<MutexGuard<'_, State>> {
        let state = self.state();
        if state.stopped { Err(no_power(action, path)) } else { Ok(state) }
    }

    /// Runs a mutating call. When the power goes at this very call, its change is left pending, so that it may or may
    /// not have happened, and the caller sees a failure.
    fn mutate<T>(
        &self,
        action: &'static str,
        path: &Path,
        change: impl FnOnce(&mut State) -> std::result::Result<T, ErrorKind>,
        commit: impl FnOnce(&mut State),
    ) -> Result<T> {
        let mut state = self.running(action, path)?;
        let call = state.mutating_calls;
        state.mutating_calls += 1;
        let outcome = change(&mut state).map_err(|kind| Error::io(action, path, kind.into()))?;
        if state.stop_at.is_some_and(|stop| call >= stop) {
            state.stopped = true;
            return Err(no_power(action, path));
        }
        commit(&mut state);
        Ok(outcome)
    }
}

fn no_power(action: &'static str, path: &Path) -> Error {
    Error::io(action, path, io::Error::other("the simulated disk has lost its power"))
}

fn unchanged(_: &mut State) {}

impl Storage for SimulatedDisk {
    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        check_name(name)?;
        let path = self.path(name);
        let state = self.running("open", &path)?;
        let Some(&file) = state.names.seen.get(name) else {
            return Err(Error::io("open", path, ErrorKind::NotFound.into()));
        };
        let length_bytes = state.files[file].seen.len() as u64;
        Ok(Arc::new(DiskReader { disk: self.clone(), file, length_bytes, path }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        check_name(name)?;
        let path = self.path(name);
        let change = |state: &mut State| {
            if state.names.seen.contains_key(name) {
                return Err(ErrorKind::AlreadyExists);
            }
            let file = state.files.len();
            state.files.push(Content::default());
            state.names.seen.insert(name.to_owned(), file);
            state.pending.push(Change::Create { name: name.to_owned(), file });
            Ok(file)
        };
        let file = self.mutate("create", &path, change, unchanged)?;
        Ok(Box::new(DiskWriter { disk: self.clone(), file, length_bytes: 0, poisoned: false, path }))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        check_name(name)?;
        let path = self.path(name);
        let state = self.running("open", &path)?;
        let Some(&file) = state.names.seen.get(name) else {
            return Err(Error::io("open", path, ErrorKind::NotFound.into()));
        };
        Ok(Arc::new(DiskFile { disk: self.clone(), file, poisoned: AtomicBool::new(false), path }))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.create(name)?;
        self.open_update(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        check_name(from)?;
        check_name(to)?;
        let change = |state: &mut State| {
            let file = state.names.seen.remove(from).ok_or(ErrorKind::NotFound)?;
            state.names.seen.insert(to.to_owned(), file);
            state.pending.push(Change::Rename { from: from.to_owned(), to: to.to_owned(), file });
            Ok(())
        };
        self.mutate("rename", &self.path(from), change, unchanged)
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let change = |state: &mut State| {
            let file = state.names.seen.remove(name).ok_or(ErrorKind::NotFound)?;
            state.pending.push(Change::Remove { name: name.to_owned(), file });
            Ok(())
        };
        self.mutate("remove", &self.path(name), change, unchanged)
    }

    fn exists(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        Ok(self.running("look for", &self.path(name))?.names.seen.contains_key(name))
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.running("list", &self.path(""))?.names.seen.keys().cloned().collect())
    }

    fn sync_directory(&self) -> Result<()> {
        let commit = |state: &mut State| {
            state.names.durable = state.names.seen.clone();
            state.pending.retain(Change::is_write);
        };
        self.mutate("sync the directory", &self.path(""), |_| Ok(()), commit)
    }

    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>> {
        check_name(name)?;
        let path = self.path(name);
        if !self.exists(name)? {
            self.create(name)?;
        }
        if !self.running("lock", &path)?.locks.insert(name.to_owned()) {
            return Err(Error::locked(path, true));
        }
        Ok(Box::new(DiskLock { disk: self.clone(), name: name.to_owned() }))
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new("simulated:").join(name)
    }
}

#[derive(Debug)]
struct DiskLock {
    disk: SimulatedDisk,
    name: String,
}

impl FileLock for DiskLock {}

impl Drop for DiskLock {
    fn drop(&mut self) {
        self.disk.state().locks.remove(&self.name);
    }
}

#[derive(Debug)]
struct DiskReader {
    disk: SimulatedDisk,
    file: FileId,
    length_bytes: u64,
    path: PathBuf,
}

impl ReadableFile for DiskReader {
    fn len(&self) -> u64 {
        self.length_bytes
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check_range(&self.path, self.length_bytes, &request)?;
        let state = self.disk.running("read", &self.path)?;
        let start = request.offset as usize;
        let end = start + request.buffer.len();
        request.buffer.copy_from_slice(&state.files[self.file].seen[start..end]);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct DiskWriter {
    disk: SimulatedDisk,
    file: FileId,
    length_bytes: u64,
    poisoned: bool,
    path: PathBuf,
}

impl DiskWriter {
    fn guarded(
        &mut self,
        action: &'static str,
        change: impl FnOnce(&mut State),
        commit: impl FnOnce(&mut State),
    ) -> Result<()> {
        if self.poisoned {
            return Err(Error::poisoned(self.path.clone()));
        }
        let change = |state: &mut State| {
            change(state);
            Ok(())
        };
        let outcome = self.disk.mutate(action, &self.path, change, commit);
        self.poisoned = outcome.is_err();
        outcome
    }
}

impl WritableFile for DiskWriter {
    fn len(&self) -> u64 {
        self.length_bytes
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        check_write(&self.path, self.length_bytes, offset)?;
        let (file, offset) = (self.file, offset as usize);
        let change = |state: &mut State| {
            overlay(&mut state.files[file].seen, offset, bytes);
            state.pending.push(Change::Write { file, offset, bytes: bytes.to_vec() });
        };
        self.guarded("write", change, unchanged)?;
        self.length_bytes = self.length_bytes.max((offset + bytes.len()) as u64);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        let file = self.file;
        let commit = |state: &mut State| {
            state.files[file].durable = state.files[file].seen.clone();
            state.pending.retain(|change| !change.is_of(file));
        };
        self.guarded("sync", |_| (), commit)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct DiskFile {
    disk: SimulatedDisk,
    file: FileId,
    poisoned: AtomicBool,
    path: PathBuf,
}

impl DiskFile {
    fn guarded(
        &self,
        action: &'static str,
        change: impl FnOnce(&mut State),
        commit: impl FnOnce(&mut State),
    ) -> Result<()> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::poisoned(self.path.clone()));
        }
        let change = |state: &mut State| {
            change(state);
            Ok(())
        };
        let outcome = self.disk.mutate(action, &self.path, change, commit);
        if outcome.is_err() {
            self.poisoned.store(true, Ordering::Release);
        }
        outcome
    }
}

impl ReadableFile for DiskFile {
    fn len(&self) -> u64 {
        self.disk.state().files[self.file].seen.len() as u64
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        let state = self.disk.running("read", &self.path)?;
        let seen = &state.files[self.file].seen;
        check_range(&self.path, seen.len() as u64, &request)?;
        let start = request.offset as usize;
        request.buffer.copy_from_slice(&seen[start..start + request.buffer.len()]);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl UpdatableFile for DiskFile {
    fn write_at(&self, offset: u64, bytes: &[u8], _purpose: Purpose) -> Result<()> {
        let (file, offset) = (self.file, offset as usize);
        let change = |state: &mut State| {
            overlay(&mut state.files[file].seen, offset, bytes);
            state.pending.push(Change::Write { file, offset, bytes: bytes.to_vec() });
        };
        self.guarded("write", change, unchanged)
    }

    fn set_len(&self, length_bytes: u64) -> Result<()> {
        let (file, length) = (self.file, length_bytes as usize);
        let change = |state: &mut State| {
            state.files[file].seen.resize(length, 0);
            state.pending.push(Change::SetLen { file, length });
        };
        self.guarded("cut", change, unchanged)
    }

    fn sync(&self) -> Result<()> {
        let file = self.file;
        let commit = |state: &mut State| {
            state.files[file].durable = state.files[file].seen.clone();
            state.pending.retain(|change| !change.is_of(file));
        };
        self.guarded("sync", |_| (), commit)
    }
}
