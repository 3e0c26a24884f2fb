//! Figure 10: 99th percentile and deviation of the time of operations.

use anyhow::Result;
use ogive::index::IndexKind;

use crate::experiments::indexes::{
    IndexSubject, IndexWorkload, RunMemory, each_population, run_in_memory, run_on_device, subjects,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, or_report};
use crate::output::Record;
use crate::workload::Mix;

pub(crate) const TAIL: Experiment = Experiment {
    name: "aulid/tail",
    about: "99th percentile and deviation of the time of lookups and inserts (AULID, Figure 10; slides, Q4)",
    run,
};

const PROFILES: [&str; 1] = ["nvme"];
const MIXES: [Mix; 2] = [Mix::LookupOnly, Mix::WriteOnly];
const OPERATIONS: usize = 100_000;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = subjects(context, &IndexKind::all())?;
    let profiles = context.profiles_or(&PROFILES)?;
    each_population(context, TAIL.name, &MIXES, output, |(set, mix, population), output| {
        let progress = Progress::new(subjects.len() * RunMemory::ALL.len())?;
        for memory in RunMemory::ALL {
            for subject in &subjects {
                progress.on(format!("{} of {}, {mix}", subject.name, set.name()));
                let plan = IndexWorkload::uniform(context, subject, population, mix, &profiles, OPERATIONS);
                let plan = IndexWorkload { latencies: true, ..plan }.with_memory(memory);
                let record = record(set.name(), mix, subject, memory);
                or_report(output, record.clone(), |output| measure(context, &record, &plan, memory, output))?;
                progress.step();
            }
        }
        Ok(())
    })
}

fn record(set: &str, mix: Mix, subject: &IndexSubject, memory: RunMemory) -> Record {
    let record = Record::new(TAIL.name).keys(set).figure("workload", mix.name());
    record.figure("structure", subject.name.as_str()).figure("memory", memory.name())
}

fn measure(
    context: &Context,
    record: &Record,
    plan: &IndexWorkload<'_>,
    memory: RunMemory,
    output: &mut Output<'_>,
) -> Result<()> {
    let modelled = run_in_memory(plan)?;
    // The device is measured as in the paper.
    let measured = if context.modelled_only || memory == RunMemory::Pool {
        None
    } else {
        let device = context.device.clone().unwrap_or_else(std::env::temp_dir);
        Some(run_on_device(&device, &IndexWorkload { profiles: &[], ..plan.clone() })?)
    };
    for (profile, latencies_us) in plan.profiles.iter().zip(&modelled.latencies_us) {
        let modelled = LatencySummary::of(latencies_us);
        let mut row = record
            .clone()
            .profile(profile.name())
            .figure("operations", latencies_us.len() as u64)
            .figure("modelled_mean_us", modelled.mean_us)
            .figure("modelled_p99_us", modelled.p99_us)
            .figure("modelled_deviation_us", modelled.deviation_us);
        if let Some((run, direct)) = &measured {
            let measured = LatencySummary::of(run.latencies_us.last().map_or(&[], Vec::as_slice));
            row = row
                .figure("measured_mean_us", measured.mean_us)
                .figure("measured_p99_us", measured.p99_us)
                .figure("measured_deviation_us", measured.deviation_us)
                .figure("direct", *direct);
        }
        output.report(row)?;
    }
    Ok(())
}

/// Mean, 99th percentile and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LatencySummary {
    mean_us: f64,
    p99_us: f64,
    deviation_us: f64,
}

impl LatencySummary {
    fn of(times_us: &[f64]) -> Self {
        let count = times_us.len().max(1) as f64;
        let mean_us = times_us.iter().sum::<f64>() / count;
        let variance = times_us.iter().map(|time| (time - mean_us) * (time - mean_us)).sum::<f64>() / count;
        let mut sorted = times_us.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = (sorted.len() * 99).div_ceil(100).saturating_sub(1);
        Self { mean_us, p99_us: sorted.get(at).copied().unwrap_or(f64::NAN), deviation_us: variance.sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_lies_above_the_percentile() {
        let times_us: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let summary = LatencySummary::of(&times_us);
        assert_eq!((summary.mean_us, summary.p99_us), (100.5, 198.0));
        assert!((summary.deviation_us - 57.734).abs() < 1e-3);
    }
}
