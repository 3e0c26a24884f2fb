//! Figure 15: the time of writing tables, the shares of tuning and of the index, and the search overhead: the time of a
//! search less that of building what it finds. Structures of indexes are loaded in turn with the tables.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use ogive::KeyType;
use ogive::io::{LocalStorage, Profile, Timer};
use ogive::table::{TableReport, TableWriteOptions, TableWriter};
use ogive::tune::DesignRequest;

use super::keys::{Keys, fill_value};
use super::rows::IntegerRecords;
use super::settings::{Progress, designs, is_searched, profiles, search};
use super::tables::{FIXED_BLOCK_BYTES, NAME};
use crate::experiments::indexes::{IndexStore, IndexSubject, LOAD_MEMORY_BYTES, pages, subjects};
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::keys::{KeySet, open_with};
use crate::output::{Record, Spread};

pub(crate) const BUILD: Experiment = Experiment {
    name: "airindex/build",
    about: "time and memory of writing a table with and without an index, including syncs (AirIndex, Figure 15)",
    run,
};

const PROFILES: [&str; 1] = ["ssd"];
const DESIGNS: [&str; 4] = ["none", "btree", "coded", "tuned"];
/// Divisors of the count of the set.
const FRACTIONS: [u64; 3] = [100, 10, 1];
/// Rounds over all designs in turn; figures are medians.
const ROUNDS: u64 = 3;

/// Tries smaller sets first, so that larger ones are not written for nothing.
const WARM_UP_KEYS: u64 = 1_000_000;

/// What is written.
enum BuildSubject {
    Table(DesignRequest),
    Structure(Box<IndexSubject>),
}

/// Figures of a design, or of a structure, one value per round.
struct Runs<'w> {
    written: &'w BuildSubject,
    build_s: Vec<f64>,
    memory_bytes: Vec<f64>,
    report: Option<TableReport>,
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let folder = context.device_folder()?;
    let profiles = profiles(context, &PROFILES)?;
    let tables = designs(context, &DESIGNS)?.into_iter().map(BuildSubject::Table);
    let structures = subjects(context, &[])?.into_iter().map(|subject| BuildSubject::Structure(Box::new(subject)));
    let written: Vec<BuildSubject> = tables.chain(structures).collect();
    each_set(context, BUILD.name, &["gmm"], output, |spec, output| {
        for fraction in FRACTIONS {
            let count = (context.count / fraction).max(1);
            let set = open_with(spec, count, Some(context.seed))?;
            for profile in &profiles {
                measure(context, folder.path(), &set, (profile, &written), output)?;
            }
            if set.len() != count {
                // The set has a size of its own.
                break;
            }
        }
        Ok(())
    })
}

fn measure(
    context: &Context,
    folder: &Path,
    set: &KeySet,
    (profile, written): (&Profile, &[BuildSubject]),
    output: &mut Output<'_>,
) -> Result<()> {
    if set.is_text() {
        bail!("this experiment works on integer keys; take a generated set or a .u64 file");
    }
    let start = |written| Runs { written, build_s: Vec::new(), memory_bytes: Vec::new(), report: None };
    let mut all: Vec<Runs<'_>> = written.iter().map(start).collect();
    let rounds = ROUNDS.max(context.seeds);
    warm_up(context, folder, set, profile)?;
    let progress = Progress::new(all.len() * rounds as usize)?;
    for _ in 0..rounds {
        for runs in &mut all {
            progress.on(format!("{} of {}", runs.written.name(), set.name()));
            let memory = context.memory.map(|gauge| (gauge, (gauge.start)()));
            let build_s = match runs.written {
                BuildSubject::Table(design) => {
                    let options = options(context, set, profile, design);
                    let (report, build_s) = write(folder, set, options, context.payload_bytes)?;
                    runs.report = Some(report);
                    build_s
                }
                BuildSubject::Structure(subject) => load(folder, set, subject)?,
            };
            runs.memory_bytes.extend(memory.map(|(gauge, before)| (gauge.peak_bytes)().saturating_sub(before) as f64));
            runs.build_s.push(build_s);
            progress.step();
        }
    }
    let without_s = all.iter().find(|runs| runs.written.is_without_index()).map(|runs| Spread::of(&runs.build_s));
    // Without keys there is nothing to search.
    let records = match set.len() {
        0 => None,
        _ => Some(IntegerRecords::new(Keys::load(set)?, context.payload_bytes)?),
    };
    for runs in &all {
        let record = record(set, profile, runs, without_s.map(|spread| spread.median));
        let searched_s = match (runs.written, &records) {
            (BuildSubject::Table(design), Some(records)) => search_s(records, profile, design)?,
            _ => None,
        };
        output.report(searched_s.into_iter().fold(record, |record, search_s| {
            let ns_per_record = 1e9 * search_s / set.len().max(1) as f64;
            record.figure("search_s", search_s).figure("search_ns_per_record", ns_per_record)
        }))?;
    }
    Ok(())
}

impl BuildSubject {
    fn name(&self) -> String {
        match self {
            Self::Table(design) => design.to_string(),
            Self::Structure(subject) => subject.name.clone(),
        }
    }

