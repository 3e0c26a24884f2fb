//! The report of a repair that copies undamaged parts: what was saved, and the ranges of keys that are lost.

use crate::types::KeyType;

/// Most ranges kept; the last one then extends over all further ones.
const RANGES_MAX: usize = 10_000;

/// The result of [`repair_table`](super::repair_table) and [`repair_index`](super::repair_index).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileRepairReport {
    /// The type of the keys.
    pub key_type: KeyType,
    /// Number of records in the new file; there is none if nothing was saved.
    pub saved_records: u64,
    /// Number of records of the damaged file that are not in the new one.
    pub lost_records: u64,
    /// Number of damaged blocks of a table, or of leaves of an index that are lost.
    pub damaged_parts: u64,
    /// The ranges that contain every lost record, in order.
    pub lost_ranges: Vec<LostRange>,
    /// For an index whose log is damaged: the defect. All commits after it are lost, in addition to `lost_records`, and
    /// their number is unknown.
    pub lost_commits: Option<String>,
}

/// A range of keys in which records were lost. If keys repeat, its ends belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostRange {
    /// The last saved key before it; `None` if all before it are lost.
    pub after: Option<Vec<u8>>,
    /// The first saved key after it; `None` if all after it are lost.
    pub before: Option<Vec<u8>>,
    /// Number of records lost.
    pub records: u64,
    /// Whether that number is exact; otherwise it is estimated.
    pub is_exact: bool,
}

/// Collects the lost ranges while records are saved in order.
#[derive(Debug, Default)]
pub(super) struct Losses {
    ranges: Vec<(LostRange, u64)>,
    last_saved: Option<Vec<u8>>,
    /// Losses since the last saved record: the number of records, if known, and of blocks or leaves.
    open: Option<(Option<u64>, u64)>,
}

impl Losses {
    /// Adds a loss at the current position: its records, if their number is known, and its blocks or leaves.
    pub(super) fn lose(&mut self, records: Option<u64>, parts: u64) {
        let (before, parts_before) = self.open.unwrap_or((Some(0), 0));
        let sum = before.zip(records).map(|(before, records)| before.saturating_add(records));
        self.open = Some((sum, parts_before + parts));
    }

    /// Notes a saved record, which ends the current range.
    pub(super) fn save(&mut self, key: &[u8]) {
        if self.open.is_some() {
            self.end_range(Some(key.to_vec()));
        }
        let last = self.last_saved.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
    }

    fn end_range(&mut self, before: Option<Vec<u8>>) {
        let Some((records, parts)) = self.open.take() else { return };
        let is_full = self.ranges.len() >= RANGES_MAX;
        if let Some((range, parts_before)) = self.ranges.last_mut().filter(|_| is_full) {
            range.before = before;
            range.is_exact &= records.is_some();
            range.records = range.records.saturating_add(records.unwrap_or(0));
            *parts_before += parts;
            return;
        }
        let range = LostRange {
            after: self.last_saved.clone(),
            before,
            records: records.unwrap_or(0),
            is_exact: records.is_some(),
        };
        self.ranges.push((range, parts));
    }

    /// The lost ranges. `lost_records` is the number of all lost records: what is known of no range is shared out by
    /// blocks or leaves.
    pub(super) fn finish(mut self, lost_records: u64) -> Vec<LostRange> {
        self.end_range(None);
        let known: u64 = self.ranges.iter().map(|(range, _)| range.records).sum();
        let (mut rest, unknown) =
            (lost_records.saturating_sub(known), || self.ranges.iter().filter(|(it, _)| !it.is_exact));
        let (count, mut parts) = (unknown().count(), unknown().map(|(_, parts)| parts).sum::<u64>());
        for (range, share) in self.ranges.iter_mut().filter(|(range, _)| !range.is_exact) {
            let records = (u128::from(rest) * u128::from(*share)).div_ceil(u128::from(parts.max(1))) as u64;
            (rest, parts) = (rest - records.min(rest), parts - *share);
            range.records += records;
            range.is_exact = count == 1;
        }
        self.ranges.into_iter().map(|(range, _)| range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ranges: &[LostRange]) -> Vec<(String, String, u64, bool)> {
        let key = |key: &Option<Vec<u8>>| key.as_ref().map_or("-".into(), |key| key.escape_ascii().to_string());
        ranges.iter().map(|range| (key(&range.after), key(&range.before), range.records, range.is_exact)).collect()
    }

    #[test]
    fn ranges_lie_between_saved_keys_and_unknown_numbers_are_shared_out() {
        let mut losses = Losses::default();
        losses.lose(Some(3), 1);
        losses.save(b"c");
        losses.save(b"d");
        losses.lose(None, 1);
        losses.lose(Some(2), 1);
        losses.save(b"k");
        losses.lose(None, 6);
        let ranges = losses.finish(11);
        let expected = [("-", "c", 3, true), ("d", "k", 2, false), ("k", "-", 6, false)];
        assert_eq!(shown(&ranges), expected.map(|(a, b, n, exact)| (a.to_owned(), b.to_owned(), n, exact)));
    }

    #[test]
    fn the_number_of_a_single_range_follows_from_the_total() {
        let mut losses = Losses::default();
        losses.save(b"a");
        losses.lose(None, 2);
        assert_eq!(shown(&losses.finish(7)), [("a".to_owned(), "-".to_owned(), 7, true)]);
        assert!(Losses::default().finish(0).is_empty());
    }

    #[test]
    fn the_last_of_very_many_ranges_covers_the_rest() {
        let mut losses = Losses::default();
        for i in 0..RANGES_MAX as u32 + 5 {
            losses.save(&i.to_be_bytes());
            losses.lose(Some(1), 1);
        }
        let ranges = losses.finish(RANGES_MAX as u64 + 5);
        assert_eq!(ranges.len(), RANGES_MAX);
        assert_eq!(ranges.iter().map(|range| range.records).sum::<u64>(), RANGES_MAX as u64 + 5);
        assert_eq!(ranges.last().map(|range| range.before.clone()), Some(None));
    }
}
