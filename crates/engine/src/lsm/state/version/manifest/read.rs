//! The manifest reader.

use super::record::{
    self, ClosedLengths, HEADER_BYTES, ManifestHeader, ManifestRecordKind, UnknownVersion, readable_format,
};
use crate::error::{Error, Result};
use crate::file_format::check_not_of_development;
use crate::io::{Purpose, ReadRequest, Storage, read_whole};
use crate::lsm::state::version::edit::ManifestEdit;
use crate::lsm::state::version::file_names::{
    FILE_NUMBER_MAX, FileKind, file_name, is_ingestion_sort, largest_number, parse_file_name,
};
use crate::lsm::state::version::state::ManifestState;
use std::path::PathBuf;

/// The contents of a store's manifest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RecoveredManifest {
    /// The state; its next file number is beyond all existing files.
    pub(crate) state: ManifestState,
    /// Number of the manifest.
    pub(crate) number: u64,
    /// The lengths of files, if the store was closed.
    pub(crate) closed: Option<ClosedLengths>,
}

/// A manifest as far as it was read, for a reader that reads on.
#[derive(Clone, Debug)]
pub(crate) struct ReadManifest {
    head: ManifestHeader,
    /// What it states.
    state: ManifestState,
    /// How much of it was read, in bytes.
    pub(crate) bytes: u64,
}

impl ReadManifest {
    pub(crate) fn number(&self) -> u64 {
        self.head.number
    }
}

/// Reads the newest manifest; `None` if there is no store.
///
/// # Errors
/// `Cause::Damaged` if the newest manifest is damaged, even if there is an older one, and if there are files of a
/// store but no manifest.
pub(crate) fn recover(storage: &dyn Storage) -> Result<Option<RecoveredManifest>> {
    Ok(recover_on(storage, None)?.map(|(recovered, _)| recovered))
}

/// As [`recover`], but goes on where the manifest was read before, if it is the same one. Also returns it as it is read
/// now.
///
/// # Errors
/// As [`recover`].
pub(crate) fn recover_on(
    storage: &dyn Storage,
    before: Option<ReadManifest>,
) -> Result<Option<(RecoveredManifest, ReadManifest)>> {
    let names = storage.list()?;
    let files: Vec<(u64, FileKind)> = names.iter().filter_map(|name| parse_file_name(name)).collect();
    let Some(&number) = manifest_numbers(&names).first() else {
        // The first manifest is durable before any other file is created.
        return match files.iter().find(|(_, kind)| *kind != FileKind::NewManifest) {
            Some(&(number, kind)) => {
                let path = storage.path(&file_name(number, kind));
                Err(Error::damaged(path, 0, "it belongs to a store whose manifest is missing"))
            }
            None => Ok(None),
        };
    };
    recover_from(storage, number, before).map(Some)
}

/// The numbers of all manifests, the newest first.
pub(crate) fn manifest_numbers(names: &[String]) -> Vec<u64> {
    let manifests = names.iter().filter_map(|name| match parse_file_name(name) {
        Some((number, FileKind::Manifest)) => Some(number),
        _ => None,
    });
    let mut numbers: Vec<u64> = manifests.collect();
    numbers.sort_unstable_by_key(|&number| std::cmp::Reverse(number));
    numbers
}

/// As [`recover`], but reads the manifest of this number, for repair.
///
/// # Errors
/// As [`recover`].
pub(crate) fn recover_at(storage: &dyn Storage, number: u64) -> Result<RecoveredManifest> {
    recover_from(storage, number, None).map(|(recovered, _)| recovered)
}

fn recover_from(
    storage: &dyn Storage,
    number: u64,
    before: Option<ReadManifest>,
) -> Result<(RecoveredManifest, ReadManifest)> {
    if number >= FILE_NUMBER_MAX {
        let path = storage.path(&file_name(number, FileKind::Manifest));
        return Err(Error::damaged(path, 0, "the file number is invalid"));
    }
    with_free_numbers(storage, number, read(storage, number, before)?)
}

