//! Forged catalogs: the goal is that no bytes make decoding panic, or allocate on the word of the file. Catalogs of a
//! sorted file and of one that is not are cut at every length, and copies with a few bytes changed are decoded. So it
//! is with footers and offset indexes that state more than they have.

use crate::support::{Shelf, parquet_bytes, u64s};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use ogive_parquet::{BuildOptions, ParquetIndex, ParquetIndexError, check_catalog};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use std::path::Path;
use std::sync::Arc;

/// Changed copies of each catalog.
const CHANGES: u64 = 4_000;

fn catalogs() -> Vec<Vec<u8>> {
    let ids: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..300));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..300).map(|i| format!("{}", i * 7 % 300))));
    let batch = RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap();
    let properties = WriterProperties::builder().set_data_page_row_count_limit(40).set_write_batch_size(20).build();
    let shelf = Shelf::new();
    shelf.put("a.parquet", parquet_bytes(&batch, properties));
    let catalog = |key: &str| {
        shelf.build("a.parquet", &[key], "i");
        shelf.open("i").table().property("parquet").unwrap().to_vec()
    };
    ["id", "name"].map(catalog).to_vec()
}

#[test]
fn forged_catalogs_are_errors_and_never_panics() {
    let path = Path::new("index");
    let mut word = 7_u64;
    let mut draw = |end: usize| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (word >> 33) as usize % end
    };
    for catalog in catalogs() {
        check_catalog(path, &catalog).unwrap();
        for length in 0..catalog.len() {
            assert!(check_catalog(path, &catalog[..length]).is_err(), "cut at {length}");
        }
        for _ in 0..CHANGES {
            let mut forged = catalog.clone();
            for _ in 0..1 + draw(4) {
                let at = draw(forged.len());
                forged[at] = draw(256) as u8;
            }
            // What is accepted differs in no more than names, places and numbers.
            _ = check_catalog(path, &forged);
        }
    }
}

#[test]
fn footers_and_indexes_that_state_more_elements_than_bytes_are_refused_or_passed_over() {
    // Version, a schema of one column, rows, and a list of 2^31 row groups.
    let head = [0x15, 4, 0x19, 0x2c, 0x48, 1, b'r', 0x15, 2, 0, 0x15, 4, 0x25, 0, 0x18, 1, b'i', 0, 0x16, 10, 0x19];
    let mut footer = [&head[..], &[0xfc, 0xff, 0xff, 0xff, 0xff, 7], &[0; 20]].concat();
    let length = footer.len() as u32;
    footer.extend(length.to_le_bytes());
    let shelf = Shelf::new();
    let build = |root| ParquetIndex::build(shelf.storage(), "i", shelf.folder(), BuildOptions::new(root, &["i"]));
    shelf.put("a.parquet", [b"PAR1", &footer[..], b"PAR1"].concat());
    assert!(matches!(build("a.parquet"), Err(ParquetIndexError::Malformed { .. })));

    let ids: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..1_000));
    let batch = RecordBatch::try_from_iter([("i", ids)]).unwrap();
    let properties = WriterProperties::builder().set_data_page_row_count_limit(100).set_write_batch_size(50).build();
    let mut bytes = parquet_bytes(&batch, properties);
    let reader = parquet::file::reader::SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
    let at = reader.metadata().row_group(0).column(0).offset_index_offset().unwrap() as usize;
    bytes[at..at + 7].copy_from_slice(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7]);
    shelf.put("b.parquet", bytes);
    assert_eq!(build("b.parquet").unwrap().rows, 1_000);
    assert_eq!(u64s(&shelf.open("i").get(&777_u64.to_be_bytes(), None).unwrap(), "i"), [777]);
}
