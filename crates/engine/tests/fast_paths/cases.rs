//! The cases of the goal in `main.rs`, which `ogive-research` also runs, with its learning policies.

//! Goal: each fast path (cache, filter, separators, models, prefetch, batches, unqueued writes, deferred values,
//! write-behind) can be switched off, and the answers of tables, stores and joins are the same with it and without;
//! and a switch switches something. Method: key sets that broke learned indexes, and stores of several levels with
//! snapshots, removed ranges and values apart, under all paths, without each one, without any, and under some that are
//! drawn, are held against ordered maps. Then requests are counted.

use crate::join_support::{check, numbered, options, pairs, reference, texts, unsorted, wide, write_table};
use crate::policies::drawn_policy;
use crate::support::{Told, Watched, seed};
use ogive::block::Compression;
use ogive::index::{Index, IndexOptions};
use ogive::io::{FastPaths, MemoryStorage, Purpose, ReadRequest, Storage};
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinReport, JoinSide, JoinSource, join};
use ogive::lsm::{Db, DbOptions, DbSnapshot, DbStats, Learning};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Durability, KeyType};
use ogive_testkit::fast_paths::settings;
use ogive_testkit::{Random, Record, ReferenceTable, key_sets};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Number of random settings, in addition to the fixed ones.
const DRAWN: usize = 2;

/// All paths but one.
macro_rules! without {
    ($path:ident) => {
        FastPaths { $path: false, ..FastPaths::ALL }
    };
}

// ---------------------------------------------------------------- tables

/// The index designs, used in turn.
const DESIGNS: [&str; 6] = [
    "tuned",
    "coded",
    "btree",
    "layers=3,builder=pla,error=1",
    "layers=2,builder=gband/gband,lambda=4096/512",
    "layers=2,builder=eband/gstep,lambda=4096/512",
];

/// Records with their key type: hard numeric sets, dense, with values of any length, and as strings with suffixes; and
/// separate string sets.
fn record_sets(size: usize) -> Vec<(String, KeyType, Option<u32>, Vec<Record>)> {
    let mut sets = Vec::new();
    for (turn, (name, keys)) in key_sets::nasty(size).into_iter().enumerate() {
        let (key_type, width) = [(KeyType::U64, Some(8)), (KeyType::U64, None), (KeyType::Bytes, None)][turn % 3];
        let key = |&key: &u64| match key_type {
            KeyType::U64 => key.to_be_bytes().to_vec(),
            _ => [&key.to_be_bytes()[..], &[b'x'; 5][..(key % 5) as usize]].concat(),
        };
        let value = |at: usize| vec![at as u8; width.map_or(at * 7 % 40, |width| width as usize)];
        let mut keys: Vec<Vec<u8>> = keys.iter().map(key).collect();
        keys.sort();
        let records = keys.into_iter().enumerate().map(|(at, key)| (key, value(at))).collect();
        sets.push((name.to_owned(), key_type, width, records));
    }
    let nested: Vec<Vec<u8>> = (0..200).map(|length| vec![b'a'; length]).collect();
    let prefixed: Vec<Vec<u8>> = (0..size).map(|i| format!("{}{i:06}", "p".repeat(300)).into_bytes()).collect();
    for (name, keys) in [("nested", nested), ("long prefixes", prefixed)] {
        let records = keys.into_iter().enumerate().map(|(at, key)| (key, vec![at as u8; at % 9])).collect();
        sets.push((name.to_owned(), KeyType::Bytes, None, records));
    }
    sets
}

/// Present keys, and neighbours that are mostly absent.
fn probes(records: &[Record], key_type: KeyType, random: &mut Random) -> Vec<Vec<u8>> {
    let mut probes = Vec::new();
    for _ in 0..40 {
        let Some((key, _)) = records.get(random.below(records.len() as u64) as usize) else { break };
        let mut beside = key.clone();
        match beside.last_mut() {
            Some(last) => *last = last.wrapping_add(1 + random.below(3) as u8),
            None => beside.push(0),
        }
        probes.extend([key.clone(), beside]);
    }
    let ends = match key_type.width() {
        Some(width) => [vec![0; width], vec![0xff; width]],
        None => [Vec::new(), vec![0xff; 12]],
    };
    probes.extend(ends);
    probes
}

