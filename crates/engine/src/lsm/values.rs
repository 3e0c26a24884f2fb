//! The open value files of a store, and reading values from them.

use super::obsolete_file::ObsoleteFile;
use super::version::{FileKind, file_name};
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::vlog::{ValueFile, ValuePointer, ValueStream};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A value file that is removed once nobody reads it, if it is obsolete then.
#[derive(Debug)]
pub(crate) struct ValueHandle {
    pub(crate) file: Arc<ValueFile>,
    pub(crate) number: u64,
    // Dropped last.
    obsolete_file: ObsoleteFile,
}

impl ValueHandle {
    pub(crate) fn new(storage: &Arc<dyn Storage>, number: u64, file: Arc<ValueFile>) -> Arc<Self> {
        Arc::new(Self { file, number, obsolete_file: ObsoleteFile::new(storage, file_name(number, FileKind::Values)) })
    }

    /// Takes [`Self::mark_obsolete`] back.
    pub(crate) fn keep(&self) {
        self.obsolete_file.keep();
    }

    /// Lets the file be removed when the last reader has gone.
    pub(crate) fn mark_obsolete(&self) {
        self.obsolete_file.mark_obsolete();
    }
}

/// All value files that a view leads to, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueFiles(pub(crate) BTreeMap<u64, Arc<ValueHandle>>);

impl ValueFiles {
    /// The file that an encoded place leads to, and the place.
    fn resolve(&self, pointer: &[u8], path: &dyn Fn() -> PathBuf) -> Result<(&ValueFile, ValuePointer)> {
        let place = ValuePointer::decode(pointer)
            .ok_or_else(|| Error::damaged(path(), 0, "a pointer to a value that makes no sense"))?;
        match self.0.get(&place.file) {
            Some(handle) => Ok((&handle.file, place)),
            None => {
                let detail = format!("a value lies in {}, which is not there", file_name(place.file, FileKind::Values));
                Err(Error::damaged(path(), place.offset, detail))
            }
        }
    }

    /// The value at an encoded place, if it is not longer than `limit_bytes`; `path` is the store's, for messages.
    pub(crate) fn get(&self, pointer: &[u8], limit_bytes: u64, path: &dyn Fn() -> PathBuf) -> Result<Slice> {
        let (file, place) = self.resolve(pointer, path)?;
        file.get(&place, limit_bytes)
    }

    /// As [`Self::get`], into a buffer that may be used again.
    pub(crate) fn get_into(
        &self,
        pointer: &[u8],
        limit_bytes: u64,
        value: &mut Vec<u8>,
        path: &dyn Fn() -> PathBuf,
    ) -> Result<()> {
        let (file, place) = self.resolve(pointer, path)?;
        file.get_into(&place, limit_bytes, value)
    }

    /// The value at an encoded place, as a stream.
    pub(crate) fn stream(&self, pointer: &[u8], path: &dyn Fn() -> PathBuf) -> Result<ValueStream> {
        let (file, place) = self.resolve(pointer, path)?;
        file.stream(&place)
    }
}
