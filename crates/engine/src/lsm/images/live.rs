//! Images of live stores: a store as it was at one moment, although another process may be writing to it.
//!
//! No lock is taken and nothing is written, so the writer never notices. An image has open handles of the files that
//! the newest manifest names, and the contents of its logs:
//!
//! ```text
//!  1 names      of all files
//!  2 manifest   the newest, read once
//!  3 logs       read completely; then the newest manifest must still need them, since a log that is not needed is
//!               overwritten by the next one, which looks like a torn tail
//!  4 files      tables and value files are opened, and those that the logs point into
//!  5 strays     examined among the names of step 1: whatever they are, the manifest of step 2 is younger
//! ```
//!
//! A file that is missing while the newest manifest names it is missing for good; otherwise the writer has removed it,
//! and the image is begun again with the newer manifest. So the image has everything that was durable before step 2:
//! edits of the manifest are durable before the files that they replace are removed, and a log is named before anything
//! is written to it. The last log may end within a group, as after a crash.
//!
//! Memory: the logs, about as much as the memtables of the writer.

use super::closed_image::ClosedImage;
use crate::error::{Cause, Error, Result};
use crate::io::{FrozenFiles, Storage};
use crate::lsm::core::wal;
use crate::lsm::objects::ObjectFolder;
use crate::lsm::open::log_replay::{LogExtents, replay_extents};
use crate::lsm::open::newest_state::{attempts, changed, is_removal, newest, newest_manifest, objects_of};
use crate::lsm::open::unreferenced::UnreferencedFiles;
use crate::lsm::state::entry::decode_group;
use crate::lsm::state::log_header::log_name;
use crate::lsm::state::version::{ClosedLengths, FileKind, ManifestState, RecoveredManifest, file_name, recover};
use crate::vlog::{ValueFilePointer, values_name};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;

/// Attempts to find the files of a manifest before its writer removes them, at least.
const IMAGE_TRIES_MIN: u32 = 64;

/// A store as it was at one moment.
#[derive(Debug)]
pub(crate) struct StoreImage {
    /// The manifest, and the files that it and its logs name, except for missing ones. Names are those in the store.
    files: Arc<FrozenFiles>,
    /// The manifest.
    pub(crate) recovered: RecoveredManifest,
    /// All names in the folder.
    pub(crate) names: Vec<String>,
    /// The files that the manifest does not name.
    pub(crate) unnamed: UnreferencedFiles,
}

/// The outcome of an attempt.
enum Attempt {
    Taken(Option<Box<StoreImage>>),
    /// The writer was faster.
    Changed,
}

impl StoreImage {
    /// Takes an image of a store that may be open in this process or another; `None` if there is none.
    ///
    /// # Errors
    /// [`Cause::Damaged`] and [`Cause::Version`] for the manifest; an error of kind `ResourceBusy` if files
    /// are removed faster than they can be opened; errors of the storage.
    pub(crate) fn take(storage: &Arc<dyn Storage>) -> Result<Option<Self>> {
        let mut last_error = None;
        for _ in attempts(IMAGE_TRIES_MIN) {
            match Self::try_take(storage) {
                Ok(Attempt::Taken(image)) => return Ok(image.map(|image| *image)),
                Ok(Attempt::Changed) => last_error = None,
                Err(error) if !may_be_a_race(&error) => return Err(error),
                Err(error) => {
                    let text = error.message();
                    // The writer does not cause the same error twice.
                    if last_error.as_ref() == Some(&text) {
                        return Err(error);
                    }
                    last_error = Some(text);
                }
            }
        }
        Err(changed(&**storage))
    }

    fn try_take(storage: &Arc<dyn Storage>) -> Result<Attempt> {
        let objects = objects_of(storage)?;
        match (Self::try_take_from(storage, objects.clone()), objects) {
            (Err(Error { cause: Cause::VersionGone, .. }), Some(objects)) => Err(objects.explain_gone()?),
            (attempt, _) => attempt,
        }
    }

