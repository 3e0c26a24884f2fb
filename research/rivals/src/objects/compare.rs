//! The comparison: one load for the settings with which data are written, then all reads with each of the others.

use super::throttle::Counts;
use super::{ogive, slatedb};
use crate::arguments::ObjectsArguments;
use ::ogive::io::Timer;
use anyhow::{Context, Result, ensure};
use ogive_research::output::{Record, Reporter};
use ogive_research::random::Random;
use ogive_research::workload::{KeyForm, Records};
use std::future::Future;
use std::io::Write;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// Records of a batch of the load.
const BATCH_RECORDS: usize = 1000;
/// Keys of a `multi_get`, and records of a scan.
const MULTI_GET_KEYS: usize = 100;
const SCAN_RECORDS: usize = 1000;
/// US dollars for a million GETs, and a million PUTs or LISTs: S3 Standard, us-east-1.
const DOLLARS_PER_MILLION: (f64, f64) = (0.4, 5.0);

/// A store on an object store of its own.
pub(super) trait ObjectSystem {
    /// Requests since the start.
    fn counts(&self) -> Counts;
    /// Bytes of all objects.
    fn stored_bytes(&self) -> Result<u64>;
    /// Puts in all records; durable when it returns.
    fn load(&mut self, load: &Load<'_>) -> Result<()>;
    /// Waits until nothing goes on in the background, and closes the store.
    fn settle(&mut self) -> Result<()>;
    /// Opens the store for reading, with nothing in memory.
    fn open(&mut self) -> Result<()>;
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;
    /// Looks keys up together; returns how many there were.
    fn multi_get(&self, keys: &[Vec<u8>]) -> Result<usize>;
    /// Reads the records from a key on; returns how many there were.
    fn scan(&self, from: &[u8], entries: usize) -> Result<usize>;
    fn close(&mut self) -> Result<()>;
}

/// The records of a load, in their order.
pub(super) struct Load<'a> {
    records: &'a Records,
    order: &'a [u64],
}

