//! A pass over the bottom layer: the curve, and the nodes of each part.

use super::axis::{KeyAxis, KeyWindow};
use super::parts::{CurvePart, part_of};
use ogive::table::IndexNodes;
use ogive_model::coded::DecodedGroup;
use ogive_model::line::LineNode;

/// Points kept of the curve; of longer ones, every second, fourth and so on.
const POINTS_MAX: usize = 1 << 19;

/// The curve and its parts, as far as the nodes passed.
#[derive(Debug)]
pub(super) struct BottomScan {
    axis: KeyAxis,
    blocks: u64,
    granule: u64,
    /// Keys on the axis, and the block that begins there.
    pub(super) points: Vec<(KeyWindow, u64)>,
    stride: u64,
    passed: u64,
    pub(super) parts: Vec<CurvePart>,
    /// Separators with residuals, by part.
    coded: Vec<u64>,
    /// The lines, for deviations of sampled blocks; as many as points at most.
    pub(super) lines: Vec<LineNode>,
}

impl BottomScan {
    pub(super) fn new(axis: KeyAxis, blocks: u64, granule: u64) -> Self {
        let parts = CurvePart::all(blocks);
        let coded = vec![0; parts.len()];
        Self { axis, blocks, granule, points: Vec::new(), stride: 1, passed: 0, parts, coded, lines: Vec::new() }
    }

    /// Adds the nodes of a page, or of the root.
    pub(super) fn add(&mut self, nodes: &IndexNodes) {
        match nodes {
            IndexNodes::Steps(pieces) => {
                for piece in pieces {
                    self.count_node(piece.first_child);
                    self.push_number(piece.separator, piece.first_child);
                }
            }
            IndexNodes::Lines(lines) => {
                for line in lines {
                    self.count_node(line.first_child);
                    self.push_number(line.start, line.first_child);
                    if let Some(part) = self.part(line.first_child) {
                        part.error_blocks = part.error_blocks.max(f64::from(line.window) / 2.0);
                    }
                    if self.lines.len() < POINTS_MAX {
                        self.lines.push(*line);
                    }
                }
            }
            IndexNodes::Coded(groups) => groups.iter().for_each(|group| self.add_group(group)),
            IndexNodes::Strings(separators) => {
                for (block, separator) in separators {
                    self.count_node(*block);
                    let at = self.axis.at(separator);
                    self.push(at, *block);
                }
            }
        }
    }

    fn add_group(&mut self, group: &DecodedGroup) {
        let granule = self.granule;
        self.count_node(group.first_child * granule);
        let rise = f64::from(group.header.mantissa) * 2_f64.powi(group.header.exponent as i32 - 28);
        for (j, separator) in group.separators().enumerate() {
            let block = (group.first_child + j as u64) * granule;
            self.push_number(separator, block);
            let line = rise * j as f64;
            let off = separator.wrapping_sub(group.header.start) as f64 - line;
            let bits = f64::from(group.header.width);
            let Some(at) = (block < self.blocks).then(|| part_of(block, self.blocks)) else { continue };
            let Some(part) = self.parts.get_mut(at) else { continue };
            if rise > 0.0 {
                part.error_blocks = part.error_blocks.max(off.abs() / rise * granule as f64);
            }
            self.coded[at] += 1;
            part.residual_bits += (bits - part.residual_bits) / self.coded[at] as f64;
        }
    }

    fn part(&mut self, block: u64) -> Option<&mut CurvePart> {
        let at = (block < self.blocks).then(|| part_of(block, self.blocks))?;
        self.parts.get_mut(at)
    }

    fn count_node(&mut self, block: u64) {
        if let Some(part) = self.part(block) {
            part.nodes += 1;
        }
    }

    fn push_number(&mut self, key: u64, block: u64) {
        let at = self.axis.at(&key.to_be_bytes());
        self.push(at, block);
    }

    fn push(&mut self, at: KeyWindow, block: u64) {
        self.passed += 1;
        if !(self.passed - 1).is_multiple_of(self.stride) {
            return;
        }
        if self.points.len() == POINTS_MAX {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride *= 2;
        }
        // Damaged nodes may not ascend; a curve does.
        let last = self.points.last().copied().unwrap_or_default();
        self.points.push((at.max(last.0), block.clamp(last.1, self.blocks)));
    }
}
