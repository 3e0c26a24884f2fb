//! Tables 2 and 3, Figure 16: data on a device, priced by a profile.
//!
//! Processor time is measured on storage in memory. Device time is the sum of the profile's T(n) over the reads that
//! miss the memory of the store. Nothing is slowed down, so the two are separate.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{ModelledClock, Profile, Storage};
use ogive::lsm::DbOptions;

use super::setting::{SETS, lookups, options, records};
use super::store::{Order, Store, StoreSetup};
use super::subjects::{BASELINE, CODED, COST_BENEFIT, FILE, READ_ONLY, chosen};
use super::turns::record;
use super::ycsb::{drawn, growing};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::workload::{Population, Records, Requests, StoreMix};

pub(crate) const TABLE2: Experiment = Experiment {
    name: "bourbon/table2",
    about: "lookups with all data on fast storage, by a modelled clock (Bourbon, Table 2)",
    run: |context, output| {
        let profiles = context.profiles_or(&["optane"])?;
        // Filters and models stay in memory, and almost nothing else.
        lookups_on(TABLE2.name, Order::Sequential, SCARCE, &[Requests::Uniform], &profiles, context, output)
    },
};

pub(crate) const TABLE3: Experiment = Experiment {
    name: "bourbon/table3",
    about: "lookups with memory for a quarter of the data, uniform and skewed, by a modelled clock (Bourbon, Table 3)",
    run: |context, output| {
        let profiles = context.profiles_or(&["sata"])?;
        let requests = [Requests::Uniform, Requests::Hotspot { keys: QUARTER, requests: HOT_REQUESTS }];
        lookups_on(TABLE3.name, Order::Random, QUARTER, &requests, &profiles, context, output)
    },
};

pub(crate) const FIG16: Experiment = Experiment {
    name: "bourbon/fig16",
    about: "YCSB workloads A, B, D and F with all data on fast storage, by a modelled clock (Bourbon, Figure 16)",
    run: fig16,
};

/// Memory for a quarter of the data, which takes four of five requests.
const QUARTER: f64 = 0.25;
const HOT_REQUESTS: f64 = 0.8;
/// Memory as a share of the data: only what must stay in memory.
const SCARCE: f64 = 0.05;
/// Minimum memory of a store, in bytes.
const LEAST_BYTES: u64 = 2 << 20;

fn memory_bytes(records: &Records, share: f64) -> u64 {
    ((records.raw_bytes() as f64 * share) as u64).max(LEAST_BYTES)
}

fn little_memory(options: DbOptions, records: &Records, share: f64) -> DbOptions {
    let memory_bytes = memory_bytes(records, share);
    let memtable_bytes = options.writes.memtable_bytes.min(memory_bytes / 8);
    options.memory_bytes(memory_bytes).writes(|writes| writes.memtable_bytes(memtable_bytes))
}

/// A store on a clock.
fn clocked<'r>(setup: &StoreSetup<'_, 'r>, profile: &Profile) -> Result<(Store<'r>, ModelledClock)> {
    let mut clock = None;
    let around = |storage: Arc<dyn Storage>| -> Arc<dyn Storage> {
        Arc::new(clock.insert(ModelledClock::new(storage, profile.clone())).clone())
    };
    let store = Store::load_around(setup, around)?;
    let clock = clock.ok_or_else(|| anyhow::anyhow!("the store was opened without its storage"))?;
    Ok((store, clock))
}

