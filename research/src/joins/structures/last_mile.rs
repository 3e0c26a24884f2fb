//! The last-mile search for a key among rows in memory: bisection without branches on keys (Section 5.2 of the paper).

use ogive::join::extend::RowsView;

/// Finds the first row from `from` on whose key is not below `key`, and whether it has that key; the number of rows if
/// there is none.
#[inline]
pub(super) fn seek_row(rows: &RowsView<'_>, from: usize, key: &[u8]) -> (usize, bool) {
    if let (RowsView::Dense { bytes, key: 8, value }, Ok(word)) = (*rows, <[u8; 8]>::try_from(key)) {
        let key = u64::from_be_bytes(word);
        return match value {
            0 => in_records::<8>(bytes, from, key),
            8 => in_records::<16>(bytes, from, key),
            16 => in_records::<24>(bytes, from, key),
            _ => {
                let load = |at: &[u8]| at.first_chunk::<8>().map_or(u64::MAX, |word| u64::from_be_bytes(*word));
                dense(bytes, 8 + value, from, key, load)
            }
        };
    }
    if let (RowsView::Dense { bytes, key: 16, value }, Ok(word)) = (*rows, <[u8; 16]>::try_from(key)) {
        let load = |at: &[u8]| at.first_chunk::<16>().map_or(u128::MAX, |word| u128::from_be_bytes(*word));
        return dense(bytes, 16 + value, from, u128::from_be_bytes(word), load);
    }
    let row = any(rows, from, key);
    (row, row < rows.len() && rows.key(row) == key)
}

/// The integer key of a record.
#[inline]
fn number<const WIDTH: usize>(record: &[u8; WIDTH]) -> u64 {
    record.first_chunk().map_or(u64::MAX, |word| u64::from_be_bytes(*word))
}

/// Searches records of constant width that begin with a key of eight bytes.
#[inline]
fn in_records<const WIDTH: usize>(bytes: &[u8], from: usize, key: u64) -> (usize, bool) {
    let (records, _) = bytes.as_chunks::<WIDTH>();
    let mut base = from.min(records.len());
    let mut rest = &records[base..];
    while rest.len() > 1 {
        let half = rest.len() / 2;
        let (low, high) = rest.split_at(half);
        let is_below = low.last().is_some_and(|record| number(record) < key);
        // Choices between two values are conditional moves.
        base += if is_below { half } else { 0 };
        rest = if is_below { high } else { low };
        // The halves may differ by one: the row left out of the lower one is known not to be below.
    }
    base += usize::from(rest.first().is_some_and(|record| number(record) < key));
    (base, records.get(base).is_some_and(|record| number(record) == key))
}

#[inline]
fn dense<W: Ord + Copy>(bytes: &[u8], width: usize, from: usize, key: W, load: impl Fn(&[u8]) -> W) -> (usize, bool) {
    let at = |row: usize| load(bytes.get(row * width..).unwrap_or_default());
    let count = bytes.len() / width;
    let (mut base, mut rest) = (from.min(count), count - from.min(count));
    while rest > 1 {
        let half = rest / 2;
        base = if at(base + half - 1) < key { base + half } else { base };
        rest -= half;
    }
    base += usize::from(rest == 1 && at(base) < key);
    (base, base < count && at(base) == key)
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
            let is_found = keys.get(expected) == Some(&x);
            prop_assert_eq!(seek_row(&rows, from, &key(x)), (expected, is_found));
        }
    }
}
