//! Runs: row groups that follow each other in key order, and the coded separators of the parts of their rows.

use crate::bytes_io::{Decoder, Encoder};
use ogive::KeyType;
use ogive_model::{OwnedRouter, Router, RouterError};

/// Widest key that is an integer to the separators.
const INTEGER_BYTES: usize = 8;

/// Row groups whose rows ascend from one to the next, cut into intervals in which a row needs one page of each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The numbers of the groups, in key order.
    pub(crate) groups: Vec<usize>,
    /// The separators of the intervals, in the stored form of a router.
    pub(crate) router: Vec<u8>,
    /// The intervals that begin with the last key of the interval before, ascending.
    pub(crate) continued: Vec<u64>,
}

/// The keys at both sides of each cut of a row group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupKeys {
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
    /// The last key before each further cut, and the first key after it.
    pub(crate) borders: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Assigns sorted groups to as few runs as their ranges allow. Returns the groups of each run in key order.
pub(crate) fn assign(groups: &[GroupKeys]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|&left, &right| {
        let key = |at: usize| (&groups[at].first, &groups[at].last, at);
        key(left).cmp(&key(right))
    });
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let last_key = |run: &[usize]| run.last().map(|&last| &groups[last].last);
    for group in order {
        let fits = |run: &&mut Vec<usize>| run.last().is_some_and(|&last| groups[last].last <= groups[group].first);
        // The run that ends closest before the group.
        let best = runs.iter_mut().filter(fits).max_by(|left, right| last_key(left).cmp(&last_key(right)));
        match best {
            Some(run) => run.push(group),
            None => runs.push(vec![group]),
        }
    }
    runs
}

impl Run {
    /// The run of groups in key order.
    ///
    /// # Errors
    /// [`RouterError`] for too many intervals.
    pub(crate) fn build(groups: Vec<usize>, keys: &[GroupKeys], key_type: KeyType) -> Result<Self, RouterError> {
        let mut borders: Vec<(Option<&[u8]>, &[u8])> = Vec::new();
        let mut before: Option<&[u8]> = None;
        for group in groups.iter().filter_map(|&group| keys.get(group)) {
            borders.push((before, &group.first));
            borders.extend(group.borders.iter().map(|(last, first)| (Some(&last[..]), &first[..])));
            before = Some(&group.last);
        }
        let is_continued = |&(at, (last, first)): &(u64, (Option<&[u8]>, &[u8]))| last == Some(first) && at > 0;
        let continued = (0..).zip(borders.iter().copied()).filter(is_continued).map(|(at, _)| at).collect();
        let router = match is_integer(key_type) {
            true => {
                let mut builder = Router::<u64>::builder();
                for (last, first) in borders {
                    match last {
                        Some(last) => builder.push_between(&integer(last), &integer(first))?,
                        None => builder.push(&integer(first))?,
                    }
                }
                builder.finish()
            }
            false => {
                let mut builder = Router::<[u8]>::builder();
                for (last, first) in borders {
                    match last {
                        Some(last) => builder.push_between(last, first)?,
                        None => builder.push(first)?,
                    }
                }
                builder.finish()
            }
        };
        Ok(Self { groups, router, continued })
    }

    /// Appends the stored form.
    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.int(self.groups.len() as u64);
        let mut before = 0_i64;
        for &group in &self.groups {
            out.signed(group as i64 - before);
            before = group as i64;
        }
        out.bytes(&self.router).int(self.continued.len() as u64);
        let mut before = 0;
        for &interval in &self.continued {
            out.int(interval - before);
            before = interval;
        }
    }

    /// Decodes the stored form.
    pub(crate) fn decode(decoder: &mut Decoder<'_>, group_count: usize) -> Option<Self> {
        let count = decoder.count()?;
        let mut groups = Vec::with_capacity(count);
        let mut before = 0_i64;
        for _ in 0..count {
            before = before.checked_add(decoder.signed()?)?;
            groups.push(usize::try_from(before).ok().filter(|&group| group < group_count)?);
        }
        let router = decoder.bytes()?.to_vec();
        let count = decoder.count()?;
        let mut continued = Vec::with_capacity(count);
        let mut before = 0_u64;
        for _ in 0..count {
            before = before.checked_add(decoder.int()?)?;
            continued.push(before);
        }
        Some(Self { groups, router, continued })
    }

    /// Opens the separators for searches.
    ///
    /// # Errors
    /// [`RouterError`].
    pub(crate) fn search(self, key_type: KeyType) -> Result<RunSearch, RouterError> {
        let Self { groups, router, continued } = self;
        let router = match is_integer(key_type) {
            true => AnyRouter::Integers(OwnedRouter::open(router)?),
            false => AnyRouter::Strings(OwnedRouter::open(router)?),
        };
        Ok(RunSearch { groups, continued, router })
    }
}

