//! Storage wrappers: traits for a storage around another that implement only what they change and forward the rest.
//!
//! [`Storage`], [`ReadableFile`] and [`WritableFile`] have no defaults that forward to another implementation, so that
//! no real implementation can omit a method unnoticed. The traits here have such defaults, and every implementor of one
//! of them implements the corresponding storage trait. They omit what no wrapper may change: names, lengths and locks.

use super::request::UnreadablePart;
use super::request::{Purpose, ReadRequest};
use super::traits::{
    FileCopy, FileLock, FolderIdentity, FolderListing, ListedFile, ReadableFile, Storage, UpdatableFile, WritableFile,
    copy_file, open_as_listed, opened_as_known, read_as_listed, read_whole,
};
use crate::error::{Error, Result};
use crate::io::profile::curve::Profile;
use crate::io::reads::read_ahead::{PendingReads, RangeRequest, read_at_once};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A [`Storage`] around another. Methods forward to the inner storage by default.
pub trait StorageWrapper: Debug + Send + Sync {
    /// The inner storage.
    fn inner(&self) -> &dyn Storage;

    /// As [`Storage::unreadable`].
    fn unreadable(&self) -> Vec<UnreadablePart> {
        self.inner().unreadable()
    }

    /// As [`Storage::open`].
    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        self.inner().open(name)
    }

    /// As [`Storage::open_listed`]: through [`Self::open`], so that no read bypasses the wrapper. One that need not see
    /// how a file is opened should forward it, which also compares ETags.
    fn open_listed(&self, listed: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        open_as_listed(listed, |name| self.inner().path(name), |name| self.open(name))
    }

    /// As [`Storage::open_known`]: through [`Self::open_listed`].
    fn open_known(&self, known: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        opened_as_known(self.open_listed(known), known, || self.inner().find_file(&known.name))
    }

    /// As [`Storage::create`].
    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.inner().create(name)
    }

    /// As [`Storage::create_replacing`].
    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.inner().create_replacing(name)
    }

    /// As [`Storage::create_in_place_of`].
    fn create_in_place_of(&self, found: &ListedFile) -> Result<Box<dyn WritableFile>> {
        self.inner().create_in_place_of(found)
    }

    /// As [`Storage::put_if_absent`].
    fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.inner().put_if_absent(name, bytes)
    }

    /// As [`Storage::read_listed`]: file by file through [`Self::open`], so that no read bypasses the wrapper. One that
    /// need not see them should forward them together, which also compares their ETags.
    fn read_listed(&self, files: &[ListedFile]) -> Vec<Result<Vec<u8>>> {
        let read = |name: &str| read_whole(&*self.open(name)?, Purpose::Log);
        files.iter().map(|file| read_as_listed(file, |name| self.inner().path(name), read)).collect()
    }

    /// As [`Storage::open_update`].
    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.inner().open_update(name)
    }

    /// As [`Storage::create_update`].
    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.inner().create_update(name)
    }

    /// As [`Storage::rename`].
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.inner().rename(from, to)
    }

    /// As [`Storage::remove`].
    fn remove(&self, name: &str) -> Result<()> {
        self.inner().remove(name)
    }

    /// As [`Storage::exists`].
    fn exists(&self, name: &str) -> Result<bool> {
        self.inner().exists(name)
    }

    /// As [`Storage::sync_directory`].
    fn sync_directory(&self) -> Result<()> {
        self.inner().sync_directory()
    }

    /// As [`Storage::folder`]. `None` unless the wrapper overrides it: hard links made there would bypass the wrapper.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// As [`Storage::export`]: by reading and writing, so that no byte bypasses the wrapper.
    fn export(&self, name: &str, target: &dyn Storage, new_name: &str) -> Result<()> {
        copy_file(&*self.open(name)?, target, new_name)
    }

    /// As [`Storage::copy_within`]: none, so that no byte bypasses the wrapper.
    fn copy_within(&self, files: &[FileCopy], _target: &dyn Storage) -> Vec<Result<bool>> {
        files.iter().map(|_| Ok(false)).collect()
    }
}

impl<W: StorageWrapper> Storage for W {
    fn is_object_store(&self) -> bool {
        self.inner().is_object_store()
    }

    fn has_whole_files(&self) -> bool {
        self.inner().has_whole_files()
    }

    fn unreadable(&self) -> Vec<UnreadablePart> {
        StorageWrapper::unreadable(self)
    }

    fn profile(&self) -> Option<&Profile> {
        self.inner().profile()
    }

    fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<()> {
        StorageWrapper::put_if_absent(self, name, bytes)
    }

    fn refuses_taken_name(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        self.inner().refuses_taken_name(name, bytes)
    }

    fn read_listed(&self, files: &[ListedFile]) -> Vec<Result<Vec<u8>>> {
        StorageWrapper::read_listed(self, files)
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        StorageWrapper::open(self, name)
    }

    fn open_listed(&self, listed: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        StorageWrapper::open_listed(self, listed)
    }

