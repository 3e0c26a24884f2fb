//! Whether a file is an index.

use crate::failure::Result;
use ogive::index::{AnyIndex, IndexOptions};
use ogive::io::Storage;
use ogive::{Cause, Error, FileFormat};
use std::sync::Arc;

/// Whether a file is an index, even a damaged one.
pub(crate) fn is_index(storage: &Arc<dyn Storage>, name: &str) -> Result<bool> {
    // Other files may have several names.
    if FileFormat::of_file(&*storage.open(name)?)?.is_none() {
        return Ok(false);
    }
    match AnyIndex::open_read_only((storage, name), &IndexOptions::default()) {
        Err(Error { cause: Cause::NotAnIndex, .. }) => Ok(false),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(true),
    }
}
