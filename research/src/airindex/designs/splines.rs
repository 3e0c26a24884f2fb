//! RadixSpline and PLEX as designs: splines, alone or under a table of bins.

use super::builders::{hist_tree, radix_table, spline};
use ogive::tune::extend::{
    best, error_grid, given_layers, lines_by_error, map, pages_of, reads_of, score, whole_children,
};
use ogive::tune::{Design, DesignProblem, LayerBuilder, LevelInput};

/// Entries of a radix table per index page of the spline, at most: more of them do not tell more pages apart.
const TABLE_ENTRIES_PER_PAGE_MAX: u64 = 4;

/// Bins of the nodes of hist-trees that are tried.
const HIST_TREE_BINS: [u64; 4] = [4, 16, 64, 256];

/// Largest windows of their bins, in index pages.
const HIST_TREE_PAGES: [u64; 4] = [1, 4, 16, 64];

/// The RadixSpline with the error of least cost.
///
/// Source: Kipf et al., "RadixSpline: a single-pass learned index" (aiDM 2020), Section 3: the error trades size for
/// time.
pub(super) fn radix_spline(row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
    let errors = error_grid(row, problem);
    best(row, problem, errors.len(), |number| lines_by_error(row, problem, errors[number], spline))
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
        let errors = error_grid(row, problem);
        return best(row, problem, errors.len(), |number| plex(row, problem, Some(errors[number])));
    };
    let error_children = whole_children(error_keys, problem.keys_per_child.max(1.0));
    let spline = spline(error_children).build(row, &problem.options);
    let data_reads = reads_of(&spline, row);
    let pages = pages_of(&spline, row);
    let builders = tables(&pages);
    let tried = map(problem.options.threads, builders.len(), |number| {
        let table = builders[number].build(&pages, &problem.options);
        let root_bytes = table.root_bytes();
        let reads = [data_reads.clone(), reads_of(&table, &pages)];
        (score(problem, root_bytes, problem.lookup_us(root_bytes, &reads)), table)
    });
    let least = tried.into_iter().min_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    given_layers(row, least.map_or_else(Vec::new, |(_, table)| vec![spline, table]), problem)
}

/// The tables of bins that are tried over these index pages: radix tables and hist-trees.
fn tables(pages: &LevelInput) -> Vec<LayerBuilder> {
    let most_bins = (TABLE_ENTRIES_PER_PAGE_MAX * pages.children()).ilog2();
    let radix = (0..=most_bins).map(|log2| radix_table(1 << log2));
    let trees = HIST_TREE_BINS
        .iter()
        .flat_map(|&bins| HIST_TREE_PAGES.map(|pages_max| hist_tree(bins, pages_max * pages.child_bytes)));
    radix.chain(trees).collect()
}
