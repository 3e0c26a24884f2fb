//! The compared ways to learn.

use anyhow::Result;
use ogive::lsm::{Learning, ModelReads};

use super::super::Context;

/// A way to learn, with its name in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) learning: Learning,
    /// Whether models cover whole levels.
    pub(super) level_models: bool,
    /// The reads of a lookup by a model.
    pub(super) reads: ModelReads,
    /// Whether the loaded data are learned before the measurement.
    pub(super) learned: bool,
}

const fn subject(learning: Learning, name: &'static str, learned: bool) -> Subject {
    Subject { name, learning, level_models: false, reads: ModelReads::Block, learned }
}

/// WiscKey: nothing is learned.
pub(super) const BASELINE: Subject = subject(Learning::Never, "never", false);
/// Bourbon on read-only workloads: a model per table, which alone chooses the blocks to read.
pub(super) const FILE: Subject =
    Subject { reads: ModelReads::Window, ..subject(Learning::Offline, "file models", true) };
/// The same after exact separators, which choose the block.
pub(super) const FILE_IN_BLOCK: Subject = subject(Learning::Offline, "file models, in block", true);
/// Bourbon-level: a model for each level.
pub(super) const LEVEL: Subject = Subject { name: "level models", level_models: true, ..FILE };
/// The exact separators of the tables instead of models.
pub(super) const CODED: Subject = subject(Learning::Coded, "coded", false);
/// The ways compared on read-only workloads.
pub(super) const READ_ONLY: [Subject; 5] = [BASELINE, FILE, FILE_IN_BLOCK, LEVEL, CODED];

/// File models that follow the writes.
pub(super) const ALWAYS: Subject = subject(Learning::Always, "always", true);
/// Level models that follow the writes.
pub(super) const ALWAYS_LEVEL: Subject =
    Subject { level_models: true, ..subject(Learning::Always, "always, levels", true) };
/// Bourbon.
pub(super) const COST_BENEFIT: Subject = subject(Learning::CostBenefit, "cost-benefit", true);
/// Every way, the paper's first.
pub(super) const POLICIES: [Subject; 6] = [
    BASELINE,
    subject(Learning::Offline, "offline", true),
    ALWAYS,
    COST_BENEFIT,
    subject(Learning::Inline, "inline", false),
    CODED,
];

/// The subjects of `default` requested by name, else all.
pub(super) fn chosen(context: &Context, default: &[Subject]) -> Result<Vec<Subject>> {
    let asked = context.learning.iter().map(|name| Ok(Learning::named(name)?)).collect::<Result<Vec<Learning>>>()?;
    Ok(default.iter().copied().filter(|subject| asked.is_empty() || asked.contains(&subject.learning)).collect())
}