    fn try_take_from(storage: &Arc<dyn Storage>, objects: Option<Arc<ObjectFolder>>) -> Result<Attempt> {
        let place =
            objects.as_ref().map_or_else(|| Arc::clone(storage), |objects| Arc::clone(objects) as Arc<dyn Storage>);
        let mut names = place.list()?;
        let Some(manifest) = newest_manifest(&names) else {
            // Damage, unless a manifest has appeared since.
            return Ok(if recover(&*place)?.is_none() { Attempt::Taken(None) } else { Attempt::Changed });
        };
        let mut files = FrozenFiles::new(&place);
        files.add_content(manifest)?;
        let Some(recovered) = recover(&files)? else { return Ok(Attempt::Changed) };
        let state = &recovered.state;
        if let Some(objects) = &objects {
            objects.check_current(recovered.number, state)?;
            objects.fetch_logs(&state.logs, true)?;
            objects.name_objects(state);
            names = objects.list()?;
        }
        let mut missing = Vec::new();
        for name in state.logs.iter().map(|&number| log_name(number)) {
            note_missing(&mut missing, &name, files.add_content(&name))?;
        }
        if !state.logs.is_empty() && !newest(storage)?.is_some_and(|now| needs_logs_of(&now, state)) {
            return Ok(Attempt::Changed);
        }
        let open =
            |name: &str| objects.as_ref().map_or_else(|| place.open(name), |objects| objects.open_as_listed(name));
        for name in immutable_names(state) {
            let opened = open(&name).map(|file| files.add_immutable(&name, file));
            note_missing(&mut missing, &name, opened)?;
        }
        for name in young_value_files(&files, state)? {
            let opened = open(&name).map(|file| files.add(&name, file));
            note_missing(&mut missing, &name, opened)?;
        }
        if !missing.is_empty() && !newest(storage)?.is_some_and(|now| are_lost(&missing, state, &now)) {
            return Ok(Attempt::Changed);
        }
        objects.map_or(Ok(()), |objects| objects.check_absent_files(&missing))?;
        // On an object store, files wait for their removal, and a writer that was taken over may leave others.
        names.retain(|name| !state.retired.contains_key(name));
        let unnamed = match storage.is_object_store() {
            true => UnreferencedFiles::default(),
            false => unreferenced(storage, &names, state)?,
        };
        Ok(Attempt::Taken(Some(Box::new(Self { files: Arc::new(files), recovered, names, unnamed }))))
    }

    /// Turns the image into one of a closed store: the logs end with their last whole group, the value files with the
    /// last value of these groups, and a closed manifest of an opening of its own states all lengths.
    ///
    /// # Errors
    /// [`Cause::Damaged`] if the logs are damaged, a value file is shorter than the manifest states, or the manifest is
    /// outdated.
    pub(crate) fn close(self) -> Result<ClosedImage> {
        let open = self.storage();
        self.unnamed.check(&*open)?;
        let RecoveredManifest { state, closed, .. } = self.recovered;
        let LogExtents { logs, values } = replay_extents(&open, &state, closed.as_ref(), &self.unnamed)?;
        let mut files = FrozenFiles::new(self.files.place());
        let mut value_files: Vec<(u64, u64)> =
            state.value_files.iter().map(|(&number, file)| (number, file.bytes)).collect();
        for name in immutable_names(&state) {
            files.add_immutable(&name, open.open(&name)?);
        }
        for &(number, end) in &logs {
            files.add_cut(&log_name(number), open.open(&log_name(number))?, end, Vec::new());
        }
        for (handle, end) in values {
            let name = values_name(handle.number);
            let footer = handle.file.footer_at(end)?;
            value_files.push((handle.number, end + footer.len() as u64));
            files.add_cut(&name, open.open(&name)?, end, footer);
        }
        value_files.sort_unstable();
        ClosedImage::close(files, state, ClosedLengths { logs, value_files, ..ClosedLengths::default() })
    }

