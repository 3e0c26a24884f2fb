//! W1 to W6 and appends: modelled and measured throughput, with blocks, log and file.

use std::path::PathBuf;

use anyhow::Result;
use ogive::index::IndexKind;
use ogive::io::Profile;

use crate::experiments::indexes::{
    IndexSubject, IndexWorkload, ProgramSubject, RunMemory, WorkloadOutcome, each_population, operations_of, programs,
    run_in_memory, run_on_device, subjects_beside_programs,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, or_report};
use crate::keys::KeySet;
use crate::output::Record;
use crate::workload::{Mix, Population, Requests};

pub(crate) const THROUGHPUT: Experiment = Experiment {
    name: "aulid/throughput",
    about: "throughput of W1 to W6 and appends, modelled and with direct reads (AULID, Figures 1, 5 to 7, 9)",
    run,
};

pub(crate) const UNCACHED: Experiment = Experiment {
    name: "aulid/uncached",
    about: "the same with nothing in memory, as in the paper, modelled (AULID, Figures 1, 5 to 7, Tables 2, 5 and 6)",
    run: run_uncached,
};

pub(crate) const REQUESTS: Experiment = Experiment {
    name: "aulid/requests",
    about: "throughput of W1, W4 and W5 under uniform, Zipf, hotspot and latest requests, and a trace",
    run: run_requests,
};

pub(crate) const LIPP_BTREE: Experiment = Experiment {
    name: "aulid/lipp-btree",
    about: "AULID against LIPP over B+-tree leaves: lookups, inserts, appends (AULID, Tables 2, 5 and 6)",
    run: run_lipp_btree,
};

const PROFILES: [&str; 1] = ["nvme"];
/// Default number of operations per run.
const OPERATIONS: usize = 200_000;
/// Blocks that programs count: pages of the other structures.
const BLOCK_BYTES: usize = 4 << 10;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let pool = ThroughputSetting { experiment: THROUGHPUT.name, memory: RunMemory::Pool, mixes: &Mix::ALL };
    pool.each(context, &IndexKind::all(), &[Requests::Uniform], output)
}

fn run_uncached(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let nothing = ThroughputSetting { experiment: UNCACHED.name, memory: RunMemory::Nothing, mixes: &Mix::ALL };
    // Counts, and times by them, are the same on a device.
    let context = Context { modelled_only: true, ..context.clone() };
    nothing.each(&context, &IndexKind::all(), &[Requests::Uniform], output)
}

fn run_requests(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let mixes = [Mix::LookupOnly, Mix::ReadHeavy, Mix::Balanced];
    let requests: Vec<Requests> = ["uniform", "zipf:0.99", "hotspot:0.01,0.9", "latest:0.99"]
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    let pool = ThroughputSetting { experiment: REQUESTS.name, memory: RunMemory::Pool, mixes: &mixes };
    pool.each(context, &IndexKind::all(), &requests, output)
}

fn run_lipp_btree(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let kinds = [crate::AULID, crate::LIPP_BTREE, crate::LIPP];
    let mixes = [Mix::LookupOnly, Mix::WriteOnly, Mix::Append];
    let pool = ThroughputSetting { experiment: LIPP_BTREE.name, memory: RunMemory::Pool, mixes: &mixes };
    pool.each(context, &kinds, &[Requests::Uniform], output)
}

/// What an experiment of this family runs.
#[derive(Clone, Copy)]
struct ThroughputSetting<'a> {
    experiment: &'a str,
    memory: RunMemory,
    mixes: &'a [Mix],
}

/// A comparison: the same operations on all structures.
struct Comparison<'a> {
    context: &'a Context,
    setting: ThroughputSetting<'a>,
    set: &'a KeySet,
    population: &'a Population,
    mix: Mix,
    requests: &'a Requests,
    profiles: &'a [Profile],
    device: Option<PathBuf>,
}

/// Figures of a structure, on storage in memory and on the device.
struct Pair<'a> {
    subject: &'a IndexSubject,
    modelled: WorkloadOutcome,
    /// The run, and whether its reads were direct.
    measured: Option<(WorkloadOutcome, bool)>,
}

