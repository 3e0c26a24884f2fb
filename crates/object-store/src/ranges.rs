//! The requests for a set of ranges: neighbours are joined where T(n) says that one request is cheaper than two.

use ogive::io::Profile;
use std::ops::Range;

/// A longer read costs hardly more than nothing while it takes at most this many times the shortest one.
const CHEAP_TIMES: f64 = 1.1;
/// Limits of a cheap read in bytes.
const CHEAP_BYTES: (u64, u64) = (16 << 10, 1 << 20);
/// Longest joined request in bytes: its gaps are read into memory.
const JOINED_BYTES_MAX: u64 = 8 << 20;

/// The size of the request that opens a file, in bytes: as many as cost hardly more than none.
#[must_use]
pub fn opening_bytes(profile: &Profile) -> u64 {
    let limit_us = CHEAP_TIMES * profile.time_us(0);
    let (mut least, mut most) = CHEAP_BYTES;
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
/// Two are joined if the time of the joined read is hardly longer than that of the longer part, or if there are more
/// requests than are served at once and the joined read takes less than both together.
pub(crate) fn join(ranges: &[Range<u64>], profile: &Profile) -> Vec<JoinedRange> {
    let mut order: Vec<usize> = (0..ranges.len()).filter(|&at| !ranges[at].is_empty()).collect();
    order.sort_by_key(|&at| (ranges[at].start, ranges[at].end));
    let is_crowded = order.len() > profile.parallel() as usize;
    let mut joined: Vec<JoinedRange> = Vec::new();
    for at in order {
        let next = &ranges[at];
        match joined.last_mut() {
            Some(last) if joins(&last.range, next, is_crowded, profile) => {
                last.range.end = last.range.end.max(next.end);
                last.members.push(at);
            }
            _ => joined.push(JoinedRange { range: next.clone(), members: vec![at] }),
        }
    }
    joined
}

fn joins(last: &Range<u64>, next: &Range<u64>, is_crowded: bool, profile: &Profile) -> bool {
    if next.end <= last.end {
        return true;
    }
    let length = next.end - last.start;
    if length > JOINED_BYTES_MAX {
        return false;
    }
    let time = |range: &Range<u64>| profile.time_us(range.end - range.start);
    let (together, one, other) = (profile.time_us(length), time(last), time(next));
    together <= CHEAP_TIMES * one.max(other) || (is_crowded && together < one + other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s3() -> Profile {
        Profile::named("s3").unwrap()
    }

    #[test]
    fn an_opening_read_is_as_long_as_costs_a_tenth_more_than_nothing() {
        assert_eq!(opening_bytes(&s3()), 360_000);
        assert_eq!(opening_bytes(&Profile::affine("slow link", 1_000.0, 0.1, 1).unwrap()), CHEAP_BYTES.0);
        assert_eq!(opening_bytes(&Profile::affine("far", 1e6, 1e4, 1).unwrap()), CHEAP_BYTES.1);
    }

    #[test]
    fn ranges_are_joined_where_one_read_is_cheaper_and_every_range_is_served() {
        let near = [100..200, 0..50, 150..400, 7..7, 300_000..300_100];
        let joined = join(&near, &s3());
        assert_eq!(joined, [JoinedRange { range: 0..300_100, members: vec![1, 0, 2, 4] }]);

        let far: Vec<_> = (0..10_u64).map(|i| i * 2_000_000..i * 2_000_000 + 100).collect();
        assert_eq!(join(&far, &s3()).len(), 10, "fewer than are served at once");
        let crowd: Vec<_> = (0..100_u64).map(|i| i * 2_000_000..i * 2_000_000 + 100).collect();
        let joined = join(&crowd, &s3());
        assert!(joined.len() < 60, "{}", joined.len());
        assert_eq!(joined.iter().map(|one| one.members.len()).sum::<usize>(), 100);
        assert!(joined.iter().all(|one| one.range.end - one.range.start <= JOINED_BYTES_MAX));
    }
}
