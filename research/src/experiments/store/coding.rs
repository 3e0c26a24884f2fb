//! Coded blocks: the space they take, and the processor time of lookups and scans, over those of plain blocks.
//!
//! Everything is in memory, and keys are looked up at random. Rounds of both take turns; times are medians of the
//! ratios.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Result, ensure};
use ogive::{Db, DbOptions, Durability, KeyType, MemoryStorage, Table, TableOptions, TableWriteOptions, TableWriter};

use super::super::{Context, Experiment, Output, each_set};
use crate::keys::{KeySet, open_with};
use crate::output::Record;
use crate::random::Random;
use crate::stopwatch::Stopwatch;

pub(crate) const CODING: Experiment = Experiment {
    name: "store/coding",
    about: "space and processor time of coded blocks over plain ones, in memory (--lookups per round)",
    run,
};

const KEY_SETS: [&str; 3] = ["uniform", "lognormal", "gmm"];
const LOOKUPS: usize = 100_000;
const ROUNDS: usize = 15;
/// Memory for tables and stores: more than they take.
const MEMORY_BYTES: u64 = 4 << 30;
/// Keys of a line of the sketch that coded columns are compared with, and its bytes besides residuals.
const SKETCH_KEYS: usize = 64;
const SKETCH_HEAD_BYTES: f64 = 12.0;

/// A round of work; returns something made of what it found.
type Round<'a> = &'a dyn Fn() -> Result<u64>;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_set(context, CODING.name, &KEY_SETS, output, |spec, output| {
        let set = open_with(spec, context.count, Some(context.seed))?;
        let keys = StoredKeys::load(&set)?;
        ensure!(!keys.keys.is_empty(), "{spec} has no keys to look up; take a set of some thousands");
        let mut random = Random::new(context.seed, "coded lookups");
        let count = context.lookups.unwrap_or(LOOKUPS);
        let asked: Vec<&[u8]> =
            (0..count).map(|_| &*keys.keys[random.below(keys.keys.len() as u64) as usize]).collect();
        space(spec, &keys, output)?;
        tables(spec, &keys, &asked, output)?;
        stores(spec, &keys, &asked, output)?;
        Ok(())
    })
}

/// Keys as they are stored.
struct StoredKeys {
    keys: Vec<Box<[u8]>>,
    key_type: KeyType,
    /// Empty for text.
    numbers: Vec<u64>,
}

impl StoredKeys {
    fn load(set: &KeySet) -> Result<Self> {
        if set.is_text() {
            let mut keys = set.lines()?.map(|line| Ok(line?.into())).collect::<Result<Vec<Box<[u8]>>>>()?;
            keys.dedup();
            return Ok(Self { keys, key_type: KeyType::Text, numbers: Vec::new() });
        }
        let numbers = set.stream()?.collect::<Result<Vec<u64>, _>>()?;
        let keys = numbers.iter().map(|number| number.to_be_bytes().into()).collect();
        Ok(Self { keys, key_type: KeyType::U64, numbers })
    }
}

