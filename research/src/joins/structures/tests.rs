//! Goal: the windows of every structure hold the keys they should, and probes give the rows of a plain reference
//! whatever the index says. Method: methods for tests alone, which see the table as the methods of this crate do.

use super::methods::BlockStructure;
use super::probe::ProbeJoin;
use super::{BTREE, BTREE_CURSOR, METHODS, PARTITION_BTREE, PGM, ProbeOptions, RADIX_SPLINE, RMI, SAMPLED_PGM};
use crate::register;
use ogive::index::extend::Tunable;
use ogive::io::{MemoryStorage, Storage};
use ogive::join::extend::{
    BlockFinger, BlockIndex, BlockWindow, InnerTable, JoinCostModel, JoinProbe, JoinProbeMethod,
};
use ogive::join::{JoinCost, JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinSide, JoinSource, join};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::tune::DesignRequest;
use ogive::{Cause, Error, KeyType, Result};
use ogive_testkit::Random;
use ogive_testkit::key_sets::nasty;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

type Row = (Vec<u8>, Vec<u8>);
/// A row as a caller sees it.
type Seen = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

const STRUCTURES: [BlockStructure; 6] = [
    BlockStructure::Btree,
    BlockStructure::BtreeCursor,
    BlockStructure::Pgm,
    BlockStructure::SampledPgm,
    BlockStructure::RadixSpline,
    BlockStructure::Rmi,
];
const PROBES: [JoinMethod; 6] = [BTREE, BTREE_CURSOR, PGM, SAMPLED_PGM, RADIX_SPLINE, RMI];

/// Checks the windows of every structure over the inner table, in place of a join.
#[derive(Debug)]
struct WindowCheck;

const WINDOW_CHECK: JoinMethod = JoinMethod::probe(&WindowCheck);

impl JoinProbeMethod for WindowCheck {
    fn name(&self) -> &'static str {
        "inlj:window-check"
    }

    fn cost(&self, _: &JoinCostModel<'_>, _: JoinSide, _: u64) -> Result<JoinCost, String> {
        Ok(JoinCost::default())
    }

    fn prepare(&self, inner: InnerTable<'_>, _: u64, _: &[Tunable]) -> Result<Box<dyn JoinProbe>> {
        let homes = homes(inner)?;
        for structure in STRUCTURES {
            for is_forward in [false, true] {
                let (index, _memory) = structure.index(inner, 300, is_forward)?;
                check_windows(&*index, &homes, inner.blocks(), &format!("{structure:?}, forward: {is_forward}"));
            }
        }
        Err(Error::input("checked"))
    }
}

/// The block where the first row of each key lies.
fn homes(inner: InnerTable<'_>) -> Result<BTreeMap<Vec<u8>, u64>> {
    let mut homes = BTreeMap::new();
    let mut reader = inner.reader(1 << 20);
    for block in 0..inner.blocks() {
        reader.read(block..block + 1)?;
        reader.decode(0)?;
        let rows = reader.rows(0);
        (0..rows.len()).for_each(|row| _ = homes.entry(rows.key(row).to_vec()).or_insert(block));
    }
    Ok(homes)
}

/// Looks all keys and their neighbours up, in order and then in reverse.
fn check_windows(index: &dyn BlockIndex, homes: &BTreeMap<Vec<u8>, u64>, blocks: u64, what: &str) {
    let mut keys: Vec<Vec<u8>> = homes.keys().cloned().collect();
    for key in homes.keys() {
        if let Ok(word) = <[u8; 8]>::try_from(&key[..]) {
            let x = u64::from_be_bytes(word);
            keys.extend([x.saturating_sub(1), x.saturating_add(1)].map(|x| x.to_be_bytes().to_vec()));
        } else {
            keys.extend([[&key[..], &[0]].concat(), key[..key.len().saturating_sub(1)].to_vec()]);
        }
    }
    keys.sort();
    let mut finger = BlockFinger::default();
    for key in keys.iter().chain(keys.iter().rev()) {
        let window = index.find(key, &mut finger).unwrap();
        assert!(window.first <= window.last && window.last < blocks, "{what}: {window:?} of {blocks}");
        if let Some(home) = homes.get(key).filter(|_| window.is_exact) {
            assert!((window.first..=window.last).contains(home), "{what}: {key:?} in {home}, not in {window:?}");
        }
    }
}

