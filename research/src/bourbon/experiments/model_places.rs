//! The places where a model of keys is worth its time: within a block, and among the tables of a level (Bourbon,
//! Section 4.5, asks it for the tables themselves).
//!
//! Everything is in memory, so that the search is as large a part of a lookup as it can be.

use std::hint::black_box;
use std::sync::Arc;

use crate::models::Locate;
use crate::models::pgm::{Pgm, UPPER_ERROR};
use anyhow::{Result, ensure};
use ogive::lsm::Learning;
use ogive::lsm::extend::{GuidedStart, Learner, LearningPolicy, LookupStart, SearchHint, TableFile, TableGuide};
use ogive_model::Fence;

use super::setting::{lookups, options, records, requests};
use super::store::{Order, Store, StoreSetup};
use super::subjects::CODED;
use super::turns::{Stores, rounds};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::{Record, Spread};
use crate::random::Random;
use crate::stopwatch::Stopwatch;
use crate::workload::{Population, Requests};

pub(crate) const IN_BLOCK: Experiment = Experiment {
    name: "bourbon/in-block",
    about: "lookups by the search within blocks, by their size: by a line, by bisection, by restart points",
    run: in_block,
};

pub(crate) const FIND_TABLE: Experiment = Experiment {
    name: "bourbon/find-table",
    about: "search for a key's table among those of a level: by bisection, by one line, by segments of lines",
    run: find_table,
};

const SETS: [&str; 3] = ["lognormal", "uniform", "normal"];
/// Blocks of local storage, of scans, and of object stores.
const BLOCK_BYTES: [u32; 3] = [4 << 10, 16 << 10, 64 << 10];
/// Numbers of tables: of a first level, of deep ones, and of a level of 250 GB.
const TABLES: [usize; 3] = [10, 300, 4_000];
/// Default number of keys of a level: enough for every number of tables.
const KEYS: u64 = 1_000_000;
/// Error of the segments, in tables.
const SEGMENT_ERROR: u64 = 4;

/// The search in blocks of columns. In those of a store with default options, some are coded: lines and residuals, in
/// which the residuals are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockSearch {
    /// Outwards from where the line between the separators of the block predicts the key.
    Line,
    /// By bisection of the whole block.
    Bisection,
    /// By every 16th key, as LevelDB does.
    Restarts,
}

impl BlockSearch {
    const ALL: [Self; 3] = [Self::Line, Self::Bisection, Self::Restarts];
}

impl LearningPolicy for BlockSearch {
    fn name(&self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Bisection => "bisection",
            Self::Restarts => "restarts",
        }
    }

    fn start(&self, _: u64) -> Arc<dyn Learner> {
        Arc::new(*self)
    }
}

impl Learner for BlockSearch {
    fn open_table(&self, table: &TableFile, _: Option<&[u8]>) {
        table.set_guide(Some(Arc::new(*self)));
    }
}

impl TableGuide for BlockSearch {
    fn start(&self, table: &TableFile, key: &[u8], _: Option<(u64, u64)>) -> ogive::Result<GuidedStart> {
        let hint = |predicted: SearchHint| match self {
            Self::Line => predicted,
            Self::Bisection => SearchHint::Between(0, usize::MAX),
            Self::Restarts => SearchHint::Restarts,
        };
        let start = table.find_block(key).map(|start| LookupStart { hint: hint(start.hint), ..start });
        Ok(GuidedStart { start, by_model: false })
    }
}

fn in_block(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let context = &Context { inline_values: true, ..context.clone() };
    let progress = Progress::new(context.specs(&SETS).len() * BLOCK_BYTES.len())?;
    each_set(context, IN_BLOCK.name, &SETS, output, |spec, output| {
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        for block_bytes in BLOCK_BYTES {
            progress.on(format!("blocks of {block_bytes} bytes on {spec}"));
            let load = |learning: Learning, coding: bool| {
                let options = options(context, &records, &CODED)
                    .learning(learning)
                    .levels(|levels| levels.coding(coding).block_bytes(block_bytes).table_bytes(records.raw_bytes()));
                let (order, subject, population) = (Order::Sequential, &CODED, &population);
                Store::load(&StoreSetup { context, records: &records, population, order, options: &options, subject })
            };
            let mut searches = vec![("default", BlockSearch::Line)];
            searches.extend(BlockSearch::ALL.map(|search| ("columns", search)));
            let loaded = searches.iter().map(|&(blocks, search)| match blocks {
                "default" => load(Learning::CODED, true),
                _ => load(Learning::new(search), false),
            });
            let stores = loaded.collect::<Result<Vec<_>>>()?;
            let mut stores = Stores { subjects: vec![CODED; stores.len()], stores };
            let requests = requests(context, Requests::Uniform);
            let asked = |round| stores.stores[0].asked(&requests, lookups(context), true, context.seed + round);
            let asked = (0..rounds(context)).map(asked).collect::<Result<Vec<_>>>()?;
            stores.stores.iter().try_for_each(|store| store.warm(&asked[0]))?;
            let times = stores.in_turn(context, |store, round| store.get_ns(&asked[round as usize]))?;
            let bisection = times.iter().zip(&searches).find(|(_, (_, search))| *search == BlockSearch::Bisection);
            let bisection = bisection.map_or(f64::NAN, |(times, _)| Spread::of(times).median);
            for ((&(blocks, search), store), times) in searches.iter().zip(&stores.stores).zip(&times) {
                output.report(
                    Record::new(IN_BLOCK.name)
                        .keys(records.name())
                        .figure("block_bytes", u64::from(block_bytes))
                        .figure("blocks", blocks)
                        .figure("search", search.name())
                        .spread("processor_ns_per_get", times)
                        .figure("speedup_over_bisection", bisection / Spread::of(times).median)
                        .figure("bytes_of_raw", store.stored_bytes()? as f64 / records.raw_bytes() as f64),
                )?;
            }
            progress.step();
        }
        Ok(())
    })
}

