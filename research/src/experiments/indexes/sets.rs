//! The key sets of a run, distinct and in memory.

use anyhow::{Result, ensure};

use super::super::{Context, Output, each_set};
use crate::keys::KeySet;
use crate::workload::{Mix, Population};

/// The sets on which the blocks of the authors' code were counted.
pub(crate) const GENERATED: [&str; 3] = ["lognormal", "uniform", "step"];

/// The distinct keys of a set.
pub(crate) fn distinct(set: &KeySet) -> Result<Vec<u64>> {
    let mut keys = set.load()?;
    keys.dedup();
    ensure!(keys.len() > 1, "{} has too few different keys; take a set of some thousands", set.name());
    Ok(keys)
}

/// The set of a growing index, half of which is inserted: a file unchanged, or a generated set of twice the requested
/// count.
pub(crate) fn growing(context: &Context, spec: &str) -> Result<KeySet> {
    let set = context.open(spec, context.seed)?;
    if set.path().is_some() {
        return Ok(set);
    }
    // Some sets are smaller.
    Ok(set.resized(2 * set.len()).unwrap_or(set))
}

/// As [`each_set`] for generated sets, and for each mix, by default those of `mixes`, with the population of the mix:
/// the set grows if the mix inserts.
pub(crate) fn each_population(
    context: &Context,
    experiment: &str,
    mixes: &[Mix],
    output: &mut Output<'_>,
    mut visit: impl FnMut((&KeySet, Mix, &Population), &mut Output<'_>) -> Result<()>,
) -> Result<()> {
    let mixes = if context.workloads.is_empty() { mixes } else { &context.workloads };
    each_set(context, experiment, &GENERATED, output, |spec, output| {
        for &mix in mixes {
            let grows = mix.insert_percent() > 0;
            let set = if grows { growing(context, spec)? } else { context.open(spec, context.seed)? };
            visit((&set, mix, &mix.population(distinct(&set)?, context.seed)), output)?;
        }
        Ok(())
    })
}
