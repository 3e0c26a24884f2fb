//! Goal: the merge kernel gives the rows of a plain reference. Method: every kind of join, over streams cut into chunks
//! at arbitrary rows.

use super::emit::{CallerSink, Emitter, RowWriter};
use super::group::{KeyGroup, Overflow};
use super::merge::join;
use crate::error::Result;
use crate::join::rows::condition::JoinCondition;
use crate::join::rows::form::{RowForm, RowMarks, Widths};
use crate::join::rows::joined_records::JoinedRecords;
use crate::join::rows::options::{JoinKind, JoinOptions};
use crate::join::rows::sink::RowSink;
use crate::join::rows::stream::{RowSpan, RowStream, RowsView};
use crate::join::rows::task::Task;
use crate::join::test_relations::{Joined, reference_where};
use crate::types::{KeyType, RecordType};
use proptest::prelude::*;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

type Row = (Vec<u8>, Vec<u8>);

/// The layout of rows in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Look {
    /// Keys of 8 or 16 bytes.
    Dense,
    Spans,
    /// Every other value is stored outside its row.
    Long,
}

/// Rows in chunks of given lengths.
struct Chunks {
    rows: Vec<Row>,
    cuts: Vec<usize>,
    next: usize,
    look: Look,
    /// Whether rows below what is asked for are left out.
    skips: bool,
    bytes: Vec<u8>,
    spans: Vec<RowSpan>,
    dense: (usize, usize),
    first: usize,
}

impl Chunks {
    fn new(rows: &[Row], lengths: &[usize], look: Look, skips: bool) -> Self {
        let mut cuts = vec![0];
        let mut lengths = lengths.iter().cycle();
        while *cuts.last().unwrap() < rows.len() {
            let length = lengths.next().copied().unwrap_or(3).max(1);
            cuts.push((cuts.last().unwrap() + length).min(rows.len()));
        }
        let dense = rows.first().map_or((8, 8), |(key, value)| (key.len(), value.len()));
        let (bytes, spans) = (Vec::new(), Vec::new());
        Self { rows: rows.to_vec(), cuts, next: 0, look, skips, bytes, spans, dense, first: 0 }
    }
}

impl RowStream for Chunks {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        loop {
            self.bytes.clear();
            self.spans.clear();
            let Some(&end) = self.cuts.get(self.next + 1) else { return Ok(false) };
            let mut begin = self.cuts[self.next];
            self.next += 1;
            while self.skips && begin < end && from.is_some_and(|from| *self.rows[begin].0 < *from) {
                begin += 1;
            }
            self.first = begin;
            for (i, (key, value)) in self.rows[begin..end].iter().enumerate() {
                let key_at = self.bytes.len() as u32;
                self.bytes.extend_from_slice(key);
                let is_long = self.look == Look::Long && i % 2 == 0;
                let value: &[u8] = if is_long { &[] } else { value };
                self.bytes.extend_from_slice(value);
                let (key_bytes, value_bytes) = (key.len() as u32, value.len() as u32);
                self.spans.push(RowSpan { key_at, key_bytes, value_at: key_at + key_bytes, value_bytes, is_long });
            }
            if begin < end {
                return Ok(true);
            }
        }
    }

    fn rows(&self) -> RowsView<'_> {
        match self.look {
            Look::Dense => RowsView::Dense { bytes: &self.bytes, key: self.dense.0, value: self.dense.1 },
            _ => RowsView::Spans { bytes: &self.bytes, spans: &self.spans },
        }
    }

    fn long_value(&mut self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        value.clear();
        value.extend_from_slice(&self.rows[self.first + row].1);
        Ok(())
    }
}

/// A run in memory, in the place of a spill file.
#[derive(Default)]
struct Kept(Rc<RefCell<(Vec<Row>, usize)>>);

impl Overflow for Kept {
    fn put(&mut self, rows: RowsView<'_>, range: Range<usize>) -> Result<()> {
        let mut kept = self.0.borrow_mut();
        kept.0.extend(range.map(|row| (rows.key(row).to_vec(), rows.value(row).to_vec())));
        Ok(())
    }

