//! A table: sorted records in one immutable file, built once and shipped to those who only read.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{KeyType, LocalStorage, Table, TableOptions, TableWriteOptions, TableWriter};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let storage = Arc::new(LocalStorage::new(folder.path()));
    let options = TableWriteOptions::default().key_type(KeyType::U64);
    let mut writer = TableWriter::create((storage, "squares.ogive"), options)?;
    for number in 0..100_000_u64 {
        writer.append(&(number * number).to_be_bytes(), format!("{number} squared").as_bytes())?;
    }
    let report = writer.finish()?;
    println!("{} bytes of index for {} blocks", report.index_bytes, report.blocks);

    // One file holds all; a reader needs nothing but its path.
    let table = Table::open(folder.path().join("squares.ogive"), &TableOptions::default())?;
    assert_eq!(table.get(&144_u64.to_be_bytes())?, Some(b"12 squared".to_vec()));
    assert_eq!(table.get(&145_u64.to_be_bytes())?, None);
    assert_eq!(table.rank(&1_000_000_u64.to_be_bytes())?, 1_000);
    Ok(())
}
