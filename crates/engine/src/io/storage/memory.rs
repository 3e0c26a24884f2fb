//! In-memory storage, for tests and for tables that need no disk.

use super::request::{Purpose, ReadRequest};
use super::traits::{
    FileLock, FolderListing, ListedFile, ReadableFile, Storage, UpdatableFile, WritableFile, check_name, check_range,
    check_write, not_for_objects,
};
use crate::error::{Error, Result};
use crate::io::objects::object_writer::ObjectWriter;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

type Content = Arc<RwLock<Vec<u8>>>;

/// A directory in memory. Clones share the files, which live as long as the last clone or open file.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    files: Arc<Mutex<BTreeMap<String, Content>>>,
    locks: Arc<Mutex<BTreeSet<String>>>,
    is_object_store: bool,
}

impl MemoryStorage {
    /// Creates an empty directory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty object store in memory, with the rules of [`Storage`] for objects.
    pub fn objects() -> Self {
        Self { is_object_store: true, ..Self::default() }
    }

    /// Stores a complete file, replacing any of the same name; used by tests for damaged files.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the name contains separators.
    pub fn put(&self, name: &str, content: Vec<u8>) -> Result<()> {
        check_name(name)?;
        self.files().insert(name.to_owned(), Arc::new(RwLock::new(content)));
        Ok(())
    }

    /// Returns a copy of a complete file.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io) if there is no such file.
    pub fn content(&self, name: &str) -> Result<Vec<u8>> {
        let content = self.find("read", name)?;
        let bytes = content.read().unwrap_or_else(PoisonError::into_inner);
        Ok(bytes.clone())
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Content>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, action: &'static str, name: &str) -> Result<Content> {
        check_name(name)?;
        self.files().get(name).cloned().ok_or_else(|| self.failed(action, name, ErrorKind::NotFound))
    }

    fn failed(&self, action: &'static str, name: &str, kind: ErrorKind) -> Error {
        Error::io(action, self.path(name), kind.into())
    }

    /// An object that appears at its first sync.
    fn object_writer(&self, name: &str) -> Box<dyn WritableFile> {
        let (files, key) = (Arc::clone(&self.files), name.to_owned());
        Box::new(ObjectWriter::new(self.path(name), move |content| {
            files.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(RwLock::new(content)));
            Ok(())
        }))
    }

    /// Refuses what an object store cannot do.
    fn check_files(&self, action: &'static str, name: &str) -> Result<()> {
        check_name(name)?;
        if self.is_object_store { Err(not_for_objects(action, self.path(name))) } else { Ok(()) }
    }
}

impl Storage for MemoryStorage {
    fn is_object_store(&self) -> bool {
        self.is_object_store
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        let content = self.find("open", name)?;
        let length_bytes = content.read().unwrap_or_else(PoisonError::into_inner).len() as u64;
        Ok(Arc::new(MemoryReader { content, length_bytes, path: self.path(name) }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        check_name(name)?;
        let mut files = self.files();
        if files.contains_key(name) {
            return Err(self.failed("create", name, ErrorKind::AlreadyExists));
        }
        let content = Content::default();
        if self.is_object_store {
            return Ok(self.object_writer(name));
        }
        files.insert(name.to_owned(), Arc::clone(&content));
        Ok(Box::new(MemoryWriter { content, length_bytes: 0, path: self.path(name) }))
    }

    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        check_name(name)?;
        if !self.is_object_store {
            let hint = "write it under another name, and rename it".to_owned();
            return Err(Error::unsupported(self.path(name), "replace at once", hint));
        }
        Ok(self.object_writer(name))
    }

    fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_name(name)?;
        match self.files().entry(name.to_owned()) {
            Entry::Occupied(_) => Err(self.failed("create", name, ErrorKind::AlreadyExists)),
            Entry::Vacant(place) => {
                place.insert(Arc::new(RwLock::new(bytes.to_vec())));
                Ok(())
            }
        }
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.check_files("update", name)?;
        Ok(Arc::new(MemoryFile { content: self.find("open", name)?, path: self.path(name) }))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.check_files("update", name)?;
        self.create(name)?;
        self.open_update(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.check_files("rename", from)?;
        check_name(to)?;
        let mut files = self.files();
        let content = files.remove(from).ok_or_else(|| self.failed("rename", from, ErrorKind::NotFound))?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn rename_new(&self, from: &str, to: &str) -> Result<()> {
        self.check_files("rename", from)?;
        check_name(to)?;
        let mut files = self.files();
        if files.contains_key(to) {
            return Err(self.failed("create", to, ErrorKind::AlreadyExists));
        }
        let content = files.remove(from).ok_or_else(|| self.failed("rename", from, ErrorKind::NotFound))?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name(name)?;
        match self.files().remove(name) {
            Some(_) => Ok(()),
            None => Err(self.failed("remove", name, ErrorKind::NotFound)),
        }
    }

    fn exists(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        Ok(self.files().contains_key(name))
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.files().keys().cloned().collect())
    }

    fn list_files(&self) -> Result<FolderListing> {
        let listed = |(name, content): (&String, &Content)| {
            let length_bytes = content.read().unwrap_or_else(PoisonError::into_inner).len() as u64;
            ListedFile { length_bytes: Some(length_bytes), ..ListedFile::named(name) }
        };
        Ok(FolderListing { files: self.files().iter().map(listed).collect(), is_at_once: true })
    }

    fn sync_directory(&self) -> Result<()> {
        Ok(())
    }

    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>> {
        self.check_files("lock", name)?;
        self.files().entry(name.to_owned()).or_default();
        if !self.locks.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned()) {
            return Err(Error::locked(self.path(name), true));
        }
        Ok(Box::new(MemoryLock { locks: Arc::clone(&self.locks), name: name.to_owned() }))
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new("memory:").join(name)
    }
}

