//! A soak test of the store: concurrent writers, readers, snapshots, flushes, compactions and collections.
//!
//! Memory, file handles and disk space must stay flat, every answer must be right, and at the end every byte must
//! verify. The store is reopened repeatedly, each time with other options, drawn with a seed that each record states.

use std::fs::read_dir;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::bourbon::{Bourbon, LearningRule, ModelReads};
use anyhow::{Context as _, Result, ensure};
use ogive::Durability;
use ogive::block::Compression;
use ogive::io::{LocalStorage, Storage};
use ogive::lsm::{Db, DbOptions, Keyspace, Learning};
use ogive::verify::verify_store;

use super::super::{Context, Experiment, Output};
use crate::output::Record;
use crate::random::{Random, mix};

pub(crate) const SOAK: Experiment = Experiment {
    name: "store/soak",
    about: "soak test: a store under writers, readers and snapshots for a minute (--lookups SECONDS; --full: an hour)",
    run,
};

const SECONDS: u64 = 60;
const LONG_SECONDS: u64 = 3600;
const WRITERS: u64 = 2;
const READERS: u64 = 2;
/// Keys of each writer: few enough to be overwritten many times.
const KEYS: u64 = 20_000;
/// Number of times the store is opened.
const OPENINGS: u64 = 12;
/// Records per opening.
const REPORTS: u32 = 2;
/// 1/N of the values are long enough to be separated.
const LONG_VALUES: u64 = 8;

/// State shared by all threads.
struct Soak {
    db: Db,
    stop: AtomicBool,
    writes: AtomicU64,
    reads: AtomicU64,
    snapshots: AtomicU64,
    /// The acknowledged batches of each writer.
    done: [AtomicU64; WRITERS as usize],
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let seconds = context.lookups.map_or(if context.full { LONG_SECONDS } else { SECONDS }, |seconds| seconds as u64);
    let folder = context.device_folder()?;
    let mut draws = Random::new(context.seed, "soak options");
    let (start, mut total) = (Instant::now(), Totals::default());
    for opening in 1..=OPENINGS {
        let until = Duration::from_millis(seconds * 1000 * opening / OPENINGS);
        total = run_opening(context, folder.path(), &mut draws, (start, until), total, output)?;
    }
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    let report = verify_store(&storage, &mut |_, _| {})?;
    ensure!(report.is_sound(), "the store does not verify: {report:?}");
    output.report(Record::new(SOAK.name).figure("stage", "verified").figure("seconds", seconds))?;
    Ok(())
}

/// Totals over all openings so far.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    writes: u64,
    reads: u64,
    snapshots: u64,
    /// The last batch of each writer.
    done: [u64; WRITERS as usize],
}

/// Draws a learning policy, or none.
fn learning(one_of: &mut impl FnMut(usize) -> usize) -> Learning {
    let rule = LearningRule::ALL.get(one_of(LearningRule::ALL.len() + 1));
    let reads = [ModelReads::Block, ModelReads::Window][one_of(2)];
    let error = 1 << one_of(7);
    rule.map_or(Learning::CODED, |&rule| Bourbon { reads, error, ..Bourbon::new(rule) }.into())
}

/// Draws all options, with sizes that make every kind of work frequent.
fn drawn(random: &mut Random) -> DbOptions {
    let mut one_of = |count: usize| random.below(count as u64) as usize;
    DbOptions::default()
        .memory_bytes(16 << 20 << one_of(3))
        .writes(|writes| writes.memtable_bytes(512 << 10 << one_of(4)))
        .levels(|levels| {
            levels
                .table_bytes(256 << 10 << one_of(4))
                .level_bytes(1 << 20 << one_of(4))
                .level_factor([3, 6, 10][one_of(3)])
                .block_bytes(1 << 10 << one_of(5))
        })
        .durability([Durability::Synced, Durability::Grouped, Durability::Buffered][one_of(3)])
        .writes(|writes| writes.group_bytes(64 << 10 << one_of(5)))
        .values(|values| values.separation_bytes([0, 100, 1 << 10, u64::MAX][one_of(4)]))
        .compression([Compression::None, Compression::Lz4][one_of(2)])
        .levels(|levels| levels.filter_bits_per_key([None, Some(1), Some(10)][one_of(3)]))
        .values(|values| values.dead_share([0.1, 0.2, 0.5][one_of(3)]))
        .learning(learning(&mut one_of))
        .threads(1 + one_of(4))
        .open_files([None, Some(16), Some(64)][one_of(3)])
}

