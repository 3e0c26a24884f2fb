//! The rows of a shape, sorted.

use super::ends;
use super::shape::{Shape, Way};
use super::values::Values;
use crate::random::Random;

/// Sorted rows: keys one behind the other, values made when they are asked for.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    keys: Vec<u8>,
    /// End offset of each key.
    ends: Vec<usize>,
    values: Values,
    seed: u64,
    /// Bytes of each key, where the type says so.
    width: Option<usize>,
}

impl Rows {
    /// The rows of a shape; where they go through a store, each key once.
    pub(super) fn new(shape: &Shape) -> Self {
        let mut rows = Self {
            keys: Vec::new(),
            ends: Vec::new(),
            values: shape.values,
            seed: shape.seed,
            width: shape.key_type.width(),
        };
        let distinct = matches!(shape.way, Way::Store(_));
        ends::visit(shape, &mut |key| {
            if !(distinct && !rows.is_empty() && rows.key(rows.len() - 1) == key) {
                rows.push(key);
            }
        });
        rows
    }

    /// No rows, of the same kind.
    pub(super) fn none_like(&self, seed: u64) -> Self {
        Self { keys: Vec::new(), ends: Vec::new(), values: self.values, seed, width: self.width }
    }

    pub(super) fn push(&mut self, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of keys and values, about.
    pub(super) fn bytes(&self) -> u64 {
        (self.keys.len() + self.len() * self.values.mean_bytes()) as u64
    }

    pub(super) fn key(&self, row: usize) -> &[u8] {
        let begin = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[begin..self.ends[row]]
    }

    pub(super) fn value(&self, row: usize, out: &mut Vec<u8>) {
        self.values.fill(self.seed, row, out);
    }

    /// The value that a row had in an earlier version.
    pub(super) fn earlier_value(&self, version: u64, row: usize, out: &mut Vec<u8>) {
        self.values.fill(self.seed ^ (version + 1).wrapping_mul(0x5851_f42d_4c95_7f2d), row, out);
    }

    /// Rows with smaller keys.
    pub(super) fn rank(&self, key: &[u8]) -> usize {
        self.partition_point(|there| there < key)
    }

    /// Rows with keys that are not larger.
    pub(super) fn through(&self, key: &[u8]) -> usize {
        self.partition_point(|there| there <= key)
    }

    fn partition_point(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(self.key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The rows in any order, but for those of one key, which keep theirs.
    pub(super) fn shuffled(&self) -> Vec<usize> {
        let mut groups: Vec<usize> =
            (0..self.len()).filter(|&row| row == 0 || self.key(row) != self.key(row - 1)).collect();
        let mut random = Random::new(self.seed ^ 0x73);
        for i in (1..groups.len()).rev() {
            groups.swap(i, random.below(i as u64 + 1) as usize);
        }
        let of_group = |&first: &usize| {
            let others = (first + 1..self.len()).take_while(move |&row| self.key(row) == self.key(first));
            std::iter::once(first).chain(others)
        };
        groups.iter().flat_map(of_group).collect()
    }

    /// Keys beside that of a row: likely absent, and where separators may be wrong.
    pub(super) fn neighbours(&self, row: usize) -> Vec<Vec<u8>> {
        let key = self.key(row);
        if self.width.is_some() {
            return vec![moved(key, 1), moved(key, 0xff), moved(key, 7)];
        }
        let mut keys = vec![[key, &[0]].concat(), [key, &[0xff]].concat(), key[..key.len() / 2].to_vec()];
        if let [head @ .., last] = key {
            keys.push(head.to_vec());
            keys.push([head, &[last.wrapping_add(1)]].concat());
            keys.push([head, &[last.wrapping_sub(1), 0xff]].concat());
        }
        keys.retain(|key| key.len() <= ogive::TableWriteOptions::KEY_BYTES_MAX);
        keys
    }

    /// The least and the largest key, and others at the edges.
    pub(super) fn edges(&self) -> Vec<Vec<u8>> {
        match self.width {
            Some(width) => vec![vec![0; width], vec![0xff; width], vec![0x80; width]],
            None => vec![vec![], vec![0], vec![0xff; 9], vec![0xff; 400]],
        }
    }
}

/// A number of any width with another added to its last byte, carried on.
fn moved(key: &[u8], by: u8) -> Vec<u8> {
    let mut key = key.to_vec();
    let mut carry = u16::from(by);
    // 0xff steps back by one.
    let fill = if by == 0xff { 0xff } else { 0 };
    for (place, byte) in key.iter_mut().rev().enumerate() {
        let sum = u16::from(*byte) + carry + if place > 0 { fill } else { 0 };
        *byte = sum as u8;
        carry = sum >> 8;
    }
    key
}
