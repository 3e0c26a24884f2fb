//! The calls: opening, lookups and scans in memory and out of it, loads, and joins.

use crate::data::{LARGE, RECORDS, SMALL, STORE, TEXTS, mix, number_key, text_key, write_numbers};
use crate::measure::cost_ns;
use ogive::{
    Db, DbOptions, Error, Index, IndexOptions, JoinMethod, JoinOptions, JoinSource, Result, Table, TableOptions,
    join_rows,
};
use std::hint::black_box;
use std::path::{Path, PathBuf};

/// Memory in which everything that is read stays.
const WARM_BYTES: u64 = 1 << 30;
/// Memory of a table in which hardly a block stays.
const COLD_TABLE_BYTES: u64 = 1 << 20;
/// Memory of a store in which hardly a block stays.
const COLD_STORE_BYTES: u64 = 8 << 20;
/// Memory of a join.
const JOIN_BYTES: u64 = 64 << 20;
/// Keys of one call of `multi_get`.
const BATCH_KEYS: usize = 1_000;
/// Records of one scan.
const SCAN_RECORDS: usize = 100;
/// Records of a batch.
const BATCH_RECORDS: usize = 100;
/// Records of the table that is opened by URL.
const RECORDS_BEHIND_URL: u64 = 1_000_000;
/// No record has a number from here on.
const ABSENT: u64 = 1 << 40;

/// A call, and how often it is made: for about a second.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) count: u64,
    run: fn(&Path, u64) -> Result<f64>,
}

impl Call {
    /// Nanoseconds of processor time of one call, over `calls` calls that read the files in `folder`.
    ///
    /// # Errors
    /// Those of the calls.
    pub(crate) fn cost_ns(&self, folder: &Path, calls: u64) -> Result<f64> {
        (self.run)(folder, calls)
    }
}

/// All calls.
pub(crate) const CALLS: &[Call] = &[
    Call { name: "open file", count: 20_000, run: |folder, calls| open_file(&folder.join(SMALL), calls) },
    Call { name: "open url", count: 2_000, run: |_, calls| open_url(calls) },
    Call { name: "numbers get", count: 2_000_000, run: |folder, calls| WARM_NUMBERS.get(folder, calls) },
    Call { name: "numbers get absent", count: 2_000_000, run: |folder, calls| WARM_NUMBERS.get_absent(folder, calls) },
    Call { name: "numbers multi_get", count: 2_000_000, run: |folder, calls| WARM_NUMBERS.multi_get(folder, calls) },
    Call { name: "numbers scan", count: 100_000, run: |folder, calls| WARM_NUMBERS.scan(folder, calls) },
    Call { name: "cold numbers get", count: 200_000, run: |folder, calls| COLD_NUMBERS.get(folder, calls) },
    Call { name: "cold numbers multi_get", count: 200_000, run: |folder, calls| COLD_NUMBERS.multi_get(folder, calls) },
    Call { name: "texts get", count: 1_000_000, run: |folder, calls| WARM_TEXTS.get(folder, calls) },
    Call { name: "texts get absent", count: 1_000_000, run: |folder, calls| WARM_TEXTS.get_absent(folder, calls) },
    Call { name: "texts multi_get", count: 1_000_000, run: |folder, calls| WARM_TEXTS.multi_get(folder, calls) },
    Call { name: "store get", count: 1_000_000, run: |folder, calls| store_get(folder, WARM_BYTES, calls, 0) },
    Call {
        name: "store get absent",
        count: 1_000_000,
        run: |folder, calls| store_get(folder, WARM_BYTES, calls, ABSENT),
    },
    Call { name: "store multi_get", count: 1_000_000, run: |folder, calls| store_multi_get(folder, WARM_BYTES, calls) },
    Call { name: "store scan", count: 100_000, run: store_scan },
    Call { name: "cold store get", count: 100_000, run: |folder, calls| store_get(folder, COLD_STORE_BYTES, calls, 0) },
    Call {
        name: "cold store multi_get",
        count: 100_000,
        run: |folder, calls| store_multi_get(folder, COLD_STORE_BYTES, calls),
    },
    Call { name: "store load", count: 500_000, run: store_load },
    Call { name: "store batches", count: 500_000, run: store_batches },
    Call { name: "index get", count: 1_000_000, run: index_get },
    Call { name: "index insert", count: 500_000, run: index_insert },
    // Its calls are its rows, so their number is that of the table.
    Call { name: "join merge", count: RECORDS, run: |folder, _| join(folder, LARGE, JoinMethod::Merge) },
    Call { name: "join inlj", count: RECORDS, run: |folder, _| join(folder, SMALL, JoinMethod::Inlj) },
];

