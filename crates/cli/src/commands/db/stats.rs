//! `ogive db stats`: shows statistics of a store.

use super::store::StoreFolder;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::size::{counted, grouped, human_bytes};
use crate::table_text::plain_table;
use ogive::lsm::{DbStats, KeyspaceStats};

/// Help after the arguments.
pub(super) const EXAMPLES: &str = "\
Examples:
  ogive db stats fruit            keyspaces, levels, sizes, amplification, models
  ogive db stats fruit --json     the same as JSON

Lookups and write amplification are counted since the store was opened, here by this command. A program that has the
store open reads its own counts with `Db::stats`.";

/// Runs the command.
pub(crate) fn run(store: &StoreFolder, output: &mut Output) -> Result<Outcome> {
    let stats = store.read()?.stats();
    if output.is_json() {
        let document = serde_json::to_value(&stats).map_err(|error| Failure::Output(error.into()))?;
        output.json(&document)?;
        return Ok(Outcome::Done);
    }
    print(&store.shown(), &stats, output)?;
    Ok(Outcome::Done)
}

fn print(name: &str, stats: &DbStats, output: &mut Output) -> Result<()> {
    output.line(format_args!(
        "{name}: {} in tables, {} in {} ({} dead), {} not yet in tables",
        human_bytes(stats.table_bytes),
        human_bytes(stats.value_file_bytes),
        counted(stats.value_files, "value file"),
        human_bytes(stats.dead_value_bytes),
        human_bytes(stats.memtable_bytes),
    ))?;
    let shown = |ratio: Option<f64>| ratio.map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.2}"));
    output.line(format_args!(
        "space amplification {}, write amplification {}",
        shown(stats.space_amplification),
        shown(stats.write_amplification)
    ))?;
    output.line(format_args!(
        "{} of {}; share of lookups by models {}",
        counted(stats.learning.models, "model"),
        human_bytes(stats.learning.model_bytes),
        shown(stats.model_share)
    ))?;
    for keyspace in &stats.keyspaces {
        output.line("")?;
        output.line(format_args!("keyspace {}: {}", keyspace.name, human_bytes(keyspace.bytes())))?;
        output.line(plain_table(&["level", "tables", "bytes", "entries", "tombstones", "lookups"], rows(keyspace)))?;
    }
    Ok(())
}

fn rows(keyspace: &KeyspaceStats) -> impl Iterator<Item = Vec<String>> {
    let levels = keyspace.levels.iter().enumerate();
    levels.filter(|(_, level)| level.tables > 0).map(|(number, level)| {
        vec![
            number.to_string(),
            grouped(level.tables),
            human_bytes(level.bytes),
            grouped(level.records),
            grouped(level.removals),
            grouped(level.positive_lookups + level.negative_lookups),
        ]
    })
}
