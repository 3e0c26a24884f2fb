//! The storage traits: a flat directory of named files.

use super::request::{Purpose, ReadRequest, UnreadablePart};
use crate::error::{Cause, Error, Result};
use crate::io::profile::curve::Profile;
use crate::io::reads::read_ahead::{PendingReads, RangeRequest, read_at_once};
use std::any::Any;
use std::fmt::Debug;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A file as a listing shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedFile {
    /// Its name.
    pub name: String,
    /// Its length in bytes; `None` if the listing does not state it.
    pub length_bytes: Option<u64>,
    /// The ETag of its content; `None` if the listing does not state it.
    pub e_tag: Option<String>,
    /// Its time of modification as [`ReadableFile::modified_ns`] states it; listings do not.
    pub modified_ns: Option<u64>,
}

impl ListedFile {
    /// A file of which the name alone is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Whether nothing but its name is known.
    #[must_use]
    pub fn is_named_only(&self) -> bool {
        self.length_bytes.is_none() && self.e_tag.is_none() && self.modified_ns.is_none()
    }

    /// The difference between the file as it was listed and an answer of this length, ETag and time, if there is one.
    /// What either of them does not state is no difference, nor are the quotes of an ETag, which some listings leave
    /// out.
    #[must_use]
    pub fn difference(&self, length_bytes: u64, e_tag: Option<&str>, modified_ns: Option<u64>) -> Option<String> {
        if let Some(listed_bytes) = self.length_bytes.filter(|&listed_bytes| listed_bytes != length_bytes) {
            return Some(format!("the answer has {length_bytes} bytes, and the object had {listed_bytes}"));
        }
        let tags = self.e_tag.as_deref().zip(e_tag);
        if tags.is_some_and(|(listed, found)| bare_tag(listed) != bare_tag(found)) {
            return Some("the answer has another ETag than the object had".to_owned());
        }
        let times = self.modified_ns.zip(modified_ns);
        let differs = times.is_some_and(|(listed, found)| listed != found);
        differs.then(|| "the answer states another time or ETag than the object had".to_owned())
    }

    fn difference_of(&self, file: &dyn ReadableFile) -> Option<String> {
        self.difference(file.len(), None, file.modified_ns())
    }
}

fn bare_tag(e_tag: &str) -> &str {
    e_tag.trim_start_matches("W/").trim_matches('"')
}

/// Most files in one answer to a listing, as S3 and Google Cloud Storage have it. Azure gives five times as many; some
/// servers give fewer.
const LISTED_AT_ONCE: usize = 1000;

/// The files of a folder as they were listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderListing {
    /// The files, sorted by name.
    pub files: Vec<ListedFile>,
    /// Whether all names come from one answer, and so from one moment. A listing of several answers may have some names
    /// from before a change, and others from after it.
    pub is_at_once: bool,
}

impl FolderListing {
    /// A listing of these files, of which nothing is known but how many they are.
    #[must_use]
    pub fn of(files: Vec<ListedFile>) -> Self {
        Self { is_at_once: files.len() < LISTED_AT_ONCE, files }
    }
}

/// Attempts to get an answer that is of what was listed.
const LISTED_TRIES: u32 = 2;

/// Opens a file as it is now in a storage. In an object store, the answer is compared with one to a question of its own
/// about the object, since nothing else is known of it: for files whose content does not tell that it is whole.
///
/// # Errors
/// As [`Storage::open`]; [`Cause::WrongAnswer`] if the two stay different.
pub fn open_compared(storage: &dyn Storage, name: &str) -> Result<Arc<dyn ReadableFile>> {
    let found = if storage.is_object_store() { storage.find_file(name)? } else { None };
    // What is not found is told by the opening.
    found.map_or_else(|| storage.open(name), |found| storage.open_listed(&found))
}

/// Opens a file that should have this length. In an object store, an answer with another one may be wrong: it is
/// compared as by [`open_compared`].
///
/// # Errors
/// As [`open_compared`]; none if the file has another length.
pub(crate) fn open_expected(storage: &dyn Storage, name: &str, length_bytes: u64) -> Result<Arc<dyn ReadableFile>> {
    let opened = storage.open(name)?;
    if opened.len() == length_bytes { Ok(opened) } else { open_compared(storage, name) }
}

