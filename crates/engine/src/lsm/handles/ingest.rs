//! The methods of keyspaces that take in existing tables.

use super::keyspace::Keyspace;
use crate::error::Result;
use crate::io::{LocatedFile, Storage, locate};
use crate::lsm::write::ingest::IngestSummary;
use std::path::Path;
use std::sync::Arc;

impl Keyspace {
    /// Ingests existing tables without rewriting them, atomically: as if one batch had inserted their records. The
    /// files are hard-linked if they are on the same file system, and must not be changed in place afterwards; copied
    /// within the object store if they are in that of the store; otherwise copied through this machine. Paths may be
    /// URLs. If two of the tables contain a key, the later one in the list wins.
    ///
    /// In a keyspace with [indexes](crate::Db::create_index) tables with the entries of the rows are added by the same
    /// step. The rows that are replaced are read for that, and entries that do not fit a part of the memory are sorted
    /// in files of the store's folder, or of the system's temporary one if the store is on an object store. A row that
    /// a unique index does not admit is an error, [`Cause::NotUnique`](crate::Cause::NotUnique), before anything is
    /// added.
    ///
    /// Keys of any type are ingested as their bytes in the table, which keep their order: integers are big-endian.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a table with a duplicate key or a value longer than 1 MiB, or one that
    /// refers to other files; [`Cause::Damaged`](crate::Cause::Damaged) and other errors of
    /// [`Table::open`](crate::Table::open), also for a table whose index does not lead to all its keys;
    /// [`Cause::Memory`](crate::Cause::Memory) if the store's memory has no room for its index; as
    /// [`Keyspace::insert`]. After an error nothing was ingested, with one exception: after an error of the storage on
    /// the manifest, all of the tables may be found when the store is opened again.
    pub fn ingest<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Result<IngestSummary> {
        self.ingest_from(&located(paths)?)
    }

    /// As [`Self::ingest`], but the store takes the files that lie directly below its URL on an object store, as in
    /// `s3://bucket/fruit/part-17.ogive` for the store `s3://bucket/fruit`: they become part of it by reference,
    /// without a copy. Each must be the only one that is written under its name, ever: the store removes it when no
    /// version needs it any more. All other files are ingested as copies, and stay.
    ///
    /// # Errors
    /// As [`Self::ingest`]; [`Cause::Input`](crate::Cause::Input) for a file that belongs to the store already.
    pub fn adopt<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Result<IngestSummary> {
        self.adopt_from(&located(paths)?)
    }

    /// As [`Self::adopt`], for files in any storage.
    ///
    /// # Errors
    /// As [`Self::adopt`].
    pub fn adopt_from(&self, files: &[(Arc<dyn Storage>, String)]) -> Result<IngestSummary> {
        self.core().ingest_files(self.written(), files, true)
    }

    /// Whether [`Self::adopt`] takes a file by reference.
    ///
    /// # Errors
    /// As [`locate`].
    pub fn can_adopt(&self, path: impl AsRef<Path>) -> Result<bool> {
        let LocatedFile { storage, name } = locate(path)?;
        Ok(self.core().adopts(&*storage, &name).is_some())
    }

    /// As [`Self::ingest`], for files in any storage.
    ///
    /// # Errors
    /// As [`Self::ingest`].
    pub fn ingest_from(&self, files: &[(Arc<dyn Storage>, String)]) -> Result<IngestSummary> {
        self.core().ingest_files(self.written(), files, false)
    }
}

fn located<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Vec<(Arc<dyn Storage>, String)>> {
    let located =
        paths.into_iter().map(|path| locate(path.as_ref()).map(|LocatedFile { storage, name }| (storage, name)));
    located.collect()
}
