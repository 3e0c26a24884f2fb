//! The manifest writer.

use super::record::{self, ClosedLengths, ManifestHeader, ManifestRecordKind, VERSION};
use crate::error::Result;
use crate::io::{Storage, WritableFile};
use crate::lsm::version::edit::ManifestEdit;
use crate::lsm::version::file_names::{FileKind, file_name, parse_file_name};
use crate::lsm::version::state::ManifestState;
use std::sync::Arc;

/// Edits may take so many times what the state took before a new manifest is worth it.
const EDITS_PER_STATE_MAX: u64 = 4;

/// Edits of less than this are never worth it, in bytes.
const EDITS_BYTES_MIN: u64 = 1 << 20;

/// The manifest of an open store, which edits are appended to.
#[derive(Debug)]
pub(crate) struct Manifest {
    file: Box<dyn WritableFile>,
    identity: u64,
    state_end: u64,
    /// Everything before this position is durable.
    synced: u64,
    /// Whether it takes further edits.
    takes_edits: bool,
}

impl Manifest {
    /// Writes a new manifest, which takes the place of all older ones: when this returns it is durable, and they are removed.
    ///
    /// `closed` makes it one that takes no edits.
    ///
    /// # Errors
    /// Those of the storage. It may have its name already then, and the one before counts no more: nothing may be appended to that.
    pub(crate) fn create(
        storage: &Arc<dyn Storage>,
        number: u64,
        state: &ManifestState,
        closed: Option<&ClosedLengths>,
    ) -> Result<Self> {
        let head = ManifestHeader { version: VERSION, bond: state.bond(), number, closed: closed.is_some() };
        let bytes = first_bytes(head, state, closed)?;
        let file = write_new(storage.as_ref(), number, &bytes)?;
        storage.sync_directory()?;
        remove_older(storage.as_ref(), number)?;
        let end = bytes.len() as u64;
        Ok(Self { file, identity: head.identity(), state_end: end, synced: end, takes_edits: true })
    }

    /// Appends an edit, which counts once it is [synced](Self::sync).
    pub(crate) fn append(&mut self, edit: &ManifestEdit) -> Result<()> {
        let mut body = Vec::new();
        edit.encode(&mut body);
        self.append_record(ManifestRecordKind::Edit, &body)
    }

    /// Makes all edits durable.
    ///
    /// # Errors
    /// Those of the storage; the manifest takes nothing more then.
    pub(crate) fn sync(&mut self) -> Result<()> {
        if self.synced == self.file.len() {
            return Ok(());
        }
        self.file.sync()?;
        self.synced = self.file.len();
        // From here on damage of the last edit is told from one that the power interrupted. Where this cannot be written the edits are
        // durable all the same, but the file refuses the next ones.
        self.takes_edits = self.append_record(ManifestRecordKind::Synced, &[]).is_ok();
        Ok(())
    }

    /// Whether a new manifest should take its place: it takes no edits any more, or they have become long.
    pub(crate) fn is_spent(&self) -> bool {
        !self.takes_edits
            || self.file.len() - self.state_end > (self.state_end * EDITS_PER_STATE_MAX).max(EDITS_BYTES_MIN)
    }

    fn append_record(&mut self, kind: ManifestRecordKind, body: &[u8]) -> Result<()> {
        let mut bytes = Vec::new();
        record::encode(&mut bytes, self.identity, self.file.len(), kind, self.synced, body)?;
        self.file.append(&bytes)
    }
}

/// Writes a file of a manifest, durably, and gives it its name.
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
        // Each attempt on a full disk would leave another one. What cannot be removed now is removed when the store is opened again.
        _ = storage.remove(&new_name);
    })
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

/// Removes the manifests before `number`, the oldest first, so that one that is left is never alone.
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
