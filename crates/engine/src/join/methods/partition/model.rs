//! The learned key distribution: maps a key to its bucket.

/// Bits of the table that leads to a spline's segment: its entries fit the first-level cache.
const TABLE_BITS: u32 = 11;

/// A monotone spline through the cumulative distribution of a sample: straight lines between *knots*, each sampled key
/// at most an error away from its line.
///
/// ```text
/// buckets |            .--o       o  knots: keys of the sample, each with its exact rank
///         |        .--'           a key's rank, scaled to the number of buckets, is its bucket
///         |  o-o--'
///         +---------------- key
/// ```
///
/// It is a RadixSpline (Kipf et al., aiDM 2020) over the sample: knots are chosen by the greedy spline corridor, and a
/// table over the highest bits of the key leads to the segment. Instead of a position in a sorted file it gives a
/// bucket, as in Chesetti and Pandey, Section 5.4.
///
/// Guarantee: of two keys, the greater one never gets the lesser bucket, so that buckets are ranges of keys, whatever
/// the sample: within a segment, a difference of integers, its conversion to a float, the product with a slope that is
/// not negative and the sum with the knot's rank all round monotonically, and a line is cut off at the rank of its end.
/// The sample affects only how evenly buckets are filled.
#[derive(Clone, Debug)]
pub(super) struct KeyDistribution {
    knots: Vec<DistributionKnot>,
    /// By `(key - first) >> shift`: the last knot that is not behind all keys of this value.
    table: Vec<u32>,
    first: u64,
    shift: u32,
    buckets: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct DistributionKnot {
    key: u64,
    /// In buckets.
    rank: f64,
    slope: f64,
}

impl KeyDistribution {
    /// Learns from a sorted sample how to fill `buckets` evenly; each sampled key comes out at most `error` samples off
    /// its rank.
    pub(super) fn learn(sample: &[u64], buckets: usize, error: f64) -> Self {
        let buckets = buckets.max(1);
        let scale = buckets as f64 / sample.len().max(1) as f64;
        let mut knots = corridor(sample, error);
        for knot in &mut knots {
            knot.rank *= scale;
        }
        for at in 1..knots.len() {
            let (next, knot) = (knots[at], &mut knots[at - 1]);
            knot.slope = (next.rank - knot.rank) / (next.key - knot.key) as f64;
        }
        let first = knots.first().map_or(0, |knot| knot.key);
        let last = knots.last().map_or(0, |knot| knot.key);
        let shift = (u64::BITS - (last - first).leading_zeros()).saturating_sub(TABLE_BITS);
        let mut table = Vec::with_capacity(1 << TABLE_BITS);
        let mut at = 0;
        for entry in 0..=(last - first) >> shift {
            let low = first + (entry << shift);
            while knots.get(at + 1).is_some_and(|next| next.key <= low) {
                at += 1;
            }
            table.push(at as u32);
        }
        Self { knots, table, first, shift, buckets }
    }

    /// Number of buckets.
    pub(super) fn buckets(&self) -> usize {
        self.buckets
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.knots.capacity() * size_of::<DistributionKnot>() + self.table.capacity() * size_of::<u32>()
    }

    /// The bucket of a key, below [`Self::buckets`].
    #[inline]
    pub(super) fn bucket(&self, key: u64) -> usize {
        let Some(distance) = key.checked_sub(self.first) else { return 0 };
        let entry = (distance >> self.shift) as usize;
        let Some(&from) = self.table.get(entry) else { return self.last_bucket() };
        let mut at = from as usize;
        let end = self.table.get(entry + 1).map_or(self.knots.len(), |&next| next as usize + 1);
        if end - at > 1 {
            at += self.knots[at + 1..end].partition_point(|knot| knot.key <= key);
        }
        let knot = &self.knots[at];
        let rank = knot.rank + knot.slope * (key - knot.key) as f64;
        let most = self.knots.get(at + 1).map_or(knot.rank, |next| next.rank);
        (rank.min(most) as usize).min(self.buckets - 1)
    }

