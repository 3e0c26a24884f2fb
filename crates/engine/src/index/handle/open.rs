//! The handle of an open index.

use super::header::IndexHeader;
use super::loader::SortingLoader;
use super::range::IndexRange;
use super::reader::IndexReader;
use super::shared::{IndexShared, check_types, resolve_types};
use super::verify::IndexVerifyReport;
use super::write::WriteTransaction;
use crate::error::{Error, Result};
use crate::index::entries::key::Key;
use crate::index::entries::payload::Payload;
use crate::index::entries::values::ValueForm;
use crate::index::kinds::kind::IndexKind;
use crate::index::options::IndexOptions;
use crate::index::tree::layout::IndexLayout;
use crate::index::tree::structure::{IndexStatistics, IndexVisit};
use crate::io::{LocatedFile, Place, Storage};
use crate::page::{LostLog, PageFile, PageStatistics, Pages};
use crate::types::{KeyType, RecordType};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An ordered index in a file, updated in place. Cheap to clone; clones share the file, and threads may use it
/// concurrently.
///
/// Each read sees the last commit; an [`IndexReader`] keeps seeing the same one. Writes go through a
/// [`WriteTransaction`].
///
/// Values of a type, such as rows, are payloads of bytes, all of one size, that [`Self::encode_value`] makes and
/// [`Self::decode_value`] reads. The file states the type, so that the command and joins read the same fields:
///
/// ```
/// use ogive::index::{Index, IndexOptions};
/// use ogive::types::{RecordType, Value, ValueType};
/// use ogive::{KeyType, MemoryStorage};
///
/// let fruit: ValueType = "{name: text, price: decimal(8,2)?}".parse()?;
/// let types = RecordType::new(KeyType::U64, fruit.clone());
/// let options = IndexOptions::default().record_type(types).payload_bytes(40);
/// let index = Index::<u64, Vec<u8>>::create((std::sync::Arc::new(MemoryStorage::new()), "fruit"), &options)?;
///
/// let mut transaction = index.write()?;
/// let fig = fruit.encode(&Value::Tuple(vec![Value::Text("fig".into()), Value::Signed(25)]))?;
/// transaction.insert(7, index.encode_value(&fig)?)?;
/// transaction.commit()?;
///
/// let payload = index.get(7)?.expect("it was inserted");
/// let value = index.decode_value(&payload)?;
/// assert_eq!(fruit.row(&value)?.get("price")?, Value::Signed(25));
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Debug)]
pub struct Index<K: Key, V: Payload> {
    shared: Arc<IndexShared<K>>,
    payload: PhantomData<fn() -> V>,
}

impl<K: Key, V: Payload> Clone for Index<K, V> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), payload: PhantomData }
    }
}

impl<K: Key, V: Payload> Index<K, V> {
    /// Creates an empty index at a [place](Place).
    ///
    /// # Errors
    /// [`crate::Cause::Input`] for invalid options; [`crate::Cause::Io`] of kind `AlreadyExists` if the name
    /// is taken.
    pub fn create(place: impl Into<Place>, options: &IndexOptions) -> Result<Self> {
        let LocatedFile { storage, name } = place.into().file()?;
        let (types, payload_bytes) = resolve_types::<K, V>(options)?;
        let header = IndexHeader::new(options, types, payload_bytes)?;
        let file = PageFile::create(&storage, &name, &options.pages, &header.encode())?;
        Ok(Self::new(storage.path(&name), file, header))
    }

    /// Opens an index for reading and writing, and recovers it if its last writer did not close it. Of the options,
    /// those of [`pages`](IndexOptions::pages) apply; kind, types and layout are read from the file.
    ///
    /// # Errors
    /// [`crate::Cause::WrongType`] if the types of keys or payloads differ; [`crate::Cause::UnregisteredKind`] for a
    /// structure that this program has not registered; [`crate::Cause::NotAnIndex`]; [`crate::Cause::Locked`] while
    /// another handle has it open for writing; [`crate::Cause::Io`], [`crate::Cause::Damaged`].
    pub fn open(place: impl Into<Place>, options: &IndexOptions) -> Result<Self> {
        let LocatedFile { storage, name } = place.into().file()?;
        let file = PageFile::open(&storage, &name, &options.pages)?;
        Self::of_file(&storage, &name, file)
    }

