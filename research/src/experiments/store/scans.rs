//! Scans of a whole table and a whole store that neither the page cache nor the block cache holds.
//!
//! A scan with reads in flight, one without, and plain reading of as many bytes take turns; figures are medians. The
//! processor time of the scanning thread says what of the time is not waiting.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Result, ensure};
use ogive::io::{FastPaths, LocalStorage, Storage, Timer};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Db, DbOptions, KeyType};

use super::super::device::read_plainly;
use super::super::progress::Progress;
use super::super::{Context, Experiment, Output};
use crate::output::{Record, Spread};
use crate::stopwatch::{Elapsed, Stopwatch};

pub(crate) const SCANS: Experiment = Experiment {
    name: "store/scans",
    about: "cold scans of a whole table and a whole store, over plain reading (--device FOLDER, --lookups ROUNDS)",
    run,
};

const RECORDS: u64 = 1_000_000;
const ROUNDS: usize = 5;
const VALUE_BYTES: usize = 200;
const TABLE: &str = "table";
const SHORT_SCAN_RECORDS: usize = 100;
/// The memory of a scan is 1/N of the records.
const MEMORY_DIVISOR: u64 = 12;
const COMMIT_RECORDS: u64 = 1_000;
const PIECE_BYTES: usize = 4 << 20;
const SUBJECTS: [&str; 4] = ["table", "table, backwards", "table, 100 records", "store"];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    if context.modelled_only {
        return Ok(());
    }
    let records = context.asked_count.unwrap_or(RECORDS);
    let rounds = context.lookups.unwrap_or(ROUNDS);
    let folder = context.device_folder()?;
    let progress = Progress::new(rounds + 1)?;
    progress.on("writing".to_owned());
    write(Arc::new(LocalStorage::new(folder.path())), records)?;
    let storage: Arc<LocalStorage> = Arc::new(LocalStorage::direct(folder.path()));
    let mut times = [const { [const { Vec::new() }; 2] }; SUBJECTS.len()];
    let mut plain = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        progress.step();
        progress.on("scanning".to_owned());
        for (subject, times) in SUBJECTS.iter().zip(&mut times) {
            for (in_flight, times) in [true, false].into_iter().zip(times) {
                times.push(scan(&storage, subject, in_flight, records)?);
            }
        }
        plain[0].push(plain_us(&storage, &[TABLE.to_owned()])?);
        let in_store: Vec<String> = storage.list()?.into_iter().filter(|name| name.ends_with(".table")).collect();
        plain[1].push(plain_us(&storage, &in_store)?);
    }
    for (subject, times) in SUBJECTS.iter().zip(times) {
        let plain_us = &plain[usize::from(*subject == "store")];
        output.report(figures(subject, &times, Spread::of(plain_us).median))?;
    }
    Ok(())
}

/// Writes a table and a store of the same records.
fn write(storage: Arc<dyn Storage>, records: u64) -> Result<()> {
    let value = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes().repeat(VALUE_BYTES / 8);
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(VALUE_BYTES as u32);
    let mut writer = TableWriter::create((Arc::clone(&storage), TABLE), options)?;
    for number in 0..records {
        writer.append(&(number * 5).to_be_bytes(), &value(number))?;
    }
    writer.finish()?;
    let db = Db::open(storage, &DbOptions::default())?;
    for start in (0..records).step_by(COMMIT_RECORDS as usize) {
        let mut batch = db.batch();
        for number in start..(start + COMMIT_RECORDS).min(records) {
            batch.insert(&db, (number * 5).to_be_bytes(), value(number));
        }
        batch.commit()?;
    }
    db.compact()?;
    db.close()?;
    Ok(())
}

fn scan(storage: &Arc<LocalStorage>, subject: &str, in_flight: bool, records: u64) -> Result<Elapsed> {
    let storage: Arc<dyn Storage> = storage.clone();
    let fast_paths = FastPaths { in_flight, ..FastPaths::ALL };
    let memory_bytes = (records * VALUE_BYTES as u64 / MEMORY_DIVISOR).max(4 << 20);
    if subject == "store" {
        let options = DbOptions::default().memory_bytes(memory_bytes).fast_paths(fast_paths);
        let db = Db::open(storage, &options)?;
        let watch = Stopwatch::start();
        let found = counted(db.iter(), records as usize)?;
        ensure!(found as u64 == records, "the scan gave {found} records of {records}");
        return Ok(watch.elapsed());
    }
    let options = TableOptions::default().memory_bytes(memory_bytes).fast_paths(fast_paths);
    let table = Table::open((storage, TABLE), &options)?;
    let watch = Stopwatch::start();
    match subject {
        "table, backwards" => counted(table.iter().rev(), records as usize)?,
        "table, 100 records" => counted(table.range((records * 2).to_be_bytes()..), SHORT_SCAN_RECORDS)?,
        _ => counted(table.iter(), records as usize)?,
    };
    Ok(watch.elapsed())
}

/// Takes records to the end, or until there are `most`.
fn counted<R>(records: impl Iterator<Item = ogive::Result<R>>, most: usize) -> Result<usize> {
    let mut count = 0;
    for record in records.take(most) {
        black_box(record?);
        count += 1;
    }
    Ok(count)
}

/// Reads files from end to end, one request at a time: microseconds.
fn plain_us(storage: &Arc<LocalStorage>, names: &[String]) -> Result<f64> {
    let (mut buffer, timer) = (vec![0; PIECE_BYTES], Timer::start());
    for name in names {
        read_plainly(&*storage.open(name)?, &mut buffer)?;
    }
    Ok(timer.elapsed_us())
}

fn figures(subject: &str, [in_flight, one]: &[Vec<Elapsed>; 2], plain_us: f64) -> Record {
    let of = |times: &[Elapsed], figure: fn(&Elapsed) -> f64| -> Vec<f64> { times.iter().map(figure).collect() };
    let median = |times: &[Elapsed], figure| Spread::of(&of(times, figure)).median;
    let wall = |time: &Elapsed| time.wall_s * 1e6;
    Record::new(SCANS.name)
        .figure("subject", subject)
        .spread("in_flight_us", &of(in_flight, wall))
        .spread("one_at_a_time_us", &of(one, wall))
        .figure("thread_us", median(in_flight, |time| time.thread_s * 1e6))
        .figure("process_us", median(in_flight, |time| time.process_s * 1e6))
        .figure("process_one_us", median(one, |time| time.process_s * 1e6))
        .figure("plain_reading_us", plain_us)
        .figure("over_one_at_a_time", median(in_flight, wall) / median(one, wall))
        .figure("over_thread", median(in_flight, wall) / median(in_flight, |time| time.thread_s * 1e6))
}
