//! Table 2 and Figure 7: size, build time and join time of indexes.

use std::sync::Arc;

use crate::joins;
use crate::models::pgm::{Pgm, UPPER_ERROR};
use crate::models::radix_spline::{self, RadixSpline};
use crate::models::rmi::{self, Rmi};
use crate::models::tuning::{EvaluatedSetting, pareto};
use crate::models::{Locate, mean_window_children, sampled};
use anyhow::Result;
use ogive::index::{Index, IndexOptions};
use ogive::io::{MemoryStorage, Profile, Storage, Timer};
use ogive::join::{JoinMethod, JoinOptions, JoinSource};
use ogive_model::Fence;

use super::figures::{INNER, outer, write_relations};
use super::place::{Device, Outcome, Place};
use super::relations::{BLOCK_BYTES, inner, open_table};
use super::rounds::{in_turn, paper_options};
use super::threads::{WINDOWS, error_keys};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::workload::{KeyForm, Records};

pub(crate) const TABLE2: Experiment = Experiment {
    name: "join/table2",
    about: "size of a PGM-index by window: over keys, over samples, over blocks (external-memory joins, Table 2)",
    run: table2,
};

pub(crate) const FIG7: Experiment = Experiment {
    name: "join/fig7",
    about: "size, build time and self-join time of each kind of index by key set (external-memory joins, Figure 7)",
    run: fig7,
};

/// Default number of rows.
const ROWS: u64 = 1_000_000;
const SETS: [&str; 4] = ["lognormal", "uniform", "normal", "dense"];
/// Sampling interval of a sampled index (the paper's).
const SAMPLED_EVERY: u64 = 128;
/// Keys of a leaf of the paper's B-tree, and the window of all indexes but RMI (the paper's).
const WINDOW_KEYS: u64 = 256;
/// Bytes of an entry of a B-tree: key and position.
const BTREE_ENTRY_BYTES: u64 = 16;
/// Maximum number of leaves of an RMI: 32 MiB of them.
const MOST_RMI_LEAVES: usize = 1 << 20;

fn table2(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_set(context, TABLE2.name, &SETS, output, |spec, output| {
        let (name, keys) = keys_of(context, spec)?;
        let rows = [("keys", 1), ("sampled", SAMPLED_EVERY), ("blocks", u64::from(BLOCK_BYTES) / 16)];
        let rows = rows.map(|(over, keys_per_child)| (over, Row::of(&keys, keys_per_child)));
        for window in WINDOWS {
            let mut record = Record::new(TABLE2.name).keys(&name).figure("window_keys", window);
            record = record.figure("btree_bytes", keys.len() as u64 / WINDOW_KEYS * BTREE_ENTRY_BYTES);
            for (over, row) in &rows {
                let error = error_keys(window).div_ceil(row.keys_per_child);
                let (bytes, build_us, _) = row.measured(|fences| Pgm::build(fences, error, UPPER_ERROR));
                record = record.figure(&format!("{over}_bytes"), bytes).figure(&format!("{over}_build_us"), build_us);
            }
            output.report(record)?;
        }
        Ok(())
    })
}

/// The distinct integers of a set, with its name.
fn keys_of(context: &Context, spec: &str) -> Result<(String, Vec<u64>)> {
    let set = context.open_of(spec, ROWS)?;
    let mut keys = set.load()?;
    keys.dedup();
    Ok((set.name().to_owned(), keys))
}

fn built<T>(build: impl FnOnce() -> T) -> (T, f64) {
    let timer = Timer::start();
    let made = build();
    (made, timer.elapsed_us())
}

/// Bytes, build time in microseconds, and keys per window.
type Figures = (u64, f64, f64);

/// A kind of index, over keys as the paper builds it and over blocks as we do.
struct Shape {
    method: JoinMethod,
    over_keys: Option<Figures>,
    over_blocks: Option<Figures>,
}

fn fig7(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let device = Device::of(context)?;
    each_set(context, FIG7.name, &SETS, output, |spec, output| {
        let records = inner(context, spec, KeyForm::Bytes8, ROWS)?;
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        write_relations(&memory, &records, KeyForm::Bytes8, &[1], context.seed)?;
        let mut places: Vec<Place> = vec![Place::modelled(&memory, Profile::named("ssd")?)];
        if let Some(device) = &device {
            write_relations(&device.storage(), &records, KeyForm::Bytes8, &[1], context.seed)?;
            places.push(device.direct());
        }
        let shapes = shapes(records.integers().unwrap_or_default());
        let progress = Progress::new(places.len() * (shapes.len() + 1))?;
        for place in &places {
            for shape in &shapes {
                progress.on(format!("{spec}, {}, {}", shape.method, place.name));
                let (table, right) = open_table(&place.inputs, INNER, &place.profile)?;
                let mut record = shape.described(head(&records, place, shape.method));
                if shape.method == JoinMethod::Inlj {
                    record = record.figure("index_bytes", table.explain().index_bytes);
                }
                report(context, place, (&right, records.len() as u64), shape.method, record, output)?;
                progress.step();
            }
            progress.on(format!("{spec}, ALEX, {}", place.name));
            alex(context, place, &records, output)?;
            progress.step();
        }
        Ok(())
    })
}

fn head(records: &Records, place: &Place, method: JoinMethod) -> Record {
    Record::new(FIG7.name).keys(records.name()).profile(&place.name).figure("method", method.to_string())
}

