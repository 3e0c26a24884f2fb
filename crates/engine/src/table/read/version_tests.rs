//! Tests of version lookups and cursors against a sorted map. Goal: every search path finds what the map finds, and a
//! cursor stands where a position in the map stands, for all keys, lengths, versions and block layouts. Method:
//! generated tables of several shapes; every key, its neighbours and absent keys, at every sequence number of interest;
//! random walks of a cursor.

use super::lookup::{LookupStart, SearchHint, VersionValue};
use crate::block::Compression;
use crate::block::cache::BlockCache;
use crate::io::{FastPaths, MemoryStorage, Profile, Storage};
use crate::table::block::view;
use crate::table::*;
use crate::tune::DesignRequest;
use crate::types::KeyType;
use ogive_testkit::Random;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

type Model = BTreeMap<(Vec<u8>, Reverse<u64>), (u8, Vec<u8>)>;

/// The separators, the index of the table, and starts of guides: right ones and wrong ones.
fn paths(table: &Table, key: &[u8]) -> Vec<SearchPath> {
    let mut paths = vec![SearchPath::Separators, SearchPath::Guided(None)];
    let hints = [SearchHint::Restarts, SearchHint::Between(0, usize::MAX), SearchHint::Between(3, 9)];
    if let Some(found) = table.find_block(key) {
        paths.extend(hints.map(|hint| SearchPath::Guided(Some(LookupStart { hint, ..found }))));
    }
    for block in [0, 1, 5, u64::MAX] {
        paths.push(SearchPath::Guided(Some(LookupStart { block, hint: hints[2], is_exact: false })));
    }
    paths
}

fn options() -> TableWriteOptions {
    TableWriteOptions {
        block_bytes: Some(512),
        design: DesignRequest::Coded,
        filter_bits_per_key: Some(10),
        versioned: true,
        ..TableWriteOptions::default()
    }
}

fn write(storage: &Arc<MemoryStorage>, model: &Model, options: TableWriteOptions) {
    let versioned = options.versioned;
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    for ((key, Reverse(sequence)), (tag, value)) in model {
        match versioned {
            true => writer.append_version(key, *tag, *sequence, value).unwrap(),
            false => writer.append(key, value).unwrap(),
        }
    }
    writer.finish().unwrap();
}

fn cache_of(budget_bytes: u64) -> BlockCache {
    BlockCache::for_blocks_of(budget_bytes, 4096)
}

fn open(storage: &Arc<MemoryStorage>, cache: BlockCache, unversioned: (u8, u64)) -> Table {
    let cache = Arc::new(cache);
    let options = SharedOptions {
        keeps_filter: true,
        profile: Profile::default(),
        value_bytes: 1 << 20,
        opening_bytes: 0,
        unversioned,
        fast_paths: FastPaths::ALL,
    };
    Table::open_with(storage.clone(), "t", &cache, &options).unwrap()
}

/// Keys in and around those of the model.
fn probes(model: &Model) -> Vec<Vec<u8>> {
    let mut probes = vec![Vec::new(), vec![0], vec![0xFF; 20]];
    for (key, _) in model.keys() {
        probes.push(key.clone());
        probes.push([&key[..], &[0]].concat());
        probes.push(key[..key.len().saturating_sub(1)].to_vec());
        if let Some((&last, rest)) = key.split_last() {
            probes.push([rest, &[last.wrapping_add(1)]].concat());
            probes.push([rest, &[last.wrapping_sub(1)], &[0xFF]].concat());
        }
    }
    probes.sort();
    probes.dedup();
    probes
}

fn check_look_ups(table: &Table, model: &Model, sequences: &[u64]) {
    for key in probes(model) {
        for &at in sequences {
            let expected = model
                .range((key.clone(), Reverse(at))..)
                .next()
                .filter(|((found, _), _)| *found == key)
                .map(|((_, Reverse(sequence)), (tag, value))| (*tag, *sequence, value.clone()));
            for path in paths(table, &key) {
                let of = |show: fn(VersionValue<'_>) -> Option<Vec<u8>>| {
                    let shown = |tag, sequence, value: VersionValue<'_>| Some((tag, sequence, show(value)?));
                    table.find(&key, at, path, None, |_| {}, shown).unwrap()
                };
                assert_eq!(of(|value| Some(value.into_slice()?.to_vec())), expected, "{key:?} at {at} by {path:?}");
                assert_eq!(of(|value| value.into_vec()), expected, "{key:?} at {at} by {path:?}");
            }
        }
    }
}

