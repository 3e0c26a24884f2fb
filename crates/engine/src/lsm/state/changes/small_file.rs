//! Small files about changes: what is kept, and how far each subscriber has come. One is written as a whole, under
//! another name, and renamed; as an object, by one request.
//!
//! ```text
//! magic | format version: u32 | store: u64 | body | checksum: u32, with the store as identity and offset 0
//! ```

use crate::block::checksum::{self, CHECKSUM_BYTES};
use crate::error::{Cause, Error, Result};
use crate::io::{Purpose, Storage, read_whole, remove_if_present};
use crate::lsm::state::version::NEW_SUFFIX;
use std::io::ErrorKind;

/// The format version.
const VERSION: u32 = 1;
/// Length of magic, version and store.
const HEAD_BYTES: usize = 20;
/// Longer files are none of these.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// A kind of small files.
#[derive(Clone, Copy, Debug)]
pub(in crate::lsm) struct SmallFile {
    pub(in crate::lsm) magic: &'static [u8; 8],
}

impl SmallFile {
    pub(super) fn encode(self, store: u64, body: &[u8]) -> Vec<u8> {
        let mut bytes = self.magic.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&store.to_le_bytes());
        bytes.extend_from_slice(body);
        bytes.resize(bytes.len() + CHECKSUM_BYTES, 0);
        checksum::seal(store, 0, &mut bytes);
        bytes
    }

    /// The body; `None` for the bytes of another file or store, and for damaged ones.
    pub(super) fn decode(self, store: u64, bytes: &[u8]) -> Option<&[u8]> {
        let end = bytes.len().checked_sub(CHECKSUM_BYTES).filter(|&end| end >= HEAD_BYTES)?;
        let is_ours = bytes.starts_with(self.magic)
            && bytes[8..12] == VERSION.to_le_bytes()
            && bytes[12..HEAD_BYTES] == store.to_le_bytes()
            && checksum::check(store, 0, bytes);
        is_ours.then(|| &bytes[HEAD_BYTES..end])
    }

    /// Writes a file, durably, in place of the one before.
    ///
    /// # Errors
    /// Errors of the storage: the file is the one before, or the new one.
    pub(in crate::lsm) fn write(self, storage: &dyn Storage, name: &str, store: u64, body: &[u8]) -> Result<()> {
        if storage.is_object_store() {
            let mut file = storage.create_replacing(name)?;
            file.append(&self.encode(store, body))?;
            return file.sync();
        }
        let new_name = format!("{name}{NEW_SUFFIX}");
        remove_if_present(storage, &new_name)?;
        let mut file = storage.create(&new_name)?;
        file.append(&self.encode(store, body))?;
        file.sync()?;
        drop(file);
        storage.rename(&new_name, name)?;
        storage.sync_directory()
    }

    /// The body of a file; `None` if there is none of this store, or it is damaged.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(in crate::lsm) fn read(self, storage: &dyn Storage, name: &str, store: u64) -> Result<Option<Vec<u8>>> {
        if storage.is_object_store() {
            return match storage.read_whole(&[name.to_owned()]).pop().transpose() {
                Ok(bytes) => Ok(bytes.and_then(|bytes| self.decode(store, &bytes).map(<[u8]>::to_vec))),
                Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => Ok(None),
                Err(error) => Err(error),
            };
        }
        let file = match storage.open(name) {
            Ok(file) if file.len() <= FILE_BYTES_MAX => file,
            Ok(_) | Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = read_whole(&*file, Purpose::Open)?;
        Ok(self.decode(store, &bytes).map(<[u8]>::to_vec))
    }
}
