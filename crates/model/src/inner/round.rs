//! The roundest value in a range: the one with the most trailing zero bits.

/// The value in `low..=high` that is a multiple of the greatest power of two; the smaller of the two if `high` is below
/// `low`.
///
/// ```
/// use ogive_model::inner::roundest;
/// assert_eq!(roundest(0b1_0011, 0b1_1010), 0b1_1000);
/// assert_eq!(roundest(5, 5), 5);
/// assert_eq!(roundest(0, 99), 0);
/// ```
pub fn roundest(low: u128, high: u128) -> u128 {
    let Some(below) = low.checked_sub(1) else { return 0 };
    if high < low {
        return high;
    }
    // Above the highest differing bit both are equal, and at that bit `high` has a one: with all lower bits cleared it
    // still exceeds `below`.
    let differing = 127 - (below ^ high).leading_zeros();
    high >> differing << differing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_of_the_range_ends_in_more_zeros() {
        for low in 0..130_u128 {
            for high in low..140 {
                let best = (low..=high).max_by_key(|value| value.trailing_zeros()).unwrap();
                let found = roundest(low, high);
                assert!((low..=high).contains(&found), "{low}..={high}: {found}");
                assert_eq!(found.trailing_zeros(), best.trailing_zeros(), "{low}..={high}");
            }
        }
        assert_eq!(roundest(u128::MAX, u128::MAX), u128::MAX);
        assert_eq!(roundest(1, u128::MAX), 1 << 127);
    }
}