/// One opening of the store, from `clock.0` until `clock.1`, with drawn options; returns the totals.
fn run_opening(
    context: &Context,
    folder: &Path,
    draws: &mut Random,
    clock: (Instant, Duration),
    before: Totals,
    output: &mut Output<'_>,
) -> Result<Totals> {
    let (options, is_direct) = (drawn(draws), draws.below(2) == 0);
    let storage = if is_direct { LocalStorage::direct(folder) } else { LocalStorage::new(folder) };
    let storage = options.open_files.map_or(storage.clone(), |limit| storage.with_open_files(limit));
    let opened = format!("direct: {is_direct}, {options:?}");
    output.report(
        Record::new(SOAK.name)
            .figure("stage", "opening")
            .figure("seed", context.seed)
            .figure("seconds", clock.0.elapsed().as_secs())
            .figure("options", opened.clone()),
    )?;
    let soak = Soak {
        db: Db::open(Arc::new(storage), &options)?,
        stop: AtomicBool::new(false),
        writes: AtomicU64::new(before.writes),
        reads: AtomicU64::new(before.reads),
        snapshots: AtomicU64::new(before.snapshots),
        done: before.done.map(AtomicU64::new),
    };
    let keyspaces: Vec<Keyspace> =
        (0..WRITERS).map(|writer| soak.db.keyspace(&format!("writer {writer}"))).collect::<ogive::Result<_>>()?;
    let outcome = scope(|threads| {
        let mut workers = Vec::new();
        for writer in 0..WRITERS {
            let (soak, keyspaces) = (&soak, &keyspaces);
            workers.push(threads.spawn(move || soak.guard(|| soak.write(writer, keyspaces, context.seed))));
        }
        for reader in 0..READERS {
            let (soak, keyspaces) = (&soak, &keyspaces);
            workers.push(threads.spawn(move || soak.guard(|| soak.read(reader, keyspaces, context.seed))));
        }
        let watched = soak.watch(clock, folder, output);
        soak.stop.store(true, Ordering::Relaxed);
        let joined =
            workers.into_iter().map(|worker| worker.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?);
        joined.collect::<Result<Vec<()>>>().and(watched)
    });
    outcome.with_context(|| format!("seed {}, opened with {opened}", context.seed))?;
    drop(keyspaces);
    let total = Totals {
        writes: soak.writes.load(Ordering::Relaxed),
        reads: soak.reads.load(Ordering::Relaxed),
        snapshots: soak.snapshots.load(Ordering::Relaxed),
        done: soak.done.each_ref().map(|done| done.load(Ordering::Relaxed)),
    };
    soak.db.close()?;
    Ok(total)
}

