//! Figures 8 and 12: time and file size of a bulk load, and file size after growth, compared with the B+-tree.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use ogive::index::IndexKind;
use ogive::io::LocalStorage;

use crate::experiments::indexes::{
    GENERATED, IndexStore, IndexSubject, ProgramSubject, pages, programs, subjects_beside_programs, with_size,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set, or_report};
use crate::keys::KeySet;
use crate::output::{Record, Spread};

pub(crate) const BULK_LOAD: Experiment = Experiment {
    name: "aulid/bulk-load",
    about: "time, memory and file of a bulk load, including syncs, over the B+-tree's (AULID, Figures 8 and 12)",
    run,
};

/// Rounds over all structures in turn; figures are medians.
const ROUNDS: u64 = 3;
/// Memory of the pool, which a bulk load bypasses.
const MEMORY_BYTES: u64 = 8 << 20;
/// Blocks that programs count: pages of the other structures.
const BLOCK_BYTES: usize = 4 << 10;
/// Keys that the pipe to a program is measured with.
const LIKE_KEYS: usize = 1_000;

/// Figures of a structure, one value per round.
struct Loads<'s> {
    subject: &'s IndexSubject,
    load_s: Vec<f64>,
    memory_bytes: Vec<f64>,
    entries: u64,
    file_bytes: u64,
    failed: bool,
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = subjects_beside_programs(context, &IndexKind::all())?;
    each_set(context, BULK_LOAD.name, &GENERATED, output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let start = |subject| Loads {
            subject,
            load_s: Vec::new(),
            memory_bytes: Vec::new(),
            entries: 0,
            file_bytes: 0,
            failed: false,
        };
        let mut all: Vec<Loads<'_>> = subjects.iter().map(start).collect();
        let rounds = ROUNDS.max(context.seeds);
        let progress = Progress::new(all.len() * rounds as usize)?;
        for _ in 0..rounds {
            for loads in all.iter_mut().filter(|loads| !loads.failed) {
                progress.on(format!("{} of {}", loads.subject.name, set.name()));
                let failed = record(&set, &loads.subject.name);
                loads.failed = or_report(output, failed, |_| load(context, &set, loads))?.is_none();
                progress.step();
            }
        }
        report(&set, &all, output)?;
        for program in programs(context) {
            let record = record(&set, &program.name());
            or_report(output, record.clone(), |output| {
                Ok(output.report(load_program(&set, &program, rounds, record)?)?)
            })?;
        }
        Ok(())
    })
}

fn record(set: &KeySet, structure: &str) -> Record {
    Record::new(BULK_LOAD.name).keys(set.name()).figure("structure", structure)
}

/// Loads a program in each round: the time that it states, beside what passed with the pipe.
fn load_program(set: &KeySet, program: &ProgramSubject, rounds: u64, record: Record) -> Result<Record> {
    let like: Vec<u64> = set.stream()?.take(LIKE_KEYS).collect::<crate::Result<_>>()?;
    let (mut load_s, mut wall_s, mut pipe_s, mut last) = (Vec::new(), Vec::new(), Vec::new(), None);
    for _ in 0..rounds {
        let mut loaded = program.load(BLOCK_BYTES, &like, distinct_stream(set)?)?;
        load_s.push(loaded.load.program_ns / 1e9);
        wall_s.push(loaded.load.wall_ns / 1e9);
        pipe_s.push(loaded.load.pipe_ns / 1e9);
        last = Some((loaded.load.operations, loaded.size(loaded.load.operations)?));
    }
    let (entries, size) = last.context("no round")?;
    let record = record
        .figure("keys_count", entries)
        .spread("load_s", &load_s)
        .figure("ns_per_key", 1e9 * Spread::of(&load_s).median / entries.max(1) as f64)
        .spread("wall_s", &wall_s)
        .figure("pipe_s", Spread::of(&pipe_s).median);
    Ok(with_size(record, &size))
}

/// The keys of a set, each once.
fn distinct_stream(set: &KeySet) -> Result<impl Iterator<Item = crate::Result<u64>>> {
    let mut last = None;
    Ok(set.stream()?.filter(move |key| key.as_ref().map_or(true, |key| last.replace(*key) != Some(*key))))
}

fn load(context: &Context, set: &KeySet, loads: &mut Loads<'_>) -> Result<()> {
    let folder = context.device_folder()?;
    let mut options = loads.subject.options.clone();
    options.pages = pages(options.pages.page_bytes, MEMORY_BYTES);
    // Keys are streamed during the load, so that memory is that of the load.
    let keys = distinct_stream(set)?;
    let memory = context.memory.map(|gauge| (gauge, (gauge.start)()));
    let storage = Arc::new(LocalStorage::new(folder.path()));
    let (store, load_s) = IndexStore::load(storage, &options, &[], keys.map(|key| Ok(key?)))?;
    loads.memory_bytes.extend(memory.map(|(gauge, before)| (gauge.peak_bytes)().saturating_sub(before) as f64));
    loads.load_s.push(load_s);
    loads.entries = store.index.len()?;
    loads.file_bytes = store.file_bytes()?;
    Ok(())
}

fn report(set: &KeySet, all: &[Loads<'_>], output: &mut Output<'_>) -> Result<()> {
    let median_s = |loads: &Loads<'_>| Spread::of(&loads.load_s).median;
    let btree = all.iter().find(|loads| loads.subject.options.kind == IndexKind::BTREE && !loads.failed);
    for loads in all.iter().filter(|loads| !loads.failed) {
        let mut row = record(set, &loads.subject.name)
            .figure("keys_count", loads.entries)
            .spread("load_s", &loads.load_s)
            .figure("ns_per_key", 1e9 * median_s(loads) / loads.entries.max(1) as f64)
            .figure("file_bytes", loads.file_bytes);
        if let Some(btree) = btree {
            row = row
                .figure("load_ratio_to_btree", median_s(loads) / median_s(btree))
                .figure("file_ratio_to_btree", loads.file_bytes as f64 / btree.file_bytes as f64);
        }
        if !loads.memory_bytes.is_empty() {
            row = row.figure("peak_memory_bytes", Spread::of(&loads.memory_bytes).max as u64);
        }
        output.report(row)?;
    }
    Ok(())
}
