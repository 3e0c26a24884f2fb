//! Closed images: all files of a store as after a clean close, and copies of them that are stores of their own.
//!
//! The files may be those of an image of a live store, or of a backup.

use super::live::StoreImage;
use crate::block::header::new_nonce;
use crate::error::{Advice, Cause, Error, Result};
use crate::io::{FrozenFiles, ListedFile, Place, Storage, random_u64, remove_if_present};
use crate::lsm::objects::{ObjectFolder, copy_in_the_way};
use crate::lsm::open::folder::NewFolder;
use crate::lsm::open::newest_state::{attempts, changed, is_removal};
use crate::lsm::state::log_header::log_name;
use crate::lsm::state::version::{
    ClosedLengths, FileKind, LOCK_NAME, Manifest, ManifestState, RecoveredManifest, TableFileMeta, file_name,
    parse_file_name, recover,
};
use crate::vlog::values_name;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Attempts to copy a store whose writer removes files that this process had to close, at least.
pub(crate) const COPY_TRIES_MIN: u32 = 8;

/// Copies the file of this name to a storage, durably but for its name.
pub(crate) type CopyFile<'a> = &'a mut dyn FnMut(&str, &dyn Storage) -> Result<()>;

/// All files of a store that was closed cleanly. They do not change.
#[derive(Debug)]
pub(crate) struct ClosedImage {
    /// The files, with the manifest.
    pub(crate) files: Arc<dyn Storage>,
    pub(crate) state: ManifestState,
    /// Number of the manifest; no other file has it or a greater one.
    pub(crate) number: u64,
    pub(crate) lengths: ClosedLengths,
}

impl ClosedImage {
    /// Adds the manifest to files that have the stated lengths.
    pub(in crate::lsm) fn close(
        mut files: FrozenFiles,
        mut state: ManifestState,
        lengths: ClosedLengths,
    ) -> Result<Self> {
        let used = files.list()?.iter().filter_map(|name| parse_file_name(name)).map(|(number, _)| number).max();
        let number = state.next_file.max(used.map_or(0, |number| number + 1));
        state.begin_opening(new_nonce());
        state.next_file = number + 1;
        state.reserved = number + 1;
        state.begin_copy();
        let manifest = Manifest::closed_bytes(number, &state, &lengths)?;
        files.add_bytes(&file_name(number, FileKind::Manifest), manifest);
        Ok(Self { files: Arc::new(files), state, number, lengths })
    }

    /// The image of an open store whose memtables were flushed. The manifest is not among the files.
    pub(super) fn without_logs(files: &Arc<dyn Storage>, mut state: ManifestState, number: u64) -> Self {
        state.next_file = number + 1;
        state.reserved = number + 1;
        state.begin_copy();
        // Logs that the original store goes on with must not be expected in the copy.
        state.drop_logs();
        let value_files = state.value_files.iter().map(|(&number, file)| (number, file.bytes)).collect();
        let lengths = ClosedLengths { value_files, ..ClosedLengths::default() };
        Self { files: Arc::clone(files), state, number, lengths }
    }

    /// The image whose files a storage has.
    ///
    /// # Errors
    /// [`Cause::Damaged`] and [`Cause::Version`] for the manifest; errors of the storage.
    pub(crate) fn open(files: Arc<dyn Storage>) -> Result<Self> {
        match recover(&*files)? {
            Some(RecoveredManifest { state, number, closed: Some(lengths) }) => {
                Ok(Self { files, state, number, lengths })
            }
            _ => Err(Error::damaged(files.path(""), 0, "it contains no manifest of a closed store")),
        }
    }

    /// The name of the manifest.
    pub(crate) fn manifest_name(&self) -> String {
        file_name(self.number, FileKind::Manifest)
    }

    /// The names of the other files: tables, value files and logs.
    pub(crate) fn data_names(&self) -> Vec<String> {
        self.data_files().into_iter().map(|(name, _)| name).collect()
    }

    /// These files with their lengths.
    fn data_files(&self) -> Vec<(String, u64)> {
        let table = |table: &TableFileMeta| (file_name(table.number, FileKind::Table), table.bytes);
        let mut files: Vec<(String, u64)> = self.state.tables().map(|(_, _, meta)| table(meta)).collect();
        files.extend(self.state.value_files.iter().map(|(&number, file)| (values_name(number), file.bytes)));
        let is_young = |number: u64| !self.state.value_files.contains_key(&number);
        let values = self.lengths.value_files.iter().filter(|(number, _)| is_young(*number));
        files.extend(values.map(|&(number, bytes)| (values_name(number), bytes)));
        files.extend(self.lengths.logs.iter().map(|&(number, bytes)| (log_name(number), bytes)));
        files
    }

