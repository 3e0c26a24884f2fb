//! Batched lookups: `multi_get` over the same number of gets, and over as many plain reads.
//!
//! A cold store is read by direct I/O with memory of a small part of its size, so that nearly every key needs a read.
//! The yardstick is `read_many` of as many ranges of 4 KiB, whose own yardstick is `fio` (`store/reads`). Batches,
//! gets and reads take turns, each with keys of its own; figures are medians.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use ogive::io::{FastPaths, LocalStorage, Purpose, ReadRequest, ReadableFile, Storage};
use ogive::{Db, DbOptions, MemoryStorage};

use super::super::progress::Progress;
use super::super::{Context, Experiment, Output};
use crate::output::Record;
use crate::random::{Permutation, Random};
use crate::stopwatch::{Elapsed, Stopwatch};

pub(crate) const BATCHES: Experiment = Experiment {
    name: "store/batches",
    about: "multi_get of 64 random keys over 64 gets, and cold over 64 reads (--device FOLDER, --lookups ROUNDS)",
    run,
};

const RECORDS: u64 = 2_000_000;
const ROUNDS: usize = 201;
/// Batches timed as one when a batch takes microseconds.
const WARM_BATCHES: usize = 50;
const BATCH_KEYS: usize = 64;
const COMMIT_RECORDS: u64 = 1_000;
const INLINE_VALUE_BYTES: usize = 100;
const SEPARATED_VALUE_BYTES: usize = 1_000;
const WARM_MEMORY_BYTES: u64 = 2 << 30;
/// The memory of a cold store is 1/N of its records.
const COLD_MEMORY_DIVISOR: u64 = 12;
const READ_BYTES: usize = 4096;
const SCAN_RECORDS: usize = 10_000;
const SCAN_ROUNDS: usize = 5;

/// What a round measures, in seconds.
#[derive(Clone, Copy, Default)]
struct RoundTimes {
    batch: Elapsed,
    gets: Elapsed,
    reads: Elapsed,
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let records = context.asked_count.unwrap_or(RECORDS);
    let rounds = context.lookups.unwrap_or(ROUNDS);
    let progress = Progress::new(3)?;
    progress.on("warm".to_owned());
    warm(context, records, rounds, output)?;
    progress.step();
    if !context.modelled_only {
        for value_bytes in [INLINE_VALUE_BYTES, SEPARATED_VALUE_BYTES] {
            progress.on(format!("cold, values of {value_bytes} bytes"));
            // As many bytes with either length of values.
            let count = records * INLINE_VALUE_BYTES as u64 / value_bytes as u64;
            cold(context, count.max(1), value_bytes, rounds, output)?;
            progress.step();
        }
    }
    Ok(())
}

fn key(number: u64) -> [u8; 8] {
    (number * 5).to_be_bytes()
}

fn load(db: &Db, records: u64, value_bytes: usize, seed: u64) -> Result<()> {
    let mut random = Random::new(seed, "values of a store");
    // Values lie in the order of writing in their files: not in that of the keys.
    let order = Permutation::new(records, &mut random);
    let mut value = vec![0; value_bytes];
    for start in (0..records).step_by(COMMIT_RECORDS as usize) {
        let mut batch = db.batch();
        for place in start..(start + COMMIT_RECORDS).min(records) {
            let number = order.apply(place);
            value.chunks_mut(8).for_each(|part| part.copy_from_slice(&random.bits().to_le_bytes()[..part.len()]));
            batch.insert(db, key(number), &value);
        }
        batch.commit()?;
    }
    db.compact()?;
    Ok(())
}

fn draw(random: &mut Random, records: u64) -> Vec<[u8; 8]> {
    (0..BATCH_KEYS).map(|_| key(random.below(records))).collect()
}

fn get_each(db: &Db, keys: &[[u8; 8]]) -> Result<()> {
    for key in keys {
        ensure!(black_box(db.get(key)?).is_some(), "a key is missing");
    }
    Ok(())
}