/// The last keys of the tables of a level, and what predicts the table of a key.
struct Level {
    /// Ascending.
    ends: Vec<u64>,
    /// Tables for each unit of the key, from the first end to the last.
    slope: f64,
    segments: Pgm,
}

impl Level {
    fn new(ends: Vec<u64>) -> Self {
        let range = ends.first().zip(ends.last()).map_or(1, |(first, last)| (last - first).max(1));
        let slope = (ends.len() as f64 - 1.0) / range as f64;
        // A key equal to an end belongs to its table.
        let fences: Vec<Fence> = ends.iter().map(|&end| Fence { low: end, high: end.saturating_add(1) }).collect();
        Self { segments: Pgm::build(&fences, SEGMENT_ERROR, UPPER_ERROR), slope, ends }
    }

    fn by_bisection(&self, key: u64) -> usize {
        self.ends.partition_point(|&end| end < key)
    }

    fn by_line(&self, key: u64) -> usize {
        let beyond = key.saturating_sub(self.ends.first().copied().unwrap_or_default());
        self.outwards((beyond as f64 * self.slope) as usize, key)
    }

    fn by_segments(&self, key: u64) -> usize {
        let window = self.segments.window(key);
        let (first, last) = (*window.start() as usize, (*window.end() as usize).min(self.ends.len()));
        first + self.ends.get(first..last).map_or(0, |ends| ends.partition_point(|&end| end < key))
    }

    /// The first table that does not end before the key, by steps of doubled length from a guess.
    fn outwards(&self, guess: usize, key: u64) -> usize {
        let is_before = |table: usize| self.ends.get(table).is_some_and(|&end| end < key);
        let mut step = 1;
        let (mut low, mut high) = (guess.min(self.ends.len()), guess.min(self.ends.len()));
        while is_before(high) {
            (low, high, step) = (high + 1, (high + step).min(self.ends.len()), step * 2);
        }
        while low > 0 && !is_before(low - 1) {
            (high, low, step) = (low - 1, low.saturating_sub(step), step * 2);
        }
        low + self.ends.get(low..high).map_or(0, |ends| ends.partition_point(|&end| end < key))
    }
}

fn find_table(context: &Context, output: &mut Output<'_>) -> Result<()> {
    type Find = fn(&Level, u64) -> usize;
    const WAYS: [(&str, Find); 3] =
        [("bisection", Level::by_bisection), ("line", Level::by_line), ("segments", Level::by_segments)];
    let progress = Progress::new(context.specs(&SETS).len() * TABLES.len())?;
    each_set(context, FIND_TABLE.name, &SETS, output, |spec, output| {
        let set = context.open_of(spec, KEYS)?;
        let keys = set.load()?;
        ensure!(!keys.is_empty(), "{} has no keys to find; take a set of some thousands", set.name());
        for tables in TABLES {
            progress.on(format!("{tables} tables of {spec}"));
            let end = |table: usize| keys.get((table * keys.len()).div_ceil(tables).max(1) - 1).copied();
            let mut ends: Vec<u64> = (1..=tables).filter_map(end).collect();
            ends.dedup();
            let level = Level::new(ends);
            let mut random = Random::new(context.seed, "keys to find");
            let asked: Vec<u64> =
                (0..lookups(context)).map(|_| keys[random.below(keys.len() as u64) as usize]).collect();
            for &key in &asked {
                let found = WAYS.map(|(_, find)| find(&level, key));
                ensure!(found.iter().all(|&table| table == found[0]), "the searches for {key} differ: {found:?}");
            }
            let mut times = WAYS.map(|_| Vec::new());
            for _ in 0..rounds(context) {
                for ((_, find), times) in WAYS.iter().zip(&mut times) {
                    let start = Stopwatch::start();
                    let mut sum = 0_usize;
                    for &key in &asked {
                        sum = sum.wrapping_add(find(black_box(&level), key));
                    }
                    black_box(sum);
                    times.push(1e9 * start.elapsed().thread_s / asked.len().max(1) as f64);
                }
            }
            let bisection = Spread::of(&times[0]).median;
            for ((way, _), times) in WAYS.iter().zip(&times) {
                output.report(
                    Record::new(FIND_TABLE.name)
                        .keys(set.name())
                        .figure("tables", level.ends.len() as u64)
                        .figure("search", *way)
                        .spread("processor_ns_per_search", times)
                        .figure("speedup_over_bisection", bisection / Spread::of(times).median),
                )?;
            }
            progress.step();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_search_finds_the_table_of_each_key() {
        // A line guesses too few tables of the first level, and too many of the second.
        let growing: Vec<u64> = (1_u64..200).map(|table| table * table * table).collect();
        let shrinking: Vec<u64> = growing.iter().rev().map(|end| 200_u64.pow(3) - end).collect();
        for ends in [growing, shrinking] {
            let level = Level::new(ends.clone());
            let keys = ends.iter().flat_map(|&end| [end - 1, end, end + 1]).chain([0, 1 << 40, u64::MAX]);
            for key in keys {
                let wanted = ends.iter().take_while(|&&end| end < key).count();
                let found = [level.by_bisection(key), level.by_line(key), level.by_segments(key)];
                assert_eq!(found, [wanted; 3], "{key}");
            }
        }
    }
}
