//! The key set `hardness:L,G` has the stated number of segments, counted by an optimal piecewise linear approximation.

use ogive_research::{Result, keys};

/// Segments that the greedy optimum needs so that each key's rank lies within `error` of its line.
///
/// A straightforward reference: the set of lines through all vertical bars of a segment is kept as a polygon in the
/// plane of slope and intercept, cut by two half-planes for each key.
fn segments(keys: &[u64], error: f64) -> usize {
    let (mut count, mut start) = (0, 0);
    while start < keys.len() {
        count += 1;
        let mut lines: Vec<(f64, f64)> = Vec::new();
        let mut end = start;
        while end < keys.len() {
            let x = (keys[end] - keys[start]) as f64;
            let y = (end - start) as f64;
            if end == start {
                // Slopes of up to one rank for each integer; none falls.
                lines = vec![(0.0, -error), (1.0, -error), (1.0, error), (0.0, error)];
            } else {
                lines = cut(&lines, |(slope, intercept)| y + error - (intercept + slope * x));
                lines = cut(&lines, |(slope, intercept)| intercept + slope * x - (y - error));
            }
            if lines.is_empty() {
                break;
            }
            end += 1;
        }
        start = end;
    }
    count
}

/// The part of a convex polygon on which `inside`, an affine function, is not negative.
fn cut(polygon: &[(f64, f64)], inside: impl Fn((f64, f64)) -> f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::with_capacity(polygon.len() + 1);
    for (index, point) in polygon.iter().enumerate() {
        let next = polygon[(index + 1) % polygon.len()];
        let (here, there) = (inside(*point), inside(next));
        if here >= 0.0 {
            kept.push(*point);
        }
        if (here < 0.0) != (there < 0.0) {
            let share = here / (here - there);
            kept.push((point.0 + share * (next.0 - point.0), point.1 + share * (next.1 - point.1)));
        }
    }
    kept
}

#[test]
fn the_reference_counts_segments_of_known_sets() -> Result<()> {
    assert_eq!(segments(&keys::open("linear:1000")?.load()?, 8.0), 1);
    // Runs of 100 with gaps of at least ten times their width: no line within 8 crosses a gap.
    assert_eq!(segments(&keys::open("seg1:10000")?.load()?, 8.0), 100);
    Ok(())
}

#[test]
fn segments_per_million_keys_are_as_asked() -> Result<()> {
    for (local, global) in [(815.0, 18.0), (5_858.0, 28.0), (3_260.0, 72.0), (10_000.0, 100.0), (100.0, 1.0)] {
        let keys = keys::open(&format!("hardness:{local},{global}:300k"))?.load()?;
        let expected = |per_million: f64| (per_million * 0.3).round().max(1.0) as usize;
        assert_eq!(segments(&keys, 4_096.0), expected(global), "global, of {local},{global}");
        assert_eq!(segments(&keys, 32.0), expected(local), "local, of {local},{global}");
    }
    Ok(())
}
