//! Figure 4: internal lookups per table, by level; guidelines 3 and 4.

use anyhow::Result;

use super::setting::records;
use super::store::Order;
use super::table_watch::Life;
use super::watched::{Watched, guideline};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::workload::{Records, Requests};

pub(crate) const FIG4: Experiment = Experiment {
    name: "bourbon/fig4",
    about: "positive and negative internal lookups of tables by level, load order and requests (Bourbon, Figure 4)",
    run,
};

/// Default number of writes per 100 operations.
const WRITES: u64 = 5;

/// Load order and requests of the paper's panels.
const CASES: [(Order, Requests); 3] = [
    (Order::Random, Requests::Uniform),
    (Order::Random, Requests::Zipf { skew: Requests::YCSB_SKEW }),
    (Order::Sequential, Requests::Uniform),
];

/// Mean internal lookups of the tables of a level.
#[derive(Debug, Clone, Copy, Default)]
struct MeanLookups {
    positive: f64,
    negative: f64,
}

impl MeanLookups {
    fn of(lives: &[Life]) -> Self {
        let mean = |figure: fn(&Life) -> u64| {
            lives.iter().map(|life| figure(life) as f64).sum::<f64>() / lives.len().max(1) as f64
        };
        Self { positive: mean(|life| life.positive), negative: mean(|life| life.negative) }
    }
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let percent = context.write_percents.first().copied().unwrap_or(WRITES);
    each_set(context, FIG4.name, &["uniform"], output, |spec, output| {
        let records = records(context, spec)?;
        let progress = Progress::new(CASES.len())?;
        let mut cases = Vec::new();
        for (order, requests) in CASES {
            progress.on(format!("{} order, {requests} requests to {spec}", order.name()));
            let watched = Watched::run(context, &records, order, percent, &requests)?;
            let mut levels = Vec::new();
            for level in watched.levels() {
                let lives = watched.of_level(level);
                let asked = MeanLookups::of(&lives);
                output.report(row(&records, order, &requests, percent, level, &lives, asked))?;
                levels.push(asked);
            }
            cases.push(levels);
            progress.step();
        }
        conclude(&records, &cases, output)?;
        Ok(())
    })
}

fn row(
    records: &Records,
    order: Order,
    requests: &Requests,
    percent: u64,
    level: usize,
    lives: &[Life],
    asked: MeanLookups,
) -> Record {
    Record::new(FIG4.name)
        .keys(records.name())
        .figure("load", order.name())
        .figure("requests", requests.to_string())
        .figure("writes_percent", percent)
        .figure("level", level as u64)
        .figure("tables", lives.len() as u64)
        .figure("lookups_per_table", asked.positive + asked.negative)
        .figure("negative_per_table", asked.negative)
        .figure("positive_per_table", asked.positive)
}

/// Checks the guidelines against the cases.
fn conclude(records: &Records, cases: &[Vec<MeanLookups>], output: &mut Output<'_>) -> Result<()> {
    let [uniform, zipf, sequential] = cases else { return Ok(()) };
    let ends = |levels: &[MeanLookups]| {
        (levels.first().copied().unwrap_or_default(), levels.last().copied().unwrap_or_default())
    };
    let (top, bottom) = ends(uniform);
    let upper_serve = top.negative > bottom.negative && top.negative + top.positive > bottom.negative + bottom.positive;
    // The share of positive lookups that levels above the deepest serve.
    let above = |levels: &[MeanLookups]| {
        let sum = levels.iter().map(|asked| asked.positive).sum::<f64>();
        1.0 - ends(levels).1.positive / sum.max(1.0)
    };
    let none_in_vain = |levels: &[MeanLookups]| levels.iter().map(|asked| asked.negative).sum::<f64>();
    output.report(guideline(
        FIG4.name,
        records,
        3,
        "tables of upper levels are asked more often than deep ones, mostly for absent keys",
        upper_serve,
    ))?;
    output.report(guideline(
        FIG4.name,
        records,
        4,
        "upper levels serve more of skewed requests than of uniform ones; sequential loads cause fewer empty lookups",
        above(zipf) > above(uniform) && none_in_vain(sequential) < none_in_vain(uniform),
    ))?;
    Ok(())
}