impl Load<'_> {
    /// Passes on the records in batches.
    pub(super) fn batches(&self, mut write: impl FnMut(&[(Vec<u8>, Vec<u8>)]) -> Result<()>) -> Result<()> {
        for places in self.order.chunks(BATCH_RECORDS) {
            let record = |&place: &u64| {
                let (mut key, mut value) = (Vec::new(), Vec::new());
                self.records.key(place, &mut key);
                self.records.value(place, 0, &mut value);
                (key, value)
            };
            write(&places.iter().map(record).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

/// Runs a future to its end on the runtime of this program.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> Result<T> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().ok());
    Ok(runtime.as_ref().context("the threads of the runtime cannot be started")?.block_on(future))
}

/// Runs the comparison.
pub(crate) fn run(run: &ObjectsArguments, out: &mut dyn Write, json: bool) -> Result<()> {
    let mut reporter = Reporter::new(out, json);
    let set = ogive_research::keys::open(&format!("uniform:{}:seed={}", run.number, run.seed))?;
    let records = Records::of(&set, KeyForm::Bytes16, run.value)?;
    let mut random = Random::new(run.seed, "order of the load");
    let mut order: Vec<u64> = (0..records.len() as u64).collect();
    for place in (1..order.len()).rev() {
        order.swap(place, random.below(place as u64 + 1) as usize);
    }
    let load = Load { records: &records, order: &order };
    let mut own = ogive::Ogive::new()?;
    loaded("ogive", &mut own, &load, &mut reporter)?;
    for variant in ogive::VARIANTS {
        own.set(variant);
        reads((variant.name, variant.about), &mut own, &records, run, &mut reporter)?;
    }
    drop(own);
    for variants in [slatedb::USUAL, slatedb::BEST] {
        let mut other = slatedb::SlateDb::new(variants[0]);
        loaded(variants[0].name, &mut other, &load, &mut reporter)?;
        for variant in variants {
            other.set(variant);
            reads((variant.name, variant.about), &mut other, &records, run, &mut reporter)?;
        }
    }
    Ok(reporter.flush()?)
}

type Out<'a> = Reporter<&'a mut dyn Write>;

fn loaded(name: &str, system: &mut dyn ObjectSystem, load: &Load<'_>, out: &mut Out<'_>) -> Result<()> {
    eprintln!("load: {name}");
    let time = Timer::start();
    system.load(load)?;
    let durable_s = time.elapsed_us() / 1e6;
    system.settle()?;
    let counts = system.counts();
    let record = Record::new("rivals/objects")
        .figure("system", name)
        .figure("workload", "load")
        .figure("s", durable_s)
        .figure("settled_s", time.elapsed_us() / 1e6)
        .figure("gets", counts.gets)
        .figure("puts", counts.puts)
        .figure("read_mb", counts.read_bytes as f64 / 1e6)
        .figure("written_mb", counts.written_bytes as f64 / 1e6)
        .figure("dollars", dollars(counts))
        .figure("stored_mb", system.stored_bytes()? as f64 / 1e6);
    Ok(out.report(record)?)
}

fn dollars(counts: Counts) -> f64 {
    let (gets, puts) = DOLLARS_PER_MILLION;
    (counts.gets as f64 * gets + counts.puts as f64 * puts) / 1e6
}

/// All reads of one system, each workload on a store that was just opened.
fn reads(
    (name, about): (&str, &str),
    system: &mut dyn ObjectSystem,
    records: &Records,
    run: &ObjectsArguments,
    out: &mut Out<'_>,
) -> Result<()> {
    let count = records.len() as u64;
    let key = |place: u64| {
        let mut key = Vec::new();
        records.key(place, &mut key);
        key
    };
    let mut random = Random::new(run.seed, "requests");
    for workload in ["open", "get", "get-absent", "multi_get-100", "scan-1000"] {
        eprintln!("{workload}: {name}");
        if workload == "open" {
            let (before, time) = (system.counts(), Timer::start());
            system.open()?;
            let times = [time.elapsed_us() / 1e3];
            out.report(measured(name, about, workload, &times, system.counts().since(before)))?;
            continue;
        }
        system.open()?;
        let rounds = if workload.starts_with("get") { run.operations } else { run.operations.div_ceil(10) };
        let (before, mut times) = (system.counts(), Vec::new());
        for _ in 0..rounds {
            let place = random.below(count);
            match workload {
                "get" => {
                    let (key, mut value) = (key(place), Vec::new());
                    records.value(place, 0, &mut value);
                    let time = Timer::start();
                    let found = system.get(&key)?;
                    times.push(time.elapsed_us() / 1e3);
                    ensure!(found.as_ref() == Some(&value), "{name} has another value for a key");
                }
                "get-absent" => {
                    let mut key = Vec::new();
                    records.absent_key(place, &mut random, &mut key);
                    let time = Timer::start();
                    ensure!(system.get(&key)?.is_none(), "{name} has a key that was not put in");
                    times.push(time.elapsed_us() / 1e3);
                }
                "multi_get-100" => {
                    let keys: Vec<Vec<u8>> = (0..MULTI_GET_KEYS).map(|_| key(random.below(count))).collect();
                    let time = Timer::start();
                    ensure!(system.multi_get(&keys)? == keys.len(), "{name} lacks a key");
                    times.push(time.elapsed_us() / 1e3);
                }
                _ => {
                    let place = random.below(count.saturating_sub(SCAN_RECORDS as u64).max(1));
                    let expected = SCAN_RECORDS.min((count - place) as usize);
                    let time = Timer::start();
                    ensure!(system.scan(&key(place), SCAN_RECORDS)? == expected, "{name} lacks records of a scan");
                    times.push(time.elapsed_us() / 1e3);
                }
            }
        }
        let counts = system.counts().since(before);
        out.report(measured(name, about, workload, &times, counts))?;
    }
    system.close()
}

fn measured(name: &str, about: &str, workload: &str, times_ms: &[f64], counts: Counts) -> Record {
    let per = |total: u64| total as f64 / times_ms.len().max(1) as f64;
    Record::new("rivals/objects")
        .figure("system", name)
        .figure("settings", about)
        .figure("workload", workload)
        .spread("ms", times_ms)
        .figure("gets", per(counts.gets))
        .figure("puts", per(counts.puts))
        .figure("kb", per(counts.read_bytes) / 1e3)
        .figure("dollars_per_million", dollars(counts) / times_ms.len().max(1) as f64 * 1e6)
}
