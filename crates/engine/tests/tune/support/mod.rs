//! Key sets, level inputs and simulated lookups for the tests of the tuner.

#![expect(clippy::panic, clippy::expect_used, reason = "a test fails by a panic")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part of the support")]

use ogive::tune::{Design, DesignLayer, LayerNodes, LevelInput};
use ogive_model::{Fence, coded};
use std::ops::RangeInclusive;

/// A small deterministic generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Sorted keys of one of the four shapes: `uniform`, `lognormal`, `steps`, `clusters`.
pub fn keys(shape: &str, count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut keys: Vec<u64> = match shape {
        "uniform" => (0..count).map(|_| random.next() >> 2).collect(),
        "lognormal" => (0..count).map(|_| ((2.0 * random.normal()).exp() * 1e12) as u64).collect(),
        "steps" => (0..count)
            .scan(0_u64, |at, i| {
                *at += if i % 1000 == 0 { random.next() % 1_000_000_000 } else { 1000 };
                Some(*at)
            })
            .collect(),
        "clusters" => {
            let centres: Vec<f64> = (0..100).map(|_| random.unit() * 1e15).collect();
            (0..count).map(|i| (centres[i % 100] + random.normal().abs() * 1e10) as u64).collect()
        }
        _ => panic!("no key set {shape}"),
    };
    keys.sort_unstable();
    keys
}

/// The level input of blocks of `records` keys each.
pub fn row_of(keys: &[u64], records: usize, child_bytes: u64) -> LevelInput {
    let border = |at: usize| Fence { low: keys[at - 1], high: keys[at] };
    let fences = (1..keys.len().div_ceil(records)).map(|block| border(block * records)).collect();
    LevelInput { first: keys[0], fences, child_bytes, weights: None }
}

/// A layer that can be searched for the node of a key and its children.
pub struct Probe<'a> {
    layer: &'a DesignLayer,
    payload: Vec<u8>,
    unit_of_node: Vec<u64>,
}

impl<'a> Probe<'a> {
    pub fn new(layer: &'a DesignLayer) -> Self {
        let mut payload = Vec::new();
        if let LayerNodes::Coded { layer, .. } = &layer.nodes {
            layer.encode(0..layer.groups(), &mut payload);
        }
        let pages = layer.pages();
        let unit_of_node =
            pages.iter().enumerate().flat_map(|(i, page)| page.nodes.clone().map(move |_| i as u64)).collect();
        Self { layer, payload, unit_of_node }
    }

    /// The page that holds the node of `x`, and the children that the node leads to.
    pub fn find(&self, x: u64) -> (u64, RangeInclusive<u64>) {
        let last = self.layer.children - 1;
        let (node, window) = match &self.layer.nodes {
            LayerNodes::Step(pieces) => {
                let at = pieces.partition_point(|piece| piece.separator <= x).saturating_sub(1);
                let end = pieces.get(at + 1).map_or(last, |next| next.first_child - 1);
                (at, pieces[at].first_child..=end)
            }
            LayerNodes::Line(nodes) => {
                let at = nodes.partition_point(|node| node.start <= x).saturating_sub(1);
                (at, nodes[at].window(x, nodes.get(at + 1).map_or(last, |next| next.first_child)))
            }
            LayerNodes::Coded { layer, granule } => {
                let found = coded::search(&self.payload, layer.groups(), x).expect("the layer was just encoded");
                let at = (0..layer.groups()).rev().find(|&group| layer.first_child(group) <= found).unwrap_or(0);
                (at, found * granule..=((found + 1) * granule - 1).min(last))
            }
            other => panic!("unknown nodes {other:?}"),
        };
        (self.unit_of_node[node], window)
    }
}

/// Sizes of the reads of a lookup of `x` after opening, data first; fails if a window misses what it must hold.
pub fn look_up(design: &Design, row: &LevelInput, probes: &[Probe<'_>], x: u64) -> Vec<u64> {
    let mut reads = Vec::new();
    let mut window = None;
    for (depth, probe) in probes.iter().enumerate().rev() {
        let (page, children) = probe.find(x);
        if let Some(read) = window.replace(children.clone()) {
            let read: RangeInclusive<u64> = read;
            assert!(read.contains(&page), "layer {depth}: the pages {read:?} that were read for {x} lack page {page}");
        }
        let child_bytes = if depth == 0 { row.child_bytes } else { u64::from(design.layers[depth - 1].page_bytes) };
        reads.push((children.end() - children.start() + 1) * child_bytes);
    }
    let window = window.unwrap_or(0..=row.children() - 1);
    let home = row.child_of(x) as u64;
    let present = home == 0 || row.fences[home as usize - 1].high <= x || row.fences[home as usize - 1].low >= x;
    let in_gap = row.fences.get(home as usize).is_some_and(|fence| x > fence.low);
    assert!(
        window.contains(&home) || (in_gap && window.contains(&(home + 1))),
        "{x} is at home in block {home} (present: {present}), but {window:?} were read; {:?}",
        design.report()
    );
    if reads.is_empty() {
        reads.push(row.size_bytes());
    }
    reads.reverse();
    reads
}

pub fn probes(design: &Design) -> Vec<Probe<'_>> {
    design.layers.iter().map(Probe::new).collect()
}
