//! Retuned against untuned: a table whose index is designed anew for a sample of the keys that were looked up, and one
//! that is designed for cold lookups of any key (AirIndex, Section 6: workload tracker, what-if, cache-aware).
//!
//! Lookups with a warm cache of a given size are made in the untuned table while a bounded sample of them is taken; the
//! next lookups of the same distribution are metered in it and in the retuned tables.

use std::sync::Arc;

use anyhow::{Result, ensure};
use ogive::io::{MemoryStorage, Profile, seed_random};
use ogive::table::{LookupSample, TableOptions, TableReport, TableWriteOptions};
use ogive::tune::{DesignCaching, DesignObjective, DesignRequest};

use super::keys::Keys;
use super::lookups::{Bench, check, positions};
use super::settings::{KEY_SETS, Progress, profiles};
use super::tables::{NAME, Recipe, layers, write_with};
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::random::Random;
use crate::workload::Workload;

pub(crate) const RETUNE: Experiment = Experiment {
    name: "airindex/retune",
    about: "an index for sampled lookups and a cache beside one for cold lookups of any key (AirIndex, Section 6)",
    run,
};

const PROFILES: [&str; 3] = ["optane", "ssd", "s3"];
/// Keys of generated sets without a count.
const COUNT: u64 = 1_000_000;
/// Lookups before the measurement, which fill the cache and are sampled, and as many that are measured.
const LOOKUPS: usize = 200_000;
/// Keys of the sample.
const SAMPLED_KEYS: usize = 50_000;
/// Caches, by the share of the bytes of all records that the memory of the open table has.
const MEMORY_SHARES: [f64; 2] = [0.02, 0.2];
/// Quantile of a lookup that is reported.
const QUANTILE: f64 = 0.99;

/// A distribution of lookups.
#[derive(Debug)]
struct RetuneLookups {
    name: &'static str,
    /// Positions of the records, in order of the lookups.
    positions: Vec<u64>,
}

/// Share of the keys that are hot, one behind the other, and of the lookups that ask for them.
const HOT: (f64, f64) = (0.01, 0.9);

/// What an index is designed for.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// Cold lookups of any key: the default.
    Untuned,
    /// Lookups in an open table.
    Open,
    /// The sampled lookups, in an open table with a cache.
    Sample,
    /// The same, by the 99th percentile.
    SampleTail,
}

const GOALS: [(Goal, &str); 4] =
    [(Goal::Untuned, "untuned"), (Goal::Open, "open"), (Goal::Sample, "retuned"), (Goal::SampleTail, "retuned-p99")];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let profiles = profiles(context, &PROFILES)?;
    each_set(context, RETUNE.name, &KEY_SETS[..1], output, |spec, output| {
        let set = context.open_of(spec, COUNT)?;
        let keys = Keys::load(&set)?;
        let workloads = workloads(context, &keys)?;
        let progress = Progress::new(profiles.len() * workloads.len())?;
        for profile in &profiles {
            for asked in &workloads {
                progress.on(format!("{} on {}", asked.name, profile.name()));
                let case = RetuneCase { context, set: set.name(), keys: &keys, profile, asked };
                case.measure(output)?;
                progress.step();
            }
        }
        Ok(())
    })
}

/// The lookups: those of the warm-up, then those that are measured.
fn workloads(context: &Context, keys: &Keys) -> Result<Vec<RetuneLookups>> {
    let count = 2 * context.lookups.unwrap_or(LOOKUPS);
    let drawn = |name, workload| {
        Ok::<_, anyhow::Error>(RetuneLookups { name, positions: positions(keys, &workload, count, context.seed)? })
    };
    let mut random = Random::new(context.seed, "hot range");
    let hot = ((keys.len() as f64 * HOT.0) as u64).max(1);
    let first = random.below(keys.len() as u64 - hot + 1);
    let mut position = || match random.unit() < HOT.1 {
        true => first + random.below(hot),
        false => random.below(keys.len() as u64),
    };
    let hot_range = RetuneLookups { name: "hot-range", positions: (0..count).map(|_| position()).collect() };
    Ok(vec![
        drawn("uniform", Workload::Present)?,
        drawn("zipf:0.99", Workload::Zipf { skew: 0.99 })?,
        drawn("zipf:1.3", Workload::Zipf { skew: 1.3 })?,
        hot_range,
    ])
}

struct RetuneCase<'c> {
    context: &'c Context,
    set: &'c str,
    keys: &'c Keys,
    profile: &'c Profile,
    asked: &'c RetuneLookups,
}

/// A written table.
struct Designed {
    storage: Arc<MemoryStorage>,
    report: TableReport,
}

