//! The conductor: lets the workers take turns, and reports what they answer.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, anyhow};
use ogive_bench::output::{Reporter, machine};
use ogive_bench::workload::Requests;

use crate::arguments::RunArguments;
use crate::protocol::{Answer, Job, Order, Outcome, Setup};
use crate::report::{Measured, described, failure, result};
use crate::store::{Settings, System};
use crate::systems::{named, systems};
use crate::workloads::{LOAD_THREADS, SCAN_ENTRIES, Workload};

/// With nothing in memory, a system has the data's size divided by this as its budget.
const COLD_SHARE: u64 = 4;
/// At most 1/N of the operations of a mix are inserts.
const INSERTS_OF: u64 = 18;

type Out<'a> = Reporter<&'a mut dyn Write>;
/// What a turn measured.
type Parts = Vec<(Measured, Outcome)>;

/// Runs what was asked for.
pub(crate) fn run(run: &RunArguments, out: &mut dyn Write, json: bool) -> Result<()> {
    let chosen: Vec<&'static System> = match run.systems.as_slice() {
        [] => systems(),
        names => names.iter().map(|name| named(name)).collect::<Result<_>>()?,
    };
    let parent = run.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder =
        tempfile::tempdir_in(&parent).with_context(|| format!("no folder can be made under {}", parent.display()))?;
    let mut reporter = Reporter::new(out, json);
    reporter.report(machine(&parent))?;
    for system in &chosen {
        reporter.report(described(system, &settings(run)))?;
    }
    let workloads = if run.workloads.is_empty() { Workload::all().collect() } else { run.workloads.clone() };
    let workers = chosen.into_iter().map(|system| Worker::start(run, system, folder.path(), &workloads));
    let mut conductor = Conductor { run, workers: workers.collect::<Result<_>>()? };
    conductor.loads(&workloads, &mut reporter)?;
    conductor.reads(&workloads, &mut reporter)?;
    conductor.writes(&workloads, &mut reporter)?;
    Ok(reporter.flush()?)
}

fn settings(run: &RunArguments) -> Settings {
    Settings {
        budget_bytes: run.budget << 20,
        memtable_bytes: run.memtable << 20,
        synced: false,
        direct: false,
        lz4: run.lz4,
    }
}

/// A process that serves one system.
struct Worker {
    system: &'static System,
    /// What it works on, as its argument.
    setup: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    folder: PathBuf,
    /// A worker that failed is left out from then on.
    failed: bool,
}

impl Worker {
    fn start(run: &RunArguments, system: &'static System, folder: &Path, workloads: &[Workload]) -> Result<Self> {
        let inserting =
            workloads.iter().filter(|workload| matches!(workload, Workload::Mix(mix) if mix.insert_percent() > 0));
        let setup = Setup {
            system: system.name.into(),
            keys: run.keys.clone(),
            number: run.number,
            seed: run.seed,
            key_form: run.key_form.to_string(),
            value_bytes: run.value,
            memtable_bytes: run.memtable << 20,
            lz4: run.lz4,
            held_out: inserting.count() as u64 * run.rounds * run.requests.len().max(1) as u64 * run.operations
                / INSERTS_OF,
        };
        Self::spawn(system, serde_json::to_string(&setup)?, folder.join(system.name))
    }

    fn spawn(system: &'static System, setup: String, folder: PathBuf) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["worker", &setup])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = BufReader::new(child.stdout.take().context("the worker has no output")?);
        Ok(Self { system, setup, input: child.stdin.take(), child, output, folder, failed: false })
    }

    /// Replaces the process by a new one, in which no earlier store has left memory.
    fn restart(&mut self) -> Result<()> {
        *self = Self::spawn(self.system, self.setup.clone(), self.folder.clone())?;
        Ok(())
    }

    /// Has a job done.
    fn order(&mut self, job: &Job) -> Result<Outcome> {
        let input = self.input.as_mut().context("the worker has no input")?;
        writeln!(input, "{}", serde_json::to_string(job)?)?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Answer = serde_json::from_str(&line).context("the worker is gone; it says why above")?;
        answer.map_err(|error| anyhow!(error))
    }

    fn open(&mut self, run: &RunArguments, synced: bool) -> Result<Outcome> {
        let budget_bytes = run.budget << 20;
        self.order(&Job::Open { folder: self.folder.clone(), budget_bytes, synced, direct: false })
    }

    /// A store without records, whatever there was before.
    fn open_anew(&mut self, run: &RunArguments, synced: bool) -> Result<Outcome> {
        self.order(&Job::Close)?;
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)?;
        }
        self.open(run, synced)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input tells it to go.
        self.input = None;
        // Nothing can be done about one that does not end well.
        let _ = self.child.wait();
    }
}

