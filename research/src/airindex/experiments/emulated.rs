//! Figures 9(b), 10 and 14 on an object store that is slowed down to a profile: emulated times beside modelled ones.
//!
//! The objects are in memory. Each request waits for the latency of the profile, and for its bytes at the bandwidth:
//! what is measured is everything else, such as reads that wait for each other, and the time of the processor.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use ogive::io::{Profile, Storage, Timer};
use ogive::tune::DesignRequest;
use ogive::{Table, TableOptions};
use ogive_object_store::{ObjectOptions, ObjectStorage};

use super::cases::{LookupCase, each_table};
use super::keys::Keys;
use super::lookups::{Bench, check, positions};
use super::mismatch::{bandwidth_mb_per_s, changed};
use super::settings::{KEY_SETS, Progress, profiles};
use super::tables::{Recipe, write_table};
use super::warm::{MEMORY_BYTES, is_point};
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::{Record, Spread};
use crate::workload::Workload;

pub(crate) const EMULATED: Experiment = Experiment {
    name: "airindex/emulated",
    about: "lookups in objects that are slowed down to a profile: emulated and modelled (AirIndex, Figures 9, 10, 14)",
    run,
};

const PROFILES: [&str; 1] = ["nfs"];
const DESIGNS: [&str; 7] = ["tuned", "btree", "pgm:128", "rmi", "plex:2048", "data-calculator", "coded"];
/// Lookups of a curve: each waits for a tenth of a second.
const LOOKUPS: usize = 100;
/// First lookups of a table.
const FIRST_LOOKUPS: usize = 5;
/// Factors of latency and bandwidth between the storage that a table was tuned for and the actual one. Larger ones take
/// seconds a lookup, smaller ones are below the resolution of waits, a millisecond.
const FACTORS: [(f64, f64); 4] = [(0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (1.0, 10.0)];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_table(context, EMULATED.name, (&PROFILES, &DESIGNS), output, lookups)?;
    mismatches(context, output)
}

/// The folder of a store of objects.
fn folder(store: Arc<dyn ObjectStore>, profile: &Profile) -> Result<Arc<dyn Storage>> {
    let options = ObjectOptions::default().profile(profile.clone());
    Ok(Arc::new(ObjectStorage::new(store, "", &format!("emulated://{}", profile.name()), &options)?))
}

/// The same objects, slowed down to a profile.
fn slowed(store: &Arc<dyn ObjectStore>, profile: &Profile) -> Result<Arc<dyn Storage>> {
    let config = ThrottleConfig {
        wait_get_per_call: Duration::from_secs_f64(profile.time_us(0) / 1e6),
        wait_get_per_byte: Duration::from_secs_f64(1e-6 / bandwidth_mb_per_s(profile)),
        ..ThrottleConfig::default()
    };
    folder(Arc::new(ThrottledStore::new(Arc::clone(store), config)), profile)
}

fn open(bench: &Bench, profile: &Profile) -> Result<Table> {
    bench.open_with(&TableOptions::default().memory_bytes(MEMORY_BYTES).profile(profile.clone()))
}

/// The time of a lookup, emulated and modelled, including the opening of the table.
#[derive(Clone, Copy, Debug)]
struct FirstLookup {
    emulated_us: f64,
    modelled_us: f64,
}

fn first_lookups(
    storage: &Arc<dyn Storage>,
    profile: &Profile,
    keys: &Keys,
    payload_bytes: u32,
    asked: &[u64],
) -> Result<Vec<FirstLookup>> {
    let bench = Bench::new(Arc::clone(storage), std::slice::from_ref(profile));
    asked
        .iter()
        .map(|&position| {
            let timer = Timer::start();
            let table = open(&bench, profile)?;
            check(&table, &keys.at(position as usize), payload_bytes)?;
            Ok(FirstLookup { emulated_us: timer.elapsed_us(), modelled_us: bench.lap_us().iter().sum() })
        })
        .collect()
}

/// The positions of first lookups.
fn first_positions(context: &Context, keys: &Keys) -> Result<Vec<u64>> {
    let count = context.lookups.map_or(FIRST_LOOKUPS, |lookups| lookups.min(FIRST_LOOKUPS));
    positions(keys, &Workload::Present, count, context.seed)
}

