//! Rows, relations of every sort that hold them, and the plain reference for their joins.

#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test binary uses a part of what all of them share")]

mod draws;

pub use draws::Draws;
use ogive::index::{Index, IndexKind, IndexOptions, Key};
use ogive::io::{MemoryStorage, Storage};
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinReport, JoinSource, RecordShape, join};
use ogive::lsm::{Db, DbOptions};
use ogive::table::external::RecordFile;
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType, Result};
use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Key and value.
pub type Row = (Vec<u8>, Vec<u8>);
/// Key, and the left and right values that there are.
pub type Joined = (Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>);

/// The expected rows of a join, sorted.
pub fn reference(kind: JoinKind, left: &[Row], right: &[Row]) -> Vec<Joined> {
    reference_where(kind, left, right, |_, _, _| true)
}

/// The expected rows of a join, sorted, in which pairs must pass a condition on key, left and right value.
pub fn reference_where(
    kind: JoinKind,
    left: &[Row],
    right: &[Row],
    passes: impl Fn(&[u8], &[u8], &[u8]) -> bool,
) -> Vec<Joined> {
    let mut partners: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (at, (key, _)) in right.iter().enumerate() {
        partners.entry(key).or_default().push(at);
    }
    let mut is_matched = vec![false; right.len()];
    let mut rows = Vec::new();
    for (key, value) in left {
        let found = partners.get(key.as_slice()).map(Vec::as_slice).unwrap_or_default();
        let found: Vec<usize> = found.iter().copied().filter(|&at| passes(key, value, &right[at].1)).collect();
        let alone = match kind {
            JoinKind::Inner => false,
            JoinKind::Left | JoinKind::Full | JoinKind::Anti => found.is_empty(),
            JoinKind::Semi => !found.is_empty(),
        };
        if alone {
            rows.push((key.clone(), Some(value.clone()), None));
        }
        for at in found.into_iter().filter(|_| kind.pairs()) {
            is_matched[at] = true;
            rows.push((key.clone(), Some(value.clone()), Some(right[at].1.clone())));
        }
    }
    if kind == JoinKind::Full {
        let alone = right.iter().zip(is_matched).filter(|(_, is_matched)| !is_matched);
        rows.extend(alone.map(|((key, value), _)| (key.clone(), None, Some(value.clone()))));
    }
    rows.sort();
    rows
}

/// Joins, and takes the rows as they come.
pub fn collect(left: &JoinSource, right: &JoinSource, options: &JoinOptions) -> Result<(Vec<Joined>, JoinReport)> {
    let mut rows = Vec::new();
    let output = JoinOutput::caller(|key, left, right| {
        rows.push((key.to_vec(), left.map(<[u8]>::to_vec), right.map(<[u8]>::to_vec)));
        Ok(())
    });
    let report = join(left, right, output, options)?;
    Ok((rows, report))
}

/// Options with a place for spill files.
pub fn options(kind: JoinKind, method: JoinMethod, memory_bytes: u64) -> JoinOptions {
    let spill: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    JoinOptions::default().kind(kind).method(method).memory_bytes(memory_bytes).spill(Some((spill, "spilled".into())))
}

/// Holds a join against the reference: the same rows, in key order unless that was given up, and nothing left where
/// rows are put aside. Returns whether the method could join these at all.
#[track_caller]
pub fn check(left: &JoinSource, right: &JoinSource, options: &JoinOptions, expected: &[Joined], what: &str) -> bool {
    let what = format!("{what}: {} by {}, {} threads", options.kind, options.method, options.threads);
    let (mut rows, report) = match collect(left, right, options) {
        Ok(joined) => joined,
        Err(error @ Error { cause: Cause::Input, .. })
            if error.detail().contains("cannot join these") || error.detail().contains("no way to be") =>
        {
            return false;
        }
        Err(error) => panic!("{what}: {error}"),
    };
    if !options.any_order {
        assert!(rows.is_sorted_by(|a, b| a.0 <= b.0), "{what}: not in key order");
    }
    assert_eq!(report.rows, rows.len() as u64, "{what}");
    rows.sort();
    if rows != expected {
        let at = rows.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(rows.len().min(expected.len()));
        panic!(
            "{what}: {} rows, not {}; row {at} is {:?}, not {:?}",
            rows.len(),
            expected.len(),
            rows.get(at),
            expected.get(at)
        );
    }
    if let Some((storage, _)) = &options.spill {
        assert_eq!(storage.list().unwrap(), [""; 0], "{what}: left behind");
    }
    true
}

