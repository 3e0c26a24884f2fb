//! Statistics of an index, for `ogive stats`.

use super::any::either;
use crate::commands::ordered_map::Report;
use crate::failure::Result;
use crate::output::Output;
use crate::values::size::{grouped, human_bytes};
use crate::values::table_text::plain_table;
use ogive::index::{AnyIndex, IndexStatistics};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// An index and its statistics.
#[derive(Debug)]
pub(super) struct IndexReport {
    index: AnyIndex,
    statistics: IndexStatistics,
}

impl IndexReport {
    /// Reads all nodes of the index.
    pub(super) fn new(index: AnyIndex) -> Result<Self> {
        Ok(Self { statistics: either!(&index, index => index.statistics())?, index })
    }

    /// The index and its statistics.
    pub(super) fn parts(&self) -> (&AnyIndex, &IndexStatistics) {
        (&self.index, &self.statistics)
    }
}

impl Report for IndexReport {
    fn to_json(&self) -> Result<impl Serialize> {
        let Self { index, statistics } = self;
        let (layout, file) = (index.layout(), either!(index, index => index.page_statistics()));
        let levels: Vec<Value> = statistics
            .levels
            .iter()
            .map(|level| json!({ "nodes": level.nodes, "pages": level.pages, "entries": level.entries }))
            .collect();
        let details: Map<String, Value> =
            statistics.details.iter().map(|&(name, count)| (name.replace(' ', "_"), json!(count))).collect();
        Ok(json!({
            "kind": index.kind().name(),
            "key_type": index.key_type().to_string(),
            "value_type": index.record_type().value_name(),
            "payload_bytes": layout.payload_bytes,
            "duplicates": layout.duplicates,
            "fill_percent": layout.fill_percent,
            "page_bytes": file.page_bytes,
            "file_bytes": file.file_bytes,
            "free_pages": file.free_pages,
            "log_bytes": file.log_bytes,
            "entries": either!(index, index => index.len())?,
            "leaves": statistics.leaves,
            "leaf_pages": statistics.leaf_pages,
            "inner_pages": statistics.inner_pages,
            "height": statistics.height,
            "mean_height": statistics.mean_height,
            "levels": levels,
            "details": details,
        }))
    }

    fn print(&self, name: &str, output: &mut Output) -> Result<()> {
        let Self { index, statistics } = self;
        let (layout, file) = (index.layout(), either!(index, index => index.page_statistics()));
        output.line(format_args!(
            "{name}: {} index of {}, with payloads of {} B{}",
            index.kind(),
            index.record_type(),
            grouped(layout.payload_bytes as u64),
            if layout.duplicates { ", duplicates allowed" } else { "" }
        ))?;
        output.line(format_args!(
            "{} in pages of {}, {} free; log {}",
            human_bytes(file.file_bytes),
            human_bytes(file.page_bytes),
            grouped(file.free_pages),
            human_bytes(file.log_bytes)
        ))?;
        let counts = [
            ("entries", either!(index, index => index.len())?),
            ("leaves", statistics.leaves),
            ("leaf pages", statistics.leaf_pages),
            ("inner pages", statistics.inner_pages),
            ("height", u64::from(statistics.height)),
        ];
        let rows = counts.into_iter().chain(statistics.details.iter().copied());
        output.line("")?;
        output.line(plain_table(&["", "count"], rows.map(|(name, count)| vec![name.to_owned(), grouped(count)])))?;
        if statistics.levels.is_empty() {
            return Ok(());
        }
        let levels = statistics.levels.iter().enumerate().map(|(depth, level)| {
            let name = if depth == 0 { "root".to_owned() } else { depth.to_string() };
            vec![name, grouped(level.nodes), grouped(level.pages), grouped(level.entries)]
        });
        output.line("")?;
        output.line(plain_table(&["depth", "nodes", "pages", "entries or children"], levels))
    }
}
