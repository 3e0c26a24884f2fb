//! Design families with parameters of their own, tuned by grid search.

use super::builder::Builder;
use super::design::Design;
use super::level_input::LevelInput;
use super::parallel;
use super::problem::Problem;
use super::request::{pile, recursive};
use ogive_model::rmi::{self, RootKind};
use ogive_model::tuning::{EvaluatedSetting, pareto};

/// Growth factor of the numbers of RMI leaves tried.
const LEAVES_GROWTH_FACTOR: usize = 4;

/// Largest number of RMI leaves: its nodes, 20 bytes each, are then half a gigabyte.
const LEAVES_MAX: usize = 1 << 24;

/// Largest spline error tried; errors double from one data block on.
const ERROR_CHILDREN_MAX: u64 = 1 << 10;

/// The RMI with the least cost. Every setting of the grid gives a layer of lines; those not dominated in both size and
/// data read are completed, either by nothing (the lines are the root) or by a line over their pages.
///
/// Source: Marcus, Zhang and Kraska, "CDFShop: Exploring and Optimizing Learned Index Structures" (SIGMOD 2020), with
/// the objective of AirIndex instead of a search in memory.
pub(super) fn rmi(row: &LevelInput, problem: &Problem<'_>) -> Design {
    let children = usize::try_from(row.children()).unwrap_or(usize::MAX);
    let grid: Vec<rmi::RmiSetting> = rmi::settings(children, LEAVES_MAX)
        .filter(|setting| setting.leaves.ilog2() % LEAVES_GROWTH_FACTOR.ilog2() == 0 || setting.leaves == 1)
        .collect();
    let shares = row.shares();
    let tried = parallel::map(problem.options.threads, grid.len(), |number| {
        let setting = Builder::Rmi { root: grid[number].root, leaves: grid[number].leaves as u64 };
        let layer = setting.build(row, &problem.options);
        let reads = layer.windows(row, &shares).sizes(row.child_bytes);
        EvaluatedSetting { setting, resident_bytes: layer.root_bytes(), search_width: problem.read_us(0, &reads) }
    });
    let front: Vec<Builder> = pareto(tried).into_iter().map(|tried| tried.setting).collect();
    best(row, problem, front.len() * 2, |number| {
        let alone = number % 2 == 0;
        pile(row, problem, &problem.options, |layers| match layers {
            [] => Some(front[number / 2]),
            [.., root] if alone || root.node_count() <= 1 => None,
            _ => Some(Builder::Rmi { root: RootKind::Linear, leaves: 1 }),
        })
    })
}

/// The RadixSpline with the error of least cost.
///
/// Source: Kipf et al., "RadixSpline: a single-pass learned index" (aiDM 2020), Section 3: the error trades size for
/// time.
pub(super) fn radix_spline(row: &LevelInput, problem: &Problem<'_>) -> Design {
    let most = ERROR_CHILDREN_MAX.min(row.children()).ilog2() as usize;
    best(row, problem, most + 1, |number| {
        let error_keys = (problem.keys_per_child.max(1.0) * (1_u64 << number) as f64) as u64;
        recursive(row, problem, error_keys, |error_children| Builder::Spline { error_children })
    })
}

/// The best of `count` designs that fit the budget; the one with the smallest root if none does.
fn best(row: &LevelInput, problem: &Problem<'_>, count: usize, build: impl Fn(usize) -> Design + Sync) -> Design {
    let designs = parallel::map(problem.options.threads, count, build);
    let score = |design: &Design| {
        let over_bytes = if problem.fits_budget(design.root_bytes()) { 0 } else { design.root_bytes() };
        (over_bytes, problem.score(design.objective_us(problem), design.root_bytes()))
    };
    let better = |a: &Design, b: &Design| score(a).partial_cmp(&score(b)).unwrap_or(std::cmp::Ordering::Equal);
    designs.into_iter().min_by(better).unwrap_or_else(|| Design::without_index(row, problem))
}
