//! Tests that the window lengths reported to the tuner are those that lookups read.

use crate::common::{fences_of, nasty_sets};
use ogive_model::line::{self, LineNode};
use ogive_model::{FenceRun, band};
use std::collections::BTreeMap;

#[test]
fn measured_windows_are_those_of_the_look_ups() {
    for (name, keys) in nasty_sets(2000) {
        let fences = fences_of(&keys, 4);
        let run = FenceRun::whole(&fences);
        let nodes = band::greedy(&run, 5);
        let mut children = 0;
        line::measured_windows(&nodes, &run, |child, at_first, at_last| {
            assert_eq!(child, children, "{name}: each child once, in order");
            children += 1;
            // The window of a child's last key, found as a lookup does.
            let x = fences.get(child as usize).map(|fence| fence.low);
            if let Some(x) = x.filter(|&x| nodes.iter().any(|node| node.start <= x)) {
                let i = nodes.partition_point(|node| node.start <= x) - 1;
                let last_child = nodes.get(i + 1).map_or(fences.len() as u64, |next| next.first_child);
                let window = nodes[i].window(x, last_child);
                if nodes[i].first_child <= child && child < last_child {
                    assert_eq!(window.end() - window.start() + 1, at_last, "{name}: child {child}");
                }
            }
            assert!((1..=6).contains(&at_first));
        });
        assert_eq!(children, fences.len() as u64 + 1);
    }
}

fn histogram(nodes: &[LineNode], last_child: u64) -> BTreeMap<u64, f64> {
    let mut histogram = BTreeMap::new();
    line::expected_windows(nodes, last_child, |size, children| *histogram.entry(size).or_default() += children);
    histogram
}

/// Every child of every node separately, without a closed form.
fn histogram_by_child(nodes: &[LineNode], last_child: u64) -> BTreeMap<u64, f64> {
    let mut histogram = BTreeMap::new();
    for (i, node) in nodes.iter().enumerate() {
        let (last, end) = match nodes.get(i + 1) {
            Some(next) => (next.first_child as i64, next.first_child as i64),
            None => (last_child as i64, last_child as i64 + 1),
        };
        let (first, window) = (node.first_child as i64, i64::from(node.window));
        for child in first..end {
            for down in [window / 2, (window - 1) / 2] {
                let low = (child - down).clamp(first, (last - 1).max(first));
                let high = (child - down + window - 1).clamp(first, last);
                *histogram.entry((high - low + 1) as u64).or_default() += 0.5;
            }
        }
    }
    histogram
}

#[test]
fn expected_windows_count_every_child_once_and_cut_at_the_ends() {
    for lengths in [vec![1], vec![2], vec![1, 1, 1], vec![10, 3, 40], vec![100, 7]] {
        for window in [1, 2, 3, 4, 9, 30, 64] {
            let mut first_child = 0;
            let nodes: Vec<LineNode> = lengths
                .iter()
                .map(|length| {
                    let node = LineNode { start: first_child, first_child, slope: 1.0, window, drop: 0 };
                    first_child += length;
                    node
                })
                .collect();
            let expected = histogram_by_child(&nodes, first_child - 1);
            assert_eq!(histogram(&nodes, first_child - 1), expected, "{lengths:?}, window {window}");
            assert_eq!(expected.values().sum::<f64>(), first_child as f64);
        }
    }
}

#[test]
fn on_even_keys_expected_and_measured_windows_agree() {
    let keys: Vec<u64> = (0..200_000).map(|i| i * 1000 + i * i % 900).collect();
    let fences = fences_of(&keys, 20);
    let run = FenceRun::whole(&fences);
    for window in [2, 3, 5] {
        let nodes = band::greedy(&run, window);
        let (mut measured, mut children) = (0.0, 0.0);
        line::measured_windows(&nodes, &run, |_, at_first, at_last| {
            measured += (at_first + at_last) as f64 / 2.0;
            children += 1.0;
        });
        let expected: f64 =
            histogram(&nodes, fences.len() as u64).iter().map(|(&size, count)| size as f64 * count).sum();
        assert!((measured - expected).abs() < 0.01 * children, "window {window}: {measured} {expected}");
    }
}
