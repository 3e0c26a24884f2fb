//! The printed report.

use std::io::Write;

use anyhow::Result;
use ogive_bench::output::{Record, Reporter, Spread};

use crate::arguments::RunArguments;
use crate::protocol::Outcome;
use crate::store::{Settings, System};
use crate::systems::systems;
use crate::workloads::Workload;

/// The name of the records.
const EXPERIMENT: &str = "rivals";

/// Prints systems and workloads.
pub(crate) fn list(out: &mut dyn Write, json: bool) -> Result<()> {
    let mut reporter = Reporter::new(out, json);
    let settings =
        Settings { budget_bytes: 2 << 30, memtable_bytes: 64 << 20, synced: false, direct: false, lz4: false };
    for system in systems() {
        reporter.report(described(system, &settings))?;
    }
    for workload in Workload::all() {
        let record = Record::new("workloads").figure("workload", workload.name());
        reporter.report(record.figure("about", workload.about()))?;
    }
    Ok(reporter.flush()?)
}

/// A system, and how it is set.
pub(crate) fn described(system: &System, settings: &Settings) -> Record {
    Record::new("systems").figure("system", system.name).figure("settings", (system.settings)(settings))
}

/// What one system took for one workload, an outcome for each round.
pub(crate) fn result(run: &RunArguments, system: &System, what: &Measured, outcomes: &[Outcome]) -> Record {
    let of = |figure: fn(&Outcome) -> f64| outcomes.iter().map(figure).collect::<Vec<f64>>();
    let per_operation = |total: f64, outcome: &Outcome| total / outcome.operations.max(1) as f64;
    let mut record = Record::new(EXPERIMENT)
        .figure("system", system.name)
        .figure("workload", what.workload.as_str())
        .keys(&run.keys)
        .figure("requests", what.requests.as_str())
        .spread("ns_per_op", &of(|outcome| outcome.elapsed_ns / outcome.operations.max(1) as f64))
        .figure(
            "processor_ns_per_op",
            Spread::of(&of(|outcome| outcome.processor_ns / outcome.operations.max(1) as f64)).median,
        );
    if let Some(last) = outcomes.last() {
        record = record
            .figure("disk_bytes", last.disk_bytes)
            .figure("memory_bytes", last.memory_bytes)
            .figure("operations", last.operations)
            .figure("device_read_bytes_per_op", per_operation(last.read_bytes as f64, last))
            .figure("device_written_bytes_per_op", per_operation(last.written_bytes as f64, last));
    }
    if let Some(cold) = &what.cold {
        record = record.figure("cold", cold.as_str());
    }
    record.figure("rounds", outcomes.len() as u64)
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measured {
    pub(crate) workload: String,
    pub(crate) requests: String,
    /// How it was brought about that nothing was in memory.
    pub(crate) cold: Option<String>,
}

/// A workload that a system could not do.
pub(crate) fn failure(system: &str, workload: &str, error: &anyhow::Error) -> Record {
    Record::new(EXPERIMENT).figure("system", system).figure("workload", workload).figure("error", format!("{error:#}"))
}
