//! Rows of files that are not sorted by the key: the goal is that scans in key order and batches of lookups answer as
//! the sorted rows do, whatever the shape of the files and the memory, and that they read about what one reading of the
//! files reads. Method: a plain list of rows, sorted by key, and traces of the requests.

use crate::support::{Shelf, parquet_bytes, u64s};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, ListArray, RecordBatch, StringArray, StructArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use ogive::Profile;
use ogive::table::TableOptions;
use ogive_parquet::{ParquetIndex, ParquetScan, Trace};
use parquet::file::properties::WriterProperties;
use std::ops::Bound;
use std::sync::Arc;

/// Shapes of each run.
const SEEDS: u64 = 24;

/// A generator of numbers from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ word >> 31) % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Rows with these keys. The rows of each hundredth key are long.
fn rows(keys: &[u64], first_row: u64) -> RecordBatch {
    let of_row = |row: usize| first_row + row as u64;
    let every = || (0..keys.len()).map(of_row);
    let text = |row: u64| {
        let length = if keys[(row - first_row) as usize] % 100 == 7 { 3_000 } else { row % 20 };
        (!row.is_multiple_of(7)).then(|| format!("{row} {}", "x".repeat(length as usize)))
    };
    let lists = every()
        .map(|row| (!row.is_multiple_of(5)).then(|| (0..row % 4).map(|item| Some(item as i32)).collect::<Vec<_>>()));
    let words: Vec<Option<&str>> =
        every().map(|row| ["one", "two", "three"].get((row % 4) as usize).copied()).collect();
    let levels: ArrayRef =
        Arc::new(every().map(|row| (!row.is_multiple_of(3)).then_some(row as f64)).collect::<Float64Array>());
    let nested = StructArray::from(vec![(Arc::new(Field::new("level", DataType::Float64, true)), levels.clone())]);
    let columns: [(&str, ArrayRef); 7] = [
        ("id", Arc::new(UInt64Array::from(keys.to_vec()))),
        ("row", Arc::new(UInt64Array::from_iter_values(every()))),
        ("text", Arc::new(every().map(text).collect::<StringArray>())),
        ("lists", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
        ("word", Arc::new(words.into_iter().collect::<DictionaryArray<Int32Type>>())),
        ("level", levels),
        ("nested", Arc::new(nested)),
    ];
    let nullable = columns.into_iter().map(|(name, array)| (name, array, !["id", "row"].contains(&name)));
    RecordBatch::try_from_iter_with_nullable(nullable).unwrap()
}

fn properties(draw: &mut Draw) -> WriterProperties {
    WriterProperties::builder()
        .set_write_batch_size(1 + draw.below(60) as usize)
        .set_data_page_row_count_limit(1 + draw.below(300) as usize)
        .set_data_page_size_limit(64 + draw.below(6_000) as usize)
        .set_dictionary_page_size_limit(32 + draw.below(3_000) as usize)
        .set_dictionary_enabled(draw.below(3) > 0)
        .set_max_row_group_row_count(Some(1 + draw.below(900) as usize))
        .set_offset_index_disabled(draw.below(4) == 0)
        .build()
}

/// Keys in some order that is not that of the keys: shuffled, nearly ascending, or descending.
fn keys(draw: &mut Draw) -> Vec<u64> {
    let count = draw.pick(&[2, 30, 900, 2_500]);
    let distinct = draw.pick(&[3, 200, 1 << 40]);
    let mut keys: Vec<u64> = (0..count).map(|_| draw.below(distinct)).collect();
    match draw.below(3) {
        0 => {}
        1 => {
            keys.sort_unstable();
            let last = keys.len() - 1;
            for _ in 0..=keys.len() / 10 {
                let at = draw.below(last as u64) as usize;
                keys.swap(at, at + 1);
            }
            keys.swap(0, last);
        }
        _ => keys.sort_unstable_by(|left, right| right.cmp(left)),
    }
    keys
}

fn open(shelf: &Shelf, profile: &str, memory_bytes: u64) -> ParquetIndex {
    let options = TableOptions::default().profile(Profile::named(profile).unwrap()).memory_bytes(memory_bytes);
    ParquetIndex::open(shelf.storage(), "i", shelf.folder(), &options).unwrap()
}

/// The numbers of the rows of a scan, whose values are compared with those of the files.
fn scanned(scan: ParquetScan, all: &RecordBatch) -> Vec<u64> {
    let mut found = Vec::new();
    for batch in scan {
        let batch = batch.unwrap();
        assert!(batch.num_rows() > 0, "no batch is empty");
        let rows = u64s(&batch, "row");
        let taken = arrow_select::take::take_record_batch(all, &UInt64Array::from(rows.clone())).unwrap();
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let expected = taken.column_by_name(field.name()).unwrap();
            assert_eq!(&**column, &**expected, "{}", field.name());
        }
        found.extend(rows);
    }
    found
}

