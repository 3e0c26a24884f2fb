//! Figure 5: changes of levels; guideline 5.

use anyhow::Result;

use super::setting::{records, requests};
use super::store::Order;
use super::table_watch::Change;
use super::watched::{Watched, guideline, percents};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::{Record, Spread};
use crate::workload::Requests;

pub(crate) const FIG5: Experiment = Experiment {
    name: "bourbon/fig5",
    about: "part of a level that changes at a time, and time between changes; guideline 5 (Bourbon, Figure 5)",
    run,
};

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_set(context, FIG5.name, &["uniform"], output, |spec, output| {
        let records = records(context, spec)?;
        let percents = percents(context);
        let progress = Progress::new(percents.len())?;
        let mut rests = Vec::new();
        for percent in percents {
            progress.on(format!("{percent} % writes to {spec}"));
            let requests = requests(context, Requests::Uniform);
            let watched = Watched::run(context, &records, Order::Random, percent, &requests)?;
            for level in watched.levels() {
                let changes: Vec<Change> =
                    watched.watch.changes().iter().filter(|change| change.level == level).copied().collect();
                let rest = rest_operations(&changes, watched.operations);
                let record = watched.level_record(FIG5.name, records.name(), percent, level);
                output.report(row(record, &changes, rest))?;
                if context.full {
                    changes.iter().try_for_each(|change| output.report(point(records.name(), percent, change)))?;
                }
            }
            if let Some(deepest) = watched.levels().next_back() {
                let changes: Vec<Change> =
                    watched.watch.changes().iter().filter(|change| change.level == deepest).copied().collect();
                rests.push((percent, rest_operations(&changes, watched.operations)));
            }
            progress.step();
        }
        let confirmed = rests.is_sorted_by(|less, more| less.0 >= more.0 || less.1 > more.1);
        let says = "the more is written, the shorter the deepest level rests";
        output.report(guideline(FIG5.name, &records, 5, says, confirmed))?;
        Ok(())
    })
}

/// Mean operations between two changes of a level; the whole run if it never changed.
fn rest_operations(changes: &[Change], operations: u64) -> f64 {
    let between: Vec<f64> = changes.windows(2).map(|pair| (pair[1].at - pair[0].at) as f64).collect();
    if between.is_empty() { operations as f64 } else { between.iter().sum::<f64>() / between.len() as f64 }
}

/// Adds the changes of a level.
fn row(record: Record, changes: &[Change], rest: f64) -> Record {
    let shares: Vec<f64> = changes.iter().map(|change| change.changes as f64 / change.tables.max(1) as f64).collect();
    let spread = Spread::of(&shares);
    record
        .figure("bursts", changes.len() as u64)
        .figure("operations_between_bursts", rest)
        .figure("changes_per_table_median", spread.median)
        .figure("changes_per_table_max", spread.max)
}

/// One burst, for the timeline.
fn point(set: &str, percent: u64, change: &Change) -> Record {
    Record::new(FIG5.name)
        .keys(set)
        .figure("writes_percent", percent)
        .figure("level", change.level as u64)
        .figure("at_operation", change.at)
        .figure("changes", change.changes)
        .figure("tables", change.tables)
}
