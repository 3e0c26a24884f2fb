//! Joins of small relations with a large one that the page cache does not hold: times, waits for reads and predictions
//! of our methods, and the methods of the paper with the read-ahead of the kernel, beside plain sequential reading.
//!
//! All take turns, so that other work on the machine meets all of them; figures are medians of the rounds.

use std::path::Path;

use anyhow::{Context as _, Result};
use ogive::io::{FastPaths, Timer};
use ogive::join::{JoinMethod, JoinOptions};

use super::figures::{INNER, outer, write_relations};
use super::place::{Device, Outcome, Place};
use super::relations::{inner, open_table, outer_rows};
use super::rounds::free_options;
use crate::experiments::device::read_plainly;
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::{Record, Spread};
use crate::workload::{KeyForm, Records};

pub(crate) const COLD: Experiment = Experiment {
    name: "join/cold",
    about: "joins of relations that the page cache does not hold, against the paper's methods and plain reading",
    run,
};

/// Default number of rows of the inner relation, and its size over that of the outer ones.
const ROWS: u64 = 10_000_000;
const RATIOS: [u64; 2] = [100, 1000];
/// Minimum number of rounds.
const ROUNDS: u64 = 3;
const OURS: [&str; 3] = ["auto", "merge", "inlj"];
/// Our settings: reads in flight, and large pages, which take only direct reads.
const OURS_DIRECT: [(bool, bool); 3] = [(true, true), (true, false), (false, false)];
const OURS_CACHED: [(bool, bool); 2] = [(true, false), (false, false)];
/// The methods of the paper; with the planned scan, which other crates cannot have, they are all that look keys up.
const PAPERS: [&str; 4] = ["inlj:btree", "inlj:btree-iter", "inlj:pgm:128", "inlj:pgm-sampled"];
/// Bytes per request of plain reading.
const PIECE_BYTES: usize = 4 << 20;

/// A way to join.
struct ColdCase<'a> {
    place: &'a Place,
    method: JoinMethod,
    in_flight: bool,
    large_pages: bool,
    outcomes: Vec<Outcome>,
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let Some(device) = Device::of(context)? else { return Ok(()) };
    let ratios = if context.ratios.is_empty() { RATIOS.to_vec() } else { context.ratios.clone() };
    let places = [device.direct(), Place::local(device.folder.path(), device.profile.clone(), false)];
    each_set(context, COLD.name, &["lognormal"], output, |spec, output| {
        let records = inner(context, spec, KeyForm::Bytes8, ROWS)?;
        write_relations(&device.storage(), &records, KeyForm::Bytes8, &ratios, context.seed)?;
        for &ratio in &ratios {
            compare(context, &device, &places, &records, ratio, output)?;
        }
        Ok(())
    })
}

fn cases<'a>(context: &Context, places: &'a [Place; 2]) -> Result<Vec<ColdCase<'a>>> {
    let case = |place, method: &str, in_flight, large_pages| -> Result<ColdCase<'a>> {
        Ok(ColdCase { place, method: method.parse()?, in_flight, large_pages, outcomes: Vec::new() })
    };
    let ours: Vec<&str> = match context.methods.as_slice() {
        [] => OURS.to_vec(),
        asked => asked.iter().map(String::as_str).collect(),
    };
    let mut cases = Vec::new();
    let [direct, cached] = places;
    for (place, settings) in [(direct, &OURS_DIRECT[..]), (cached, &OURS_CACHED[..])] {
        for method in &ours {
            for &(in_flight, large_pages) in settings {
                cases.push(case(place, method, in_flight, large_pages)?);
            }
        }
    }
    // The paper reads through the page cache.
    for method in PAPERS {
        cases.push(case(&places[1], method, false, false)?);
    }
    Ok(cases)
}

