//! Tables and stores for programs that are asynchronous: lookups and scans as futures.
//!
//! The futures may be awaited on any runtime, and cancelled by dropping them, which gives their requests up. A thousand
//! of them need no thousand threads. Requests run on the threads of this crate, as those of plain calls do.

use crate::replay::{Attempted, Replay};
use crate::storage::ObjectStorage;
use futures_util::stream::{Stream, try_unfold};
use ogive::table::{Table, TableOptions};
use ogive::{Db, DbOptions, Keyspace, Result, Slice};
use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// Records that a scan takes from the engine in one attempt.
const SCAN_RECORDS: usize = 1_024;

/// A key and its value.
type Record = (Vec<u8>, Vec<u8>);
type KeyBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A table, or an external index with its data, in an object store, read by futures.
///
/// ```
/// # async fn lookups(storage: &ogive_object_store::ObjectStorage) -> ogive::Result<()> {
/// use futures_util::TryStreamExt;
/// use ogive_object_store::AsyncTable;
///
/// let table = AsyncTable::open(storage, "fruit.table", &Default::default()).await?; // one request
/// let (apple, pear) = futures_util::join!(table.get(b"apple"), table.get(b"pear"));
/// let all: Vec<_> = table.range::<&[u8]>(..).try_collect().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AsyncTable {
    table: Arc<Table>,
}

impl AsyncTable {
    /// Opens a table, by one request unless its tail is long.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub async fn open(storage: &ObjectStorage, name: &str, options: &TableOptions) -> Result<Self> {
        let table = Replay::default().call(|| Table::open(Arc::new(storage.clone()), name, options)).await?;
        Ok(Self { table: Arc::new(table) })
    }

    /// The table, for what needs no reads. Its own methods wait in the calling thread.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// As [`Table::get`].
    ///
    /// # Errors
    /// As there.
    pub async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Replay::default().call(|| self.table.get(key)).await
    }

    /// As [`Table::multi_get`]: the reads of all keys are in flight at once.
    ///
    /// # Errors
    /// As there.
    pub async fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        Replay::default().call(|| self.table.multi_get(keys)).await
    }

    /// As [`Table::rank`].
    ///
    /// # Errors
    /// As there.
    pub async fn rank(&self, key: &[u8]) -> Result<u64> {
        Replay::default().call(|| self.table.rank(key)).await
    }

    /// As [`Table::range`]: records by ascending keys. After an error it ends.
    pub fn range<K: AsRef<[u8]>>(
        &self,
        bounds: impl RangeBounds<K>,
    ) -> impl Stream<Item = Result<Record>> + Send + 'static {
        let table = Arc::clone(&self.table);
        stream(Scan::new(move |bounds| table.range(bounds), owned(&bounds)))
    }
}

/// A store in an object store, read by futures, as it was when it was opened.
#[derive(Clone, Debug)]
pub struct AsyncDb {
    db: Db,
}

impl AsyncDb {
    /// Opens a store read-only.
    ///
    /// # Errors
    /// As [`Db::open_read_only`].
    pub async fn open(storage: &ObjectStorage, options: &DbOptions) -> Result<Self> {
        let db = Replay::default().call(|| Db::open_read_only_in(Arc::new(storage.clone()), options)).await?;
        Ok(Self { db })
    }

    /// The store, for what needs no reads. Its own methods wait in the calling thread.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// As [`Keyspace::get`].
    ///
    /// # Errors
    /// As there.
    pub async fn get(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Slice>> {
        Replay::default().call(|| keyspace.get(key)).await
    }

    /// As [`Keyspace::multi_get`]: the reads of all keys are in flight at once.
    ///
    /// # Errors
    /// As there.
    pub async fn multi_get(&self, keyspace: &Keyspace, keys: &[&[u8]]) -> Result<Vec<Option<Slice>>> {
        Replay::default().call(|| keyspace.multi_get(keys)).await
    }

    /// As [`Keyspace::range`]: records by ascending keys. After an error it ends.
    pub fn range<K: AsRef<[u8]>>(
        &self,
        keyspace: &Keyspace,
        bounds: impl RangeBounds<K>,
    ) -> impl Stream<Item = Result<Record>> + Send + 'static {
        let keyspace = keyspace.clone();
        let records = move |bounds: KeyBounds| {
            keyspace.range(bounds).map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())))
        };
        stream(Scan::new(records, owned(&bounds)))
    }
}

fn owned<K: AsRef<[u8]>>(bounds: &impl RangeBounds<K>) -> KeyBounds {
    let bound = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
    (bound(bounds.start_bound()), bound(bounds.end_bound()))
}

/// A scan: an iterator of the engine that is begun again behind its last record whenever it waits.
struct Scan<B, I> {
    begin: B,
    bounds: KeyBounds,
    iterator: Option<I>,
    /// Records of the last key that were passed on, and are skipped when the iterator begins again with that key.
    passed: u64,
    skipped: u64,
    ready: VecDeque<Record>,
    is_done: bool,
}

impl<B: FnMut(KeyBounds) -> I, I: Iterator<Item = Result<Record>>> Scan<B, I> {
    fn new(begin: B, bounds: KeyBounds) -> Self {
        Self { begin, bounds, iterator: None, passed: 0, skipped: 0, ready: VecDeque::new(), is_done: false }
    }

    /// Takes records until there are enough, or the iterator waits.
    fn pull(&mut self) -> Result<()> {
        while self.ready.len() < SCAN_RECORDS && !self.is_done {
            let iterator = match &mut self.iterator {
                Some(iterator) => iterator,
                iterator => {
                    self.skipped = 0;
                    iterator.insert((self.begin)(self.bounds.clone()))
                }
            };
            match iterator.next() {
                None => self.is_done = true,
                Some(Ok(_)) if self.skipped < self.passed => self.skipped += 1,
                Some(Ok(record)) => self.pass(record),
                Some(Err(error)) => {
                    self.iterator = None;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn pass(&mut self, record: Record) {
        let is_same = self.passed > 0 && matches!(&self.bounds.0, Bound::Included(last) if *last == record.0);
        self.passed = if is_same { self.passed + 1 } else { 1 };
        self.skipped = self.passed;
        if !is_same {
            self.bounds.0 = Bound::Included(record.0.clone());
        }
        self.ready.push_back(record);
    }
}

/// The records of a scan as a stream.
fn stream<B, I>(scan: Scan<B, I>) -> impl Stream<Item = Result<Record>> + Send + 'static
where
    B: FnMut(KeyBounds) -> I + Send + 'static,
    I: Iterator<Item = Result<Record>> + Send + 'static,
{
    try_unfold((scan, Replay::of_scan(), false), |(mut scan, mut replay, mut is_waiting)| async move {
        loop {
            if let Some(record) = scan.ready.pop_front() {
                return Ok(Some((record, (scan, replay, is_waiting))));
            }
            if scan.is_done {
                return Ok(None);
            }
            if is_waiting {
                replay.fetch().await?;
            }
            is_waiting = match replay.attempt(|| scan.pull()) {
                Attempted::Done(outcome) => {
                    outcome?;
                    false
                }
                Attempted::Pending => true,
            };
        }
    })
}
