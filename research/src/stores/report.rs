//! The printed report.

use std::io::Write;

use anyhow::Result;

use super::arguments::StoreRunArguments;
use super::protocol::JobOutcome;
use super::system::{StoreSettings, StoreSystem};
use super::systems::Systems;
use super::workloads::StoreWorkload;
use crate::error::with_causes;
use crate::output::{Record, Reporter, Spread};

/// The name of the records: the one they had when only `ogive-rivals` printed them, so that old ones stay comparable.
const EXPERIMENT: &str = "rivals";

/// Prints systems and workloads.
pub(super) fn list(systems: &Systems, out: &mut dyn Write, json: bool) -> Result<()> {
    let mut reporter = Reporter::new(out, json);
    let settings =
        StoreSettings { memory_bytes: 2 << 30, memtable_bytes: 64 << 20, synced: false, direct: false, lz4: false };
    for system in systems.all() {
        reporter.report(described(system, &settings))?;
    }
    for workload in StoreWorkload::all() {
        let record = Record::new("workloads").figure("workload", workload.name());
        reporter.report(record.figure("about", workload.about()))?;
    }
    Ok(reporter.flush()?)
}

/// A system, and how it is set.
pub(super) fn described(system: &StoreSystem, settings: &StoreSettings) -> Record {
    Record::new("systems").figure("system", system.name).figure("settings", (system.settings)(settings))
}

/// What one system took for one workload, an outcome for each round.
pub(super) fn result(
    run: &StoreRunArguments,
    system: &StoreSystem,
    what: &MeasuredPart,
    outcomes: &[JobOutcome],
) -> Record {
    let of = |figure: fn(&JobOutcome) -> f64| outcomes.iter().map(figure).collect::<Vec<f64>>();
    let per_operation = |total: f64, outcome: &JobOutcome| total / outcome.operations.max(1) as f64;
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
pub(super) struct MeasuredPart {
    pub(super) workload: String,
    pub(super) requests: String,
    /// How it was brought about that nothing was in memory.
    pub(super) cold: Option<String>,
}

/// A workload that a system could not do.
pub(super) fn failure(system: &str, workload: &str, error: &anyhow::Error) -> Record {
    Record::new(EXPERIMENT).figure("system", system).figure("workload", workload).error(with_causes(error))
}