fn get_batch(db: &Db, keys: &[[u8; 8]]) -> Result<()> {
    ensure!(black_box(db.multi_get(keys)?).iter().all(Option::is_some), "a key is missing");
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Elapsed> {
    let watch = Stopwatch::start();
    work()?;
    Ok(watch.elapsed())
}

fn warm(context: &Context, records: u64, rounds: usize, output: &mut Output<'_>) -> Result<()> {
    let options = DbOptions::default().memory_bytes(WARM_MEMORY_BYTES);
    let db = Db::open(Arc::new(MemoryStorage::new()), &options)?;
    load(&db, records, INLINE_VALUE_BYTES, context.seed)?;
    for record in db.iter() {
        black_box(record?);
    }
    for number in 0..records {
        black_box(db.get(key(number))?);
    }
    let mut random = Random::new(context.seed, "warm batches");
    let mut times = Vec::new();
    for _ in 0..rounds {
        let [for_batch, for_gets] =
            [(); 2].map(|()| -> Vec<Vec<[u8; 8]>> { (0..WARM_BATCHES).map(|_| draw(&mut random, records)).collect() });
        let batch = timed(|| for_batch.iter().try_for_each(|keys| get_batch(&db, keys)))?;
        let gets = timed(|| for_gets.iter().try_for_each(|keys| get_each(&db, keys)))?;
        times.push(RoundTimes { batch, gets, reads: Elapsed::default() });
    }
    let row = Record::new(BATCHES.name).figure("state", "warm").figure("value_bytes", INLINE_VALUE_BYTES as u64);
    output.report(figures(row, &times, WARM_BATCHES as f64, false))?;
    Ok(())
}

fn cold(context: &Context, records: u64, value_bytes: usize, rounds: usize, output: &mut Output<'_>) -> Result<()> {
    let folder = context.device_folder()?;
    let options = DbOptions::default().values(|values| values.separation_bytes(SEPARATED_VALUE_BYTES as u64));
    let db = Db::open(Arc::new(LocalStorage::new(folder.path())), &options)?;
    load(&db, records, value_bytes, context.seed)?;
    db.close()?;
    let data_bytes = records * (value_bytes as u64 + 8);
    let storage = Arc::new(LocalStorage::direct(folder.path()));
    let cold_options = options.memory_bytes((data_bytes / COLD_MEMORY_DIVISOR).max(2 << 20));
    let db = Db::open(storage.clone(), &cold_options)?;
    let names = storage.list()?;
    let files: Vec<_> = names.iter().map(|name| storage.open(name)).collect::<ogive::Result<_>>()?;
    let file = files.iter().max_by_key(|file| file.len()).context("the store has no files")?;
    let mut random = Random::new(context.seed, "cold batches");
    // Filters and separators of all tables are read before.
    (0..4).try_for_each(|_| get_batch(&db, &draw(&mut random, records)))?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let (for_batch, for_gets) = (draw(&mut random, records), draw(&mut random, records));
        times.push(RoundTimes {
            batch: timed(|| get_batch(&db, &for_batch))?,
            gets: timed(|| get_each(&db, &for_gets))?,
            reads: timed(|| read_many(&**file, &mut random))?,
        });
    }
    let row = Record::new(BATCHES.name)
        .figure("state", if file.is_direct() { "cold" } else { "page cache" })
        .figure("value_bytes", value_bytes as u64);
    output.report(figures(row, &times, 1.0, true))?;
    if value_bytes >= SEPARATED_VALUE_BYTES {
        db.close()?;
        cold_scans(context, &storage, &cold_options, records, output)?;
    }
    Ok(())
}

/// Scans of separated values, with read-ahead and without.
fn cold_scans(
    context: &Context,
    storage: &Arc<LocalStorage>,
    options: &DbOptions,
    records: u64,
    output: &mut Output<'_>,
) -> Result<()> {
    let mut random = Random::new(context.seed, "starts of scans");
    let mut times = Vec::new();
    for _ in 0..SCAN_ROUNDS {
        let mut scan = |prefetch: bool| -> Result<Elapsed> {
            let fast_paths = FastPaths { prefetch, ..FastPaths::ALL };
            let db = Db::open(storage.clone(), &options.clone().fast_paths(fast_paths))?;
            let start = key(random.below(records.saturating_sub(SCAN_RECORDS as u64).max(1)));
            timed(|| {
                for record in db.range(start..).take(SCAN_RECORDS) {
                    black_box(record?);
                }
                Ok(())
            })
        };
        times.push((scan(true)?, scan(false)?));
    }
    let median = |of: &dyn Fn(&(Elapsed, Elapsed)) -> f64| {
        let mut values: Vec<f64> = times.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let row = Record::new(BATCHES.name)
        .figure("state", "cold scan")
        .figure("value_bytes", SEPARATED_VALUE_BYTES as u64)
        .figure("records_in_scan", SCAN_RECORDS as u64)
        .figure("scan_ms", median(&|(ahead, _)| ahead.wall_s * 1e3))
        .figure("one_by_one_ms", median(&|(_, each)| each.wall_s * 1e3))
        .figure("time_over_one_by_one", median(&|(ahead, each)| ahead.wall_s / each.wall_s));
    output.report(row)?;
    Ok(())
}

fn read_many(file: &dyn ReadableFile, random: &mut Random) -> Result<()> {
    let places = file.len() / READ_BYTES as u64;
    let mut buffers = vec![vec![0; READ_BYTES]; BATCH_KEYS];
    let requests = buffers.iter_mut().map(|buffer| {
        let offset = random.below(places) * READ_BYTES as u64;
        ReadRequest { offset, buffer, purpose: Purpose::Data }
    });
    file.read_many(requests.collect())?;
    Ok(())
}

/// The figures of a row; `batches` were timed as one.
fn figures(row: Record, times: &[RoundTimes], batches: f64, has_reads: bool) -> Record {
    let median = |of: &dyn Fn(&RoundTimes) -> f64| {
        let mut values: Vec<f64> = times.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let microseconds = |of: &dyn Fn(&RoundTimes) -> f64| median(of) * 1e6 / batches;
    let row = row
        .figure("keys_in_batch", BATCH_KEYS as u64)
        .figure("multi_get_us", microseconds(&|times| times.batch.wall_s))
        .figure("gets_us", microseconds(&|times| times.gets.wall_s))
        .figure("multi_get_processor_us", microseconds(&|times| times.batch.process_s))
        .figure("gets_processor_us", microseconds(&|times| times.gets.process_s))
        .figure("time_over_gets", median(&|times| times.batch.wall_s / times.gets.wall_s))
        .figure("processor_over_gets", median(&|times| times.batch.process_s / times.gets.process_s));
    if !has_reads {
        return row;
    }
    row.figure("reads_us", microseconds(&|times| times.reads.wall_s))
        .figure("time_over_reads", median(&|times| times.batch.wall_s / times.reads.wall_s))
}