/// The layout of rows in a table.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub key_type: KeyType,
    pub value_width: Option<u32>,
    pub design: &'static str,
    pub block_bytes: u32,
    pub coding: bool,
}

/// Records of 16 bytes in small blocks.
pub const DENSE: Shape =
    Shape { key_type: KeyType::U64, value_width: Some(8), design: "coded", block_bytes: 512, coding: true };

pub fn write_table(storage: &Arc<dyn Storage>, name: &str, rows: &[Row], shape: Shape) -> Table {
    let options = TableWriteOptions::default()
        .key_type(shape.key_type)
        .value_width(shape.value_width)
        .block_bytes(shape.block_bytes)
        .coding(shape.coding)
        .design(shape.design.parse().unwrap());
    let mut writer = TableWriter::create((storage.clone(), name), options).unwrap();
    rows.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    Table::open((storage.clone(), name), &TableOptions::default().memory_bytes(1 << 20)).unwrap()
}

/// A table of sorted rows.
pub fn table(rows: &[Row], shape: Shape) -> JoinSource {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    JoinSource::table(&write_table(&storage, "t", rows, shape))
}

/// Rows in an order that has nothing to do with their keys.
pub fn shuffled(rows: &[Row]) -> Vec<Row> {
    let mut random = Random::new(rows.len() as u64 + 1);
    let mut rows = rows.to_vec();
    for i in (1..rows.len()).rev() {
        rows.swap(i, random.below(i as u64 + 1) as usize);
    }
    rows
}

/// The rows as a caller gives them, shuffled.
pub fn unsorted(rows: &[Row], key_type: KeyType, value_bytes: Option<usize>) -> JoinSource {
    let bytes: usize = rows.iter().map(|(key, value)| key.len() + value.len()).sum();
    let shape =
        RecordShape { name: "shuffled".into(), key_type, value_bytes, rows: rows.len() as u64, bytes: bytes as u64 };
    let rows = Arc::new(shuffled(rows));
    JoinSource::unsorted(shape, move || {
        let rows = rows.clone();
        Box::new((0..rows.len()).map(move |row| Ok(rows[row].clone())))
    })
}

/// A file of records of 16 bytes, sorted or shuffled.
pub fn file(rows: &[Row], is_sorted: bool) -> JoinSource {
    let storage = MemoryStorage::new();
    let rows = if is_sorted { rows.to_vec() } else { shuffled(rows) };
    let mut file = storage.create("records").unwrap();
    for (key, value) in &rows {
        file.append(&[&key[..], value].concat()).unwrap();
    }
    file.sync().unwrap();
    drop(file);
    let layout = RecordFile { header_bytes: 0, counted: false, key_bytes: 8, value_bytes: 8, little_endian: false };
    JoinSource::records((Arc::new(storage), "records"), layout, is_sorted).unwrap()
}

/// An index of 8-byte keys and values.
pub fn index(rows: &[Row], kind: IndexKind, duplicates: bool) -> JoinSource {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = IndexOptions::default().kind(kind).duplicates(duplicates).payload_bytes(8);
    let index: Index<u64, Vec<u8>> = Index::create((storage.clone(), "i"), &options).unwrap();
    let entries =
        rows.iter().map(|(key, value)| (u64::from_be_bytes(key.as_slice().try_into().unwrap()), value.clone()));
    index.bulk_load(entries).unwrap();
    JoinSource::index(&index).unwrap()
}

/// All entries of a keyspace.
pub fn store(folder: &std::path::Path, rows: &[Row]) -> JoinSource {
    let db = Db::open(folder, &DbOptions::default().create(true)).unwrap();
    let keyspace = db.keyspace("default").unwrap();
    rows.iter().for_each(|(key, value)| keyspace.insert(key, value).unwrap());
    JoinSource::snapshot::<Vec<u8>>(&db.snapshot(), &keyspace, ..)
}