/// Opens a file that was listed, once more if the answer is not of what was listed.
pub(in crate::io) fn open_as_listed(
    listed: &ListedFile,
    path: impl Fn(&str) -> PathBuf,
    open: impl Fn(&str) -> Result<Arc<dyn ReadableFile>>,
) -> Result<Arc<dyn ReadableFile>> {
    let mut difference = None;
    for _ in 0..LISTED_TRIES {
        let file = open(&listed.name)?;
        difference = listed.difference_of(&*file);
        if difference.is_none() {
            return Ok(file);
        }
    }
    Err(Error::wrong_answer(path(&listed.name), difference.unwrap_or_default()))
}

/// The outcome of opening a file of which something was known, as a listing is: a wrong answer, unless a look at the
/// file finds that it has changed.
pub(in crate::io) fn opened_as_known(
    opened: Result<Arc<dyn ReadableFile>>,
    known: &ListedFile,
    find: impl FnOnce() -> Result<Option<ListedFile>>,
) -> Result<Arc<dyn ReadableFile>> {
    let error = match opened {
        Err(error @ Error { cause: Cause::WrongAnswer, .. }) => error,
        outcome => return outcome,
    };
    let is_changed = find()?.is_none_or(|now| {
        let length_bytes = now.length_bytes.or(known.length_bytes).unwrap_or(0);
        known.difference(length_bytes, now.e_tag.as_deref(), now.modified_ns).is_some()
    });
    Err(if is_changed { Error::object_changed(error.place(), error.detail()) } else { error })
}

/// Reads a file that was listed, once more if the answer is not of what was listed.
pub(in crate::io) fn read_as_listed(
    listed: &ListedFile,
    path: impl Fn(&str) -> PathBuf,
    read: impl Fn(&str) -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    let mut bytes = read(&listed.name)?;
    if listed.difference(bytes.len() as u64, None, None).is_some() {
        bytes = read(&listed.name)?;
    }
    match listed.difference(bytes.len() as u64, None, None) {
        None => Ok(bytes),
        Some(detail) => Err(Error::wrong_answer(path(&listed.name), detail)),
    }
}

/// A file to be copied by [`Storage::copy_within`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCopy {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub length_bytes: u64,
    /// The name of the copy.
    pub new_name: String,
}

/// A flat directory of named files: the interface through which the engine accesses all data.
///
/// Names are plain file names without separators. All methods may be called from several threads. A file is durable
/// under its name only after both [`WritableFile::sync`] *and* [`Storage::sync_directory`].
///
/// In an *object store* ([`Self::is_object_store`]), files are objects: written once, as a whole, under their final
/// names. A file that was created appears at its first sync, complete and durable, accepts nothing after it, and never
/// appears if it is dropped before. An existing file of the name may be reported as late as by that sync. Objects
/// cannot be appended to, updated in place, renamed or locked: [`Self::open_update`], [`Self::create_update`],
/// [`Self::rename`] and [`Self::lock`] are [`Cause::Unsupported`].
pub trait Storage: Debug + Send + Sync {
    /// Whether files are objects, as described above.
    fn is_object_store(&self) -> bool {
        false
    }

    /// The parts of files that could not be read and were read as zeros: none, except of a [`LenientStorage`].
    ///
    /// [`LenientStorage`]: crate::io::LenientStorage
    fn unreadable(&self) -> Vec<UnreadablePart> {
        Vec::new()
    }

    /// Whether whatever is written at once appears as a whole or not at all, so that no crash leaves a torn file. By
    /// default, in an object store.
    fn has_whole_files(&self) -> bool {
        self.is_object_store()
    }

    /// The performance of the storage, if it is known, for those who open a store in it without stating a profile.
    fn profile(&self) -> Option<&Profile> {
        None
    }

    /// Opens an existing file for reading.
    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>>;

    /// Creates a new, empty file for writing; an existing file is an error of kind `AlreadyExists`.
    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>>;