struct Conductor<'r> {
    run: &'r RunArguments,
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
        let mut all: Vec<Vec<(Measured, Vec<Outcome>)>> = self.workers.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds {
            for (worker, parts) in self.workers.iter_mut().zip(&mut all).filter(|(worker, _)| !worker.failed) {
                eprintln!("{name}, round {} of {rounds}: {}", round + 1, worker.system.name);
                match turn(worker, round) {
                    Ok(found) => found.into_iter().for_each(|(what, outcome)| add(parts, what, outcome)),
                    Err(error) => {
                        worker.failed = true;
                        out.report(failure(worker.system.name, name, &error))?;
                    }
                }
            }
        }
        for (worker, parts) in self.workers.iter().zip(&all) {
            for (what, outcomes) in parts {
                out.report(result(self.run, worker.system, what, outcomes))?;
            }
        }
        Ok(())
    }

    /// The loads that are measured, and at last the one of the store that is read from.
    fn loads(&mut self, workloads: &[Workload], out: &mut Out<'_>) -> Result<()> {
        let run = self.run;
        let wanted = |workload| workloads.contains(&workload);
        if wanted(Workload::LoadSynced) {
            let name = Workload::LoadSynced.name();
            self.rounds(run.load_rounds, &name, out, &|worker, _| {
                worker.open_anew(run, true)?;
                let job =
                    Job::LoadOneByOne { order: Order::Random, threads: LOAD_THREADS, commits: run.synced_commits };
                Ok(vec![(plain(&name), worker.order(&job)?)])
            })?;
        }
        let singly = [(Workload::PutRandom, Order::Random), (Workload::PutSequential, Order::Sequential)];
        for (workload, order) in singly.into_iter().filter(|(workload, _)| wanted(*workload)) {
            let name = workload.name();
            self.rounds(run.load_rounds, &name, out, &|worker, _| {
                worker.open_anew(run, false)?;
                let job = Job::LoadOneByOne { order, threads: 1, commits: run.operations };
                Ok(vec![(plain(&name), worker.order(&job)?)])
            })?;
        }
        // Nothing reads what single puts have left.
        if workloads.iter().all(|workload| singly.iter().any(|(known, _)| known == workload)) {
            return Ok(());
        }
        let last = if run.order == Order::Random { Workload::LoadRandom } else { Workload::LoadSequential };
        let other = if run.order == Order::Random { Workload::LoadSequential } else { Workload::LoadRandom };
        for workload in [other, last].into_iter().filter(|workload| wanted(*workload) || *workload == last) {
            let order = if workload == Workload::LoadRandom { Order::Random } else { Order::Sequential };
            let rounds = if wanted(workload) { run.load_rounds } else { 1 };
            self.rounds(rounds, &workload.name(), out, &|worker, _| load(worker, run, workload, order))?;
        }
        Ok(())
    }

    fn reads(&mut self, workloads: &[Workload], out: &mut Out<'_>) -> Result<()> {
        let run = self.run;
        let reading = |workload: &&Workload| !workload.is_load() && !workload.writes();
        let (cold, warm): (Vec<Workload>, Vec<Workload>) =
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
                    Workload::ColdFirst => read_first(worker, run, &requests, round),
                    _ => read_cold(worker, run, workload, &requests, round),
                };
                self.rounds(run.rounds, &workload.name(), out, &turn)?;
            }
        }
        Ok(())
    }

    fn writes(&mut self, workloads: &[Workload], out: &mut Out<'_>) -> Result<()> {
        let run = self.run;
        let writing: Vec<Workload> = workloads.iter().copied().filter(|workload| workload.writes()).collect();
        if writing.is_empty() {
            return Ok(());
        }
        self.each(out, "open", &|worker| {
            worker.open(run, false)?;
            worker.order(&Job::Warm)
        })?;
        for workload in writing {
            for requests in requests(run, workload) {
                self.rounds(run.rounds, &workload.name(), out, &|worker, round| {
                    let (requests, count, seed) = (requests.clone(), run.operations, run.seed + 1 + round);
                    let what = measured(&workload.name(), &requests, None);
                    let requests = requests.to_string();
                    let job = match workload {
                        Workload::Mix(mix) => Job::Mix { mix: mix.name(), requests, count, seed },
                        _ => Job::Overwrites { requests, count, seed },
                    };
                    Ok(vec![(what, worker.order(&job)?)])
                })?;
            }
        }
        Ok(())
    }

    /// Has something done that is not measured.
    fn each(&mut self, out: &mut Out<'_>, name: &str, turn: &dyn Fn(&mut Worker) -> Result<Outcome>) -> Result<()> {
        self.rounds(1, name, out, &|worker, _| turn(worker).map(|_| Vec::new()))
    }
}

