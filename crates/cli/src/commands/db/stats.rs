//! Statistics of a store, for `ogive stats`.

use super::kept_facts::KeptFacts;
use super::rows;
use crate::commands::ordered_map::Report;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::values::own_options;
use crate::values::size::{counted, grouped, human_bytes};
use crate::values::table_text::plain_table;
use ogive::lsm::{Db, DbStats, KeyspaceStats};
use serde::Serialize;

/// Statistics of a store, with its indexes and subscribers.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StoreStats {
    #[serde(flatten)]
    stats: DbStats,
    #[serde(flatten)]
    kept: KeptFacts,
}

impl StoreStats {
    /// Those of a store, with the statistics of these keyspaces.
    pub(super) fn of(db: &Db, keyspaces: Vec<KeyspaceStats>, kept: KeptFacts) -> Self {
        let mut stats = db.stats();
        stats.keyspaces = keyspaces;
        Self { stats, kept }
    }
}

impl Report for StoreStats {
    fn to_json(&self) -> Result<impl Serialize> {
        serde_json::to_value(self).map_err(|error| Failure::Output(error.into()))
    }

    fn print(&self, name: &str, output: &mut Output) -> Result<()> {
        output.line(format_args!(
            "{name}: {} in tables, {} in {} ({} dead), {} not yet in tables",
            human_bytes(self.stats.table_bytes),
            human_bytes(self.stats.value_file_bytes),
            counted(self.stats.value_files, "value file"),
            human_bytes(self.stats.dead_value_bytes),
            human_bytes(self.stats.memtable_bytes),
        ))?;
        output.line(format_args!(
            "memory: {} bytes given, {} at least as the store is now",
            grouped(self.stats.memory_bytes),
            grouped(self.stats.least_memory_bytes)
        ))?;
        let shown = |ratio: Option<f64>| ratio.map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.2}"));
        output.line(format_args!(
            "space amplification {}, write amplification {}",
            shown(self.stats.space_amplification),
            shown(self.stats.write_amplification)
        ))?;
        output.line(format_args!(
            "{} of {}; share of lookups by models {}",
            counted(self.stats.learning.models, "model"),
            human_bytes(self.stats.learning.model_bytes),
            shown(self.stats.model_share)
        ))?;
        self.kept.lines().try_for_each(|line| output.line(line))?;
        for keyspace in &self.stats.keyspaces {
            output.line("")?;
            output.line(format_args!(
                "keyspace {}: {}; {} in tables; entries not yet in tables: {}",
                keyspace.name,
                rows::shown(keyspace),
                human_bytes(keyspace.bytes()),
                grouped(keyspace.memtable_records)
            ))?;
            if let Some(shown) = own_options::shown(&keyspace.options) {
                output.line(format_args!("options of its own: {shown}"))?;
            }
            let mut levels = levels(keyspace).peekable();
            if levels.peek().is_some() {
                let headings = ["level", "tables", "bytes", "entries", "tombstones", "lookups"];
                output.line(plain_table(&headings, levels))?;
            }
        }
        Ok(())
    }
}

fn levels(keyspace: &KeyspaceStats) -> impl Iterator<Item = Vec<String>> {
    let levels = keyspace.levels.iter().enumerate();
    levels.filter(|(_, level)| level.tables > 0).map(|(number, level)| {
        vec![
            number.to_string(),
            grouped(level.tables),
            human_bytes(level.bytes),
            grouped(level.records),
            grouped(level.tombstones),
            grouped(level.positive_lookups + level.negative_lookups),
        ]
    })
}
