//! Rounds in which the methods take turns.

use anyhow::{Result, bail};
use ogive::join::{JoinMethod, JoinOptions, JoinSide, JoinSource};

use super::place::{Outcome, Place};
use crate::error::with_causes;
use crate::experiments::Context;

/// The requested methods, else `default`.
pub(super) fn methods(context: &Context, default: &[&str]) -> Result<Vec<JoinMethod>> {
    let names: Vec<&str> = match context.methods.as_slice() {
        [] => default.to_vec(),
        asked => asked.iter().map(String::as_str).collect(),
    };
    names.into_iter().map(|name| Ok(name.parse()?)).collect()
}

/// Options for the paper's own joins, which look up in the larger relation, the right one.
pub(super) fn paper_options(options: &JoinOptions, method: JoinMethod) -> JoinOptions {
    let looks_up = method.to_string().starts_with("inlj");
    options.clone().method(method).inner(looks_up.then_some(JoinSide::Right))
}

/// Options that leave the roles to the planner.
pub(super) fn free_options(options: &JoinOptions, method: JoinMethod) -> JoinOptions {
    options.clone().method(method)
}

/// A run that takes longer is not repeated: times vary by milliseconds.
const REPEATED_US_MAX: f64 = 2e6;

/// Figures of each method: the fastest of `rounds` runs. The methods take turns, so that other work on the machine
/// affects all of them. A method that cannot run gives the reason. Each run must give one row per row of the outer
/// relation, since all of them match.
pub(super) fn in_turn(
    place: &Place,
    left: &JoinSource,
    right: &JoinSource,
    options: &dyn Fn(JoinMethod) -> JoinOptions,
    methods: &[JoinMethod],
    rounds: u64,
    expected_rows: u64,
) -> Result<Vec<Result<Outcome, String>>> {
    let mut best: Vec<Option<Result<Outcome, String>>> = methods.iter().map(|_| None).collect();
    for _ in 0..rounds.max(1) {
        for (&method, best) in methods.iter().zip(&mut best) {
            let is_known = match best {
                Some(Ok(outcome)) => outcome.total_us() > REPEATED_US_MAX,
                Some(Err(_)) => true,
                None => false,
            };
            if is_known {
                continue;
            }
            let next = place.join(left, right, &options(method));
            let next = next.map_err(|error| with_causes(&error));
            if let Some(outcome) = next.as_ref().ok().filter(|outcome| outcome.report.rows != expected_rows) {
                bail!("{method} gives {} rows instead of {expected_rows}", outcome.report.rows);
            }
            let is_better = match (&*best, &next) {
                (Some(Ok(former)), Ok(next)) => next.total_us() < former.total_us(),
                _ => true,
            };
            if is_better {
                *best = Some(next);
            }
        }
    }
    Ok(best.into_iter().map(|outcome| outcome.unwrap_or_else(|| Err("it was not run".into()))).collect())
}