    /// As [`Self::create`], in an object store, for a file that takes the place of any file of that name when it
    /// appears. Elsewhere a file is replaced by [`Self::rename`].
    ///
    /// # Errors
    /// [`Cause::Unsupported`] if files are not objects.
    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        let hint = "write it under another name, and rename it".to_owned();
        Err(Error::unsupported(self.path(name), "replace at once", hint))
    }

    /// As [`Self::create_replacing`], for a file that takes the place of the one that [`Self::find_file`] has found,
    /// and of no other: where another one has the name when it appears, its sync fails with an error of kind
    /// `AlreadyExists`. The default, and a storage that states nothing by which files are told apart, replaces any.
    ///
    /// # Errors
    /// As [`Self::create_replacing`].
    fn create_in_place_of(&self, found: &ListedFile) -> Result<Box<dyn WritableFile>> {
        self.create_replacing(&found.name)
    }

    /// Writes a file of these bytes, unless there is one of that name. Of several concurrent calls for a name, in any
    /// processes, one succeeds. In an object store the file appears as a whole, and is durable when this returns;
    /// elsewhere it is written as by [`Self::create`] and synced.
    ///
    /// # Errors
    /// An error of kind `AlreadyExists` if there is such a file; storage errors, after which there may be one.
    fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut file = self.create(name)?;
        file.append(bytes)?;
        file.sync()?;
        self.sync_directory()
    }

    /// As [`Self::open`], for a file that was listed: the answer is compared with what the listing says, and asked for
    /// again if it differs. The default compares lengths.
    ///
    /// # Errors
    /// As [`Self::open`]; [`Cause::WrongAnswer`] for a file that stays different.
    fn open_listed(&self, listed: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        open_as_listed(listed, |name| self.path(name), |name| self.open(name))
    }

    /// Opens an existing file whose length is known, so that an object store need not ask for it: what differs from
    /// what is known may be an error of the first read only. The default opens it as any.
    ///
    /// # Errors
    /// As [`Self::open`]; [`Cause::ObjectChanged`] if it is another file now; [`Cause::WrongAnswer`] for an answer that
    /// differs, though the file is as it was.
    fn open_known(&self, known: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        opened_as_known(self.open_listed(known), known, || self.find_file(&known.name))
    }

    /// Reads whole files, as many at a time as the storage serves at once, with one request each where that is
    /// possible. The results are in the order of the names. The default reads one after the other.
    fn read_whole(&self, names: &[String]) -> Vec<Result<Vec<u8>>> {
        names.iter().map(|name| read_whole(&*self.open(name)?, Purpose::Log)).collect()
    }

    /// As [`Self::read_whole`], for files that were listed: each answer is compared with what the listing says, and
    /// asked for again if it differs. The default compares lengths.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`] for a file that stays different.
    fn read_listed(&self, files: &[ListedFile]) -> Vec<Result<Vec<u8>>> {
        let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
        let mut read = self.read_whole(&names);
        for (file, read) in files.iter().zip(&mut read) {
            if matches!(read, Ok(bytes) if file.difference(bytes.len() as u64, None, None).is_some()) {
                *read = read_as_listed(file, |name| self.path(name), |name| read_one(self, name));
            }
        }
        read
    }

    /// Whether [`Self::put_if_absent`] refuses a name that is taken, as it must. `bytes` are those of the file of the
    /// name, so that a storage that ignores the condition changes nothing.
    ///
    /// # Errors
    /// Errors of the storage.
    fn refuses_taken_name(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        match self.put_if_absent(name, bytes) {
            Ok(()) => Ok(false),
            Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Opens an existing file for reading and in-place writing, in one mode (buffered or direct) for both.
    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>>;

    /// Creates a new, empty file, opened as by [`Self::open_update`]; an existing file is an error of kind
    /// `AlreadyExists`.
    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>>;

    /// Renames a file, atomically replacing any file of the new name.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Renames a file, unless there is one of the new name. The default looks for it first; a storage that can do both
    /// in one step does, so that of several concurrent calls one succeeds.
    ///
    /// # Errors
    /// An error of kind `AlreadyExists` if the new name is taken; storage errors.
    fn rename_new(&self, from: &str, to: &str) -> Result<()> {
        if self.exists(to)? {
            return Err(Error::io("create", self.path(to), ErrorKind::AlreadyExists.into()));
        }
        self.rename(from, to)
    }

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<()>;

    /// Whether a file of this name exists.
    fn exists(&self, name: &str) -> Result<bool>;

    /// The names of all files, sorted.
    fn list(&self) -> Result<Vec<String>>;

    /// All files with what the listing says of each. The default knows their names.
    fn list_files(&self) -> Result<FolderListing> {
        Ok(FolderListing::of(self.list()?.into_iter().map(ListedFile::named).collect()))
    }

    /// A file as it is now, in the words of a listing; `None` if there is none. The default opens it for its length.
    fn find_file(&self, name: &str) -> Result<Option<ListedFile>> {
        match self.open(name) {
            Ok(file) => Ok(Some(ListedFile {
                length_bytes: Some(file.len()),
                modified_ns: file.modified_ns(),
                ..ListedFile::named(name)
            })),
            Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The paths of all files of the folder and of its sub-folders, relative to it, with `/` between their parts,
    /// sorted. The default knows of no sub-folders.
    fn list_below(&self) -> Result<Vec<String>> {
        self.list()
    }

    /// Makes creations, renames and removals durable.
    fn sync_directory(&self) -> Result<()>;

    /// Takes an exclusive lock, creating the lock file if necessary; held until the returned guard is dropped.
    ///
    /// # Errors
    /// [`crate::Cause::Locked`] if the lock is held, in this process or another.
    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>>;

    /// The full path of a name, for messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Rejects a file with several names: a symbolic link, or one of several hard links. Used for files whose lock and
    /// log are found by name, and would differ under another name. Only file systems have such names.
    ///
    /// # Errors
    /// [`Cause::OtherNames`].
    fn check_only_name(&self, name: &str) -> Result<()> {
        check_name(name)
    }

    /// The folder of the local file system that holds the files unmodified, if there is one; allows hard links.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// What tells the folder on the local file system from another one at the same path, if there is one.
    fn folder_identity(&self) -> Option<FolderIdentity> {
        None
    }

    /// The object store that holds the files unmodified, as its implementation knows it; allows copies within it, by
    /// requests that move no bytes through this machine.
    fn object_store(&self) -> Option<&dyn Any> {
        None
    }

    /// Copies an immutable file to another storage: as a hard link if both are folders of one file system, by a request
    /// if both are folders of one object store, else as a synced copy. The name becomes durable with the target's
    /// [`Self::sync_directory`].
    ///
    /// # Errors
    /// An error of kind `AlreadyExists` if the new name is taken; storage errors.
    fn export(&self, name: &str, target: &dyn Storage, new_name: &str) -> Result<()> {
        copy_file(&*self.open(name)?, target, new_name)
    }

    /// Copies immutable files to another folder of the same object store, each by a request that moves no bytes through
    /// this machine, as many at a time as the storage serves at once. The results are in the order of the files:
    /// `false` for one that cannot be copied in this way, of which nothing was done. The default copies none.
    ///
    /// A file of the new name is not replaced where the store has a condition for that; elsewhere the caller must know
    /// that the name is free. The copies are not read: who relies on them compares their contents, or their lengths.
    ///
    /// # Errors
    /// An error of kind `AlreadyExists` if the new name is taken; errors of the storage, after which there may be a
    /// copy.
    fn copy_within(&self, files: &[FileCopy], _target: &dyn Storage) -> Vec<Result<bool>> {
        files.iter().map(|_| Ok(false)).collect()
    }
}

/// Removes a file that may be removed concurrently.
pub(crate) fn remove_if_present(storage: &dyn Storage, name: &str) -> Result<()> {
    match storage.remove(name) {
        Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => Ok(()),
        outcome => outcome,
    }
}

/// The error of bytes that fail their checksum, which no cache keeps.
pub(crate) fn spoiled(file: &dyn ReadableFile, offset: u64, detail: impl Into<String>) -> Error {
    file.distrust().unwrap_or_else(|| Error::damaged(file.path(), offset, detail))
}

/// Reads a file completely. Memory: its length.
///
/// # Errors
/// Errors of the storage; [`Cause::Damaged`] for a file that no memory can hold.
pub(crate) fn read_whole(file: &dyn ReadableFile, purpose: Purpose) -> Result<Vec<u8>> {
    let length =
        usize::try_from(file.len()).map_err(|_| Error::damaged(file.path(), 0, "it is too long to be read"))?;
    let mut bytes = vec![0; length];
    file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose })?;
    Ok(bytes)
}

/// Reads a whole file of a storage.
fn read_one<S: Storage + ?Sized>(storage: &S, name: &str) -> Result<Vec<u8>> {
    storage.read_whole(&[name.to_owned()]).pop().unwrap_or_else(|| read_whole(&*storage.open(name)?, Purpose::Log))
}

/// Bytes copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// Copies a file to a storage and syncs it; on failure no file is left. For implementations of [`Storage::export`].
///
/// # Errors
/// As [`Storage::export`].
pub fn copy_file(source: &dyn ReadableFile, target: &dyn Storage, new_name: &str) -> Result<()> {
    let mut file = target.create(new_name)?;
    let mut copy = || {
        let mut buffer = Vec::new();
        let mut offset = 0;
        while offset < source.len() {
            buffer.resize((source.len() - offset).min(COPY_BYTES) as usize, 0);
            source.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Walk })?;
            file.append(&buffer)?;
            offset += buffer.len() as u64;
        }
        file.sync()
    };
    let outcome = copy();
    drop(file);
    // An object that was not completed is not there; one of that name is another's.
    if outcome.is_err() && !target.is_object_store() {
        // If the removal fails too, the first error is reported.
        _ = target.remove(new_name);
    }
    outcome
}

