//! The design space of the Data Calculator: trees whose nodes all have one fanout.

use super::builders::radix_table;
use ogive::tune::extend::{best, given_layers, pile};
use ogive::tune::{
    Design, DesignProblem, INDEX_PAGE_HEADER_BYTES, LINE_NODE_BYTES, LayerBuilder, LevelInput, STEP_PIECE_BYTES,
};

/// Fanouts of the Data Calculator's trees, as powers of two: as in the authors' search for it.
const FANOUTS_LOG2: std::ops::RangeInclusive<u32> = 4..=16;

/// Most layers of the Data Calculator's trees, as in the same.
const TREE_LAYERS_MAX: u32 = 4;

/// Index pages have a multiple of this size.
const PAGE_GRAIN_BYTES: u64 = 512;

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
        None => given_layers(row, Vec::new(), problem),
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
        TreePartition::Keys => (LINE_NODE_BYTES, radix_table(1 << leaves_log2)),
    };
    let node_bytes = (INDEX_PAGE_HEADER_BYTES + u64::from(fanout) * entry_bytes).next_multiple_of(PAGE_GRAIN_BYTES);
    let options = problem.options.clone().page_bytes(node_bytes as u32);
    pile(row, problem, &options, |below| match below.len() as u32 {
        0 => Some(lowest),
        built => (built < layers).then_some(LayerBuilder::GStep { pieces: fanout, lambda_bytes: node_bytes }),
    })
}
