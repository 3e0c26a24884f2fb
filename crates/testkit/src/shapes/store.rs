//! The store writer of a shape: rows pass through a store.

use super::check::{Answers, Effort, SCANNED_ROWS, doing, shown, spread};
use super::rows::Rows;
use super::shape::{Shape, StoreForm};
use ogive::block::compress::Compression;
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions, DbSnapshot, Keyspace, Learning};
use ogive::table::TableWriter;
use ogive::verify::verify_store;
use ogive::{Advice, Cause, Durability, Setting};
use std::sync::Arc;

/// Approximate size of a batch, in bytes of rows.
const BATCH_BYTES: usize = 8 << 10;
/// Times that the memory of a store is doubled before a shortage counts as a failure.
const RAISES_MAX: usize = 4;
/// Number of ingested tables.
const INGESTED_TABLES: usize = 3;

/// Writes the rows into a store, and asks it, its checkpoint, and what is opened again.
pub(super) fn check(shape: &Shape, form: &StoreForm, rows: &Rows, effort: Effort) -> Result<(), String> {
    let shared: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (db, snapshots) = doing("write", written(shape, form, rows, &shared))?;
    if form.compacted {
        doing("compact", db.compact())?;
    }
    if form.learning == "offline" {
        doing("learn", db.learn())?;
    }
    check_sound("verify", db.verify(&mut |_, _| {}))?;
    check_keyspace(&db, &Answers::of(rows), effort)?;
    for (version, snapshot) in (0..).zip(&snapshots) {
        check_snapshot(&db, snapshot, version, rows, effort)?;
    }
    let copy: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    if form.checkpointed {
        doing("checkpoint", db.checkpoint(&copy))?;
    }
    drop(snapshots);
    doing("close", db.close())?;
    if form.checkpointed {
        check_again("checkpoint", shape, form, copy, rows, effort)?;
    }
    check_again("reopened", shape, form, shared, rows, effort)
}

/// Opens the store and writes all rows. If memory is short, opens it again with more, and writes them again.
fn written(
    shape: &Shape,
    form: &StoreForm,
    rows: &Rows,
    storage: &Arc<dyn Storage>,
) -> ogive::Result<(Db, Vec<DbSnapshot>)> {
    let mut memory_bytes = form.memory_bytes;
    for _ in 0..RAISES_MAX {
        let db = Db::open(Arc::clone(storage), &options(shape, form, memory_bytes)?)?;
        match write(&db, shape, form, rows) {
            Err(error) if is_short_of_memory(&error) => memory_bytes *= 2,
            outcome => return outcome.map(|snapshots| (db, snapshots)),
        }
    }
    let db = Db::open(Arc::clone(storage), &options(shape, form, memory_bytes)?)?;
    let snapshots = write(&db, shape, form, rows)?;
    Ok((db, snapshots))
}

/// Whether a write, or the background work that it waits for, names an amount of memory that is needed.
fn is_short_of_memory(error: &ogive::Error) -> bool {
    let names_memory = || matches!(error.advice(), Some(Advice::Raise { option: Setting::StoreMemory, .. }));
    matches!(error.cause, Cause::Memory { .. }) || error.cause == Cause::ReadOnly && names_memory()
}

fn options(shape: &Shape, form: &StoreForm, memory_bytes: u64) -> ogive::Result<DbOptions> {
    Ok(DbOptions::default()
        .memory_bytes(memory_bytes)
        .writes(|writes| writes.memtable_bytes(form.memtable_bytes))
        .levels(|levels| {
            levels
                .table_bytes(form.table_bytes)
                .level_bytes(form.level_bytes)
                .level_factor(form.level_factor)
                .coding(shape.table.coded)
                .filter_bits_per_key(shape.table.filtered.then_some(10))
                .block_bytes(shape.table.block_bytes.unwrap_or(4096))
        })
        .values(|values| values.separation_bytes(form.separation_bytes))
        .learning(Learning::named(form.learning)?)
        .threads(form.threads)
        .durability(Durability::Buffered)
        .compression(if shape.table.compressed { Compression::Lz4 } else { Compression::None })
        .fast_paths(shape.fast_paths))
}

