//! The greedy spline corridor of RadixSpline.

use ogive_model::FenceRun;
use std::cmp::Ordering;

/// The first keys of the children of a run, with the children's numbers in it, both strictly ascending. Of a run of
/// equal keys only the child where it begins and the child after it are included.
pub(super) fn points<'a>(run: &FenceRun<'a>) -> impl Iterator<Item = (u64, u64)> + use<'a> {
    let run = *run;
    let mut last = run.line_start();
    let borders = run.fences.len() - usize::from(!run.at_end && !run.fences.is_empty());
    let rest = (0..borders).filter_map(move |k| {
        let start = run.node_start_after(k).filter(|&start| start > last)?;
        last = start;
        Some((start, k as u64 + 1))
    });
    std::iter::once((run.line_start(), 0)).chain(rest)
}

/// A spline through some of the points, including the first and the last, that passes none by more than `error`.
///
/// ```text
///               .-- upper        From the last knot, a corridor of two lines through the points so far, each raised
///         .--''                  and lowered by the error. A point outside of it makes the previous one a knot.
///   knot <------- lower
/// ```
///
/// All comparisons are products of integers in 128 bits. Constant time and memory per point.
///
/// Source: Neumann and Michel, "Smooth Interpolating Histograms with Error Guarantees" (BNCOD 2008), as used by
/// RadixSpline.
pub(super) fn greedy(points: impl Iterator<Item = (u64, u64)>, error: u64) -> Vec<(u64, u64)> {
    let error = i128::from(error.min(1 << 60));
    let mut knots: Vec<(u64, u64)> = Vec::new();
    let mut cone: Option<RayCone> = None;
    let mut last: Option<(u64, u64)> = None;
    for point in points {
        let (Some(&knot), Some(before)) = (knots.last(), last.replace(point)) else {
            knots.push(point);
            continue;
        };
        cone = Some(match cone {
            Some(cone) if cone.holds(Ray::to(knot, point, 0)) => cone.narrowed(knot, point, error),
            // The first point after a knot: any line through it and the knot is possible.
            None => RayCone::around(knot, point, error),
            Some(_) => {
                knots.push(before);
                RayCone::around(before, point, error)
            }
        });
    }
    knots.extend(last.filter(|point| knots.last() != Some(point)));
    knots
}

/// A direction from a knot to the right.
#[derive(Clone, Copy, Debug)]
struct Ray {
    run: i128,
    rise: i128,
}

impl Ray {
    fn to(knot: (u64, u64), point: (u64, u64), raised: i128) -> Self {
        Self { run: i128::from(point.0 - knot.0), rise: i128::from(point.1) - i128::from(knot.1) + raised }
    }

    /// Compares steepness. A run is below 2^64 and a rise below 2^62 for any input that memory can hold.
    fn steeper(self, other: Self) -> Ordering {
        (self.rise.saturating_mul(other.run)).cmp(&other.rise.saturating_mul(self.run))
    }
}

#[derive(Clone, Copy, Debug)]
struct RayCone {
    lower: Ray,
    upper: Ray,
}

impl RayCone {
    fn around(knot: (u64, u64), point: (u64, u64), error: i128) -> Self {
        Self { lower: Ray::to(knot, point, -error), upper: Ray::to(knot, point, error) }
    }

    fn holds(&self, ray: Ray) -> bool {
        ray.steeper(self.lower).is_ge() && ray.steeper(self.upper).is_le()
    }

    fn narrowed(self, knot: (u64, u64), point: (u64, u64), error: i128) -> Self {
        let RayCone { lower, upper } = Self::around(knot, point, error);
        Self {
            lower: if lower.steeper(self.lower).is_gt() { lower } else { self.lower },
            upper: if upper.steeper(self.upper).is_lt() { upper } else { self.upper },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spline_passes_no_point_by_more_than_the_error() {
        let points: Vec<(u64, u64)> = (0..5000_u64).map(|i| (i * i * i % 7_919 + i * 9_000, i)).collect();
        for error in [0, 1, 5, 100] {
            let knots = greedy(points.iter().copied(), error);
            assert_eq!((knots.first(), knots.last()), (points.first(), points.last()));
            for &(x, y) in &points {
                let to = knots.partition_point(|knot| knot.0 <= x).min(knots.len() - 1);
                let (a, b) = (knots[to - 1], knots[to]);
                let line = a.1 as f64 + (x - a.0) as f64 * ((b.1 - a.1) as f64 / (b.0 - a.0) as f64);
                assert!((line - y as f64).abs() <= error as f64 + 1e-6, "error {error}: {x} at {line}, not {y}");
            }
            assert!(error == 0 || knots.len() * 4 < points.len());
        }
    }

    #[test]
    fn one_point_is_one_knot_and_none_is_none() {
        assert_eq!(greedy([(7, 0)].into_iter(), 3), [(7, 0)]);
        assert_eq!(greedy(std::iter::empty(), 3), []);
        assert_eq!(greedy([(0, 0), (u64::MAX, 1)].into_iter(), 0), [(0, 0), (u64::MAX, 1)]);
    }
}
