//! The open value files of a store, and reading values from them.

use crate::block::Slice;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::lsm::state::obsolete_file::ObsoleteFile;
use crate::lsm::state::version::{FileKind, file_name};
use crate::vlog::{ValueFile, ValueFilePointer, ValueStream};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Size at which a new value file is begun, in bytes.
pub(in crate::lsm) const VALUE_FILE_BYTES: u64 = 256 << 20;

/// An open value file. Once obsolete, the file is removed when its last reader is gone.
#[derive(Debug)]
pub(crate) struct ValueHandle {
    pub(crate) file: Arc<ValueFile>,
    pub(crate) number: u64,
    // Must be dropped last.
    obsolete_file: ObsoleteFile,
}

impl ValueHandle {
    pub(crate) fn new(storage: &Arc<dyn Storage>, number: u64, file: Arc<ValueFile>) -> Arc<Self> {
        Arc::new(Self { file, number, obsolete_file: ObsoleteFile::new(storage, file_name(number, FileKind::Values)) })
    }

    /// Whether the file is to be removed.
    pub(crate) fn is_obsolete(&self) -> bool {
        self.obsolete_file.is_obsolete()
    }

    /// Reverts [`Self::mark_obsolete`].
    pub(crate) fn keep(&self) {
        self.obsolete_file.keep();
    }

    /// Lets the file be removed once its last reader is gone.
    pub(crate) fn mark_obsolete(&self) {
        self.obsolete_file.mark_obsolete();
    }
}

/// The value files of a view, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueFiles(pub(crate) BTreeMap<u64, Arc<ValueHandle>>);

impl ValueFiles {
    /// Decodes a pointer and finds its value file.
    pub(in crate::lsm) fn resolve(
        &self,
        pointer: &[u8],
        path: &dyn Fn() -> PathBuf,
    ) -> Result<(&ValueFile, ValueFilePointer)> {
        let pointer = ValueFilePointer::decode(pointer)
            .ok_or_else(|| Error::damaged(path(), 0, "a value pointer is malformed"))?;
        match self.0.get(&pointer.file) {
            Some(handle) => Ok((&handle.file, pointer)),
            None => {
                let detail = format!("a value is in {}, which is missing", file_name(pointer.file, FileKind::Values));
                Err(Error::damaged(path(), pointer.offset, detail))
            }
        }
    }

    /// Reads the value at an encoded pointer, up to `limit_bytes`; `path` is the folder of the store, for error
    /// messages.
    pub(crate) fn get(&self, pointer: &[u8], limit_bytes: u64, path: &dyn Fn() -> PathBuf) -> Result<Slice> {
        let (file, pointer) = self.resolve(pointer, path)?;
        file.get(&pointer, limit_bytes)
    }

    /// As [`Self::get`], into a reusable buffer.
    pub(crate) fn get_into(
        &self,
        pointer: &[u8],
        limit_bytes: u64,
        value: &mut Vec<u8>,
        path: &dyn Fn() -> PathBuf,
    ) -> Result<()> {
        let (file, pointer) = self.resolve(pointer, path)?;
        file.get_into(&pointer, limit_bytes, value)
    }

    /// The value at an encoded pointer, as a stream.
    pub(crate) fn stream(&self, pointer: &[u8], path: &dyn Fn() -> PathBuf) -> Result<ValueStream> {
        let (file, pointer) = self.resolve(pointer, path)?;
        file.stream(&pointer)
    }
}
