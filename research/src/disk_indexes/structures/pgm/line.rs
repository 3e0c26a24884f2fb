//! The model of a PGM segment: a line whose error is measured with the arithmetic of lookups.

use ogive::index::extend::Word;
use ogive_model::pla;

/// A line from keys to positions within a segment: `floor(slope * (key - first) + offset)`.
///
/// ```text
///   position
///     9 |            o .-'     `offset` includes one half, so that the floor rounds;
///     6 |        .-o'          no position of a key of the segment is missed by more than `error`,
///     3 |    o-'               measured with these very operations on the parameters as stored
///     0 |.-'
///       +----------------- key - first
/// ```
///
/// Subtraction is in integers; conversion, product, sum and floor are single IEEE operations and monotone. Therefore
/// all machines predict the same position, and for an absent key the next greater one is within `error + 1` of it. The
/// line is approximate: lookups check what they read, and widen the search if it is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PgmLine {
    slope: f32,
    offset: f32,
}

/// Stored size of a [`PgmLine`]: slope and offset, little-endian.
pub(crate) const LINE_BYTES: usize = 8;

impl PgmLine {
    /// The line that predicts 0 for each key.
    pub(crate) const FLAT: Self = Self { slope: 0.0, offset: 0.0 };

    /// The predicted position of `key` among `count` entries from `first` on; defined for all parameters.
    pub(crate) fn position<W: Word>(self, first: W, key: W, count: u64) -> u64 {
        let position = f64::from(self.slope) * key.distance(first) + f64::from(self.offset);
        (position as u64).min(count.saturating_sub(1))
    }

    /// The number of leading keys whose predictions miss by at most `error`.
    pub(crate) fn measure<W: Word>(self, keys: &[W], error: u64) -> usize {
        let Some(&first) = keys.first() else { return 0 };
        let misses = |(k, &key): (usize, &W)| self.position(first, key, u64::MAX).abs_diff(k as u64) > error;
        keys.iter().enumerate().position(|(k, key)| misses((k, key))).unwrap_or(keys.len())
    }

    pub(crate) fn load(bytes: &[u8]) -> Self {
        let float =
            |bytes: Option<&[u8]>| bytes.and_then(|bytes| bytes.first_chunk()).map_or(0.0, |&b| f32::from_le_bytes(b));
        Self { slope: float(Some(bytes)), offset: float(bytes.get(4..)) }
    }

    pub(crate) fn bytes(self) -> [u8; LINE_BYTES] {
        let mut bytes = [0; LINE_BYTES];
        bytes[..4].copy_from_slice(&self.slope.to_le_bytes());
        bytes[4..].copy_from_slice(&self.offset.to_le_bytes());
        bytes
    }
}

/// The line that covers the most keys from the first on with at most `error`, and the number of keys covered: at least
/// `2 * error + 1`, or all keys if they are fewer. Keys ascend strictly.
///
/// MergeSource: PGM-index, Section 2.1 (optimal PLA). Optimal except for the rounding of stored parameters, and for
/// 128-bit keys that span more than 64 bits, which are searched in shorter ranges.
pub(crate) fn longest<W: Word>(keys: &[W], error: u64) -> (usize, PgmLine) {
    let mut best = longest_within(keys, error);
    // Keys of 128 bits lose low bits if `keys` span a wide range; a shorter range may lose none.
    loop {
        let head = keys.get(..best.0.saturating_mul(4)).unwrap_or(keys);
        if shift_bits(head) >= shift_bits(keys) {
            return best;
        }
        let found = longest_within(head, error);
        if found.0 <= best.0 {
            return best;
        }
        best = found;
    }
}

/// The number of low bits to drop so that distances fit into 64 bits.
fn shift_bits<W: Word>(keys: &[W]) -> u32 {
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return 0 };
    let span = last.to_u128().saturating_sub(first.to_u128());
    (u128::BITS - span.leading_zeros()).saturating_sub(u64::BITS)
}

fn longest_within<W: Word>(keys: &[W], error: u64) -> (usize, PgmLine) {
    let Some(&first) = keys.first() else { return (0, PgmLine::FLAT) };
    let shift = shift_bits(keys);
    let distance = |key: &W| (key.to_u128().saturating_sub(first.to_u128()) >> shift) as u64;
    let found = pla::longest(keys.iter().map(distance), error);
    let served = keys.get(..found.points).unwrap_or(keys);
    let slope = (found.slope / (1_u128 << shift) as f64) as f32;
    let offset = (found.offset + 0.5) as f32;
    let mut best = (0, PgmLine::FLAT);
    for slope in [slope, slope.next_up(), slope.next_down().max(0.0)] {
        let line = PgmLine { slope, offset };
        let served = line.measure(served, error);
        if served > best.0 {
            best = (served, line);
        }
        if served == found.points {
            return best;
        }
    }
    let flat = (error.saturating_mul(2).saturating_add(1)).min(keys.len() as u64) as usize;
    if flat > best.0 { (flat, PgmLine { slope: 0.0, offset: error as f32 }) } else { best }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive_testkit::key_sets::nasty;

    fn distinct(mut keys: Vec<u64>) -> Vec<u64> {
        keys.dedup();
        keys
    }

    fn check<W: Word>(name: &str, keys: &[W]) {
        for error in [0, 1, 16, 64, 1000] {
            let mut from = 0;
            while from < keys.len() {
                let (served, line) = longest(&keys[from..], error);
                let least = (2 * error as usize + 1).min(keys.len() - from);
                assert!(served >= least, "{name}: {served} of {least} keys");
                assert_eq!(line.measure(&keys[from..from + served], error), served, "{name}");
                assert_eq!(PgmLine::load(&line.bytes()), line);
                from += served;
            }
        }
    }

    #[test]
    fn stored_lines_keep_the_error_on_all_key_sets() {
        for (name, keys) in nasty(3000) {
            let keys = distinct(keys);
            check(name, &keys);
            let wide: Vec<u128> = keys.iter().map(|&key| u128::from(key) << 61).collect();
            check(name, &wide);
            let spread: Vec<u128> = keys.iter().map(|&key| u128::from(key) * u128::from(key)).collect();
            check(name, &spread);
        }
    }

    #[test]
    fn long_keys_that_differ_only_in_low_bits_keep_them() {
        let mut keys: Vec<u128> = (0..10_000).map(|i| (1 << 100) + 3 * i).collect();
        keys.push(u128::MAX);
        assert!(longest(&keys, 4).0 >= 2_500);
    }

    #[test]
    fn invalid_parameters_still_predict_a_position() {
        for (slope, offset) in [(f32::NAN, 0.0), (f32::INFINITY, f32::NEG_INFINITY), (-1.0, -9.0), (f32::MAX, f32::MAX)]
        {
            assert!(PgmLine { slope, offset }.position(5_u64, u64::MAX, 7) < 7);
            assert_eq!(PgmLine { slope, offset }.position(5_u64, 4, 0), 0);
        }
    }
}