/// Moves a cursor at random, in parallel with a position in the model.
fn check_cursor(mut cursor: TableCursor, model: &Model, steps: u64, random: &mut Random) {
    let entries: Vec<_> = model.iter().collect();
    let probes = probes(model);
    let mut at: Option<usize> = None;
    for _ in 0..steps {
        match random.below(12) {
            0 => {
                cursor.first().unwrap();
                at = Some(0);
            }
            1 => {
                cursor.last().unwrap();
                at = entries.len().checked_sub(1);
            }
            2 | 3 => {
                let (key, sequence) = (&probes[random.below(probes.len() as u64) as usize], random.below(12));
                cursor.seek(key, sequence).unwrap();
                at = Some(entries.partition_point(|(found, _)| **found < (key.clone(), Reverse(sequence))));
            }
            4 => {
                let key = &probes[random.below(probes.len() as u64) as usize];
                cursor.seek_before(key).unwrap();
                at = entries.partition_point(|((found, _), _)| found < key).checked_sub(1);
            }
            5..=8 => {
                cursor.next().unwrap();
                at = at.map(|at| at + 1);
            }
            _ => {
                cursor.prev().unwrap();
                at = at.and_then(|at| at.checked_sub(1));
            }
        }
        at = at.filter(|&at| at < entries.len());
        let expected = at.map(|at| {
            let ((key, Reverse(sequence)), (tag, value)) = entries[at];
            super::cursor::TableEntry { key, sequence: *sequence, tag: *tag, value }
        });
        assert_eq!(cursor.entry(), expected);
        assert_eq!(cursor.value_slice().map(|slice| slice.to_vec()), expected.map(|entry| entry.value.to_vec()));
    }
}

fn check(model: &Model, options: TableWriteOptions, random: &mut Random) {
    let storage = Arc::new(MemoryStorage::new());
    write(&storage, model, options);
    for cache in [0, 20_000, 1 << 20].map(cache_of).into_iter().chain([BlockCache::none()]) {
        let table = open(&storage, cache, (0, 0));
        check_look_ups(&table, model, &[0, 1, 5, 11, u64::MAX]);
        check_cursor(table.cursor(), model, 400, random);
        check_cursor(table.compaction_cursor(1 << 16), model, 400, random);
        let report = table.verify(&mut |_, _| {}).unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
    }
}

/// Records of every shape: fixed and varying lengths, one kind or several, few or many versions of a key.
fn records(seed: u64, random: &mut Random) -> Model {
    let mut model = Model::new();
    let fixed = seed.is_multiple_of(2);
    for _ in 0..random.below(400) {
        let length = if fixed { 6 } else { random.below(9) as usize };
        let key: Vec<u8> = (0..length).map(|i| if i < 2 { 7 } else { random.below(4) as u8 * 60 }).collect();
        let versions = if random.below(5) == 0 { random.below(30) } else { 1 };
        for _ in 0..versions {
            let sequence = if seed.is_multiple_of(3) { 0 } else { random.below(12) };
            let tag = if seed.is_multiple_of(5) { random.below(3) as u8 } else { 1 };
            let bytes =
                if seed % 4 < 2 { 16 } else { random.below(if seed.is_multiple_of(7) { 900 } else { 40 }) as usize };
            model.insert((key.clone(), Reverse(sequence)), (tag, vec![random.below(256) as u8; bytes]));
        }
    }
    model
}

#[test]
fn tagged_tables_of_every_shape_answer_as_a_map_does() {
    for seed in 0..24 {
        let mut random = Random::new(seed);
        let model = records(seed, &mut random);
        let compression = if seed % 2 == 0 { Compression::None } else { Compression::default_codec() };
        check(&model, TableWriteOptions { compression, ..options() }, &mut random);
    }
}

impl Compression {
    #[cfg(feature = "lz4")]
    fn default_codec() -> Self {
        Self::Lz4
    }
    #[cfg(not(feature = "lz4"))]
    fn default_codec() -> Self {
        Self::None
    }
}

#[test]
fn tables_without_tags_have_the_sequence_they_were_opened_with() {
    let mut random = Random::new(1);
    for value_bytes in [5, 700] {
        let key = |i: u64| (i * 37).to_be_bytes().to_vec();
        let model: Model = (0..300).map(|i| ((key(i), Reverse(7)), (1, vec![i as u8; value_bytes]))).collect();
        for key_type in [KeyType::Bytes, KeyType::U64] {
            for value_width in [None, Some(5)] {
                if value_width.is_some() && value_bytes != 5 {
                    continue;
                }
                for design in ["coded", "tuned", "btree"] {
                    let design: DesignRequest = design.parse().unwrap();
                    if design.to_string().starts_with("btree") && key_type == KeyType::Bytes {
                        continue;
                    }
                    let storage = Arc::new(MemoryStorage::new());
                    write(
                        &storage,
                        &model,
                        TableWriteOptions { versioned: false, key_type, value_width, design, ..options() },
                    );
                    let table = open(&storage, cache_of(1 << 20), (1, 7));
                    check_look_ups(&table, &model, &[0, 6, 7, 8, u64::MAX]);
                    check_cursor(table.cursor(), &model, 500, &mut random);
                    check_cursor(table.compaction_cursor(1 << 16), &model, 500, &mut random);
                }
            }
        }
    }
}