/// What was read of a manifest, with a next file number beyond all files.
fn with_free_numbers(
    storage: &dyn Storage,
    number: u64,
    (read, closed): (ReadManifest, Option<ClosedLengths>),
) -> Result<(RecoveredManifest, ReadManifest)> {
    let used = largest_number(storage)?;
    let mut state = read.state.clone();
    // Reserved numbers may have been used by files that a crash lost.
    state.next_file = state.next_file.max(state.reserved).max(used.saturating_add(1));
    Ok((RecoveredManifest { state, number, closed }, read))
}

/// Reads a manifest.
///
/// # Errors
/// [`Cause::Damaged`](crate::Cause::Damaged); errors of the storage.
pub(crate) fn recover_manifest(storage: &dyn Storage, number: u64) -> Result<RecoveredManifest> {
    let (ReadManifest { state, .. }, closed) = read(storage, number, None)?;
    Ok(RecoveredManifest { state, number, closed })
}

/// The store of a manifest, as its first bytes say.
pub(crate) fn manifest_store(bytes: &[u8], number: u64) -> Option<u64> {
    ManifestHeader::decode(bytes, number).ok()?.map(|head| head.binding.store)
}

/// The digest of the anchor that a closed manifest states; `None` for any other one, and for a damaged one.
pub(crate) fn stated_anchor(bytes: &[u8], number: u64) -> Option<u64> {
    let head = ManifestHeader::decode(bytes, number).ok()?.filter(|head| head.closed)?;
    let state = record::decode(bytes, head.identity(), HEADER_BYTES)?;
    let closed = record::decode(bytes, head.identity(), HEADER_BYTES + state.length)?;
    ClosedLengths::decode(closed.body).filter(|_| closed.kind == ManifestRecordKind::Closed)?.anchor
}

/// As [`recover_at`], for a manifest of which only the version in its header is damaged; `None` for any other.
///
/// # Errors
/// As [`recover_at`], for the rest of the manifest.
pub(crate) fn recover_with_true_version(storage: &dyn Storage, number: u64) -> Result<Option<RecoveredManifest>> {
    let name = file_name(number, FileKind::Manifest);
    let mut bytes = read_whole(&*storage.open(&name)?, Purpose::Log)?;
    let Some(version) = ManifestHeader::true_version(&bytes, number).filter(|_| number < FILE_NUMBER_MAX) else {
        return Ok(None);
    };
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    let (path, is_whole) = (storage.path(&name), storage.has_whole_files());
    let read = Parser { bytes: &bytes, first: 0, path, is_whole }.parse(number)?;
    with_free_numbers(storage, number, read).map(|(recovered, _)| Some(recovered))
}

/// Reads a manifest, or the rest of it.
fn read(
    storage: &dyn Storage,
    number: u64,
    before: Option<ReadManifest>,
) -> Result<(ReadManifest, Option<ClosedLengths>)> {
    let name = file_name(number, FileKind::Manifest);
    let file = storage.open(&name)?;
    let (path, is_whole) = (storage.path(&name), storage.has_whole_files());
    let going_on = before.filter(|before| before.number() == number && !before.head.closed && is_whole);
    let Some(mut read) = going_on else {
        let bytes = read_whole(&*file, Purpose::Log)?;
        return Parser { bytes: &bytes, first: 0, path, is_whole }.parse(number);
    };
    let mut bytes = vec![0; file.len().saturating_sub(read.bytes) as usize];
    file.read(ReadRequest { offset: read.bytes, buffer: &mut bytes, purpose: Purpose::Log })?;
    let first = read.bytes as usize;
    Parser { bytes: &bytes, first, path, is_whole }.read_edits(read.head, first, &mut read.state)?;
    read.bytes = file.len().max(read.bytes);
    Ok((read, None))
}