/// A file open for reading. Its length does not change while it is open, unless it is an [`UpdatableFile`].
pub trait ReadableFile: Debug + Send + Sync {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether the file is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills the request's buffer; a range past the end of the file is an error of kind `UnexpectedEof`.
    fn read(&self, request: ReadRequest<'_>) -> Result<()>;

    /// Fills several ranges, as many at a time as the storage serves at once; on an error some may have been filled.
    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        requests.into_iter().try_for_each(|request| self.read(request))
    }

    /// Starts to read several ranges, and does not wait for them if the storage can go on without. So ranges of several
    /// files are read at once, and later ones while earlier ones are processed. The default reads them here.
    ///
    /// # Errors
    /// As [`Self::read_many`]; errors of reads that are not waited for are returned by [`PendingReads::wait`].
    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        read_at_once(ranges, |requests| self.read_many(requests))
    }

    /// Modification time when the file was opened, in nanoseconds since the start of 1970; `None` if the storage does
    /// not provide it. Where it provides seconds, the rest may be a digest of what else it says of the file.
    fn modified_ns(&self) -> Option<u64> {
        None
    }

    /// Whether reads bypass the page cache of the operating system.
    fn is_direct(&self) -> bool {
        false
    }

    /// Says that bytes of this file fail their checksum. The answer with them may have been wrong: what a cache of the
    /// storage keeps of the file is dropped, and the next read is one of the file itself. Returns the error that
    /// explains it, where the storage knows that another file has taken the place of this one.
    fn distrust(&self) -> Option<Error> {
        None
    }

    /// Whether the name still leads to this file, as far as the storage can tell.
    fn is_in_place(&self) -> bool {
        true
    }

    /// The full path, for messages.
    fn path(&self) -> &Path;
}