    fn visit(&mut self, see: &mut dyn FnMut(RowsView<'_>) -> Result<()>) -> Result<()> {
        let rows = self.0.borrow().0.clone();
        self.0.borrow_mut().1 += 1;
        let mut chunks = Chunks::new(&rows, &[7], Look::Spans, false);
        while chunks.advance(None)? {
            see(chunks.rows())?;
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.0.borrow_mut().0.clear();
        Ok(())
    }
}

/// The condition of tests that have one: a third of all pairs pass.
fn passes(left: &[u8], right: &[u8]) -> bool {
    left.iter().chain(right).map(|&byte| u64::from(byte)).sum::<u64>() % 3 == 0
}

fn model(kind: JoinKind, left: &[Row], right: &[Row]) -> Vec<Joined> {
    reference_where(kind, left, right, |_, _| true)
}

fn task(kind: JoinKind) -> Arc<Task> {
    Task::new(&JoinOptions { kind, ..JoinOptions::default() }).unwrap()
}

/// Joins, with the given memory for the rows of one key; returns what the caller saw, and how often spilled rows were
/// read.
fn joined(
    (task, condition): (&Arc<Task>, Option<&JoinCondition>),
    mut left: Chunks,
    mut right: Chunks,
    group_bytes: u64,
) -> (Vec<Joined>, usize) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let theirs = seen.clone();
    let mut visit = move |key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>| {
        theirs.lock().unwrap().push((key.to_vec(), left.map(<[u8]>::to_vec), right.map(<[u8]>::to_vec)));
        Ok(())
    };
    let kept = Kept::default();
    let reads = kept.0.clone();
    let mut group = KeyGroup::new(task, group_bytes, Some(Box::new(kept)), condition).unwrap();
    let mut sink = CallerSink { visit: &mut visit, rows: 0 };
    let mut rows = 0;
    join(task, &mut left, &mut right, &mut sink, &mut group, &mut |count| rows += count).unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(sink.rows(), seen.len() as u64);
    if task.kind.keeps_unmatched() {
        assert_eq!(rows as usize, left.rows.len(), "every left chunk is reported once");
    }
    let reads = reads.borrow().1;
    (seen, reads)
}

fn check(kind: JoinKind, left: Chunks, right: Chunks, group_bytes: u64) -> usize {
    let expected = model(kind, &left.rows, &right.rows);
    check_rows((&task(kind), None), left, right, group_bytes, expected)
}

/// As [`check`], for a third of the pairs.
fn check_where(kind: JoinKind, left: Chunks, right: Chunks, group_bytes: u64) -> usize {
    let options = JoinOptions { kind, ..JoinOptions::default() }.condition(|pair| Ok(passes(pair.left, pair.right)));
    let expected = reference_where(kind, &left.rows, &right.rows, passes);
    check_rows((&Task::new(&options).unwrap(), options.condition.as_ref()), left, right, group_bytes, expected)
}

fn check_rows(
    task: (&Arc<Task>, Option<&JoinCondition>),
    left: Chunks,
    right: Chunks,
    group_bytes: u64,
    mut expected: Vec<Joined>,
) -> usize {
    let kind = task.0.kind;
    let (mut seen, reads) = joined(task, left, right, group_bytes);
    let keys: Vec<_> = seen.iter().map(|row| &row.0).collect();
    assert!(keys.is_sorted(), "rows of {kind} are out of order");
    if !kind.pairs() {
        assert_eq!(seen, expected, "left rows of {kind} keep their order");
    }
    expected.sort();
    seen.sort();
    assert_eq!(seen, expected, "{kind}");
    reads
}

/// Sorted rows: few keys, so that there are runs on both sides; values tell rows apart.
fn rows(keys: Vec<u8>, width: usize, mark: u8) -> Vec<Row> {
    let mut keys = keys;
    keys.sort_unstable();
    let numbered = keys.into_iter().enumerate();
    numbered
        .map(|(i, key)| {
            let mut bytes = vec![0; width];
            bytes[width - 1] = key;
            (bytes, (i as u64 * 256 + u64::from(mark)).to_le_bytes().to_vec())
        })
        .collect()
}

fn looks() -> impl Strategy<Value = Look> {
    prop_oneof![Just(Look::Dense), Just(Look::Spans), Just(Look::Long)]
}

proptest! {
    #[test]
    fn every_kind_of_join_gives_what_the_model_gives(
        ours in proptest::collection::vec(0_u8..12, 0..60),
        theirs in proptest::collection::vec(0_u8..12, 0..60),
        cuts in (proptest::collection::vec(1_usize..9, 1..5), proptest::collection::vec(1_usize..9, 1..5)),
        width in prop_oneof![Just(8_usize), Just(16), Just(3)],
        look in (looks(), looks()),
        skips in (any::<bool>(), any::<bool>()),
        group_bytes in prop_oneof![Just(0_u64), Just(1 << 20)],
    ) {
        let (ours, theirs) = (rows(ours, width, 1), rows(theirs, width, 2));
        for (kind, _) in JoinKind::ALL {
            let left = Chunks::new(&ours, &cuts.0, look.0, skips.0 && !kind.keeps_unmatched());
            let right = || Chunks::new(&theirs, &cuts.1, look.1, skips.1 && kind != JoinKind::Full);
            check(kind, left, right(), group_bytes);
            let left = Chunks::new(&ours, &cuts.0, look.0, skips.0 && !kind.keeps_unmatched());
            check_where(kind, left, right(), group_bytes);
        }
    }

    #[test]
    fn sparse_and_dense_sides_gallop_past_each_other(
        ours in proptest::collection::btree_set(any::<u16>(), 0..20),
        theirs in proptest::collection::btree_set(any::<u16>(), 0..400),
        swap: bool,
        cuts in proptest::collection::vec(1_usize..90, 1..5),
    ) {
        let make = |keys: &std::collections::BTreeSet<u16>| -> Vec<Row> {
            keys.iter().map(|key| (u64::from(*key / 4).to_be_bytes().to_vec(), key.to_le_bytes().to_vec())).collect()
        };
        let (mut ours, mut theirs) = (make(&ours), make(&theirs));
        if swap {
            std::mem::swap(&mut ours, &mut theirs);
        }
        for (kind, _) in JoinKind::ALL {
            let left = Chunks::new(&ours, &cuts, Look::Dense, false);
            let right = || Chunks::new(&theirs, &cuts, Look::Dense, true);
            check(kind, left, right(), 1 << 16);
            check_where(kind, Chunks::new(&ours, &cuts, Look::Dense, false), right(), 1 << 16);
        }
    }
}

/// Pitfalls, learned 16: one key with more rows than memory, on one side or on both.
#[test]
fn a_key_with_more_rows_than_memory_is_joined_all_the_same() {
    let many = |count: u64| -> Vec<Row> {
        (0..count).map(|i| (7_u64.to_be_bytes().to_vec(), i.to_le_bytes().to_vec())).collect()
    };
    for look in [Look::Dense, Look::Spans] {
        for (left, right, spills) in [(1000, 3, false), (3, 1000, false), (400, 330, true)] {
            let (left, right) = (many(left), many(right));
            // A chunk border within the short run too.
            let streams = (Chunks::new(&left, &[100], look, false), Chunks::new(&right, &[2, 90], look, false));
            let reads = check(JoinKind::Inner, streams.0, streams.1, 0);
            assert_eq!(reads > 1, spills, "{} x {}", left.len(), right.len());
            for (kind, _) in JoinKind::ALL {
                let streams = (Chunks::new(&left, &[100], look, false), Chunks::new(&right, &[2, 90], look, false));
                assert_eq!(check_where(kind, streams.0, streams.1, 0) > 1, spills, "{kind}");
            }
        }
    }
}

#[test]
fn without_a_place_to_spill_too_many_rows_of_one_key_are_refused() {
    let many: Vec<Row> = (0..1000_u64).map(|i| (vec![7; 8], i.to_le_bytes().to_vec())).collect();
    let task = task(JoinKind::Inner);
    let mut group = KeyGroup::new(&task, 0, None, None).unwrap();
    let mut sink = CallerSink { visit: &mut |_, _, _| Ok(()), rows: 0 };
    let (mut left, mut right) =
        (Chunks::new(&many, &[9], Look::Dense, false), Chunks::new(&many, &[9], Look::Dense, false));
    let refused = join(&task, &mut left, &mut right, &mut sink, &mut group, &mut |_| ());
    assert!(matches!(refused, Err(crate::Error { cause: crate::Cause::JoinMemory { .. }, .. })), "{refused:?}");
}

#[derive(Default)]
struct Gathered(Arc<Mutex<Vec<Row>>>, usize, usize);

impl RowWriter for Gathered {
    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        assert!(rows.len().is_multiple_of(self.2));
        let mut gathered = self.0.lock().unwrap();
        gathered.extend(rows.chunks_exact(self.2).map(|row| (row[..self.1].to_vec(), row[self.1..].to_vec())));
        Ok(())
    }

    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.lock().unwrap().push((key.to_vec(), value.to_vec()));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

proptest! {
    #[test]
    fn rows_are_encoded_as_described(
        ours in proptest::collection::vec(0_u8..9, 0..40),
        theirs in proptest::collection::vec(0_u8..9, 0..40),
        key in prop_oneof![Just(8_usize), Just(16), Just(5)],
        widths in (0_usize..3, 0_usize..3),
        fixed in (any::<bool>(), any::<bool>(), any::<bool>()),
        look in (looks(), looks()),
    ) {
        let cut = |rows: Vec<Row>, width: usize| -> Vec<Row> {
            let widened = |value: Vec<u8>| value.into_iter().cycle().take(width * 8).collect();
            rows.into_iter().map(|(key, value)| (key, widened(value))).collect()
        };
        let (left, right) = (cut(rows(ours, key, 1), widths.0), cut(rows(theirs, key, 2), widths.1));
        for (kind, _) in JoinKind::ALL {
            let known = |is_known: bool, width: usize| is_known.then_some(width * 8);
            let form = RowForm {
                kind,
                key_type: KeyType::Bytes,
                key: fixed.2.then_some(key),
                left: known(fixed.0, widths.0),
                right: known(fixed.1, widths.1),
                marks: RowMarks::of_kind(kind),
            };
            let types = RecordType::default();
            let widths = [form.left, form.right];
            let mut records = JoinedRecords::new(kind, KeyType::Bytes, [&types, &types], widths).unwrap();
            let streams = || (Chunks::new(&left, &[5, 2], look.0, false), Chunks::new(&right, &[3], look.1, false));
            let rows = model(kind, &left, &right);
            if let Some(widths) = form.widths() {
                let made = emitted(kind, key, form, streams(), |writer| Emitter::dense(form, widths, writer));
                let mut expected: Vec<Row> = rows.iter().map(|row| encoded(widths, kind, row.clone())).collect();
                expected.sort();
                prop_assert_eq!(made, expected);
            }
            let of_records = form.of_records(records.marks());
            let made = emitted(kind, key, of_records, streams(), |writer| {
                Emitter::of_records(of_records, records.clone(), writer)
            });
            let mut expected: Vec<Row> = Vec::new();
            for (key, left, right) in rows {
                let mut value = Vec::new();
                records.append(&[], left.as_deref(), right.as_deref(), &mut value).unwrap();
                expected.push((key, value));
            }
            expected.sort();
            prop_assert_eq!(made, expected);
        }
    }
}

/// The rows of a join that an emitter writes, sorted.
fn emitted<'w>(
    kind: JoinKind,
    key_bytes: usize,
    form: RowForm,
    (mut left, mut right): (Chunks, Chunks),
    emitter: impl FnOnce(Box<dyn RowWriter + 'w>) -> Emitter<'w>,
) -> Vec<Row> {
    let gathered = Arc::new(Mutex::new(Vec::new()));
    let mut sink = emitter(Box::new(Gathered(gathered.clone(), key_bytes, form.row_bytes().unwrap_or(1))));
    let task = task(kind);
    let mut group = KeyGroup::new(&task, 1 << 20, None, None).unwrap();
    join(&task, &mut left, &mut right, &mut sink, &mut group, &mut |_| ()).unwrap();
    let mut rows = gathered.lock().unwrap().clone();
    assert_eq!(sink.rows(), rows.len() as u64);
    rows.sort();
    rows
}

/// The dense form that the documentation gives.
fn encoded(widths: Widths, kind: JoinKind, (key, left, right): Joined) -> Row {
    let flag = match kind {
        JoinKind::Full if left.is_none() => vec![2],
        JoinKind::Left | JoinKind::Full => vec![u8::from(right.is_some())],
        _ => vec![],
    };
    let value = match kind {
        JoinKind::Semi | JoinKind::Anti => left.unwrap(),
        JoinKind::Inner | JoinKind::Left | JoinKind::Full => {
            [flag, left.unwrap_or(vec![0; widths.left]), right.unwrap_or(vec![0; widths.right])].concat()
        }
    };
    (key, value)
}
