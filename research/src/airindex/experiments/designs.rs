//! Figures 9 and 11: every design on every key set and profile, with modelled and metered costs.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{MemoryStorage, Profile};
use ogive::table::TableReport;
use ogive::tune::DesignRequest;

use super::device::MeasuredDevice;
use super::keys::Keys;
use super::lookups::{Bench, COLD_MEMORY_BYTES, Cold, Limits, look_up_cold, positions};
use super::settings::{KEY_SETS, Progress, designs, is_searched, profiles};
use super::structures::{LoadedStructure, keys_at, rivals};
use super::tables::{Recipe, layers, write_table};
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::{Record, Spread};
use crate::workload::Workload;

pub(crate) const DESIGNS: Experiment = Experiment {
    name: "airindex/designs",
    about: "each index design on each storage: modelled, metered, and cold on this device (AirIndex, Figures 9 and 11)",
    run,
};

/// The designs that do not depend on the storage.
const FIXED: [&str; 5] = ["btree", "pgm:64", "pgm:128", "coded", "none"];
/// The designs for tables of byte strings.
const FIXED_FOR_TEXT: [&str; 2] = ["coded", "none"];
const PROFILES: [&str; 6] = ["optane", "nvme", "ssd", "hdd", "nfs", "s3"];
/// The tuned design with the block size chosen from all keys instead of a sample.
const TUNED_EXACTLY: &str = "tuned exactly";
const LOOKUPS: usize = 10_000;
/// Limit on the bytes read by lookups in a table without an index, each of which reads the whole table.
const MOST_BYTES: u64 = 1 << 30;
/// A reader with memory for several copies of a table reads it whole; larger tables are searched block by block, and
/// their lookups cost less than modelled.
const WHOLE_TABLES: u64 = 4;

/// AirIndex's own figures for 10 million records of 8 bytes: key set, profile, microseconds of a cold lookup.
const PAPER: [(&str, &str, f64); 6] = [
    ("lognormal", "ssd", 573.0),
    ("lognormal", "nfs", 101_100.0),
    ("uniform", "ssd", 541.0),
    ("uniform", "nfs", 100_600.0),
    ("step", "ssd", 766.0),
    ("step", "nfs", 106_500.0),
];

/// One design on one profile: a result for each seed.
struct DesignCell {
    profile: String,
    design: String,
    runs: Vec<DesignRun>,
}

struct DesignRun {
    report: TableReport,
    modelled_us: f64,
    metered_us: f64,
    cold: Cold,
    build_s: f64,
    /// Bytes of keys and values in those of the data blocks.
    fill_percent: f64,
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let profiles = profiles(context, &PROFILES)?;
    let mut device = MeasuredDevice::new(context);
    each_set(context, DESIGNS.name, &KEY_SETS, output, |spec, output| {
        let mut cells: Vec<DesignCell> = Vec::new();
        let mut name = spec.to_owned();
        for seed in context.seeds() {
            let set = context.open(spec, seed)?;
            name = without_seed(set.name(), context.seeds);
            let keys = Keys::load(&set)?;
            let asked = positions(&keys, &Workload::Present, context.lookups.unwrap_or(LOOKUPS), seed)?;
            run_tables(context, &keys, &asked, &profiles, &mut cells)?;
            if seed == context.seed {
                run_structures(context, &name, &keys, &asked, &profiles, output)?;
            }
            if seed == context.seed && !context.modelled_only {
                device.measure(&name, context, &keys, &asked, output)?;
            }
        }
        report(context, &name, &cells, output)?;
        Ok(())
    })
}

/// The name of a set without its seed, for results over several seeds.
fn without_seed(name: &str, seeds: u64) -> String {
    let kept = name.split(':').filter(|field| seeds == 1 || !field.starts_with("seed="));
    kept.collect::<Vec<_>>().join(":")
}

/// A compared design, under its name in records.
struct Entry {
    name: String,
    request: DesignRequest,
    exact: bool,
}

