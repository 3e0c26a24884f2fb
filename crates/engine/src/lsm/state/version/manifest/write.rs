//! The manifest writer.

use super::record::{self, ClosedLengths, ManifestHeader, ManifestRecordKind};
use crate::error::Result;
use crate::io::{Storage, WritableFile};
use crate::lsm::state::version::edit::ManifestEdit;
use crate::lsm::state::version::file_names::{FileKind, file_name, parse_file_name};
use crate::lsm::state::version::state::ManifestState;
use std::sync::Arc;

/// A new manifest is written when the edits exceed this many times the size of the state.
const EDITS_PER_STATE_MAX: u64 = 4;

/// Edits smaller than this never cause a new manifest, in bytes.
const EDITS_BYTES_MIN: u64 = 1 << 20;

/// In an object store, each edit is an object, and a reader reads all of them.
const OBJECT_EDITS_MAX: u64 = 64;

/// The manifest of an open store, to which edits are appended.
#[derive(Debug)]
pub(crate) struct Manifest {
    file: Box<dyn WritableFile>,
    identity: u64,
    /// The format that its header states.
    format: u32,
    state_end: u64,
    /// Everything before this position is durable.
    synced: u64,
    /// Whether it accepts further edits.
    takes_edits: bool,
    /// Number of further edits after which a new manifest should replace it.
    edits_max: u64,
}

impl Manifest {
    /// Writes a new manifest that replaces all older ones; when this returns it is durable, and the older ones are
    /// removed.
    ///
    /// With `closed`, it accepts no edits.
    ///
    /// # Errors
    /// Errors of the storage. The new manifest may already have its name then, so nothing may be appended to the old
    /// one.
    pub(crate) fn create(
        storage: &Arc<dyn Storage>,
        number: u64,
        state: &ManifestState,
        closed: Option<&ClosedLengths>,
    ) -> Result<Self> {
        let head = ManifestHeader { version: state.format, binding: state.binding(), number, closed: closed.is_some() };
        let bytes = first_bytes(head, state, closed)?;
        let file = match storage.is_object_store() {
            true => put_new(storage.as_ref(), number, &bytes)?,
            false => write_new(storage.as_ref(), number, &bytes)?,
        };
        storage.sync_directory()?;
        remove_older(storage.as_ref(), number)?;
        let end = bytes.len() as u64;
        let edits_max = if storage.is_object_store() { OBJECT_EDITS_MAX } else { u64::MAX };
        let identity = head.identity();
        Ok(Self { file, identity, format: state.format, state_end: end, synced: end, takes_edits: true, edits_max })
    }

    /// The bytes of a closed manifest.
    pub(crate) fn closed_bytes(number: u64, state: &ManifestState, lengths: &ClosedLengths) -> Result<Vec<u8>> {
        let head = ManifestHeader { version: state.format, binding: state.binding(), number, closed: true };
        first_bytes(head, state, Some(lengths))
    }

    /// The format that its header states.
    pub(crate) fn format(&self) -> u32 {
        self.format
    }

    /// Appends an edit, which becomes effective when [synced](Self::sync).
    pub(crate) fn append(&mut self, edit: &ManifestEdit) -> Result<()> {
        let mut body = Vec::new();
        edit.encode(&mut body);
        self.append_record(ManifestRecordKind::Edit, &body)
    }

    /// Syncs all edits.
    ///
    /// # Errors
    /// Errors of the storage; the manifest then accepts nothing more.
    pub(crate) fn sync(&mut self) -> Result<()> {
        if self.synced == self.file.len() {
            return Ok(());
        }
        self.file.sync()?;
        self.synced = self.file.len();
        self.edits_max = self.edits_max.saturating_sub(1);
        // This marker lets damage of the last edit be distinguished from an interrupted write. If it cannot be written,
        // the edits are durable, but the file refuses further ones.
        self.takes_edits = self.append_record(ManifestRecordKind::Synced, &[]).is_ok();
        Ok(())
    }

    /// Whether a new manifest should replace it: it refuses further edits, or its edits have grown too long.
    pub(crate) fn is_spent(&self) -> bool {
        !self.takes_edits
            || self.edits_max == 0
            || self.file.len() - self.state_end > (self.state_end * EDITS_PER_STATE_MAX).max(EDITS_BYTES_MIN)
    }

    fn append_record(&mut self, kind: ManifestRecordKind, body: &[u8]) -> Result<()> {
        let mut bytes = Vec::new();
        record::encode(&mut bytes, self.identity, self.file.len(), kind, self.synced, body)?;
        self.file.append(&bytes)
    }
}

/// Writes a manifest file, durably, and renames it to its final name.
fn write_new(storage: &dyn Storage, number: u64, bytes: &[u8]) -> Result<Box<dyn WritableFile>> {
    let new_name = file_name(number, FileKind::NewManifest);
    let write = || {
        let mut file = storage.create(&new_name)?;
        file.append(bytes)?;
        file.sync()?;
        storage.rename(&new_name, &file_name(number, FileKind::Manifest))?;
        Ok(file)
    };
    write().inspect_err(|_| {
        // Each attempt on a full disk would leave another file. One that cannot be removed now is removed at the next
        // opening.
        _ = storage.remove(&new_name);
    })
}

/// Puts a manifest, whose final name must be free.
fn put_new(storage: &dyn Storage, number: u64, bytes: &[u8]) -> Result<Box<dyn WritableFile>> {
    let mut file = storage.create(&file_name(number, FileKind::Manifest))?;
    file.append(bytes)?;
    file.sync()?;
    Ok(file)
}

fn first_bytes(head: ManifestHeader, state: &ManifestState, closed: Option<&ClosedLengths>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    head.encode(&mut bytes);
    let mut body = Vec::new();
    state.as_edit().encode(&mut body);
    let start = bytes.len() as u64;
    record::encode(&mut bytes, head.identity(), start, ManifestRecordKind::State, 0, &body)?;
    if let Some(lengths) = closed {
        let position = bytes.len() as u64;
        record::encode(&mut bytes, head.identity(), position, ManifestRecordKind::Closed, 0, &lengths.encode())?;
    }
    Ok(bytes)
}

/// Removes the manifests before `number`, oldest first, so that no old manifest is ever left as the newest.
fn remove_older(storage: &dyn Storage, number: u64) -> Result<()> {
    let names = storage.list()?;
    let mut older: Vec<(u64, FileKind)> = names
        .iter()
        .filter_map(|name| parse_file_name(name))
        .filter(|&(found, kind)| kind == FileKind::Manifest && found < number)
        .collect();
    older.sort_unstable();
    older.into_iter().try_for_each(|(found, kind)| storage.remove(&file_name(found, kind)))
}
