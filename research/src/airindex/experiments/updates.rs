//! Figure 16 and Section 7.6: an AirIndex that is updated in gaps, beside Ogive, the B+-tree and ALEX.
//!
//! - `workloads`: W1 to W6 with nothing cached, which is the paper's setting, and with a pool of 1 % of the data. The
//!   AirIndex is tuned for each storage, in its layers and in the size of its leaves;
//! - `gaps`: what the gaps of leaves and directory cost lookups, and what they are worth to inserts;
//! - `drift`: growth to twice the size, with the hierarchy rebuilt never, by the cost model, or at each overflow.
//!
//! Operations per second and times are modelled: T(n) for each read, and for the writes of each sync, without processor
//! time.

use std::sync::Arc;

use crate::AirIndexOptions;
use anyhow::{Context as _, Result};
use ogive::index::{IndexKind, IndexLayout};
use ogive::io::{MemoryStorage, Profile};

use crate::experiments::indexes::{
    IndexStore, IndexSubject, IndexWorkload, LOAD_MEMORY_BYTES, RunMemory, WorkloadOutcome, distinct, pages, present,
    run_in_memory,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set, or_report};
use crate::keys::KeySet;
use crate::output::Record;
use crate::workload::{Mix, Operation, Population};

pub(crate) const UPDATES: Experiment = Experiment {
    name: "airindex/updates",
    about: "inserts into gaps: W1 to W6 beside Ogive, B+-tree and ALEX, cost of gaps, drift (AirIndex, Figure 16)",
    run,
};

const PROFILES: [&str; 3] = ["nvme", "ssd", "nfs"];
const KEY_SETS: [&str; 1] = ["lognormal"];
/// Default number of keys, before half of them are inserted.
const KEYS: u64 = 1_000_000;
/// Default number of operations, and of lookups of a loaded index.
const OPERATIONS: usize = 20_000;
const MIXES: [Mix; 6] =
    [Mix::LookupOnly, Mix::ScanOnly, Mix::WriteOnly, Mix::ReadHeavy, Mix::Balanced, Mix::WriteHeavy];
/// The baselines, whose nodes do not depend on the storage.
const BASELINES: [IndexKind; 3] = [IndexKind::BTREE, IndexKind::OGIVE, crate::ALEX];
/// Fill of leaves and directory after the load, in percent: the gaps are the rest.
const FILLS: [u8; 6] = [50, 60, 70, 80, 90, 100];
/// Lookups per insert that the rule for rebuilds assumes: none, so that only full pages cause one; the rule; more than
/// enough for the first overflow to cause one.
const DRIFT_RULES: [(&str, f64); 3] = [("never by cost", 0.0), ("by cost", 1.0), ("at each overflow", 1e9)];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let profiles = context.profiles_or(&PROFILES)?;
    each_set(context, UPDATES.name, &KEY_SETS, output, |spec, output| {
        let set = context.open_of(spec, KEYS)?;
        let keys = distinct(&set)?;
        let updates = Updates { context, set: &set, keys, profiles: &profiles };
        updates.workloads(output)?;
        updates.gaps(output)?;
        updates.drift(output)?;
        Ok(())
    })
}

/// The experiment on one key set.
struct Updates<'a> {
    context: &'a Context,
    set: &'a KeySet,
    keys: Vec<u64>,
    profiles: &'a [Profile],
}

/// Lookups of a loaded index with nothing cached, by profile.
struct ColdLookups {
    requests: f64,
    bytes: f64,
    modelled_us: f64,
}

