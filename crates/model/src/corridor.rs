//! The lines that pass above all lower bounds and below all upper bounds: exact, streaming, in amortised constant time
//! a point.

use std::cmp::Ordering;

/// A corner that lines must pass above or below: distance from the start, height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Corner {
    pub(crate) x: u64,
    pub(crate) y: i64,
}

/// The set of lines that pass on or above every floor and on or below every ceiling.
///
/// ```text
///        v   v     ceilings       the steepest line touches a floor and, right of it, a ceiling;
///    v    .--'                    the flattest one a ceiling and, right of it, a floor
///     .--'  ^
///      ^   floors
/// ```
///
/// Corners are added with non-decreasing `x`. Only corners that can still bound a line are kept: the lower hull of the
/// ceilings and the upper hull of the floors, each from its point of contact on. All comparisons are products of
/// integers in 128 bits; heights stay within 2^61 of zero.
///
/// Source: O'Rourke, "An on-line algorithm for fitting straight lines between data ranges" (CACM 24, 1981), in the form
/// with two hulls that the PGM-index uses (Ferragina and Vinciguerra, VLDB 2020, Section 2.1).
#[derive(Debug, Default)]
pub(crate) struct Corridor {
    floors: Hull,
    ceilings: Hull,
    steepest: Option<(Corner, Corner)>,
    flattest: Option<(Corner, Corner)>,
}

impl Corridor {
    pub(crate) fn clear(&mut self) {
        self.floors.clear();
        self.ceilings.clear();
        self.steepest = None;
        self.flattest = None;
    }

    /// Adds a floor; `false`, without a change, if no line is left above it.
    pub(crate) fn push_floor(&mut self, p: Corner) -> bool {
        if self.steepest.is_some_and(|line| height_against(p, line) == Ordering::Greater) || self.ceilings.blocks(p, 1)
        {
            return false;
        }
        // A floor below the flattest line is below all lines, now and later: their heights here are least on that line.
        if self.flattest.is_none_or(|line| height_against(p, line) == Ordering::Greater) {
            self.flattest = self.ceilings.contact(p, Ordering::Greater).map(|contact| (contact, p)).or(self.flattest);
            self.floors.push(p, 1);
        }
        true
    }

    /// Adds a ceiling; `false`, without a change, if no line is left below it.
    pub(crate) fn push_ceiling(&mut self, p: Corner) -> bool {
        if self.flattest.is_some_and(|line| height_against(p, line) == Ordering::Less) || self.floors.blocks(p, -1) {
            return false;
        }
        if self.steepest.is_none_or(|line| height_against(p, line) == Ordering::Less) {
            self.steepest = self.floors.contact(p, Ordering::Less).map(|contact| (contact, p)).or(self.steepest);
            self.ceilings.push(p, -1);
        }
        true
    }

    /// A slope in the middle of the possible non-negative ones.
    pub(crate) fn middle_slope(&self) -> f64 {
        let flattest = self.flattest.map_or(0.0, slope).max(0.0);
        self.steepest.map_or(flattest, |line| (slope(line) + flattest) / 2.0).max(0.0)
    }

    /// The least and greatest height at distance 0 of the lines with this slope.
    pub(crate) fn offsets(&self, slope: f64) -> (f64, f64) {
        let at_start = |p: &Corner| p.y as f64 - slope * p.x as f64;
        let least = self.floors.kept().iter().map(at_start).fold(f64::NEG_INFINITY, f64::max);
        (least, self.ceilings.kept().iter().map(at_start).fold(f64::INFINITY, f64::min))
    }

    /// The least and greatest slope of the lines with height `offset` at distance 0.
    pub(crate) fn slopes(&self, offset: f64) -> (f64, f64) {
        let slope = |p: &Corner| (p.y as f64 - offset) / p.x as f64;
        let beyond = |p: &&Corner| p.x > 0;
        let least = self.floors.kept().iter().filter(beyond).map(slope).fold(0.0, f64::max);
        (least, self.ceilings.kept().iter().filter(beyond).map(slope).fold(f64::INFINITY, f64::min))
    }
}

/// A convex chain of corners with ascending `x`.
#[derive(Debug, Default)]
pub(crate) struct Hull {
    corners: Vec<Corner>,
    /// Corners before this one can no longer bound a line.
    head: usize,
}

impl Hull {
    pub(crate) fn clear(&mut self) {
        self.corners.clear();
        self.head = 0;
    }

    pub(crate) fn kept(&self) -> &[Corner] {
        self.corners.get(self.head..).unwrap_or(&[])
    }

    /// Adds a corner: `side` 1 keeps the upper hull, -1 the lower one.
    pub(crate) fn push(&mut self, p: Corner, side: i64) {
        if let Some(last) = self.corners.last()
            && last.x == p.x
        {
            if last.y * side >= p.y * side {
                return;
            }
            self.corners.pop();
        }
        while let [.., before, last] = self.kept()
            && turn(*before, *last, p) * i128::from(side) >= 0
        {
            self.corners.pop();
        }
        self.corners.push(p);
    }

    /// Whether the last corner has the same `x` and lies on the wrong side of `p`; `side` is 1 if `p` must lie below.
    fn blocks(&self, p: Corner, side: i64) -> bool {
        self.kept().last().is_some_and(|last| last.x == p.x && p.y * side > last.y * side)
    }

    /// The corner left of `p` from which the line to `p` is steepest (`Greater`) or flattest (`Less`); drops those
    /// before it.
    fn contact(&mut self, p: Corner, wanted: Ordering) -> Option<Corner> {
        let mut best = *self.corners.get(self.head).filter(|corner| corner.x < p.x)?;
        while let Some(next) = self.corners.get(self.head + 1).filter(|corner| corner.x < p.x) {
            let against = product(p.y - next.y, apart(best, p)).cmp(&product(p.y - best.y, apart(*next, p)));
            if against == wanted.reverse() {
                break;
            }
            best = *next;
            self.head += 1;
        }
        Some(best)
    }
}

/// The height of `p` relative to the line through two corners, the first of them left of the second.
fn height_against(p: Corner, (a, b): (Corner, Corner)) -> Ordering {
    // `p` never lies left of `b`, and `b` is right of `a`.
    product(p.y - a.y, apart(a, b)).cmp(&product(b.y - a.y, apart(a, p)))
}

/// Positive if the path a, b, c turns up at b.
pub(crate) fn turn(a: Corner, b: Corner, c: Corner) -> i128 {
    product(c.y - b.y, apart(a, b)) - product(b.y - a.y, apart(b, c))
}

pub(crate) fn product(rise: i64, run: u64) -> i128 {
    i128::from(rise) * i128::from(run)
}

/// Distance from `a` to `b`, which lies right of it; total, so that unsorted input gives bad lines rather than a panic.
fn apart(a: Corner, b: Corner) -> u64 {
    b.x.saturating_sub(a.x)
}

fn slope((a, b): (Corner, Corner)) -> f64 {
    (b.y - a.y) as f64 / apart(a, b) as f64
}