/// A file open for writing. After a failed write or sync every call fails with [`crate::Cause::Poisoned`].
pub trait WritableFile: Debug + Send {
    /// Bytes written so far, by appending or past the end.
    fn len(&self) -> u64;

    /// Whether nothing was written yet.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes `bytes` at the end.
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_at(self.len(), bytes)
    }

    /// Writes `bytes` at `offset`, which must not be past the end.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Makes everything written so far visible to readers that open the file from now on; it need not be durable. The
    /// default does nothing, for implementations that do not buffer writes.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    /// Makes everything written so far durable.
    fn sync(&mut self) -> Result<()>;

    /// The full path, for messages.
    fn path(&self) -> &Path;
}

/// A file open for reading and in-place writing by several threads at once. After a failed write or sync every further
/// one fails with [`crate::Cause::Poisoned`]; reads still work.
///
/// Writes are visible to all later reads through the same file; concurrent writes must not overlap. If the storage
/// writes whole blocks of a device, the file may end with zeros up to the end of the block when it is reopened.
pub trait UpdatableFile: ReadableFile {
    /// Writes `bytes` at `offset`; a gap after the old end is filled with zeros. `purpose` is for meters.
    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()>;

    /// Truncates the file, or extends it with zeros.
    fn set_len(&self, length_bytes: u64) -> Result<()>;