fn check_table(table: &Table, model: &ReferenceTable, probes: &[Vec<u8>]) {
    for key in probes {
        assert_eq!(table.get(key).unwrap(), model.get(key), "get {key:x?}");
        assert_eq!(table.contains_key(key).unwrap(), model.contains_key(key), "contains {key:x?}");
        assert_eq!(table.rank(key).unwrap(), model.rank(key), "rank {key:x?}");
    }
    let keys: Vec<&[u8]> = probes.iter().map(Vec::as_slice).collect();
    assert_eq!(table.multi_get(&keys).unwrap(), model.multi_get(&keys), "multi_get");
    let records: Vec<Record> = table.iter().map(Result::unwrap).collect();
    assert!(records == model.records(), "a scan forward");
    let mut backward: Vec<Record> = table.iter().rev().map(Result::unwrap).collect();
    backward.reverse();
    assert!(backward == model.records(), "a scan backward");
    for bounds in probes.windows(2).step_by(5) {
        let bounds = bounds[0].clone()..bounds[1].clone();
        let found: Vec<Record> = table.range(bounds.clone()).map(Result::unwrap).collect();
        assert!(found == model.range(bounds.clone()), "range {bounds:x?}");
        let found: Vec<Record> = table.range(bounds.clone()).rev().map(Result::unwrap).collect();
        assert!(found.iter().rev().eq(model.range(bounds.clone())), "range {bounds:x?} backward");
        let count = model.count(bounds.clone());
        assert_eq!(table.count(bounds.clone()).unwrap(), count, "count {bounds:x?}");
        let start = model.rank(&bounds.start);
        assert_eq!(table.positions(bounds.clone()).unwrap(), start..start + count, "positions {bounds:x?}");
    }
    let count = model.records().len() as u64;
    let positions = [0, count / 3, count.saturating_sub(1), count];
    for position in positions {
        assert_eq!(table.nth(position).unwrap(), model.nth(position), "nth {position}");
    }
    let keys = positions.map(|position| model.nth(position).map(|(key, _)| key));
    assert_eq!(table.keys_at(&positions).unwrap(), keys, "keys at {positions:?}");
}

#[test]
fn tables_answer_alike_whichever_paths_are_off() {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut told = Told::new("tables_answer_alike_whichever_paths_are_off", seed);
    for (turn, (name, key_type, value_width, records)) in record_sets(500).into_iter().enumerate() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let is_string = matches!(key_type, KeyType::Bytes);
        let options = TableWriteOptions::default()
            .key_type(key_type)
            .value_width(value_width)
            .block_bytes(512)
            .design(if is_string { "tuned" } else { DESIGNS[turn % DESIGNS.len()] }.parse().unwrap())
            .filter_bits_per_key((turn % 4 > 0).then_some(10))
            .compression(if turn % 2 == 0 { Compression::None } else { Compression::Lz4 });
        let mut writer = TableWriter::create((Arc::clone(&storage), "t"), options).unwrap();
        records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
        writer.finish().unwrap();
        let probes = probes(&records, key_type, &mut random);
        let model = ReferenceTable::new(records);
        for fast_paths in settings(&mut random, DRAWN) {
            // A budget for hardly any block, or an ample one.
            let budget_bytes = [64 << 10, 8 << 20][turn / 2 % 2];
            (told.case, told.setting) = (format!("{name}, {key_type}, {budget_bytes} bytes"), fast_paths);
            let open = TableOptions::default().memory_bytes(budget_bytes).fast_paths(fast_paths);
            check_table(&Table::open((Arc::clone(&storage), "t"), &open).unwrap(), &model, &probes);
        }
    }
}

// ---------------------------------------------------------------- stores

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// Store options with small limits, so that flushes and compactions happen soon.
fn small(random: &mut Random) -> DbOptions {
    let learning = drawn_policy(random);
    DbOptions::default()
        .threads(0)
        .memory_bytes(2 << 20)
        .writes(|writes| writes.memtable_bytes(8 << 10))
        .levels(|levels| levels.table_bytes(8 << 10).level_bytes(16 << 10).level_factor(2).block_bytes(512))
        .values(|values| values.separation_bytes(100))
        .durability(Durability::Buffered)
        .learning(learning)
        .levels(|levels| levels.filter_bits_per_key(if random.one_in(4) { None } else { Some(10) }))
}

/// Number of kinds of keys in stores.
const KINDS: u64 = 3;

