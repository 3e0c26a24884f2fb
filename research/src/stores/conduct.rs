//! The conductor: lets the workers take turns, and reports what they answer.

use std::io::Write;

use anyhow::{Context, Result, ensure};

use super::arguments::StoreRunArguments;
use super::process::{Worker, WorkerStart};
use super::protocol::{Job, JobOutcome, LoadOrder, Setup};
use super::report::{MeasuredPart, described, failure, result};
use super::system::{StoreSettings, StoreSystem};
use super::systems::Systems;
use super::workloads::{LOAD_THREADS, SCAN_ENTRIES, StoreWorkload};
use crate::error::with_causes;
use crate::output::{Reporter, machine};
use crate::workload::Requests;

/// With nothing in memory, a system has the data's size divided by this as its memory.
const COLD_SHARE: u64 = 4;
/// The least memory: stores cannot work with less, and only tests have so few records.
const COLD_BYTES_MIN: u64 = 1 << 20;
/// At most 1/N of the operations of a mix are inserts.
const INSERTS_OF: u64 = 18;
/// Records that are looked up after each measured job that writes.
const CHECKED_AFTER_WRITES: u64 = 1_000;

type Out<'a> = Reporter<&'a mut dyn Write>;
/// What a turn measured.
type Parts = Vec<(MeasuredPart, JobOutcome)>;

/// Runs what was asked for.
pub(super) fn run(
    run: &StoreRunArguments,
    systems: &Systems,
    worker_words: &'static [&'static str],
    out: &mut dyn Write,
    json: bool,
) -> Result<()> {
    let chosen = systems.chosen(&run.systems)?;
    let parent = run.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder =
        tempfile::tempdir_in(&parent).with_context(|| format!("no folder can be made under {}", parent.display()))?;
    let workloads = if run.workloads.is_empty() { StoreWorkload::all().collect() } else { run.workloads.clone() };
    let setup = setup(run, &workloads);
    // A wrong name is an error of the command, not of each store.
    crate::keys::open(&setup.key_set())?;
    let start = |system: &'static StoreSystem| {
        let setup = Setup { system: system.name.into(), ..setup.clone() };
        Worker::spawn(WorkerStart::new(system, worker_words, &setup, folder.path())?)
    };
    let mut conductor = Conductor { run, workers: chosen.iter().copied().map(start).collect::<Result<_>>()? };
    let mut reporter = Reporter::new(out, json);
    reporter.report(machine(&parent))?;
    for system in chosen {
        reporter.report(described(system, &settings(run)))?;
    }
    conductor.loads(&workloads, &mut reporter)?;
    conductor.reads(&workloads, &mut reporter)?;
    conductor.writes(&workloads, &mut reporter)?;
    reporter.flush()?;
    ensure!(conductor.workers.iter().any(|worker| !worker.failed), "all stores failed; the records say why");
    Ok(())
}

fn settings(run: &StoreRunArguments) -> StoreSettings {
    StoreSettings {
        memory_bytes: run.memory << 20,
        memtable_bytes: run.memtable << 20,
        synced: false,
        direct: false,
        lz4: run.lz4,
    }
}

/// What the workers work on, but for their systems.
fn setup(run: &StoreRunArguments, workloads: &[StoreWorkload]) -> Setup {
    let inserting =
        workloads.iter().filter(|workload| matches!(workload, StoreWorkload::Mix(mix) if mix.insert_percent() > 0));
    Setup {
        system: String::new(),
        keys: run.keys.clone(),
        number: run.number,
        seed: run.seed,
        key_form: run.key_form.to_string(),
        value_bytes: run.value,
        memtable_bytes: run.memtable << 20,
        lz4: run.lz4,
        held_out: inserting.count() as u64 * run.rounds * run.requests.len().max(1) as u64 * run.operations
            / INSERTS_OF,
    }
}

fn open(worker: &mut Worker, run: &StoreRunArguments, synced: bool) -> Result<JobOutcome> {
    let (folder, memory_bytes) = (worker.start.folder.clone(), run.memory << 20);
    worker.order(&Job::Open { folder, memory_bytes, synced, direct: false })
}

