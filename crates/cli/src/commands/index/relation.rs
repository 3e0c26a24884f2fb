//! An index as an input of joins and tables.

use super::any::either;
use crate::failure::Result;
use crate::input::{Input, InputFacts, StoredInput};
use ogive::KeyType;
use ogive::index::{AnyIndex, IndexOptions, RawKey, Word};
use ogive::io::Storage;
use ogive::join::JoinSource;
use ogive::page::PageOptions;
use std::path::Path;
use std::sync::Arc;

/// The entries of an index as an input of `ogive build`.
///
/// # Errors
/// Those of opening it.
pub(crate) fn input(path: &Path, storage: &Arc<dyn Storage>, name: &str) -> Result<Box<dyn Input>> {
    let index = AnyIndex::open_read_only((storage, name), &IndexOptions::default())?;
    let types = index.record_type().clone();
    let key_type = types.keys;
    let width = match (types.values.is_bytes(), types.values.width()) {
        (true, _) => Some(index.layout().payload_bytes),
        (false, width) => width,
    };
    let records = either!(&index, index => index.reader().and_then(|reader| reader.len()))?;
    let facts = InputFacts {
        path: path.to_owned(),
        record_type: types,
        value_width: width.and_then(|width| u32::try_from(width).ok()),
        records: Some(records),
        length_bytes: Some(records),
        may_be_empty: true,
    };
    either!(index, index => {
        let entries = index.iter()?;
        let entry = move |(key, payload): (RawKey<_>, Vec<u8>)| {
            let value = index.decode_value(&payload)?.into_owned();
            Ok((AnyIndex::key_bytes(key_type, Word::to_u128(key.0)), value))
        };
        Ok(Box::new(StoredInput::new(facts, entries.map(move |found| found.and_then(&entry)))))
    })
}

/// The entries of an index and its key type.
pub(crate) fn relation(storage: &Arc<dyn Storage>, name: &str, memory_bytes: u64) -> Result<(JoinSource, KeyType)> {
    let mut pages = PageOptions::default();
    pages.memory_bytes = memory_bytes;
    let index = AnyIndex::open_read_only((storage, name), &IndexOptions::default().pages(pages.clone()))?;
    let key_type = index.key_type();
    Ok((JoinSource::any_index(&index)?, key_type))
}
