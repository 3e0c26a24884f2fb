//! Storage that discards what is written, for tables of which only the report is needed.

use crate::error::{Error, Result};
use crate::io::{FileLock, ReadableFile, Storage, UpdatableFile, WritableFile};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Accepts and discards all files.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiscardStorage;

#[derive(Debug)]
struct DiscardedFile {
    path: PathBuf,
    length: u64,
}

#[derive(Debug)]
struct NoLock;

impl FileLock for NoLock {}

impl Storage for DiscardStorage {
    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Err(Error::io("open", self.path(name), ErrorKind::NotFound.into()))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(DiscardedFile { path: self.path(name), length: 0 }))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Err(Error::io("open", self.path(name), ErrorKind::NotFound.into()))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Err(Error::io("create", self.path(name), ErrorKind::Unsupported.into()))
    }

    fn rename(&self, _from: &str, _to: &str) -> Result<()> {
        Ok(())
    }

    fn remove(&self, _name: &str) -> Result<()> {
        Ok(())
    }

    fn exists(&self, _name: &str) -> Result<bool> {
        Ok(false)
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn sync_directory(&self) -> Result<()> {
        Ok(())
    }

    fn lock(&self, _name: &str) -> Result<Box<dyn FileLock>> {
        Ok(Box::new(NoLock))
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new("discarded").join(name)
    }
}

impl WritableFile for DiscardedFile {
    fn len(&self) -> u64 {
        self.length
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.length = self.length.max(offset + bytes.len() as u64);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
