//! The handle of an open index.

use super::KeyType;
use super::header::Header;
use super::key::Key;
use super::kind::Kind;
use super::options::{IndexLayout, IndexOptions, OpenOptions};
use super::payload::Payload;
use super::range::Range;
use super::reader::Reader;
use super::shared::{Shared, check_types, chosen};
use super::structure::{Statistics, Visit};
use super::verify::VerifyReport;
use super::write::WriteTransaction;
use crate::error::Result;
use crate::io::Storage;
use crate::page::{LostLog, PageFile, PageStatistics, Pages};
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An ordered index in a file, updated in place. Cheap to clone; clones share the file, and all threads may use it at
/// once.
///
/// Each read looks at the last commit; a [`Reader`] keeps looking at one. Writes go through a [`WriteTransaction`].
#[derive(Debug)]
pub struct Index<K: Key, V: Payload> {
    shared: Arc<Shared<K>>,
    payload: PhantomData<fn() -> V>,
}

impl<K: Key, V: Payload> Clone for Index<K, V> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), payload: PhantomData }
    }
}

impl<K: Key, V: Payload> Index<K, V> {
    /// Makes a new, empty index under a name.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] for options that make no sense; [`crate::Error::Io`] of kind `AlreadyExists`
    /// where the name is taken.
    pub fn create(storage: &Arc<dyn Storage>, name: &str, options: &IndexOptions) -> Result<Self> {
        let (key_type, payload_bytes) = chosen::<K, V>(options)?;
        let header = Header::new(options, key_type, payload_bytes)?;
        let file = PageFile::create(storage, name, &options.pages, &header.encode())?;
        Ok(Self::new(storage.path(name), file, header))
    }

    /// Opens an index for reading and writing, and recovers it where its last writer did not close it. Its kind and its
    /// layout are read from the file.
    ///
    /// # Errors
    /// [`crate::Error::WrongType`] for other types of keys or payloads; [`crate::Error::UnregisteredKind`] for a
    /// structure that this program has not registered; [`crate::Error::NotAnIndex`]; [`crate::Error::Locked`] while
    /// another handle has it open for writing; [`crate::Error::Io`], [`crate::Error::Damaged`].
    pub fn open(storage: &Arc<dyn Storage>, name: &str, options: &OpenOptions) -> Result<Self> {
        let file = PageFile::open(storage, name, &options.pages)?;
        Self::of_file(storage, name, file)
    }

    /// Opens an index for reading alone, as its last commit left it, beside a writer in this process or another. The
    /// writer keeps what this handle may read for as long as it is open; to see later commits, open the index again.
    ///
    /// # Errors
    /// As for [`Self::open`], but for the lock. [`Self::write`] is refused.
    pub fn open_read_only(storage: &Arc<dyn Storage>, name: &str, options: &OpenOptions) -> Result<Self> {
        let file = PageFile::open_read_only(storage, name, &options.pages)?;
        Self::of_file(storage, name, file)
    }

    /// Where the log of an index is lost, so that [`Self::open`] refuses it: the index as its last checkpoint left it,
    /// for reading alone, and what is wrong with the log. `None` where it can be opened. [`Self::verify`] it before the
    /// loss is [accepted](LostLog::accept): what it finds is wrong would not become right.
    ///
    /// # Errors
    /// As for [`Self::open`], for all that is wrong with the index itself.
    pub fn without_log(
        storage: &Arc<dyn Storage>,
        name: &str,
        options: &OpenOptions,
    ) -> Result<Option<(Self, LostLog)>> {
        let Some((file, lost)) = PageFile::without_log(storage, name, &options.pages)? else { return Ok(None) };
        Ok(Some((Self::of_file(storage, name, file)?, lost)))
    }

    fn of_file(storage: &Arc<dyn Storage>, name: &str, file: PageFile) -> Result<Self> {
        let path = storage.path(name);
        let header = Header::decode(file.header(), file.snapshot()?.payload_bytes(), &path)?;
        check_types::<K, V>(&header, &path)?;
        Ok(Self::new(path, file, header))
    }

    fn new(path: PathBuf, file: PageFile, header: Header) -> Self {
        Self { shared: Arc::new(Shared::new(path, file, header)), payload: PhantomData }
    }

    /// What the index is made of.
    pub fn kind(&self) -> Kind {
        self.shared.header.kind
    }

