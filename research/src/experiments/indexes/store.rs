//! An index on an observed storage: creation, loading, reading and writing.

use std::cell::Cell;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use ogive::index::{Index, IndexOptions, IndexReader, WriteTransaction};
use ogive::io::{Profile, Storage, Timer};
use ogive::page::PageOptions;

use super::observed::Observed;
use super::touches::Touches;
use crate::workload::{COMMIT_OPERATIONS, Operation, SCAN_ENTRIES};

/// Name of the index in a storage.
pub(crate) const NAME: &str = "index";
/// Keys that are made while the clock of a load stands still: starting and stopping it takes a thousandth of that.
const KEYS_AT_ONCE: usize = 1 << 16;

/// The payload of a key: the key plus one, as in the AULID paper (Section 5.1.2).
pub(crate) fn payload(key: u64) -> u64 {
    key.wrapping_add(1)
}

/// An open index.
#[derive(Debug)]
pub(crate) struct IndexStore {
    pub(crate) storage: Observed,
    pub(crate) index: Index<u64, u64>,
}

impl IndexStore {
    /// Creates an index in `inner` and loads it with sorted keys; returns it with the seconds of the load, including
    /// commit and syncs.
    pub(crate) fn load(
        inner: Arc<dyn Storage>,
        options: &IndexOptions,
        profiles: &[Profile],
        keys: impl IntoIterator<Item = Result<u64>>,
    ) -> Result<(Self, f64)> {
        let page_bytes = options.pages.page_bytes as u64;
        let storage = Observed::new(inner, NAME, page_bytes, profiles);
        let shared: Arc<dyn Storage> = Arc::new(storage.clone());
        // Keys may be generated or read while they are loaded, which is not part of the time.
        let (mut keys, making_s) = (keys.into_iter(), Cell::new(0.0));
        let chunks = std::iter::from_fn(|| {
            let timer = Timer::start();
            let chunk: Vec<Result<u64>> = keys.by_ref().take(KEYS_AT_ONCE).collect();
            making_s.set(making_s.get() + timer.elapsed_s());
            (!chunk.is_empty()).then_some(chunk)
        });
        let timer = Timer::start();
        let index = Index::create((shared.clone(), NAME), options)?;
        let mut failed = None;
        let entries = chunks.flatten().map_while(|key| key.map_err(|error| failed = Some(error)).ok());
        index.bulk_load(entries.map(|key| (key, payload(key))))?;
        if let Some(error) = failed {
            return Err(error);
        }
        Ok((Self { storage, index }, timer.elapsed_s() - making_s.get()))
    }

    /// Reopens the index with other memory.
    pub(crate) fn reopen(self, pages: PageOptions) -> Result<Self> {
        let Self { storage, index } = self;
        drop(index);
        let shared: Arc<dyn Storage> = Arc::new(storage.clone());
        let index = Index::open((shared.clone(), NAME), &IndexOptions::default().pages(pages.clone()))?;
        Ok(Self { storage, index })
    }

    /// Length of the page file after a checkpoint, without the log.
    pub(crate) fn file_bytes(&self) -> Result<u64> {
        self.index.checkpoint()?;
        Ok(Storage::open(&self.storage, NAME)?.len())
    }

    /// The pages touched by each lookup. `present` states whether the keys are present.
    pub(crate) fn watch_gets(&self, keys: &[u64], present: bool) -> Result<Touches> {
        let reader = self.index.reader()?;
        self.watched(keys, |&key| get(&reader, key, present))
    }

    /// The pages touched by each scan of 100 entries.
    pub(crate) fn watch_scans(&self, keys: &[u64]) -> Result<Touches> {
        let reader = self.index.reader()?;
        self.watched(keys, |&key| scan(&reader, key))
    }

    fn watched<T>(&self, operations: &[T], mut run: impl FnMut(&T) -> Result<()>) -> Result<Touches> {
        let mut touches = Touches::default();
        self.storage.watch(true);
        for operation in operations {
            run(operation)?;
            touches.push(self.storage.take_reads());
        }
        self.storage.watch(false);
        Ok(touches)
    }

    /// Runs operations in turn, with a commit after each [`COMMIT_OPERATIONS`] and at the end, and calls `done` for
    /// each with its number. Lookups see the last commit, as those of readers beside a writer do.
    pub(crate) fn drive(
        &self,
        operations: impl IntoIterator<Item = Operation>,
        mut done: impl FnMut(usize),
    ) -> Result<usize> {
        let mut operations = operations.into_iter().peekable();
        let mut count = 0;
        while operations.peek().is_some() {
            let reader = self.index.reader()?;
            let mut transaction = self.index.write()?;
            for _ in 1..COMMIT_OPERATIONS {
                let Some(operation) = operations.next() else { break };
                apply(&reader, &mut transaction, operation)?;
                done(count);
                count += 1;
            }
            let last = operations.next();
            if let Some(operation) = last {
                apply(&reader, &mut transaction, operation)?;
            }
            // A checkpoint of the commit stops at the oldest reader.
            drop(reader);
            transaction.commit()?;
            // The last operation of a batch pays for the commit.
            if last.is_some() {
                done(count);
                count += 1;
            }
        }
        Ok(count)
    }

    /// Runs read-only operations on the last commit.
    pub(crate) fn read(
        &self,
        operations: impl IntoIterator<Item = Operation>,
        mut done: impl FnMut(usize),
    ) -> Result<usize> {
        let reader = self.index.reader()?;
        let mut count = 0;
        for operation in operations {
            match operation {
                Operation::Get(key) => get(&reader, key, true)?,
                Operation::Scan(key) => scan(&reader, key)?,
                Operation::Insert(key) => anyhow::bail!("a read-only run cannot insert key {key}"),
            }
            done(count);
            count += 1;
        }
        Ok(count)
    }
}

fn get(reader: &IndexReader<u64, u64>, key: u64, present: bool) -> Result<()> {
    let (found, expected) = (reader.get(key)?, present.then(|| payload(key)));
    let told = |value: Option<u64>| value.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
    ensure!(found == expected, "a lookup of {key} found {} instead of {}", told(found), told(expected));
    Ok(())
}

/// Scans and checks the entries from a present key on.
fn scan(reader: &IndexReader<u64, u64>, key: u64) -> Result<()> {
    let mut last = None;
    for entry in reader.range(key..).take(SCAN_ENTRIES) {
        let (found, value) = entry?;
        let follows = last.map_or(found == key, |last| last < found);
        ensure!(follows && value == payload(found), "a scan from {key} found a wrong key, {found}, or value, {value}");
        last = Some(found);
    }
    last.map(|_| ()).with_context(|| format!("a scan from {key} found nothing"))
}

fn apply(
    reader: &IndexReader<u64, u64>,
    transaction: &mut WriteTransaction<u64, u64>,
    operation: Operation,
) -> Result<()> {
    match operation {
        Operation::Get(key) => get(reader, key, true)?,
        Operation::Scan(key) => scan(reader, key)?,
        Operation::Insert(key) => {
            ensure!(transaction.insert(key, payload(key))?, "the new key {key} did not add an entry");
        }
    }
    Ok(())
}
