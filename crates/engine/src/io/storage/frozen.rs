//! Frozen files: a read-only storage of files that are open already, or in memory.
//!
//! A reader goes on reading the same files, whatever happens to their names. Names are given when a file is
//! added, so the files may come from several folders, or have other names there.

use super::request::UnreadablePart;
use super::request::{Purpose, ReadRequest};
use super::traits::{
    FileCopy, FileLock, ReadableFile, Storage, UpdatableFile, WritableFile, check_range, copy_file, open_expected,
    read_whole,
};
use crate::error::{Cause, Error, Result};
use crate::io::reads::read_ahead::{PendingReads, RangeRequest, read_at_once};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The storage. Whatever would change a file is [`Cause::Unsupported`].
#[derive(Debug)]
pub(crate) struct FrozenFiles {
    /// Where the files lie, for messages about missing ones.
    place: Arc<dyn Storage>,
    files: BTreeMap<String, FrozenFile>,
}

#[derive(Debug)]
enum FrozenFile {
    Open(Arc<dyn ReadableFile>),
    /// Open, and never changed: it may be linked instead of copied.
    Immutable(Arc<dyn ReadableFile>),
    /// Opened at each use, by its name in `place`, with the length that it should have.
    Named(String, u64),
}

impl FrozenFiles {
    /// A storage without files.
    pub(crate) fn new(place: &Arc<dyn Storage>) -> Self {
        Self { place: Arc::clone(place), files: BTreeMap::new() }
    }

    /// Where the files lie.
    pub(crate) fn place(&self) -> &Arc<dyn Storage> {
        &self.place
    }

    /// Adds an open file.
    pub(crate) fn add(&mut self, name: &str, reader: Arc<dyn ReadableFile>) {
        self.files.insert(name.to_owned(), FrozenFile::Open(reader));
    }

    /// Adds an open file that has this name in the place, and never changes.
    pub(crate) fn add_immutable(&mut self, name: &str, reader: Arc<dyn ReadableFile>) {
        self.files.insert(name.to_owned(), FrozenFile::Immutable(reader));
    }

    /// Adds a file that is not open yet, and has another name in the place.
    pub(crate) fn add_named(&mut self, name: &str, name_in_place: String, length_bytes: u64) {
        self.files.insert(name.to_owned(), FrozenFile::Named(name_in_place, length_bytes));
    }

    /// Adds the first `end` bytes of a file, followed by `tail`.
    pub(crate) fn add_cut(&mut self, name: &str, inner: Arc<dyn ReadableFile>, end: u64, tail: Vec<u8>) {
        self.add(name, Arc::new(CutFile { inner, end, tail }));
    }

    /// Adds a file in memory, with the path of that name in the place.
    pub(crate) fn add_bytes(&mut self, name: &str, bytes: Vec<u8>) {
        let path = self.place.path(name);
        self.add(name, Arc::new(BytesFile { bytes, path }));
    }

    /// Adds a file as it is now, by reading all of it.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn add_content(&mut self, name: &str) -> Result<()> {
        let bytes = read_whole(&*self.place.open(name)?, Purpose::Walk)?;
        self.add_bytes(name, bytes);
        Ok(())
    }

    fn find(&self, action: &'static str, name: &str) -> Result<&FrozenFile> {
        self.files.get(name).ok_or_else(|| Error::io(action, self.place.path(name), ErrorKind::NotFound.into()))
    }

    fn refuse<T>(&self, action: &'static str, name: &str) -> Result<T> {
        let hint = "it is open for reading only".to_owned();
        Err(Error::unsupported(self.path(name), action, hint))
    }
}

impl Storage for FrozenFiles {
    fn has_whole_files(&self) -> bool {
        self.place.has_whole_files()
    }

    fn unreadable(&self) -> Vec<UnreadablePart> {
        self.place.unreadable()
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        match self.find("open", name)? {
            FrozenFile::Open(reader) | FrozenFile::Immutable(reader) => Ok(Arc::clone(reader)),
            FrozenFile::Named(name, length_bytes) => open_expected(&*self.place, name, *length_bytes),
        }
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.refuse("create", name)
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.refuse("update", name)
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.refuse("create", name)
    }

    fn rename(&self, from: &str, _: &str) -> Result<()> {
        self.refuse("rename", from)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.refuse("remove", name)
    }

    fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.files.contains_key(name))
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.files.keys().cloned().collect())
    }

    fn sync_directory(&self) -> Result<()> {
        self.refuse("sync", "")
    }

    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>> {
        self.refuse("lock", name)
    }

    fn path(&self, name: &str) -> PathBuf {
        match self.files.get(name) {
            Some(FrozenFile::Open(reader) | FrozenFile::Immutable(reader)) => reader.path().to_owned(),
            Some(FrozenFile::Named(name, _)) => self.place.path(name),
            None => self.place.path(name),
        }
    }

    fn export(&self, name: &str, target: &dyn Storage, new_name: &str) -> Result<()> {
        match self.find("copy", name)? {
            FrozenFile::Immutable(reader) => match self.place.export(name, target, new_name) {
                // Only the name is gone.
                Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => copy_file(&**reader, target, new_name),
                exported => exported,
            },
            FrozenFile::Open(reader) => copy_file(&**reader, target, new_name),
            FrozenFile::Named(old_name, _) => self.place.export(old_name, target, new_name),
        }
    }

    /// Those that never change, and have their own names in the place.
    fn copy_within(&self, files: &[FileCopy], target: &dyn Storage) -> Vec<Result<bool>> {
        let is_immutable = |file: &&FileCopy| matches!(self.files.get(&file.name), Some(FrozenFile::Immutable(_)));
        let immutable: Vec<FileCopy> = files.iter().filter(is_immutable).cloned().collect();
        let mut copied = self.place.copy_within(&immutable, target).into_iter();
        let outcome = |file| if is_immutable(&file) { copied.next().unwrap_or(Ok(false)) } else { Ok(false) };
        files.iter().map(outcome).collect()
    }
}

/// A file in memory.
#[derive(Debug)]
struct BytesFile {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl ReadableFile for BytesFile {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check_range(&self.path, self.len(), &request)?;
        let start = request.offset as usize;
        request.buffer.copy_from_slice(&self.bytes[start..start + request.buffer.len()]);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// The beginning of a file, and another end.
#[derive(Debug)]
struct CutFile {
    inner: Arc<dyn ReadableFile>,
    end: u64,
    tail: Vec<u8>,
}

impl ReadableFile for CutFile {
    fn len(&self) -> u64 {
        self.end + self.tail.len() as u64
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check_range(self.path(), self.len(), &request)?;
        let ReadRequest { offset, buffer, purpose } = request;
        let from_inner = self.end.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let (first, rest) = buffer.split_at_mut(from_inner);
        if !rest.is_empty() {
            let start = (offset + from_inner as u64 - self.end) as usize;
            rest.copy_from_slice(&self.tail[start..start + rest.len()]);
        }
        match first.is_empty() {
            true => Ok(()),
            false => self.inner.read(ReadRequest { offset, buffer: first, purpose }),
        }
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        let is_within = |range: &RangeRequest| range.offset.saturating_add(range.bytes as u64) <= self.end;
        match ranges.iter().all(is_within) {
            true => self.inner.start_reads(ranges),
            false => read_at_once(ranges, |requests| self.read_many(requests)),
        }
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryStorage;

    fn read(storage: &dyn Storage, name: &str, offset: u64, bytes: usize) -> Result<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        storage.open(name)?.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Walk })?;
        Ok(buffer)
    }

    #[test]
    fn frozen_files_stay_as_they_were() {
        let memory = MemoryStorage::new();
        for name in ["a", "b", "c"] {
            memory.put(name, b"0123456789".to_vec()).unwrap();
        }
        let shared: Arc<dyn Storage> = Arc::new(memory.clone());
        let mut frozen = FrozenFiles::new(&shared);
        frozen.add_immutable("a", shared.open("a").unwrap());
        frozen.add_content("b").unwrap();
        frozen.add_cut("c", shared.open("c").unwrap(), 4, b"xyz".to_vec());
        assert!(frozen.add_content("d").is_err());
        for name in ["a", "b", "c"] {
            memory.remove(name).unwrap();
        }
        assert_eq!(frozen.list().unwrap(), ["a", "b", "c"]);
        let target = MemoryStorage::new();
        for (name, whole) in [("a", "0123456789"), ("b", "0123456789"), ("c", "0123xyz")] {
            for from in 0..=whole.len() {
                for to in from..=whole.len() {
                    let found = read(&frozen, name, from as u64, to - from).unwrap();
                    assert_eq!(found, &whole.as_bytes()[from..to], "{name} {from}..{to}");
                }
                assert!(read(&frozen, name, from as u64, whole.len() - from + 1).is_err());
            }
            frozen.export(name, &target, name).unwrap();
            assert_eq!(target.content(name).unwrap(), whole.as_bytes());
        }
        assert!(matches!(frozen.remove("a"), Err(Error { cause: Cause::Unsupported, .. })));
    }
}
