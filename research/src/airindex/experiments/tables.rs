//! Writers of the tables that are measured.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{Profile, Storage, Timer};
use ogive::table::{TableReport, TableWriteOptions, TableWriter};
use ogive::tune::{DesignCaching, DesignRequest};

use super::keys::{Keys, fill_value};
use super::settings::search;
use crate::experiments::Context;

/// Name of the table in a storage.
pub(super) const NAME: &str = "table";
/// Block size of the designs that are not tuned, in bytes.
pub(super) const FIXED_BLOCK_BYTES: u32 = 4096;

/// A table to be written.
#[derive(Clone, Debug)]
pub(super) struct Recipe<'a> {
    pub(super) design: &'a DesignRequest,
    pub(super) profile: &'a Profile,
    pub(super) payload_bytes: u32,
    /// Whether the block size of a tuned table is chosen from all keys.
    pub(super) exact: bool,
    /// Whether a tuned table is tuned for lookups in an open table.
    pub(super) kept_open: bool,
}

impl<'a> Recipe<'a> {
    pub(super) fn new(context: &Context, design: &'a DesignRequest, profile: &'a Profile) -> Self {
        Self { design, profile, payload_bytes: context.payload_bytes, exact: context.exact, kept_open: false }
    }
}

/// A written table.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) report: TableReport,
    /// Time of writing it, including syncs, in seconds.
    pub(super) build_s: f64,
}

impl Recipe<'_> {
    /// The options of the writer: the tuner chooses the block size of tuned tables, all others have the paper's 4 KiB.
    pub(super) fn options(&self, keys: &Keys) -> TableWriteOptions {
        let tuned = *self.design == DesignRequest::Tuned;
        TableWriteOptions::default()
            .key_type(keys.key_type())
            .value_width(keys.key_type().width().map(|_| self.payload_bytes))
            .block_bytes((!tuned).then_some(FIXED_BLOCK_BYTES))
            .tuning(|tuning| {
                let opening_hit_rate = f64::from(u8::from(self.kept_open));
                tuning
                    .sample(if tuned { keys.sample(self.payload_bytes, self.exact) } else { None })
                    .caching(DesignCaching { opening_hit_rate, ..DesignCaching::default() })
                    .search(search())
                    .expected_records(keys.len() as u64)
            })
            // The paper's records are stored as they are.
            .coding(false)
            .design(self.design.clone())
            .profile(self.profile.clone())
            .replace(true)
    }
}

/// Writes a table of all keys.
pub(super) fn write_table(storage: Arc<dyn Storage>, keys: &Keys, recipe: &Recipe<'_>) -> Result<Written> {
    write_with(storage, keys, recipe.options(keys), recipe.payload_bytes)
}

/// As [`write_table`], with these options and values of this size.
pub(super) fn write_with(
    storage: Arc<dyn Storage>,
    keys: &Keys,
    options: TableWriteOptions,
    payload_bytes: u32,
) -> Result<Written> {
    let timer = Timer::start();
    let mut writer = TableWriter::create((storage, NAME), options)?;
    let (mut key, mut value) = (Vec::new(), vec![0; payload_bytes as usize]);
    for position in 0..keys.len() {
        keys.copy(position, &mut key);
        fill_value(&key, &mut value);
        writer.append(&key, &value)?;
    }
    let report = writer.finish()?;
    Ok(Written { report, build_s: timer.elapsed_s() })
}

/// The layers, bottom first, with their numbers of nodes.
pub(super) fn layers(report: &TableReport) -> String {
    let layers: Vec<String> = report.layers.iter().map(|layer| format!("{} x{}", layer.kind, layer.nodes)).collect();
    if layers.is_empty() { "none".into() } else { layers.join(" / ") }
}
