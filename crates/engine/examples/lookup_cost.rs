//! The cost of a lookup, traced: reads and bytes, in a table whose index is tuned for an object store.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{KeyType, MemoryStorage, Profile, ReadTrace, Table, TableOptions, TableWriteOptions, TableWriter};
use std::sync::Arc;

/// Keys whose gaps span nine orders of magnitude.
fn keys() -> Vec<u64> {
    let mut state = 1_u64;
    let mut gap = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 << (state >> 59)
    };
    (0..500_000)
        .scan(0_u64, |key, _| {
            *key += gap();
            Some(*key)
        })
        .collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::U64).profile(Profile::named("s3")?);
    let mut writer = TableWriter::create((storage.clone(), "t"), options)?;
    let keys = keys();
    keys.iter().try_for_each(|key| writer.append(&key.to_be_bytes(), &key.to_le_bytes()))?;
    let report = writer.finish()?;
    println!("{} bytes of index for {} bytes of data", report.index_bytes, report.data_bytes);

    let table = Table::open((storage, "t"), &TableOptions::default())?;
    let mut trace = ReadTrace::new();
    assert!(table.traced(&mut trace).contains_key(&keys[4_711].to_be_bytes())?);
    println!("lookup: {} read of {} bytes", trace.reads.len(), trace.bytes());
    assert_eq!(trace.reads.len(), 1);
    Ok(())
}
