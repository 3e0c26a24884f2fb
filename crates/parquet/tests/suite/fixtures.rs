//! Files of other writers: the goal is that pages of every writer, version, encoding and compression are found and
//! decoded. Each fixture is indexed by each of its columns that can be a key, and every row is looked up and compared
//! with the rows as a plain reader gives them. `fixtures/make.py` makes the files.

use crate::support::Shelf;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use ogive::io::{LocalStorage, Purpose, ReadRequest};
use ogive::table::TableOptions;
use ogive::{MemoryStorage, Storage};
use ogive_parquet::{BuildOptions, ParquetIndex, PathFolder};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;
use std::sync::Arc;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn bytes_of(name: &str) -> Vec<u8> {
    let file = LocalStorage::new(folder()).open(name).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Input }).unwrap();
    bytes
}

fn plain_rows(name: &str) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes_of(name))).unwrap();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap()
}

fn names() -> Vec<String> {
    let names = LocalStorage::new(folder()).list().unwrap();
    names.into_iter().filter(|name| name.ends_with(".parquet")).collect()
}

/// The place of each row in key order, by a scan, and each row by the rank of its key.
fn check_key(name: &str, column: &str, rows: &RecordBatch) {
    let storage = Arc::new(MemoryStorage::new());
    let data = Arc::new(PathFolder::new(folder()));
    ParquetIndex::build(storage.clone(), "index", data.clone(), BuildOptions::new(name, &[column])).unwrap();
    let index = ParquetIndex::open(storage, "index", data, &TableOptions::default()).unwrap();
    assert!(index.verify(&mut |_, _| ()).unwrap().is_sound(), "{name} by {column}");
    let scanned: Vec<RecordBatch> = index.scan::<&[u8]>(.., None).unwrap().map(Result::unwrap).collect();
    let scanned = arrow_select::concat::concat_batches(&rows.schema(), &scanned).unwrap();
    assert_eq!(scanned.num_rows(), rows.num_rows(), "{name} by {column}");
    if column == "id" {
        assert_eq!(&scanned, rows, "{name}: rows in the order of their numbers");
    }
    let nulls = rows.column_by_name(column).unwrap().null_count();
    if nulls > 0 {
        let null = index.key_type().parse("").unwrap();
        assert_eq!(index.get(&null, None).unwrap().num_rows(), nulls, "{name} by {column}");
    }
}

#[test]
fn files_of_every_writer_are_read_by_every_column_that_can_be_a_key() {
    let names = names();
    assert!(names.len() >= 14, "{names:?}");
    for name in &names {
        let rows = plain_rows(name);
        assert_eq!(rows.num_rows(), 300, "{name}");
        for field in rows.schema().fields().iter().filter(|field| !field.data_type().is_nested()) {
            check_key(name, field.name(), &rows);
        }
    }
}

#[test]
fn a_row_of_every_writer_has_the_values_of_its_number() {
    for name in names() {
        let rows = plain_rows(&name);
        let storage = Arc::new(MemoryStorage::new());
        let data = Arc::new(PathFolder::new(folder()));
        ParquetIndex::build(storage.clone(), "index", data.clone(), BuildOptions::new(&name, &["id"])).unwrap();
        let index = ParquetIndex::open(storage, "index", data, &TableOptions::default()).unwrap();
        assert!(index.is_sorted(), "{name}");
        for row in 0..rows.num_rows() {
            let key = index.key_type().parse(&(3 * row).to_string()).unwrap();
            assert_eq!(index.get(&key, None).unwrap(), rows.slice(row, 1), "{name}, row {row}");
        }
    }
}

#[test]
fn a_column_of_lists_is_no_key_and_is_read_with_others() {
    let shelf = Shelf::new();
    shelf.put("a.parquet", bytes_of("pyarrow-v1-zstd.parquet"));
    let options = BuildOptions::new("a.parquet", &["tags"]);
    let refused = ParquetIndex::build(shelf.storage(), "i", shelf.folder(), options).unwrap_err();
    assert!(refused.to_string().contains("column 'tags' is of type"), "{refused}");
    shelf.build("a.parquet", &["id"], "i");
    let found = shelf.open("i").get(&ogive::encode_i64(9), Some(&["tags"])).unwrap();
    assert!(matches!(found.schema().field(0).data_type(), DataType::List(_)));
}
