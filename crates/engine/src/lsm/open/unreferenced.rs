//! Unreferenced files: files of a store that its manifest does not name.
//!
//! A crash leaves files with reserved numbers, and logs of openings that the manifest knows; a new such log contains no
//! groups, since a log is named in the manifest before anything is written to it. Any other unreferenced file proves
//! that the manifest is older than the file, or that the file comes from a copy of the store that was written to
//! separately. Its contents may have been acknowledged, so it is never removed.

use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::Storage;
use crate::lsm::core::wal;
use crate::lsm::objects::ObjectFolder;
use crate::lsm::state::tables::table_file::STORE_PROPERTY;
use crate::lsm::state::version::{FileKind, ManifestState, final_name, parse_file_name};
use crate::table::{Table, TableOptions};
use crate::vlog::ValueFile;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;

/// Files of a store's folder that its manifest does not name.
#[derive(Debug, Default)]
pub(crate) struct UnreferencedFiles {
    /// Files that no crash leaves, each with an explanation.
    pub(crate) strays: Vec<StrayFile>,
    /// The end of logs, by number, as stated by the headers of successors that the manifest does not name yet.
    pub(crate) ends: BTreeMap<u64, u64>,
}

/// A file that no crash leaves.
#[derive(Debug)]
pub(crate) struct StrayFile {
    pub(crate) name: String,
    pub(crate) detail: String,
}

impl UnreferencedFiles {
    /// Examines all files that `state` does not name.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn find(storage: &Arc<dyn Storage>, state: &ManifestState) -> Result<Self> {
        Self::find_among(storage, storage.list()?, state)
    }

    /// As [`Self::find`], on an object store. There, a writer that was taken over may still leave new logs without
    /// groups, however late, and files that wait for their removal need no examination.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn find_in_objects(
        storage: &Arc<dyn Storage>,
        objects: &ObjectFolder,
        state: &ManifestState,
    ) -> Result<Self> {
        let is_settled = |name: &String| match parse_file_name(name) {
            Some((number, FileKind::Log)) => number < state.oldest_log && !is_beyond(state, number),
            _ => false,
        };
        let names = storage.list()?.into_iter().filter(|name| !objects.retired.has(name) && !is_settled(name));
        Self::find_among(storage, names.collect(), state)
    }

    /// As [`Self::find`], for some of the files.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn find_among(storage: &Arc<dyn Storage>, names: Vec<String>, state: &ManifestState) -> Result<Self> {
        let tables: BTreeSet<u64> = state.tables().map(|(_, _, table)| table.number).collect();
        let mut unnamed = Self::default();
        for name in names {
            let Some((number, kind)) = parse_file_name(&name) else { continue };
            let is_beyond = is_beyond(state, number);
            let detail = match kind {
                FileKind::Table if is_beyond && !tables.contains(&number) => {
                    is_table_of(storage, &name, state.owner)?.then_some(BEYOND_RESERVED)
                }
                FileKind::Values if is_beyond && !state.value_files.contains_key(&number) => {
                    is_values_of(storage, state.owner, number)?.then_some(BEYOND_RESERVED)
                }
                FileKind::Log if !state.logs.contains(&number) => unnamed.log(&**storage, state, number)?,
                _ => None,
            };
            if let Some(what) = detail {
                unnamed.strays.push(StrayFile { name, detail: format!("{what}, so {WHAT_TO_DO}") });
            }
        }
        Ok(unnamed)
    }

    /// Fails if there are files that no crash leaves.
    ///
    /// # Errors
    /// [`Cause::Damaged`], for the first of them.
    pub(crate) fn check(&self, storage: &dyn Storage) -> Result<()> {
        match self.strays.first() {
            Some(stray) => Err(Error::damaged(storage.path(&stray.name), 0, stray.detail.clone())
                .advise(Advice::Use(Call::RepairStore))),
            None => Ok(()),
        }
    }

    /// The problem with an unreferenced log, if any.
    fn log(&mut self, storage: &dyn Storage, state: &ManifestState, number: u64) -> Result<Option<&'static str>> {
        let Some(header) = wal::header(storage, number)?.filter(|header| header.binding.store == state.owner) else {
            return Ok(None);
        };
        if is_beyond(state, number) {
            return Ok(Some(BEYOND_RESERVED));
        }
        if header.number != number {
            // It was about to be recycled for a new log.
            return Ok(None);
        }
        if !state.knows(header.binding) && !storage.is_object_store() {
            return Ok(Some("an opening of the store that the manifest does not know wrote it"));
        }
        if number >= state.oldest_log && wal::has_groups(storage, header.binding, number)? {
            return Ok(Some("it contains groups, but the manifest does not name it"));
        }
        self.ends.extend(wal::previous(&header).map(|previous| (previous.number, previous.bytes)));
        Ok(None)
    }
}

const BEYOND_RESERVED: &str = "its number is beyond those reserved by the manifest";

const WHAT_TO_DO: &str = "the manifest is outdated, or the file comes from a copy of the store: restore the newest \
                          manifest, remove the file if it is a copy's, or repair the store, which sets the file \
                          aside or rebuilds the store from all files";

/// Whether no file can have this number, according to the manifest.
pub(crate) fn is_beyond(state: &ManifestState, number: u64) -> bool {
    state.reserved > 0 && number >= state.reserved
}

/// Whether a file is a table of the store, or one that it may have ingested.
pub(crate) fn is_table_of(storage: &Arc<dyn Storage>, name: &str, owner: u64) -> Result<bool> {
    match Table::open((Arc::clone(storage), name), &TableOptions::default()) {
        Ok(table) => {
            let identity = table.property(STORE_PROPERTY).and_then(|identity| identity.first_chunk()).copied();
            Ok(identity.is_none_or(|found| u64::from_le_bytes(found) == owner))
        }
        Err(error) => not_ours(error),
    }
}

fn is_values_of(storage: &Arc<dyn Storage>, owner: u64, number: u64) -> Result<bool> {
    match ValueFile::binding_of(&**storage, number) {
        Ok(found) => Ok(found.is_some_and(|binding| binding.store == owner)),
        Err(error) => not_ours(error),
    }
}

/// A file that cannot be identified is not the store's; an I/O error decides nothing.
fn not_ours(error: Error) -> Result<bool> {
    match error.cause {
        Cause::Io(ErrorKind::NotFound | ErrorKind::UnexpectedEof) => Ok(false),
        Cause::Io(_) => Err(error),
        _ => Ok(false),
    }
}

/// The names of files that a crash has left. `young` are value files that entries of logs point into.
pub(crate) fn leftovers(names: Vec<String>, state: &ManifestState, is_young: impl Fn(u64) -> bool) -> Vec<String> {
    let tables: BTreeSet<u64> = state.tables().map(|(_, _, table)| table.number).collect();
    let is_leftover = |name: &String| {
        let stem = final_name(name);
        match parse_file_name(stem) {
            Some((number, _)) if is_beyond(state, number) => false,
            Some((number, FileKind::Table)) => stem != name || !tables.contains(&number),
            Some((number, FileKind::Log)) => !state.logs.contains(&number),
            Some((number, FileKind::Values)) => !state.value_files.contains_key(&number) && !is_young(number),
            _ => false,
        }
    };
    names.into_iter().filter(is_leftover).collect()
}