impl Updates<'_> {
    fn record(&self, part: &str) -> Record {
        Record::new(UPDATES.name).keys(self.set.name()).figure("part", part)
    }

    fn operations(&self) -> usize {
        self.context.lookups.unwrap_or(OPERATIONS)
    }

    /// The AirIndex tuned for a storage, in its layers and in the size of its leaves.
    fn tuned(&self, options: AirIndexOptions) -> IndexSubject {
        let mut subject = IndexSubject::airindex(options);
        subject.options.pages.page_bytes = options.tuned_page_bytes(&self.keys, IndexLayout::default());
        subject
    }

    fn workloads(&self, output: &mut Output<'_>) -> Result<()> {
        let mixes = if self.context.workloads.is_empty() { &MIXES[..] } else { &self.context.workloads };
        let progress = Progress::new(mixes.len() * RunMemory::ALL.len() * self.profiles.len())?;
        for &mix in mixes {
            let population = mix.population(self.keys.clone(), self.context.seed);
            for memory in RunMemory::ALL {
                let baselines = BASELINES.map(IndexSubject::of);
                let outcome = |subject| self.outcome(subject, &population, mix, memory, self.profiles);
                let outcomes: Vec<(&IndexSubject, WorkloadOutcome)> =
                    baselines.iter().map(|subject| Ok((subject, outcome(subject)?))).collect::<Result<_>>()?;
                for (place, profile) in self.profiles.iter().enumerate() {
                    progress.on(format!("{} on {}, {mix}", self.set.name(), profile.name()));
                    let (_, btree) = outcomes.first().context("the B+-tree was not run")?;
                    let btree_ops_per_s = btree.modelled_ops_per_s(place);
                    let labelled = || {
                        let record = self.record("workloads").profile(profile.name()).figure("workload", mix.name());
                        record.figure("memory", memory.name())
                    };
                    for (subject, outcome) in &outcomes {
                        output.report(filled(labelled(), subject, outcome, place, btree_ops_per_s))?;
                    }
                    let subject = self.tuned(AirIndexOptions::for_profile(profile));
                    let record = labelled().figure("structure", subject.name.as_str());
                    or_report(output, record, |output| {
                        let only = std::slice::from_ref(profile);
                        let outcome = self.outcome(&subject, &population, mix, memory, only)?;
                        output.report(filled(labelled(), &subject, &outcome, 0, btree_ops_per_s))?;
                        Ok(())
                    })?;
                    progress.step();
                }
            }
        }
        Ok(())
    }

    fn outcome(
        &self,
        subject: &IndexSubject,
        population: &Population,
        mix: Mix,
        memory: RunMemory,
        profiles: &[Profile],
    ) -> Result<WorkloadOutcome> {
        let plan = IndexWorkload::uniform(self.context, subject, population, mix, profiles, OPERATIONS);
        run_in_memory(&plan.with_memory(memory))
    }

    /// Fills of leaves and directory: lookups after the load, inserts of a tenth, and lookups after them.
    fn gaps(&self, output: &mut Output<'_>) -> Result<()> {
        let population = Population::halves(self.keys.clone(), self.context.seed);
        let progress = Progress::new(self.profiles.len() * FILLS.len())?;
        for profile in self.profiles {
            for fill_percent in FILLS {
                progress.on(format!("{} on {}, {fill_percent} % full", self.set.name(), profile.name()));
                let mut subject = self.tuned(AirIndexOptions::for_profile(profile));
                subject.options.fill_percent = fill_percent;
                let record =
                    self.record("gaps").profile(profile.name()).figure("fill_percent", u64::from(fill_percent));
                or_report(output, record.clone(), |output| {
                    let tenth = population.loaded().len() / 10;
                    let inserts = &population.coming()[..tenth.min(population.coming().len())];
                    let grown = self.grow(&subject, profile, population.loaded(), inserts)?;
                    output.report(grown.filled(record))?;
                    Ok(())
                })?;
                progress.step();
            }
        }
        Ok(())
    }

    /// Growth to twice the size under each rule for rebuilds.
    fn drift(&self, output: &mut Output<'_>) -> Result<()> {
        let population = Population::halves(self.keys.clone(), self.context.seed);
        let progress = Progress::new(self.profiles.len() * DRIFT_RULES.len())?;
        for profile in self.profiles {
            for (rule, lookups_per_insert) in DRIFT_RULES {
                progress.on(format!("{} on {}, rebuilt {rule}", self.set.name(), profile.name()));
                let mut options = AirIndexOptions::for_profile(profile);
                options.lookups_per_insert = lookups_per_insert;
                let subject = self.tuned(options);
                let record = self.record("drift").profile(profile.name()).figure("rebuilt", rule);
                or_report(output, record.clone(), |output| {
                    let grown = self.grow(&subject, profile, population.loaded(), population.coming())?;
                    output.report(grown.filled(record))?;
                    Ok(())
                })?;
                progress.step();
            }
        }
        Ok(())
    }

    /// Loads keys and inserts others, and looks up keys before and after.
    fn grow(&self, subject: &IndexSubject, profile: &Profile, loaded: &[u64], inserts: &[u64]) -> Result<Growth> {
        let mut options = subject.options.clone();
        let page_bytes = options.pages.page_bytes;
        options.pages = pages(page_bytes, LOAD_MEMORY_BYTES);
        let only = std::slice::from_ref(profile);
        let keys = loaded.iter().copied().map(Ok);
        let (store, _) = IndexStore::load(Arc::new(MemoryStorage::new()), &options, only, keys)?;
        let asked = present(loaded, self.operations(), self.context.seed);
        let loaded_file_bytes = store.file_bytes()?;
        let store = store.reopen(pages(page_bytes, 0))?;
        let before = cold(&store, &asked)?;
        let store = store.reopen(options.pages.clone())?;
        let start_us = elapsed_us(&store);
        let mut counts = Vec::new();
        store.insert_timed(inserts, |statistics| counts.push(statistics.structure_modifications.clone()))?;
        store.index.checkpoint()?;
        let insert_us = (elapsed_us(&store) - start_us) / inserts.len().max(1) as f64;
        let count_of = |name: &str| counts.iter().filter_map(|counts| counts.get(name)).sum::<u64>();
        let statistics = store.index.statistics()?;
        let detail = |name: &str| statistics.details.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
        let figures = vec![
            ("inserts", inserts.len() as u64),
            ("leaf_splits", count_of("leaf split")),
            ("overflows", count_of("overflow page")),
            ("rebuilds", count_of("hierarchy rebuild")),
            ("directory_pages", detail("directory pages")),
            ("overflow_pages", detail("overflow pages")),
        ];
        let file_bytes = (loaded_file_bytes, store.file_bytes()?);
        let store = store.reopen(pages(page_bytes, 0))?;
        Ok(Growth { before, after: cold(&store, &asked)?, insert_us, file_bytes, figures })
    }
}