/// Lookups in a table.
struct TableLookups {
    name: &'static str,
    memory_bytes: u64,
    key: fn(u64) -> Vec<u8>,
}

const WARM_NUMBERS: TableLookups =
    TableLookups { name: SMALL, memory_bytes: WARM_BYTES, key: |record| number_key(record).to_vec() };
const COLD_NUMBERS: TableLookups =
    TableLookups { name: LARGE, memory_bytes: COLD_TABLE_BYTES, key: |record| number_key(record).to_vec() };
const WARM_TEXTS: TableLookups = TableLookups { name: TEXTS, memory_bytes: WARM_BYTES, key: text_key };

impl TableLookups {
    fn open(&self, folder: &Path) -> Result<Table> {
        Table::open(folder.join(self.name), &TableOptions::default().memory_bytes(self.memory_bytes))
    }

    /// Keys in no order; looked up once, so that what fits the memory is in it.
    fn keys(&self, table: &Table, calls: u64, first: u64) -> Result<Vec<Vec<u8>>> {
        let keys: Vec<_> = records(calls, table.len()).map(|record| (self.key)(first + record)).collect();
        keys.iter().try_for_each(|key| table.get(key).map(|_| ()))?;
        Ok(keys)
    }

    fn get(&self, folder: &Path, calls: u64) -> Result<f64> {
        self.get_from(folder, calls, 0)
    }

    fn get_absent(&self, folder: &Path, calls: u64) -> Result<f64> {
        self.get_from(folder, calls, ABSENT)
    }

    fn get_from(&self, folder: &Path, calls: u64, first: u64) -> Result<f64> {
        let table = self.open(folder)?;
        let keys = self.keys(&table, calls, first)?;
        cost_ns(calls, || keys.iter().try_for_each(|key| table.get(key).map(|value| _ = black_box(value))))
    }

    fn multi_get(&self, folder: &Path, calls: u64) -> Result<f64> {
        let table = self.open(folder)?;
        let keys = self.keys(&table, calls, 0)?;
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let get = |keys| table.multi_get(keys).map(|values| _ = black_box(values));
        cost_ns(calls, || keys.chunks(BATCH_KEYS).try_for_each(get))
    }

    fn scan(&self, folder: &Path, calls: u64) -> Result<f64> {
        let table = self.open(folder)?;
        let keys = self.keys(&table, calls, 0)?;
        let scan = |key: &Vec<u8>| table.range(&key[..]..).take(SCAN_RECORDS).try_for_each(drained);
        cost_ns(calls, || keys.iter().try_for_each(scan))
    }
}

/// Numbers of records in no order, as many as there are calls.
fn records(calls: u64, records: u64) -> impl Iterator<Item = u64> {
    (0..calls).map(move |call| mix(call ^ ABSENT) % records.max(1))
}

fn drained<T>(record: Result<T>) -> Result<()> {
    record.map(|record| _ = black_box(record))
}

fn open_file(path: &Path, calls: u64) -> Result<f64> {
    let options = TableOptions::default();
    cost_ns(calls, || (0..calls).try_for_each(|_| Table::open(path, &options).map(|table| _ = black_box(table))))
}

/// Opens a table in the memory of this process through the interface of object stores, so that no network is measured.
fn open_url(calls: u64) -> Result<f64> {
    ogive_object_store::register();
    let (url, options) = ("memory://gate/table", TableOptions::default());
    write_numbers(url, RECORDS_BEHIND_URL)?;
    cost_ns(calls, || (0..calls).try_for_each(|_| Table::open(url, &options).map(|table| _ = black_box(table))))
}

/// Opens the store, and looks up records of it once, so that what fits the memory is in it.
fn store(folder: &Path, memory_bytes: u64, calls: u64, first: u64) -> Result<(Db, Vec<Vec<u8>>)> {
    let store = Db::open(folder.join(STORE), &DbOptions::default().memory_bytes(memory_bytes).threads(0))?;
    let len = WARM_TEXTS.open(folder)?.len();
    let keys: Vec<_> = records(calls, len).map(|record| text_key(first + record)).collect();
    keys.iter().try_for_each(|key| store.get(key).map(|_| ()))?;
    Ok((store, keys))
}