    /// Copies the files to a storage as a store of its own, which is complete when this returns; after an error,
    /// nothing of it is left. If an object store was emptied meanwhile, nothing is removed there: what is there now may
    /// be of a store that was made since.
    ///
    /// # Errors
    /// An error of kind `AlreadyExists` if the target contains a store; [`Cause::Locked`]; errors of the storages.
    pub(crate) fn copy_to(&self, target: &Arc<dyn Storage>, copy: CopyFile<'_>) -> Result<()> {
        if target.is_object_store() {
            let claim = CopyClaim::take(target)?;
            let folder = Arc::new(ObjectFolder::new(Arc::clone(target), self.state.owner));
            let place = Arc::clone(&folder) as Arc<dyn Storage>;
            refuse_store(&*place)?;
            // A copy with that manifest needs no stub.
            let has_stub = self.number != ObjectFolder::FIRST_MANIFEST;
            if has_stub {
                folder.begin_copy(self.state.owner)?;
            }
            let outcome = self.copy_into(&place, copy, &|| claim.is_held());
            if outcome.is_err() && claim.is_held() {
                // The first error is the useful one.
                _ = folder.collect(self.state.owner, None, |_| false, |_| Ok(BTreeSet::new()));
                if has_stub {
                    folder.end_failed_copy();
                }
            }
            return outcome;
        }
        let _lock = target.lock(LOCK_NAME)?;
        self.copy_into(target, copy, &|| true)
    }

    /// As [`Self::copy_to`], into a storage in which no other store is created while `is_held`.
    fn copy_into(&self, target: &Arc<dyn Storage>, copy: CopyFile<'_>, is_held: &dyn Fn() -> bool) -> Result<()> {
        refuse_store(&**target)?;
        let mut made = Vec::new();
        let outcome = self.copy_files(target, copy, &mut made);
        if outcome.is_err() && is_held() {
            // The manifest is removed first: a store with missing files would be damaged. Failures to remove are
            // ignored in favour of the first error.
            made.iter().rev().for_each(|name| _ = remove_if_present(&**target, name));
        }
        outcome
    }

    fn copy_files(&self, target: &Arc<dyn Storage>, copy: CopyFile<'_>, made: &mut Vec<String>) -> Result<()> {
        for (name, bytes) in self.data_files() {
            let copied = copy(&name, &**target);
            // A file that is in the way is another one's.
            if !matches!(&copied, Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. })) {
                made.push(name.clone());
            }
            copied?;
            check_copied(&**target, &name, bytes)?;
        }
        target.sync_directory()?;
        let mut state = self.state.clone();
        state.begin_opening(new_nonce());
        made.push(file_name(self.number, FileKind::NewManifest));
        made.push(self.manifest_name());
        Manifest::create(target, self.number, &state, Some(&self.lengths))?;
        let bytes = Manifest::closed_bytes(self.number, &state, &self.lengths)?.len() as u64;
        check_copied(&**target, &self.manifest_name(), bytes)
    }
}

/// Refuses an object store that says that it has stored a file, and has not, or not all of it: a copy is read when it
/// is needed.
///
/// # Errors
/// [`Cause::WrongAnswer`]; errors of the storage.
fn check_copied(target: &dyn Storage, name: &str, length_bytes: u64) -> Result<()> {
    if !target.is_object_store() {
        return Ok(());
    }
    let found = target.find_file(name)?.map(|found| found.length_bytes.unwrap_or(length_bytes));
    if found == Some(length_bytes) {
        return Ok(());
    }
    let has = found.map_or("has none of them".to_owned(), |found| format!("has {found}"));
    let detail = format!("it says that it has stored {length_bytes} bytes, but {has}");
    Err(Error::wrong_answer(target.path(name), detail))
}

/// The right to copy a store into a folder of an object store, which has no locks: an object that is there while a copy
/// is made. One that a killed copy has left is refused as its files are.
#[derive(Debug)]
struct CopyClaim {
    target: Arc<dyn Storage>,
    nonce: [u8; 8],
}

