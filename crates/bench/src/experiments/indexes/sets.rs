//! The key sets of a run, distinct and in memory.

use anyhow::{Result, ensure};

use super::super::{Context, Output};
use super::subjects::or_report;
use crate::error::Error;
use crate::keys::KeySet;
use crate::output::Record;
use crate::workload::{Mix, Population};

/// The sets on which the blocks of the authors' code were counted.
pub(in crate::experiments) const GENERATED: [&str; 3] = ["lognormal", "uniform", "step"];

/// The distinct keys of a set.
pub(in crate::experiments) fn distinct(set: &KeySet) -> Result<Vec<u64>> {
    let mut keys = set.load()?;
    keys.dedup();
    ensure!(keys.len() > 1, "{} has too few different keys; take a set of some thousands", set.name());
    Ok(keys)
}

/// The set of a growing index, half of which is inserted: a file unchanged, or a generated set of twice the requested
/// count.
pub(in crate::experiments) fn growing(context: &Context, spec: &str) -> Result<KeySet> {
    let set = context.open(spec, context.seed)?;
    if set.path().is_some() {
        return Ok(set);
    }
    // Some sets are smaller.
    Ok(set.resized(2 * set.len()).unwrap_or(set))
}

/// Calls `visit` for each requested key set. What fails for one, such as a damaged file, is reported, and the others
/// follow; a name of no set is an error before the first.
pub(in crate::experiments) fn each_set(
    context: &Context,
    experiment: &str,
    default: &[&str],
    output: &mut Output<'_>,
    mut visit: impl FnMut(&str, &mut Output<'_>) -> Result<()>,
) -> Result<()> {
    let specs = context.specs(default);
    let mut names = Vec::with_capacity(specs.len());
    for spec in &specs {
        names.push(match context.open(spec, context.seed) {
            Ok(set) => set.name().to_owned(),
            Err(error @ Error::Spec { .. }) => return Err(error.into()),
            Err(_) => spec.clone(),
        });
    }
    for (spec, name) in specs.iter().zip(&names) {
        or_report(output, Record::new(experiment).keys(name), |output| visit(spec, output))?;
    }
    Ok(())
}

/// As [`each_set`] for generated sets, and for each mix, by default those of `mixes`, with the population of the mix:
/// the set grows if the mix inserts.
pub(in crate::experiments) fn each_population(
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
