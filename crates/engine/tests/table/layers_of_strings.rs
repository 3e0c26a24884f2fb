//! Tests of multi-layer indexes over byte strings. Goal: every key is found, in particular in the last child of an
//! index page, which is followed by zeros. Method: a root budget so small that several layers are built, and a lookup
//! of each key and of a key just after it.

use ogive::KeyType;
use ogive::io::MemoryStorage;
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use std::sync::Arc;

#[test]
fn each_key_is_found_through_layers_of_strings() -> ogive::Result<()> {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default()
        .key_type(KeyType::Text)
        .block_bytes(512)
        .tuning(|tuning| tuning.resident_bytes(1024));
    let mut writer = TableWriter::create((storage.clone(), "t"), options)?;
    let mut keys: Vec<String> = (0..60_000_u64)
        .map(|number| format!("/folder {}/{:x}", number % 37, number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    keys.sort();
    for key in &keys {
        writer.append(key.as_bytes(), b"value")?;
    }
    let report = writer.finish()?;
    assert!(report.layers.len() > 1, "{:?}", report.layers);
    let table = Table::open((storage, "t"), &TableOptions::default())?;
    for (rank, key) in keys.iter().enumerate() {
        assert!(table.get(key.as_bytes())?.is_some(), "{key}");
        assert_eq!(table.rank(key.as_bytes())?, rank as u64, "{key}");
        assert_eq!(table.get(format!("{key} ").as_bytes())?, None);
    }
    Ok(())
}
