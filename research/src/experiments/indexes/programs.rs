//! External programs as subjects, beside the structures of this process.
//!
//! Each measurement starts the program anew, so that nothing of a former one is left in its memory or files.

use anyhow::{Result, bail};

use super::super::{Context, Experiment};
use super::store::payload;
use crate::external::{PipeCost, ProgramIndex, ProgramSize, ProgramWork};
use crate::output::Record;
use crate::workload::{COMMIT_OPERATIONS, Mix, Operation, Population, Requests, SCAN_ENTRIES};

/// Start of a `--structure` that is a program.
const PREFIX: &str = "program:";
/// Name of the request to scan.
const SCAN: &str = "scan";
/// Scans of a batch, whose reply has two numbers for each entry.
const SCANS_A_BATCH: usize = 50;
/// Absent keys that are looked up before a run: a program that makes values up fails here.
const ABSENT_KEYS: usize = 1_000;

/// A program to measure.
#[derive(Debug, Clone)]
pub(crate) struct ProgramSubject {
    command: String,
    timeout_s: u64,
}

/// A program with a loaded index.
#[derive(Debug)]
pub(crate) struct LoadedProgram {
    index: ProgramIndex,
    pipe: PipeCost,
    pub(crate) load: ProgramWork,
}

/// Figures of a run.
#[derive(Debug, Clone)]
pub(crate) struct ProgramOutcome {
    title: String,
    pipe: PipeCost,
    work: ProgramWork,
    size: ProgramSize,
}

/// Whether an experiment takes programs as structures.
pub(crate) fn takes_programs(experiment: &str) -> bool {
    Experiment::WITH_PROGRAMS.contains(&experiment)
}

/// Whether a structure is a program.
pub(crate) fn is_program(structure: &str) -> bool {
    structure.starts_with(PREFIX)
}

/// The programs among the requested structures.
pub(crate) fn programs(context: &Context) -> Vec<ProgramSubject> {
    let commands = context.structures.iter().filter_map(|name| name.strip_prefix(PREFIX));
    let subject = |command: &str| ProgramSubject { command: command.into(), timeout_s: context.program_timeout_s };
    commands.map(subject).collect()
}

/// Fails if a program is requested from an experiment that looks into the pages of structures.
pub(crate) fn refuse_programs(context: &Context) -> Result<()> {
    match programs(context).first() {
        None => Ok(()),
        Some(program) => bail!(
            "this experiment looks into the pages of a structure, and cannot measure {PREFIX}{}; those that can are {}",
            program.command,
            Experiment::WITH_PROGRAMS.join(", ")
        ),
    }
}

impl ProgramSubject {
    /// The name in records, as it is requested.
    pub(crate) fn name(&self) -> String {
        format!("{PREFIX}{}", self.command)
    }

    /// Starts the program, measures the pipe, and loads keys.
    pub(crate) fn load(
        &self,
        block_bytes: usize,
        like: &[u64],
        keys: impl IntoIterator<Item = crate::Result<u64>>,
    ) -> Result<LoadedProgram> {
        let mut index = ProgramIndex::start(&self.command, block_bytes as u64, self.timeout_s)?;
        let pipe = index.measure_pipe(like)?;
        let load = index.bulk_load(keys, payload, &pipe)?;
        Ok(LoadedProgram { index, pipe, load })
    }

    /// Runs a mix on the loaded keys of a population.
    pub(crate) fn run(
        &self,
        block_bytes: usize,
        population: &Population,
        mix: Mix,
        operations: impl Iterator<Item = Operation>,
    ) -> Result<ProgramOutcome> {
        let loaded = population.loaded();
        let mut program = self.load(block_bytes, loaded, loaded.iter().copied().map(Ok))?;
        if mix == Mix::ScanOnly {
            program.index.needs(SCAN)?;
        }
        if mix.insert_percent() > 0 {
            program.index.needs("insert")?;
        }
        program.look_up_absent(loaded)?;
        program.drive(loaded, operations)
    }
}

impl LoadedProgram {
    /// Whether the program scans.
    pub(crate) fn scans(&self) -> bool {
        self.index.needs(SCAN).is_ok()
    }