/// A store without records, whatever there was before.
fn open_anew(worker: &mut Worker, run: &StoreRunArguments, synced: bool) -> Result<JobOutcome> {
    worker.order(&Job::Close)?;
    if worker.start.folder.exists() {
        std::fs::remove_dir_all(&worker.start.folder)?;
    }
    open(worker, run, synced)
}

/// Does a job that writes, and then compares some of what the store holds.
fn write_and_check(worker: &mut Worker, job: &Job, seed: u64) -> Result<JobOutcome> {
    let outcome = worker.order(job)?;
    worker.order(&Job::Check { count: CHECKED_AFTER_WRITES, seed })?;
    Ok(outcome)
}

struct Conductor<'r> {
    run: &'r StoreRunArguments,
    workers: Vec<Worker>,
}

impl Conductor<'_> {
    /// Lets each worker take its turn in each round, and reports what the parts of the workload took.
    fn rounds(
        &mut self,
        rounds: u64,
        name: &str,
        out: &mut Out<'_>,
        turn: &dyn Fn(&mut Worker, u64) -> Result<Parts>,
    ) -> Result<()> {
        let mut all: Vec<Vec<(MeasuredPart, Vec<JobOutcome>)>> = self.workers.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds {
            for (worker, parts) in self.workers.iter_mut().zip(&mut all).filter(|(worker, _)| !worker.failed) {
                eprintln!("{name}, round {} of {rounds}: {}", round + 1, worker.start.system.name);
                match turn(worker, round) {
                    Ok(found) => found.into_iter().for_each(|(what, outcome)| add(parts, what, outcome)),
                    Err(error) => {
                        worker.failed = true;
                        eprintln!("{name}: {} failed: {}", worker.start.system.name, with_causes(&error));
                        out.report(failure(worker.start.system.name, name, &error))?;
                    }
                }
            }
        }
        // Earlier rounds of a system that failed are no measurement.
        for (worker, parts) in self.workers.iter().zip(&all).filter(|(worker, _)| !worker.failed) {
            for (what, outcomes) in parts {
                out.report(result(self.run, worker.start.system, what, outcomes))?;
            }
        }
        Ok(())
    }

    /// The loads that are measured, and at last the one of the store that is read from.
    fn loads(&mut self, workloads: &[StoreWorkload], out: &mut Out<'_>) -> Result<()> {
        let run = self.run;
        let wanted = |workload| workloads.contains(&workload);
        if wanted(StoreWorkload::LoadSynced) {
            let name = StoreWorkload::LoadSynced.name();
            self.rounds(run.load_rounds, &name, out, &|worker, _| {
                open_anew(worker, run, true)?;
                let job =
                    Job::LoadOneByOne { order: LoadOrder::Random, threads: LOAD_THREADS, commits: run.synced_commits };
                Ok(vec![(plain(&name), write_and_check(worker, &job, run.seed)?)])
            })?;
        }
        let singly =
            [(StoreWorkload::PutRandom, LoadOrder::Random), (StoreWorkload::PutSequential, LoadOrder::Sequential)];
        for (workload, order) in singly.into_iter().filter(|(workload, _)| wanted(*workload)) {
            let name = workload.name();
            self.rounds(run.load_rounds, &name, out, &|worker, _| {
                open_anew(worker, run, false)?;
                let job = Job::LoadOneByOne { order, threads: 1, commits: run.operations };
                Ok(vec![(plain(&name), write_and_check(worker, &job, run.seed)?)])
            })?;
        }
        // Nothing reads what single puts have left.
        if workloads.iter().all(|workload| singly.iter().any(|(known, _)| known == workload)) {
            return Ok(());
        }
        let last =
            if run.order == LoadOrder::Random { StoreWorkload::LoadRandom } else { StoreWorkload::LoadSequential };
        let other =
            if run.order == LoadOrder::Random { StoreWorkload::LoadSequential } else { StoreWorkload::LoadRandom };
        for workload in [other, last].into_iter().filter(|workload| wanted(*workload) || *workload == last) {
            let order = if workload == StoreWorkload::LoadRandom { LoadOrder::Random } else { LoadOrder::Sequential };
            let rounds = if wanted(workload) { run.load_rounds } else { 1 };
            self.rounds(rounds, &workload.name(), out, &|worker, _| load(worker, run, workload, order))?;
        }
        Ok(())
    }

    fn reads(&mut self, workloads: &[StoreWorkload], out: &mut Out<'_>) -> Result<()> {
        let run = self.run;
        let reading = |workload: &&StoreWorkload| !workload.is_load() && !workload.writes();
        let (cold, warm): (Vec<StoreWorkload>, Vec<StoreWorkload>) =
            workloads.iter().filter(reading).partition(|workload| workload.is_cold());
        if !warm.is_empty() {
            self.each(out, "warm", &|worker| {
                worker.order(&Job::Warm)?;
                // Scans pass by caches that lookups go through.
                worker.order(&gets(true, &Requests::Uniform, run.operations, run.seed))
            })?;
        }
        for workload in warm {
            for requests in requests(run, workload) {
                self.rounds(run.rounds, &workload.name(), out, &|worker, round| {
                    let job = read(workload, &requests, run.operations, run.seed + 1 + round);
                    Ok(vec![(measured(&workload.name(), &requests, None), worker.order(&job)?)])
                })?;
            }
        }
        for workload in cold {
            for requests in requests(run, workload) {
                let turn = |worker: &mut Worker, round| match workload {
                    StoreWorkload::ColdFirst => read_first(worker, run, &requests, round),
                    _ => read_cold(worker, run, workload, &requests, round),
                };
                self.rounds(run.rounds, &workload.name(), out, &turn)?;
            }
        }
        Ok(())
    }

    fn writes(&mut self, workloads: &[StoreWorkload], out: &mut Out<'_>) -> Result<()> {
        let run = self.run;
        let writing: Vec<StoreWorkload> = workloads.iter().copied().filter(|workload| workload.writes()).collect();
        if writing.is_empty() {
            return Ok(());
        }
        self.each(out, "open", &|worker| {
            open(worker, run, false)?;
            worker.order(&Job::Warm)
        })?;
        for workload in writing {
            for requests in requests(run, workload) {
                self.rounds(run.rounds, &workload.name(), out, &|worker, round| {
                    let (requests, count, seed) = (requests.clone(), run.operations, run.seed + 1 + round);
                    let what = measured(&workload.name(), &requests, None);
                    let requests = requests.to_string();
                    let job = match workload {
                        StoreWorkload::Mix(mix) => Job::Mix { mix: mix.name(), requests, count, seed },
                        _ => Job::Overwrites { requests, count, seed },
                    };
                    Ok(vec![(what, write_and_check(worker, &job, seed)?)])
                })?;
            }
        }
        Ok(())
    }

    /// Has something done that is not measured.
    fn each(&mut self, out: &mut Out<'_>, name: &str, turn: &dyn Fn(&mut Worker) -> Result<JobOutcome>) -> Result<()> {
        self.rounds(1, name, out, &|worker, _| turn(worker).map(|_| Vec::new()))
    }
}