/// A key of a kind, by number.
fn store_key(kind: u64, number: u64) -> Vec<u8> {
    match kind {
        0 => number.to_be_bytes().to_vec(),
        1 => format!("{}{number:08}", "user/".repeat(8)).into_bytes(),
        _ => [&[0xff, 0][..], &number.to_be_bytes()[6..], &[0; 3][..number as usize % 3]].concat(),
    }
}

/// Writes waves of batches to a store and a map: short and long values, removed keys and ranges; with a snapshot of
/// each before every wave.
fn fill(db: &Db, random: &mut Random, kind: u64, keys: u64) -> (Records, Vec<(DbSnapshot, Records)>) {
    let (mut model, mut moments) = (Records::new(), Vec::new());
    for wave in 0..4_u8 {
        if wave > 1 {
            moments.push((db.snapshot(), model.clone()));
        }
        for _ in 0..12 {
            let mut batch = db.batch();
            for _ in 0..40 {
                let key = store_key(kind, random.below(keys));
                let length = if random.one_in(10) { 100 + random.below(400) } else { random.below(40) };
                if random.one_in(8) {
                    batch.remove(db, &key);
                    model.remove(&key);
                } else {
                    let value = vec![random.below(256) as u8; length as usize];
                    batch.insert(db, &key, &value);
                    model.insert(key, value);
                }
            }
            batch.commit().unwrap();
        }
        let (from, to) = (random.below(keys), random.below(keys / 8));
        let (from, to) = (store_key(kind, from), store_key(kind, from + to));
        if from < to {
            db.remove_range(from.clone()..to.clone()).unwrap();
            model.retain(|key, _| *key < from || *key >= to);
        }
        if wave < 3 {
            db.flush().unwrap();
        }
    }
    (model, moments)
}

/// Present keys, and keys that were never present.
fn store_probes(random: &mut Random, kind: u64, keys: u64) -> Vec<Vec<u8>> {
    let mut probes: Vec<Vec<u8>> = (0..90).map(|_| store_key(kind, random.below(keys))).collect();
    probes.extend((0..20).map(|_| [store_key(kind, random.below(keys)), vec![1]].concat()));
    probes.extend([Vec::new(), vec![0xff; 20]]);
    probes
}

fn check_store(db: &Db, model: &Records, probes: &[Vec<u8>]) {
    let mut value = Vec::new();
    for key in probes {
        let expected = model.get(key).map(Vec::as_slice);
        assert_eq!(db.get(key).unwrap().as_deref(), expected, "get {key:x?}");
        assert_eq!(db.get_into(key, &mut value).unwrap().then_some(&value[..]), expected, "get_into {key:x?}");
        assert_eq!(db.contains_key(key).unwrap(), expected.is_some(), "contains {key:x?}");
    }
    let values = db.multi_get(probes).unwrap();
    let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
    let expected: Vec<Option<&[u8]>> = probes.iter().map(|key| model.get(key).map(Vec::as_slice)).collect();
    assert!(values == expected, "multi_get");
    check_scans(|bounds| db.range(bounds), model, probes);
}

type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

fn check_scans(range: impl Fn(Bounds) -> ogive::lsm::DbRange, model: &Records, probes: &[Vec<u8>]) {
    let some = probes.windows(2).step_by(30).map(|pair| {
        let (from, to) = (pair[0].clone().min(pair[1].clone()), pair[0].clone().max(pair[1].clone()));
        (Bound::Included(from), Bound::Excluded(to))
    });
    for bounds in some.chain([(Bound::Unbounded, Bound::Unbounded)]) {
        let expected: Vec<(&[u8], &[u8])> =
            model.range(bounds.clone()).map(|(key, value)| (&key[..], &value[..])).collect();
        let pairs: Vec<_> = range(bounds.clone()).map(Result::unwrap).collect();
        assert!(pairs.iter().map(|(key, value)| (&key[..], &value[..])).eq(expected.iter().copied()), "{bounds:x?}");
        let pairs: Vec<_> = range(bounds.clone()).rev().map(Result::unwrap).collect();
        let found = pairs.iter().map(|(key, value)| (&key[..], &value[..]));
        assert!(found.eq(expected.iter().rev().copied()), "{bounds:x?} backward");
    }
}

fn check_snapshot(db: &Db, snapshot: &DbSnapshot, model: &Records, probes: &[Vec<u8>]) {
    for key in probes {
        let expected = model.get(key).map(Vec::as_slice);
        assert_eq!(snapshot.get(db, key).unwrap().as_deref(), expected, "get {key:x?} of a snapshot");
        assert_eq!(snapshot.contains_key(db, key).unwrap(), expected.is_some(), "contains {key:x?} of a snapshot");
    }
    check_scans(|bounds| snapshot.range(db, bounds), model, probes);
}

