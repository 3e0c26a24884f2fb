//! An index as an input of a join.

use super::any::{AnyIndex, either};
use crate::failure::Result;
use ogive::io::Storage;
use ogive::join::JoinSource;
use ogive::page::PageOptions;
use ogive::{Error, KeyType};
use std::sync::Arc;

/// Whether a file is an index, even a damaged one.
pub(crate) fn is_index(storage: &Arc<dyn Storage>, name: &str) -> Result<bool> {
    match AnyIndex::open(storage, name, &PageOptions::default(), true) {
        Err(Error::NotAnIndex { .. } | Error::NotAPageFile { .. }) => Ok(false),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(true),
    }
}

/// The entries of an index and its key type.
pub(crate) fn relation(storage: &Arc<dyn Storage>, name: &str, memory_bytes: u64) -> Result<(JoinSource, KeyType)> {
    let mut pages = PageOptions::default();
    pages.memory_bytes = memory_bytes;
    let index = AnyIndex::open(storage, name, &pages, true)?;
    let key_type = index.key_type();
    let source = either!(&index, index => JoinSource::index(index))?;
    Ok((source, key_type))
}
