//! `AsyncDb`, the handle of an open store for asynchronous programs.

use super::async_range::{AsyncRange, Scan};
use super::calls::{AsyncCaller, PoolCaller};
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{CallPool, Place};
use crate::lsm::handles::batch::Batch;
use crate::lsm::handles::db::Db;
use crate::lsm::handles::keyspace::Keyspace;
use crate::lsm::handles::transaction::DbTransaction;
use crate::lsm::state::options::DbOptions;
use std::ops::{Bound, RangeBounds};
use std::path::Path;
use std::sync::Arc;

/// Threads that wait for calls, at most. More commits at a time share a sync of the log, and more cold reads are in
/// flight.
const THREADS_MAX: usize = 32;

/// Keys that are looked up by one call.
const CALL_KEYS: usize = 4096;

/// A store whose calls are futures, on any runtime or none: see [`Db`], which it wraps. It is cheap to clone.
///
/// A lookup that memory answers is ready at once. Other calls wait on threads of the store, at most 32, so that no
/// thread of the runtime is blocked. Dropping a future cancels what has not begun: a call that waits for a thread is
/// not made, and the work of a transaction that was begun is not committed, unless its commit has begun. A commit that
/// has begun completes. Dropping the last handle waits for calls that have begun.
///
/// ```
/// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
/// use ogive::{AsyncDb, DbOptions, Error};
///
/// # async fn example(storage: std::sync::Arc<ogive::io::MemoryStorage>) -> Result<(), Error> {
/// let db = AsyncDb::open(storage, &DbOptions::default()).await?;
/// let fruit = db.run(|db| db.keyspace("fruit")).await?;
/// let mut batch = db.batch();
/// batch.insert(&fruit, "apple", "red").insert(&fruit, "banana", "yellow");
/// db.commit(batch).await?;
/// assert_eq!(db.get(&fruit, "apple").await?.as_deref(), Some(&b"red"[..]));
///
/// let keyspace = fruit.clone();
/// db.transaction(move |tx| {
///     match tx.get(&keyspace, "apple")? {
///         Some(colour) => tx.insert(&keyspace, "cherry", colour),
///         None => Ok::<_, Error>(()),
///     }
/// })
/// .await?;
/// let mut range = db.range::<&str>(&fruit, "b"..);
/// while let Some(record) = range.next().await {
///     let (name, colour) = record?;
///     println!("{} {}", name.escape_ascii(), colour.escape_ascii());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AsyncDb {
    db: Db,
    pool: Arc<CallPool>,
    /// How lookups and scans wait.
    caller: Arc<dyn AsyncCaller>,
    /// Whether they wait on the threads of the pool.
    is_on_threads: bool,
}

impl AsyncDb {
    /// Opens a store, as [`Db::open`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn open(place: impl Into<Place>, options: &DbOptions) -> Result<Self> {
        let (place, options) = (place.into(), options.clone());
        let pool = Arc::new(CallPool::new(THREADS_MAX));
        let db = pool.call(Path::new("a store"), move |_| Db::open(place, &options)).await?;
        Ok(Self::on(db, pool))
    }

    /// The futures of a store that is open: for writing, read-only, or of an object store.
    #[must_use]
    pub fn new(db: Db) -> Self {
        Self::on(db, Arc::new(CallPool::new(THREADS_MAX)))
    }

    fn on(db: Db, pool: Arc<CallPool>) -> Self {
        let caller = PoolCaller { pool: Arc::clone(&pool), path: db.core().path() };
        Self { db, pool, caller: Arc::new(caller), is_on_threads: true }
    }

    /// The same, whose lookups and scans wait as a storage has it.
    #[doc(hidden)]
    #[must_use]
    pub fn read_by(self, caller: Arc<dyn AsyncCaller>) -> Self {
        Self { caller, is_on_threads: false, ..self }
    }

    /// The store, for what waits for nothing. Its own calls wait in the calling thread.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Creates an empty batch, as [`Db::batch`] does.
    #[must_use]
    pub fn batch(&self) -> Batch {
        self.db.batch()
    }

    /// Returns the value of a key, as [`Keyspace::get`] does: at once if it is in memory.
    ///
    /// # Errors
    /// As there.
    pub async fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        if self.is_on_threads
            && let Some(found) = keyspace.get_in_memory(key.as_ref())?
        {
            return Ok(found);
        }
        let (keyspace, key) = (keyspace.clone(), key.as_ref().to_vec());
        self.read(move || keyspace.get(&key)).await
    }

    /// Returns the values of many keys, in their order, as [`Keyspace::multi_get`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn multi_get<K: AsRef<[u8]>>(
        &self,
        keyspace: &Keyspace,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Slice>>> {
        let keys: Vec<Vec<u8>> = keys.into_iter().map(|key| key.as_ref().to_vec()).collect();
        // In key order, each call begins without what the others have read.
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|&one, &other| keys[one].cmp(&keys[other]));
        let mut values = vec![None; keys.len()];
        for places in order.chunks(CALL_KEYS) {
            let keys: Vec<Vec<u8>> = places.iter().map(|&place| keys[place].clone()).collect();
            let keyspace = keyspace.clone();
            let found = self.read(move || keyspace.multi_get(&keys)).await?;
            places.iter().zip(found).for_each(|(&place, value)| values[place] = value);
        }
        Ok(values)
    }

    /// The records of a key range as of now, in ascending order. At most a megabyte of them is read ahead.
    #[must_use]
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, bounds: impl RangeBounds<K>) -> AsyncRange {
        let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        let bounds = (owned(bounds.start_bound()), owned(bounds.end_bound()));
        AsyncRange::new(self.caller.begin(true), Scan::new(self.db.snapshot(), keyspace, bounds))
    }

    /// Commits a batch, as [`Batch::commit`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn commit(&self, batch: Batch) -> Result<()> {
        self.run(move |_| batch.commit()).await
    }

    /// Runs a transaction and commits it, as [`Db::transaction`] does; `work` runs again after a conflict.
    ///
    /// # Errors
    /// As there. A panic of `work` is [`Cause::Input`](crate::Cause::Input), and nothing is committed.
    pub async fn transaction<T, E>(
        &self,
        mut work: impl FnMut(&mut DbTransaction) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let db = self.db.clone();
        let call = self.pool.call(&self.db.core().path(), move |given_up| {
            db.transaction(|transaction| {
                given_up.check()?;
                let done = work(transaction)?;
                given_up.check()?;
                Ok(done)
            })
        });
        call.await
    }

    /// Makes any other calls, on one of the threads: `db.run(|db| db.flush())`.
    ///
    /// # Errors
    /// Those of `work`. A panic is [`Cause::Input`](crate::Cause::Input).
    pub async fn run<T, E>(&self, work: impl FnOnce(&Db) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let db = self.db.clone();
        self.pool.call(&self.db.core().path(), move |_| work(&db)).await
    }

    /// Makes everything durable and closes the store, as [`Db::close`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn close(&self) -> Result<()> {
        self.run(Db::close).await
    }

    /// Makes a call that reads, again if it could not wait.
    async fn read<T: Send + 'static>(&self, mut call: impl FnMut() -> Result<T> + Send + 'static) -> Result<T> {
        let found = Arc::new(Mutex::new(None));
        let filled = Arc::clone(&found);
        let attempt = move || {
            *filled.lock() = Some(call()?);
            Ok(())
        };
        self.caller.begin(false).run(Box::new(attempt)).await.1?;
        let found = found.lock().take();
        found.ok_or_else(|| Error::input("a call has ended without an outcome; this is a bug"))
    }
}