    /// Looks up keys that are not there.
    pub(crate) fn look_up_absent(&mut self, loaded: &[u64]) -> Result<()> {
        let gaps = loaded.windows(2).filter(|pair| pair[1] - pair[0] > 1).map(|pair| pair[0] + 1);
        let absent: Vec<u64> = gaps.take(ABSENT_KEYS).collect();
        Ok(self.index.gets(&absent, |_| None, &self.pipe, &mut ProgramWork::default())?)
    }

    /// Runs operations in batches: the lookups of a batch see the last commit, so that they may go before its inserts.
    pub(crate) fn drive(
        &mut self,
        loaded: &[u64],
        operations: impl Iterator<Item = Operation>,
    ) -> Result<ProgramOutcome> {
        let mut operations = operations.peekable();
        let (mut work, mut inserted) = (ProgramWork::default(), 0);
        while operations.peek().is_some() {
            let (mut gets, mut scans, mut inserts) = (Vec::new(), Vec::new(), Vec::new());
            for operation in operations.by_ref().take(COMMIT_OPERATIONS) {
                match operation {
                    Operation::Get(key) => gets.push(key),
                    Operation::Scan(key) => scans.push(key),
                    Operation::Insert(key) => inserts.push(key),
                }
            }
            inserted += inserts.len() as u64;
            self.index.gets(&gets, |key| Some(payload(key)), &self.pipe, &mut work)?;
            for keys in scans.chunks(SCANS_A_BATCH) {
                self.index.scans(keys, SCAN_ENTRIES, loaded, payload, &self.pipe, &mut work)?;
            }
            self.index.inserts(&inserts, payload, &self.pipe, &mut work)?;
        }
        let size = self.index.size(loaded.len() as u64 + inserted)?;
        Ok(ProgramOutcome { title: self.index.title().into(), pipe: self.pipe, work, size })
    }

    /// The size of an index of this number of entries.
    pub(crate) fn size(&mut self, entries: u64) -> Result<ProgramSize> {
        Ok(self.index.size(entries)?)
    }
}

impl ProgramOutcome {
    /// Blocks read per operation, if the program counts them.
    pub(crate) fn blocks_read(&self) -> Option<f64> {
        self.work.blocks_read.map(|blocks| self.work.per_operation(blocks as f64))
    }

    /// Adds name, times and sizes to a record.
    pub(crate) fn fill(&self, record: Record) -> Record {
        let work = &self.work;
        let us = |sum_ns: f64| work.per_operation(sum_ns) / 1e3;
        let record = record
            .figure("program", self.title.as_str())
            .figure("operations", work.operations)
            .figure("program_ops_per_s", 1e9 * work.operations as f64 / work.program_ns)
            .figure("program_us_per_operation", us(work.program_ns))
            .figure("wall_us_per_operation", us(work.wall_ns))
            .figure("pipe_us_per_operation", us(work.pipe_ns))
            .figure("pipe_round_trip_us", self.pipe.round_trip_ns / 1e3);
        let counts = [
            ("blocks_read_per_operation", self.blocks_read()),
            ("blocks_written_per_operation", work.blocks_written.map(|blocks| work.per_operation(blocks as f64))),
        ];
        let record = counts.into_iter().fold(record, |record, (name, count)| match count {
            Some(count) => record.figure(name, count),
            None => record,
        });
        with_size(record, &self.size)
    }
}

/// Adds what a program states of its size.
pub(crate) fn with_size(record: Record, size: &ProgramSize) -> Record {
    let sizes = [("file_bytes", size.file_bytes), ("memory_bytes", size.memory_bytes)];
    sizes.into_iter().fold(record, |record, (name, bytes)| match bytes {
        Some(bytes) => record.figure(name, bytes),
        None => record,
    })
}

/// The operations of a mix, as for structures of this process.
pub(crate) fn operations_of<'p>(
    context: &Context,
    population: &'p Population,
    mix: Mix,
    requests: &Requests,
    most: usize,
) -> Result<impl Iterator<Item = Operation> + use<'p>> {
    Ok(mix.operations(population, requests, context.lookups.unwrap_or(most), context.seed)?)
}