/// An index before and after it has grown.
struct Growth {
    before: ColdLookups,
    after: ColdLookups,
    /// Modelled time of an insert, with a cache that holds all and the checkpoint at the end.
    insert_us: f64,
    file_bytes: (u64, u64),
    figures: Vec<(&'static str, u64)>,
}

impl Growth {
    fn filled(&self, record: Record) -> Record {
        let record = record
            .figure("requests_per_get", self.before.requests)
            .figure("bytes_per_get", self.before.bytes)
            .figure("modelled_us_per_get", self.before.modelled_us)
            .figure("file_bytes", self.file_bytes.0)
            .figure("modelled_us_per_insert", self.insert_us);
        let counted = self.figures.iter().fold(record, |record, &(name, count)| record.figure(name, count));
        counted
            .figure("requests_per_get_after", self.after.requests)
            .figure("bytes_per_get_after", self.after.bytes)
            .figure("modelled_us_per_get_after", self.after.modelled_us)
            .figure("file_bytes_after", self.file_bytes.1)
    }
}

/// Modelled time so far, by the only profile.
fn elapsed_us(store: &IndexStore) -> f64 {
    store.storage.elapsed_us().first().copied().unwrap_or(f64::NAN)
}

/// Looks up keys with nothing cached.
fn cold(store: &IndexStore, keys: &[u64]) -> Result<ColdLookups> {
    let (start_us, (requests, bytes)) = (elapsed_us(store), store.storage.requests());
    let count = store.read(keys.iter().map(|&key| Operation::Get(key)), |_| {})?.max(1) as f64;
    let end = store.storage.requests();
    Ok(ColdLookups {
        requests: (end.0 - requests) as f64 / count,
        bytes: (end.1 - bytes) as f64 / count,
        modelled_us: (elapsed_us(store) - start_us) / count,
    })
}

fn filled(record: Record, subject: &IndexSubject, run: &WorkloadOutcome, place: usize, btree_ops_per_s: f64) -> Record {
    record
        .figure("structure", subject.name.as_str())
        .figure("page_bytes", subject.options.pages.page_bytes as u64)
        .figure("operations", run.operations as u64)
        .figure("modelled_ops_per_s", run.modelled_ops_per_s(place))
        .figure("ratio_to_btree", run.modelled_ops_per_s(place) / btree_ops_per_s)
        .figure("requests_per_operation", run.per_operation(run.requests as f64))
        .figure("blocks_read_per_operation", run.blocks_per_operation())
        .figure("bytes_read_per_operation", run.per_operation(run.read_bytes as f64))
        .figure("log_bytes_per_operation", run.per_operation(run.log.bytes as f64))
        .figure("page_bytes_written_per_operation", run.per_operation(run.pages.bytes as f64))
        .figure("file_bytes", run.file_bytes)
}
