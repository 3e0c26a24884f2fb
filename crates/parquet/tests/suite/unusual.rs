//! Data of unusual shape: the goal is that what is legal is answered, in bounded memory and rounds of bounded size, and
//! that the rest is a clear error.

use crate::support::{Shelf, parquet_bytes};
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray, UInt64Array};
use ogive_parquet::{BuildOptions, ParquetIndex, Trace};
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

fn ids(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn rows(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter(columns.iter().cloned()).unwrap()
}

#[test]
fn long_values_that_repeat_are_decoded_a_few_at_a_time() {
    const ROWS: u64 = 60_000;
    let text = "x".repeat(4_000);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text.as_str(); ROWS as usize]));
    let shelf = Shelf::new();
    let whole = WriterProperties::builder().set_data_page_row_count_limit(ROWS as usize).build();
    shelf.put("a.parquet", parquet_bytes(&rows(&[("id", ids(0..ROWS)), ("text", texts)]), whole));
    for key in ["id", "text"] {
        shelf.build("a.parquet", &[key], "i");
        let mut found = 0;
        for batch in shelf.open("i").scan::<&[u8]>(.., None).unwrap() {
            let batch = batch.unwrap();
            found += batch.num_rows() as u64;
            let bytes = batch.column(1).get_array_memory_size();
            assert!(bytes <= 80 << 20, "{bytes} bytes after {found} rows");
        }
        assert_eq!(found, ROWS);
    }
}

#[test]
fn rows_that_lie_apart_are_read_in_rounds_of_bounded_size() {
    const ROWS: u64 = 1_500;
    let size = 60_000;
    let values: ArrayRef = Arc::new(BinaryArray::from_iter_values(
        (0..ROWS).map(|row| (0..size).map(|i| (i * 31 + row) as u8).collect::<Vec<u8>>()),
    ));
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(1)
        .set_write_batch_size(1)
        .set_dictionary_enabled(false)
        .build();
    let shelf = Shelf::new();
    let keys = ids((0..ROWS).map(|row| row * 7 % 3));
    shelf.put("a.parquet", parquet_bytes(&rows(&[("id", keys), ("value", values)]), properties));
    assert!(!shelf.build("a.parquet", &["id"], "i").is_sorted);
    let index = shelf.open("i");
    let largest = |trace: &Trace| {
        let rounds = trace.requests.chunk_by(|left, right| left.round == right.round);
        rounds.map(|round| round.iter().map(|request| request.bytes).sum::<u64>()).max()
    };
    let mut scan = index.scan_traced::<&[u8]>(.., None, Some(Trace::new())).unwrap();
    assert_eq!(scan.by_ref().map(|batch| batch.unwrap().num_rows() as u64).sum::<u64>(), ROWS);
    assert!(largest(&scan.into_trace().unwrap()) <= Some(70 << 20));
    let all: Vec<[u8; 8]> = (0..3_u64).map(u64::to_be_bytes).collect();
    let keys: Vec<&[u8]> = all.iter().map(|key| &key[..]).collect();
    let mut trace = Trace::new();
    let found = index.multi_get_traced(&keys, None, Some(&mut trace)).unwrap();
    assert_eq!(found.iter().map(|rows| rows.num_rows() as u64).collect::<Vec<_>>(), [500; 3]);
    assert!(largest(&trace) <= Some(70 << 20));
}

#[test]
fn several_columns_of_a_name_are_refused() {
    let schema = arrow_schema::Schema::new(vec![
        arrow_schema::Field::new("id", arrow_schema::DataType::UInt64, false),
        arrow_schema::Field::new("id", arrow_schema::DataType::UInt64, false),
    ]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![ids(0..3), ids(3..6)]).unwrap();
    let shelf = Shelf::new();
    shelf.write("a.parquet", &batch, WriterProperties::default());
    let refused =
        ParquetIndex::build(shelf.storage(), "i", shelf.folder(), BuildOptions::new("a.parquet", &["id"])).unwrap_err();
    assert!(refused.to_string().contains("several columns 'id'"), "{refused}");
}