fn store_get(folder: &Path, memory_bytes: u64, calls: u64, first: u64) -> Result<f64> {
    let (store, keys) = store(folder, memory_bytes, calls, first)?;
    cost_ns(calls, || keys.iter().try_for_each(|key| store.get(key).map(|value| _ = black_box(value))))
}

fn store_multi_get(folder: &Path, memory_bytes: u64, calls: u64) -> Result<f64> {
    let (store, keys) = store(folder, memory_bytes, calls, 0)?;
    let get = |keys: &[Vec<u8>]| store.multi_get(keys).map(|values| _ = black_box(values));
    cost_ns(calls, || keys.chunks(BATCH_KEYS).try_for_each(get))
}

fn store_scan(folder: &Path, calls: u64) -> Result<f64> {
    let (store, keys) = store(folder, WARM_BYTES, calls, 0)?;
    let scan = |key: &Vec<u8>| store.range(&key[..]..).take(SCAN_RECORDS).try_for_each(drained);
    cost_ns(calls, || keys.iter().try_for_each(scan))
}

/// Loads a store in random order, with its flushes and compactions, and removes it.
fn store_load(folder: &Path, calls: u64) -> Result<f64> {
    let scratch = Scratch::new(folder)?;
    let store = Db::open(scratch.0.join(STORE), &DbOptions::default().memory_bytes(JOIN_BYTES).threads(0))?;
    cost_ns(calls, || {
        (0..calls).try_for_each(|record| store.insert(text_key(record), [record as u8; 100]))?;
        store.flush()
    })
}

/// Batches of [`BATCH_RECORDS`] records, which are the calls.
fn store_batches(folder: &Path, calls: u64) -> Result<f64> {
    let scratch = Scratch::new(folder)?;
    let store = Db::open(scratch.0.join(STORE), &DbOptions::default().memory_bytes(JOIN_BYTES).threads(0))?;
    let keyspace = store.keyspace("default")?;
    cost_ns(calls, || {
        for first in (0..calls).step_by(BATCH_RECORDS) {
            let mut batch = store.batch();
            for record in first..calls.min(first + BATCH_RECORDS as u64) {
                batch.insert(&keyspace, text_key(record), [record as u8; 100]);
            }
            batch.commit()?;
        }
        store.flush()
    })
}

fn index(scratch: &Scratch, records: u64) -> Result<Index<u64, u64>> {
    let index = Index::create(scratch.0.join("index"), &IndexOptions::default())?;
    insert(&index, 0, records)?;
    Ok(index)
}

fn insert(index: &Index<u64, u64>, first: u64, records: u64) -> Result<()> {
    let mut transaction = index.write()?;
    (first..first + records).try_for_each(|record| transaction.insert(mix(record), record).map(|_| ()))?;
    transaction.commit().map(|_| ())
}

fn index_get(folder: &Path, calls: u64) -> Result<f64> {
    let scratch = Scratch::new(folder)?;
    let index = index(&scratch, calls)?;
    cost_ns(calls, || {
        records(calls, calls).try_for_each(|record| index.get(mix(record)).map(|value| _ = black_box(value)))
    })
}

fn index_insert(folder: &Path, calls: u64) -> Result<f64> {
    let scratch = Scratch::new(folder)?;
    let index = index(&scratch, calls)?;
    cost_ns(calls, || insert(&index, calls, calls))
}

/// Joins a table with the large one, whose records contain its keys.
fn join(folder: &Path, left: &str, method: JoinMethod) -> Result<f64> {
    let open = |name: &str| Table::open(folder.join(name), &TableOptions::default());
    let (left, right) = (open(left)?, open(LARGE)?);
    let options = JoinOptions::default().method(method).memory_bytes(JOIN_BYTES);
    cost_ns(left.len() + right.len(), || {
        join_rows(&JoinSource::table(&left), &JoinSource::table(&right), &options)?.try_for_each(drained)
    })
}

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &Path) -> Result<Self> {
        let path = folder.join(format!("scratch-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| Error::io("create", path.clone(), error))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is removed with the folder of the comparison.
        _ = std::fs::remove_dir_all(&self.0);
    }
}
