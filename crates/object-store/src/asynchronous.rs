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

/// Keys that are looked up in a store at once.
const STORE_BATCH_KEYS: usize = 4_096;

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
        let table = Replay::default().call(|| Table::open((Arc::new(storage.clone()), name), options)).await?;
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
        batches(keys, self.table.batch_keys(), |keys| Replay::default().call(move || self.table.multi_get(&keys))).await
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
        let mut records = self.table.range(owned(&bounds));
        stream(move || records.next())
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
        let db = Replay::default().call(|| Db::open_read_only(Arc::new(storage.clone()), options)).await?;
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
        batches(keys, STORE_BATCH_KEYS, |keys| Replay::default().call(move || keyspace.multi_get(&keys))).await
    }

    /// As [`Keyspace::range`]: records by ascending keys. After an error it ends.
    pub fn range<K: AsRef<[u8]>>(
        &self,
        keyspace: &Keyspace,
        bounds: impl RangeBounds<K>,
    ) -> impl Stream<Item = Result<Record>> + Send + 'static {
        let (keyspace, mut bounds, mut records) = (keyspace.clone(), owned(&bounds), None);
        stream(move || {
            let record = records.get_or_insert_with(|| keyspace.range(bounds.clone())).next()?;
            let owned = record.map(|(key, value)| (key.to_vec(), value.to_vec()));
            match &owned {
                Ok((key, _)) => bounds.0 = Bound::Excluded(key.clone()),
                // It has ended, and begins again behind the last record.
                Err(_) => records = None,
            }
            Some(owned)
        })
    }
}

fn owned<K: AsRef<[u8]>>(bounds: &impl RangeBounds<K>) -> KeyBounds {
    let bound = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
    (bound(bounds.start_bound()), bound(bounds.end_bound()))
}

/// Looks keys up in batches, in their order, so that each batch begins without what the others have read.
async fn batches<'k, V: Clone, F: Future<Output = Result<Vec<Option<V>>>>>(
    keys: &[&'k [u8]],
    batch_keys: usize,
    look_up: impl Fn(Vec<&'k [u8]>) -> F,
) -> Result<Vec<Option<V>>> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&at| keys[at]);
    let mut values = vec![None; keys.len()];
    for places in order.chunks(batch_keys.max(1)) {
        let found = look_up(places.iter().map(|&at| keys[at]).collect()).await?;
        for (&place, value) in places.iter().zip(found) {
            values[place] = value;
        }
    }
    Ok(values)
}

/// A scan by calls for its next record. After an error of a read that waits, a call gives the same record.
struct Scan<N> {
    next: N,
    ready: VecDeque<Record>,
    is_done: bool,
}

impl<N: FnMut() -> Option<Result<Record>>> Scan<N> {
    /// Takes records until there are enough, or a read waits.
    fn pull(&mut self) -> Result<()> {
        while self.ready.len() < SCAN_RECORDS && !self.is_done {
            match (self.next)() {
                None => self.is_done = true,
                Some(record) => self.ready.push_back(record?),
            }
        }
        Ok(())
    }
}

/// The records of a scan as a stream.
fn stream<N>(next: N) -> impl Stream<Item = Result<Record>> + Send + 'static
where
    N: FnMut() -> Option<Result<Record>> + Send + 'static,
{
    let scan = Scan { next, ready: VecDeque::new(), is_done: false };
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
