//! A join of two tables larger than the memory that it may use. The planner picks the method by its cost.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{
    JoinOptions, JoinOutput, JoinSource, KeyType, MemoryStorage, Table, TableOptions, TableWriteOptions, TableWriter,
    join,
};
use std::sync::Arc;

/// Rows of 8-byte keys, `apart` from each other.
fn table(storage: &Arc<MemoryStorage>, name: &str, rows: u64, apart: u64) -> ogive::Result<Table> {
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(8);
    let mut writer = TableWriter::create((storage.clone(), name), options)?;
    (0..rows).try_for_each(|row| writer.append(&(row * apart).to_be_bytes(), &row.to_le_bytes()))?;
    writer.finish()?;
    Table::open((storage.clone(), name), &TableOptions::default())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let storage = Arc::new(MemoryStorage::new());
    let (orders, customers) = (table(&storage, "orders", 400_000, 2)?, table(&storage, "customers", 200_000, 3)?);
    let output = JoinOutput::table(storage.clone(), "joined", JoinOutput::options());
    let options = JoinOptions::default().memory_bytes(4 << 20);
    let report = join(&JoinSource::table(&orders), &JoinSource::table(&customers), output, &options)?;
    println!("{} rows within {} bytes of memory", report.rows, report.peak_memory_bytes);

    let joined = Table::open((storage, "joined"), &TableOptions::default())?;
    // A row has the value of the left side, then that of the right one.
    let found = joined.get(&600_u64.to_be_bytes())?.ok_or("every sixth number is in both tables")?;
    let row = joined.record_type().values.row(&found)?;
    assert_eq!((row.field(0)?, row.field(1)?), (Some(&300_u64.to_le_bytes()[..]), Some(&200_u64.to_le_bytes()[..])));
    Ok(())
}
