//! The writable side of a chain.

use super::owner;
use super::tag::{self, TAG_BYTES};
use crate::error::{Cause, Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{
    ListedFile, Purpose, ReadRequest, ReadableFile, Storage, UpdatableFile, WritableFile, not_for_objects,
};
use crate::lsm::state::version::ChainId;
use crate::lsm::state::version::file_name;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A part is put when this many bytes wait, even without a sync, so that they do not fill the memory.
const PART_BYTES_MAX: usize = 8 << 20;

/// Puts a part. A request may be repeated, by a network or after an answer was lost: a part with the same bytes is this
/// one, since its checksums are bound to the opening.
///
/// # Errors
/// An error of kind `AlreadyExists` if there is another part; errors of the storage, after which there may be this one.
pub(super) fn put_part(storage: &dyn Storage, chain: ChainId, part: u64, bytes: &[u8]) -> Result<()> {
    let name = chain.part_name(part);
    match storage.put_if_absent(&name, bytes) {
        Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }) => {
            // An answer that is shorter than the object is asked for again.
            let listed = storage.find_file(&name)?.unwrap_or_else(|| ListedFile::named(&name));
            match storage.read_listed(std::slice::from_ref(&listed)).pop() {
                Some(Ok(found)) if found == bytes => Ok(()),
                Some(Err(error @ Error { cause: Cause::WrongAnswer, .. })) => Err(error),
                _ => Err(Error::io("create", storage.path(&name), ErrorKind::AlreadyExists.into())),
            }
        }
        outcome => outcome,
    }
}

/// A chain that is being written. Bytes become durable, and visible, with a sync, as the next part.
#[derive(Debug)]
pub(crate) struct ChainWriter {
    storage: Arc<dyn Storage>,
    /// The folder of the store, and the path of the file, for messages.
    store: PathBuf,
    path: PathBuf,
    chain: ChainId,
    /// The identity of the store, with which its parts are tagged.
    owner: Option<u64>,
    state: Mutex<WrittenState>,
}

#[derive(Debug, Default)]
struct WrittenState {
    /// Number of parts that were put.
    parts: u64,
    /// The bytes of the file that they have.
    put_bytes: u64,
    /// What follows them, behind the tag of the next part.
    waiting: Vec<u8>,
    tag_bytes: usize,
    has_failed: bool,
}

impl ChainWriter {
    /// A new chain of a store, of which nothing is stored yet.
    pub(super) fn new(storage: &Arc<dyn Storage>, chain: ChainId, owner: Option<u64>) -> Self {
        let path = storage.path(&file_name(chain.number, chain.kind));
        let store = path.parent().map(Into::into).unwrap_or_default();
        Self { storage: Arc::clone(storage), store, path, chain, owner, state: Mutex::default() }
    }

    /// Begins the next part with what waits; the caller puts it. `None` if nothing waits.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] if an earlier part has failed.
    pub(crate) fn begin_part(self: &Arc<Self>) -> Result<Option<PartInFlight>> {
        let mut state = self.state.lock();
        if state.has_failed {
            return Err(Error::poisoned(self.path.clone()));
        }
        if state.waiting.is_empty() {
            return Ok(None);
        }
        let (part, bytes) = (state.parts, std::mem::take(&mut state.waiting));
        state.parts += 1;
        state.put_bytes += (bytes.len() - state.tag_bytes) as u64;
        Ok(Some(PartInFlight { chain: Arc::clone(self), part, bytes }))
    }

    fn append_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut state = self.state.lock();
        if state.has_failed {
            return Err(Error::poisoned(self.path.clone()));
        }
        if offset != state.length() {
            return Err(not_for_objects("update", self.path.clone()));
        }
        if state.waiting.is_empty() {
            // The header of the file is the tag of its first part.
            let tag = self.owner.filter(|_| state.parts > 0).map(|owner| tag::encode(owner, self.chain, state.parts));
            state.waiting.extend(tag.into_iter().flatten());
            state.tag_bytes = tag.map_or(0, |_| TAG_BYTES);
        }
        state.waiting.extend_from_slice(bytes);
        if state.waiting.len() >= PART_BYTES_MAX { self.put(&mut state) } else { Ok(()) }
    }

    /// Puts what waits as the next part.
    fn put(&self, state: &mut WrittenState) -> Result<()> {
        if state.has_failed {
            return Err(Error::poisoned(self.path.clone()));
        }
        if state.waiting.is_empty() {
            return Ok(());
        }
        let outcome = put_part(&*self.storage, self.chain, state.parts, &state.waiting);
        match outcome {
            Ok(()) => {
                state.put_bytes = state.length();
                state.parts += 1;
                state.waiting.clear();
                Ok(())
            }
            Err(error) => {
                // The part may still arrive, so nothing may take its place.
                state.has_failed = true;
                Err(self.explained(error, state.parts))
            }
        }
    }

    /// A part that another opening put into this chain is its seal, unless it is of another store. The first part is
    /// not: it is up to the caller to find out who wrote it.
    fn explained(&self, error: Error, part: u64) -> Error {
        match error {
            Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. } if part > 0 => {
                owner::explain_taken(&*self.storage, self.owner, &self.chain.part_name(part), &self.store)
            }
            error => error,
        }
    }

    /// Number of parts that were begun.
    pub(crate) fn parts(&self) -> u64 {
        self.state.lock().parts
    }

    fn length(&self) -> u64 {
        self.state.lock().length()
    }
}

impl WrittenState {
    /// The length of the file, with what waits.
    fn length(&self) -> u64 {
        let waiting = if self.waiting.is_empty() { 0 } else { self.waiting.len() - self.tag_bytes };
        self.put_bytes + waiting as u64
    }
}

/// A part of a log that has its number, and is to be put.
#[derive(Debug)]
pub(crate) struct PartInFlight {
    chain: Arc<ChainWriter>,
    part: u64,
    bytes: Vec<u8>,
}

impl PartInFlight {
    /// Puts the part. It counts when all parts before are there, too.
    ///
    /// # Errors
    /// Errors of the storage; [`Cause::Fenced`]. The log accepts nothing more then.
    pub(crate) fn put(&self) -> Result<()> {
        let outcome = put_part(&*self.chain.storage, self.chain.chain, self.part, &self.bytes);
        outcome.map_err(|error| {
            self.chain.state.lock().has_failed = true;
            self.chain.explained(error, self.part)
        })
    }
}

/// A log is opened as if it were updated in place, but only appended to.
impl ReadableFile for ChainWriter {
    fn len(&self) -> u64 {
        self.length()
    }

    fn read(&self, _: ReadRequest<'_>) -> Result<()> {
        Err(not_for_objects("read, while it is written,", self.path.clone()))
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl UpdatableFile for ChainWriter {
    fn write_at(&self, offset: u64, bytes: &[u8], _: Purpose) -> Result<()> {
        self.append_at(offset, bytes)
    }

    fn set_len(&self, length_bytes: u64) -> Result<()> {
        if length_bytes == self.length() { Ok(()) } else { Err(not_for_objects("truncate", self.path.clone())) }
    }

    fn sync(&self) -> Result<()> {
        self.put(&mut self.state.lock())
    }
}

/// A chain as a file that is only appended to.
#[derive(Debug)]
pub(super) struct ChainFile(pub(super) ChainWriter);

impl WritableFile for ChainFile {
    fn len(&self) -> u64 {
        self.0.length()
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.append_at(offset, bytes)
    }

    fn sync(&mut self) -> Result<()> {
        UpdatableFile::sync(&self.0)
    }

    fn path(&self) -> &Path {
        &self.0.path
    }
}