/// Trains the models that the store's policy leaves to its caller.
pub(crate) fn learn(db: &Db, options: &DbOptions) {
    if matches!(options.learning.name(), "offline" | "always" | "cost-benefit") {
        db.learn().unwrap();
    }
}

#[test]
fn stores_answer_alike_whichever_paths_are_off() {
    let seed = seed();
    let mut told = Told::new("stores_answer_alike_whichever_paths_are_off", seed);
    for kind in 0..KINDS {
        let mut random = Random::new(seed ^ kind << 32);
        let (options, keys) = (small(&mut random), 900);
        let (written, probes) = (random.next_u64(), store_probes(&mut random, kind, keys));
        let all = settings(&mut random, DRAWN);
        for (at, &fast_paths) in all.iter().enumerate() {
            let options = options.clone().fast_paths(fast_paths);
            (told.case, told.setting) = (format!("keys of kind {kind}, {options:?}"), fast_paths);
            let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
            let db = Db::open(Arc::clone(&storage), &options).unwrap();
            let (model, moments) = fill(&db, &mut Random::new(written), kind, keys);
            learn(&db, &options);
            check_store(&db, &model, &probes);
            moments.iter().for_each(|(snapshot, model)| check_snapshot(&db, snapshot, model, &probes));
            let deepest = db.stats().keyspaces[0].levels.iter().filter(|level| level.tables > 0).count();
            assert!(deepest > 1 && db.stats().value_files > 0, "the store is too small: {:?}", db.stats());
            drop(moments);
            db.close().unwrap();
            // Data written with one setting is read with the next.
            told.setting = all[(at + 1) % all.len()];
            let options = options.fast_paths(told.setting);
            let db = Db::open(storage, &options).unwrap();
            learn(&db, &options);
            check_store(&db, &model, &probes);
            db.compact().unwrap();
            check_store(&db, &model, &probes);
        }
    }
}

// ---------------------------------------------------------------- joins

/// A table with small blocks, opened with a setting.
fn source(rows: &[Record], key_type: KeyType, turn: usize, fast_paths: FastPaths) -> JoinSource {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let value_width = (key_type == KeyType::U64).then_some(8);
    let design =
        if key_type == KeyType::U64 { ["coded", "tuned", "layers=3,builder=pla,error=1"][turn % 3] } else { "coded" };
    write_table(
        &storage,
        "t",
        rows,
        crate::join_support::Shape { key_type, value_width, design, ..crate::join_support::DENSE },
    );
    let open = TableOptions::default().memory_bytes(1 << 20).fast_paths(fast_paths);
    JoinSource::table(&Table::open((storage, "t"), &open).unwrap())
}

#[test]
fn joins_give_the_same_rows_whichever_paths_are_off() {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut told = Told::new("joins_give_the_same_rows_whichever_paths_are_off", seed);
    let pairs = pairs(200);
    let mut turn = 0;
    for fast_paths in settings(&mut random, DRAWN) {
        for (kind, _) in JoinKind::ALL {
            for pair in (turn % 4..pairs.len()).step_by(4) {
                turn += 1;
                let (name, left, right) = &pairs[pair];
                let (key_type, left, right) = match turn % 3 {
                    0 => (KeyType::U64, numbered(left, 1), numbered(right, 2)),
                    1 => (KeyType::Text, sorted(texts(left, 1)), sorted(texts(right, 2))),
                    _ => (KeyType::Bytes, wide(left), wide(right)),
                };
                let expected = reference(kind, &left, &right);
                let sources = [&left, &right].map(|rows| source(rows, key_type, turn, fast_paths));
                let widths = (key_type == KeyType::U64).then_some(8);
                for (at, method) in
                    JoinMethod::all().into_iter().filter(|method| *method != JoinMethod::Auto).enumerate()
                {
                    (told.case, told.setting) = (format!("{name}, {kind} by {method}, turn {turn}"), fast_paths);
                    let options = options(kind, method, 4 << 20).threads(1 + turn % 2).fast_paths(fast_paths);
                    check(&sources[0], &sources[1], &options, &expected, name);
                    if (turn + at).is_multiple_of(5) {
                        let right = unsorted(&right, key_type, widths);
                        check(&sources[0], &right, &options, &expected, name);
                    }
                }
            }
        }
    }
}