/// Tuned designs are built twice if the sample is not the whole set: with the block size chosen from either.
fn chosen(context: &Context, keys: &Keys) -> Result<Vec<Entry>> {
    let mut names: Vec<String> = vec!["tuned".into()];
    match keys {
        Keys::Lines(_) => names.extend(FIXED_FOR_TEXT.map(String::from)),
        Keys::Integers(_) => {
            names.extend(FIXED.map(String::from));
            if context.full {
                names.extend(forced());
            }
        }
    }
    let mut entries = Vec::new();
    for request in designs(context, &names.iter().map(String::as_str).collect::<Vec<_>>())? {
        let twice = request == DesignRequest::Tuned && !context.exact && matches!(keys, Keys::Integers(_));
        entries.push(Entry { name: request.to_string(), request: request.clone(), exact: context.exact });
        entries.extend(twice.then(|| Entry { name: TUNED_EXACTLY.into(), request, exact: true }));
    }
    Ok(entries)
}

/// The manual alternatives of Figure 11: numbers of layers, builders and granularities.
fn forced() -> impl Iterator<Item = String> {
    let layers = 1..=3;
    layers.flat_map(|layers| {
        ["gstep", "gband", "eband"].into_iter().flat_map(move |builder| {
            [512, 4096, 65_536].map(|lambda| format!("layers={layers},builder={builder},lambda={lambda}"))
        })
    })
}

fn run_tables(
    context: &Context,
    keys: &Keys,
    asked: &[u64],
    profiles: &[Profile],
    cells: &mut Vec<DesignCell>,
) -> Result<()> {
    let entries = chosen(context, keys)?;
    let is_searched = |entry: &Entry| is_searched(&entry.request);
    let tables: usize = entries.iter().map(|entry| if is_searched(entry) { profiles.len() } else { 1 }).sum();
    let progress = Progress::new(tables)?;
    for entry in &entries {
        // A fixed design has one table for all profiles, one that is searched for has a table per profile.
        let groups: Vec<&[Profile]> = if is_searched(entry) { profiles.chunks(1).collect() } else { vec![profiles] };
        for group in groups {
            progress.on(format!("{} for {}", entry.name, group[0].name()));
            let recipe = Recipe { exact: entry.exact, ..Recipe::new(context, &entry.request, &group[0]) };
            run_table(keys, asked, &entry.name, &recipe, group, cells)?;
            progress.step();
        }
    }
    Ok(())
}

fn run_table(
    keys: &Keys,
    asked: &[u64],
    design: &str,
    recipe: &Recipe<'_>,
    profiles: &[Profile],
    cells: &mut Vec<DesignCell>,
) -> Result<()> {
    let storage = Arc::new(MemoryStorage::new());
    let written = write_table(storage.clone(), keys, recipe)?;
    let bench = Bench::new(storage, profiles);
    // Without an index the whole table is one read, which the reader makes only if it fits in memory.
    let limits = match written.report.layers.is_empty() {
        true => Limits {
            memory_bytes: COLD_MEMORY_BYTES.max(WHOLE_TABLES * written.report.file_bytes),
            most_bytes: MOST_BYTES,
        },
        false => Limits { memory_bytes: COLD_MEMORY_BYTES, most_bytes: u64::MAX },
    };
    let cold = look_up_cold(&bench, keys, asked, recipe.payload_bytes, limits)?;
    let stored_bytes = keys.key_bytes() + keys.len() as u64 * u64::from(recipe.payload_bytes);
    for (profile, &metered_us) in profiles.iter().zip(&cold.mean_us) {
        let run = DesignRun {
            modelled_us: written.report.modelled_us(profile),
            metered_us,
            cold: cold.clone(),
            build_s: written.build_s,
            fill_percent: 100.0 * stored_bytes as f64 / written.report.data_bytes.max(1) as f64,
            report: written.report.clone(),
        };
        let (profile, design) = (profile.name().to_owned(), design.to_owned());
        match cells.iter_mut().find(|cell| cell.profile == profile && cell.design == design) {
            Some(cell) => cell.runs.push(run),
            None => cells.push(DesignCell { profile, design, runs: vec![run] }),
        }
    }
    Ok(())
}

/// Cold lookups in structures of indexes, each loaded once for all profiles. They have no model, only a meter.
fn run_structures(
    context: &Context,
    name: &str,
    keys: &Keys,
    asked: &[u64],
    profiles: &[Profile],
    output: &mut Output<'_>,
) -> Result<()> {
    for subject in rivals(context, keys)? {
        let loaded = LoadedStructure::load(Arc::new(MemoryStorage::new()), &subject, keys, profiles)?;
        let (loaded, point) = loaded.look_up_cold(&keys_at(keys, asked))?;
        for (profile, &metered_us) in profiles.iter().zip(&point.mean_us) {
            let record = Record::new(DESIGNS.name).keys(name).profile(profile.name()).design(&subject.name);
            let record = record
                .figure("metered_us", metered_us)
                .figure("reads_per_get", point.requests)
                .figure("bytes_per_get", point.bytes)
                .figure("lookups", point.lookups as u64);
            output.report(loaded.fill(record))?;
        }
    }
    Ok(())
}

