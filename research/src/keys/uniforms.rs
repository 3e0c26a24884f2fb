//! A streaming generator of sorted uniform numbers.
//!
//! To draw n independent uniform numbers of 64 bits in ascending order: toss n fair coins for their top bits. If h show
//! heads, n - h numbers lie in the lower half of the space and h in the upper half; go on with the lower half, then
//! with the upper. Where at most [`LEAF_KEYS`] numbers are left, draw their remaining bits and sort them. That is
//! exactly the distribution of a sorted sample; it takes a stack of at most 64 entries and one small buffer.

use super::source::Source;
use crate::error::Result;
use crate::random::Random;

/// Most numbers that are sorted at a time.
pub const LEAF_KEYS: u64 = 2_048;

/// The numbers of `0..2^64` whose top `depth` bits are those of `start`, `count` of which are drawn.
#[derive(Debug, Clone, Copy)]
struct Node {
    start: u64,
    depth: u32,
    count: u64,
}

/// A sample of uniform 64-bit numbers in ascending order, repeats included.
#[derive(Debug)]
pub struct SortedUniforms {
    pending: Vec<Node>,
    random: Random,
}

impl SortedUniforms {
    /// A sample of `count` numbers.
    pub fn new(count: u64, random: Random) -> Self {
        Self { pending: vec![Node { start: 0, depth: 0, count }], random }
    }

    /// Appends the next numbers, at most [`LEAF_KEYS`] unless they are all equal; none at the end.
    pub fn next_leaf(&mut self, leaf: &mut Vec<u64>) {
        while let Some(node) = self.pending.pop() {
            if node.count == 0 {
                continue;
            }
            if node.count <= LEAF_KEYS || node.depth == u64::BITS {
                let before = leaf.len();
                leaf.extend(
                    (0..node.count).map(|_| node.start | self.random.bits().checked_shr(node.depth).unwrap_or(0)),
                );
                leaf[before..].sort_unstable();
                return;
            }
            let upper = self.random.heads(node.count);
            let depth = node.depth + 1;
            let middle = node.start | 1u64 << (u64::BITS - depth);
            self.pending.push(Node { start: middle, depth, count: upper });
            self.pending.push(Node { start: node.start, depth, count: node.count - upper });
        }
    }
}

impl Source for SortedUniforms {
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
        self.next_leaf(block);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: u64, seed: u64) -> Vec<Vec<u64>> {
        let mut uniforms = SortedUniforms::new(count, Random::new(seed, "test"));
        let mut leaves = Vec::new();
        loop {
            let mut leaf = Vec::new();
            uniforms.next_leaf(&mut leaf);
            if leaf.is_empty() {
                return leaves;
            }
            assert!(uniforms.pending.len() <= 64);
            leaves.push(leaf);
        }
    }

    #[test]
    fn samples_are_sorted_and_complete_and_no_leaf_is_large() {
        for count in [0, 1, LEAF_KEYS, LEAF_KEYS + 1, 100_000] {
            let leaves = sample(count, 3);
            assert!(leaves.iter().all(|leaf| leaf.len() as u64 <= LEAF_KEYS));
            let numbers = leaves.concat();
            assert!(numbers.is_sorted());
            assert_eq!(numbers.len() as u64, count);
        }
    }

    /// Kolmogorov-Smirnov: the largest distance of the sample's curve from the diagonal exceeds 1.95 / sqrt(n) in one
    /// of a thousand samples.
    #[test]
    fn samples_follow_the_uniform_distribution() {
        let numbers = sample(100_000, 5).concat();
        let distance = |(index, number): (usize, &u64)| {
            (*number as f64 / 2f64.powi(64) - (index as f64 + 0.5) / numbers.len() as f64).abs()
        };
        let largest = numbers.iter().enumerate().map(distance).fold(0.0, f64::max);
        assert!(largest < 1.95 / (numbers.len() as f64).sqrt(), "{largest}");
        // Gaps of an exponential distribution: one in e^3 is longer than three times the mean.
        let mean = u64::MAX / numbers.len() as u64;
        let long = numbers.windows(2).filter(|pair| pair[1] - pair[0] > 3 * mean).count() as f64;
        assert!((long / numbers.len() as f64 - (-3f64).exp()).abs() < 0.003, "{long} long gaps");
    }
}
