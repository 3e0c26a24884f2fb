//! Tables and stores for programs that are asynchronous: lookups and scans as futures.
//!
//! The futures may be awaited on any runtime, and cancelled by dropping them, which gives their requests up. A thousand
//! of them need no thousand threads. Requests run on the threads of this crate, as those of plain calls do.

use crate::replay::{Attempted, Replay};
use crate::storage::ObjectStorage;
use futures_util::stream::{Stream, try_unfold};
use ogive::lsm::{AsyncCall, AsyncCaller, CallAttempt, RunningCall};
use ogive::table::{Table, TableOptions};
use ogive::{AsyncDb, Db, DbOptions, Result};
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

/// Opens a store in an object store read-only, as [`Db::open_read_only`] does, whose lookups and scans need no threads:
/// a thousand of them wait for a thousand requests. [`AsyncDb::open`] with the same storage opens it for writing.
///
/// ```
/// # async fn lookups(storage: &ogive_object_store::ObjectStorage) -> ogive::Result<()> {
/// let db = ogive_object_store::open_read_only(storage, &Default::default()).await?;
/// let fruit = db.db().keyspace("fruit")?;
/// let colour = db.get(&fruit, "apple").await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Db::open_read_only`].
pub async fn open_read_only(storage: &ObjectStorage, options: &DbOptions) -> Result<AsyncDb> {
    let db = Replay::default().call(|| Db::open_read_only(Arc::new(storage.clone()), options)).await?;
    Ok(AsyncDb::new(db).read_by(Arc::new(ReplayCaller)))
}

/// Lookups and scans of a store, by replay.
#[derive(Debug)]
struct ReplayCaller;

impl AsyncCaller for ReplayCaller {
    fn begin(&self, is_scan: bool) -> Box<dyn AsyncCall> {
        Box::new(ReplayedCall(if is_scan { Replay::of_scan() } else { Replay::default() }))
    }
}

struct ReplayedCall(Replay);

impl AsyncCall for ReplayedCall {
    fn run(mut self: Box<Self>, mut attempt: CallAttempt) -> RunningCall {
        Box::pin(async move {
            let outcome = loop {
                match self.0.attempt(&mut attempt) {
                    Attempted::Done(outcome) => break outcome,
                    Attempted::Pending => {
                        if let Err(error) = self.0.fetch().await {
                            break Err(error);
                        }
                    }
                }
            };
            (self as Box<dyn AsyncCall>, outcome)
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
