//! Arithmetic key sets: steps, segments, staircases. Each starts at a fixed key and takes no memory.

use super::source::{Counted, SourceResult};
use super::spec::Plan;
use crate::error::Error;
use crate::random::Random;

/// 0, 1, 2, ...: all keys consecutive (Bourbon, Section 5).
pub(super) fn linear(plan: &Plan) -> SourceResult {
    Ok(Counted::boxed(plan.count, |index| index))
}

/// Runs of a thousand consecutive keys, and before each a jump of uniform width from 1 to a thousand million.
pub(super) fn step(plan: &Plan) -> SourceResult {
    runs_with_gaps(plan, 1_000, 1, 1_000_000_000)
}

/// Runs of 100 consecutive keys, then a gap (Bourbon, Section 5: "segmented-1%").
pub(super) fn segmented_1(plan: &Plan) -> SourceResult {
    runs_with_gaps(plan, 100, 1_000, 100_000)
}

/// Runs of 10 consecutive keys, then a gap (Bourbon, Section 5: "segmented-10%").
pub(super) fn segmented_10(plan: &Plan) -> SourceResult {
    runs_with_gaps(plan, 10, 100, 10_000)
}

/// Runs of `length` keys one apart; the first key of each lies `least..=most` after the last of the run before it.
fn runs_with_gaps(plan: &Plan, length: u64, least: u64, most: u64) -> SourceResult {
    // Each key is at most its index plus the gaps of all runs.
    let widest = (plan.count / length + 1).checked_mul(most).and_then(|gaps| gaps.checked_add(plan.count));
    if widest.is_none() {
        return Err(plan.too_many("the keys would exceed 64 bits"));
    }
    let mut random = Random::new(plan.seed, "gaps between runs");
    let mut key = 0;
    Ok(Counted::boxed(plan.count, move |index| {
        key += if index.is_multiple_of(length) { least + random.below(most - least + 1) } else { 1 };
        key
    }))
}

/// Multiples of 16, each plus -1, 0 or 1.
pub(super) fn nearly_linear(plan: &Plan) -> SourceResult {
    if plan.count > u64::MAX / 16 - 1 {
        return Err(plan.too_many("the keys would exceed 64 bits"));
    }
    let mut random = Random::new(plan.seed, "nearly linear");
    Ok(Counted::boxed(plan.count, move |index| 16 * (index + 1) - 1 + random.below(3)))
}

/// Runs of `width` consecutive keys, a run every 2^20: with a width of 2 epsilon + 1, one more key in each run than an
/// error bound of epsilon can take up.
pub(super) fn staircase(plan: &Plan) -> SourceResult {
    let width = plan.option("width");
    if width.fract() != 0.0 || !(1.0..=1_048_576.0).contains(&width) {
        return Err(Error::spec(&plan.name, "width must be an integer from 1 to 2^20"));
    }
    let width = width as u64;
    if plan.count / width >= 1 << 44 {
        return Err(plan.too_many("the keys would exceed 64 bits"));
    }
    Ok(Counted::boxed(plan.count, move |index| ((index / width) << 20) + index % width))
}

/// One key, repeated.
pub(super) fn equal(plan: &Plan) -> SourceResult {
    let key = Random::new(plan.seed, "equal").bits();
    Ok(Counted::boxed(plan.count, move |_| key))
}

/// The integers whose bits, read backwards, are 0, 1, 2, ..., in ascending order: a power-of-two grid with holes.
pub(super) fn bit_reversed(plan: &Plan) -> SourceResult {
    let (count, bits) = (plan.count, u64::BITS - plan.count.saturating_sub(1).leading_zeros());
    let mut cell: u64 = 0;
    Ok(Counted::boxed(count, move |_| {
        // A cell of the grid is a key if its number, read backwards, is one of the first `count`.
        while cell.reverse_bits().checked_shr(u64::BITS - bits).unwrap_or(0) >= count {
            cell += 1;
        }
        cell += 1;
        (cell - 1).checked_shl(u64::BITS - bits).unwrap_or(0)
    }))
}

/// Every second integer, at random: `count` of the first `2 * count`, each choice as likely as any other.
///
/// Selection sampling (Knuth, The Art of Computer Programming, Section 3.4.2, Algorithm S): an integer is taken with
/// the probability of keys still wanted among integers still to come.
pub(super) fn dense(plan: &Plan) -> SourceResult {
    if plan.count > 1 << 62 {
        return Err(plan.too_many("the keys would exceed 64 bits"));
    }
    let mut random = Random::new(plan.seed, "dense");
    let (count, space) = (plan.count, 2 * plan.count);
    let mut candidate: u64 = 0;
    Ok(Counted::boxed(count, move |index| {
        while random.below(space - candidate) >= count - index {
            candidate += 1;
        }
        candidate += 1;
        candidate - 1
    }))
}
