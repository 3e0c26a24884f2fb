//! A file that is written as a whole, and read after that: a value file.

use super::later_file::{FilePlace, open_lazily};
use crate::error::{Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{
    PendingReads, Purpose, RangeRequest, ReadRequest, ReadableFile, Storage, UpdatableFile, WritableFile,
    not_for_objects,
};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// An object that appears at its first sync, and can be read from then on.
#[derive(Debug)]
pub(super) struct ObjectFile {
    place: FilePlace,
    upload: Mutex<Upload>,
    stored: OnceLock<Arc<dyn ReadableFile>>,
}

#[derive(Debug)]
struct Upload {
    /// `None` once it is stored, or after a failure.
    file: Option<Box<dyn WritableFile>>,
    length_bytes: u64,
}

impl ObjectFile {
    /// Begins an object at its place.
    pub(super) fn create(storage: &dyn Storage, name: &str, place: FilePlace) -> Result<Self> {
        let upload = Upload { file: Some(storage.create(name)?), length_bytes: 0 };
        Ok(Self { place, upload: Mutex::new(upload), stored: OnceLock::new() })
    }

    fn stored(&self) -> Result<&Arc<dyn ReadableFile>> {
        match self.stored.get() {
            Some(file) => Ok(file),
            None => Err(not_for_objects("read, before it is complete,", self.place.path().to_owned())),
        }
    }
}

impl ReadableFile for ObjectFile {
    fn len(&self) -> u64 {
        self.upload.lock().length_bytes
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.stored()?.read(request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.stored()?.read_many(requests)
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        self.stored()?.start_reads(ranges)
    }

    fn distrust(&self) -> Option<Error> {
        self.stored.get()?.distrust()
    }

    fn path(&self) -> &Path {
        self.place.path()
    }
}

impl UpdatableFile for ObjectFile {
    fn write_at(&self, offset: u64, bytes: &[u8], _: Purpose) -> Result<()> {
        let mut upload = self.upload.lock();
        let is_end = offset == upload.length_bytes;
        let file = upload.file.as_mut().filter(|_| is_end);
        file.ok_or_else(|| not_for_objects("update", self.place.path().to_owned()))?.append(bytes)?;
        upload.length_bytes += bytes.len() as u64;
        Ok(())
    }

    fn set_len(&self, length_bytes: u64) -> Result<()> {
        if length_bytes == self.len() { Ok(()) } else { Err(not_for_objects("truncate", self.place.path().to_owned())) }
    }

    fn sync(&self) -> Result<()> {
        let Some(mut file) = self.upload.lock().file.take() else { return self.stored().map(drop) };
        file.sync()?;
        let stored = open_lazily(self.place.clone(), self.len());
        _ = self.stored.set(stored);
        Ok(())
    }
}
