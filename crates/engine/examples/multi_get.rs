//! Many keys at once: `multi_get` beside `get`, in a table and in a store.
//!
//! Without arguments it makes small ones. `multi_get FOLDER` takes `FOLDER/table.ogive`, `FOLDER/store` and the keys in
//! `FOLDER/keys`, unsigned integers of 8 bytes, little end first; `crates/python/bench/beside_rust.py` makes them.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]
#![expect(clippy::disallowed_methods, reason = "a program may read the clock, and keys from a file")]

use ogive::{Db, DbOptions, KeyType, LocalStorage, Table, TableOptions, TableWriteOptions, TableWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Rounds of each measurement, of which the fastest counts.
const ROUNDS: usize = 5;

/// Records of the small table and store.
const RECORDS: u64 = 10_000;

type Key = [u8; 8];

fn make(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let storage = Arc::new(LocalStorage::new(folder));
    let options = TableWriteOptions::default().key_type(KeyType::U64);
    let mut writer = TableWriter::create((storage, "table.ogive"), options)?;
    let db = Db::open(folder.join("store"), &DbOptions::default())?;
    let mut batch = db.batch();
    for key in (0..RECORDS).map(|key| (key * 7).to_be_bytes()) {
        writer.append(&key, &[7; 64])?;
        batch.insert(&db, key, [7; 64]);
    }
    batch.commit()?;
    writer.finish()?;
    let asked: Vec<u8> = (0..RECORDS).flat_map(|number| (number * 7_919 % (RECORDS * 7)).to_le_bytes()).collect();
    Ok(std::fs::write(folder.join("keys"), asked)?)
}

/// Prints the nanoseconds a key of the fastest round, and how many keys were found.
fn measure(name: &str, keys: &[&[u8]], look_up: impl Fn(&[&[u8]]) -> ogive::Result<usize>) -> ogive::Result<()> {
    let (mut nanoseconds, mut found) = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        found = look_up(keys)?;
        nanoseconds = nanoseconds.min(started.elapsed().as_secs_f64() * 1e9 / keys.len().max(1) as f64);
    }
    println!("{name}: {nanoseconds:.1} ns a key, {found} of {} found", keys.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let small = tempfile::tempdir()?;
    let given = std::env::args_os().nth(1);
    let folder = given.as_deref().map_or(small.path(), Path::new);
    if given.is_none() {
        make(folder)?;
    }
    let asked = std::fs::read(folder.join("keys"))?;
    let keys: Vec<Key> = asked.as_chunks().0.iter().map(|key| u64::from_le_bytes(*key).to_be_bytes()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();

    let table = Table::open((Arc::new(LocalStorage::new(folder)), "table.ogive"), &TableOptions::default())?;
    measure("table.multi_get", &keys, |keys| Ok(table.multi_get(keys)?.iter().flatten().count()))?;
    measure("table.get", &keys, |keys| {
        keys.iter().try_fold(0, |found, key| Ok(found + usize::from(table.get(key)?.is_some())))
    })?;

    let db = Db::open(folder.join("store"), &DbOptions::default())?;
    measure("db.multi_get", &keys, |keys| Ok(db.multi_get(keys)?.iter().flatten().count()))?;
    measure("db.get", &keys, |keys| {
        keys.iter().try_fold(0, |found, key| Ok(found + usize::from(db.get(key)?.is_some())))
    })?;
    Ok(())
}
