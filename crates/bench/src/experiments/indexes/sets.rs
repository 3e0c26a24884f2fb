//! The key sets of a run, distinct and in memory.

use anyhow::{Result, ensure};

use super::super::Context;
use crate::keys::KeySet;

/// The sets whose blocks the authors' codes were counted on.
pub(in crate::experiments) const GENERATED: [&str; 3] = ["lognormal", "uniform", "step"];

/// The keys of a set, each once.
pub(in crate::experiments) fn distinct(set: &KeySet) -> Result<Vec<u64>> {
    let mut keys = set.load()?;
    keys.dedup();
    ensure!(keys.len() > 1, "{} has too few keys; take a set of some thousands", set.name());
    Ok(keys)
}

/// The set of a growing index, half of which is inserted: a file unchanged, or a generated set of twice the requested
/// count.
pub(in crate::experiments) fn growing(context: &Context, spec: &str) -> Result<KeySet> {
    let set = context.open(spec, context.seed)?;
    if set.path().is_some() {
        return Ok(set);
    }
    // Some sets have no more keys.
    Ok(set.resized(2 * set.len()).unwrap_or(set))
}