/// Figures 9(b) and 10: first lookups, and the mean of more in one open table.
fn lookups(case: &LookupCase<'_>, output: &mut Output<'_>) -> Result<()> {
    let (context, keys, profile) = (case.context, case.keys, case.profile);
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    write_table(folder(Arc::clone(&store), profile)?, keys, &case.recipe())?;
    let storage = slowed(&store, profile)?;
    let first = first_lookups(&storage, profile, keys, context.payload_bytes, &first_positions(context, keys)?)?;
    output.report(with_times(case.record(EMULATED.name).figure("part", "first"), &first))?;

    let bench = Bench::new(storage, std::slice::from_ref(profile));
    let asked = positions(keys, &Workload::Present, context.lookups.unwrap_or(LOOKUPS), context.seed)?;
    let timer = Timer::start();
    let table = open(&bench, profile)?;
    let mut modelled_us = 0.0;
    for (done, &position) in (1_usize..).zip(&asked) {
        check(&table, &keys.at(position as usize), context.payload_bytes)?;
        if is_point(done) || done == asked.len() {
            modelled_us += bench.lap_us().iter().sum::<f64>();
            let reads = bench.meter.snapshot().reads;
            let record = case.record(EMULATED.name).figure("part", "mean").figure("lookups", done as u64);
            output.report(
                record
                    .figure("emulated_us", timer.elapsed_us() / done as f64)
                    .figure("modelled_us", modelled_us / done as f64)
                    .figure("reads_per_get", reads.requests as f64 / done as f64),
            )?;
        }
    }
    Ok(())
}

fn with_times(record: Record, lookups: &[FirstLookup]) -> Record {
    record.spread("emulated_us", &emulated_us(lookups)).figure("modelled_us", median(&modelled_us(lookups)))
}

fn emulated_us(lookups: &[FirstLookup]) -> Vec<f64> {
    lookups.iter().map(|lookup| lookup.emulated_us).collect()
}

fn modelled_us(lookups: &[FirstLookup]) -> Vec<f64> {
    lookups.iter().map(|lookup| lookup.modelled_us).collect()
}

fn median(values: &[f64]) -> f64 {
    Spread::of(values).median
}

/// Figure 14: a table on a storage other than it was tuned for, beside one that was tuned for that.
fn mismatches(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let tuned = DesignRequest::Tuned;
    let profiles = profiles(context, &PROFILES)?;
    each_set(context, EMULATED.name, &KEY_SETS[..1], output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let keys = Keys::load(&set)?;
        let asked = first_positions(context, &keys)?;
        for profile in &profiles {
            let progress = Progress::new(FACTORS.len())?;
            for (latency_factor, bandwidth_factor) in FACTORS {
                progress.on(format!("{} with {latency_factor}, {bandwidth_factor}", profile.name()));
                let actual = changed(profile, latency_factor, bandwidth_factor)?;
                let of = |tuned_for: &Profile| -> Result<Vec<FirstLookup>> {
                    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
                    let recipe = Recipe::new(context, &tuned, tuned_for);
                    write_table(folder(Arc::clone(&store), tuned_for)?, &keys, &recipe)?;
                    first_lookups(&slowed(&store, &actual)?, &actual, &keys, context.payload_bytes, &asked)
                };
                let (ours, best) = (of(profile)?, of(&actual)?);
                let best_us = median(&emulated_us(&best));
                let record = Record::new(EMULATED.name)
                    .keys(set.name())
                    .profile(profile.name())
                    .design("tuned")
                    .figure("part", "mismatch")
                    .figure("latency_factor", latency_factor)
                    .figure("bandwidth_factor", bandwidth_factor);
                output.report(
                    with_times(record, &ours)
                        .figure("best_emulated_us", best_us)
                        .figure("slowdown", median(&emulated_us(&ours)) / best_us)
                        .figure("modelled_slowdown", median(&modelled_us(&ours)) / median(&modelled_us(&best))),
                )?;
                progress.step();
            }
        }
        Ok(())
    })
}