fn add(parts: &mut Vec<(MeasuredPart, Vec<JobOutcome>)>, what: MeasuredPart, outcome: JobOutcome) {
    match parts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, outcomes)) => outcomes.push(outcome),
        None => parts.push((what, vec![outcome])),
    }
}

fn measured(workload: &str, requests: &Requests, cold: Option<String>) -> MeasuredPart {
    MeasuredPart { workload: workload.into(), requests: requests.to_string(), cold }
}

/// A load, which asks for nothing.
fn plain(workload: &str) -> MeasuredPart {
    MeasuredPart { workload: workload.into(), requests: "-".into(), cold: None }
}

fn requests(run: &StoreRunArguments, workload: StoreWorkload) -> Vec<Requests> {
    if run.requests.is_empty() { vec![workload.requests()] } else { run.requests.clone() }
}

/// Load, compaction, and both together.
fn load(worker: &mut Worker, run: &StoreRunArguments, workload: StoreWorkload, order: LoadOrder) -> Result<Parts> {
    open_anew(worker, run, false)?;
    let load = worker.order(&Job::Load { order })?;
    let compact = write_and_check(worker, &Job::Compact, run.seed)?;
    let both = JobOutcome { operations: compact.operations, ..load.and(&compact) };
    let name = workload.name();
    let part = |part: &str| plain(&format!("{name}{part}"));
    Ok(vec![(part(""), load), (part(", compact"), compact), (part(" and compact"), both)])
}

