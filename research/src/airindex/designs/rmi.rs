//! The RMI as a design: lines between borders that a root model determines.

use super::builders::rmi_builder;
use crate::models::rmi::{self, RootKind};
use crate::models::tuning::{EvaluatedSetting, pareto};
use ogive::tune::extend::{best, map, pile, reads_of};
use ogive::tune::{Design, DesignProblem, LayerBuilder, LevelInput};

/// Growth factor of the numbers of RMI leaves tried.
const LEAVES_GROWTH_FACTOR: usize = 4;

/// Largest number of RMI leaves: its nodes, 20 bytes each, are then half a gigabyte.
const LEAVES_MAX: usize = 1 << 24;

/// The RMI with the least cost. Every setting of the grid gives a layer of lines; those not dominated in both size and
/// data read are completed, either by nothing (the lines are the root) or by a line over their pages.
///
/// Source: Marcus, Zhang and Kraska, "CDFShop: Exploring and Optimizing Learned Index Structures" (SIGMOD 2020), with
/// the objective of AirIndex instead of a search in memory.
pub(super) fn rmi(row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
    let children = usize::try_from(row.children()).unwrap_or(usize::MAX);
    let grid: Vec<rmi::RmiSetting> = rmi::settings(children, LEAVES_MAX)
        .filter(|setting| setting.leaves.ilog2() % LEAVES_GROWTH_FACTOR.ilog2() == 0 || setting.leaves == 1)
        .collect();
    let tried = map(problem.options.threads, grid.len(), |number| {
        let setting = rmi_builder(grid[number].root, grid[number].leaves as u64);
        let layer = setting.build(row, &problem.options);
        let reads = reads_of(&layer, row);
        EvaluatedSetting { setting, resident_bytes: layer.root_bytes(), search_width: problem.read_us(0, &reads) }
    });
    let front: Vec<LayerBuilder> = pareto(tried).into_iter().map(|tried| tried.setting).collect();
    best(row, problem, front.len() * 2, |number| {
        let alone = number % 2 == 0;
        pile(row, problem, &problem.options, |layers| match layers {
            [] => Some(front[number / 2]),
            [.., root] if alone || root.node_count() <= 1 => None,
            _ => Some(rmi_builder(RootKind::Linear, 1)),
        })
    })
}
