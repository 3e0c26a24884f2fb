//! FMCD: a line that spreads keys over slots with few conflicts, as in LIPP and AULID.

/// A line from keys to slots.
///
/// ```text
///   slot
///   L-1 |            .--x        slot(key) = floor(slope * (key - first) + intercept), within 0 ..= L - 1
///       |       .x-x'
///     1 |   .x-'                 first: the first of the keys that the line was fitted to
///     0 | x'
///       +---------------- key
/// ```
///
/// The subtraction is exact, in integers; conversion, product and sum are single IEEE operations, each of them
/// monotone. Every machine therefore computes the same slot, and a greater key never has a lower slot: a key that is
/// absent from a node lies between the slots of its neighbours. The line is approximate only in how evenly it spreads
/// keys; the position of a key is determined by the line itself, with the arithmetic of [`Self::slot`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlotLine {
    /// Slots per unit of key; not negative.
    pub slope: f64,
    /// Unclipped slot of the first key; may be far below 0.
    pub intercept: f64,
}

impl SlotLine {
    /// The slot of a key at `distance` above the first, which is 0 for smaller keys. Total: corrupt parameters lead to
    /// some slot below `slots` (to slot 0 if there are none).
    #[inline]
    pub fn slot(&self, distance: f64, slots: u64) -> u64 {
        // The conversion rounds toward zero, maps negative numbers and NaN to 0, and saturates.
        ((self.slope * distance + self.intercept) as u64).min(slots.saturating_sub(1))
    }

    /// Whether slots never decrease as keys increase, and the parameters are numbers: holds for every result of
    /// [`fit`].
    pub fn is_monotone(&self) -> bool {
        self.slope.is_finite() && self.slope >= 0.0 && self.intercept.is_finite()
    }

    fn through(one: (f64, f64), other: (f64, f64)) -> Option<Self> {
        let slope = (other.1 - one.1) / (other.0 - one.0);
        let line = Self { slope, intercept: one.1 - slope * one.0 };
        line.is_monotone().then_some(line)
    }
}

/// Added to the distance that a slot spans, so that it is never 0: different integer keys are a million times as far
/// apart.
const SPAN_MIN_RATIO: f64 = 1e-6;

/// The Fastest Minimum Conflict Degree algorithm: a line that maps `keys` keys to `slots` slots, with a nearly minimal
/// number of keys in the fullest slot, the *conflict degree*. Takes O(`keys`) time.
///
/// `gap(i, j)`, for `i <= j`, is key `j` minus key `i`: subtracted in integers, then converted. Keys ascend and may
/// repeat.
///
/// A line with slots that span the distance `U` has a conflict degree of at most `D` if any `D + 1` neighbours span at
/// least `U`. The more slots the middle of the keys gets, the smaller is `U`, and `D` keys at each end may share the
/// outermost slots. So `D` is raised from 1 until
///
/// ```text
///   U(D) = (key[n - 1 - D] - key[D]) / (L - 2)  <=  key[i + D] - key[i]   for all i
/// ```
///
/// `U` only decreases as `D` increases, so a condition that held for the keys before `i` still holds, and one pass
/// suffices. If `D` exceeds a third of the keys, a line through the points at one and two thirds is used instead.
///
/// Beyond the paper: if the first and the last key differ and there are at least two slots, these two keys get
/// different slots, so that building a child for each slot terminates.
///
/// Source: LIPP (Wu et al., VLDB 2021), Section 4.1, Algorithm 3.
///
/// ```
/// use ogive_research::models::fmcd;
/// let keys: Vec<u64> = (0..1000).map(|i| i * i).collect();
/// let line = fmcd::fit(keys.len(), 2000, |i, j| (keys[j] - keys[i]) as f64);
/// assert_eq!(line.slot(0.0, 2000), 0);
/// assert!(fmcd::conflict_degree(keys.len(), 2000, line, |i| (keys[i] - keys[0]) as f64) < 40);
/// ```
pub fn fit(keys: usize, slots: u64, gap: impl Fn(usize, usize) -> f64) -> SlotLine {
    if keys < 2 || slots < 2 {
        return SlotLine::default();
    }
    let distance = |i: usize| gap(0, i);
    let separates = |line: &SlotLine| line.slot(0.0, slots) < line.slot(distance(keys - 1), slots);
    least_conflict(keys, slots, &gap)
        .or_else(|| through_thirds(keys, slots, &gap))
        .filter(|line| line.is_monotone() && separates(line))
        .or_else(|| SlotLine::through((0.0, 0.5), (distance(keys - 1), slots as f64 - 0.5)))
        .unwrap_or_default()
}

/// The line of the least `D`; `None` if it exceeds a third of the keys.
fn least_conflict(keys: usize, slots: u64, gap: &impl Fn(usize, usize) -> f64) -> Option<SlotLine> {
    // With fewer keys the middle is at most a single key.
    const CONFLICT_KEYS_MIN: usize = 4;
    let middle_slots = slots.saturating_sub(2).max(1) as f64;
    let span = |degree: usize| gap(degree, keys - 1 - degree) / middle_slots + SPAN_MIN_RATIO;
    let mut degree = 1;
    let mut key = 0;
    if keys < CONFLICT_KEYS_MIN {
        return None;
    }
    while key + degree < keys {
        if gap(key, key + degree) >= span(degree) {
            key += 1;
        } else {
            degree += 1;
            if 3 * degree > keys {
                return None;
            }
        }
    }
    let slope = 1.0 / span(degree);
    let ends = gap(0, degree) + gap(0, keys - 1 - degree);
    Some(SlotLine { slope, intercept: (slots as f64 - slope * ends) / 2.0 })
}

/// The line through the middles of two gaps, right of the keys at one and two thirds.
fn through_thirds(keys: usize, slots: u64, gap: &impl Fn(usize, usize) -> f64) -> Option<SlotLine> {
    let slots_per_key = slots as f64 / keys as f64;
    let point = |i: usize| (gap(0, i) + gap(i, i + 1) / 2.0, (i as f64 + 0.5) * slots_per_key);
    SlotLine::through(point((keys - 1) / 3), point(((keys - 1) * 2 / 3).min(keys - 2)))
}

/// The number of keys in the fullest slot. `distance(i)` is key `i` minus the first key, as for [`fit`].
pub fn conflict_degree(keys: usize, slots: u64, line: SlotLine, distance: impl Fn(usize) -> f64) -> usize {
    let (mut fullest, mut start, mut slot) = (0, 0, 0);
    for i in 0..keys {
        let here = line.slot(distance(i), slots);
        if here != slot {
            (start, slot) = (i, here);
        }
        fullest = fullest.max(i + 1 - start);
    }
    fullest
}