fn gets(present: bool, requests: &Requests, count: u64, seed: u64) -> Job {
    Job::Gets { present, requests: requests.to_string(), count, seed }
}

fn read(workload: StoreWorkload, requests: &Requests, count: u64, seed: u64) -> Job {
    match workload {
        StoreWorkload::GetAbsent | StoreWorkload::ColdGetAbsent => gets(false, requests, count, seed),
        StoreWorkload::Scan | StoreWorkload::ColdScan => {
            // One scan takes as long as about ten lookups.
            let count = (count / 10).max(1);
            Job::Scans { entries: SCAN_ENTRIES, requests: requests.to_string(), count, seed }
        }
        _ => gets(true, requests, count, seed),
    }
}

/// Closes the store, drops its files from the page cache, and opens it in a new process, with `memory_of` its bytes on
/// disk as its memory, and with direct reads where it has them. Returns what opening took, and how it was
/// brought about that nothing was in memory.
fn open_cold(worker: &mut Worker, memory_of: impl Fn(u64) -> u64) -> Result<(JobOutcome, String)> {
    let disk_bytes = worker.order(&Job::Close)?.disk_bytes;
    worker.order(&Job::Drop { folder: worker.start.folder.clone() })?;
    worker.restart()?;
    let (folder, direct) = (worker.start.folder.clone(), worker.start.system.reads_directly);
    let opened = worker.order(&Job::Open { folder, memory_bytes: memory_of(disk_bytes), synced: false, direct })?;
    let how = if direct { "direct reads" } else { "page cache dropped, then without limit" };
    Ok((opened, how.into()))
}

/// Lookups with little memory.
fn read_cold(
    worker: &mut Worker,
    run: &StoreRunArguments,
    workload: StoreWorkload,
    requests: &Requests,
    round: u64,
) -> Result<Parts> {
    let (_, how) = open_cold(worker, |disk_bytes| (disk_bytes / COLD_SHARE).max(COLD_BYTES_MIN))?;
    let job = read(workload, requests, run.cold_operations, run.seed + 1 + round);
    let outcome = worker.order(&job)?;
    Ok(vec![(measured(&workload.name(), requests, Some(how)), outcome)])
}

/// Opening and the first 1, 10, 100, ... lookups, up to the number of cold operations: means from the start on.
fn read_first(worker: &mut Worker, run: &StoreRunArguments, requests: &Requests, round: u64) -> Result<Parts> {
    let (opened, how) = open_cold(worker, |_| run.memory << 20)?;
    let mut parts = Vec::new();
    let (mut sum, mut done) = (JobOutcome { operations: 0, ..opened }, 0);
    for count in firsts(run.cold_operations) {
        // Other keys in each part and round.
        let seed = run.seed + 1 + (round << u32::BITS) + done;
        sum = sum.and(&worker.order(&gets(true, requests, count - done, seed))?);
        done = count;
        parts.push((
            measured(&format!("{}-{count}", StoreWorkload::ColdFirst.name()), requests, Some(how.clone())),
            sum.clone(),
        ));
    }
    Ok(parts)
}

/// The powers of ten up to a number, and the number.
fn firsts(most: u64) -> Vec<u64> {
    let mut counts: Vec<u64> = (0..=most.max(1).ilog10()).map(|power| 10_u64.pow(power)).collect();
    counts.extend((most > 1).then_some(most));
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_of_rounds_come_together_by_what_was_measured() {
        let mut parts = Vec::new();
        for elapsed_ns in [1.0, 2.0] {
            for name in ["a", "b"] {
                add(&mut parts, plain(name), JobOutcome { elapsed_ns, ..JobOutcome::default() });
            }
        }
        assert_eq!(parts.len(), 2);
        assert_eq!((firsts(0), firsts(1), firsts(9)), (vec![1], vec![1], vec![1, 9]));
        assert_eq!((firsts(100), firsts(250)), (vec![1, 10, 100], vec![1, 10, 100, 250]));
        assert!(parts.iter().all(|(_, outcomes)| outcomes.len() == 2));
    }
}
