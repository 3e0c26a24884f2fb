//! The comparison: all systems take turns, for each distribution of accounts, number of threads and durability.

use super::bank::{Bank, BankSystem, Transfer, balance};
use crate::arguments::TransfersArguments;
use ::ogive::io::Timer;
use anyhow::{Context, Result, bail, ensure};
use ogive_research::output::{Record, Reporter};
use ogive_research::random::Random;
use ogive_research::stores::{StoreBatch, StoreSettings};
use ogive_research::workload::ZipfRanks;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Accounts of a batch of the load.
const BATCH_ACCOUNTS: u64 = 1000;
/// The first balance of each account, and the greatest amount of a transfer.
const BALANCE: u64 = 1000;
const AMOUNT_MAX: u64 = 100;
/// Records of one scan when balances are added up.
const SCAN_RECORDS: usize = 10_000;
const MIB: u64 = 1 << 20;

/// All systems that were compiled in.
fn systems() -> Vec<&'static BankSystem> {
    vec![
        &super::ogive::OGIVE_BANK,
        #[cfg(feature = "rocksdb")]
        &super::rocksdb::ROCKSDB_BANK,
        #[cfg(feature = "lmdb")]
        &super::lmdb::LMDB_BANK,
        #[cfg(feature = "redb")]
        &super::redb::REDB_BANK,
        #[cfg(feature = "fjall")]
        &super::fjall::FJALL_BANK,
        #[cfg(feature = "sqlite")]
        &super::sqlite::SQLITE_BANK,
    ]
}

fn chosen(names: &[String]) -> Result<Vec<&'static BankSystem>> {
    let all = systems();
    if names.is_empty() {
        return Ok(all);
    }
    let named = |name: &String| {
        let found = all.iter().find(|system| system.store.name == name).copied();
        found.with_context(|| {
            let known: Vec<_> = all.iter().map(|system| system.store.name).collect();
            format!("no system is named {name}; there are {}", known.join(", "))
        })
    };
    names.iter().map(named).collect()
}

/// One way to transfer.
#[derive(Clone, Copy)]
struct Setup {
    skew: f64,
    threads: u64,
    synced: bool,
}

/// What one measurement counted.
#[derive(Clone, Copy, Default)]
struct Transferred {
    transfers: u64,
    conflicts: u64,
}

/// Runs the comparison.
pub(crate) fn run(run: &TransfersArguments, out: &mut dyn Write, json: bool) -> Result<()> {
    let mut reporter = Reporter::new(out, json);
    let systems = chosen(&run.systems)?;
    let parent = run.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder =
        tempfile::tempdir_in(&parent).with_context(|| format!("no folder can be made under {}", parent.display()))?;
    let settings = |synced| StoreSettings {
        memory_bytes: run.memory * MIB,
        memtable_bytes: run.memtable * MIB,
        synced,
        direct: false,
        lz4: false,
    };
    for system in &systems {
        eprintln!("load: {}", system.store.name);
        load(system, &folder.path().join(system.store.name), &settings(false), run.accounts)?;
    }
    for system in &systems {
        reporter.report(described(system, &settings(true)))?;
    }
    for setup in setups(run) {
        let mut figures = vec![(Vec::new(), Transferred::default()); systems.len()];
        for round in 0..run.rounds {
            for (system, (rates, total)) in systems.iter().zip(&mut figures) {
                eprintln!("round {}: {}", round + 1, system.store.name);
                let place = folder.path().join(system.store.name);
                let (rate, counts) = measure(system, &place, &settings(setup.synced), run, setup, round)?;
                rates.push(rate);
                total.transfers += counts.transfers;
                total.conflicts += counts.conflicts;
            }
        }
        for (system, (rates, total)) in systems.iter().zip(&figures) {
            reporter.report(record(system, setup, rates, *total))?;
        }
    }
    for system in &systems {
        eprintln!("sum: {}", system.store.name);
        check_sum(system, &folder.path().join(system.store.name), &settings(false), run.accounts)?;
    }
    Ok(reporter.flush()?)
}

fn setups(run: &TransfersArguments) -> Vec<Setup> {
    let mut setups = Vec::new();
    for synced in [false, true] {
        for &threads in &run.threads {
            setups.extend([0.0, run.skew].map(|skew| Setup { skew, threads, synced }));
        }
    }
    setups
}

fn described(system: &BankSystem, settings: &StoreSettings) -> Record {
    Record::new("rivals/transfers: systems")
        .figure("system", system.store.name)
        .figure("isolation", system.isolation)
        .figure("settings", (system.store.settings)(settings))
}

