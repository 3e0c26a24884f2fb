//! Tests of bands. Goal: a greedy band ends only where it must, and an equal band is as narrow as it can be. Method:
//! every line through two constraints is tried, in rationals.

use crate::common::{Random, fences_of, nasty_sets};
use ogive_model::{Fence, FenceRun, band};

#[test]
fn a_greedy_band_keeps_its_window_and_an_equal_band_its_group() {
    for (name, keys) in nasty_sets(3000) {
        let fences = fences_of(&keys, 3);
        for window in [2, 5, 40] {
            let nodes = band::greedy(&FenceRun::whole(&fences), window);
            assert!(nodes.iter().all(|node| u64::from(node.window) <= window), "{name}, window {window}");
        }
    }
    let keys: Vec<u64> = (0..10_000).map(|i| i * i).collect();
    let nodes = band::equal(&FenceRun::whole(&fences_of(&keys, 10)), 64);
    assert!(nodes.iter().enumerate().all(|(i, node)| node.first_child == 64 * i as u64));
}

#[test]
fn dense_keys_need_one_child_and_one_line() {
    for start in [0, (1 << 53) - 5000, (1 << 63) - 5000, u64::MAX - 4095 * 64] {
        let keys: Vec<u64> = (0..4096 * 64 - 64).map(|i| start + i).collect();
        let nodes = band::greedy(&FenceRun::whole(&fences_of(&keys, 64)), 1);
        assert_eq!(nodes.len(), 1, "{start}: {nodes:?}");
        assert!(nodes.iter().all(|node| node.window == 1));
    }
}

/// Whether some line keeps fences `from..to` within a window, by trying, for every pair of constraints, the line
/// through both (exact, in rationals). The node starts at `start`.
fn feasible(fences: &[Fence], from: usize, to: usize, start: u64, window: i128) -> bool {
    let next_start = fences[to - 1].start();
    let (mut floors, mut ceilings) =
        (vec![(0i128, 1 - 16 * window.unsigned_abs().next_power_of_two() as i128)], vec![(0i128, (1 << 20) - 1)]);
    for (k, fence) in fences[from..to].iter().enumerate() {
        // Strictly below the next child: one 2^20th less. Heights are in these fractions.
        if from + k + 1 < to {
            ceilings.push((i128::from(fence.last_left() - start), ((k as i128 + 1) << 20) - 1));
        }
        if next_start.is_none_or(|next| fence.first_right() < next) {
            floors.push((i128::from(fence.first_right() - start), (k as i128 + 2 - window) << 20));
        }
    }
    floors[0].1 <<= 20;
    // The flattest line above the floors touches a floor and something else, or is level.
    let mut slopes: Vec<(i128, i128)> = vec![(0, 1)];
    for a in floors.iter().chain(&ceilings) {
        for b in floors.iter().chain(&ceilings) {
            if b.0 > a.0 && b.1 >= a.1 {
                slopes.push((b.1 - a.1, b.0 - a.0));
            }
        }
    }
    slopes.iter().any(|&(rise, run)| {
        let least = floors.iter().map(|(x, y)| y * run - rise * x).max();
        let greatest = ceilings.iter().map(|(x, y)| y * run - rise * x).min();
        least <= greatest
    })
}

#[test]
fn a_greedy_band_ends_only_where_no_line_goes_on() {
    let mut random = Random(3);
    let (mut nodes_built, mut ended_early) = (0, 0);
    for round in 0..400u64 {
        let spread = 2 + round % 50;
        let mut key = 0;
        let keys: Vec<u64> = (0..60)
            .map(|_| {
                key += 1 + random.below(spread);
                key
            })
            .collect();
        let fences = fences_of(&keys, 2);
        let window = 1 + random.below(6);
        let nodes = band::greedy(&FenceRun::whole(&fences), window);
        for (i, node) in nodes.iter().enumerate() {
            let from = node.first_child as usize;
            let end = nodes.get(i + 1).map_or(fences.len() + 1, |next| next.first_child as usize);
            nodes_built += 1;
            if end < fences.len() && feasible(&fences, from, end + 1, node.start, i128::from(window)) {
                ended_early += 1;
            }
            if end <= fences.len() {
                assert!(feasible(&fences, from, end, node.start, i128::from(window)));
            }
        }
    }
    // Rounding slope and offset to 32 and 12 bits costs some fences, rarely.
    assert!(ended_early * 50 < nodes_built, "{ended_early} of {nodes_built}");
}

#[test]
fn an_equal_band_has_the_least_window_of_its_group() {
    let mut random = Random(5);
    let (mut groups, mut wider) = (0, 0);
    for round in 0..200u64 {
        let mut key = 0;
        let magnitude = 1 + round % 20;
        let keys: Vec<u64> = (0..64)
            .map(|_| {
                key += 1 + random.below(1 << magnitude);
                key
            })
            .collect();
        let fences = fences_of(&keys, 2);
        let nodes = band::equal(&FenceRun::whole(&fences), 8);
        for pair in nodes.windows(2) {
            let (from, end) = (pair[0].first_child as usize, pair[1].first_child as usize);
            let least = (1..16).find(|&window| feasible(&fences, from, end, pair[0].start, window));
            let window = i128::from(pair[0].window);
            groups += 1;
            wider += u32::from(least.is_none_or(|least| window > least));
            assert!(least.is_some_and(|least| (least..=least + 1).contains(&window)), "{least:?} {pair:?}");
        }
    }
    // Rounding costs a child where the least window barely fits.
    assert!(wider * 50 < groups, "{wider} of {groups}");
}
