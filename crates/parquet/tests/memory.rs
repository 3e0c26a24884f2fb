//! Scans in key order over files that are not sorted stay within their memory, as a counting allocator sees it. The one
//! test of this program: the allocator counts all threads.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use ogive::table::TableOptions;
use ogive::{MemoryStorage, Storage};
use ogive_parquet::{BuildOptions, FolderMap, ParquetIndex};
use ogive_testkit::PeakAlloc;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const ROWS: u64 = 150_000;
/// Bytes of each text, which do not repeat.
const TEXT_BYTES: usize = 100;

fn file() -> Vec<u8> {
    let keys: Vec<u64> = (0..ROWS).map(|row| row * 7_919 % ROWS).collect();
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(keys.iter().map(|key| format!("{key:0TEXT_BYTES$}"))));
    let ids: ArrayRef = Arc::new(UInt64Array::from(keys));
    let batch = RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(500)
        .set_write_batch_size(100)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(40_000))
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

#[test]
fn a_scan_of_more_rows_than_memory_holds_stays_within_it() {
    let memory = Arc::new(MemoryStorage::new());
    memory.put("a.parquet", file()).unwrap();
    let storage: Arc<dyn Storage> = memory;
    let folder = Arc::new(FolderMap::flat(storage.clone()));
    let options = BuildOptions::new("a.parquet", &["id"]);
    assert!(!ParquetIndex::build(storage.clone(), "i", folder.clone(), options).unwrap().is_sorted);
    for memory_bytes in [4 << 20, 8 << 20] {
        let options = TableOptions::default().memory_bytes(memory_bytes);
        let index = ParquetIndex::open(storage.clone(), "i", folder.clone(), &options).unwrap();
        for is_all_wanted in [true, false] {
            ALLOCATOR.reset_peak_usage();
            let before = ALLOCATOR.current_usage();
            let mut scan = index.scan::<&[u8]>(.., None).unwrap();
            if is_all_wanted {
                scan = scan.limit(u64::MAX);
            }
            let rows: u64 = scan.map(|batch| batch.unwrap().num_rows() as u64).sum();
            let peak = (ALLOCATOR.peak_usage() - before) as u64;
            assert_eq!(rows, ROWS);
            assert!(peak <= memory_bytes, "{peak} bytes within {memory_bytes}, all wanted: {is_all_wanted}");
        }
    }
}