fn report(context: &Context, keys: &str, cells: &[DesignCell], output: &mut Output<'_>) -> Result<()> {
    let mut profiles: Vec<&str> = Vec::new();
    for cell in cells {
        if !profiles.contains(&cell.profile.as_str()) {
            profiles.push(&cell.profile);
        }
    }
    for profile in profiles {
        let here = || cells.iter().filter(|cell| cell.profile == profile);
        let tuned_us = here().find(|cell| cell.design == "tuned").map(DesignCell::modelled_us);
        for cell in here() {
            output.report(cell.record(keys, tuned_us, paper_us(context, keys, cell)))?;
        }
    }
    Ok(())
}

/// AirIndex's own figure for its tuned index, where it is known.
fn paper_us(context: &Context, keys: &str, cell: &DesignCell) -> Option<f64> {
    let records = cell.runs.first().map_or(0, |run| run.report.records);
    if !cell.design.starts_with("tuned") || context.payload_bytes != 0 || records != 10_000_000 {
        return None;
    }
    let set = keys.split(':').next().unwrap_or(keys);
    PAPER.iter().find(|row| row.0 == set && row.1 == cell.profile).map(|row| row.2)
}

impl DesignCell {
    fn values(&self, figure: impl Fn(&DesignRun) -> f64) -> Vec<f64> {
        self.runs.iter().map(figure).collect()
    }

    fn median(&self, figure: impl Fn(&DesignRun) -> f64) -> f64 {
        Spread::of(&self.values(figure)).median
    }

    fn modelled_us(&self) -> f64 {
        self.median(|run| run.modelled_us)
    }

    fn record(&self, keys: &str, tuned_us: Option<f64>, paper_us: Option<f64>) -> Record {
        let error = |run: &DesignRun| (run.metered_us / run.modelled_us - 1.0) * 100.0;
        let mut record = Record::new(DESIGNS.name)
            .keys(keys)
            .profile(&self.profile)
            .design(&self.design)
            .spread("modelled_us", &self.values(|run| run.modelled_us))
            .spread("metered_us", &self.values(|run| run.metered_us))
            .figure("metered_error_percent", self.median(error));
        if let Some(tuned_us) = tuned_us {
            record = record.figure("ratio_to_tuned", self.modelled_us() / tuned_us);
        }
        if let Some(paper_us) = paper_us {
            record = record.figure("paper_us", paper_us);
        }
        if let Some(run) = self.runs.first() {
            let blocks = run.report.blocks.max(1) as f64;
            record = record
                .figure("index_bytes", self.median(|run| run.report.index_bytes as f64).round() as u64)
                .figure("index_bytes_per_block", self.median(|run| run.report.index_bytes as f64) / blocks)
                .figure("location_bytes_per_block", self.median(|run| run.report.location_bytes as f64) / blocks)
                .figure("count_bytes_per_block", self.median(|run| run.report.count_bytes as f64) / blocks)
                .figure("fill_percent", self.median(|run| run.fill_percent))
                .figure("resident_bytes", self.median(|run| run.report.resident_bytes as f64).round() as u64)
                .figure("block_size_bytes", run.report.block_size_bytes)
                .figure("blocks", run.report.blocks)
                .figure("blocks_per_get", self.median(|run| run.cold.blocks_per_get))
                .figure("blocks_per_absent_get", self.median(|run| run.cold.blocks_per_absent_get))
                .figure("blocks_per_cold_get", self.median(|run| run.cold.blocks_per_cold_get))
                .figure("reads_per_get", self.median(|run| run.cold.requests_per_get))
                .figure("bytes_per_get", self.median(|run| run.cold.bytes_per_get))
                .figure("lookups", run.cold.lookups as u64)
                .figure("build_s", self.median(|run| run.build_s))
                .figure("layers", layers(&run.report));
        }
        record
    }
}