impl Soak {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Stops all others when one fails.
    fn guard(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let outcome = work();
        if outcome.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Each batch writes one number under some keys of the writer, and under `last`, in its own keyspace.
    fn write(&self, writer: u64, keyspaces: &[Keyspace], seed: u64) -> Result<()> {
        let keyspace = &keyspaces[writer as usize];
        // Batches continue those of earlier openings.
        let mut number = self.done[writer as usize].load(Ordering::Acquire);
        let mut random = Random::new(mix(seed ^ writer) ^ number, "soak writer");
        while !self.is_stopped() {
            number += 1;
            let mut batch = self.db.batch();
            for _ in 0..random.below(16) {
                let key = random.below(KEYS).to_be_bytes();
                match random.below(20) {
                    0 => batch.remove(keyspace, key),
                    1 => batch.remove_range(keyspace, key..(u64::from_be_bytes(key) + 5).to_be_bytes()),
                    _ => batch.insert(keyspace, key, value(number, &mut random)),
                };
            }
            batch.insert(keyspace, "last", number.to_be_bytes());
            self.writes.fetch_add(batch.len(), Ordering::Relaxed);
            batch.commit()?;
            self.done[writer as usize].store(number, Ordering::Release);
        }
        Ok(())
    }

    /// Checks that a reader sees no state older than the last acknowledged write, none newer than its snapshot, and the
    /// same state each time.
    fn read(&self, reader: u64, keyspaces: &[Keyspace], seed: u64) -> Result<()> {
        let mut random = Random::new(seed ^ reader, "soak reader");
        while !self.is_stopped() {
            let writer = random.below(WRITERS);
            let keyspace = &keyspaces[writer as usize];
            let done = self.done[writer as usize].load(Ordering::Acquire);
            let snapshot = self.db.snapshot();
            self.snapshots.fetch_add(1, Ordering::Relaxed);
            let last = snapshot.get(keyspace, "last")?.and_then(|last| number_of(&last)).unwrap_or(0);
            ensure!(last >= done, "batch {done} was acknowledged, and a later snapshot shows {last}");
            let start = random.below(KEYS).to_be_bytes();
            let mut seen = 0_u64;
            for record in snapshot.range(keyspace, start..).take(random.below(200) as usize) {
                let (key, found) = record?;
                let number = number_of(&found).context("a value without a number")?;
                ensure!(number <= last, "key {key:?} shows batch {number} in a snapshot of batch {last}");
                ensure!(is_whole(&found), "the value of {key:?} is not what was written");
                if seen.is_multiple_of(16) {
                    ensure!(snapshot.get(keyspace, &key)? == Some(found), "a lookup and a range differ at {key:?}");
                }
                seen += 1;
            }
            self.reads.fetch_add(seen, Ordering::Relaxed);
        }
        Ok(())
    }

    fn watch(&self, (start, until): (Instant, Duration), folder: &Path, output: &mut Output<'_>) -> Result<()> {
        let from = start.elapsed().min(until);
        for report in 1..=REPORTS {
            let until = from + (until - from) * report / REPORTS;
            while start.elapsed() < until && !self.is_stopped() {
                sleep(Duration::from_millis(50).min(until.saturating_sub(start.elapsed())));
            }
            let stats = self.db.stats();
            output.report(
                Record::new(SOAK.name)
                    .figure("stage", "running")
                    .figure("seconds", start.elapsed().as_secs())
                    .figure("writes", self.writes.load(Ordering::Relaxed))
                    .figure("reads", self.reads.load(Ordering::Relaxed))
                    .figure("snapshots", self.snapshots.load(Ordering::Relaxed))
                    .figure("compactions", stats.activity.compactions)
                    .figure("moved_value_bytes", stats.activity.moved_value_bytes)
                    .figure("resident_set_bytes", resident_set_bytes())
                    .figure("file_handles", entries(Path::new("/proc/self/fd")))
                    .figure("files", entries(folder))
                    .figure("disk_bytes", stats.table_bytes + stats.value_file_bytes),
            )?;
        }
        Ok(())
    }
}

/// A value that identifies its batch and reveals truncation: its length, and a byte that fills it.
fn value(number: u64, random: &mut Random) -> Vec<u8> {
    let length = match random.below(LONG_VALUES) {
        0 => 1024 + random.below(4096),
        _ => random.below(100),
    };
    let mut value = number.to_be_bytes().to_vec();
    value.resize(8 + length as usize, number as u8);
    value
}

fn number_of(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

fn is_whole(value: &[u8]) -> bool {
    number_of(value).is_some_and(|number| value[8..].iter().all(|&byte| byte == number as u8)) || value.len() == 8
}

/// The resident set of this process; 0 if the system does not report it.
fn resident_set_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}

fn entries(folder: &Path) -> u64 {
    read_dir(folder).map_or(0, |entries| entries.count() as u64)
}