    /// Opens the last commit of an index for reading only, even while this or another process writes to it. The writer
    /// retains that commit while this handle is open; reopen the index to see later commits.
    ///
    /// # Errors
    /// As for [`Self::open`], except `Locked`. [`Self::write`] returns an error.
    pub fn open_read_only(place: impl Into<Place>, options: &IndexOptions) -> Result<Self> {
        let LocatedFile { storage, name } = place.into().file()?;
        let file = PageFile::open_read_only(&storage, &name, &options.pages)?;
        Self::of_file(&storage, &name, file)
    }

    /// Opens an index whose log is lost, which [`Self::open`] refuses: returns its last checkpoint, read-only, and the
    /// damage to the log; `None` if the log is intact. [`Self::verify`] the index before you
    /// [accept](LostLog::accept) the loss, which repairs nothing else.
    ///
    /// # Errors
    /// As for [`Self::open`], for damage to the index itself.
    #[doc(hidden)]
    pub fn without_log(place: impl Into<Place>, options: &IndexOptions) -> Result<Option<(Self, LostLog)>> {
        let LocatedFile { storage, name } = place.into().file()?;
        let Some((file, lost)) = PageFile::without_log(&storage, &name, &options.pages)? else { return Ok(None) };
        Ok(Some((Self::of_file(&storage, &name, file)?, lost)))
    }

    fn of_file(storage: &Arc<dyn Storage>, name: &str, file: PageFile) -> Result<Self> {
        let path = storage.path(name);
        let header = IndexHeader::decode(file.header(), file.snapshot()?.payload_bytes(), &path)?;
        check_types::<K, V>(&header, &path)?;
        Ok(Self::new(path, file, header))
    }

    fn new(path: PathBuf, file: PageFile, header: IndexHeader) -> Self {
        Self { shared: Arc::new(IndexShared::new(path, file, header)), payload: PhantomData }
    }

    /// The structure of the index.
    pub fn kind(&self) -> IndexKind {
        self.shared.header.kind
    }

    /// The type of the keys.
    pub fn key_type(&self) -> KeyType {
        self.shared.header.types.keys
    }

    /// The types of keys and values, and the names of their columns. Values are `bytes` if nothing else was stated.
    pub fn record_type(&self) -> &RecordType {
        &self.shared.header.types
    }

    /// The payload of a value by its bytes, which are those of the index's type of values.
    ///
    /// # Errors
    /// [`crate::Cause::Input`] for a value that is too long, or has another width than all values have.
    pub fn encode_value(&self, value: &[u8]) -> Result<Vec<u8>> {
        self.value_form().payload(value, self.layout().payload_bytes)
    }