fn run(seed: u64) {
    let mut draw = Draw(seed);
    let draw = &mut draw;
    let (shelf, mut all_keys, mut files) = (Shelf::new(), Vec::new(), Vec::new());
    for number in 0..draw.pick(&[1, 3, 7]) {
        let keys = keys(draw);
        let batch = rows(&keys, all_keys.len() as u64);
        shelf.put(&format!("{number}.parquet"), parquet_bytes(&batch, properties(draw)));
        all_keys.extend(keys);
        files.push(batch);
    }
    let all = arrow_select::concat::concat_batches(&files[0].schema(), &files).unwrap();
    if shelf.build("", &["id"], "i").is_sorted {
        return;
    }
    let mut sorted: Vec<(u64, u64)> = all_keys.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    for _ in 0..4 {
        let index = open(&shelf, draw.pick(&["s3", "nvme", "hdd"]), draw.pick(&[0, 300_000, 2 << 20, 64 << 20]));
        let columns: &[&str] = draw.pick(&[&["row", "lists"], &["row"], &["text", "row", "word", "nested", "level"]]);
        let (one, other) = (draw.pick(&all_keys), draw.pick(&all_keys));
        let (start, end) = draw.pick(&[(one.min(other), one.max(other)), (0, u64::MAX)]);
        let few = draw.below(2_000);
        let limit = draw.pick(&[None, None, Some(1), Some(few), Some(u64::MAX)]);
        let is_reversed = draw.below(2) == 0;
        let range = (Bound::Included(start.to_be_bytes()), Bound::Included(end.to_be_bytes()));
        let mut expected: Vec<u64> =
            sorted.iter().filter(|(key, _)| (start..=end).contains(key)).map(|&(_, row)| row).collect();
        if is_reversed {
            expected.reverse();
        }
        expected.truncate(limit.unwrap_or(u64::MAX).min(1 << 30) as usize);
        let scan = match is_reversed {
            true => index.scan_reversed(range, Some(columns), None).unwrap(),
            false => index.scan(range, Some(columns)).unwrap(),
        };
        let scan = if let Some(rows) = limit { scan.limit(rows) } else { scan };
        assert_eq!(scanned(scan, &all), expected, "{start} to {end}, {limit:?}, reversed: {is_reversed}");
        let asked: Vec<u64> = (0..draw.below(300)).map(|_| draw.pick(&all_keys) + draw.below(2)).collect();
        let bytes: Vec<[u8; 8]> = asked.iter().map(|key| key.to_be_bytes()).collect();
        let bytes: Vec<&[u8]> = bytes.iter().map(|key| &key[..]).collect();
        for (key, found) in asked.iter().zip(index.multi_get(&bytes, Some(columns)).unwrap()) {
            let of_key =
                sorted.partition_point(|(known, _)| known < key)..sorted.partition_point(|(known, _)| known <= key);
            let of_key: Vec<u64> = sorted[of_key].iter().map(|&(_, row)| row).collect();
            assert_eq!(u64s(&found, "row"), of_key, "{key}");
        }
    }
}

