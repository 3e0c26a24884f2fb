//! The search for a key among rows in memory: bisection without branches that depend on the keys (Section 5.2 of the paper).

use crate::join::rows::RowsView;

/// The first row from `from` on whose key is not below `key`; the number of rows where there is none.
#[inline]
pub(super) fn lower_bound(rows: &RowsView<'_>, from: usize, key: &[u8]) -> usize {
    match *rows {
        RowsView::Dense { bytes, key: 8, value } => match key.first_chunk::<8>() {
            Some(word) if key.len() == 8 => {
                let load = |at: &[u8]| at.first_chunk::<8>().map_or(u64::MAX, |word| u64::from_be_bytes(*word));
                dense(bytes, 8 + value, from, u64::from_be_bytes(*word), load)
            }
            _ => any(rows, from, key),
        },
        RowsView::Dense { bytes, key: 16, value } => match key.first_chunk::<16>() {
            Some(word) if key.len() == 16 => {
                let load = |at: &[u8]| at.first_chunk::<16>().map_or(u128::MAX, |word| u128::from_be_bytes(*word));
                dense(bytes, 16 + value, from, u128::from_be_bytes(*word), load)
            }
            _ => any(rows, from, key),
        },
        _ => any(rows, from, key),
    }
}

#[inline]
fn dense<W: Ord + Copy>(bytes: &[u8], width: usize, from: usize, key: W, load: impl Fn(&[u8]) -> W) -> usize {
    let is_below = |row: usize| load(bytes.get(row * width..).unwrap_or_default()) < key;
    let count = bytes.len() / width;
    let (mut base, mut rest) = (from.min(count), count - from.min(count));
    while rest > 1 {
        let half = rest / 2;
        base = if is_below(base + half - 1) { base + half } else { base };
        rest -= half;
    }
    base + usize::from(rest == 1 && is_below(base))
}

fn any(rows: &RowsView<'_>, from: usize, key: &[u8]) -> usize {
    let (mut low, mut high) = (from, rows.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if rows.key(middle) < key { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_row_not_below_is_found_in_rows_of_any_width(
            mut keys in proptest::collection::vec(0_u8..40, 0..70), x in 0_u8..42, from in 0_usize..80,
            width in prop_oneof![Just(8_usize), Just(16), Just(5)], value in 0_usize..3,
        ) {
            keys.sort_unstable();
            let key = |low: u8| [vec![low / 7; width - 1], vec![low]].concat();
            let bytes: Vec<u8> = keys.iter().flat_map(|&low| [key(low), vec![9; value]].concat()).collect();
            let rows = RowsView::Dense { bytes: &bytes, key: width, value };
            let from = from.min(keys.len());
            let expected = from + keys[from..].partition_point(|&low| key(low) < key(x));
            prop_assert_eq!(lower_bound(&rows, from, &key(x)), expected);
        }
    }
}