fn add(parts: &mut Vec<(Measured, Vec<Outcome>)>, what: Measured, outcome: Outcome) {
    match parts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, outcomes)) => outcomes.push(outcome),
        None => parts.push((what, vec![outcome])),
    }
}

fn measured(workload: &str, requests: &Requests, cold: Option<String>) -> Measured {
    Measured { workload: workload.into(), requests: requests.to_string(), cold }
}

/// A load, which asks for nothing.
fn plain(workload: &str) -> Measured {
    Measured { workload: workload.into(), requests: "-".into(), cold: None }
}

fn requests(run: &RunArguments, workload: Workload) -> Vec<Requests> {
    if run.requests.is_empty() { vec![workload.requests()] } else { run.requests.clone() }
}

/// Load, compaction, and both together.
fn load(worker: &mut Worker, run: &RunArguments, workload: Workload, order: Order) -> Result<Parts> {
    worker.open_anew(run, false)?;
    let load = worker.order(&Job::Load { order })?;
    let compact = worker.order(&Job::Compact)?;
    let both = Outcome { operations: compact.operations, ..load.and(&compact) };
    let name = workload.name();
    let part = |part: &str| plain(&format!("{name}{part}"));
    Ok(vec![(part(""), load), (part(", compact"), compact), (part(" and compact"), both)])
}

fn gets(present: bool, requests: &Requests, count: u64, seed: u64) -> Job {
    Job::Gets { present, requests: requests.to_string(), count, seed }
}

fn read(workload: Workload, requests: &Requests, count: u64, seed: u64) -> Job {
    match workload {
        Workload::GetAbsent | Workload::ColdGetAbsent => gets(false, requests, count, seed),
        Workload::Scan | Workload::ColdScan => {
            // One scan takes as long as about ten lookups.
            let count = (count / 10).max(1);
            Job::Scans { entries: SCAN_ENTRIES, requests: requests.to_string(), count, seed }
        }
        _ => gets(true, requests, count, seed),
    }
}

/// Closes the store, drops its files from the page cache, and opens it in a new process, with `budget_of` its bytes on
/// disk as its budget, and with direct reads where it has them. Returns what opening took, and how it was
/// brought about that nothing was in memory.
fn open_cold(worker: &mut Worker, budget_of: impl Fn(u64) -> u64) -> Result<(Outcome, String)> {
    let disk_bytes = worker.order(&Job::Close)?.disk_bytes;
    worker.order(&Job::Drop { folder: worker.folder.clone() })?;
    worker.restart()?;
    let (folder, direct) = (worker.folder.clone(), worker.system.reads_directly);
    let opened = worker.order(&Job::Open { folder, budget_bytes: budget_of(disk_bytes), synced: false, direct })?;
    let how = if direct { "direct reads" } else { "page cache dropped, then without limit" };
    Ok((opened, how.into()))
}

/// Lookups with little memory.
fn read_cold(
    worker: &mut Worker,
    run: &RunArguments,
    workload: Workload,
    requests: &Requests,
    round: u64,
) -> Result<Parts> {
    let (_, how) = open_cold(worker, |disk_bytes| disk_bytes / COLD_SHARE)?;
    let job = read(workload, requests, run.cold_operations, run.seed + 1 + round);
    let outcome = worker.order(&job)?;
    Ok(vec![(measured(&workload.name(), requests, Some(how)), outcome)])
}

/// Opening and the first 1, 10, 100, ... lookups, up to the number of cold operations: means from the start on.
fn read_first(worker: &mut Worker, run: &RunArguments, requests: &Requests, round: u64) -> Result<Parts> {
    let (opened, how) = open_cold(worker, |_| run.budget << 20)?;
    let mut parts = Vec::new();
    let (mut sum, mut done) = (Outcome { operations: 0, ..opened }, 0);
    for count in firsts(run.cold_operations) {
        // Other keys in each part and round.
        let seed = run.seed + 1 + (round << u32::BITS) + done;
        sum = sum.and(&worker.order(&gets(true, requests, count - done, seed))?);
        done = count;
        parts.push((
            measured(&format!("{}-{count}", Workload::ColdFirst.name()), requests, Some(how.clone())),
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
                add(&mut parts, plain(name), Outcome { elapsed_ns, ..Outcome::default() });
            }
        }
        assert_eq!(parts.len(), 2);
        assert_eq!((firsts(0), firsts(1), firsts(9)), (vec![1], vec![1], vec![1, 9]));
        assert_eq!((firsts(100), firsts(250)), (vec![1, 10, 100], vec![1, 10, 100, 250]));
        assert!(parts.iter().all(|(_, outcomes)| outcomes.len() == 2));
    }
}
