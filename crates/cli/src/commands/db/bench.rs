//! `ogive db bench`: benchmarks a store on this machine.

use super::store::StoreFolder;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::values::size::{grouped, human_bytes};
use ogive::Durability;
use ogive::lsm::Db;
use serde_json::json;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  ogive db bench scratch                                      a million records
  ogive db bench scratch --records 10000000 --value-bytes 64  ten million
  ogive db bench scratch --json                               one JSON object per line

Loads a new store in random order, compacts it, and measures lookups of present and absent keys in random order, scans
of 100 entries, and overwrites, with one thread. Keeps the store afterwards; remove the folder when done.";

/// Odd factor that maps counters to distinct 64-bit numbers in random order (Fibonacci hashing).
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Records per batch.
const BATCH_RECORDS: u64 = 1000;

/// Entries per scan.
const SCAN_ENTRIES: usize = 100;

/// Benchmark a store on this machine
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbBench {
    #[command(flatten)]
    store: StoreFolder,

    /// Records to write
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    records: u64,

    /// Bytes per value
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    value_bytes: u32,

    /// Operations per measurement [default: the number of records, at most 1,000,000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    operations: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbBench, output: &mut Output) -> Result<Outcome> {
    if arguments.store.folder.exists() || !arguments.store.names()?.is_empty() {
        let message = format!("{} exists already", arguments.store);
        return Err(Failure::refused(message, "name a folder that does not exist; the benchmark overwrites nothing"));
    }
    let db = arguments.store.create(Durability::Buffered)?;
    let operations = arguments.operations.unwrap_or(arguments.records.min(1_000_000));
    let mut bench = Bench { db: &db, arguments, interrupt: Interrupt::watch(), output };
    bench.run(operations).map_err(|failure| failure.but(format!("the store remains in {}", arguments.store)))?;
    let stats = db.stats();
    db.close()?;
    if !output.is_json() {
        output.line(format_args!(
            "{}: {} in tables, {} in value files",
            arguments.store,
            human_bytes(stats.table_bytes),
            human_bytes(stats.value_file_bytes)
        ))?;
    }
    Ok(Outcome::Done)
}

struct Bench<'a> {
    db: &'a Db,
    arguments: &'a DbBench,
    interrupt: Interrupt,
    output: &'a mut Output,
}

impl Bench<'_> {
    fn run(&mut self, operations: u64) -> Result<()> {
        let records = self.arguments.records;
        let db = self.db;
        self.measure("load", records, |bench| bench.load(0))?;
        self.measure("compact", 1, |_| Ok(db.compact()?))?;
        let mut value = Vec::new();
        self.measure("get present", operations, |bench| {
            bench.each(operations, |i| Ok(db.get_into(key(i * 7 % records), &mut value).map(drop)?))
        })?;
        let mut value = Vec::new();
        self.measure("get absent", operations, |bench| {
            bench.each(operations, |i| Ok(db.get_into(key(records + i), &mut value).map(drop)?))
        })?;
        let scans = (operations / SCAN_ENTRIES as u64).max(1);
        self.measure("scan 100", scans, |bench| {
            bench.each(scans, |i| {
                db.range(key(i * 7 % records)..).take(SCAN_ENTRIES).try_for_each(|record| record.map(drop))?;
                Ok(())
            })
        })?;
        self.measure("overwrite", records, |bench| bench.load(1))
    }

    fn load(&self, round: u8) -> Result<()> {
        let mut value = vec![round; self.arguments.value_bytes as usize];
        let mut batch = self.db.batch();
        self.each(self.arguments.records, |i| {
            let number = i.to_le_bytes();
            let length = number.len().min(value.len());
            value[..length].copy_from_slice(&number[..length]);
            batch.insert(self.db, key(i), &value);
            if batch.len() == BATCH_RECORDS {
                std::mem::replace(&mut batch, self.db.batch()).commit()?;
            }
            Ok(())
        })?;
        Ok(batch.commit()?)
    }

    fn each(&self, count: u64, mut work: impl FnMut(u64) -> Result<()>) -> Result<()> {
        let mut progress = Progress::start("measuring", Some(count), Unit::Items);
        for i in 0..count {
            work(i)?;
            if i % 8192 == 8191 {
                self.interrupt.check()?;
                progress.reach(i);
            }
        }
        Ok(())
    }

    fn measure(&mut self, workload: &str, operations: u64, work: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        let started = Instant::now();
        work(self)?;
        let ns = started.elapsed().as_nanos() as f64 / operations as f64;
        if self.output.is_json() {
            let object = json!({ "system": "ogive", "workload": workload, "operations": operations, "ns_per_op": ns });
            self.output.json(&object)?;
        } else {
            let count = grouped(operations);
            self.output.line(format_args!("{workload:<12} {count:>12} operations  {:>12.3} us/op", ns / 1000.0))?;
        }
        self.output.flush()
    }
}

/// A key of 16 bytes.
fn key(number: u64) -> [u8; 16] {
    let mut key = *b"12345678-ogive-k";
    key[..8].copy_from_slice(&number.wrapping_mul(SCATTER).to_be_bytes());
    key
}
