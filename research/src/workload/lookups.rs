//! Conversion of ranks to keys, in one pass over the key set.

use super::positions::Workload;
use crate::error::{Error, Result};
use crate::keys::KeySet;
use crate::random::Random;

impl Workload {
    /// `lookups` keys to look up in a set of integers, in the order of access. Memory: 24 bytes for each lookup.
    ///
    /// # Errors
    /// [`Error::NoLookups`] for an empty set, and for absent keys where every integer is present; [`Error::KeyKind`]
    /// for a set of strings; errors of reading the set or a trace.
    pub fn draw(&self, set: &KeySet, lookups: usize, seed: u64) -> Result<Vec<u64>> {
        let positions = self.positions_in(set, lookups, seed)?;
        if *self == Self::Absent {
            return absent_integers(set, &positions, &mut Random::new(seed, "absent"));
        }
        present(set.stream()?, &positions)
    }

    /// As [`Workload::draw`], for a set of strings. An absent key is a present one with a zero byte at its end.
    ///
    /// # Errors
    /// As for [`Workload::draw`], and [`Error::KeyKind`] for a set of integers.
    pub fn draw_lines(&self, set: &KeySet, lookups: usize, seed: u64) -> Result<Vec<Vec<u8>>> {
        let positions = self.positions_in(set, lookups, seed)?;
        if *self == Self::Absent {
            // There is always such a string behind the last one, so that none is left without.
            let behind = |low: &Vec<u8>, high: Option<&Vec<u8>>| {
                let next = [&low[..], &[0]].concat();
                high.is_none_or(|high| next < *high).then_some(next)
            };
            return Ok(absent(set.lines()?, &positions, behind)?.0);
        }
        present(set.lines()?, &positions)
    }

    fn positions_in(&self, set: &KeySet, lookups: usize, seed: u64) -> Result<Vec<u64>> {
        if set.is_empty() {
            let detail = "an empty key set has no keys to look up; take one with keys".into();
            return Err(Error::NoLookups { name: set.name().into(), detail });
        }
        self.positions(set.len(), lookups, seed)
    }
}

/// The numbers of the lookups, ordered by the positions that they ask for.
fn ascending(positions: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_by_key(|lookup| positions[*lookup]);
    order
}

/// The items at the positions, of items in the order of the key set.
fn present<T: Clone + Default>(items: impl Iterator<Item = Result<T>>, positions: &[u64]) -> Result<Vec<T>> {
    let order = ascending(positions);
    let mut keys = vec![T::default(); positions.len()];
    let mut waiting = order.iter().peekable();
    for (item, position) in items.zip(0..) {
        if waiting.peek().is_none() {
            break;
        }
        let item = item?;
        while let Some(lookup) = waiting.next_if(|lookup| positions[**lookup] == position) {
            keys[*lookup] = item.clone();
        }
    }
    Ok(keys)
}

/// An absent item for each position: from the gap behind the item there, or from the next gap after it, the one behind
/// the last item included. With it, the lookups that no gap follows.
///
/// `between` makes an item between two neighbours, or after the last item; none where nothing fits.
fn absent<T: Clone + Default>(
    items: impl Iterator<Item = Result<T>>,
    positions: &[u64],
    mut between: impl FnMut(&T, Option<&T>) -> Option<T>,
) -> Result<(Vec<T>, Vec<usize>)> {
    let order = ascending(positions);
    let mut keys = vec![T::default(); positions.len()];
    let mut served = 0;
    let mut low: Option<T> = None;
    for (high, position) in items.map(Some).chain([None]).zip(0..) {
        let high = high.transpose()?;
        // The gap between the item before this position and the one at it, or behind the last one.
        while let Some(lookup) = order.get(served).filter(|lookup| positions[**lookup] < position) {
            let Some(key) = low.as_ref().and_then(|low| between(low, high.as_ref())) else { break };
            keys[*lookup] = key;
            served += 1;
        }
        low = high;
    }
    Ok((keys, order[served..].to_vec()))
}

/// As [`absent`] for integers; lookups that no gap follows go to the widest gap of the set.
fn absent_integers(set: &KeySet, positions: &[u64], random: &mut Random) -> Result<Vec<u64>> {
    let (mut keys, left) = absent(set.stream()?, positions, |low, high| {
        let free = high.map_or(u64::MAX - low, |high| (high - low).saturating_sub(1));
        (free > 0).then(|| low + 1 + random.below(free))
    })?;
    if left.is_empty() {
        return Ok(keys);
    }
    // The widest run of absent integers, as its start and length; the one before the first key to begin with.
    let (mut widest, mut after_last) = ((0, 0), 0);
    for key in set.stream()? {
        let key: u64 = key?;
        if key > after_last && key - after_last > widest.1 {
            widest = (after_last, key - after_last);
        }
        after_last = key.saturating_add(1);
    }
    if widest.1 == 0 {
        let detail = "every integer up to the largest is present; look up present keys".into();
        return Err(Error::NoLookups { name: set.name().into(), detail });
    }
    for lookup in left {
        keys[lookup] = widest.0 + random.below(widest.1);
    }
    Ok(keys)
}
