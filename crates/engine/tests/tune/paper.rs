//! Tests that the cost model and the nodes reproduce the figures stated in the AirIndex paper.

use ogive::Result;
use ogive::io::Profile;
use ogive::tune::{Design, DesignCost, DesignProblem, ReadSizes};
use ogive_model::line::LineNode;
use ogive_model::step::StepPiece;
use ogive_model::{Fence, FenceRun, band, step};

/// The cost of an index in which every layer, root included, reads `node_bytes`, over data read in pages of 4 KB.
fn tree_cost_us(layers: usize, node_bytes: u64, profile: &Profile) -> f64 {
    let open_bytes = move |_: u64| node_bytes;
    let problem = DesignProblem { open_bytes: &open_bytes, ..DesignProblem::new(profile) };
    let below_root = std::iter::repeat_n(ReadSizes::constant(node_bytes), layers - 1);
    let reads = std::iter::once(ReadSizes::constant(4_000)).chain(below_root).collect();
    let design = Design { layers: Vec::new(), reads, data_bytes: 0, cost: DesignCost::default() };
    design.cost_under(profile, &problem).total_us
}

#[test]
fn section_2_1_no_tree_suits_every_storage() -> Result<()> {
    let ssd = Profile::affine("ssd", 100.0, 1_000.0, 1)?;
    let cloud = Profile::affine("cloud", 100_000.0, 100.0, 1)?;
    let costs_us = [
        (tree_cost_us(3, 4_000, &ssd), 416.0),
        (tree_cost_us(2, 100_000, &ssd), 504.0),
        (tree_cost_us(3, 4_000, &cloud), 400_160.0),
        (tree_cost_us(2, 100_000, &cloud), 302_040.0),
    ];
    for (found, stated) in costs_us {
        assert!((found - stated).abs() < 1e-6, "{found} us, the paper states {stated}");
    }
    Ok(())
}

/// The keys 1, 4, 5 and 7 of Figure 6 lie at bytes [0, 10), [10, 20), [20, 25) and [25, 35): in children of 5 bytes
/// that is 2, 2, 1 and 2 children.
const FIGURE_6: [(u64, u64, u64); 4] = [(1, 0, 10), (4, 10, 20), (5, 20, 25), (7, 25, 35)];

#[test]
fn figure_6_the_step_node_is_exact() {
    let separators = FIGURE_6.map(|(key, begin, _)| StepPiece { separator: key, first_child: begin / 5 });
    for (i, (key, begin, end)) in FIGURE_6.into_iter().enumerate() {
        let piece = separators.partition_point(|piece| piece.separator <= key) - 1;
        let next = separators.get(piece + 1).map_or(7, |next| next.first_child);
        assert_eq!((piece, separators[piece].first_child * 5, next * 5), (i, begin, end));
    }
    // Built from the borders between the four records, one child each, the greedy step finds the same separators.
    let fences = [Fence { low: 1, high: 4 }, Fence { low: 4, high: 5 }, Fence { low: 5, high: 7 }];
    let built = step::greedy(&FenceRun { start: 1, ..FenceRun::whole(&fences) }, 1);
    assert_eq!(built.iter().map(|piece| piece.separator).collect::<Vec<_>>(), [1, 4, 5, 7]);
}

#[test]
fn figure_6_the_band_node_holds_every_record_within_30_bytes() {
    // The paper's band: slope 10/3 bytes, 15 bytes to each side.
    for (key, begin, end) in FIGURE_6 {
        let line = 10.0 / 3.0 * (key as f64 - 1.0);
        assert!(line - 15.0 <= begin as f64 && end as f64 <= line + 15.0, "key {key}");
    }
    // Our band, in children of 5 bytes, needs no more than the paper's 30 bytes for any record.
    let fences = [(1, 1), (1, 4), (4, 4), (4, 5), (5, 7), (7, 7)].map(|(low, high)| Fence { low, high });
    let nodes: Vec<LineNode> = band::greedy(&FenceRun { start: 1, ..FenceRun::whole(&fences) }, 6);
    assert_eq!(nodes.len(), 1);
    for (key, begin, _) in FIGURE_6 {
        let window = nodes[0].window(key, 6);
        assert!(window.contains(&(begin / 5)) && window.end() - window.start() < 6, "key {key}: {window:?}");
    }
}
