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

use super::small_file::SmallFile;
use crate::error::{Cause, Error, Result};
use crate::file_format::{CHANGES_MAGIC, SUBSCRIBER_MAGIC};
use crate::io::Storage;
use crate::lsm::state::entry::{KeyspaceId, SEQUENCE_MAX, Sequence, put_varint, take_varint};
use crate::lsm::state::version::{
    FileKind, ManifestEdit, RECORD_NAME, StatedTypes, kept_name, subscriber_file, subscriber_of,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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

/// The number of the change up to which a subscriber needs nothing any more; `None` if there is no such subscriber.
///
/// # Errors
/// Errors of the storage.
pub(in crate::lsm) fn acknowledged(storage: &dyn Storage, store: u64, name: &str) -> Result<Option<Sequence>> {
    let body = SUBSCRIBER.read(storage, &subscriber_file(name), store)?;
    Ok(body.and_then(|body| take_varint(&body, &mut 0)).filter(|&sequence| sequence <= SEQUENCE_MAX))
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

/// Logs whose entries went into tables together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lsm) struct KeptLogs {
    /// The last operation in them that took place.
    pub(in crate::lsm) last: Sequence,
    /// When they were kept, in seconds since the start of 1970.
    pub(in crate::lsm) since_s: u64,
    /// Bytes that they and the values that they point to take.
    pub(in crate::lsm) bytes: u64,
    /// The logs by number, each with the nonce of the opening that wrote it.
    pub(in crate::lsm) logs: Vec<(u64, u64)>,
    /// The value files that they point into.
    pub(in crate::lsm) values: Vec<u64>,
}

/// A table that was ingested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct KeptTable {
    pub(in crate::lsm) keyspace: KeyspaceId,
    pub(in crate::lsm) number: u64,
    pub(in crate::lsm) bytes: u64,
}

/// A keyspace that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct DroppedKeyspace {
    pub(in crate::lsm) id: KeyspaceId,
    pub(in crate::lsm) name: String,
    pub(in crate::lsm) types: StatedTypes,
}

