//! Predicted costs of the methods of the paper, for the planner. Rates are nanoseconds of one core.

use super::methods::BlockStructure;
use ogive::join::extend::JoinCostModel;
use ogive::join::{JoinCost, JoinSide};

/// One step of a binary search in a window.
const BISECT_STEP_NS: f64 = 4.0;
/// Reading a window that is not buffered.
const WINDOW_NS: f64 = 1_500.0;
/// A descent of a B-tree from its root, and a step of a nearby cursor.
const DESCENT_NS: f64 = 60.0;
const CURSOR_NS: f64 = 12.0;
/// Locating a key by a leaf iterator over line segments, by a radix spline, and by a recursive model index.
const LINE_NS: f64 = 15.0;
const SPLINE_NS: f64 = 20.0;
const RMI_NS: f64 = 20.0;
/// Building an index, per block: a tree and line segments once, a spline and a recursive model index in every candidate
/// setting.
const TREE_BUILD_NS: f64 = 5.0;
const LINE_BUILD_NS: f64 = 40.0;
const SPLINE_BUILD_NS: f64 = 500.0;
const RMI_BUILD_NS: f64 = 3_000.0;
/// Error bounds of the sampled PGM-index (2 samples of every 128th key) and of the radix spline.
const SAMPLED_ERROR_ROWS: f64 = 256.0;
const SPLINE_ERROR_ROWS: f64 = 256.0;
/// Mean window of a tuned recursive model index, in blocks.
const RMI_WINDOW_BLOCKS: f64 = 2.0;
/// Inserting a row into an in-memory B-tree, in order of arrival.
const BTREE_INSERT_NS: f64 = 1_000.0;
/// Looking a row up in that B-tree through a cursor.
const BTREE_PROBE_NS: f64 = 300.0;
/// A B-tree gets a quarter of the memory; its fixed need in bytes, bytes of rows per further byte, and its longest key.
const BTREE_MEMORY_FRACTION: f64 = 0.25;
const BTREE_BYTES_MIN: f64 = 2_686_976.0;
const BTREE_ROW_BYTES_PER_MEMORY_BYTE: f64 = 2_048.0;
const BTREE_KEY_BYTES_MAX: f64 = 16.0;
/// Fill factor of B-tree leaves after random inserts.
const RANDOM_FILL_FRACTION: f64 = 0.69;

/// The probe loop, key by key: look the index up, read the window unless it is buffered, search it.
pub(super) fn probes(
    structure: BlockStructure,
    model: &JoinCostModel<'_>,
    inner: JoinSide,
    error_keys: u64,
) -> Result<JoinCost, String> {
    let (blocks, block_bytes) = model.blocks(inner)?;
    let outer = inner.other();
    let rows_a_block = (model.rows(inner) / blocks.max(1.0)).max(1.0);
    let index = ProbedIndex::of(structure, error_keys, rows_a_block);
    let mut cost = model.separators(inner)?;
    cost.work(1.0, JoinCostModel::JOIN_NS);
    cost.work(blocks, index.build_block_ns);
    cost.hold(blocks * index.block_bytes);
    cost += model.scan(outer);
    let windows = model.windows(inner, index.window_blocks);
    let bytes = windows * index.window_blocks.min(blocks.max(1.0)) * block_bytes as f64;
    model.read(&mut cost, windows, bytes);
    cost.work(windows, WINDOW_NS);
    cost.work(bytes, JoinCostModel::SCAN_BYTE_NS);
    let steps = (rows_a_block * index.window_blocks).log2().max(1.0);
    cost.work(model.rows(outer), index.probe_ns + steps * BISECT_STEP_NS);
    if model.dense_key_bytes(inner).is_none() {
        cost.work(windows * rows_a_block, JoinCostModel::DECODE_ROW_NS);
    }
    cost += model.output();
    model.within_memory(cost)
}

/// The costs of an index over blocks.
struct ProbedIndex {
    /// A lookup, in nanoseconds.
    probe_ns: f64,
    /// Blocks in its window.
    window_blocks: f64,
    /// Building it, in nanoseconds per block of the table.
    build_block_ns: f64,
    /// Its memory during the build, in bytes per block of the table.
    block_bytes: f64,
}

impl ProbedIndex {
    fn of(structure: BlockStructure, error_keys: u64, rows_a_block: f64) -> Self {
        // An error in rows becomes one in whole blocks, on either side of the predicted block.
        let blocks = |error_rows: f64| 2.0 * (error_rows / rows_a_block).ceil() + 1.0;
        let (probe_ns, window_blocks, build_block_ns, block_bytes) = match structure {
            BlockStructure::Btree => (DESCENT_NS, 1.0, TREE_BUILD_NS, 8.0),
            BlockStructure::BtreeCursor => (CURSOR_NS, 1.0, 0.0, 0.0),
            BlockStructure::Pgm => (LINE_NS, blocks(error_keys as f64), LINE_BUILD_NS, 16.0),
            BlockStructure::SampledPgm => (LINE_NS, blocks(SAMPLED_ERROR_ROWS), LINE_BUILD_NS, 16.0),
            BlockStructure::RadixSpline => (SPLINE_NS, blocks(SPLINE_ERROR_ROWS), SPLINE_BUILD_NS, 16.0),
            BlockStructure::Rmi => (RMI_NS, RMI_WINDOW_BLOCKS, RMI_BUILD_NS, 16.0),
        };
        Self { probe_ns, window_blocks, build_block_ns, block_bytes }
    }
}

/// The B-tree join: a B-tree of each relation, built by inserts in order of arrival; the smaller one is scanned, the
/// larger one probed.
pub(super) fn trees(model: &JoinCostModel<'_>) -> Result<JoinCost, String> {
    let sides = [JoinSide::Left, JoinSide::Right];
    let room_bytes = model.input_bytes() * BTREE_MEMORY_FRACTION;
    for side in sides {
        if model.dense_key_bytes(side).is_none_or(|bytes| bytes > BTREE_KEY_BYTES_MAX) {
            let name = model.name(side);
            return Err(format!(
                "a B-tree needs rows of one width with keys of up to 16 bytes, which {name} does not have"
            ));
        }
        let needed_bytes = BTREE_BYTES_MIN + model.row_bytes(side) / BTREE_ROW_BYTES_PER_MEMORY_BYTE;
        if needed_bytes > room_bytes {
            return Err(format!(
                "a B-tree of {} needs {needed_bytes:.0} bytes of memory, and would get {room_bytes:.0}",
                model.name(side)
            ));
        }
    }
    let mut cost = JoinCost::default();
    cost.work(1.0, JoinCostModel::JOIN_NS);
    for side in sides {
        cost += model.scan(side);
        cost.work(model.rows(side), BTREE_INSERT_NS);
        let tree_bytes = model.row_bytes(side) / RANDOM_FILL_FRACTION;
        let absent = (1.0 - model.input_bytes() * BTREE_MEMORY_FRACTION / tree_bytes.max(1.0)).clamp(0.0, 1.0);
        let pages = if model.is_sorted(side) { 0.0 } else { model.rows(side) * absent };
        model.read(&mut cost, pages, pages * JoinCostModel::PAGE_BYTES);
        model.write(&mut cost, pages, pages * JoinCostModel::PAGE_BYTES);
    }
    cost.work(model.rows(JoinSide::Left).min(model.rows(JoinSide::Right)), BTREE_PROBE_NS);
    cost += model.output();
    Ok(cost)
}
