//! Branch-free searches in sorted integers.

/// The number of elements that are at most `x`.
#[inline]
#[must_use]
pub fn upper_bound(numbers: &[u64], x: u64) -> usize {
    let mut rest = numbers;
    let mut before = 0;
    while rest.len() > 1 {
        let half = rest.len() / 2;
        let (low, high) = rest.split_at(half);
        let right = low.last().is_some_and(|&number| number <= x);
        // A choice between two values compiles to a conditional move.
        before += if right { half } else { 0 };
        rest = if right { high } else { &rest[..rest.len() - half] };
    }
    before + usize::from(rest.first().is_some_and(|&number| number <= x))
}

/// As [`upper_bound`], by galloping from `near` in either direction.
#[inline]
pub(super) fn upper_bound_near(numbers: &[u64], x: u64, near: usize) -> usize {
    let near = near.min(numbers.len());
    let mut step = 1;
    if near < numbers.len() && numbers[near] <= x {
        let mut low = near + 1;
        loop {
            let high = (low + step).min(numbers.len());
            if high == low || numbers[high - 1] > x {
                return low + upper_bound(&numbers[low..high], x);
            }
            low = high;
            step *= 2;
        }
    }
    let mut high = near;
    loop {
        let low = high.saturating_sub(step);
        if low == high || numbers[low] <= x {
            return low + upper_bound(&numbers[low..high], x);
        }
        high = low;
        step *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_searches_count_what_is_not_above(mut numbers: Vec<u8>, x: u8, near in 0_usize..200) {
            numbers.sort_unstable();
            let numbers: Vec<u64> = numbers.into_iter().map(u64::from).collect();
            let expected = numbers.partition_point(|&number| number <= u64::from(x));
            prop_assert_eq!(upper_bound(&numbers, u64::from(x)), expected);
            prop_assert_eq!(upper_bound_near(&numbers, u64::from(x), near), expected);
        }
    }
}