/// What is kept of the history of a store beside the logs that it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lsm) struct KeptChanges {
    /// Logs, oldest first.
    pub(in crate::lsm) sets: VecDeque<KeptLogs>,
    /// Ingested tables by the number of their change.
    pub(in crate::lsm) tables: BTreeMap<Sequence, KeptTable>,
    /// Dropped keyspaces by the number of the change, with those of the entries of their indexes.
    pub(in crate::lsm) dropped: BTreeMap<Sequence, Vec<DroppedKeyspace>>,
    /// Numbers that no change has, since a write failed: the first and the last of each gap.
    pub(in crate::lsm) gaps: BTreeMap<Sequence, Sequence>,
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

    pub(in crate::lsm) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Forgets the changes up to one; returns whether there were any.
    pub(in crate::lsm) fn forget(&mut self, up_to: Sequence) -> bool {
        let before = (self.sets.len(), self.tables.len(), self.dropped.len(), self.gaps.len());
        self.sets.retain(|set| set.last > up_to);
        self.tables.retain(|&sequence, _| sequence > up_to);
        self.gaps.retain(|_, last| *last > up_to);
        // The logs that are left may write to a keyspace that was dropped later.
        self.dropped.retain(|&sequence, _| sequence > up_to);
        before != (self.sets.len(), self.tables.len(), self.dropped.len(), self.gaps.len())
    }

    /// Forgets the oldest logs, and the changes up to their end, while these files take more than `bytes_max`, or the
    /// logs are kept since before `oldest_s`.
    pub(in crate::lsm) fn forget_beyond(&mut self, bytes_max: u64, oldest_s: u64) {
        let is_beyond = |kept: &Self, set: &KeptLogs| kept.bytes() > bytes_max || set.since_s < oldest_s;
        while let Some(oldest) = self.sets.front().filter(|set| is_beyond(self, set)).map(|set| set.last) {
            self.forget(oldest);
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes_behind(0)
    }

    /// Bytes of the files that are kept for those who need nothing up to a change.
    pub(in crate::lsm) fn bytes_behind(&self, up_to: Sequence) -> u64 {
        let sets = self.sets.iter().filter(|set| set.last > up_to).map(|set| set.bytes);
        let tables = self.tables.iter().filter(|(sequence, _)| **sequence > up_to).map(|(_, table)| table.bytes);
        sets.chain(tables).fold(0, u64::saturating_add)
    }

    /// The logs that are kept.
    pub(in crate::lsm) fn has_log(&self, number: u64) -> bool {
        self.sets.iter().flat_map(|set| &set.logs).any(|(log, _)| *log == number)
    }

    /// Whether kept logs point into a value file.
    pub(in crate::lsm) fn has_values(&self, number: u64) -> bool {
        self.sets.iter().any(|set| set.values.contains(&number))
    }

    /// The names of the files that are kept.
    pub(in crate::lsm) fn file_names(&self) -> BTreeSet<String> {
        let logs = self.sets.iter().flat_map(|set| &set.logs).map(|(number, _)| kept_name(*number, FileKind::Log));
        logs.chain(self.tables.values().map(|table| kept_name(table.number, FileKind::Table))).collect()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.sets.len() as u64);
        for set in &self.sets {
            [set.last, set.since_s, set.bytes].into_iter().for_each(|number| put_varint(out, number));
            put_varint(out, set.logs.len() as u64);
            set.logs.iter().flat_map(|(number, nonce)| [*number, *nonce]).for_each(|number| put_varint(out, number));
            put_varint(out, set.values.len() as u64);
            set.values.iter().for_each(|&number| put_varint(out, number));
        }
        put_varint(out, self.tables.len() as u64);
        for (&sequence, table) in &self.tables {
            let numbers = [sequence, u64::from(table.keyspace), table.number, table.bytes];
            numbers.into_iter().for_each(|number| put_varint(out, number));
        }
        put_varint(out, self.dropped.len() as u64);
        for (&sequence, dropped) in &self.dropped {
            let edit = ManifestEdit {
                keyspaces_created: dropped.iter().map(|of| (of.id, of.name.clone())).collect(),
                types: dropped.iter().map(|of| (of.id, of.types.clone())).collect(),
                ..ManifestEdit::default()
            };
            let mut bytes = Vec::new();
            edit.encode(&mut bytes);
            put_varint(out, sequence);
            put_varint(out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
        put_varint(out, self.gaps.len() as u64);
        self.gaps.iter().flat_map(|(first, last)| [*first, *last]).for_each(|number| put_varint(out, number));
    }

    /// Whether all changes have numbers that changes have.
    fn is_sensible(&self) -> bool {
        let sets = self.sets.iter().map(|set| set.last);
        let others = self.tables.keys().chain(self.dropped.keys()).chain(self.gaps.keys()).chain(self.gaps.values());
        sets.chain(others.copied()).all(|sequence| sequence <= SEQUENCE_MAX)
    }

    /// Decodes a record; `None` if the bytes are not one.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (mut kept, at) = (Self::default(), &mut 0);
        for _ in 0..take_varint(bytes, at)? {
            let [last, since_s, size] = take_numbers(bytes, at)?;
            let mut set = KeptLogs { last, since_s, bytes: size, ..KeptLogs::default() };
            for _ in 0..take_varint(bytes, at)? {
                let [number, nonce] = take_numbers(bytes, at)?;
                set.logs.push((number, nonce));
            }
            for _ in 0..take_varint(bytes, at)? {
                set.values.push(take_varint(bytes, at)?);
            }
            kept.sets.push_back(set);
        }
        for _ in 0..take_varint(bytes, at)? {
            let [sequence, keyspace, number, size] = take_numbers(bytes, at)?;
            let keyspace = KeyspaceId::try_from(keyspace).ok()?;
            kept.tables.insert(sequence, KeptTable { keyspace, number, bytes: size });
        }
        for _ in 0..take_varint(bytes, at)? {
            let [sequence, length] = take_numbers(bytes, at)?;
            let end = at.checked_add(usize::try_from(length).ok()?)?;
            let edit = ManifestEdit::decode(bytes.get(*at..end)?)?;
            *at = end;
            if edit.keyspaces_created.len() != edit.types.len() {
                return None;
            }
            let both = edit.keyspaces_created.into_iter().zip(edit.types);
            let dropped = both.map(|((id, name), (_, types))| DroppedKeyspace { id, name, types });
            kept.dropped.insert(sequence, dropped.collect());
        }
        for _ in 0..take_varint(bytes, at)? {
            let [first, last] = take_numbers(bytes, at)?;
            kept.gaps.insert(first, last);
        }
        (*at == bytes.len() && kept.is_sensible()).then_some(kept)
    }
}

fn take_numbers<const N: usize>(bytes: &[u8], at: &mut usize) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = take_varint(bytes, at)?;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests;
