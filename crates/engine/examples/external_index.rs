//! An external index: the records stay in a file of another program, and the index stands in a file of its own.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]
#![expect(clippy::disallowed_methods, reason = "the records are a file of another program")]

use ogive::table::external::{RecordFile, index_records};
use ogive::{LocalStorage, Storage, Table, TableOptions, TableWriteOptions};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // Sorted records of 16 bytes: a key and a price, both little-endian, without a header.
    let records: Vec<u8> =
        (0..50_000_u64).flat_map(|i| [(i * 3).to_le_bytes(), (i * 100).to_le_bytes()].concat()).collect();
    std::fs::write(folder.path().join("prices.bin"), records)?;

    let form = RecordFile { header_bytes: 0, counted: false, key_bytes: 8, value_bytes: 8, little_endian: true };
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    index_records(storage.clone(), "prices.bin", "prices.ogive", form, TableWriteOptions::default())?;

    // Keys are asked for big-endian, so that they order as byte strings.
    let table = Table::open((storage, "prices.ogive"), &TableOptions::default())?;
    assert_eq!(table.get(&300_u64.to_be_bytes())?, Some(10_000_u64.to_le_bytes().to_vec()));
    assert!(!table.contains_key(&301_u64.to_be_bytes())?);
    println!("{} records, indexed in place", table.len());
    Ok(())
}
