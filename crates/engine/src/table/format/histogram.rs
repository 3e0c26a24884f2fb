//! The key histogram of a table: a few keys of its index root with their positions, for estimates of the key
//! distribution.

use super::meta::NodeKind;
use crate::table::read::reader::Table;
use crate::table::separator_parts;
use ogive_model::coded::{self, Separator, visit_separators};
use ogive_model::{line, step};

/// A key, or a prefix of one, and the approximate number of the block that begins there.
pub(crate) type HistogramPoint = (Vec<u8>, f64);

impl Table {
    /// About `points` points of the histogram, in order, evenly sampled from the root; empty if the root has no
    /// separators.
    pub(crate) fn key_histogram(&self, points: usize) -> Vec<HistogramPoint> {
        let Some(top) = self.inner.meta.layers.len().checked_sub(1) else { return Vec::new() };
        let layer = &self.inner.meta.layers[top];
        let children = self.inner.children(top).max(1);
        // A root over index pages: each page leads to about the same number of blocks.
        let blocks_a_child = self.inner.meta.blocks as f64 / children as f64;
        let (root, nodes) = (&self.inner.root, layer.nodes as usize);
        let granule = layer.granule.max(1);
        let taken = SampledSeparators { every: (children / granule).div_ceil(points.max(2) as u64).max(1) };
        let numbers = |number: u64, child: u64| (number.to_be_bytes().to_vec(), child as f64 * blocks_a_child);
        let found: Option<Vec<HistogramPoint>> = match layer.kind {
            NodeKind::Step => step::decode(root, nodes)
                .map(|pieces| pieces.iter().map(|piece| numbers(piece.separator, piece.first_child)).collect()),
            NodeKind::Line => line::decode(root, nodes)
                .map(|lines| lines.iter().map(|node| numbers(node.start, node.first_child)).collect()),
            NodeKind::Coded => (0..children / granule)
                .step_by(taken.every as usize)
                .map(|child| Some(numbers(coded::separator_at(root, nodes, child)?, child * granule)))
                .collect(),
            NodeKind::CodedStrings => taken.strings(root, nodes).map(|found| {
                found.into_iter().map(|(key, child)| (key, (child * granule) as f64 * blocks_a_child)).collect()
            }),
        };
        thinned(found.unwrap_or_default(), points)
    }
}

/// Every n-th separator.
struct SampledSeparators {
    every: u64,
}

impl SampledSeparators {
    fn strings(&self, root: &[u8], groups: usize) -> Option<Vec<(Vec<u8>, u64)>> {
        let mut found = Vec::new();
        visit_separators(root, groups, |child, separator| {
            if child.is_multiple_of(self.every) {
                found.push((bytes_of(&separator), child));
            }
        })?;
        Some(found)
    }
}

/// Bytes of a point: keys are compared by their beginnings, and points of long ones would take more memory than a join
/// has.
const POINT_BYTES_MAX: usize = 64;

fn bytes_of(separator: &Separator<'_>) -> Vec<u8> {
    let mut word = [0; 8];
    let (head, tail) = separator_parts(separator, &mut word);
    head.iter().chain(tail).copied().take(POINT_BYTES_MAX).collect()
}

/// At most about `most` of the points, including the first.
fn thinned(points: Vec<HistogramPoint>, most: usize) -> Vec<HistogramPoint> {
    let every = points.len().div_ceil(most.max(2)).max(1);
    points.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use crate::io::MemoryStorage;
    use crate::table::{Table, TableOptions, TableWriteOptions, TableWriter};
    use crate::types::KeyType;
    use std::sync::Arc;

    fn table(design: &str, key_type: KeyType) -> Table {
        let storage = Arc::new(MemoryStorage::new());
        let options = TableWriteOptions {
            key_type,
            block_bytes: Some(4096),
            design: design.parse().unwrap(),
            ..TableWriteOptions::default()
        };
        let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
        for number in 0..200_000_u64 {
            let number = number * number;
            let key =
                if key_type == KeyType::U64 { number.to_be_bytes().to_vec() } else { format!("k{number:014}").into() };
            writer.append(&key, b"12345678").unwrap();
        }
        writer.finish().unwrap();
        Table::open((storage, "t"), &TableOptions::default()).unwrap()
    }

    #[test]
    fn points_lie_near_their_blocks() {
        for design in ["coded", "layers=3,builder=pla,error=2", "layers=2,builder=gstep/gstep,lambda=4096/512"] {
            for key_type in [KeyType::U64, KeyType::Bytes] {
                if key_type == KeyType::Bytes && design != "coded" {
                    continue;
                }
                let table = table(design, key_type);
                let histogram = table.key_histogram(100);
                assert!(histogram.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "{design}");
                assert!(histogram.len() <= 101, "{design}: {}", histogram.len());
                let blocks = table.explain().blocks as f64;
                for (key, block) in &histogram {
                    let share = table.rank(key).unwrap() as f64 / table.len() as f64;
                    // A root over index pages is less accurate, since the last page may be almost empty.
                    let near = if table.explain().layers.len() == 1 { 0.02 } else { 0.15 };
                    assert!((share - block / blocks).abs() < near, "{design} {key_type}: {share} {block} of {blocks}");
                }
            }
        }
        assert!(table("none", KeyType::U64).key_histogram(100).is_empty());
    }
}
