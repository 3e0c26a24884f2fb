//! Files of a known length that are single objects: opened at the first read before the end that the manifest contains.

use super::owner::Owner;
use crate::error::{Cause, Error, Result};
use crate::io::{ListedFile, PendingReads, RangeRequest, ReadBuffer, ReadRequest, ReadableFile, Storage};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A file whose length and last bytes are known.
#[derive(Clone, Debug)]
pub(crate) struct KnownFile {
    pub(crate) length_bytes: u64,
    pub(crate) tail: Arc<[u8]>,
}

/// A file whose length is known, and that is opened when its end is not enough.
#[derive(Debug)]
pub(super) struct LaterFile {
    place: FilePlace,
    known: KnownFile,
    pub(super) file: OnceLock<Arc<dyn ReadableFile>>,
}

/// Where a file lies.
#[derive(Clone, Debug)]
pub(super) struct FilePlace {
    storage: Arc<dyn Storage>,
    name: String,
    /// The ETag that a listing showed, by which a cache may know the object.
    e_tag: Option<String>,
    path: PathBuf,
    /// Whether the file belongs to a reader, from whom it may be removed.
    is_readers: bool,
    /// The store that it is a file of.
    owner: Arc<Owner>,
}

impl FilePlace {
    pub(super) fn new(storage: &Arc<dyn Storage>, name: &str, is_readers: bool, owner: &Arc<Owner>) -> Self {
        let (storage, path, owner) = (Arc::clone(storage), storage.path(name), Arc::clone(owner));
        Self { storage, name: name.to_owned(), e_tag: None, path, is_readers, owner }
    }

    /// The place of an object of which a listing showed this ETag.
    pub(super) fn with_e_tag(self, e_tag: Option<String>) -> Self {
        Self { e_tag, ..self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The error of a file of a store that is not there any more: what has its name is of another one.
    fn gone(&self) -> Option<Error> {
        self.owner
            .check_in_place(&*self.storage)
            .err()
            .filter(|error| matches!(error, Error { cause: Cause::Gone, .. }))
    }

    /// A file that a reader does not find was removed by the store's writer. Its writer has it.
    pub(super) fn explained<T>(&self, outcome: Result<T>) -> Result<T> {
        // Not of the target of a copy.
        let is_absent =
            |error: &Error| error.cause == Cause::Io(ErrorKind::NotFound) && error.path() == Some(&*self.path);
        match outcome {
            Err(error) if is_absent(&error) || matches!(error, Error { cause: Cause::ObjectChanged, .. }) => {
                match self.storage.exists(&self.name) {
                    Ok(false) if self.is_readers => {
                        let path: PathBuf = self.path.parent().map(Into::into).unwrap_or_default();
                        Err(Error::version_gone(path))
                    }
                    Ok(is_there) if is_absent(&error) => Err(self.denied(is_there)),
                    _ => Err(self.gone().unwrap_or(error)),
                }
            }
            outcome => outcome,
        }
    }

    /// The error of a file that the store has, of which a read says that it is not there.
    fn denied(&self, is_there: bool) -> Error {
        let path = self.path.clone();
        if is_there {
            let detail = "it says that there is no such object (404), and then that there is one".to_owned();
            return Error::wrong_answer(path, detail);
        }
        // A writer that was taken over finds out by an error of this kind.
        let detail = "the object store says that there is no such object (404), though the manifest of the store names \
                      it; check whether another program has written to the store or removed the object";
        Error::io("read", path, std::io::Error::new(ErrorKind::NotFound, detail))
    }
}

impl LaterFile {
    pub(super) fn new(place: FilePlace, known: KnownFile) -> Self {
        Self { place, known, file: OnceLock::new() }
    }

    fn file(&self) -> Result<&Arc<dyn ReadableFile>> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let FilePlace { storage, name, e_tag, .. } = &self.place;
        let length_bytes = Some(self.known.length_bytes);
        let known = ListedFile { length_bytes, e_tag: e_tag.clone(), ..ListedFile::named(&**name) };
        let file = self.place.explained(storage.open_known(&known))?;
        Ok(self.file.get_or_init(|| file))
    }
}

/// Opens an object when it is first read.
pub(super) fn open_lazily(place: FilePlace, length_bytes: u64) -> Arc<dyn ReadableFile> {
    Arc::new(LaterFile::new(place, KnownFile { length_bytes, tail: Arc::default() }))
}

impl ReadableFile for LaterFile {
    fn len(&self) -> u64 {
        self.known.length_bytes
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        let tail_at = self.known.length_bytes - self.known.tail.len() as u64;
        let from = request.offset.checked_sub(tail_at).map(|from| from as usize);
        let known = from.and_then(|from| self.known.tail.get(from..from.checked_add(request.buffer.len())?));
        if let Some(known) = known {
            request.buffer.copy_from_slice(known);
            return Ok(());
        }
        self.place.explained(self.file()?.read(request))
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.place.explained(self.file()?.read_many(requests))
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        let reads = self.place.explained(self.file()?.start_reads(ranges))?;
        Ok(Box::new(PlacedReads { reads, place: self.place.clone() }))
    }

    fn distrust(&self) -> Option<Error> {
        let explained = self.file.get().and_then(|file| file.distrust());
        explained.or_else(|| self.place.gone())
    }

    fn path(&self) -> &Path {
        &self.place.path
    }
}

/// Reads that were started.
#[derive(Debug)]
struct PlacedReads {
    reads: Box<dyn PendingReads>,
    place: FilePlace,
}

impl PendingReads for PlacedReads {
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        self.place.explained(self.reads.wait())
    }
}
