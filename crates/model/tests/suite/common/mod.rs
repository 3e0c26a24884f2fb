//! Key sets that break learned indexes, and the definition of a correct window, for the tests of this crate.

#![allow(dead_code, reason = "each test file uses its part")]

use ogive_model::Fence;
use ogive_model::line::LineNode;

/// A small deterministic generator (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// The fences between blocks of `keys_per_block` sorted keys.
pub(crate) fn fences_of(keys: &[u64], keys_per_block: usize) -> Vec<Fence> {
    let borders = (keys_per_block..keys.len()).step_by(keys_per_block);
    borders.map(|i| Fence { low: keys[i - 1], high: keys[i] }).collect()
}

/// Names and sorted keys of the hard key sets, each of about `count` keys.
pub(crate) fn nasty_sets(count: usize) -> Vec<(&'static str, Vec<u64>)> {
    let n = count as u64;
    let mut random = Random(7);
    let mut sets: Vec<(&'static str, Vec<u64>)> = vec![
        ("dense at 0", (0..n).collect()),
        ("dense at 2^32", (0..n).map(|i| (1 << 32) - n / 2 + i).collect()),
        ("dense at 2^53", (0..n).map(|i| (1 << 53) - n / 2 + i).collect()),
        ("dense at 2^63", (0..n).map(|i| (1 << 63) - n / 2 + i).collect()),
        ("dense at the top", (0..n).map(|i| u64::MAX - (n - 1 - i)).collect()),
        ("two runs 2^63 apart", (0..n).map(|i| if i < n / 2 { i } else { (1 << 63) + i }).collect()),
        ("powers of two", (0..n).map(|i| 1u64 << (i % 64)).collect()),
        ("nested halves", (0..n).map(|i| (u64::MAX - (u64::MAX >> (i % 64))).saturating_add(i / 64)).collect()),
        ("clusters", (0..n).map(|i| (i / 10) * (1 << 43) + random.below(1000)).collect()),
        ("log-uniform", (0..n).map(|_| 1u64 << random.below(63)).map(|top| top + random_below(top)).collect()),
        ("bit-reversed", (0..n).map(u64::reverse_bits).collect()),
        ("nearly linear", (0..n).map(|i| i * 1000 + random.below(3)).collect()),
        ("staircase", (0..n).map(|i| (i / 65) * 1_000_000 + i % 65).collect()),
        ("all equal", vec![42; count]),
        ("all 0", vec![0; count]),
        ("all at the top", vec![u64::MAX; count]),
        ("ends only", (0..n).map(|i| if i < n / 2 { 0 } else { u64::MAX }).collect()),
        ("Zipf duplicates", (0..n).map(|_| 1000 / (1 + random.below(1000)) * 77).collect()),
        ("long equal runs", (0..n).map(|i| i / 97 * 5).collect()),
        ("equal runs and singles", (0..n).map(|i| if i % 200 < 100 { i / 200 * 1000 } else { i * 5 }).collect()),
        ("uniform", (0..n).map(|_| random.next()).collect()),
        ("small range", (0..n).map(|_| random.below(n * 4)).collect()),
        ("one", vec![5]),
        ("two", vec![0, u64::MAX]),
    ];
    let (mut a, mut b) = (1u64, 2u64);
    let fibonacci = (0..n).map(|_| {
        (a, b) = (b, a.checked_add(b).unwrap_or(3));
        a
    });
    sets.push(("Fibonacci", fibonacci.collect()));
    for (_, keys) in &mut sets {
        keys.sort_unstable();
    }
    sets
}

fn random_below(bound: u64) -> u64 {
    Random(bound).below(bound)
}

/// The children that may hold key `x`, by the definition of a fence: not left of a child whose right fence lies before
/// it, and not right of one whose left fence lies after it.
pub(crate) fn needed(fences: &[Fence], x: u64) -> (u64, u64) {
    let lowest = fences.partition_point(|fence| fence.last_left() < x) as u64;
    let highest = fences.partition_point(|fence| fence.low < x) as u64;
    (lowest.min(highest), highest)
}

/// Keys at and around the fences, and some between.
pub(crate) fn probes(fences: &[Fence]) -> Vec<u64> {
    let mut random = Random(99);
    let mut probes = vec![0, 1, u64::MAX - 1, u64::MAX];
    for fence in fences {
        let inside = fence.low + random.below((fence.high - fence.low).saturating_add(1));
        let around = [fence.low.saturating_sub(1), fence.low, fence.low.saturating_add(1), inside];
        probes.extend(around);
        probes.extend([fence.high.saturating_sub(1), fence.high, fence.high.saturating_add(1), random.next()]);
    }
    probes
}

/// Asserts that the nodes of a whole sequence lead every probe to all children that it needs, and are well formed.
pub(crate) fn assert_leads_home(name: &str, nodes: &[LineNode], fences: &[Fence]) {
    assert_eq!(nodes[0].first_child, 0, "{name}");
    for pair in nodes.windows(2) {
        assert!(pair[0].start < pair[1].start && pair[0].first_child < pair[1].first_child, "{name}: {pair:?}");
    }
    for x in probes(fences) {
        let i = nodes.partition_point(|node| node.start <= x).saturating_sub(1);
        let last_child = nodes.get(i + 1).map_or(fences.len() as u64, |next| next.first_child);
        let window = nodes[i].window(x, last_child);
        let (lowest, highest) = needed(fences, x);
        assert!(
            *window.start() <= lowest && highest <= *window.end(),
            "{name}: key {x} needs {lowest}..={highest}, has {window:?} from {:?}",
            nodes[i]
        );
    }
}