/// Whether a row comes in a table of its own kind.
fn is_ingested(form: &StoreForm, row: usize) -> bool {
    // Not one by one: tables that are taken in lie among the others in runs.
    form.ingested_one_in > 0 && (row / 100).is_multiple_of(form.ingested_one_in)
}

/// Writes earlier versions, each under a snapshot, and then all rows.
fn write(db: &Db, shape: &Shape, form: &StoreForm, rows: &Rows) -> ogive::Result<Vec<DbSnapshot>> {
    let order: Vec<usize> = if form.sorted { (0..rows.len()).collect() } else { rows.shuffled() };
    let mut snapshots = Vec::new();
    for version in 0..form.earlier_versions {
        insert(db, &order, rows, |row, value| rows.earlier_value(version, row, value))?;
        snapshots.push(db.snapshot());
    }
    let inserted: Vec<usize> = order.iter().copied().filter(|&row| !is_ingested(form, row)).collect();
    insert(db, &inserted, rows, |row, value| rows.value(row, value))?;
    let ingested: Vec<usize> = (0..rows.len()).filter(|&row| is_ingested(form, row)).collect();
    let elsewhere: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut files = Vec::new();
    for (number, part) in ingested.chunks(ingested.len().div_ceil(INGESTED_TABLES).max(1)).enumerate() {
        let options = shape.write_options().map_err(ogive::Error::input)?;
        let mut writer = TableWriter::create((Arc::clone(&elsewhere), &number.to_string()), options)?;
        let mut value = Vec::new();
        for &row in part {
            rows.value(row, &mut value);
            writer.append(rows.key(row), &value)?;
        }
        writer.finish()?;
        files.push((Arc::clone(&elsewhere), number.to_string()));
    }
    db.ingest_from(&files)?;
    db.flush()?;
    Ok(snapshots)
}

fn insert(db: &Db, order: &[usize], rows: &Rows, fill: impl Fn(usize, &mut Vec<u8>)) -> ogive::Result<()> {
    let keyspace: &Keyspace = db;
    let (mut batch, mut bytes, mut value) = (db.batch(), 0, Vec::new());
    for &row in order {
        fill(row, &mut value);
        batch.insert(keyspace, rows.key(row), &value);
        bytes += rows.key(row).len() + value.len();
        if bytes > BATCH_BYTES {
            std::mem::replace(&mut batch, db.batch()).commit()?;
            bytes = 0;
        }
    }
    batch.commit()
}

fn check_sound(what: &str, report: ogive::Result<ogive::verify::StoreReport>) -> Result<(), String> {
    let report = doing(what, report)?;
    match report.findings.first() {
        None => Ok(()),
        Some(first) => {
            let count = report.findings.len() as u64 + report.further_findings;
            Err(format!(
                "{what}: {count} findings, the first in {} at byte {}: {}",
                first.file, first.offset, first.detail
            ))
        }
    }
}

/// Opens a store with other memory; where that is short, with as much as the store says that it takes.
fn open_again(shape: &Shape, form: &StoreForm, storage: &Arc<dyn Storage>) -> ogive::Result<Db> {
    let open = |memory_bytes| Db::open(Arc::clone(storage), &options(shape, form, memory_bytes)?);
    match open(form.reopened_bytes) {
        Err(ogive::Error { cause: ogive::Cause::Memory { needed_bytes, .. }, .. })
            if needed_bytes > form.reopened_bytes =>
        {
            open(needed_bytes)
        }
        opened => opened,
    }
}

