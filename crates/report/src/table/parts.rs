//! Equal parts of the key curve, and how hard the keys of each are.

use ogive_model::pla;
use serde::Serialize;

/// Number of parts that a curve is divided into.
pub(super) const PARTS: u64 = 64;

/// Errors for which lines are counted, in blocks.
pub(super) const ERRORS_BLOCKS: [u64; 3] = [1, 4, 16];

/// A part of the curve: a range of blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CurvePart {
    /// First block.
    pub block: u64,
    /// Nodes of the bottom layer that begin in it.
    pub nodes: u64,
    /// Least number of lines with an error of at most 1, 4 and 16 blocks; empty if the index has no exact separators.
    pub lines: Vec<u64>,
    /// Largest distance of a separator from its line, or largest half window of a line, in blocks.
    pub error_blocks: f64,
    /// Bits of a residual, the mean over coded separators.
    pub residual_bits: f64,
}

impl CurvePart {
    /// The parts of a curve of this many blocks.
    pub(super) fn all(blocks: u64) -> Vec<Self> {
        let count = PARTS.min(blocks);
        (0..count).map(|part| Self { block: start(part, blocks), ..Self::default() }).collect()
    }
}

/// The first block of a part.
fn start(part: u64, blocks: u64) -> u64 {
    let count = PARTS.min(blocks).max(1);
    (u128::from(part) * u128::from(blocks)).div_ceil(u128::from(count)) as u64
}

/// The part that a block is in.
pub(super) fn part_of(block: u64, blocks: u64) -> usize {
    let count = PARTS.min(blocks);
    (u128::from(block) * u128::from(count) / u128::from(blocks.max(1))) as usize
}

/// Counts the lines of each part; `points` are keys on the axis and blocks, ascending.
pub(super) fn count_lines(parts: &mut [CurvePart], points: &[(u64, u64)], blocks: u64) {
    for (number, part) in parts.iter_mut().enumerate() {
        let end = start(number as u64 + 1, blocks);
        let from = points.partition_point(|point| point.1 < part.block);
        let to = points.partition_point(|point| point.1 < end);
        let lines = |error| pla::segments(points[from..to].iter().copied(), error);
        part.lines = ERRORS_BLOCKS.map(lines).to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_blocks_in_order() {
        for blocks in [1, 2, 63, 64, 65, 1000, 1 << 40] {
            let parts = CurvePart::all(blocks);
            assert!(parts.windows(2).all(|pair| pair[0].block < pair[1].block) && parts[0].block == 0);
            for (number, part) in parts.iter().enumerate() {
                assert_eq!(part_of(part.block, blocks), number, "{blocks}");
            }
            assert_eq!(part_of(blocks - 1, blocks), parts.len() - 1);
        }
        assert!(CurvePart::all(0).is_empty());
    }

    #[test]
    fn a_bend_costs_lines_where_it_is() {
        let points: Vec<(u64, u64)> =
            (0..6400).map(|i| (if i < 150 { i * i * i } else { 3_375_000 + i * 9 }, i)).collect();
        let mut parts = CurvePart::all(6400);
        count_lines(&mut parts, &points, 6400);
        assert!(parts[0].lines[0] > 2 && parts[40].lines == [1, 1, 1], "{:?}", parts[0]);
    }
}
