//! Design families with parameters of their own, tuned by grid search.

use super::builder::LayerBuilder;
use super::design::{Design, LINE_NODE_BYTES, STEP_PIECE_BYTES};
use super::layer::INDEX_PAGE_HEADER_BYTES;
use super::level_input::LevelInput;
use super::parallel;
use super::problem::{DesignProblem, DesignScore, DesignSearchOptions, LayerBuilderKind};
use super::reads::ReadSizes;
use super::request::{DesignRequest, pile, recursive, whole_children};
use ogive_model::rmi::{self, RootKind};
use ogive_model::tuning::{EvaluatedSetting, pareto};

/// Growth factor of the numbers of RMI leaves tried.
const LEAVES_GROWTH_FACTOR: usize = 4;

/// Largest number of RMI leaves: its nodes, 20 bytes each, are then half a gigabyte.
const LEAVES_MAX: usize = 1 << 24;

/// Entries of a radix table per index page of the spline, at most: more of them do not tell more pages apart.
const TABLE_ENTRIES_PER_PAGE_MAX: u64 = 4;

/// Bins of the nodes of hist-trees that are tried.
const HIST_TREE_BINS: [u64; 4] = [4, 16, 64, 256];

/// Largest windows of their bins, in index pages.
const HIST_TREE_PAGES: [u64; 4] = [1, 4, 16, 64];

/// Fanouts of the Data Calculator's trees, as powers of two: as in the authors' search for it.
const FANOUTS_LOG2: std::ops::RangeInclusive<u32> = 4..=16;

/// Most layers of the Data Calculator's trees, as in the same.
const TREE_LAYERS_MAX: u32 = 4;

/// Index pages have a multiple of this size.
const PAGE_GRAIN_BYTES: u64 = 512;

/// Designs that each thread builds before they are compared.
const DESIGNS_PER_THREAD: usize = 4;

/// Largest spline error tried; errors double from one data block on.
const ERROR_CHILDREN_MAX: u64 = 1 << 10;

/// The design that the search found, or a faster one that can be asked for by name. A search with a builder set of its
/// own stands alone.
///
/// Compared are the designs that beat the search in 1,330 pairs of key set and profile: one coded layer, which the
/// search judges by samples of long inputs (18 times, by 6 % at most), and lines of the least error (7 times, by 4
/// millionths). The B+-tree costs next to nothing. The other families never won; building them tripled the time to
/// build a table.
pub(super) fn or_named(found: Design, row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
    if problem.options.builders != LayerBuilderKind::ALL {
        return found;
    }
    let pgm = spline_errors(row, problem).into_iter().map(|error_keys| DesignRequest::Pgm { error_keys });
    let named: Vec<DesignRequest> = [DesignRequest::Coded, DesignRequest::Btree].into_iter().chain(pgm).collect();
    best(row, problem, named.len() + 1, |number| match number.checked_sub(1) {
        None => found.clone(),
        Some(number) => {
            let design = named[number].build(row, problem);
            let builders: Vec<LayerBuilder> = design.layers.iter().map(|layer| layer.builder).collect();
            problem.note(&builders, design.objective_us(problem), design.index_bytes());
            design
        }
    })
}

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
    let shares = row.shares();
    let tried = parallel::map(problem.options.threads, grid.len(), |number| {
        let setting = LayerBuilder::Rmi { root: grid[number].root, leaves: grid[number].leaves as u64 };
        let layer = setting.build(row, &problem.options);
        let reads = layer.windows(row, &shares).sizes(row.child_bytes);
        EvaluatedSetting { setting, resident_bytes: layer.root_bytes(), search_width: problem.read_us(0, &reads) }
    });
    let front: Vec<LayerBuilder> = pareto(tried).into_iter().map(|tried| tried.setting).collect();
    best(row, problem, front.len() * 2, |number| {
        let alone = number % 2 == 0;
        pile(row, problem, &problem.options, |layers| match layers {
            [] => Some(front[number / 2]),
            [.., root] if alone || root.node_count() <= 1 => None,
            _ => Some(LayerBuilder::Rmi { root: RootKind::Linear, leaves: 1 }),
        })
    })
}

/// The RadixSpline with the error of least cost.
///
/// Source: Kipf et al., "RadixSpline: a single-pass learned index" (aiDM 2020), Section 3: the error trades size for
/// time.
pub(super) fn radix_spline(row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
    let errors = spline_errors(row, problem);
    best(row, problem, errors.len(), |number| {
        recursive(row, problem, errors[number], |error_children| LayerBuilder::Spline { error_children })
    })
}

/// Errors of splines in keys, which double from one block on.
fn spline_errors(row: &LevelInput, problem: &DesignProblem<'_>) -> Vec<u64> {
    let most = ERROR_CHILDREN_MAX.min(row.children()).ilog2();
    (0..=most).map(|log2| (problem.keys_per_child.max(1.0) * (1_u64 << log2) as f64) as u64).collect()
}

