//! Files that are stored whole, for implementations of [`Storage`](crate::io::Storage) by object stores.

use crate::error::Result;
use crate::io::storage::traits::{WritableFile, check_write, not_for_objects};
use std::fmt;
use std::path::{Path, PathBuf};

/// A file in memory that is stored at its first sync, and accepts nothing after it. Dropped before, it is not stored.
pub struct ObjectWriter<S> {
    /// `None` once it is stored.
    content: Option<(Vec<u8>, S)>,
    length_bytes: u64,
    path: PathBuf,
}

impl<S: FnOnce(Vec<u8>) -> Result<()> + Send> ObjectWriter<S> {
    /// A new file; `path` is for messages, and `store` stores the content.
    pub fn new(path: PathBuf, store: S) -> Self {
        Self { content: Some((Vec::new(), store)), length_bytes: 0, path }
    }
}

impl<S> fmt::Debug for ObjectWriter<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ObjectWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<S: FnOnce(Vec<u8>) -> Result<()> + Send> WritableFile for ObjectWriter<S> {
    fn len(&self) -> u64 {
        self.length_bytes
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        check_write(&self.path, self.length_bytes, offset)?;
        let refused = || not_for_objects("write to", self.path.clone());
        let (content, _) = self.content.as_mut().filter(|_| offset == self.length_bytes).ok_or_else(refused)?;
        content.extend_from_slice(bytes);
        self.length_bytes = content.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.content.take().map_or(Ok(()), |(content, store)| store(content))
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
