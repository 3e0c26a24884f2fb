//! The choice of separators: the roundest of those near the target, because round numbers code in fewer bits.

use super::super::router::Gap;
use crate::index::entries::word::Word;
use ogive_model::inner::roundest;

/// Gaps up to 1/4 of the offered ones away from the middle are considered. A leaf of 255 entries offers thirty; splits
/// within their middle half cost 1/600 more leaves than even ones.
const SPLIT_REACH_DIVISOR: usize = 4;
/// A bulk-loaded leaf may deviate by 1/24 of its entries from its fill; on average it does not.
const END_REACH_DIVISOR: usize = 24;

/// The separator for a gap.
pub(super) fn separator<W: Word>(gap: Gap<W>) -> u128 {
    roundest(gap.low.to_u128(), gap.high.to_u128())
}

/// The index of the gap near the middle with the roundest separator; of several, the one nearest to the middle.
pub(super) fn split<W: Word>(gaps: &[Gap<W>]) -> usize {
    let middle = gaps.len() / 2;
    let reach = gaps.len() / SPLIT_REACH_DIVISOR;
    let near = (0..).zip(gaps).skip(middle - reach).take(2 * reach + 1);
    let best = near.max_by_key(|&(index, &gap)| {
        let index: usize = index;
        (separator(gap).trailing_zeros(), std::cmp::Reverse(index.abs_diff(middle)))
    });
    best.map_or(middle, |(index, _)| index)
}

/// The end of a leaf near `near`, within `least..=most`: see
/// [`RouterBuilder::choose_end`](crate::index::extend::RouterBuilder::choose_end).
pub(super) fn end<W: Word>(keys: &[W], least: usize, near: usize, most: usize) -> usize {
    let near = near.clamp(least, most);
    let reach = near / END_REACH_DIVISOR;
    let narrow = (near.saturating_sub(reach).max(least), (near + reach).min(most));
    [narrow, (least, most)].into_iter().find_map(|(first, last)| end_within(keys, first, last)).unwrap_or(near)
}

/// The end in `first..=last` with the roundest separator; `None` if all those keys are equal.
fn end_within<W: Word>(keys: &[W], first: usize, last: usize) -> Option<usize> {
    let low = keys.get(first.checked_sub(1)?)?;
    let high = keys.get(last)?;
    // Any value from the last key of the shortest leaf to just below the first key after the longest one.
    let separator = roundest(low.to_u128(), high.to_u128().checked_sub(1)?);
    (low < high).then(|| keys.partition_point(|key| key.to_u128() <= separator))
}