    fn open_known(&self, known: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        StorageWrapper::open_known(self, known)
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        StorageWrapper::create(self, name)
    }

    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        StorageWrapper::create_replacing(self, name)
    }

    fn create_in_place_of(&self, found: &ListedFile) -> Result<Box<dyn WritableFile>> {
        StorageWrapper::create_in_place_of(self, found)
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        StorageWrapper::open_update(self, name)
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        StorageWrapper::create_update(self, name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        StorageWrapper::rename(self, from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        StorageWrapper::remove(self, name)
    }

    fn exists(&self, name: &str) -> Result<bool> {
        StorageWrapper::exists(self, name)
    }

    fn list(&self) -> Result<Vec<String>> {
        self.inner().list()
    }

    fn list_files(&self) -> Result<FolderListing> {
        self.inner().list_files()
    }

    fn find_file(&self, name: &str) -> Result<Option<ListedFile>> {
        self.inner().find_file(name)
    }

    fn list_below(&self) -> Result<Vec<String>> {
        self.inner().list_below()
    }

    fn sync_directory(&self) -> Result<()> {
        StorageWrapper::sync_directory(self)
    }

    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>> {
        self.inner().lock(name)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inner().path(name)
    }

    fn check_only_name(&self, name: &str) -> Result<()> {
        self.inner().check_only_name(name)
    }

    fn folder(&self) -> Option<&Path> {
        StorageWrapper::folder(self)
    }

    fn folder_identity(&self) -> Option<FolderIdentity> {
        self.inner().folder_identity()
    }

    fn export(&self, name: &str, target: &dyn Storage, new_name: &str) -> Result<()> {
        StorageWrapper::export(self, name, target, new_name)
    }

    fn copy_within(&self, files: &[FileCopy], target: &dyn Storage) -> Vec<Result<bool>> {
        StorageWrapper::copy_within(self, files, target)
    }
}

/// A [`ReadableFile`] around another that changes how it is read.
pub trait ReaderWrapper: Debug + Send + Sync {
    /// The inner file.
    fn inner(&self) -> &dyn ReadableFile;

    /// As [`ReadableFile::read`].
    fn read(&self, request: ReadRequest<'_>) -> Result<()>;

    /// As [`ReadableFile::read_many`]: range by range through [`Self::read`], so that no read bypasses it. A wrapper
    /// that can forward all ranges together should do so.
    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        requests.into_iter().try_for_each(|request| self.read(request))
    }

    /// As [`ReadableFile::start_reads`]: at once, through [`Self::read_many`]. A wrapper that can forward the request,
    /// and see its end, should do so.
    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        read_at_once(ranges, |requests| self.read_many(requests))
    }
}

impl<W: ReaderWrapper> ReadableFile for W {
    fn len(&self) -> u64 {
        self.inner().len()
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        ReaderWrapper::read(self, request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        ReaderWrapper::read_many(self, requests)
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        ReaderWrapper::start_reads(self, ranges)
    }

    fn modified_ns(&self) -> Option<u64> {
        self.inner().modified_ns()
    }

    fn is_direct(&self) -> bool {
        self.inner().is_direct()
    }

    fn distrust(&self) -> Option<Error> {
        self.inner().distrust()
    }

    fn path(&self) -> &Path {
        self.inner().path()
    }
}

/// A [`WritableFile`] around another. Methods forward to the inner file by default.
pub trait WriterWrapper: Debug + Send {
    /// The inner file.
    fn inner(&self) -> &dyn WritableFile;

    /// The inner file, for writing.
    fn inner_mut(&mut self) -> &mut dyn WritableFile;

    /// As [`WritableFile::append`].
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner_mut().append(bytes)
    }

    /// As [`WritableFile::write_at`].
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.inner_mut().write_at(offset, bytes)
    }

    /// As [`WritableFile::flush`].
    fn flush(&mut self) -> Result<()> {
        self.inner_mut().flush()
    }

    /// As [`WritableFile::sync`].
    fn sync(&mut self) -> Result<()> {
        self.inner_mut().sync()
    }
}

impl<W: WriterWrapper> WritableFile for W {
    fn len(&self) -> u64 {
        self.inner().len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        WriterWrapper::append(self, bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        WriterWrapper::write_at(self, offset, bytes)
    }

    fn flush(&mut self) -> Result<()> {
        WriterWrapper::flush(self)
    }

    fn sync(&mut self) -> Result<()> {
        WriterWrapper::sync(self)
    }

    fn path(&self) -> &Path {
        self.inner().path()
    }
}

/// An [`UpdatableFile`] around another, with reads defined by its [`ReaderWrapper`]. Methods forward to the inner file
/// by default.
pub trait UpdaterWrapper: ReaderWrapper {
    /// The inner file.
    fn updatable(&self) -> &dyn UpdatableFile;

    /// As [`UpdatableFile::write_at`].
    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        self.updatable().write_at(offset, bytes, purpose)
    }

    /// As [`UpdatableFile::set_len`].
    fn set_len(&self, length_bytes: u64) -> Result<()> {
        self.updatable().set_len(length_bytes)
    }

    /// As [`UpdatableFile::sync`].
    fn sync(&self) -> Result<()> {
        self.updatable().sync()
    }

    /// As [`UpdatableFile::finish_writes`].
    fn finish_writes(&self) {
        self.updatable().finish_writes();
    }
}

impl<W: UpdaterWrapper> UpdatableFile for W {
    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        UpdaterWrapper::write_at(self, offset, bytes, purpose)
    }

    fn set_len(&self, length_bytes: u64) -> Result<()> {
        UpdaterWrapper::set_len(self, length_bytes)
    }

    fn sync(&self) -> Result<()> {
        UpdaterWrapper::sync(self)
    }

    fn finish_writes(&self) {
        UpdaterWrapper::finish_writes(self);
    }
}