fn compare(
    context: &Context,
    device: &Device,
    places: &[Place; 2],
    records: &Records,
    ratio: u64,
    output: &mut Output<'_>,
) -> Result<()> {
    let rounds = context.seeds.max(ROUNDS);
    let mut cases = cases(context, places)?;
    let mut plain_us = [Vec::new(), Vec::new()];
    let progress = Progress::new(rounds as usize)?;
    for _ in 0..rounds {
        progress.on(format!("{}, ratio {ratio}", records.name()));
        for case in &mut cases {
            evict(device.folder.path(), &[INNER, &outer(ratio)])?;
            let (_, left) = open_table(&case.place.inputs, &outer(ratio), &case.place.profile)?;
            let (_, right) = open_table(&case.place.inputs, INNER, &case.place.profile)?;
            let fast_paths = FastPaths { in_flight: case.in_flight, large_pages: case.large_pages, ..FastPaths::ALL };
            let options = free_options(&JoinOptions::default().fast_paths(fast_paths), case.method);
            case.outcomes.push(case.place.join(&left, &right, &options)?);
        }
        for (place, plain_us) in places.iter().zip(&mut plain_us) {
            evict(device.folder.path(), &[INNER])?;
            let (mut buffer, timer) = (vec![0; PIECE_BYTES], Timer::start());
            read_plainly(&*place.inputs.open(INNER)?, &mut buffer)?;
            plain_us.push(timer.elapsed_us());
        }
        progress.step();
    }
    let fastest_us = cases.iter().filter(|case| is_papers(case.method)).map(ColdCase::median_us);
    let paper_us = fastest_us.fold(f64::INFINITY, f64::min);
    let rows = outer_rows(records, ratio);
    let head = |place: &Place| Record::new(COLD.name).keys(records.name()).profile(&place.name).figure("rows", rows);
    for (place, plain_us) in places.iter().zip(&plain_us) {
        output.report(
            head(place).figure("method", "plain reading").figure("in_flight", 0).spread("measured_us", plain_us),
        )?;
    }
    for case in &cases {
        output.report(case.figures(head(case.place), paper_us))?;
    }
    Ok(())
}

fn is_papers(method: JoinMethod) -> bool {
    PAPERS.contains(&method.to_string().as_str())
}

impl ColdCase<'_> {
    fn of(&self, figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.outcomes.iter().map(figure).collect()
    }

    fn median_us(&self) -> f64 {
        Spread::of(&self.of(Outcome::total_us)).median
    }

    fn figures(&self, record: Record, paper_us: f64) -> Record {
        let median = |figure: fn(&Outcome) -> f64| Spread::of(&self.of(figure)).median;
        let reading_us = median(|outcome| outcome.report.seconds.reading * 1e6);
        let record = record
            .figure("method", self.method.to_string())
            .figure("in_flight", u64::from(self.in_flight))
            .figure("large_pages", u64::from(self.large_pages))
            .spread("measured_us", &self.of(Outcome::total_us))
            .figure("predicted_us", median(|outcome| outcome.report.predicted_us))
            .figure("reading_us", reading_us)
            .figure("waits_share", median(waits_share))
            .figure("mb_per_s", median(|outcome| outcome.report.bytes_read as f64) / self.median_us())
            .figure("requests", median(|outcome| outcome.report.requests as f64))
            .figure("over_paper", self.median_us() / paper_us);
        match self.outcomes.last() {
            Some(outcome) => record.figure("executed", outcome.report.method.as_str()),
            None => record,
        }
    }
}

/// The fraction of a join's time in which it waited for reads, from 0 to 1.
fn waits_share(outcome: &Outcome) -> f64 {
    let seconds = &outcome.report.seconds;
    seconds.reading / seconds.total().max(f64::MIN_POSITIVE)
}

/// Drops files from the page cache.
fn evict(folder: &Path, names: &[&str]) -> Result<()> {
    for name in names {
        let file = std::fs::File::open(folder.join(name)).with_context(|| format!("{name} cannot be opened"))?;
        // Pages that were not written yet stay.
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    Ok(())
}