/// A value that no line predicts.
fn value_of(key: &[u8]) -> [u8; 8] {
    let mixed = key.iter().fold(0_u64, |mixed, &byte| (mixed ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    (mixed ^ (mixed >> 29)).to_le_bytes()
}

fn table(keys: &StoredKeys, has_values: bool, coding: bool) -> Result<Table> {
    let storage = Arc::new(MemoryStorage::new());
    let width = if has_values { 8 } else { 0 };
    let options = TableWriteOptions::default().key_type(keys.key_type).value_width(width).block_bytes(4096);
    let mut writer = TableWriter::create((storage.clone(), "t"), options.coding(coding))?;
    for key in &keys.keys {
        let value = value_of(key);
        writer.append(key, if has_values { &value } else { &[] })?;
    }
    writer.finish()?;
    Ok(Table::open((storage, "t"), &TableOptions::default().memory_bytes(MEMORY_BYTES))?)
}

/// Bytes of a key as a line through both ends of each 64 keys, and residuals of one width.
fn sketched_bytes(keys: &[u64]) -> f64 {
    let bits = keys.chunks_exact(SKETCH_KEYS).map(|keys| {
        let range = (keys[SKETCH_KEYS - 1] - keys[0]) as f64;
        let residual =
            |(at, &key): (usize, &u64)| (key - keys[0]) as f64 - (range / (SKETCH_KEYS - 1) as f64 * at as f64).floor();
        let residuals = keys.iter().enumerate().map(residual);
        let (least, greatest) =
            residuals.fold((0.0_f64, 0.0_f64), |(least, greatest), one| (least.min(one), greatest.max(one)));
        (greatest - least + 1.0).log2().floor() + 1.0
    });
    let groups = (keys.len() / SKETCH_KEYS).max(1) as f64;
    bits.sum::<f64>() / groups / 8.0 + SKETCH_HEAD_BYTES / SKETCH_KEYS as f64
}

fn space(spec: &str, keys: &StoredKeys, output: &mut Output<'_>) -> Result<()> {
    let count = keys.keys.len();
    let mut record = Record::new(CODING.name).figure("keys", spec).figure("records", count as u64);
    for (name, has_values) in [("key", false), ("record", true)] {
        let a_record = |coding: bool| -> Result<(f64, f64)> {
            let report = table(keys, has_values, coding)?.explain();
            Ok((report.data_bytes as f64 / count as f64, report.index_bytes as f64 / count as f64))
        };
        let (coded, plain) = (a_record(true)?, a_record(false)?);
        record = record
            .figure(&format!("{name}_bytes"), coded.0)
            .figure(&format!("{name}_bytes_plain"), plain.0)
            .figure(&format!("{name}_index_bytes"), coded.1)
            .figure(&format!("{name}_index_bytes_plain"), plain.1);
    }
    if keys.key_type == KeyType::U64 {
        record = record.figure("key_bytes_line64", sketched_bytes(&keys.numbers));
    }
    output.report(record)?;
    Ok(())
}

fn tables(spec: &str, keys: &StoredKeys, asked: &[&[u8]], output: &mut Output<'_>) -> Result<()> {
    let (coded, plain) = (table(keys, true, true)?, table(keys, true, false)?);
    let gets = |table: &Table| -> Result<u64> {
        let found = asked.iter().map(|key| table.get(black_box(key)).map(|value| value.map_or(0, |value| value[0])));
        found.map(|first| Ok(u64::from(first?))).sum()
    };
    let scan = |table: &Table| -> Result<u64> { table.iter().map(|record| Ok(u64::from(record?.1[0]))).sum() };
    compare(spec, "table get", &|| gets(&coded), &|| gets(&plain), output)?;
    compare(spec, "table scan", &|| scan(&coded), &|| scan(&plain), output)
}

fn store(keys: &StoredKeys, coding: bool) -> Result<Db> {
    let options = DbOptions::default()
        .memory_bytes(MEMORY_BYTES)
        .durability(Durability::Buffered)
        .levels(|levels| levels.coding(coding));
    let db = Db::open(Arc::new(MemoryStorage::new()), &options)?;
    for part in keys.keys.chunks(1000) {
        let mut batch = db.batch();
        for key in part {
            batch.insert(&db, key, value_of(key));
        }
        batch.commit()?;
    }
    db.compact()?;
    Ok(db)
}

fn stores(spec: &str, keys: &StoredKeys, asked: &[&[u8]], output: &mut Output<'_>) -> Result<()> {
    let (coded, plain) = (store(keys, true)?, store(keys, false)?);
    let bytes = |db: &Db| db.stats().table_bytes as f64 / keys.keys.len() as f64;
    let record = Record::new(CODING.name).figure("keys", spec).figure("store_record_bytes", bytes(&coded));
    output.report(record.figure("store_record_bytes_plain", bytes(&plain)))?;
    let gets = |db: &Db| -> Result<u64> {
        let found = asked.iter().map(|key| db.get(black_box(key)).map(|value| value.map_or(0, |value| value[0])));
        found.map(|first| Ok(u64::from(first?))).sum()
    };
    let scan = |db: &Db| -> Result<u64> { db.iter().map(|entry| Ok(u64::from(entry?.1[0]))).sum() };
    compare(spec, "store get", &|| gets(&coded), &|| gets(&plain), output)?;
    compare(spec, "store scan", &|| scan(&coded), &|| scan(&plain), output)
}

/// Runs rounds of both in turn, each first in every second round, and reports the ratios.
fn compare(spec: &str, work: &str, coded: Round<'_>, plain: Round<'_>, output: &mut Output<'_>) -> Result<()> {
    let time = |round: Round<'_>| -> Result<(f64, u64)> {
        let watch = Stopwatch::start();
        let found = round()?;
        Ok((watch.elapsed().thread_s * 1e3, found))
    };
    // Also fills the caches.
    ensure!(time(coded)?.1 == time(plain)?.1, "coded and plain blocks hold different values");
    let (mut coded_ms, mut plain_ms, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..ROUNDS {
        let (one, other) = if number % 2 == 0 {
            (time(coded)?.0, time(plain)?.0)
        } else {
            let plain = time(plain)?.0;
            (time(coded)?.0, plain)
        };
        coded_ms.push(one);
        plain_ms.push(other);
        ratios.push(one / other);
    }
    let record = Record::new(CODING.name).figure("keys", spec).figure("work", work).figure("rounds", ROUNDS as u64);
    let record = record.spread("coded_ms", &coded_ms).spread("plain_ms", &plain_ms);
    output.report(record.spread("coded_over_plain", &ratios))?;
    Ok(())
}
