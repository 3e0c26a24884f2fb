//! Forged catalogs: the goal is that no bytes make decoding panic, or allocate on the word of the file. Catalogs of a
//! sorted file and of one that is not are cut at every length, and copies with a few bytes changed are decoded.

use crate::support::{Shelf, parquet_bytes};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use ogive_parquet::check_catalog;
use parquet::file::properties::WriterProperties;
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