impl RetuneCase<'_> {
    fn measure(&self, output: &mut Output<'_>) -> Result<()> {
        let untuned = self.design(Goal::Untuned, 0, Vec::new())?;
        for share in MEMORY_SHARES {
            let record_bytes = self.keys.key_bytes() + self.keys.len() as u64 * u64::from(self.context.payload_bytes);
            let memory_bytes = (record_bytes as f64 * share) as u64;
            // The same sample in every run.
            seed_random(Some(self.context.seed));
            let sample = LookupSample::new(SAMPLED_KEYS);
            seed_random(None);
            let (mut untuned_us, mut sampled_keys) = (None, Vec::new());
            for (goal, name) in GOALS {
                let made;
                let designed = match goal {
                    Goal::Untuned => &untuned,
                    _ => {
                        made = self.design(goal, memory_bytes, sampled_keys.clone())?;
                        &made
                    }
                };
                let taken = matches!(goal, Goal::Untuned).then_some(&mut sampled_keys);
                let found = self.look_up(designed, memory_bytes, &sample, taken)?;
                let untuned_us = *untuned_us.get_or_insert(found.mean_us);
                output.report(
                    self.record(name, share, designed, &found).figure("to_untuned", found.mean_us / untuned_us),
                )?;
            }
        }
        Ok(())
    }

    fn design(&self, goal: Goal, memory_bytes: u64, looked_up: Vec<Vec<u8>>) -> Result<Designed> {
        let options = Recipe::new(self.context, &DesignRequest::Tuned, self.profile).options(self.keys);
        let open = DesignCaching::opened_once_in(0);
        let sampled = |options: TableWriteOptions| {
            options.tuning(|tuning| {
                tuning.caching(DesignCaching { memory_bytes: Some(memory_bytes), ..open.clone() }).looked_up(looked_up)
            })
        };
        let options = match goal {
            Goal::Untuned => options,
            Goal::Open => options.tuning(|tuning| tuning.caching(open)),
            Goal::Sample => sampled(options),
            Goal::SampleTail => sampled(options).tuning(|tuning| tuning.objective(DesignObjective::Quantile(QUANTILE))),
        };
        let storage = Arc::new(MemoryStorage::new());
        let report = write_with(storage.clone(), self.keys, options, self.context.payload_bytes)?.report;
        Ok(Designed { storage, report })
    }

    /// Makes the lookups of the warm-up, then those that are metered. If a sample is wanted, it is of the warm-up: an
    /// index is not designed for the lookups that measure it.
    fn look_up(
        &self,
        designed: &Designed,
        memory_bytes: u64,
        sample: &LookupSample,
        taken: Option<&mut Vec<Vec<u8>>>,
    ) -> Result<Metered> {
        let bench = Bench::new(designed.storage.clone(), std::slice::from_ref(self.profile));
        let options = TableOptions::default().memory_bytes(memory_bytes).profile(self.profile.clone());
        let sampled = taken.is_some().then(|| sample.clone());
        let table = ogive::Table::open((Arc::clone(&bench.storage), NAME), &options.lookup_sample(sampled))?;
        let (warm_up, measured) = self.asked.positions.split_at(self.asked.positions.len() / 2);
        ensure!(!measured.is_empty(), "a measurement takes at least one lookup; give --lookups 1 or more");
        for &position in warm_up {
            check(&table, &self.keys.at(position as usize), self.context.payload_bytes)?;
        }
        if let Some(taken) = taken {
            *taken = sample.keys();
        }
        bench.meter.reset();
        bench.lap_us();
        let mut times_us = Vec::with_capacity(measured.len());
        for &position in measured {
            check(&table, &self.keys.at(position as usize), self.context.payload_bytes)?;
            times_us.push(bench.lap_us().iter().sum::<f64>());
        }
        let reads = bench.meter.reset().reads;
        let count = measured.len() as f64;
        times_us.sort_by(f64::total_cmp);
        Ok(Metered {
            mean_us: times_us.iter().sum::<f64>() / count,
            p99_us: times_us[((count * QUANTILE).ceil() as usize).clamp(1, times_us.len()) - 1],
            requests: reads.requests as f64 / count,
            bytes: reads.bytes as f64 / count,
        })
    }

    fn record(&self, goal: &str, share: f64, designed: &Designed, found: &Metered) -> Record {
        let report = &designed.report;
        let record = Record::new(RETUNE.name)
            .keys(self.set)
            .profile(self.profile.name())
            .design("tuned")
            .figure("workload", self.asked.name)
            .figure("goal", goal)
            .figure("memory_share", share)
            .figure("requests_per_get", found.requests)
            .figure("bytes_per_get", found.bytes)
            .figure("mean_modelled_us", found.mean_us)
            .figure("p99_modelled_us", found.p99_us)
            .figure("layers", layers(report))
            .figure("block_bytes", report.block_size_bytes)
            .figure("index_bytes", report.index_bytes);
        match &report.objective {
            Some(stated) => record.figure("predicted_us", stated.modelled_us),
            None => record,
        }
    }
}

/// Means over the metered lookups, without opening.
struct Metered {
    mean_us: f64,
    p99_us: f64,
    requests: f64,
    bytes: f64,
}