fn sorted(mut rows: Vec<Record>) -> Vec<Record> {
    rows.sort();
    rows
}

/// The bytes of a file.
fn bytes_of(storage: &dyn Storage, name: &str) -> Vec<u8> {
    let file = storage.open(name).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Walk }).unwrap();
    bytes
}

/// Joins two tables into a file of plain records and into a table; returns the bytes of the former and the rows of the
/// latter.
fn outputs(left: &JoinSource, right: &JoinSource, options: &JoinOptions) -> (Vec<u8>, Vec<Record>) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    join(left, right, JoinOutput::records(Arc::clone(&storage), "plain", false), options).unwrap();
    join(left, right, JoinOutput::table(Arc::clone(&storage), "rows", JoinOutput::options()), options).unwrap();
    let table = Table::open((Arc::clone(&storage), "rows"), &TableOptions::default()).unwrap();
    (bytes_of(&*storage, "plain"), table.iter().map(Result::unwrap).collect())
}

#[test]
fn outputs_of_joins_have_the_same_bytes_whichever_paths_are_off() {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut told = Told::new("outputs_of_joins_have_the_same_bytes_whichever_paths_are_off", seed);
    let rows = |random: &mut Random, number| {
        let mut keys: Vec<u64> = (0..6000).map(|_| random.below(5000)).collect();
        keys.sort_unstable();
        numbered(&keys, number)
    };
    let (left, right) = (rows(&mut random, 1), rows(&mut random, 2));
    for (kind, method) in [
        (JoinKind::Inner, JoinMethod::Merge),
        (JoinKind::Semi, JoinMethod::Inlj),
        (JoinKind::Inner, JoinMethod::Partition),
        (JoinKind::Anti, JoinMethod::Hash),
    ] {
        let mut expected = None;
        for fast_paths in settings(&mut random, DRAWN) {
            (told.case, told.setting) = (format!("{kind} by {method}"), fast_paths);
            let [left, right] = [&left, &right].map(|rows| source(rows, KeyType::U64, 0, fast_paths));
            let found = outputs(&left, &right, &options(kind, method, 4 << 20).fast_paths(fast_paths));
            assert!(!found.0.is_empty() && *expected.get_or_insert(found.clone()) == found, "{kind} by {method}");
        }
    }
}

// ---------------------------------------------------------------- what a switch does

/// A table of 16-byte records in blocks of 512 bytes, with a filter; key `i` is `10 i`.
fn table_of(storage: &Arc<Watched>, records: u64) {
    let options = TableWriteOptions::default()
        .key_type(KeyType::U64)
        .value_width(8)
        .block_bytes(512)
        .coding(false)
        .design("coded".parse().unwrap())
        .filter_bits_per_key(16);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    (0..records).for_each(|i| writer.append(&(10 * i).to_be_bytes(), &i.to_be_bytes()).unwrap());
    writer.finish().unwrap();
}

/// Opens that table, and counts the data reads of `work`.
fn table_reads(storage: &Arc<Watched>, fast_paths: FastPaths, work: impl Fn(&Table)) -> usize {
    let open = TableOptions::default().fast_paths(fast_paths);
    let table = Table::open((storage.clone(), "t"), &open).unwrap();
    storage.take();
    work(&table);
    storage.data_reads()
}