    /// Makes everything written so far durable.
    fn sync(&self) -> Result<()>;

    /// Ends writing, after a sync: from now on the file is only read, and may be closed in between. The default does
    /// nothing, for implementations without limited handles.
    fn finish_writes(&self) {}
}

/// What tells a folder from another one at the same path: its device, its number there, and when it was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderIdentity {
    pub(in crate::io) device: u64,
    pub(in crate::io) number: u64,
    pub(in crate::io) created: Option<SystemTime>,
}

/// A lock that is released when the guard is dropped.
pub trait FileLock: Debug + Send + Sync {
    /// Whether the lock file is still where it was locked. Otherwise the lock protects nothing: the file or its folder
    /// was removed, renamed or replaced. The default is for storages in which that cannot happen.
    fn is_in_place(&self) -> bool {
        true
    }

    /// From now on, while the lock is held, its storage creates, renames and removes no file if the lock is not in
    /// place: [`Cause::Gone`]. The folder may be another one by now. The lock file of a folder then names this process.
    fn guard_folder(&self) {}
}

/// Rejects a name that is not a plain file name, for implementations of [`Storage`].
///
/// # Errors
/// [`Cause::Input`] if `name` is empty, `.`, `..`, or contains a separator or a zero byte.
pub fn check_name(name: &str) -> Result<()> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\\', '\0']) {
        return Err(Error::input(format!(
            "{name:?} is not a plain file name; give one without separators, other than \".\" and \"..\""
        )));
    }
    Ok(())
}

/// Rejects a read past the end of a file of `length_bytes`, for implementations of [`ReadableFile`].
///
/// # Errors
/// [`Cause::Io`] of kind `UnexpectedEof`.
pub fn check_range(path: &Path, length_bytes: u64, request: &ReadRequest<'_>) -> Result<()> {
    check_bounds(path, length_bytes, request.offset, request.buffer.len())
}

/// As [`check_range`], for a range without a buffer.
pub(in crate::io) fn check_bounds(path: &Path, length_bytes: u64, offset: u64, bytes: usize) -> Result<()> {
    match offset.checked_add(bytes as u64) {
        Some(end) if end <= length_bytes => Ok(()),
        _ => Err(Error::io("read", path, ErrorKind::UnexpectedEof.into())),
    }
}

/// Rejects a write that would leave a gap after the end of a file of `length_bytes`, for implementations of
/// [`WritableFile`].
///
/// # Errors
/// [`Cause::Input`] if `offset` is past the end.
pub fn check_write(path: &Path, length_bytes: u64, offset: u64) -> Result<()> {
    if offset <= length_bytes {
        return Ok(());
    }
    Err(Error::input(format!(
        "cannot write at byte {offset} of {}: it has {length_bytes} bytes; write at most at its end",
        path.display()
    )))
}

/// The error of an operation that objects do not have, for implementations of [`Storage`] by object stores.
pub fn not_for_objects(action: &'static str, path: PathBuf) -> Error {
    let hint = "an object is written once, as a whole; keep files that change on a file system".to_owned();
    Error::unsupported(path, action, hint)
}
