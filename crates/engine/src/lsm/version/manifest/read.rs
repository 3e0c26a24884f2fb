//! The manifest reader.

use super::record::{self, ClosedLengths, ManifestHeader, ManifestRecordKind, UnknownVersion, VERSION};
use crate::error::{Error, Result};
use crate::io::{Purpose, Storage, read_whole};
use crate::lsm::version::edit::ManifestEdit;
use crate::lsm::version::file_names::{FILE_NUMBER_MAX, FileKind, file_name, largest_number, parse_file_name};
use crate::lsm::version::state::ManifestState;
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

/// Reads the newest manifest; `None` if there is no store.
///
/// # Errors
/// [`Error::Damaged`] if the newest manifest is damaged, even if there is an older one, and if there are files of a
/// store but no manifest.
pub(crate) fn recover(storage: &dyn Storage) -> Result<Option<RecoveredManifest>> {
    let names = storage.list()?;
    let files: Vec<(u64, FileKind)> = names.iter().filter_map(|name| parse_file_name(name)).collect();
    let Some(number) = files.iter().filter(|(_, kind)| *kind == FileKind::Manifest).map(|&(number, _)| number).max()
    else {
        // The first manifest is durable before any other file is created.
        return match files.iter().find(|(_, kind)| *kind != FileKind::NewManifest) {
            Some(&(number, kind)) => {
                let path = storage.path(&file_name(number, kind));
                Err(Error::damaged(path, 0, "it belongs to a store whose manifest is missing"))
            }
            None => Ok(None),
        };
    };
    if number >= FILE_NUMBER_MAX {
        let path = storage.path(&file_name(number, FileKind::Manifest));
        return Err(Error::damaged(path, 0, "the file number is invalid"));
    }
    let mut recovered = recover_manifest(storage, number)?;
    let used = largest_number(storage)?;
    let state = &mut recovered.state;
    // Reserved numbers may have been used by files that a crash lost.
    state.next_file = state.next_file.max(state.reserved).max(used.saturating_add(1));
    Ok(Some(recovered))
}

/// Reads a manifest.
///
/// # Errors
/// [`Error::Damaged`]; errors of the storage.
pub(crate) fn recover_manifest(storage: &dyn Storage, number: u64) -> Result<RecoveredManifest> {
    let name = file_name(number, FileKind::Manifest);
    let bytes = read_whole(&*storage.open(&name)?, Purpose::Log)?;
    Parser { bytes: &bytes, path: storage.path(&name), is_whole: storage.has_whole_files() }.parse(number)
}

/// Removes incomplete manifests.
pub(crate) fn remove_leftovers(storage: &dyn Storage) -> Result<()> {
    let names = storage.list()?;
    let is_leftover = |name: &&String| parse_file_name(name).is_some_and(|(_, kind)| kind == FileKind::NewManifest);
    names.iter().filter(is_leftover).try_for_each(|name| storage.remove(name))
}

struct Parser<'a> {
    bytes: &'a [u8],
    path: PathBuf,
    /// Whether no crash can have torn the last edit.
    is_whole: bool,
}

impl Parser<'_> {
    fn parse(&self, number: u64) -> Result<RecoveredManifest> {
        let head = match ManifestHeader::decode(self.bytes, number) {
            Ok(Some(head)) => head,
            Ok(None) => return self.damaged(0, "it does not begin with the header of a manifest"),
            Err(UnknownVersion(found)) => {
                return Err(Error::UnknownVersion { path: self.path.clone(), found, supported: VERSION });
            }
        };
        let (nonce, has_coding) = (head.binding.nonce, head.has_coding());
        let mut state = ManifestState { nonce, has_coding, ..ManifestState::empty(head.binding.store) };
        let end = self.read_state(head, &mut state)?;
        let closed = if head.closed { Some(self.read_closed(head, end)?) } else { None };
        if !head.closed {
            self.read_edits(head, end, &mut state)?;
        }
        Ok(RecoveredManifest { state, number, closed })
    }

    /// Reads the state; returns its end.
    fn read_state(&self, head: ManifestHeader, state: &mut ManifestState) -> Result<usize> {
        let start = head.length();
        match record::decode(self.bytes, head.identity(), start) {
            Some(record) if record.kind == ManifestRecordKind::State => {
                self.change(head, state, record.body, start)?;
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
        while let Some(record) = record::decode(self.bytes, head.identity(), position) {
            match record.kind {
                ManifestRecordKind::Edit => self.change(head, state, record.body, position)?,
                ManifestRecordKind::Synced => {}
                ManifestRecordKind::State | ManifestRecordKind::Closed => {
                    return self.damaged(position, "a record is in the wrong place");
                }
            }
            position += record.length;
        }
        if self.is_whole && position != self.bytes.len() {
            return self.damaged(position, "an edit is damaged");
        }
        if !record::is_torn_tail(self.bytes, head.identity(), position) {
            return self.damaged(position, "an edit is damaged, and a later record states that it was durable");
        }
        Ok(())
    }

    fn change(&self, head: ManifestHeader, state: &mut ManifestState, body: &[u8], position: usize) -> Result<()> {
        let Some(edit) = ManifestEdit::decode(body, head.version) else {
            return self.damaged(position, "an edit is malformed");
        };
        state.change(&edit).map_err(|inconsistent| inconsistent.into_error(&self.path, position as u64))
    }

    fn damaged<T>(&self, position: usize, detail: &str) -> Result<T> {
        Err(Error::damaged(&self.path, position as u64, detail))
    }
}
