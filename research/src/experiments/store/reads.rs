//! Many reads in flight: what a storage of direct reads reaches, and what `fio` reaches on the same file.
//!
//! Both take turns, so that the load of the machine meets both; each figure is the median of the rounds. A call of
//! `read_many` waits for its last range before the next call begins, while `fio` keeps its depth: at equal numbers of
//! reads this makes a call slower by the time of one read. The row `reads_in_call = 1024` has no such gap.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use ogive::io::{LocalStorage, Purpose, ReadRequest, ReadableFile, Storage};

use super::super::progress::Progress;
use super::super::{Context, Experiment, Output};
use super::fio::{QUEUE, ReadPattern, ReadRate, THREADS, run_fio};
use crate::output::Record;
use crate::random::Random;
use crate::stopwatch::Stopwatch;

pub(crate) const READS: Experiment = Experiment {
    name: "store/reads",
    about: "direct reads by size and number in flight, ours and those of fio (--device FOLDER, --lookups ROUNDS)",
    run,
};

const FILE_BYTES: u64 = 1 << 30;
const PIECE_BYTES: usize = 16 << 20;
const ROUNDS: usize = 5;
/// Seconds of each measurement.
const SLICE_S: f64 = 1.0;
const RANDOM_READ_BYTES: usize = 4096;
/// Reads in one call, and the depth of `fio` to compare them with.
const RANDOM: [(usize, usize); 8] = [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (32, 32), (64, 64), (1024, 32)];
const SEQUENTIAL_READ_BYTES: [usize; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];
const SEQUENTIAL_IN_CALL: [usize; 4] = [1, 2, 4, 8];

/// A row of the experiment.
#[derive(Clone, Copy)]
struct ReadCase {
    pattern: ReadPattern,
    in_call: usize,
    engine: &'static str,
}

fn cases() -> Vec<ReadCase> {
    let random = RANDOM.iter().map(|&(in_call, in_flight)| ReadCase {
        pattern: ReadPattern { is_random: true, read_bytes: RANDOM_READ_BYTES, in_flight },
        in_call,
        engine: THREADS,
    });
    let sequential = SEQUENTIAL_READ_BYTES.iter().flat_map(|&read_bytes| {
        SEQUENTIAL_IN_CALL.map(|in_flight| ReadCase {
            pattern: ReadPattern { is_random: false, read_bytes, in_flight },
            in_call: in_flight,
            engine: QUEUE,
        })
    });
    random.chain(sequential).collect()
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let folder = context.device_folder()?;
    write_file(folder.path(), context.seed)?;
    let storage = LocalStorage::direct(folder.path());
    let file = storage.open("reads")?;
    let rounds = context.lookups.unwrap_or(ROUNDS);
    let progress = Progress::new(cases().len() * rounds)?;
    for case in cases() {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            ours.push(own_rate(&*file, case, context.seed + round as u64)?);
            theirs.extend(run_fio(&folder.path().join("reads"), case.pattern, case.engine, SLICE_S)?);
            progress.step();
        }
        let row = Record::new(READS.name)
            .figure("order", if case.pattern.is_random { "random" } else { "sequential" })
            .figure("read_bytes", case.pattern.read_bytes as u64)
            .figure("reads_in_call", case.in_call as u64)
            .figure("is_direct", u64::from(file.is_direct()));
        let row = rate_figures(row, "", case, &ours);
        let row = match theirs.is_empty() {
            true => row,
            false => {
                let over = |of: fn(&ReadRate) -> f64| median(&ours, of) / median(&theirs, of);
                rate_figures(row, "fio_", case, &theirs)
                    .figure("rate_over_fio", over(|rate| rate.reads_per_s))
                    .figure("processor_over_fio", over(|rate| rate.processor_us_per_read))
            }
        };
        output.report(row)?;
    }
    Ok(())
}

fn rate_figures(row: Record, prefix: &str, case: ReadCase, rates: &[ReadRate]) -> Record {
    let reads_per_s = median(rates, |rate| rate.reads_per_s);
    row.figure(&format!("{prefix}reads_per_s"), reads_per_s)
        .figure(&format!("{prefix}mb_per_s"), reads_per_s * case.pattern.read_bytes as f64 / 1e6)
        .figure(&format!("{prefix}processor_us_per_read"), median(rates, |rate| rate.processor_us_per_read))
}

fn median(rates: &[ReadRate], of: fn(&ReadRate) -> f64) -> f64 {
    let mut values: Vec<f64> = rates.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Writes incompressible bytes, so that no layer below can leave reads out.
fn write_file(folder: &Path, seed: u64) -> Result<()> {
    let storage = LocalStorage::new(folder).with_direct_writes();
    let mut file = storage.create("reads")?;
    let mut random = Random::new(seed, "bytes of a file");
    let mut piece = vec![0; PIECE_BYTES];
    while file.len() < FILE_BYTES {
        piece.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&random.bits().to_le_bytes()));
        file.append(&piece)?;
    }
    file.sync()?;
    storage.sync_directory()?;
    Ok(())
}

/// The rate of `read_many` with this many requests in each call.
fn own_rate(file: &dyn ReadableFile, case: ReadCase, seed: u64) -> Result<ReadRate> {
    let ReadPattern { is_random, read_bytes, .. } = case.pattern;
    let mut random = Random::new(seed, "places of reads");
    let places = file.len() / read_bytes as u64;
    let mut buffers = vec![vec![0; read_bytes]; case.in_call];
    let mut next = random.below(places);
    let (watch, start, mut reads) = (Stopwatch::start(), Instant::now(), 0);
    while start.elapsed().as_secs_f64() < SLICE_S {
        let mut requests = Vec::with_capacity(buffers.len());
        for buffer in &mut buffers {
            next = if is_random { random.below(places) } else { (next + 1) % places };
            requests.push(ReadRequest { offset: next * read_bytes as u64, buffer, purpose: Purpose::Data });
        }
        file.read_many(requests)?;
        reads += case.in_call;
    }
    let elapsed = watch.elapsed();
    Ok(ReadRate {
        reads_per_s: reads as f64 / elapsed.wall_s,
        processor_us_per_read: elapsed.process_s * 1e6 / reads as f64,
    })
}