#[derive(Debug)]
struct MemoryLock {
    locks: Arc<Mutex<BTreeSet<String>>>,
    name: String,
}

impl FileLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

#[derive(Debug)]
struct MemoryReader {
    content: Content,
    length_bytes: u64,
    path: PathBuf,
}

impl ReadableFile for MemoryReader {
    fn len(&self) -> u64 {
        self.length_bytes
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check_range(&self.path, self.length_bytes, &request)?;
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        let start = request.offset as usize;
        request.buffer.copy_from_slice(&content[start..start + request.buffer.len()]);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct MemoryWriter {
    content: Content,
    length_bytes: u64,
    path: PathBuf,
}

impl WritableFile for MemoryWriter {
    fn len(&self) -> u64 {
        self.length_bytes
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        check_write(&self.path, self.length_bytes, offset)?;
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let start = offset as usize;
        let over = bytes.len().min(content.len() - start);
        content[start..start + over].copy_from_slice(&bytes[..over]);
        content.extend_from_slice(&bytes[over..]);
        self.length_bytes = content.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct MemoryFile {
    content: Content,
    path: PathBuf,
}

impl ReadableFile for MemoryFile {
    fn len(&self) -> u64 {
        self.content.read().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        check_range(&self.path, content.len() as u64, &request)?;
        let start = request.offset as usize;
        request.buffer.copy_from_slice(&content[start..start + request.buffer.len()]);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl UpdatableFile for MemoryFile {
    fn write_at(&self, offset: u64, bytes: &[u8], _purpose: Purpose) -> Result<()> {
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let end = offset as usize + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, length_bytes: u64) -> Result<()> {
        self.content.write().unwrap_or_else(PoisonError::into_inner).resize(length_bytes as usize, 0);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;

    /// Objects appear whole and once, and refuse what only files can do.
    #[test]
    fn objects_appear_whole_at_their_first_sync() {
        let storage = MemoryStorage::objects();
        let mut file = storage.create("a").unwrap();
        file.append(b"one").unwrap();
        assert!(!storage.exists("a").unwrap());
        file.append(b"two").unwrap();
        file.sync().unwrap();
        assert_eq!(storage.content("a").unwrap(), b"onetwo");
        assert!(matches!(file.append(b"three"), Err(Error { cause: Cause::Unsupported, .. })));
        drop(storage.create("b").unwrap());
        assert!(matches!(storage.create("a"), Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. })));
        let mut file = storage.create_replacing("a").unwrap();
        file.append(b"three").unwrap();
        assert_eq!(storage.content("a").unwrap(), b"onetwo");
        file.sync().unwrap();
        assert_eq!(storage.content("a").unwrap(), b"three");
        assert_eq!(storage.list().unwrap(), ["a"]);

        storage.put_if_absent("c", b"first").unwrap();
        let second = storage.put_if_absent("c", b"second");
        assert!(matches!(second, Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. })));
        assert_eq!(storage.content("c").unwrap(), b"first");
        assert!(matches!(storage.rename("c", "d"), Err(Error { cause: Cause::Unsupported, .. })));
        assert!(matches!(storage.lock("c"), Err(Error { cause: Cause::Unsupported, .. })));
        assert!(matches!(storage.open_update("c"), Err(Error { cause: Cause::Unsupported, .. })));
        assert!(matches!(storage.create_update("d"), Err(Error { cause: Cause::Unsupported, .. })));
    }
}
