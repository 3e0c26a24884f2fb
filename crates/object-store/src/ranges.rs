//! The requests for a set of ranges: neighbours are joined where T(n) says that one request is cheaper than two.

use ogive::io::Profile;
use std::ops::Range;

/// A longer read is cheap while it takes at most this many times as long as the shortest one.
const CHEAP_TIMES: f64 = 1.1;
/// The read that opens a file takes at most this many times as long as the shortest one: it is made before anything is
/// known of the file, and most tables end with a few kilobytes of index.
const OPENING_TIMES: f64 = 1.02;
/// Limits of the read that opens a file, in bytes.
const OPENING_BYTES: (u64, u64) = (16 << 10, 1 << 20);
/// Longest joined request in bytes: its gaps are read into memory.
const JOINED_BYTES_MAX: u64 = 8 << 20;

/// The size of the request that opens a file, in bytes: as many as cost hardly more than none. The rest of a longer end
/// is read by another one.
#[must_use]
pub fn opening_bytes(profile: &Profile) -> u64 {
    let limit_us = OPENING_TIMES * profile.time_us(0);
    let (mut least, mut most) = OPENING_BYTES;
    while least < most {
        let middle = least + (most - least).div_ceil(2);
        if profile.time_us(middle) <= limit_us { least = middle } else { most = middle - 1 }
    }
    least
}

/// One request, and the ranges that it serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinedRange {
    pub(crate) range: Range<u64>,
    /// Positions of the ranges in the list that was given.
    pub(crate) members: Vec<usize>,
}

/// The requests for these ranges, by offset. Empty ranges need none.
///
/// Neighbours are joined if the time of the joined read is hardly longer than that of the longest of them. If there are
/// more requests than are served at once, those with the shortest gaps are joined as well, up to the number of rounds
/// with which all of them take the least time.
pub(crate) fn join(ranges: &[Range<u64>], profile: &Profile) -> Vec<JoinedRange> {
    let mut order: Vec<usize> = (0..ranges.len()).filter(|&at| !ranges[at].is_empty()).collect();
    order.sort_by_key(|&at| (ranges[at].start, ranges[at].end));
    let single = order.iter().map(|&at| JoinedRange { range: ranges[at].clone(), members: vec![at] });
    // That of the longest range: joined ones must not grow on and on.
    let mut longest = order.first().map_or(0, |&at| ranges[at].end - ranges[at].start);
    let mut best = joined_where(single.collect(), |last, next| {
        let next_bytes = next.end - next.start;
        let joined_bytes = next.end.max(last.end) - last.start;
        let most_bytes = longest.max(next_bytes);
        let is_cheap = joined_bytes <= JOINED_BYTES_MAX
            && profile.time_us(joined_bytes) <= CHEAP_TIMES * profile.time_us(most_bytes);
        let joins = next.end <= last.end || is_cheap;
        longest = if joins { most_bytes } else { next_bytes };
        joins
    });
    let at_once = profile.parallel() as usize;
    let mut gaps = sorted_gaps(&best);
    let mut best_us = batch_us(&best, profile);
    for rounds in (1..best.len().div_ceil(at_once)).rev() {
        // With as many gaps closed as there are requests too many.
        let Some(&longest) = best.len().checked_sub(rounds * at_once + 1).and_then(|last| gaps.get(last)) else {
            break;
        };
        let closed = joined_where(best.clone(), |last, next| {
            next.start.saturating_sub(last.end) <= longest && next.end - last.start <= JOINED_BYTES_MAX
        });
        let closed_us = batch_us(&closed, profile);
        if closed_us < best_us {
            (gaps, best, best_us) = (sorted_gaps(&closed), closed, closed_us);
        }
    }
    best
}

/// Joins those neighbours of which this is true.
fn joined_where(
    requests: Vec<JoinedRange>,
    mut joins: impl FnMut(&Range<u64>, &Range<u64>) -> bool,
) -> Vec<JoinedRange> {
    let mut joined: Vec<JoinedRange> = Vec::with_capacity(requests.len());
    for next in requests {
        match joined.last_mut() {
            Some(last) if joins(&last.range, &next.range) => {
                last.range.end = last.range.end.max(next.range.end);
                last.members.extend(next.members);
            }
            _ => joined.push(next),
        }
    }
    joined
}

/// The gaps between neighbours, shortest first; ranges may overlap.
fn sorted_gaps(requests: &[JoinedRange]) -> Vec<u64> {
    let gap = |pair: &[JoinedRange]| pair[1].range.start.saturating_sub(pair[0].range.end);
    let mut gaps: Vec<u64> = requests.windows(2).map(gap).collect();
    gaps.sort_unstable();
    gaps
}

fn batch_us(requests: &[JoinedRange], profile: &Profile) -> f64 {
    let sizes: Vec<u64> = requests.iter().map(|one| one.range.end - one.range.start).collect();
    profile.batch_us(&sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s3() -> Profile {
        Profile::named("s3").unwrap()
    }

    #[test]
    fn an_opening_read_is_as_long_as_costs_a_tenth_more_than_nothing() {
        assert_eq!(opening_bytes(&s3()), 72_000);
        assert_eq!(opening_bytes(&Profile::affine("slow link", 1_000.0, 0.1, 1).unwrap()), OPENING_BYTES.0);
        assert_eq!(opening_bytes(&Profile::affine("far", 1e6, 1e4, 1).unwrap()), OPENING_BYTES.1);
    }

    #[test]
    fn ranges_are_joined_where_one_read_is_cheaper_and_every_range_is_served() {
        let near = [100..200, 0..50, 150..400, 7..7, 300_000..300_100];
        let joined = join(&near, &s3());
        assert_eq!(joined, [JoinedRange { range: 0..300_100, members: vec![1, 0, 2, 4] }]);

        let chain: Vec<_> = (0..20_u64).map(|i| i * 300_000..i * 300_000 + 100).collect();
        assert_eq!(join(&chain, &s3()).len(), 10, "a chain does not grow on and on");

        let overlapping: Vec<_> = (0..100_u64).map(|i| i * 3_000_000..i * 3_000_000 + 5_000_000).collect();
        assert_eq!(join(&overlapping, &s3()).iter().map(|one| one.members.len()).sum::<usize>(), 100);

        let far: Vec<_> = (0..10_u64).map(|i| i * 2_000_000..i * 2_000_000 + 100).collect();
        assert_eq!(join(&far, &s3()).len(), 10, "fewer than are served at once");
        // More than are served at once, with gaps of 2 to 4 MB: two rounds are faster than reading the gaps.
        let crowd: Vec<_> = (0..100_u64).map(|i| i * 4_000_000 + i % 7 * 300_000).map(|at| at..at + 100).collect();
        assert_eq!(join(&crowd, &s3()).len(), 100);
        // The 36 shortest gaps of a hundred are read, so that one round is enough.
        let uneven = |i: u64| (i / 2) * 4_000_000 + i % 2 * 600_000;
        let crowd: Vec<_> = (0..100_u64).map(|i| uneven(i)..uneven(i) + 100).collect();
        let joined = join(&crowd, &s3());
        assert!((50..=64).contains(&joined.len()), "{}", joined.len());
        assert_eq!(joined.iter().map(|one| one.members.len()).sum::<usize>(), 100);
        assert!(joined.iter().all(|one| one.range.end - one.range.start <= 600_100));
    }
}