    /// The bucket of all keys behind the last knot.
    fn last_bucket(&self) -> usize {
        self.knots.last().map_or(0, |knot| (knot.rank as usize).min(self.buckets - 1))
    }
}

/// Knots of a spline that misses no key's rank, which is the number of lesser samples, by more than `error`; ranks in
/// samples, slopes not known yet.
///
/// Source: Neumann and Michel, "Smooth interpolating histograms with error guarantees" (BNCOD 2008).
fn corridor(sample: &[u64], error: f64) -> Vec<DistributionKnot> {
    let knot = |(key, rank): (u64, f64)| DistributionKnot { key, rank, slope: 0.0 };
    let mut points = sample.iter().enumerate().map(|(rank, &key)| (key, rank as f64));
    let Some(first) = points.next() else { return vec![knot((0, 0.0))] };
    let mut knots = vec![knot(first)];
    let (mut base, mut last) = (first, first);
    let (mut flattest, mut steepest) = (0.0_f64, f64::INFINITY);
    for point in points {
        if point.0 == last.0 {
            continue;
        }
        let run = |from: (u64, f64)| (point.0 - from.0) as f64;
        let slope = (point.1 - base.1) / run(base);
        if slope < flattest || slope > steepest {
            knots.push(knot(last));
            base = last;
            (flattest, steepest) = (0.0, f64::INFINITY);
        }
        flattest = flattest.max((point.1 - error - base.1) / run(base));
        steepest = steepest.min((point.1 + error - base.1) / run(base));
        last = point;
    }
    if last.0 != base.0 {
        knots.push(knot(last));
    }
    knots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: u64) -> u64 {
        crate::join::input::records::mix(i)
    }

    fn samples() -> Vec<(&'static str, Vec<u64>)> {
        let of = |count: u64, key: fn(u64) -> u64| (0..count).map(key).collect::<Vec<_>>();
        vec![
            ("none", vec![]),
            ("one", vec![5]),
            ("equal", vec![7; 1000]),
            ("ends", vec![0, u64::MAX]),
            ("uniform", of(10_000, noise)),
            ("log-uniform", of(10_000, |i| noise(i) >> (noise(i ^ 77) % 64))),
            ("steps", of(10_000, |i| i / 100 * 1_000_003 + i % 3)),
            ("near 2^53", of(10_000, |i| (1 << 53) + noise(i) % 5000)),
            ("top", of(10_000, |i| u64::MAX - noise(i) % 20_000)),
            ("one heavy", of(10_000, |i| if i % 3 == 0 { 1 << 40 } else { noise(i) })),
        ]
    }

    #[test]
    fn greater_keys_never_get_lesser_buckets() {
        for (what, mut sample) in samples() {
            sample.sort_unstable();
            for buckets in [1, 2, 100, 1000] {
                let distribution = KeyDistribution::learn(&sample, buckets, 8.0);
                let mut keys: Vec<u64> =
                    sample.iter().flat_map(|&key| [key.saturating_sub(1), key, key.saturating_add(1)]).collect();
                keys.extend((0..2000).map(noise).chain((0..64).map(|bit| 1 << bit)).chain([0, u64::MAX]));
                keys.sort_unstable();
                let found: Vec<usize> = keys.iter().map(|&key| distribution.bucket(key)).collect();
                assert!(found.is_sorted(), "{what}, {buckets} buckets");
                assert!(found.iter().all(|&bucket| bucket < buckets), "{what}, {buckets} buckets");
            }
        }
    }

    #[test]
    fn buckets_are_filled_evenly_where_keys_differ() {
        for (what, sample) in
            samples().into_iter().filter(|(what, _)| ["uniform", "log-uniform", "near 2^53", "top"].contains(what))
        {
            let mut sorted = sample.clone();
            sorted.sort_unstable();
            let distribution = KeyDistribution::learn(&sorted, 50, 8.0);
            let mut counts = vec![0; 50];
            sample.iter().for_each(|&key| counts[distribution.bucket(key)] += 1);
            // Keys near zero repeat in the log-uniform sample.
            let most = if what == "log-uniform" { 700 } else { 250 };
            assert!(counts.iter().all(|&count| count < most), "{what}: {counts:?}");
        }
    }

    #[test]
    fn easy_keys_take_few_knots() {
        let even: Vec<u64> = (0..100_000).map(|i| i * 1000).collect();
        assert_eq!(KeyDistribution::learn(&even, 500, 1.0).knots.len(), 2);
    }
}
