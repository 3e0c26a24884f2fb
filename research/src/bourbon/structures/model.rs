//! Table models: a map from a key to a window of positions.

use super::key_fences::{KeyFences, key_number};
use crate::models::plr;
use ogive::io::Timer;
use ogive::lsm::extend::{put_varint, take_varint};
use ogive_model::{FenceRun, line};

/// Lines are fitted to this many records at a time, so that learning a table of any size takes little memory.
const RECORDS_AT_ONCE: usize = 1 << 14;
/// If this many records in a row have one number, there is no model: no line divides them, and the fences between them
/// take 16 bytes each.
const RECORDS_WAITING_MAX: usize = 1 << 18;

/// Predicted positions of the records of a table: lines over key prefixes, with measured windows.
///
/// A wrong model costs time, never an answer: readers check that the key lies in the window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PositionModel {
    prefix: Vec<u8>,
    /// Lines in their stored form, and how many.
    lines: Vec<u8>,
    count: usize,
    records: u64,
}

impl PositionModel {
    /// The first and the last position that may hold a key, both included.
    #[inline]
    pub(super) fn window(&self, key: &[u8]) -> Option<(u64, u64)> {
        let x = key_number(&self.prefix, key);
        let (node, next) = line::search(&self.lines, self.count, x)?;
        let window = node.window(x, next.unwrap_or(self.records.saturating_sub(1)));
        Some((*window.start(), *window.end()))
    }

    /// Number of lines.
    pub(super) fn segments(&self) -> usize {
        self.count
    }

    /// Number of records that it was learned from.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        (size_of::<Self>() + self.prefix.len() + self.lines.len()) as u64
    }

    /// The stored form: number of records, length of the prefix, prefix, lines.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, self.records);
        put_varint(&mut bytes, self.prefix.len() as u64);
        bytes.extend_from_slice(&self.prefix);
        bytes.extend_from_slice(&self.lines);
        bytes
    }

    /// Decodes a stored model; `None` if it is invalid.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let at = &mut 0;
        let records = take_varint(bytes, at)?;
        let length = usize::try_from(take_varint(bytes, at)?).ok()?;
        let (prefix, lines) = bytes.get(*at..)?.split_at_checked(length)?;
        let count = lines.len() / line::NODE_BYTES;
        let nodes = line::decode(lines, count).filter(|_| lines.len().is_multiple_of(line::NODE_BYTES))?;
        let is_within = nodes.last().is_some_and(|node| node.first_child < records);
        is_within.then(|| Self { prefix: prefix.to_vec(), lines: lines.to_vec(), count, records })
    }
}

/// Learns a model from keys in order.
#[derive(Debug)]
pub(super) struct ModelBuilder {
    /// Error of the regression, in records.
    error: u64,
    /// The records that no line leads to yet.
    keys: KeyFences,
    /// The number of the first of them, and where its line may begin.
    first: u64,
    start: u64,
    /// Fences known to have no border between them.
    searched: usize,
    records: u64,
    lines: Vec<u8>,
    count: usize,
    fitting_us: f64,
    is_given_up: bool,
}

impl ModelBuilder {
    /// A builder for keys from `smallest` to `largest`.
    pub(super) fn new(smallest: &[u8], largest: &[u8], error: u64) -> Self {
        Self {
            error,
            keys: KeyFences::new(smallest, largest),
            first: 0,
            start: 0,
            searched: 0,
            records: 0,
            lines: Vec::new(),
            count: 0,
            fitting_us: 0.0,
            is_given_up: false,
        }
    }

    /// Microseconds that fitting took so far.
    pub(super) fn fitting_us(&self) -> f64 {
        self.fitting_us
    }

    /// Bytes of the lines so far.
    pub(super) fn lines_bytes(&self) -> u64 {
        self.lines.len() as u64
    }

