//! Adversarial key sets that have broken learned indexes: runs at the limits of number formats, powers, nested
//! intervals.
//!
//! Most are a short list of [`Progression`]s.

use super::source::{Counted, Source, SourceResult};
use super::spec::Plan;

/// `count` keys, `step` apart, from `start` on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Progression {
    start: u64,
    step: u64,
    count: u64,
}

/// The keys of runs that ascend and do not overlap.
fn runs(mut list: Vec<Progression>) -> Box<dyn Source> {
    list.retain(|run| run.count > 0);
    let total = list.iter().map(|run| run.count).sum();
    let (mut number, mut within) = (0, 0);
    Counted::boxed(total, move |_| {
        if within == list[number].count {
            (number, within) = (number + 1, 0);
        }
        let run = list[number];
        within += 1;
        run.start + (within - 1) * run.step
    })
}

/// `total` keys split over `parts`, as evenly as can be: the share of part `index`.
fn part(total: u64, parts: u64, index: u64) -> u64 {
    total / parts + u64::from(index < total % parts)
}

/// Runs of consecutive keys at 0, 2^32, 2^53, 2^63 and up to `u64::MAX`.
pub(super) fn dense_runs(plan: &Plan) -> SourceResult {
    if plan.count / 5 >= 1 << 31 {
        return Err(plan.too_many("each of the five runs takes at most 2^31 keys"));
    }
    let count = |index| part(plan.count, 5, index);
    let mut list: Vec<Progression> = [0, 1 << 32, 1 << 53, 1 << 63]
        .into_iter()
        .zip(0..)
        .map(|(start, index)| Progression { start, step: 1, count: count(index) })
        .collect();
    let top = count(4);
    list.push(Progression { start: u64::MAX - top.saturating_sub(1), step: 1, count: top });
    Ok(runs(list))
}

/// Two runs of consecutive keys, 2^63 apart.
pub(super) fn far_runs(plan: &Plan) -> SourceResult {
    if plan.count >= 1 << 62 {
        return Err(plan.too_many("each of the two runs takes at most 2^61 keys"));
    }
    let run = |index: u64| Progression { start: index << 63, step: 1, count: part(plan.count, 2, index) };
    Ok(runs(vec![run(0), run(1)]))
}

/// A thousand runs of consecutive keys, 2^43 apart.
pub(super) fn clusters(plan: &Plan) -> SourceResult {
    if plan.count / 1_000 >= 1 << 42 {
        return Err(plan.too_many("each of the thousand clusters takes at most 2^42 keys"));
    }
    let run = |index: u64| Progression { start: index << 43, step: 1, count: part(plan.count, 1_000, index) };
    Ok(runs((0..1_000).map(run).collect()))
}

/// 2^0, 2^1, ..., 2^63.
pub(super) fn powers_of_two(plan: &Plan) -> SourceResult {
    Ok(Counted::boxed(plan.count, |index| 1 << index))
}

/// 1, 2, 3, 5, 8, ...: the Fibonacci numbers that fit into 64 bits.
pub(super) fn fibonacci(plan: &Plan) -> SourceResult {
    let (mut this, mut next) = (1u64, 2u64);
    Ok(Counted::boxed(plan.count, move |_| {
        let key = this;
        (this, next) = (next, this.saturating_add(next));
        key
    }))
}

/// Nested halves: an interval is halved again and again, the outer half to the left and to the right by turns, and
/// every outer half gets as many evenly spaced keys as any other, or as many as it has integers.
pub(super) fn nested_halves(plan: &Plan) -> SourceResult {
    let (mut start, mut remaining) = (0u64, plan.count);
    let mut list = Vec::new();
    // The interval is start..start + 2^bits; the inner half stays, the outer half is filled.
    for bits in (0..u64::BITS).rev() {
        let half = 1u64 << bits;
        // Inner halves hold 2^bits - 1 keys between them, so the outer one takes what would not fit there.
        let count = (remaining / u64::from(bits + 1)).max(remaining.saturating_sub(half - 1)).min(half);
        let fills_lower = bits % 2 == 1;
        let outer = if fills_lower { start } else { start + half };
        if let Some(step) = half.checked_div(count) {
            list.push(Progression { start: outer, step, count });
        }
        if fills_lower {
            start += half;
        }
        remaining -= count;
    }
    list.sort_unstable_by_key(|run| run.start);
    Ok(runs(list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;

    #[test]
    fn runs_follow_each_other_and_empty_ones_are_left_out() -> Result<()> {
        let run = |start, step, count| Progression { start, step, count };
        let mut block = Vec::new();
        runs(vec![run(1, 2, 3), run(7, 1, 0), run(u64::MAX - 1, 1, 2)]).fill(&mut block)?;
        assert_eq!(block, [1, 3, 5, u64::MAX - 1, u64::MAX]);
        Ok(())
    }

    #[test]
    fn shares_add_up_and_differ_by_at_most_one() {
        for total in [0, 1, 4, 5, 999, 1_001] {
            let shares: Vec<u64> = (0..5).map(|index| part(total, 5, index)).collect();
            assert_eq!(shares.iter().sum::<u64>(), total);
            assert!(shares[0] - shares[4] <= 1);
        }
    }
}
