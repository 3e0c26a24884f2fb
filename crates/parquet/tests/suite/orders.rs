//! Orders of rows: descending scans, positions, and the order of the files, each compared with an ascending scan.
//! Method: files in memory that are sorted, sorted with overlaps, and not sorted, with keys that repeat.

use crate::support::{Shelf, strings};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use ogive_parquet::{ParquetIndex, ParquetScan};
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

fn rows(ids: impl Iterator<Item = u64>, from: &str) -> RecordBatch {
    let ids: Vec<u64> = ids.collect();
    let names: Vec<String> = (0..ids.len()).map(|row| format!("{from} {row}")).collect();
    let columns: [(&str, ArrayRef); 2] =
        [("id", Arc::new(UInt64Array::from(ids))), ("name", Arc::new(StringArray::from(names)))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .set_max_row_group_row_count(Some(700))
        .build()
}

/// Sorted files without overlaps, sorted files with overlaps, and a shuffled file.
fn shelves() -> [(Shelf, &'static str); 3] {
    let [apart, overlapping, shuffled] = [Shelf::new(), Shelf::new(), Shelf::new()];
    apart.write("data.parquet", &rows((0..3_000).map(|row| row / 3), "a"), properties());
    overlapping.write("a.parquet", &rows((0..2_000).map(|row| row / 2), "a"), properties());
    overlapping.write("b.parquet", &rows((0..1_500).map(|row| row / 2 * 3), "b"), properties());
    overlapping.write("c.parquet", &rows((0..10).map(|_| 600), "c"), properties());
    shuffled.write("data.parquet", &rows((0..3_000).map(|row| row * 1_009 % 3_000 / 2), "a"), properties());
    [(apart, "data.parquet"), (overlapping, ""), (shuffled, "data.parquet")]
}

fn names(scan: ParquetScan) -> Vec<String> {
    scan.flat_map(|batch| strings(&batch.unwrap(), "name")).collect()
}

fn opened((shelf, root): &(Shelf, &str)) -> ParquetIndex {
    shelf.build(root, &["id"], "i.idx");
    shelf.open("i.idx")
}

#[test]
fn a_descending_scan_is_an_ascending_one_the_other_way_round() {
    for shelf in &shelves() {
        let index = opened(shelf);
        for range in [0..5_000, 100..900, 600..601, 7..7] {
            let range = u64::to_be_bytes(range.start)..u64::to_be_bytes(range.end);
            let mut expected = names(index.scan(range.clone(), Some(&["name"])).unwrap());
            expected.reverse();
            assert_eq!(names(index.scan_reversed(range, Some(&["name"]), None).unwrap()), expected);
        }
    }
}

#[test]
fn the_row_at_a_position_is_that_of_a_scan() {
    for shelf in &shelves() {
        let index = opened(shelf);
        let all = names(index.scan::<&[u8]>(.., None).unwrap());
        for position in (0..all.len()).step_by(97).chain([1, all.len() - 1]) {
            let found = index.nth(position as u64, Some(&["name"])).unwrap().unwrap();
            assert_eq!(strings(&found, "name"), [all[position].clone()], "{position}");
        }
        assert!(index.nth(all.len() as u64, None).unwrap().is_none());
    }
}

#[test]
fn the_order_of_the_files_has_every_row() {
    for shelf in &shelves() {
        let index = opened(shelf);
        let mut all = Vec::new();
        for batch in index.scan_files(None).unwrap() {
            all.extend(strings(&batch.unwrap(), "name"));
        }
        let mut expected = names(index.scan::<&[u8]>(.., None).unwrap());
        assert_eq!(all.len(), expected.len());
        all.sort_unstable();
        expected.sort_unstable();
        assert_eq!(all, expected);
    }
}