impl ThroughputSetting<'_> {
    fn each(
        self,
        context: &Context,
        kinds: &[IndexKind],
        requests: &[Requests],
        output: &mut Output<'_>,
    ) -> Result<()> {
        let subjects = (subjects_beside_programs(context, kinds)?, programs(context));
        let profiles = context.profiles_or(&PROFILES)?;
        let requests = if context.requests.is_empty() { requests } else { &context.requests };
        let device = (!context.modelled_only).then(|| context.device.clone().unwrap_or_else(std::env::temp_dir));
        each_population(context, self.experiment, self.mixes, output, |(set, mix, population), output| {
            requests.iter().try_for_each(|requests| {
                let (profiles, device) = (&profiles[..], device.clone());
                let comparison =
                    Comparison { context, setting: self, set, population, mix, requests, profiles, device };
                comparison.run(&subjects.0, output)?;
                comparison.run_programs(&subjects.1, output)
            })
        })
    }
}

impl Comparison<'_> {
    fn run(&self, subjects: &[IndexSubject], output: &mut Output<'_>) -> Result<()> {
        let progress = Progress::new(subjects.len())?;
        let mut pairs = Vec::new();
        for subject in subjects {
            progress.on(format!("{} of {}, {}", subject.name, self.set.name(), self.mix));
            pairs.extend(or_report(output, self.record(&subject.name), |_| self.pair(subject))?);
            progress.step();
        }
        for pair in &pairs {
            for place in 0..self.profiles.len() {
                output.report(self.filled(pair, place, &pairs))?;
            }
        }
        Ok(())
    }

    /// Runs programs, whose times are those that they state and those of the pipe.
    fn run_programs(&self, programs: &[ProgramSubject], output: &mut Output<'_>) -> Result<()> {
        for program in programs {
            let record = self.record(&program.name());
            or_report(output, record.clone(), |output| {
                let operations = operations_of(self.context, self.population, self.mix, self.requests, OPERATIONS)?;
                let outcome = program.run(BLOCK_BYTES, self.population, self.mix, operations)?;
                Ok(output.report(outcome.fill(record))?)
            })?;
        }
        Ok(())
    }

    fn record(&self, structure: &str) -> Record {
        Record::new(self.setting.experiment)
            .keys(self.set.name())
            .figure("workload", self.mix.name())
            .figure("requests", self.requests.to_string())
            .figure("structure", structure)
    }

    fn plan<'p>(&'p self, subject: &'p IndexSubject) -> IndexWorkload<'p> {
        let plan = IndexWorkload::uniform(self.context, subject, self.population, self.mix, self.profiles, OPERATIONS);
        IndexWorkload { requests: self.requests, ..plan }.with_memory(self.setting.memory)
    }

    fn pair<'s>(&self, subject: &'s IndexSubject) -> Result<Pair<'s>> {
        let modelled = run_in_memory(&self.plan(subject))?;
        let on = |device: &PathBuf| run_on_device(device, &IndexWorkload { profiles: &[], ..self.plan(subject) });
        Ok(Pair { subject, modelled, measured: self.device.as_ref().map(on).transpose()? })
    }

    fn filled(&self, pair: &Pair<'_>, place: usize, all: &[Pair<'_>]) -> Record {
        let run = &pair.modelled;
        let others = |figure: &dyn Fn(&Pair<'_>) -> Option<f64>| {
            let others =
                all.iter().filter(|other| other.subject.updates_in_place() && other.subject.name != pair.subject.name);
            let best = others.filter_map(figure).fold(f64::NAN, f64::max);
            figure(pair).unwrap_or(f64::NAN) / best
        };
        let record = self
            .record(&pair.subject.name)
            .profile(self.profiles.get(place).map_or("", |profile| profile.name()))
            .figure("operations", run.operations as u64)
            .figure("memory_bytes", self.setting.memory.memory_bytes(self.population))
            .figure("modelled_ops_per_s", run.modelled_ops_per_s(place))
            .figure("modelled_ratio_to_best_other", others(&|pair| Some(pair.modelled.modelled_ops_per_s(place))))
            .figure("blocks_read_per_operation", run.blocks_per_operation())
            .figure("log_bytes_per_operation", run.per_operation(run.log.bytes as f64))
            .figure("page_bytes_written_per_operation", run.per_operation(run.pages.bytes as f64))
            .figure("syncs", run.log.syncs + run.pages.syncs)
            .figure("cpu_us_per_operation", run.per_operation(1e6 * run.wall_s))
            .figure("file_bytes", run.file_bytes);
        let Some((measured, direct)) = &pair.measured else { return record };
        record
            .figure("measured_ops_per_s", measured.measured_ops_per_s())
            .figure(
                "measured_ratio_to_best_other",
                others(&|pair| pair.measured.as_ref().map(|(run, _)| run.measured_ops_per_s())),
            )
            .figure("direct", *direct)
    }
}