/// Removes incomplete manifests, and what was sorted for an ingestion.
pub(crate) fn remove_leftovers(storage: &dyn Storage) -> Result<()> {
    let names = storage.list()?;
    let is_manifest = |name: &str| parse_file_name(name).is_some_and(|(_, kind)| kind == FileKind::NewManifest);
    let is_leftover = |name: &&String| is_manifest(name) || is_ingestion_sort(name);
    names.iter().filter(is_leftover).try_for_each(|name| storage.remove(name))
}

struct Parser<'a> {
    /// The file, from the byte `first` on.
    bytes: &'a [u8],
    first: usize,
    path: PathBuf,
    /// Whether no crash can have torn the last edit.
    is_whole: bool,
}

impl Parser<'_> {
    fn parse(&self, number: u64) -> Result<(ReadManifest, Option<ClosedLengths>)> {
        let head = match ManifestHeader::decode(self.bytes, number) {
            Ok(Some(head)) => head,
            Ok(None) => {
                check_not_of_development(&self.path, self.bytes)?;
                return self.damaged(0, "it does not begin with the header of a manifest");
            }
            Err(UnknownVersion(found)) => {
                return Err(Error::version(self.path.clone(), found, readable_format()));
            }
        };
        let (nonce, format) = (head.binding.nonce, head.version);
        let mut state = ManifestState { nonce, format, ..ManifestState::empty(head.binding.store) };
        let end = self.read_state(head, &mut state)?;
        let closed = if head.closed { Some(self.read_closed(head, end)?) } else { None };
        if !head.closed {
            self.read_edits(head, end, &mut state)?;
        }
        Ok((ReadManifest { head, state, bytes: self.bytes.len() as u64 }, closed))
    }

    /// Reads the state; returns its end.
    fn read_state(&self, head: ManifestHeader, state: &mut ManifestState) -> Result<usize> {
        let start = HEADER_BYTES;
        match record::decode(self.bytes, head.identity(), start) {
            Some(record) if record.kind == ManifestRecordKind::State => {
                self.change(state, record.body, start)?;
                Ok(start + record.length)
            }
            _ => self.damaged(start, "the state is damaged"),
        }
    }

    fn read_closed(&self, head: ManifestHeader, position: usize) -> Result<ClosedLengths> {
        let record = record::decode(self.bytes, head.identity(), position);
        match record
            .filter(|record| record.kind == ManifestRecordKind::Closed && position + record.length == self.bytes.len())
        {
            Some(record) => ClosedLengths::decode(record.body)
                .map_or_else(|| self.damaged(position, "the lengths of files are malformed"), Ok),
            None => self.damaged(position, "what follows the state is damaged"),
        }
    }

    /// Applies all edits up to the first that a crash interrupted.
    fn read_edits(&self, head: ManifestHeader, mut position: usize, state: &mut ManifestState) -> Result<()> {
        let record = |position: usize| {
            let bytes = self.bytes.get(position.checked_sub(self.first)?..)?;
            record::decode_at(bytes, head.identity(), position)
        };
        while let Some(record) = record(position) {
            match record.kind {
                ManifestRecordKind::Edit => self.change(state, record.body, position)?,
                ManifestRecordKind::Synced => {}
                ManifestRecordKind::State | ManifestRecordKind::Closed => {
                    return self.damaged(position, "a record is in the wrong place");
                }
            }
            position += record.length;
        }
        if self.is_whole {
            let is_read = position == self.first + self.bytes.len();
            return if is_read { Ok(()) } else { self.damaged(position, "an edit is damaged") };
        }
        if !record::is_torn_tail(self.bytes, head.identity(), position) {
            return self.damaged(position, "an edit is damaged, and a later record states that it was durable");
        }
        Ok(())
    }

    fn change(&self, state: &mut ManifestState, body: &[u8], position: usize) -> Result<()> {
        let Some(edit) = ManifestEdit::decode(body) else {
            return self.damaged(position, "an edit is malformed");
        };
        state.change(&edit).map_err(|inconsistent| inconsistent.into_error(&self.path, position as u64))
    }

    fn damaged<T>(&self, position: usize, detail: &str) -> Result<T> {
        Err(Error::damaged(&self.path, position as u64, detail))
    }
}