fn assert_windows(table: &Table) {
    WINDOW_CHECK.register().unwrap();
    let options = JoinOptions::default().method(WINDOW_CHECK).memory_bytes(64 << 20);
    let source = JoinSource::table(table);
    let outcome = join(&source, &source, JoinOutput::caller(|_, _, _| Ok(())), &options);
    assert!(
        matches!(&outcome, Err(error @ Error { cause: Cause::Input, .. }) if error.detail() == "checked"),
        "{outcome:?}"
    );
}

/// A table of these rows in blocks of 512 bytes.
fn table(name: &str, rows: &[Row], shape: (KeyType, Option<u32>), design: DesignRequest) -> Table {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(shape.0).value_width(shape.1).block_bytes(512).design(design);
    let mut writer = TableWriter::create((storage.clone(), name), options).unwrap();
    rows.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    Table::open((storage, name), &TableOptions::default()).unwrap()
}

fn numbered(keys: &[u64]) -> Vec<Row> {
    keys.iter().zip(0_u64..).map(|(key, i)| (key.to_be_bytes().to_vec(), i.to_le_bytes().to_vec())).collect()
}

#[test]
fn every_structure_leads_to_the_first_row_of_every_key_of_nasty_sets() {
    for (name, keys) in nasty(1500) {
        for design in [DesignRequest::None, DesignRequest::Coded] {
            assert_windows(&table(&name.replace('/', "-"), &numbered(&keys), (KeyType::U64, Some(8)), design));
        }
    }
}

/// Keys that share long prefixes, repeat, and are of all lengths.
fn strings(random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            let stem: &[u8] = [&b"http://a/"[..], b"http://a/\0", b"http://b/c/d/e/f/"][random.below(3) as usize];
            let tail = random.below(20) as usize;
            [stem, &(0..tail).map(|_| random.below(3) as u8).collect::<Vec<_>>()].concat()
        })
        .collect();
    keys.sort();
    keys
}

#[test]
fn every_structure_leads_to_the_first_row_of_every_byte_string() {
    let mut random = Random::new(5);
    for design in [DesignRequest::None, DesignRequest::Coded, DesignRequest::Tuned] {
        let rows: Vec<Row> = strings(&mut random, 4000).into_iter().map(|key| (key, b"value".to_vec())).collect();
        assert_windows(&table("strings", &rows, (KeyType::Bytes, None), design.clone()));
        let wide: Vec<Row> = (0..4000_u128).map(|i| (((i * i / 7) << 60).to_be_bytes().to_vec(), vec![7; 4])).collect();
        assert_windows(&table("wide", &wide, (KeyType::U128, Some(4)), design));
    }
}

/// A method whose index says anything; its number is the seed.
#[derive(Debug)]
struct Misleading;

const MISLEADING: JoinMethod = JoinMethod::probe(&Misleading);

impl JoinProbeMethod for Misleading {
    fn name(&self) -> &'static str {
        "inlj:misleading"
    }

    fn listed_number(&self) -> Option<u64> {
        Some(1)
    }

    fn cost(&self, _: &JoinCostModel<'_>, _: JoinSide, _: u64) -> Result<JoinCost, String> {
        Ok(JoinCost::default())
    }

    fn prepare(&self, inner: InnerTable<'_>, number: u64, tunables: &[Tunable]) -> Result<Box<dyn JoinProbe>> {
        let forward_window = ProbeOptions::parse(tunables)?.forward_window.unwrap_or(false);
        let (_, memory) = inner.separators()?;
        let index = MisleadingIndex { seed: number, blocks: inner.blocks().max(1), length: number % 5 };
        Ok(Box::new(ProbeJoin { index: Arc::new(index), forward_window, _memory: memory }))
    }
}

#[derive(Debug)]
struct MisleadingIndex {
    seed: u64,
    blocks: u64,
    length: u64,
}