    /// The files, as a storage.
    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.files) as Arc<dyn Storage>
    }
}

/// Whether a writer may cause an error by removing or overwriting files.
pub(crate) fn may_be_a_race(error: &Error) -> bool {
    match error.cause {
        Cause::Io(kind) => matches!(kind, ErrorKind::NotFound | ErrorKind::UnexpectedEof),
        cause => matches!(cause, Cause::FileReplaced | Cause::VersionGone | Cause::Damaged | Cause::WrongAnswer),
    }
}

/// The names of all files in a folder, also of those that are of another store.
pub(crate) fn all_names(storage: &Arc<dyn Storage>) -> Result<Vec<String>> {
    objects_of(storage)?.map_or_else(|| storage.list(), |objects| objects.all_names())
}

/// Whether all logs of an earlier state are still needed.
fn needs_logs_of(now: &ManifestState, before: &ManifestState) -> bool {
    now.owner == before.owner && before.logs.is_subset(&now.logs)
}

/// The names of tables and complete value files.
fn immutable_names(state: &ManifestState) -> Vec<String> {
    let tables = state.tables().map(|(_, _, table)| file_name(table.number, FileKind::Table));
    tables.chain(state.value_files.keys().map(|&number| values_name(number))).collect()
}

/// The names of the value files that only logs point into.
fn young_value_files(files: &FrozenFiles, state: &ManifestState) -> Result<Vec<String>> {
    let mut numbers = BTreeSet::new();
    for &log in &state.logs {
        wal::recover_groups(files, state.binding_of(log), log, &mut |group, _| {
            for operation in decode_group(group).unwrap_or_default() {
                if let Some((_, pointer)) = operation.pointer(group)
                    && let Some(pointer) = ValueFilePointer::decode(pointer)
                {
                    numbers.insert(pointer.file);
                }
            }
            Ok(true)
        })?;
    }
    Ok(numbers.into_iter().filter(|number| !state.value_files.contains_key(number)).map(values_name).collect())
}

/// Notes a file that does not exist.
fn note_missing(missing: &mut Vec<String>, name: &str, opened: Result<()>) -> Result<()> {
    match opened {
        Err(error) if is_removal(&error) => missing.push(name.to_owned()),
        opened => return opened,
    }
    Ok(())
}

/// The files that the newest manifest names; none if a newer one has just replaced it.
pub(crate) fn named_files(storage: &Arc<dyn Storage>) -> Result<BTreeSet<String>> {
    Ok(newest(storage)?.map(|state| names_in(&state)).unwrap_or_default())
}

/// Whether files that were missing are still part of the store: then no writer has removed them.
fn are_lost(missing: &[String], before: &ManifestState, now: &ManifestState) -> bool {
    let (named, named_before) = (names_in(now), names_in(before));
    // The others are value files that logs point into.
    let is_lost = |name| if named_before.contains(name) { named.contains(name) } else { needs_logs_of(now, before) };
    missing.iter().all(is_lost)
}

/// The files that a manifest names.
fn names_in(state: &ManifestState) -> BTreeSet<String> {
    immutable_names(state).into_iter().chain(state.logs.iter().map(|&log| log_name(log))).collect()
}

/// The files that the manifest does not name.
fn unreferenced(storage: &Arc<dyn Storage>, names: &[String], state: &ManifestState) -> Result<UnreferencedFiles> {
    let mut found = UnreferencedFiles::find_among(storage, names.to_vec(), state)?;
    if !found.strays.is_empty()
        && let Some(now) = newest(storage)?
    {
        // A log may have been named and filled since the manifest was read.
        let strays = found.strays.iter().map(|stray| stray.name.clone()).collect();
        found.strays = UnreferencedFiles::find_among(storage, strays, &now)?.strays;
    }
    Ok(found)
}