impl CopyClaim {
    /// # Errors
    /// An error of kind `AlreadyExists` if there is a claim; errors of the storage.
    fn take(target: &Arc<dyn Storage>) -> Result<Self> {
        let nonce = random_u64().to_le_bytes();
        match target.put_if_absent(LOCK_NAME, &nonce) {
            Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }) => {
                Err(copy_in_the_way("copy a store over", &**target))
            }
            outcome => outcome.map(|()| Self { target: Arc::clone(target), nonce }),
        }
    }

    /// Whether the claim is still there. A removal of all objects removes it, too.
    fn is_held(&self) -> bool {
        let found = self.target.read_listed(&[ListedFile::named(LOCK_NAME)]).pop();
        found.is_some_and(|found| found.is_ok_and(|bytes| bytes == self.nonce))
    }
}

impl Drop for CopyClaim {
    fn drop(&mut self) {
        // What cannot be removed is refused by the next copy, as is the store.
        if self.is_held() {
            _ = remove_if_present(&*self.target, LOCK_NAME);
        }
    }
}

/// Refuses a storage that contains files of a store.
fn refuse_store(target: &dyn Storage) -> Result<()> {
    match target.list()?.iter().find(|name| parse_file_name(name).is_some()) {
        Some(name) => Err(Error::io("copy a store over", target.path(name), ErrorKind::AlreadyExists.into())),
        None => Ok(()),
    }
}

/// Fills a new or empty folder, or a storage as it is; after an error, the folder that was made for it is removed.
///
/// # Errors
/// [`Cause::NotAStore`] if the folder contains other files than a store's; errors of `fill`.
pub(crate) fn in_new_folder<T>(place: Place, fill: impl FnOnce(&Arc<dyn Storage>) -> Result<T>) -> Result<T> {
    let is_path = place.path().is_some();
    let storage = place.folder()?;
    let new = storage.folder().filter(|_| is_path).map(NewFolder::make).transpose()?;
    let outcome = fill(&storage);
    if let (Err(_), Some(new)) = (&outcome, new) {
        new.remove();
    }
    outcome
}

/// Creates a consistent copy of a store that may be open in this process or another, in a new or empty folder or in a
/// storage without a store; both are [places](Place). No lock is taken and nothing is written to the store. The copy
/// has everything that was durable before the call, and is an independent store. Tables and complete value files are
/// hard-linked if the folder is on the same file system.
///
/// ```no_run
/// ogive::lsm::checkpoint_store("fruit", "fruit-of-today")?;
/// # Ok::<(), ogive::Error>(())
/// ```
///
/// # Errors
/// [`Cause::NotAStore`] if there is no store, or the folder contains other files; [`Cause::Io`] of kind `AlreadyExists`
/// if the folder contains a store, and of kind `ResourceBusy` if the writer removes files too fast; [`Cause::Damaged`];
/// errors of the storages. After an error, the partial copy is removed.
pub fn checkpoint_store(source: impl Into<Place>, target: impl Into<Place>) -> Result<()> {
    let source = source.into().folder()?;
    in_new_folder(target.into(), |target| copy_store(&source, target))
}

fn copy_store(source: &Arc<dyn Storage>, target: &Arc<dyn Storage>) -> Result<()> {
    for _ in attempts(COPY_TRIES_MIN) {
        let image = closed_image(source)?;
        match image.copy_to(target, &mut |name, target| image.files.export(name, target, name)) {
            Err(error) if is_removal(&error) && !is_in(&error, &**target) => {}
            outcome => return outcome,
        }
    }
    Err(changed(&**source))
}

/// Whether an error is of a file of this storage.
fn is_in(error: &Error, storage: &dyn Storage) -> bool {
    error.io_error().is_some() && error.path().and_then(Path::parent) == storage.path("x").parent()
}

/// The closed image of a store that may be open.
///
/// # Errors
/// [`Cause::NotAStore`] if there is no store; as [`StoreImage::take`] and [`StoreImage::close`].
pub(crate) fn closed_image(source: &Arc<dyn Storage>) -> Result<ClosedImage> {
    match StoreImage::take(source)? {
        Some(image) => image.close(),
        None => Err(no_store(&**source)),
    }
}

/// The error of a folder without a manifest, in which there is at most one of a store whose creation was cut short.
pub(crate) fn no_store(storage: &dyn Storage) -> Error {
    let path: PathBuf = storage.path("x").parent().map(Into::into).unwrap_or_default();
    Error::not_a_store(&path, "it contains no manifest").advise(Advice::Look(path))
}
