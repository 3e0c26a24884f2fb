//! Statistics of a store, for `ogive stats`.

use super::rows;
use crate::commands::ordered_map::Report;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::values::own_options;
use crate::values::size::{counted, grouped, human_bytes};
use crate::values::table_text::plain_table;
use ogive::lsm::{DbStats, KeyspaceStats};
use serde::Serialize;

impl Report for DbStats {
    fn to_json(&self) -> Result<impl Serialize> {
        serde_json::to_value(self).map_err(|error| Failure::Output(error.into()))
    }

    fn print(&self, name: &str, output: &mut Output) -> Result<()> {
        output.line(format_args!(
            "{name}: {} in tables, {} in {} ({} dead), {} not yet in tables",
            human_bytes(self.table_bytes),
            human_bytes(self.value_file_bytes),
            counted(self.value_files, "value file"),
            human_bytes(self.dead_value_bytes),
            human_bytes(self.memtable_bytes),
        ))?;
        output.line(format_args!(
            "memory: {} bytes given, {} at least as the store is now",
            grouped(self.memory_bytes),
            grouped(self.least_memory_bytes)
        ))?;
        let shown = |ratio: Option<f64>| ratio.map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.2}"));
        output.line(format_args!(
            "space amplification {}, write amplification {}",
            shown(self.space_amplification),
            shown(self.write_amplification)
        ))?;
        output.line(format_args!(
            "{} of {}; share of lookups by models {}",
            counted(self.learning.models, "model"),
            human_bytes(self.learning.model_bytes),
            shown(self.model_share)
        ))?;
        for keyspace in &self.keyspaces {
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