fn record(system: &BankSystem, setup: Setup, rates: &[f64], counts: Transferred) -> Record {
    Record::new("rivals/transfers")
        .figure("system", system.store.name)
        .figure("accounts", if setup.skew == 0.0 { "uniform".to_owned() } else { format!("zipf:{}", setup.skew) })
        .figure("threads", setup.threads)
        .figure("synced", setup.synced)
        .spread("transfers_per_s", rates)
        .figure("conflicts_per_1000", counts.conflicts as f64 / counts.transfers.max(1) as f64 * 1e3)
}

fn load(system: &BankSystem, place: &Path, settings: &StoreSettings, accounts: u64) -> Result<()> {
    std::fs::create_dir(place)?;
    let mut store = (system.store.open)(place, settings)?;
    {
        let mut writer = store.writer()?;
        let mut batch = StoreBatch::default();
        for first in (0..accounts).step_by(BATCH_ACCOUNTS as usize) {
            batch.clear();
            for account in first..(first + BATCH_ACCOUNTS).min(accounts) {
                batch.push(&account.to_be_bytes(), &BALANCE.to_le_bytes());
            }
            writer.write(&batch)?;
        }
    }
    store.wait_idle()
}

/// Transfers for some seconds with all threads; returns transfers per second, and what was counted.
fn measure(
    system: &BankSystem,
    place: &Path,
    settings: &StoreSettings,
    run: &TransfersArguments,
    setup: Setup,
    round: u64,
) -> Result<(f64, Transferred)> {
    let bank = (system.open)(place, settings)?;
    let (bank, stop): (&dyn Bank, _) = (&*bank, AtomicBool::new(false));
    thread::scope(|scope| {
        let time = Timer::start();
        let tellers: Vec<_> = (0..setup.threads)
            .map(|thread| {
                let seed = run.seed ^ (round << 32 | thread << 16);
                let stop = &stop;
                scope.spawn(move || transfer(bank, run.accounts, setup.skew, seed, stop))
            })
            .collect();
        thread::sleep(Duration::from_secs_f64(run.seconds));
        stop.store(true, Ordering::Relaxed);
        let mut counts = Transferred::default();
        for teller in tellers {
            let Ok(counted) = teller.join() else { bail!("{}: a thread panicked", system.store.name) };
            let counted = counted.with_context(|| system.store.name)?;
            counts.transfers += counted.transfers;
            counts.conflicts += counted.conflicts;
        }
        Ok((counts.transfers as f64 / (time.elapsed_us() / 1e6), counts))
    })
}

/// Transfers until it is stopped.
fn transfer(bank: &dyn Bank, accounts: u64, skew: f64, seed: u64, stop: &AtomicBool) -> Result<Transferred> {
    let mut random = Random::new(seed, "transfers");
    let (ranks, mut teller) = (ZipfRanks::new(accounts, skew), bank.teller()?);
    // Ranks are spread over the keys, so that hot accounts are no neighbours.
    let spread = |rank: u64| (rank.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1) % accounts;
    let mut counts = Transferred::default();
    while !stop.load(Ordering::Relaxed) {
        let (from, to) = (spread(ranks.draw(&mut random)), spread(ranks.draw(&mut random)));
        if from == to {
            continue;
        }
        let amount = 1 + random.below(AMOUNT_MAX);
        let transfer = Transfer { from: from.to_be_bytes(), to: to.to_be_bytes(), amount };
        counts.conflicts += teller.transfer(&transfer)?;
        counts.transfers += 1;
    }
    Ok(counts)
}

/// Adds up all balances.
fn check_sum(system: &BankSystem, place: &Path, settings: &StoreSettings, accounts: u64) -> Result<()> {
    let store = (system.store.open)(place, settings)?;
    let mut reader = store.reader(false)?;
    let (mut sum, mut count, mut records) = (0, 0, Vec::new());
    loop {
        // Accounts are numbered without gaps.
        let read = reader.scan(&u64::to_be_bytes(count), SCAN_RECORDS, &mut records)?;
        for record in records.chunks_exact(16) {
            sum += balance(record.get(8..))?;
        }
        count += read as u64;
        if read < SCAN_RECORDS {
            break;
        }
    }
    let name = system.store.name;
    ensure!(count == accounts, "{name} has {count} accounts instead of {accounts}");
    ensure!(sum == accounts * BALANCE, "{name}: the balances add up to {sum} instead of {}", accounts * BALANCE);
    Ok(())
}