/// The separators of a run, ready to be searched.
#[derive(Debug)]
pub(crate) struct RunSearch {
    /// The numbers of the groups, in key order.
    pub(crate) groups: Vec<usize>,
    continued: Vec<u64>,
    router: AnyRouter,
}

#[derive(Debug)]
enum AnyRouter {
    Integers(OwnedRouter<u64>),
    Strings(OwnedRouter<[u8]>),
}

impl RunSearch {
    /// The number of intervals.
    pub(crate) fn intervals(&self) -> u64 {
        match &self.router {
            AnyRouter::Integers(router) => router.blocks(),
            AnyRouter::Strings(router) => router.blocks(),
        }
    }

    /// Bytes of the separators.
    pub(crate) fn stored_bytes(&self) -> u64 {
        match &self.router {
            AnyRouter::Integers(router) => router.stored().len() as u64,
            AnyRouter::Strings(router) => router.stored().len() as u64,
        }
    }

    /// The interval that holds `key` if any does; of several, the first. All keys of those before it are below `key`,
    /// and all keys of those after it are `key` or above.
    pub(crate) fn first(&self, key: &[u8]) -> u64 {
        match &self.router {
            AnyRouter::Integers(router) => router.locate(&integer(key)),
            AnyRouter::Strings(router) => router.locate(key),
        }
    }

    /// The last interval that may hold `key`.
    pub(crate) fn last(&self, key: &[u8]) -> u64 {
        let first = self.first(key);
        let reached = match &self.router {
            AnyRouter::Integers(router) => integer(key).checked_add(1).map(|after| router.locate(&after)),
            AnyRouter::Strings(router) => Some(router.locate(&[key, &[0]].concat())),
        };
        // An interval after the first one begins with `key` only if the one before ends with it. Between equal keys
        // the separator is the next key; above the greatest integer there is none.
        let reached = reached.unwrap_or(u64::MAX);
        let mut last = first;
        let from = self.continued.partition_point(|&interval| interval <= first);
        for &interval in &self.continued[from..] {
            if interval != last + 1 || interval > reached {
                break;
            }
            last = interval;
        }
        last
    }
}

/// Whether keys are integers to the separators: those of a fixed width of up to eight bytes.
fn is_integer(key_type: KeyType) -> bool {
    key_type.width().is_some_and(|width| width <= INTEGER_BYTES)
}

/// The integer of a key of up to eight bytes; longer keys saturate.
fn integer(key: &[u8]) -> u64 {
    let mut bytes = [0; INTEGER_BYTES];
    match INTEGER_BYTES.checked_sub(key.len()) {
        Some(at) => bytes[at..].copy_from_slice(key),
        None => return u64::MAX,
    }
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(keys: &[u64], cuts: &[usize]) -> GroupKeys {
        let bytes = |at: usize| keys[at].to_be_bytes().to_vec();
        let borders = cuts.iter().map(|&cut| (bytes(cut - 1), bytes(cut))).collect();
        GroupKeys { first: bytes(0), last: bytes(keys.len() - 1), borders }
    }

    #[test]
    fn overlapping_groups_go_to_different_runs_and_touching_ones_to_the_same() {
        let groups = [group(&[5, 9], &[]), group(&[0, 5], &[]), group(&[3, 4], &[]), group(&[9, 9], &[])];
        assert_eq!(assign(&groups), [vec![1, 0, 3], vec![2]]);
    }

    #[test]
    fn a_key_is_sought_in_all_intervals_that_hold_it_and_in_no_other() {
        // Intervals 0-1, 1-1, 1-2, 3-3 and two of the greatest integer.
        let keys = [0, 1, 1, 1, 1, 2, 3, 3, u64::MAX, u64::MAX];
        let groups = [group(&keys, &[2, 4, 6, 8, 9])];
        let run = Run::build(vec![0], &groups, KeyType::U64).unwrap();
        let search = run.clone().search(KeyType::U64).unwrap();
        let of = |key: u64| (search.first(&key.to_be_bytes()), search.last(&key.to_be_bytes()));
        assert_eq!([0, 1, 2, 3, u64::MAX].map(of), [(0, 0), (0, 2), (2, 2), (3, 3), (4, 5)]);
        let mut out = Encoder::default();
        run.encode(&mut out);
        assert_eq!(Run::decode(&mut Decoder(&out.0), 1), Some(run));
    }
}
