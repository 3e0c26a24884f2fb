//! Designs that a search is compared with, and the choice among designs.

use super::builder::LayerBuilder;
use super::design::Design;
use super::design_request::{DesignRequest, lines_by_error};
use super::level_input::LevelInput;
use super::parallel;
use super::problem::{DesignProblem, DesignScore};
use super::search_options::LayerBuilderKind;

/// Designs that each thread builds before they are compared.
const DESIGNS_PER_THREAD: usize = 4;

/// Largest error of lines tried; errors double from one data block on.
const ERROR_CHILDREN_MAX: u64 = 1 << 10;

/// The design that the search found, or a faster one of two named ones and of lines. A search with a builder set of its
/// own stands alone.
///
/// Compared are the designs that beat the search in 1,330 pairs of key set and profile: one coded layer, which the
/// search judges by samples of long inputs (18 times, by 6 % at most), and optimal lines of the least error (7 times,
/// by 4 millionths). The B+-tree costs next to nothing. The other families never won; building them tripled the time to
/// build a table.
pub(super) fn or_named(found: Design, row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
    if problem.options.builders != LayerBuilderKind::ALL {
        return found;
    }
    let named = [DesignRequest::Coded, DesignRequest::Btree];
    let errors = error_grid(row, problem);
    best(row, problem, 1 + named.len() + errors.len(), |number| {
        let Some(number) = number.checked_sub(1) else { return found.clone() };
        let design = match (named.get(number), number.checked_sub(named.len())) {
            (None, Some(error)) => {
                lines_by_error(row, problem, errors[error], |error_children| LayerBuilder::Pla { error_children })
            }
            (named, _) => named.map_or_else(|| found.clone(), |named| named.build(row, problem)),
        };
        let builders: Vec<LayerBuilder> = design.layers.iter().map(|layer| layer.builder).collect();
        problem.note(&builders, design.objective_us(problem), design.index_bytes());
        design
    })
}

/// Errors of lines in keys, which double from one block on.
pub fn error_grid(row: &LevelInput, problem: &DesignProblem<'_>) -> Vec<u64> {
    let most = ERROR_CHILDREN_MAX.min(row.children()).ilog2();
    (0..=most).map(|log2| (problem.keys_per_child.max(1.0) * (1_u64 << log2) as f64) as u64).collect()
}

/// The best of `count` designs that fit the budget; the one with the smallest root if none does.
pub fn best(
    row: &LevelInput,
    problem: &DesignProblem<'_>,
    count: usize,
    build: impl Fn(usize) -> Design + Sync,
) -> Design {
    let better = |a: &Design, b: &Design| {
        let score = |design: &Design| score(problem, design.root_bytes(), design.objective_us(problem));
        score(a).partial_cmp(&score(b)).unwrap_or(std::cmp::Ordering::Equal)
    };
    // A few at a time, so that only a few are in memory.
    let batch = problem.options.threads.max(1) * DESIGNS_PER_THREAD;
    let mut least: Option<Design> = None;
    for from in (0..count).step_by(batch) {
        let designs = parallel::map(problem.options.threads, batch.min(count - from), |number| build(from + number));
        least = least.into_iter().chain(designs).min_by(better);
    }
    least.unwrap_or_else(|| Design::without_index(row, problem))
}

/// The score of a design with a root of this size and this cost: those that fit the budget come first.
pub fn score(problem: &DesignProblem<'_>, root_bytes: u64, objective_us: f64) -> (u64, DesignScore) {
    let over_bytes = if problem.fits_budget(root_bytes) { 0 } else { root_bytes };
    (over_bytes, problem.score(objective_us, root_bytes))
}
