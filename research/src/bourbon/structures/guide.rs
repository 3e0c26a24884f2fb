//! Lookups in a table by a model, or as in LevelDB.

use super::last_keys::LastKeys;
use super::policy::{Bourbon, LearningRule, ModelReads};
use super::shape::TableModel;
use ogive::Result;
use ogive::lsm::extend::{
    GuidedStart, LookupStart, ModelSize, PositionWindow, Reservation, SearchHint, TableFile, TableGuide,
};
use std::sync::{Arc, OnceLock};

/// The search of a table, with or without a model.
#[derive(Debug)]
pub(super) struct BourbonGuide {
    parts: Arc<GuideParts>,
    model: Option<(TableModel, Reservation)>,
}

/// The parts of a table's guides that do not depend on the model. They are read when first needed.
#[derive(Debug)]
pub(super) struct GuideParts {
    /// Whether lookups without a model use the last keys of blocks instead of the exact separators.
    is_plain: bool,
    reads: ModelReads,
    last_keys: OnceLock<Option<(LastKeys, Reservation)>>,
    /// The position of the first record of each block.
    starts: OnceLock<Option<(Vec<u32>, Reservation)>>,
}

impl GuideParts {
    pub(super) fn new(policy: &Bourbon) -> Self {
        let is_plain = policy.rule != LearningRule::Inline;
        Self { is_plain, reads: policy.reads, last_keys: OnceLock::new(), starts: OnceLock::new() }
    }

    fn last_keys(&self, table: &TableFile) -> Result<Option<&LastKeys>> {
        if self.last_keys.get().is_none() {
            let keys = LastKeys::read(table)?.map(|keys| {
                let held = table.reserve(keys.bytes());
                (keys, held)
            });
            _ = self.last_keys.set(keys);
        }
        Ok(self.last_keys.get().and_then(Option::as_ref).map(|(keys, _)| keys))
    }

    /// The position of the first record of each block.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub(super) fn starts(&self, table: &TableFile) -> Result<Option<&[u32]>> {
        if self.starts.get().is_none() {
            let starts = table.first_positions()?.map(|starts| {
                let held = table.reserve(4 * starts.len() as u64);
                (starts, held)
            });
            _ = self.starts.set(starts);
        }
        Ok(self.starts.get().and_then(Option::as_ref).map(|(starts, _)| starts.as_slice()))
    }

    /// The start of a lookup without a model.
    #[inline]
    fn baseline(&self, table: &TableFile, key: &[u8]) -> Result<Option<LookupStart>> {
        if !self.is_plain {
            return Ok(table.find_block(key));
        }
        let block = self.last_keys(table)?.and_then(|keys| keys.find(key));
        Ok(block.map(|block| LookupStart { block, hint: SearchHint::Restarts, is_exact: true }))
    }

    /// The start of a lookup by the window of a model.
    #[inline]
    fn in_window(&self, table: &TableFile, key: &[u8], window: PositionWindow) -> Result<Option<LookupStart>> {
        let Some(starts) = self.starts(table)? else { return Ok(None) };
        let start = match self.reads {
            ModelReads::Block => table.find_block(key),
            ModelReads::Window => {
                let block = starts.partition_point(|&start| u64::from(start) <= window.0).saturating_sub(1) as u64;
                Some(LookupStart { block, hint: SearchHint::Restarts, is_exact: false })
            }
        };
        Ok(start.map(|start| LookupStart { hint: hint(starts, start.block, window), ..start }))
    }
}

/// The part of a window in a block.
#[inline]
fn hint(starts: &[u32], block: u64, (first, last): PositionWindow) -> SearchHint {
    let start = starts.get(block as usize).map_or(0, |&start| u64::from(start));
    let within = |position: u64| usize::try_from(position.saturating_sub(start)).unwrap_or(usize::MAX);
    SearchHint::Between(within(first), within(last))
}

impl BourbonGuide {
    pub(super) fn new(parts: Arc<GuideParts>, model: Option<TableModel>, table: &TableFile) -> Self {
        let model = model.map(|model| {
            let held = table.reserve(model.memory_bytes());
            (model, held)
        });
        Self { parts, model }
    }
}

impl TableGuide for BourbonGuide {
    fn start(&self, table: &TableFile, key: &[u8], window: Option<PositionWindow>) -> Result<GuidedStart> {
        let model = self.model.as_ref().map(|(model, _)| model);
        let window = window.or_else(|| model.and_then(|model| model.window(key)));
        if window.is_none() && model.is_some_and(TableModel::is_separators) {
            return Ok(GuidedStart { start: table.find_block(key), by_model: true });
        }
        let start = match window {
            Some(window) => self.parts.in_window(table, key, window)?,
            None => self.parts.baseline(table, key)?,
        };
        Ok(GuidedStart { start, by_model: window.is_some() })
    }

    fn model(&self) -> Option<ModelSize> {
        let (model, _) = self.model.as_ref().filter(|(model, _)| !model.is_separators())?;
        Some(ModelSize { bytes: model.memory_bytes(), segments: model.segments() as u64 })
    }

    fn resident_bytes(&self) -> u64 {
        let last_keys = self.parts.last_keys.get().and_then(Option::as_ref).map_or(0, |(keys, _)| keys.bytes());
        let starts = self.parts.starts.get().and_then(Option::as_ref).map_or(0, |(starts, _)| 4 * starts.len() as u64);
        last_keys + starts
    }
}