#[test]
fn each_switch_of_a_table_switches_something() {
    let storage = Watched::new();
    table_of(&storage, 3200);
    let count = |fast_paths, work: &dyn Fn(&Table)| table_reads(&storage, fast_paths, work);
    let again = |table: &Table| (0..10).for_each(|_| assert!(table.contains_key(&100_u64.to_be_bytes()).unwrap()));
    assert_eq!((count(FastPaths::ALL, &again), count(without!(cache), &again)), (1, 10), "cache");
    let absent = |table: &Table| {
        (0..100_u64).for_each(|i| assert!(!table.contains_key(&(320 * i + 1).to_be_bytes()).unwrap()));
    };
    let (on, off) = (count(FastPaths::ALL, &absent), count(without!(filter), &absent));
    assert!(on < 10 && off == 100, "filter: {on} and {off} reads");
    let scan = |table: &Table| assert_eq!(table.iter().count() + table.iter().rev().count(), 6400);
    let (on, off) = (count(FastPaths::ALL, &scan), count(without!(prefetch), &scan));
    assert!(on < 20 && off > 100, "prefetch of scans: {on} and {off} reads");
    // One key in each block.
    let keys: Vec<[u8; 8]> = (0..100_u64).map(|i| (320 * i).to_be_bytes()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let many = |table: &Table| assert!(table.multi_get(&keys).unwrap().iter().all(Option::is_some));
    let (on, off) = (count(FastPaths::ALL, &many), count(without!(prefetch), &many));
    assert!(on < 10 && off >= 99, "prefetch of many keys: {on} and {off} reads");
    let off = count(without!(batches), &many);
    assert!(off >= 99, "batches: {on} and {off} reads");
}

/// A compacted store with long keys and short values, and its options.
pub(crate) fn store_of(storage: &Arc<Watched>, learning: Learning) -> DbOptions {
    let options = DbOptions::default()
        .threads(0)
        .levels(|levels| {
            levels.block_bytes(512).coding(false).table_bytes(64 << 10).level_bytes(128 << 10).filter_bits_per_key(16)
        })
        .learning(learning)
        .durability(Durability::Buffered);
    let db = Db::open(storage.clone(), &options).unwrap();
    let mut batch = db.batch();
    (0..4000_u64).for_each(|i| _ = batch.insert(&db, (10 * i).to_be_bytes(), i.to_le_bytes()));
    batch.commit().unwrap();
    db.compact().unwrap();
    db.close().unwrap();
    options
}

/// Opens a store, and counts the data reads or all reads of `work`; also returns the store's statistics.
pub(crate) fn store_reads(
    storage: &Arc<Watched>,
    options: &DbOptions,
    fast_paths: FastPaths,
    work: impl Fn(&Db),
) -> (usize, DbStats) {
    let db = Db::open(storage.clone(), &options.clone().fast_paths(fast_paths)).unwrap();
    storage.take();
    work(&db);
    let reads = storage.data_reads();
    (reads, db.stats())
}

#[test]
fn each_switch_of_a_store_switches_something() {
    let storage = Watched::new();
    let options = store_of(&storage, Learning::CODED);
    let count = |fast_paths, work: &dyn Fn(&Db)| store_reads(&storage, &options, fast_paths, work);
    let again = |db: &Db| (0..10).for_each(|_| assert!(db.contains_key(100_u64.to_be_bytes()).unwrap()));
    assert_eq!((count(FastPaths::ALL, &again).0, count(without!(cache), &again).0), (1, 10), "cache");
    assert!(count(FastPaths::ALL, &again).1.cache_bytes > 0 && count(without!(cache), &again).1.cache_bytes == 0);
    let absent = |db: &Db| {
        (0..100_u64).for_each(|i| assert!(!db.contains_key((320 * i + 1).to_be_bytes()).unwrap()));
    };
    let (on, off) = (count(FastPaths::ALL, &absent), count(without!(filter), &absent));
    assert!(on.0 < 10 && off.0 > 60, "filter: {} and {} reads", on.0, off.0);
    let (on, off) = (count(FastPaths::ALL, &again).1, count(without!(separators), &again).1);
    assert!(on.resident_bytes > off.resident_bytes, "separators: {on:?} and {off:?}");
    let scan = |db: &Db| assert_eq!(db.iter().count(), 4000);
    let (on, off) = (count(FastPaths::ALL, &scan).0, count(without!(prefetch), &scan).0);
    assert!(on * 4 < off, "prefetch: {on} and {off} reads");
}

#[test]
fn without_prefetch_a_compaction_reads_block_by_block() {
    let reads = |fast_paths: FastPaths| {
        let storage = Watched::new();
        let options = store_of(&storage, Learning::CODED);
        let rewrite = |db: &Db| {
            db.insert(5_u64.to_be_bytes(), []).unwrap();
            db.compact().unwrap();
        };
        store_reads(&storage, &options, fast_paths, rewrite).0
    };
    let (on, off) = (reads(FastPaths::ALL), reads(without!(prefetch)));
    assert!(on > 0 && on * 4 < off, "{on} and {off} reads");
}

#[test]
fn without_batches_many_keys_are_looked_up_in_the_order_that_is_given() {
    let storage = Watched::new();
    let options = store_of(&storage, Learning::CODED);
    let keys: Vec<[u8; 8]> = [20_000_u64, 0, 10_000].map(u64::to_be_bytes).to_vec();
    let offsets = |fast_paths: FastPaths| {
        // All in one table, so that offsets are in key order.
        let db = Db::open(storage.clone(), &options.clone().fast_paths(fast_paths)).unwrap();
        storage.take();
        assert!(db.multi_get(&keys).unwrap().iter().all(Option::is_some));
        let reads = storage.take().into_iter().filter(|request| request.purpose == Some(Purpose::Data));
        reads.map(|request| request.offset).collect::<Vec<u64>>()
    };
    let (on, off) = (offsets(FastPaths::ALL), offsets(without!(batches)));
    assert_eq!(on.len(), 3);
    assert_eq!(off, [on[2], on[0], on[1]]);
}

#[test]
fn without_batches_each_write_is_a_group_of_its_own() {
    let groups = |fast_paths: FastPaths| {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let db = Db::open(storage, &DbOptions::default().fast_paths(fast_paths)).unwrap();
        // Concurrent writers form a batch, if allowed; whether they meet depends on the system, so they retry.
        for round in 0..1000_u32 {
            std::thread::scope(|scope| {
                for writer in 0..8_u32 {
                    let db = &db;
                    scope.spawn(move || {
                        (0..4_u32)
                            .for_each(|i| db.insert([round, writer, i].map(u32::to_be_bytes).concat(), []).unwrap());
                    });
                }
            });
            let activity = db.activity();
            if activity.groups < activity.batches || round == 20 && !fast_paths.batches {
                break;
            }
        }
        let activity = db.activity();
        (activity.groups, activity.batches)
    };
    let (on, off) = (groups(FastPaths::ALL), groups(without!(batches)));
    assert!(on.0 < on.1, "{on:?}");
    assert_eq!(off.0, off.1);
}

#[test]
fn each_switch_of_an_index_switches_something() {
    let storage = Arc::new(ogive::io::Meter::new(Arc::new(MemoryStorage::new())));
    let shared: Arc<dyn Storage> = storage.clone();
    let created: Index<u64, u64> = Index::create((shared.clone(), "i"), &IndexOptions::default()).unwrap();
    created.bulk_load((0..20_000).map(|i| (i, i))).unwrap();
    drop(created);
    let keys: Vec<u64> = (0..100).collect();
    let reads = |fast_paths: FastPaths| {
        let mut open = ogive::page::PageOptions::default();
        open.fast_paths = fast_paths;
        let index: Index<u64, u64> =
            Index::open((shared.clone(), "i"), &IndexOptions::default().pages(open.clone())).unwrap();
        storage.reset();
        (0..10).for_each(|_| assert_eq!(index.get(7).unwrap(), Some(7)));
        let single = storage.reset().reads.requests;
        assert!(index.multi_get(&keys).unwrap().iter().all(Option::is_some));
        (single, storage.reset().reads.requests)
    };
    let (on, off) = (reads(FastPaths::ALL), reads(without!(cache)));
    assert!(on.0 * 5 <= off.0, "cache: {on:?} and {off:?}");
    let none = reads(FastPaths { batches: false, ..without!(cache) });
    assert!(off.1 * 10 < none.1, "batches: {off:?} and {none:?}");
}

/// Two tables in one storage: all keys on the right, and every `one_in`-th on the left.
fn watched_relations(one_in: usize) -> (Arc<Watched>, JoinSource, JoinSource) {
    let storage = Watched::new();
    let shared: Arc<dyn Storage> = storage.clone();
    let keys: Vec<u64> = (0..40_000).collect();
    let few: Vec<u64> = keys.iter().copied().step_by(one_in).collect();
    let table = |name: &str, keys: &[u64]| {
        let shape = crate::join_support::Shape { coding: false, ..crate::join_support::DENSE };
        JoinSource::table(&write_table(&shared, name, &numbered(keys, 1), shape))
    };
    let (left, right) = (table("left", &few), table("right", &keys));
    storage.take();
    (storage, left, right)
}

/// Number of data reads and writes by this thread, and by others.
fn by_thread(storage: &Watched) -> [usize; 4] {
    let mut counts = [0; 4];
    for request in storage.take() {
        let is_other = request.by != std::thread::current().id();
        let first = match request.purpose {
            Some(Purpose::Data) => 0,
            None => 2,
            _ => continue,
        };
        counts[first + usize::from(is_other)] += 1;
    }
    counts
}

/// Joins every `one_in`-th left row with all right rows into a table: the report, and the reads and writes by thread.
fn watched_join(method: JoinMethod, fast_paths: FastPaths, one_in: usize) -> (JoinReport, [usize; 4]) {
    let (storage, left, right) = watched_relations(one_in);
    let options = options(JoinKind::Inner, method, 4 << 20).fast_paths(fast_paths);
    let report =
        join(&left, &right, JoinOutput::table(storage.clone(), "rows", JoinOutput::options()), &options).unwrap();
    assert_eq!(report.rows, 40_000 / one_in as u64);
    (report, by_thread(&storage))
}

#[test]
fn without_writing_behind_the_caller_writes_files_of_records() {
    let writes = |fast_paths: FastPaths| {
        let (storage, left, right) = watched_relations(400);
        let options = options(JoinKind::Inner, JoinMethod::Merge, 4 << 20).fast_paths(fast_paths);
        join(&left, &right, JoinOutput::records(storage.clone(), "plain", false), &options).unwrap();
        let [.., own, others] = by_thread(&storage);
        (own, others)
    };
    let (on, off) = (writes(FastPaths::ALL), writes(without!(write_behind)));
    assert!(on.1 > 0 && off.0 > 0 && off.1 == 0, "{on:?} and {off:?}");
}

#[test]
fn each_switch_of_a_join_switches_something() {
    let (report, [_, ahead, written, behind]) = watched_join(JoinMethod::Merge, FastPaths::ALL, 400);
    assert!(ahead > 0 && behind > 0 && written <= 1, "{ahead} reads ahead, {behind} writes behind, {written} others");
    let (without, [own, ahead, ..]) = watched_join(JoinMethod::Merge, without!(prefetch), 400);
    assert!(own > 1000 && ahead == 0 && without.requests > 4 * report.requests, "prefetch: {own}, {ahead} ahead");
    for method in [JoinMethod::Merge, JoinMethod::Hash] {
        let (_, [.., written, behind]) = watched_join(method, without!(write_behind), 400);
        assert!(written > 0 && behind == 0, "write_behind: {written} and {behind} by others");
    }
    // A planned scan reads in its own thread; lookups key by key do not.
    let unread = without!(prefetch);
    let (_, [_, planned_ahead, ..]) = watched_join(JoinMethod::Inlj, unread, 400);
    let (_, [probed, probed_ahead, ..]) = watched_join(JoinMethod::Inlj, FastPaths { batches: false, ..unread }, 400);
    assert!(planned_ahead > 0 && probed > 0 && probed_ahead == 0, "batches: {planned_ahead}, {probed_ahead} ahead");
    // One row per one or two blocks, so that gaps are bridged.
    let requests = |fast_paths| watched_join(JoinMethod::Inlj, fast_paths, 40).0.requests;
    let (on, off) = (requests(FastPaths::ALL), requests(unread));
    assert!(on < 100 && off > 900, "prefetch of a planned join: {on} and {off} requests");
}

#[test]
fn without_separators_a_planned_join_asks_the_layers_as_they_are_stored() {
    let storage = Watched::new();
    let shared: Arc<dyn Storage> = storage.clone();
    let design = "layers=2,builder=gstep/gstep,lambda=512/512";
    let layered = crate::join_support::Shape { design, coding: false, ..crate::join_support::DENSE };
    let (left, right): (Vec<u64>, Vec<u64>) = ((0..40_000).step_by(400).collect(), (0..40_000).collect());
    let left = JoinSource::table(&write_table(&shared, "left", &numbered(&left, 1), layered));
    let right = write_table(&shared, "right", &numbered(&right, 1), layered);
    assert_eq!(right.explain().layers.len(), 2);
    let layer_reads = |fast_paths: FastPaths| {
        // Without a cache, so that each lookup in a layer is a read.
        let open = TableOptions::default().fast_paths(without!(cache));
        let right = JoinSource::table(&Table::open((Arc::clone(&shared), "right"), &open).unwrap());
        storage.take();
        let options = options(JoinKind::Inner, JoinMethod::Inlj, 4 << 20).fast_paths(fast_paths).inner(JoinSide::Right);
        let report = join(&left, &right, JoinOutput::caller(|_, _, _| Ok(())), &options).unwrap();
        assert_eq!(report.rows, 100);
        storage.take().iter().filter(|request| matches!(request.purpose, Some(Purpose::Layer(_)))).count()
    };
    let (on, off) = (layer_reads(FastPaths::ALL), layer_reads(without!(separators)));
    assert!(on < 5 && off > 20, "{on} and {off} reads of layers");
}