#[test]
fn scans_and_batches_of_lookups_answer_as_the_sorted_rows_do_within_any_memory() {
    for seed in 1..=SEEDS {
        let outcome = std::panic::catch_unwind(|| run(seed));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

/// A file of shuffled keys whose pages have 500 rows.
fn shuffled(count: u64) -> Shelf {
    let shelf = Shelf::new();
    let size = count.next_power_of_two();
    let keys: Vec<u64> = (0..size).map(|row| (row * 0x9e37_79b1 + 7) % size).filter(|&key| key < count).collect();
    let names: ArrayRef =
        Arc::new(StringArray::from_iter_values(keys.iter().map(|key| format!("name {}", key * 77 % 991))));
    let levels: ArrayRef = Arc::new(Float64Array::from_iter_values(keys.iter().map(|&key| key as f64 / 3.0)));
    let ids: ArrayRef = Arc::new(UInt64Array::from(keys));
    let batch = RecordBatch::try_from_iter([("id", ids), ("name", names), ("level", levels)]).unwrap();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(500)
        .set_write_batch_size(100)
        .set_max_row_group_row_count(Some(20_000))
        .build();
    shelf.put("a.parquet", parquet_bytes(&batch, properties));
    assert!(!shelf.build("a.parquet", &["id"], "i").is_sorted);
    shelf
}

/// Bytes of data files that are read, with those between ranges that are read along.
fn data_bytes(trace: &Trace) -> u64 {
    let of_data = trace.requests.iter().filter(|request| request.path.ends_with("a.parquet"));
    of_data.map(|request| request.bytes).sum()
}

/// Bytes of the data file that a scan reads until it has a number of rows.
fn bytes_until(index: &ParquetIndex, rows: u64, limit: Option<u64>) -> u64 {
    let mut scan = index.scan_traced::<&[u8]>(.., None, Some(Trace::new())).unwrap();
    if let Some(rows) = limit {
        scan = scan.limit(rows);
    }
    let mut found = 0;
    while found < rows
        && let Some(batch) = scan.next()
    {
        found += batch.unwrap().num_rows() as u64;
    }
    assert!(found >= rows);
    data_bytes(&scan.into_trace().unwrap())
}

const ROWS: u64 = 60_000;

/// Bytes of the data file, each read once.
fn one_reading(shelf: &Shelf) -> u64 {
    shelf.storage().open("a.parquet").unwrap().len()
}

#[test]
fn a_scan_reads_hardly_more_than_one_reading_of_the_files_and_its_first_row_about_a_lookup() {
    let shelf = shuffled(ROWS);
    let file_bytes = one_reading(&shelf);
    for profile in ["nvme", "s3", "hdd"] {
        // Memory for all rows, and for a small part of them.
        for memory_bytes in [64 << 20, 1 << 20] {
            let index = open(&shelf, profile, memory_bytes);
            let mut trace = Trace::new();
            assert_eq!(index.get_traced(&0_u64.to_be_bytes(), None, Some(&mut trace)).unwrap().num_rows(), 1);
            let lookup_bytes = data_bytes(&trace);
            let bytes = bytes_until(&index, ROWS, None);
            assert!(bytes <= file_bytes * 13 / 10, "{profile}: {bytes} bytes of {file_bytes}");
            let bytes = bytes_until(&index, ROWS, Some(u64::MAX));
            assert!(bytes <= file_bytes * 11 / 10, "{profile}: {bytes} bytes of {file_bytes} without windows");
            let bytes = bytes_until(&index, 1, None);
            assert!(
                bytes <= 4 * lookup_bytes,
                "{profile}: {bytes} bytes for the first row, {lookup_bytes} for a lookup"
            );
            let bytes = bytes_until(&index, 10, Some(10));
            assert!(bytes <= 11 * lookup_bytes, "{profile}: {bytes} bytes for ten rows, {lookup_bytes} for a lookup");
        }
    }
}

#[test]
fn a_batch_of_lookups_reads_each_page_once() {
    let shelf = shuffled(ROWS);
    let file_bytes = one_reading(&shelf);
    let keys: Vec<[u8; 8]> = (0..2_000_u64).map(|at| (at * 7_919 % ROWS).to_be_bytes()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    for (profile, memory_bytes) in [("nvme", 64 << 20), ("s3", 64 << 20), ("nvme", 4 << 20)] {
        let mut trace = Trace::new();
        let found = open(&shelf, profile, memory_bytes).multi_get_traced(&keys, None, Some(&mut trace)).unwrap();
        assert!(
            keys.iter()
                .zip(&found)
                .all(|(key, rows)| u64s(rows, "id") == [u64::from_be_bytes((*key).try_into().unwrap())])
        );
        let bytes = data_bytes(&trace);
        assert!(bytes <= file_bytes * 11 / 10, "{profile}: {bytes} bytes of {file_bytes}");
    }
}

#[test]
fn keys_that_nearly_follow_the_files_are_read_in_windows_that_lie_apart() {
    // Each key is up to some rows away from its place.
    let keys: Vec<u64> = (0..ROWS).map(|row| row / 40 * 40 + row * 7 % 40).collect();
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(keys.iter().map(|key| format!("{key:050}"))));
    let ids: ArrayRef = Arc::new(UInt64Array::from(keys));
    let batch = RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap();
    let shelf = Shelf::new();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(500)
        .set_write_batch_size(100)
        .set_dictionary_enabled(false)
        .build();
    shelf.put("a.parquet", parquet_bytes(&batch, properties));
    assert!(!shelf.build("a.parquet", &["id"], "i").is_sorted);
    let file_bytes = one_reading(&shelf);
    let index = open(&shelf, "nvme", 2 << 20);
    let bytes = bytes_until(&index, ROWS, Some(u64::MAX));
    assert!(bytes <= file_bytes * 13 / 10, "{bytes} bytes of {file_bytes}");
    let bytes = bytes_until(&index, 1_000, Some(u64::MAX));
    assert!(bytes <= file_bytes / 3, "{bytes} bytes of {file_bytes} for the first rows");
}