    /// The next record's key.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8]) {
        if self.is_given_up {
            return;
        }
        self.keys.add(key);
        self.records += 1;
        if self.keys.fences().len() >= 2 * RECORDS_AT_ONCE {
            let timer = Timer::start();
            self.fit_part();
            self.fitting_us += timer.elapsed_us();
        }
    }

    /// Fits lines to the first half of the waiting records.
    fn fit_part(&mut self) {
        let fences = self.keys.fences();
        let run = FenceRun { start: self.start, first_child: self.first, fences, at_end: false };
        let last = fences.len() - 1;
        let cut = (self.searched.max(RECORDS_AT_ONCE - 1)..last).find_map(|k| Some((k, run.node_start_after(k)?)));
        // A long run of equal numbers has no border and stays together.
        let Some((cut, start)) = cut else {
            self.searched = last;
            self.is_given_up = fences.len() >= RECORDS_WAITING_MAX;
            return;
        };
        self.searched = 0;
        let part = FenceRun { fences: &fences[..=cut], ..run };
        let nodes = plr::greedy(&part, self.error);
        line::encode(&nodes, &mut self.lines);
        self.count += nodes.len();
        self.first += cut as u64 + 1;
        self.start = start;
        self.keys.drop_first(cut + 1);
    }

    /// The model; `None` of no records, or of too many in a row with one number.
    pub(super) fn finish(mut self) -> Option<PositionModel> {
        if self.keys.is_empty() || self.is_given_up {
            return None;
        }
        let fences = self.keys.fences();
        let run = FenceRun { start: self.start, first_child: self.first, fences, at_end: true };
        let nodes = plr::greedy(&run, self.error);
        line::encode(&nodes, &mut self.lines);
        self.count += nodes.len();
        self.lines.shrink_to_fit();
        let Self { keys, lines, count, records, .. } = self;
        Some(PositionModel { prefix: keys.into_prefix(), lines, count, records })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive_testkit::key_sets;
    use proptest::prelude::*;

    fn learn(keys: &[Vec<u8>]) -> PositionModel {
        let (first, last) = (keys.first().unwrap(), keys.last().unwrap());
        let mut builder = ModelBuilder::new(first, last, 8);
        keys.iter().for_each(|key| builder.add(key));
        builder.finish().unwrap()
    }

    /// Every present key lies in its window, and every window among the records.
    fn check(keys: &[Vec<u8>]) {
        let model = learn(keys);
        assert_eq!(PositionModel::decode(&model.encode()).as_ref(), Some(&model));
        for (position, key) in keys.iter().enumerate() {
            let (low, high) = model.window(key).unwrap();
            assert!(low <= high && high < keys.len() as u64);
            let first = keys.partition_point(|other| key_number(&model.prefix, other) < key_number(&model.prefix, key));
            // The window has the first of the keys with one number.
            assert!(low <= first as u64 && first as u64 <= high, "{position} of {}: {low}..={high}", keys.len());
        }
    }

    #[test]
    fn windows_hold_on_key_sets_that_broke_other_indexes() {
        for (name, keys) in key_sets::nasty(3000) {
            let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_be_bytes().to_vec()).collect();
            if !keys.is_empty() {
                check(&keys);
            }
            assert!(!name.is_empty());
        }
    }

    #[test]
    fn many_records_are_learned_part_by_part() {
        let keys: Vec<Vec<u8>> = (0..100_000_u64).map(|i| format!("user{:012}", i * 7 + i % 3).into_bytes()).collect();
        check(&keys);
        let keys: Vec<Vec<u8>> = (0..100_000_u64).map(|i| format!("{:04}", i / 40_000).into_bytes()).collect();
        check(&keys);
    }

    #[test]
    fn a_long_run_of_one_number_is_given_up() {
        // The common prefix is empty, and eight bytes do not tell the others apart.
        let keys = |users: usize| {
            let users = (0..users).map(|user| format!("user{user:012}").into_bytes());
            std::iter::once(b"a".to_vec()).chain(users).collect::<Vec<_>>()
        };
        check(&keys(RECORDS_WAITING_MAX - 2));
        let keys = keys(2 * RECORDS_WAITING_MAX);
        let mut builder = ModelBuilder::new(&keys[0], keys.last().unwrap(), 8);
        keys.iter().for_each(|key| builder.add(key));
        assert!(builder.keys.fences().len() <= RECORDS_WAITING_MAX && builder.finish().is_none());
    }

    #[test]
    fn a_straight_line_of_numbers_takes_few_segments() {
        let keys: Vec<Vec<u8>> = (0..50_000_u64).map(|i| (i * 1000).to_be_bytes().to_vec()).collect();
        assert!(learn(&keys).segments() <= 6, "{}", learn(&keys).segments());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_model_or_refused(bytes: Vec<u8>, key: Vec<u8>) {
            if let Some((low, high)) = PositionModel::decode(&bytes).and_then(|model| model.window(&key)) {
                prop_assert!(low <= high);
            }
        }

        #[test]
        fn windows_hold_for_strings(mut keys: Vec<Vec<u8>>) {
            keys.sort();
            prop_assume!(!keys.is_empty());
            check(&keys);
        }
    }
}
