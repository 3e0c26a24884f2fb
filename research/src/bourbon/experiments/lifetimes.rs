//! Figure 3: lifetimes of tables by level and share of writes; guidelines 1 and 2.

use anyhow::Result;

use super::setting::{records, requests};
use super::store::Order;
use super::table_watch::Life;
use super::watched::{Watched, guideline, percents};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::{Record, Spread};
use crate::workload::Requests;

pub(crate) const FIG3: Experiment = Experiment {
    name: "bourbon/fig3",
    about: "lifetimes of tables in operations, by level and share of writes; guidelines 1 and 2 (Bourbon, Figure 3)",
    run,
};

/// Fraction of the level's mean lifetime below which a table is short-lived.
const SHORT: f64 = 0.05;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_set(context, FIG3.name, &["uniform"], output, |spec, output| {
        let records = records(context, spec)?;
        let percents = percents(context);
        let progress = Progress::new(percents.len())?;
        let (mut deeper_live_longer, mut short_at_the_bottom) = (true, false);
        for percent in percents {
            progress.on(format!("{percent} % writes to {spec}"));
            let requests = requests(context, Requests::Uniform);
            let watched = Watched::run(context, &records, Order::Random, percent, &requests)?;
            let mut means = Vec::new();
            for level in watched.levels() {
                let lives = watched.of_level(level);
                means.push((mean(&lives), short_share(&lives)));
                output.report(row(watched.level_record(FIG3.name, records.name(), percent, level), &lives))?;
            }
            let ends = (means.first(), means.last());
            if let (Some((top, _)), Some((bottom, short))) = ends {
                deeper_live_longer &= bottom > top;
                short_at_the_bottom |= *short > 0.0;
            }
            progress.step();
        }
        output.report(guideline(
            FIG3.name,
            &records,
            1,
            "tables of the deepest level live longest, at each share of writes",
            deeper_live_longer,
        ))?;
        output.report(guideline(
            FIG3.name,
            &records,
            2,
            "even at the deepest level some tables are short-lived, at some share of writes",
            short_at_the_bottom,
        ))?;
        Ok(())
    })
}

fn mean(lives: &[Life]) -> f64 {
    lives.iter().map(|life| life.operations as f64).sum::<f64>() / lives.len().max(1) as f64
}

/// The share of tables that lived for a small part of the mean.
fn short_share(lives: &[Life]) -> f64 {
    let limit = SHORT * mean(lives);
    lives.iter().filter(|life| (life.operations as f64) < limit).count() as f64 / lives.len().max(1) as f64
}

/// Adds the lifetimes of the tables of a level.
fn row(record: Record, lives: &[Life]) -> Record {
    let mut sorted: Vec<f64> = lives.iter().map(|life| life.operations as f64).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(f64::NAN);
    record
        .figure("tables", lives.len() as u64)
        .figure("made_in_the_run", lives.iter().filter(|life| !life.is_old).count() as u64)
        .figure("mean_life_operations", mean(lives))
        .figure("p10_life_operations", at(0.1))
        .figure("median_life_operations", Spread::of(&sorted).median)
        .figure("p90_life_operations", at(0.9))
        .figure("short_lived_share", short_share(lives))
}
