//! Choosing separators: the roundest that is near enough.

use super::super::router::Gap;
use crate::index::word::Word;
use ogive_model::inner::roundest;

/// Of the gaps that are offered this part to either side of the middle is taken into account: the leaves offer thirty
/// of a leaf of 255 entries, and the middle half of them costs a leaf in 600, as fewer splits are even.
const SPLIT_PART: usize = 4;
/// A bulk-loaded leaf may end this part of its entries from where the fill says; on average it ends there.
const END_PART: usize = 24;

/// The separator in a gap.
pub(super) fn separator<W: Word>(gap: Gap<W>) -> u128 {
    roundest(gap.low.to_u128(), gap.high.to_u128())
}

/// Which of the gaps near the middle has the roundest separator; the one next to the middle where several have.
pub(super) fn split<W: Word>(gaps: &[Gap<W>]) -> usize {
    let middle = gaps.len() / 2;
    let reach = gaps.len() / SPLIT_PART;
    let near = (0..).zip(gaps).skip(middle - reach).take(2 * reach + 1);
    let best = near.max_by_key(|&(index, &gap)| {
        let index: usize = index;
        (separator(gap).trailing_zeros(), std::cmp::Reverse(index.abs_diff(middle)))
    });
    best.map_or(middle, |(index, _)| index)
}

/// Where to end a leaf near `near`, within `least..=most`: see
/// [`RouterBuilder::choose_end`](super::super::extend::RouterBuilder::choose_end).
pub(super) fn end<W: Word>(keys: &[W], least: usize, near: usize, most: usize) -> usize {
    let near = near.clamp(least, most);
    let reach = near / END_PART;
    let narrow = (near.saturating_sub(reach).max(least), (near + reach).min(most));
    [narrow, (least, most)].into_iter().find_map(|(first, last)| end_within(keys, first, last)).unwrap_or(near)
}

/// The end in `first..=last` whose separator is roundest; `None` where all those keys are equal.
fn end_within<W: Word>(keys: &[W], first: usize, last: usize) -> Option<usize> {
    let low = keys.get(first.checked_sub(1)?)?;
    let high = keys.get(last)?;
    // Any value from the last key of the shortest leaf to just below the first key behind the longest one.
    let separator = roundest(low.to_u128(), high.to_u128().checked_sub(1)?);
    (low < high).then(|| keys.partition_point(|key| key.to_u128() <= separator))
}