    fn is_without_index(&self) -> bool {
        matches!(self, Self::Table(DesignRequest::None))
    }
}

/// Time by which a design takes longer over blocks in memory than building the layers that it finds, in seconds; `None`
/// if it does not search.
fn search_s(records: &IntegerRecords, profile: &Profile, request: &DesignRequest) -> Result<Option<f64>> {
    let options = search();
    let cut = records.blocks(FIXED_BLOCK_BYTES);
    let timer = Timer::start();
    let (blocks, design) = match request {
        DesignRequest::Tuned => records.tuned(profile, &options)?,
        _ if is_searched(request) => {
            let design = cut.design(request, profile, &options);
            (cut, design)
        }
        _ => return Ok(None),
    };
    let whole_s = timer.elapsed_s();
    let found = DesignRequest::Forced(design.layers.iter().map(|layer| layer.builder).collect());
    let timer = Timer::start();
    blocks.design(&found, profile, &options);
    Ok(Some((whole_s - timer.elapsed_s()).max(0.0)))
}

/// Loads the distinct keys of the set into an index on the device.
fn load(folder: &Path, set: &KeySet, subject: &IndexSubject) -> Result<f64> {
    let mut keys = set.load()?;
    keys.dedup();
    let mut options = subject.options.clone();
    options.pages = pages(options.pages.page_bytes, LOAD_MEMORY_BYTES);
    // An index is never replaced, so each has a folder.
    let folder = tempfile::tempdir_in(folder)?;
    let storage = Arc::new(LocalStorage::new(folder.path()));
    Ok(IndexStore::load(storage, &options, &[], keys.into_iter().map(Ok))?.1)
}

/// Writes a small unmeasured table, since the first file of a folder costs the file system more than later ones.
fn warm_up(context: &Context, folder: &Path, set: &KeySet, profile: &Profile) -> Result<()> {
    if set.len() <= WARM_UP_KEYS {
        write(folder, set, options(context, set, profile, &DesignRequest::Coded), context.payload_bytes)?;
    }
    Ok(())
}

fn record(set: &KeySet, profile: &Profile, runs: &Runs<'_>, without_s: Option<f64>) -> Record {
    let mut record = Record::new(BUILD.name)
        .keys(set.name())
        .profile(profile.name())
        .design(&runs.written.name())
        .figure("records", set.len())
        .spread("build_s", &runs.build_s);
    let build_s = Spread::of(&runs.build_s).median;
    if let Some(without_s) =
        without_s.filter(|_| matches!(runs.written, BuildSubject::Table(design) if *design != DesignRequest::None))
    {
        record = record
            .figure("index_s", build_s - without_s)
            .figure("index_share_percent", 100.0 * (build_s - without_s) / build_s);
    }
    record = record.figure("ns_per_record", 1e9 * build_s / set.len().max(1) as f64);
    if !runs.memory_bytes.is_empty() {
        record = record.figure("peak_memory_bytes", Spread::of(&runs.memory_bytes).max as u64);
    }
    if let Some(report) = &runs.report {
        record = record
            .figure("file_bytes", report.file_bytes)
            .figure("index_bytes", report.index_bytes)
            .figure("block_size_bytes", report.block_size_bytes);
    }
    record
}

fn options(context: &Context, set: &KeySet, profile: &Profile, design: &DesignRequest) -> TableWriteOptions {
    TableWriteOptions::default()
        .key_type(KeyType::U64)
        .value_width(context.payload_bytes)
        // The paper's records are stored as they are.
        .coding(false)
        .block_bytes((*design != DesignRequest::Tuned).then_some(FIXED_BLOCK_BYTES))
        .design(design.clone())
        .profile(profile.clone())
        .tuning(|tuning| tuning.search(search()).expected_records(set.len()))
        .replace(true)
}

/// Writes the set while it is generated or read; the clock runs only while the writer works.
fn write(folder: &Path, set: &KeySet, options: TableWriteOptions, payload_bytes: u32) -> Result<(TableReport, f64)> {
    let mut build_s = 0.0;
    let timer = Timer::start();
    let mut writer = TableWriter::create((Arc::new(LocalStorage::new(folder)), NAME), options)?;
    build_s += timer.elapsed_s();
    let mut stream = set.stream()?;
    let mut values = Vec::new();
    loop {
        let block = stream.next_block()?;
        if block.is_empty() {
            break;
        }
        values.resize(block.len() * payload_bytes as usize, 0);
        if payload_bytes > 0 {
            let slots = values.chunks_exact_mut(payload_bytes as usize);
            block.iter().zip(slots).for_each(|(key, slot)| fill_value(&key.to_be_bytes(), slot));
        }
        let timer = Timer::start();
        for (index, key) in block.iter().enumerate() {
            let at = index * payload_bytes as usize;
            writer.append(&key.to_be_bytes(), &values[at..at + payload_bytes as usize])?;
        }
        build_s += timer.elapsed_s();
    }
    let timer = Timer::start();
    let report = writer.finish()?;
    Ok((report, build_s + timer.elapsed_s()))
}