fn report(
    context: &Context,
    place: &Place,
    (right, rows): (&JoinSource, u64),
    method: JoinMethod,
    record: Record,
    output: &mut Output<'_>,
) -> Result<()> {
    let (_, left) = open_table(&place.inputs, &outer(1), &place.profile)?;
    let options = |method| paper_options(&JoinOptions::default(), method);
    let outcome = in_turn(place, &left, right, &options, &[method], context.seeds, rows)?.pop();
    output.report(match outcome {
        Some(Ok(outcome)) => Outcome::figures(&outcome, record),
        Some(Err(reason)) => record.figure("refused", reason),
        None => record,
    })?;
    Ok(())
}

/// The join through an open index, ALEX, on the same storage.
fn alex(context: &Context, place: &Place, records: &Records, output: &mut Output<'_>) -> Result<()> {
    const NAME: &str = "alex";
    let storage = Arc::clone(&place.inputs);
    let options = IndexOptions::default().kind(crate::ALEX);
    let keys = records.integers().unwrap_or_default();
    let (index, build_us) = built(|| -> Result<Index<u64, u64>> {
        let index = Index::create((storage.clone(), NAME), &options)?;
        index.bulk_load(keys.iter().map(|&key| (key, key)))?;
        Ok(index)
    });
    let index = index?;
    let record = head(records, place, JoinMethod::InljIndex).figure("index_build_us", build_us);
    report(context, place, (&JoinSource::index(&index)?, records.len() as u64), JoinMethod::InljIndex, record, output)?;
    drop(index);
    storage.list()?.iter().filter(|name| name.starts_with(NAME)).try_for_each(|name| storage.remove(name))?;
    Ok(())
}

impl Shape {
    fn described(&self, mut record: Record) -> Record {
        for (name, figures) in [("keys", self.over_keys), ("blocks", self.over_blocks)] {
            if let Some((bytes, build_us, window_keys)) = figures {
                record = record
                    .figure(&format!("over_{name}_bytes"), bytes)
                    .figure(&format!("over_{name}_build_us"), build_us)
                    .figure(&format!("over_{name}_window_keys"), window_keys);
            }
        }
        record
    }
}

fn shapes(keys: &[u64]) -> Vec<Shape> {
    let block_rows = u64::from(BLOCK_BYTES) / 16;
    let over_keys = Row::of(keys, 1);
    let over_blocks = Row::of(keys, block_rows);
    let both = |method, figures: &dyn Fn(&Row) -> Figures| Shape {
        method,
        over_keys: Some(figures(&over_keys)),
        over_blocks: Some(figures(&over_blocks)),
    };
    let (_, btree_us) = built(|| std::hint::black_box(Row::of(keys, WINDOW_KEYS)));
    let btree: Figures = (keys.len() as u64 / WINDOW_KEYS * BTREE_ENTRY_BYTES, btree_us, WINDOW_KEYS as f64);
    let sampled = Row::of(keys, SAMPLED_EVERY).measured(|fences| Pgm::build(fences, 1, UPPER_ERROR));
    let pgm = |row: &Row| row.measured(|fences| Pgm::build(fences, row.error(), UPPER_ERROR));
    let spline = |row: &Row| {
        let setting = row.paper_choice(radix_spline::try_settings(&row.fences, row.error()));
        row.measured(|fences| RadixSpline::build(fences, setting.unwrap_or(SPLINE)))
    };
    let rmi = |row: &Row| {
        let setting = row.paper_choice(rmi::try_settings(&row.fences, MOST_RMI_LEAVES));
        row.measured(|fences| Rmi::build(fences, setting.unwrap_or(RMI)))
    };
    let only_keys = |method, figures| Shape { method, over_keys: Some(figures), over_blocks: None };
    vec![
        only_keys(joins::BTREE, btree),
        only_keys(joins::BTREE_CURSOR, btree),
        both(joins::PGM.with_number(error_keys(WINDOW_KEYS)), &pgm),
        only_keys(joins::SAMPLED_PGM, sampled),
        both(joins::RADIX_SPLINE, &spline),
        both(joins::RMI, &rmi),
        Shape { method: JoinMethod::Inlj, over_keys: None, over_blocks: None },
    ]
}

/// The result without any possible setting.
const SPLINE: radix_spline::RadixSplineSetting = radix_spline::RadixSplineSetting { error_children: 1, radix_bits: 0 };
const RMI: rmi::RmiSetting = rmi::RmiSetting { root: rmi::RootKind::Linear, leaves: 1 };

/// Keys, or groups of them, that an index is built over.
struct Row {
    fences: Vec<Fence>,
    keys_per_child: u64,
}

impl Row {
    fn of(keys: &[u64], keys_per_child: u64) -> Self {
        Self { fences: sampled::fences(keys.iter().copied(), keys_per_child as usize), keys_per_child }
    }

    /// Error in children of an index with the paper's window.
    fn error(&self) -> u64 {
        error_keys(WINDOW_KEYS).div_ceil(self.keys_per_child)
    }

    fn measured<S: Locate>(&self, build: impl FnOnce(&[Fence]) -> S) -> Figures {
        let (structure, build_us) = built(|| build(&self.fences));
        let window = mean_window_children(&structure, &self.fences) * self.keys_per_child as f64;
        (structure.resident_bytes(), build_us, window)
    }

    /// The smallest Pareto-optimal setting that keeps the paper's window, else the narrowest.
    fn paper_choice<T: Copy>(&self, tried: Vec<EvaluatedSetting<T>>) -> Option<T> {
        // Over blocks, the shortest window is the key's own block and a neighbour.
        let most_children = (WINDOW_KEYS as f64 / self.keys_per_child as f64).max(2.0);
        let front = pareto(tried);
        front.iter().find(|tried| tried.search_width <= most_children).or(front.last()).map(|tried| tried.setting)
    }
}