impl BlockIndex for MisleadingIndex {
    fn find(&self, key: &[u8], _: &mut BlockFinger) -> Result<BlockWindow> {
        let sum = key.iter().fold(self.seed, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let first = Random::new(sum).below(self.blocks);
        Ok(BlockWindow { first, last: (first + self.length).min(self.blocks - 1), is_exact: false })
    }

    fn bytes(&self) -> u64 {
        0
    }
}

/// The rows of a join by a plain model, sorted.
fn model(kind: JoinKind, left: &[Row], right: &[Row]) -> Vec<Seen> {
    let mut partners: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    right.iter().for_each(|(key, value)| partners.entry(key).or_default().push(value));
    let mut seen: Vec<Seen> = Vec::new();
    for (key, value) in left {
        let found = partners.get(&key[..]);
        let mut give = |right: Option<&[u8]>| seen.push((key.clone(), value.clone(), right.map(<[u8]>::to_vec)));
        match (kind, found) {
            (JoinKind::Inner | JoinKind::Left, Some(found)) => found.iter().for_each(|right| give(Some(right))),
            (JoinKind::Semi, Some(_)) | (JoinKind::Left | JoinKind::Anti, None) => give(None),
            _ => {}
        }
    }
    seen.sort();
    seen
}

/// The rows that a join gives, checked for their order, and sorted.
fn run(left: &Table, right: &Table, options: &JoinOptions) -> Vec<Seen> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let taken = seen.clone();
    let output = JoinOutput::caller(move |key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>| {
        taken.lock().unwrap().push((key.to_vec(), left.unwrap().to_vec(), right.map(<[u8]>::to_vec)));
        Ok(())
    });
    let report = join(&JoinSource::table(left), &JoinSource::table(right), output, options).unwrap();
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(report.rows, seen.len() as u64);
    assert!(seen.is_sorted_by(|a, b| a.0 <= b.0), "rows come in key order");
    seen.sort();
    seen
}

