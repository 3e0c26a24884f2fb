//! The record of the changes that are kept for subscribers: the file `CHANGES`.
//!
//! A log is not needed any more once its entries are in tables, and a keyspace that was dropped or a table that was
//! ingested may leave nothing at all. While there is a subscriber, they are kept under names of their own:
//!
//! | file | contents |
//! |---|---|
//! | CHANGES | this record |
//! | 000013.log.kept | a log whose entries are in tables, as another name of the same file where there are links |
//! | 000014.table.kept | a table that was ingested, and is merged since |
//! | NAME.subscriber | the number of the change up to which a subscriber needs nothing any more |
//!
//! The record names a file before the edit of the manifest that makes the file unnecessary, so no crash comes between
//! them. Value files that a kept log points into stay in the manifest.
//!
//! On an object store the manifest has what the record has, files keep their names, and subscribers are objects.

use super::small_file::SmallFile;
use crate::error::{Cause, Error, Result};
use crate::file_format::{CHANGES_MAGIC, SUBSCRIBER_MAGIC};
use crate::io::{ListedFile, Storage};
use crate::lsm::state::entry::{SEQUENCE_MAX, Sequence, put_varint, take_varint};
use crate::lsm::state::version::{KeptChanges, RECORD_NAME, subscriber_file, subscriber_of};
use std::collections::BTreeMap;
use std::io;

const RECORD: SmallFile = SmallFile { magic: &CHANGES_MAGIC };
const SUBSCRIBER: SmallFile = SmallFile { magic: &SUBSCRIBER_MAGIC };

/// The subscribers of a store, each with the number of the change up to which it needs nothing any more. Those whose
/// file is of another store, or damaged, are none: their changes are gone.
///
/// # Errors
/// Errors of the storage.
pub(in crate::lsm) fn subscribers(storage: &dyn Storage, store: u64) -> Result<BTreeMap<String, Sequence>> {
    let mut found = BTreeMap::new();
    let names = match storage.list() {
        // A folder that is gone has none; the next write to the store fails by that.
        Err(Error { cause: Cause::Io(io::ErrorKind::NotFound), .. }) => return Ok(found),
        names => names?,
    };
    for name in names.iter().filter_map(|name| subscriber_of(name)) {
        if let Some(acknowledged) = acknowledged(storage, store, name)? {
            found.insert(name.to_owned(), acknowledged);
        }
    }
    Ok(found)
}

/// As [`subscribers`], for objects as they were listed.
///
/// # Errors
/// Errors of the storage; [`Cause::WrongAnswer`] for answers with other objects than were listed.
pub(in crate::lsm) fn listed_subscribers(
    storage: &dyn Storage,
    store: u64,
    listed: &[ListedFile],
) -> Result<BTreeMap<String, Sequence>> {
    let mut found = BTreeMap::new();
    for (file, read) in listed.iter().zip(storage.read_listed(listed)) {
        let bytes = match read {
            // It was removed meanwhile.
            Err(Error { cause: Cause::Io(io::ErrorKind::NotFound), .. }) => continue,
            read => read?,
        };
        if let (Some(name), Some(acknowledged)) = (subscriber_of(&file.name), decode_subscriber(store, &bytes)) {
            found.insert(name.to_owned(), acknowledged);
        }
    }
    Ok(found)
}

/// The number that the file of a subscriber has.
fn decode_subscriber(store: u64, bytes: &[u8]) -> Option<Sequence> {
    sequence_of(SUBSCRIBER.decode(store, bytes)?)
}

fn sequence_of(body: &[u8]) -> Option<Sequence> {
    take_varint(body, &mut 0).filter(|&sequence| sequence <= SEQUENCE_MAX)
}

/// The number of the change up to which a subscriber needs nothing any more; `None` if there is no such subscriber.
///
/// # Errors
/// Errors of the storage.
pub(in crate::lsm) fn acknowledged(storage: &dyn Storage, store: u64, name: &str) -> Result<Option<Sequence>> {
    let body = SUBSCRIBER.read(storage, &subscriber_file(name), store)?;
    Ok(body.as_deref().and_then(sequence_of))
}

/// Records, durably, up to which change a subscriber needs nothing any more.
///
/// # Errors
/// Errors of the storage.
pub(in crate::lsm) fn acknowledge(storage: &dyn Storage, store: u64, name: &str, sequence: Sequence) -> Result<()> {
    let mut body = Vec::new();
    put_varint(&mut body, sequence);
    SUBSCRIBER.write(storage, &subscriber_file(name), store, &body)
}

/// Removes a subscriber.
///
/// # Errors
/// Errors of the storage.
pub(in crate::lsm) fn remove_subscriber(storage: &dyn Storage, name: &str) -> Result<()> {
    storage.remove(&subscriber_file(name))?;
    storage.sync_directory()
}

impl KeptChanges {
    /// Reads the record of a store. Without one, or with a damaged one, nothing is kept, and followers are told that
    /// the changes that they ask for are gone.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(in crate::lsm) fn read(storage: &dyn Storage, store: u64) -> Result<Self> {
        let body = RECORD.read(storage, RECORD_NAME, store)?;
        Ok(body.and_then(|body| Self::decode(&body)).unwrap_or_default())
    }

    /// Writes the record, durably.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(in crate::lsm) fn write(&self, storage: &dyn Storage, store: u64) -> Result<()> {
        let mut body = Vec::new();
        self.encode(&mut body);
        RECORD.write(storage, RECORD_NAME, store, &body)
    }
}

#[cfg(test)]
mod tests;