/// The PLEX with this error in keys, or with the error of least cost: a greedy spline over the blocks, and over its
/// index pages the table of bins with the least cost.
///
/// The table is the root even over a single page: spline and table are two structures, neither of which replaces the
/// other.
///
/// Source: Stoian et al., "Towards Practical Learned Indexing" (AIDB 2021), which tunes the table for a search in
/// memory; here it is the objective of AirIndex.
pub(super) fn plex(row: &LevelInput, problem: &DesignProblem<'_>, error_keys: Option<u64>) -> Design {
    let Some(error_keys) = error_keys else {
        let errors = spline_errors(row, problem);
        return best(row, problem, errors.len(), |number| plex(row, problem, Some(errors[number])));
    };
    let error_children = whole_children(error_keys, problem.keys_per_child.max(1.0));
    let shares = row.shares();
    let spline = problem.build(LayerBuilder::Spline { error_children }, row, 0, &problem.options);
    let data_reads = spline.windows(row, &shares).sizes(row.child_bytes);
    let pages = spline.row_above(&shares);
    let builders = tables(&pages);
    let page_shares = pages.shares();
    let tried = parallel::map(problem.options.threads, builders.len(), |number| {
        let table = problem.build(builders[number], &pages, 1, &problem.options);
        let reads = table.windows(&pages, &page_shares).sizes(pages.child_bytes);
        (table, reads)
    });
    let score = |root_bytes: u64, reads: &ReadSizes| {
        score(problem, root_bytes, problem.lookup_us(root_bytes, &[data_reads.clone(), reads.clone()]))
    };
    let scored = tried.into_iter().map(|(table, reads)| (score(table.root_bytes(), &reads), table, reads));
    match scored.min_by(|(a, ..), (b, ..)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)) {
        Some((_, table, reads)) => Design::assemble(row, vec![spline, table], vec![data_reads, reads], problem),
        None => Design::without_index(row, problem),
    }
}

/// The tables of bins that are tried over these index pages: radix tables and hist-trees.
fn tables(pages: &LevelInput) -> Vec<LayerBuilder> {
    let most_bins = (TABLE_ENTRIES_PER_PAGE_MAX * pages.children()).ilog2();
    let radix = (0..=most_bins).map(|log2| LayerBuilder::Radix { bins: 1 << log2 });
    let trees = HIST_TREE_BINS.iter().flat_map(|&bins| {
        HIST_TREE_PAGES.map(|pages_max| LayerBuilder::HistTree { bins, lambda_bytes: pages_max * pages.child_bytes })
    });
    radix.chain(trees).collect()
}

/// The division of the blocks among the leaves of a tree.
#[derive(Clone, Copy, Debug)]
enum TreePartition {
    /// As many blocks for each.
    Blocks,
    /// A range of keys of one width for each.
    Keys,
}

/// The fastest of the trees whose nodes all have one fanout, with any number of layers.
///
/// Source: Idreos et al., "The Data Calculator" (SIGMOD 2018); the space is the one for which AirIndex (Appendix B)
/// completes designs: number of layers, fanout, partition of the keys.
pub(super) fn data_calculator(row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
    let shapes = (1..=TREE_LAYERS_MAX).flat_map(|layers| FANOUTS_LOG2.map(move |fanout_log2| (layers, fanout_log2)));
    let partitions = [TreePartition::Blocks, TreePartition::Keys];
    let settings: Vec<(u32, u32, TreePartition)> =
        shapes.flat_map(|(layers, fanout_log2)| partitions.map(|partition| (layers, fanout_log2, partition))).collect();
    best(row, problem, settings.len() + 1, |number| match settings.get(number) {
        Some(&(layers, fanout_log2, partition)) => tree(row, problem, layers, fanout_log2, partition),
        None => Design::without_index(row, problem),
    })
}

/// A tree with up to this number of layers; those with nothing left to lead to are omitted.
fn tree(
    row: &LevelInput,
    problem: &DesignProblem<'_>,
    layers: u32,
    fanout_log2: u32,
    partition: TreePartition,
) -> Design {
    let fanout = 1_u32 << fanout_log2;
    let leaves_log2 = (layers * fanout_log2).min(u64::BITS - 1);
    let leaf_bytes = row.children().div_ceil(1 << leaves_log2) * row.child_bytes;
    let (entry_bytes, lowest) = match partition {
        TreePartition::Blocks => (STEP_PIECE_BYTES, LayerBuilder::GStep { pieces: fanout, lambda_bytes: leaf_bytes }),
        TreePartition::Keys => (LINE_NODE_BYTES, LayerBuilder::Radix { bins: 1 << leaves_log2 }),
    };
    let node_bytes = (INDEX_PAGE_HEADER_BYTES + u64::from(fanout) * entry_bytes).next_multiple_of(PAGE_GRAIN_BYTES);
    let options = DesignSearchOptions { page_bytes: node_bytes as u32, ..problem.options.clone() };
    pile(row, problem, &options, |below| match below.len() as u32 {
        0 => Some(lowest),
        built => (built < layers).then_some(LayerBuilder::GStep { pieces: fanout, lambda_bytes: node_bytes }),
    })
}

/// The best of `count` designs that fit the budget; the one with the smallest root if none does.
fn best(row: &LevelInput, problem: &DesignProblem<'_>, count: usize, build: impl Fn(usize) -> Design + Sync) -> Design {
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
fn score(problem: &DesignProblem<'_>, root_bytes: u64, objective_us: f64) -> (u64, DesignScore) {
    let over_bytes = if problem.fits_budget(root_bytes) { 0 } else { root_bytes };
    (over_bytes, problem.score(objective_us, root_bytes))
}