/// Rows of 8-byte keys, each with a value of its own.
pub fn numbered(keys: &[u64], seed: u64) -> Vec<Row> {
    let value = |at: usize| (seed << 32 | at as u64).to_le_bytes().to_vec();
    keys.iter().enumerate().map(|(at, key)| (key.to_be_bytes().to_vec(), value(at))).collect()
}

/// The same keys as text of varying length, with values of varying length.
pub fn texts(keys: &[u64], seed: u64) -> Vec<Row> {
    let value = |at: usize| vec![b'a' + (seed % 26) as u8; (at * 7) % 23];
    let key = |key: u64| match key % 5 {
        0 => format!("{key:020}/with/a/tail"),
        _ => format!("{key:020}"),
    };
    keys.iter().enumerate().map(|(at, &number)| (key(number).into_bytes(), value(at))).collect()
}

/// The same keys in 16 bytes, without values.
pub fn wide(keys: &[u64]) -> Vec<Row> {
    keys.iter().map(|&key| ((u128::from(key) << 40).to_be_bytes().to_vec(), Vec::new())).collect()
}

/// The same keys in this many bytes, as many as fit, each with a value of its own.
pub fn narrow_or_wide(keys: &[u64], width: usize, seed: u64) -> Vec<Row> {
    let shift = 8 * width.saturating_sub(10);
    let most = u128::MAX >> (8 * (16 - width));
    let mut keys: Vec<u128> = keys.iter().map(|&key| (u128::from(key) << shift) & most).collect();
    keys.sort_unstable();
    // So that the rows of a join stay few where keys are.
    keys.truncate(if width == 1 { 200 } else { usize::MAX });
    let value = |at: usize| (seed << 32 | at as u64).to_le_bytes().to_vec();
    keys.iter().enumerate().map(|(at, key)| (key.to_be_bytes()[16 - width..].to_vec(), value(at))).collect()
}

/// An index of the keys of these rows, with their values.
pub fn index_of<K: Key>(rows: &[Row], key: impl Fn(&[u8]) -> K) -> JoinSource {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = IndexOptions::default().duplicates(true).payload_bytes(8);
    let index: Index<K, Vec<u8>> = Index::create((storage.clone(), "i"), &options).unwrap();
    index.bulk_load(rows.iter().map(|(bytes, value)| (key(bytes), value.clone()))).unwrap();
    JoinSource::index(&index).unwrap()
}

fn keys_of(range: Range<u64>, step: usize) -> Vec<u64> {
    range.step_by(step).collect()
}

/// Pairs of sorted keys that have to do with each other in every way, with their names.
pub fn pairs(size: u64) -> Vec<(&'static str, Vec<u64>, Vec<u64>)> {
    let repeated = |times: u64, distinct: u64| (0..distinct).flat_map(|key| vec![key * 3; times as usize]).collect();
    let zipf = |seed: u64| {
        let mut random = Random::new(seed);
        let mut below = |bound| random.below(bound);
        let mut keys: Vec<u64> = (0..size).map(|_| 1 + below(size)).map(|bound| bound * bound / size).collect();
        keys.sort_unstable();
        keys
    };
    let sparse: Vec<u64> = keys_of(0..size * 5, 97);
    vec![
        ("interleaved", keys_of(0..size, 2), keys_of(0..size, 3)),
        ("equal", keys_of(0..size, 1), keys_of(0..size, 1)),
        ("left before right", keys_of(0..size, 1), keys_of(size..2 * size, 1)),
        ("right before left", keys_of(size..2 * size, 1), keys_of(0..size, 1)),
        ("nothing left", vec![], keys_of(0..size, 1)),
        ("nothing right", keys_of(0..size, 1), vec![]),
        ("nothing at all", vec![], vec![]),
        ("few among many", sparse.clone(), keys_of(0..size * 5, 1)),
        ("many and few of them", keys_of(0..size * 5, 1), sparse),
        ("repeats on both sides", zipf(1), zipf(2)),
        ("repeats on the left", repeated(40, size / 100), keys_of(0..size / 10, 1)),
        ("repeats on the right", keys_of(0..size / 10, 1), repeated(40, size / 100)),
        ("one key on both sides", vec![u64::MAX; 60], vec![u64::MAX; 50]),
    ]
}
