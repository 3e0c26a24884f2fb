//! Tests that the optimal piecewise linear approximation is optimal.

use crate::common::{Random, nasty_sets};
use ogive_model::pla;

/// Whether one line fits the points within `error`: if any does, one through the top of one point and the bottom of
/// another does.
fn one_line_serves(points: &[(u64, u64)], error: i128) -> bool {
    if points.len() < 3 && (error > 0 || points.len() < 2) {
        return true;
    }
    points.iter().flat_map(|a| points.iter().map(move |b| (a, b))).filter(|(a, b)| b.0 > a.0).any(|(a, b)| {
        [(error, -error), (-error, error)].into_iter().any(|(up, down)| {
            let run = i128::from(b.0 - a.0);
            let rise = i128::from(b.1) + down - i128::from(a.1) - up;
            points.iter().all(|point| {
                let height = (i128::from(a.1) + up) * run + rise * (i128::from(point.0) - i128::from(a.0));
                (height - i128::from(point.1) * run).abs() <= error * run
            })
        })
    })
}

#[test]
fn a_segment_ends_only_where_no_line_goes_on() {
    let mut random = Random(11);
    for _ in 0..60 {
        let (mut key, error) = (0, 1 + random.below(4));
        let points: Vec<(u64, u64)> = (0..40)
            .map(|i| {
                let magnitude = random.below(30);
                key += 1 + random.below(2 << magnitude);
                (key, i)
            })
            .collect();
        let (mut count, mut from) = (0, 0);
        while from < points.len() {
            let longer =
                (from + 2..=points.len()).take_while(|&end| one_line_serves(&points[from..end], error as i128));
            from = longer.last().unwrap_or(from + 1);
            count += 1;
        }
        assert_eq!(pla::segments(points, error), count);
    }
}

#[test]
fn nasty_sets_are_counted_without_a_panic() {
    for (name, keys) in nasty_sets(3000) {
        let count = |error| pla::segments(keys.iter().zip(0..).map(|(&key, position)| (key, position)), error);
        assert!(count(4) >= count(32) && count(32) >= 1, "{name}");
    }
    assert_eq!(pla::segments([], 5), 0);
    // Unsorted input: any count is acceptable.
    assert!(pla::segments([(0, 0), (u64::MAX, u64::MAX), (3, 7)], u64::MAX) >= 1);
}