/// Every kind, either side, with a window that only moves forward and without, against the model.
fn check_joins(outer: (&[Row], &Table), inner: (&[Row], &Table), method: JoinMethod, memory_bytes: u64, what: &str) {
    MISLEADING.register().unwrap();
    for (kind, _) in JoinKind::ALL.into_iter().filter(|(kind, _)| *kind != JoinKind::Full) {
        for side in [JoinSide::Right, JoinSide::Left] {
            if side == JoinSide::Left && kind.keeps_unmatched() {
                continue;
            }
            let (left, right) = if side == JoinSide::Right { (outer, inner) } else { (inner, outer) };
            let expected = model(kind, left.0, right.0);
            for forward_window in [false, true] {
                let probes = ProbeOptions { leaf_iterator: None, forward_window: Some(forward_window) };
                let (inner, tunables) = (Some(side), probes.tunables());
                let options = JoinOptions::default()
                    .kind(kind)
                    .method(method)
                    .inner(inner)
                    .memory_bytes(memory_bytes)
                    .tunables(tunables);
                let seen = run(left.1, right.1, &options);
                let lost = expected.iter().find(|row| seen.binary_search(row).is_err());
                let (found, wanted) = (seen.len(), expected.len());
                assert!(seen == expected, "{what}: {options:?}: {found} rows for {wanted}, without {lost:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn joins_equal_the_model_whatever_the_index_says(
        seed: u64, outer_rows in 0_usize..400, inner_rows in 0_usize..2500, spread in 1_u64..4000, runs in 0_u64..3,
        method in 0_usize..6, liar in proptest::option::of(1_u64..100), small: bool, shape in 0_usize..3,
    ) {
        register();
        let mut random = Random::new(seed);
        let mut rows = |count: usize| {
            let mut keys: Vec<u64> = (0..count).map(|_| random.below(spread) * 7).collect();
            if runs > 0 && count > 300 {
                // One key with many repeats.
                let key = keys[0];
                keys.iter_mut().take(200 * runs as usize).for_each(|other| *other = key);
            }
            keys.sort_unstable();
            let mut rows = numbered(&keys);
            for (key, value) in &mut rows {
                match shape {
                    0 => {}
                    1 => *key = [b"prefix/", &key[..]].concat(),
                    _ => value.truncate(random.below(8) as usize),
                }
            }
            rows
        };
        let (ours, theirs) = (rows(outer_rows), rows(inner_rows));
        let (key_type, width) = match shape {
            0 => (KeyType::U64, Some(8)),
            1 => (KeyType::Bytes, None),
            _ => (KeyType::U64, None),
        };
        let outer = table("outer", &ours, (key_type, width), DesignRequest::None);
        let inner = table("inner", &theirs, (key_type, width), DesignRequest::Coded);
        let memory_bytes = if small { 1 << 20 } else { 8 << 20 };
        let method = liar.map_or(PROBES[method], |seed| MISLEADING.with_number(seed));
        check_joins((&ours, &outer), (&theirs, &inner), method, memory_bytes, "generated");
    }
}

#[test]
fn nasty_sets_join_with_each_other() {
    register();
    let sets = nasty(700);
    let tables: Vec<(Vec<Row>, Table)> = sets
        .iter()
        .map(|(name, keys)| {
            let rows = numbered(keys);
            let table = table(name, &rows, (KeyType::U64, Some(8)), DesignRequest::Coded);
            (rows, table)
        })
        .collect();
    for (i, (ours, outer)) in tables.iter().enumerate() {
        let (theirs, inner) = &tables[(i * 7 + 3) % tables.len()];
        for (theirs, inner) in [(theirs, inner), (ours, outer)] {
            if sets[i].0 == "all_equal" && ours == theirs {
                continue;
            }
            let what = format!("{:?} in {:?}", outer.path(), inner.path());
            check_joins((ours, outer), (theirs, inner), PROBES[i % PROBES.len()], 1 << 20, &what);
        }
    }
}

#[test]
fn runs_longer_than_all_buffers_pass_on_either_side_whatever_the_index_says() {
    register();
    let around = |run: usize| {
        let mut keys: Vec<u64> = (0..3000).map(|i| i * 2).chain(std::iter::repeat_n(2001, run)).collect();
        keys.sort_unstable();
        numbered(&keys)
    };
    let (few, many) = (around(3), around(30_000));
    let short = table("short", &few, (KeyType::U64, Some(8)), DesignRequest::Coded);
    let long = table("long", &many, (KeyType::U64, Some(8)), DesignRequest::Coded);
    for method in [BTREE_CURSOR, MISLEADING.with_number(3)] {
        check_joins((&few, &short), (&many, &long), method, 1 << 20, "a long run inside");
        check_joins((&many, &long), (&few, &short), method, 1 << 20, "a long run outside");
    }
}

/// Two tables, for joins that do not end well.
fn pair() -> (Table, Table) {
    let keys: Vec<u64> = (0..60_000).map(|i| i * 3).collect();
    let make = |name| table(name, &numbered(&keys), (KeyType::U64, Some(8)), DesignRequest::Coded);
    (make("outer"), make("inner"))
}

#[test]
fn a_join_ends_when_it_is_told_to_and_when_its_sink_fails() {
    register();
    let (outer, inner) = pair();
    for fails in [false, true] {
        let stop = Arc::new(AtomicBool::new(false));
        let (told, mut rows) = (stop.clone(), 0);
        let output = JoinOutput::caller(move |_: &[u8], _: Option<&[u8]>, _: Option<&[u8]>| {
            rows += 1;
            told.store(rows == 1000 && !fails, Ordering::Relaxed);
            if rows < 1000 || !fails { Ok(()) } else { Err(Error::input("enough")) }
        });
        let (inner_side, memory_bytes) = (Some(JoinSide::Right), 2 << 20);
        let options =
            JoinOptions::default().method(BTREE).inner(inner_side).memory_bytes(memory_bytes).stop(Some(stop));
        let outcome = join(&JoinSource::table(&outer), &JoinSource::table(&inner), output, &options);
        match fails {
            true => {
                assert!(matches!(outcome, Err(error @ Error { cause: Cause::Input, .. }) if error.detail() == "enough"))
            }
            // The flag is reset by the next row, so it may have been missed.
            false => assert!(matches!(outcome, Err(Error { cause: Cause::Interrupted, .. }) | Ok(_))),
        }
    }
}

#[test]
fn joins_keep_to_their_memory_and_say_when_it_is_too_little() {
    register();
    let (outer, inner) = pair();
    for method in METHODS.into_iter().filter(|method| *method != PARTITION_BTREE) {
        for memory_bytes in [1 << 20, 3 << 20, 64 << 20] {
            let output = JoinOutput::caller(|_: &[u8], _: Option<&[u8]>, _: Option<&[u8]>| Ok(()));
            let options = JoinOptions::default().method(method).inner(JoinSide::Right).memory_bytes(memory_bytes);
            match join(&JoinSource::table(&outer), &JoinSource::table(&inner), output, &options) {
                Ok(report) => assert!(report.rows == 60_000 && report.peak_memory_bytes <= memory_bytes, "{method}"),
                Err(error) => panic!("{method} within {memory_bytes} bytes: {error}"),
            }
        }
    }
}