    /// The bytes of the value of a payload, in the form of the index's type of values.
    ///
    /// # Errors
    /// [`crate::Cause::Input`] for a payload that no value of the type has, as [`Self::encode_value`] makes
    /// none of a value.
    pub fn decode_value<'a>(&self, payload: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        let types = &self.shared.header.types.values;
        let value = self.value_form().value(payload).filter(|value| types.decode(value).is_ok());
        value.ok_or_else(|| {
            let path = self.shared.path.display();
            Error::input(format!("{path} has values of type {types}; this payload is none of them"))
        })
    }

    pub(crate) fn value_form(&self) -> ValueForm {
        ValueForm::of(&self.shared.header.types.values)
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Whether the name still leads to the file that is open: it was not removed, renamed or replaced.
    pub fn is_in_place(&self) -> bool {
        self.shared.file.is_in_place()
    }

    /// The layout stored in the file.
    pub fn layout(&self) -> IndexLayout {
        self.shared.header.layout
    }

    /// A reader of the last commit.
    ///
    /// # Errors
    /// [`crate::Cause::Poisoned`] after [`Self::close`] of another clone.
    pub fn reader(&self) -> Result<IndexReader<K, V>> {
        IndexReader::new(Arc::clone(&self.shared))
    }

    /// Begins a transaction, after any other one has ended. A thread that has a transaction must not begin a second: it
    /// would deadlock.
    ///
    /// # Errors
    /// [`crate::Cause::Poisoned`] after a failed write or sync; an error of its own if the index is open for reading
    /// only.
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

    /// Like [`Self::bulk_load`], for fallible entries and with a progress observer; see
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

    /// Begins a transaction that inserts entries in any order, sorted within `memory_bytes`, which is at least
    /// [`SortingWriter::MEMORY_BYTES_MIN`](crate::SortingWriter::MEMORY_BYTES_MIN); eight entries are sorted in memory
    /// even if they take more. As [`Self::write`] does, it waits for the running transaction.
    ///
    /// # Errors
    /// As for [`Self::write`]; [`crate::Cause::Input`] for too little memory.
    pub fn sorting_loader(&self, memory_bytes: u64) -> Result<SortingLoader<K, V>> {
        SortingLoader::new(Arc::clone(&self.shared), memory_bytes)
    }

    /// Copies committed pages from the log to the file, as far as readers allow, and truncates the log.
    ///
    /// # Errors
    /// [`crate::Cause::Io`], after which the index rejects further writes.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.file.checkpoint()
    }

    /// Syncs all commits to storage, including those made with weaker durability.
    ///
    /// # Errors
    /// As for [`Self::checkpoint`].
    pub fn sync(&self) -> Result<()> {
        self.shared.file.sync()
    }

    /// Makes a final checkpoint, as dropping the last handle does, and reports its errors. Other clones and
    /// transactions return errors from then on.
    ///
    /// # Errors
    /// As for [`Self::checkpoint`].
    pub fn close(self) -> Result<()> {
        self.shared.file.clone().close()
    }

    /// Statistics of the file: its size, its log, and writes since it was opened.
    pub fn page_statistics(&self) -> PageStatistics {
        self.shared.file.statistics()
    }

    /// [`IndexReader::get`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn get(&self, key: K) -> Result<Option<V>> {
        self.reader()?.get(key)
    }

    /// [`IndexReader::contains_key`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn contains_key(&self, key: K) -> Result<bool> {
        self.reader()?.contains_key(key)
    }

    /// [`IndexReader::multi_get`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn multi_get(&self, keys: &[K]) -> Result<Vec<Option<V>>> {
        self.reader()?.multi_get(keys)
    }

    /// [`IndexReader::get_all`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn get_all(&self, key: K) -> Result<Vec<V>> {
        self.reader()?.get_all(key)
    }

    /// [`IndexReader::range`] at the last commit, which the range retains until it is dropped.
    ///
    /// # Errors
    /// As for [`Self::reader`].
    pub fn range(&self, range: impl RangeBounds<K>) -> Result<IndexRange<K, V>> {
        Ok(self.reader()?.range(range))
    }

    /// All entries at the last commit, in order.
    ///
    /// # Errors
    /// As for [`Self::reader`].
    pub fn iter(&self) -> Result<IndexRange<K, V>> {
        self.range(..)
    }

    /// [`IndexReader::first`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.reader()?.first()
    }

    /// [`IndexReader::last`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn last(&self) -> Result<Option<(K, V)>> {
        self.reader()?.last()
    }

    /// [`IndexReader::len`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn len(&self) -> Result<u64> {
        self.reader()?.len()
    }

    /// [`IndexReader::is_empty`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn is_empty(&self) -> Result<bool> {
        self.reader()?.is_empty()
    }

    /// [`IndexReader::statistics`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn statistics(&self) -> Result<IndexStatistics> {
        self.reader()?.statistics()
    }

    /// [`IndexReader::explain`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn explain(&self, key: K) -> Result<Vec<IndexVisit>> {
        self.reader()?.explain(key)
    }

    /// [`IndexReader::verify`] at the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn verify(&self) -> Result<IndexVerifyReport> {
        self.reader()?.verify()
    }
}
