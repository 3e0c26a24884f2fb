//! Writing the tables whose look-ups are measured.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{Profile, Storage, Timer};
use ogive::table::{TableReport, TableWriter, WriteOptions};
use ogive::tune::DesignRequest;

use super::keys::{Keys, fill_value};
use super::settings::search;

/// Name of the one table of a storage.
pub(super) const NAME: &str = "table";
/// Size of the data blocks of every design that is not tuned, in bytes.
pub(super) const FIXED_BLOCK_BYTES: u32 = 4096;

/// A table to be written.
#[derive(Clone, Debug)]
pub(super) struct Recipe<'a> {
    pub(super) design: &'a DesignRequest,
    pub(super) profile: &'a Profile,
    pub(super) payload_bytes: u32,
}

/// A table that was written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) report: TableReport,
    /// Time of writing it, syncs included, in seconds.
    pub(super) build_s: f64,
}

impl Recipe<'_> {
    /// The options of the writer: the tuner chooses the block size of tuned tables, all others have the paper's 4 KiB.
    pub(super) fn options(&self, keys: &Keys) -> WriteOptions {
        WriteOptions {
            key_type: keys.key_type(),
            value_width: keys.key_type().width().map(|_| self.payload_bytes),
            block_bytes: (*self.design != DesignRequest::Tuned).then_some(FIXED_BLOCK_BYTES),
            design: self.design.clone(),
            profile: self.profile.clone(),
            search: search(),
            replace: true,
            expected_records: Some(keys.len() as u64),
            ..WriteOptions::default()
        }
    }
}

/// Writes a table of all keys.
pub(super) fn write_table(storage: Arc<dyn Storage>, keys: &Keys, recipe: &Recipe<'_>) -> Result<Written> {
    let timer = Timer::start();
    let mut writer = TableWriter::create(storage, NAME, recipe.options(keys))?;
    let (mut key, mut value) = (Vec::new(), vec![0; recipe.payload_bytes as usize]);
    for position in 0..keys.len() {
        keys.copy(position, &mut key);
        fill_value(&key, &mut value);
        writer.append(&key, &value)?;
    }
    let report = writer.finish()?;
    Ok(Written { report, build_s: timer.elapsed_s() })
}