fn lookups_on(
    name: &str,
    order: Order,
    share: f64,
    requests: &[Requests],
    profiles: &[Profile],
    context: &Context,
    output: &mut Output<'_>,
) -> Result<()> {
    let subjects = chosen(context, &READ_ONLY)?;
    each_set(context, name, &SETS, output, |spec, output| {
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        let progress = Progress::new(profiles.len() * subjects.len())?;
        for profile in profiles {
            let mut rows: Vec<Vec<(f64, f64)>> = Vec::new();
            for subject in &subjects {
                progress.on(format!("{} on {}, {spec}", subject.name, profile.name()));
                let options = little_memory(options(context, &records, subject), &records, share);
                let (records, population, options) = (&records, &population, &options);
                let setup = StoreSetup { context, records, population, order, options, subject };
                let (store, clock) = clocked(&setup, profile)?;
                let times = requests.iter().map(|requests| timed(context, &store, &clock, requests));
                rows.push(times.collect::<Result<_>>()?);
                progress.step();
            }
            let baseline = subjects.iter().position(|subject| *subject == BASELINE);
            for (subject, times) in subjects.iter().zip(&rows) {
                for (place, (requests, (processor_us, device_us))) in requests.iter().zip(times).enumerate() {
                    let mut row =
                        on_device(record(name, &records, subject), profile, requests, *processor_us, *device_us)
                            .figure("memory_bytes", memory_bytes(&records, share));
                    if let Some(baseline) = baseline {
                        let (processor, device) = rows[baseline][place];
                        row = row.figure("speedup", (processor + device) / (processor_us + device_us));
                    }
                    output.report(row)?;
                }
            }
        }
        Ok(())
    })
}

fn on_device(row: Record, profile: &Profile, requests: &Requests, processor_us: f64, device_us: f64) -> Record {
    row.profile(profile.name())
        .figure("requests", requests.to_string())
        .figure("processor_us", processor_us)
        .figure("modelled_device_us", device_us)
        .figure("modelled_us", processor_us + device_us)
}

/// Processor and device time of a lookup in microseconds, with a warm cache.
fn timed(context: &Context, store: &Store<'_>, clock: &ModelledClock, requests: &Requests) -> Result<(f64, f64)> {
    let count = lookups(context);
    store.get_ns(&store.asked(requests, count, true, context.seed)?)?;
    clock.reset();
    let processor_ns = store.get_ns(&store.asked(requests, count, true, context.seed + 1)?)?;
    Ok((processor_ns / 1e3, clock.elapsed_us() / count.max(1) as f64))
}

fn fig16(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let profiles = context.profiles_or(&["optane"])?;
    let subjects = chosen(context, &[BASELINE, FILE, COST_BENEFIT, CODED])?;
    each_set(context, FIG16.name, &["uniform"], output, |spec, output| {
        let records = records(context, spec)?;
        let population = growing(&records, lookups(context), context.seed);
        let progress = Progress::new(profiles.len() * subjects.len() * 4)?;
        for profile in &profiles {
            for mix in [StoreMix::A, StoreMix::B, StoreMix::D, StoreMix::F] {
                let (requests, operations) = drawn(context, mix, &population, lookups(context), context.seed)?;
                let mut baseline_us = f64::NAN;
                for subject in &subjects {
                    progress.on(format!("{mix}, {} on {}", subject.name, profile.name()));
                    let options = little_memory(options(context, &records, subject), &records, SCARCE);
                    let setup = StoreSetup {
                        context,
                        records: &records,
                        population: &population,
                        order: Order::Random,
                        options: &options,
                        subject,
                    };
                    let (mut store, clock) = clocked(&setup, profile)?;
                    clock.reset();
                    let work = store.run(&operations, |_, _| Ok(()))?;
                    let processor_us = work.foreground_us();
                    // Flushes and compactions of the same device are part of it, as they run in the same thread.
                    let device_us = clock.elapsed_us() / work.operations.max(1) as f64;
                    if *subject == BASELINE {
                        baseline_us = processor_us + device_us;
                    }
                    let row =
                        on_device(record(FIG16.name, &records, subject), profile, &requests, processor_us, device_us);
                    output.report(
                        row.figure("workload", mix.name())
                            .figure("modelled_operations_per_s", 1e6 / (processor_us + device_us))
                            .figure("speedup", baseline_us / (processor_us + device_us)),
                    )?;
                    progress.step();
                }
            }
        }
        Ok(())
    })
}
