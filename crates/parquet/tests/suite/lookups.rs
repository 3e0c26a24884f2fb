//! Lookups count their rounds and requests: the goal is that each answer is right, and that it takes the reads that the
//! documents promise. Files are written in memory by the Arrow writer, and a storage around it counts.

use crate::support::{Shelf, strings, u64s};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use ogive::table::TableOptions;
use ogive_parquet::{BuildOptions, FolderMap, ParquetIndex, Trace};
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

const ROWS: u64 = 20_000;

fn events(ids: impl Iterator<Item = u64>) -> RecordBatch {
    let ids: Vec<u64> = ids.collect();
    let names: Vec<String> = ids.iter().map(|id| format!("name {id}")).collect();
    let levels: Vec<&str> = ids.iter().map(|id| ["low", "middle", "high"][(*id % 3) as usize]).collect();
    let columns: [(&str, ArrayRef); 3] = [
        ("user_id", Arc::new(UInt64Array::from(ids))),
        ("name", Arc::new(StringArray::from(names))),
        ("level", Arc::new(StringArray::from(levels))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_data_page_row_count_limit(500)
        .set_write_batch_size(100)
        .set_max_row_group_row_count(Some(8_000))
        .build()
}

fn shuffled(rows: u64) -> impl Iterator<Item = u64> {
    // Odd multipliers permute the residues of a power of two; those beyond the rows are passed over.
    let size = rows.next_power_of_two();
    (0..size).map(move |i| (i * 0x9e37_79b1 + 7) % size).filter(move |&id| id < rows)
}

#[test]
fn from_nothing_a_row_of_a_sorted_file_takes_two_rounds_and_with_the_index_open_one() {
    let shelf = Shelf::new();
    shelf.write("events.parquet", &events((0..ROWS).map(|i| i * 2)), properties());
    let report = shelf.build("events.parquet", &["user_id"], "events.idx");
    assert!(report.is_sorted, "{report:?}");
    for id in [0, 2, 998, 1_000, 15_998, 16_000, 2 * ROWS - 2] {
        shelf.reset();
        let index = shelf.open("events.idx");
        assert_eq!(shelf.rounds(), 1, "opening");
        let mut trace = Trace::new();
        let found = index.get_traced(&id.to_be_bytes(), None, Some(&mut trace)).unwrap();
        assert_eq!(shelf.rounds(), 2, "from nothing");
        assert_eq!(trace.rounds(), 1, "with the index open");
        assert_eq!((u64s(&found, "user_id"), strings(&found, "name")), (vec![id], vec![format!("name {id}")]));
        // One page of each column, and the dictionaries of two.
        let parts: usize = trace.requests.iter().map(|request| request.parts.len()).sum();
        assert!((3..=6).contains(&parts), "{trace:#?}");
        assert_eq!(shelf.requests() - 1, trace.requests.len() as u64);
    }
    let index = shelf.open("events.idx");
    assert_eq!(index.get(&3_u64.to_be_bytes(), None).unwrap().num_rows(), 0);
    let only = index.get(&4_u64.to_be_bytes(), Some(&["level"])).unwrap();
    assert_eq!((only.num_columns(), strings(&only, "level")), (1, vec!["middle".to_owned()]));
    assert_eq!(index.rank(&1_001_u64.to_be_bytes()).unwrap(), 501);
    assert_eq!(index.count(10_u64.to_be_bytes()..=20_u64.to_be_bytes()).unwrap(), 6);
    assert_eq!(index.count::<&[u8]>(..).unwrap(), ROWS);
}

#[test]
fn from_nothing_a_row_of_a_shuffled_file_takes_three_rounds_and_with_the_index_open_two() {
    let shelf = Shelf::new();
    shelf.write("events.parquet", &events(shuffled(ROWS)), properties());
    let report = shelf.build("events.parquet", &["user_id"], "events.idx");
    assert!(!report.is_sorted, "{report:?}");
    for id in [0, 1, 999, 1_000, 7_999, 8_000, ROWS - 1] {
        shelf.reset();
        let index = shelf.open("events.idx");
        let mut trace = Trace::new();
        let found = index.get_traced(&id.to_be_bytes(), Some(&["name"]), Some(&mut trace)).unwrap();
        assert_eq!((shelf.rounds(), trace.rounds()), (3, 2), "{trace:#?}");
        assert_eq!(strings(&found, "name"), [format!("name {id}")]);
    }
    let index = shelf.open("events.idx");
    assert_eq!(index.get(&(ROWS + 3).to_be_bytes(), None).unwrap().num_rows(), 0);
    assert_eq!(index.rank(&1_001_u64.to_be_bytes()).unwrap(), 1_001);
    assert_eq!(index.count(10_u64.to_be_bytes()..=20_u64.to_be_bytes()).unwrap(), 11);
}

#[test]
fn several_keys_are_read_in_one_round_of_a_sorted_file_and_answered_in_their_order() {
    let shelf = Shelf::new();
    shelf.write("a.parquet", &events((0..ROWS / 2).map(|i| i / 3)), properties());
    shelf.write("b.parquet", &events((ROWS / 2..ROWS).map(|i| i / 3)), properties());
    let report = shelf.build("", &["user_id"], "events.idx");
    assert!(report.is_sorted && report.files == 2);
    let index = shelf.open("events.idx");
    shelf.reset();
    let ids = [5_000, 3, ROWS, 3_333, 3, 0];
    let keys: Vec<[u8; 8]> = ids.iter().map(|id: &u64| id.to_be_bytes()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let found = index.multi_get(&keys, None).unwrap();
    assert_eq!(shelf.rounds(), 1);
    for (id, rows) in ids.iter().zip(&found) {
        let expected = if *id < ROWS.div_ceil(3) { 3 } else { 0 };
        assert_eq!(u64s(rows, "user_id"), vec![*id; expected], "{id}");
    }
}

#[test]
fn as_many_keys_are_answered_together_as_have_pages_of_some_bytes() {
    let shelf = Shelf::new();
    shelf.write("a.parquet", &events((0..ROWS).map(|i| i / 3)), properties());
    shelf.write("b.parquet", &events((0..ROWS).rev().map(|i| i / 3)), properties());
    let keys: Vec<[u8; 8]> = [5_000, 3, ROWS, 3_333, 3, 0].map(|id: u64| id.to_be_bytes()).into();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    for (data, is_sorted) in [("a.parquet", true), ("b.parquet", false)] {
        assert_eq!(shelf.build(data, &["user_id"], "events.idx").is_sorted, is_sorted);
        let index = shelf.open("events.idx");
        let expected = index.multi_get(&keys, None).unwrap();
        let (mut before, mut calls_before) = (0, usize::MAX);
        for most_bytes in [0, 5_000, 50_000, u64::MAX] {
            let (mut found, mut calls) = (Vec::new(), 0);
            while found.len() < keys.len() {
                let some = index.multi_get_within(&keys[found.len()..], None, most_bytes, None).unwrap();
                assert!(!some.is_empty());
                before = before.max(some.len());
                found.extend(some);
                calls += 1;
            }
            assert_eq!(found, expected, "{most_bytes}");
            assert!(calls <= calls_before, "{most_bytes}");
            calls_before = calls;
        }
        assert_eq!((before, calls_before), (keys.len(), 1));
        assert_eq!(index.multi_get_within(&keys, None, 0, None).unwrap().len(), 1);
    }
}

#[test]
fn options_and_folders_are_found_by_their_names() {
    let shelf = Shelf::new();
    shelf.write("a.parquet", &events(0..10), properties());
    let folder = Arc::new(FolderMap::flat(shelf.storage()));
    let missing = ParquetIndex::build(shelf.storage(), "i", folder.clone(), BuildOptions::new("a.parquet", &["nope"]));
    assert!(missing.unwrap_err().to_string().contains("its columns are user_id, name, level"));
    shelf.build("a.parquet", &["user_id"], "i");
    let index = ParquetIndex::open(shelf.storage(), "i", folder, &TableOptions::default()).unwrap();
    assert!(index.get(&1_u64.to_be_bytes(), Some(&["nope"])).is_err());
}