#[test]
fn tables_share_a_cache_within_its_budget() {
    let storage = Arc::new(MemoryStorage::new());
    let model = |table: u8| -> Model {
        (0..2000_u32).map(|i| (([&[table][..], &i.to_be_bytes()].concat(), Reverse(0)), (1, vec![table; 30]))).collect()
    };
    let cache = Arc::new(cache_of(100_000));
    let shared = SharedOptions {
        keeps_filter: true,
        profile: Profile::default(),
        value_bytes: 1 << 20,
        opening_bytes: 0,
        unversioned: (0, 0),
        fast_paths: FastPaths::ALL,
    };
    let tables: Vec<(Model, Table)> = (0..3)
        .map(|i| {
            let model = model(i);
            write(&storage, &model, TableWriteOptions { replace: true, ..options() });
            let name = format!("{i}");
            storage.rename("t", &name).unwrap();
            (model, Table::open_with(storage.clone(), &name, &cache, &shared).unwrap())
        })
        .collect();
    for (model, table) in &tables {
        check_look_ups(table, model, &[0]);
        assert!(cache.held_bytes() <= 100_000, "{}", cache.held_bytes());
        assert!(table.resident_bytes() > 0);
    }
    drop(tables);
    assert_eq!(cache.held_bytes(), 0);
}

#[test]
fn a_cursor_that_failed_stays_failed() {
    let storage = Arc::new(MemoryStorage::new());
    let model: Model = (0..500_u32).map(|i| ((i.to_be_bytes().to_vec(), Reverse(0)), (1, vec![3; 30]))).collect();
    write(&storage, &model, options());
    let mut content = storage.content("t").unwrap();
    content[512 * 5 + 40] ^= 1;
    storage.put("t", content).unwrap();
    for compaction in [false, true] {
        let table = open(&storage, cache_of(0), (0, 0));
        let mut cursor = if compaction { table.compaction_cursor(1 << 16) } else { table.cursor() };
        let mut move_on = cursor.first();
        let mut seen = 0;
        while move_on.is_ok() {
            assert!(cursor.entry().is_some(), "an end in front of the damage");
            seen += 1;
            move_on = cursor.next();
        }
        assert!(seen < 500);
        for _ in 0..3 {
            assert_eq!(cursor.entry(), None);
            assert!(matches!(cursor.next(), Err(crate::Error { cause: crate::Cause::Damaged, .. })));
            assert!(matches!(cursor.first(), Err(crate::Error { cause: crate::Cause::Damaged, .. })));
        }
    }
}

#[test]
fn a_block_of_one_shape_takes_little_beside_its_records() {
    let storage = Arc::new(MemoryStorage::new());
    let mut random = Random::new(4);
    let model: Model = (0..100_000)
        .map(|_| {
            let key = [random.next_u64().to_be_bytes(), random.next_u64().to_be_bytes()].concat();
            ((key, Reverse(0)), (1, vec![9; 64]))
        })
        .collect();
    write(&storage, &model, TableWriteOptions { block_bytes: Some(4096), ..options() });
    let file_bytes = storage.content("t").unwrap().len() as u64;
    assert!(file_bytes as f64 <= 1.06 * 80.0 * model.len() as f64, "{file_bytes}");
}

proptest! {
    #[test]
    fn any_bytes_as_columns_are_read_or_refused(
        mut raw in proptest::collection::vec(any::<u8>(), 32..700),
        count in 0_usize..40,
        lengths in any::<[u8; 3]>(),
        key: Vec<u8>,
    ) {
        // Small lengths now and then, so that some heads are valid.
        raw[0] &= 7;
        raw[1] %= 10;
        raw[3] = 0;
        for (at, length) in [4, 8, 12].into_iter().zip(lengths) {
            raw[at..at + 4].copy_from_slice(&u32::from(length % 17).to_le_bytes());
        }
        raw.truncate(raw.len() - view::TRAILER_BYTES);
        view::push_trailer(&mut raw, view::COLUMNS_FLAG, count);
        if let Some(view) = view::BlockView::new(view::Layout::Columns, true, &raw) {
            for i in 0..count + 2 {
                _ = (view.key(i).map(crate::table::block::parts::SplitKey::to_vec), view.value(i), view.tag(i));
            }
            _ = (view.is_canonical(), view.lower_bound_of_version(&key, 3, 0));
        }
    }
}