    /// The type of its keys.
    pub fn key_type(&self) -> KeyType {
        self.shared.header.key_type
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// What it was told when it was made.
    pub fn layout(&self) -> IndexLayout {
        self.shared.header.layout
    }

    /// The index as the last commit left it, for as long as the reader is held.
    ///
    /// # Errors
    /// [`crate::Error::Poisoned`] after [`Self::close`] of another clone.
    pub fn reader(&self) -> Result<Reader<K, V>> {
        Reader::new(Arc::clone(&self.shared))
    }

    /// Begins a transaction; waits for the end of another one. A thread that has one must not begin a second: it
    /// would wait for itself.
    ///
    /// # Errors
    /// [`crate::Error::Poisoned`] after a failed write or sync, and for an index that was opened for reading alone its
    /// own error.
    pub fn write(&self) -> Result<WriteTransaction<K, V>> {
        WriteTransaction::new(Arc::clone(&self.shared))
    }

    /// Fills an empty index with sorted entries in a transaction of its own; see [`WriteTransaction::bulk_load`].
    ///
    /// # Errors
    /// As for [`WriteTransaction::bulk_load`] and [`WriteTransaction::commit`]; then the index stays empty.
    pub fn bulk_load(&self, entries: impl IntoIterator<Item = (K, V)>) -> Result<u64> {
        self.try_bulk_load(entries.into_iter().map(Ok), &mut |_| Ok(()))
    }

    /// As [`Self::bulk_load`], from entries that may fail and under the eyes of an observer; see
    /// [`WriteTransaction::try_bulk_load`].
    ///
    /// # Errors
    /// As for [`WriteTransaction::try_bulk_load`] and [`WriteTransaction::commit`]; then the index stays empty.
    pub fn try_bulk_load(
        &self,
        entries: impl IntoIterator<Item = Result<(K, V)>>,
        observer: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<u64> {
        let mut transaction = self.write()?;
        let count = transaction.try_bulk_load(entries, observer)?;
        transaction.commit()?;
        Ok(count)
    }

    /// Moves what was committed from the log into the file, as far as readers allow, so that the log can shrink.
    ///
    /// # Errors
    /// [`crate::Error::Io`], after which the index refuses further writes.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.file.checkpoint()
    }

    /// Makes everything that was committed durable, whatever the durability of commits.
    ///
    /// # Errors
    /// As for [`Self::checkpoint`].
    pub fn sync(&self) -> Result<()> {
        self.shared.file.sync()
    }

    /// Makes a last checkpoint, as dropping the last handle does, and tells whether it succeeded. Other clones and
    /// transactions are refused from then on.
    ///
    /// # Errors
    /// As for [`Self::checkpoint`].
    pub fn close(self) -> Result<()> {
        self.shared.file.clone().close()
    }

    /// Counts of the file: its size, its log, what was written since it was opened.
    pub fn page_statistics(&self) -> PageStatistics {
        self.shared.file.statistics()
    }

    /// [`Reader::get`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn get(&self, key: K) -> Result<Option<V>> {
        self.reader()?.get(key)
    }

    /// [`Reader::contains_key`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn contains_key(&self, key: K) -> Result<bool> {
        self.reader()?.contains_key(key)
    }

    /// [`Reader::multi_get`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn multi_get(&self, keys: &[K]) -> Result<Vec<Option<V>>> {
        self.reader()?.multi_get(keys)
    }

    /// [`Reader::get_all`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn get_all(&self, key: K) -> Result<Vec<V>> {
        self.reader()?.get_all(key)
    }

    /// [`Reader::range`] at the last commit, which the range keeps until it is dropped.
    ///
    /// # Errors
    /// As for [`Self::reader`].
    pub fn range(&self, range: impl RangeBounds<K>) -> Result<Range<'static, K, V>> {
        Ok(self.reader()?.range(range))
    }

    /// All entries at the last commit, in order.
    ///
    /// # Errors
    /// As for [`Self::reader`].
    pub fn iter(&self) -> Result<Range<'static, K, V>> {
        self.range(..)
    }

    /// [`Reader::first`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.reader()?.first()
    }

    /// [`Reader::last`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn last(&self) -> Result<Option<(K, V)>> {
        self.reader()?.last()
    }

    /// [`Reader::len`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn len(&self) -> Result<u64> {
        self.reader()?.len()
    }

    /// [`Reader::is_empty`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn is_empty(&self) -> Result<bool> {
        self.reader()?.is_empty()
    }

    /// [`Reader::statistics`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn statistics(&self) -> Result<Statistics> {
        self.reader()?.statistics()
    }

    /// [`Reader::explain`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn explain(&self, key: K) -> Result<Vec<Visit>> {
        self.reader()?.explain(key)
    }

    /// [`Reader::verify`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.reader()?.verify()
    }
}