/// Opens a store with other memory, asks it, and once more when it has been compacted.
fn check_again(
    what: &str,
    shape: &Shape,
    form: &StoreForm,
    storage: Arc<dyn Storage>,
    rows: &Rows,
    effort: Effort,
) -> Result<(), String> {
    let again = || {
        check_sound("verify", verify_store(&storage, &mut |_, _| {}))?;
        let db = doing("open", open_again(shape, form, &storage))?;
        check_keyspace(&db, &Answers::of(rows), Effort { places: effort.places / 4, ..effort })?;
        doing("compact", db.compact())?;
        check_sound("verify when compacted", db.verify(&mut |_, _| {}))?;
        check_keyspace(&db, &Answers::of(rows), Effort { places: effort.places / 4, ..effort })?;
        doing("close", db.close())
    };
    again().map_err(|detail| format!("{what}: {detail}"))
}

/// Holds all that a keyspace answers against the rows.
fn check_keyspace(keyspace: &Keyspace, answers: &Answers<'_>, effort: Effort) -> Result<(), String> {
    let rows = answers.rows;
    let plain = |record: ogive::Result<_>| record.map(owned);
    answers.follow("forward", 0..rows.len(), usize::MAX, keyspace.iter().map(plain))?;
    answers.follow("backward", (0..rows.len()).rev(), usize::MAX, keyspace.iter().rev().map(plain))?;
    for row in spread(effort.gets, rows.len()) {
        let found = doing("get", keyspace.get(rows.key(row)))?;
        answers.found("get", rows.key(row), found.as_deref())?;
    }
    for row in spread(effort.places, rows.len()) {
        check_place(keyspace, answers, rows.key(row))?;
        for key in rows.neighbours(row) {
            let found = doing("get", keyspace.get(&key))?;
            answers.found("get", &key, found.as_deref())?;
        }
    }
    for key in rows.edges() {
        check_place(keyspace, answers, &key)?;
    }
    let asked: Vec<usize> = spread(effort.places, rows.len()).collect();
    let found = doing("multi_get", keyspace.multi_get(asked.iter().map(|&row| rows.key(row))))?;
    let mut pairs = asked.iter().zip(&found);
    pairs.try_for_each(|(&row, value)| answers.found("multi_get", rows.key(row), value.as_deref()))
}

type Found = (ogive::block::Slice, ogive::block::Slice);

fn owned((key, value): Found) -> (Vec<u8>, Vec<u8>) {
    (key.to_vec(), value.to_vec())
}

/// Asks for a key, and scans from it both ways.
fn check_place(keyspace: &Keyspace, answers: &Answers<'_>, key: &[u8]) -> Result<(), String> {
    let rows = answers.rows;
    if doing("contains_key", keyspace.contains_key(key))? != answers.find(key).is_some() {
        return Err(format!("contains_key: wrong for {}", shown(key)));
    }
    let plain = |record: ogive::Result<_>| record.map(owned);
    let how = format!("scan from {}", shown(key));
    answers.follow(&how, rows.rank(key)..rows.len(), SCANNED_ROWS, keyspace.range(key..).map(plain))?;
    let how = format!("scan back from {}", shown(key));
    answers.follow(&how, (0..rows.through(key)).rev(), SCANNED_ROWS, keyspace.range(..=key).rev().map(plain))
}

/// Asks as of a snapshot.
fn check_snapshot(
    keyspace: &Keyspace,
    snapshot: &DbSnapshot,
    version: u64,
    rows: &Rows,
    effort: Effort,
) -> Result<(), String> {
    let answers = Answers::with(rows, |row, value| rows.earlier_value(version, row, value));
    for row in spread(effort.gets, rows.len()) {
        let found = doing("get as of a snapshot", snapshot.get(keyspace, rows.key(row)))?;
        answers.found("get as of a snapshot", rows.key(row), found.as_deref())?;
    }
    let all = snapshot.range::<&[u8]>(keyspace, ..).map(|record| record.map(owned));
    answers.follow("forward as of a snapshot", 0..rows.len(), usize::MAX, all)
}
