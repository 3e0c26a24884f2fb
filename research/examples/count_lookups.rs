//! Lookups of a store in memory by one way to learn, for a tool that counts instructions, branches and cache misses:
//!
//! ```console
//! $ cargo build --release -p ogive-research --example count_lookups
//! $ count='valgrind --tool=cachegrind --cache-sim=yes --branch-sim=yes --cachegrind-out-file=/dev/null'
//! $ $count target/release/examples/count_lookups file-models 200000 0
//! $ $count target/release/examples/count_lookups file-models 200000 20000
//! ```
//!
//! The second run counts what the first one counts and 20,000 lookups. The options are those of the bench's runs on
//! Bourbon: values in the value log, everything in memory and in one thread.

use ogive::lsm::Learning;
use ogive::{Compression, Db, DbOptions, Durability, MemoryStorage};
use ogive_research::bourbon::{Bourbon, LearningRule, ModelReads, ModelScope};
use std::error::Error;
use std::sync::Arc;

const RECORDS: u64 = 10_000;
const LOOKUPS: u64 = 1_000;
/// A prime, so that multiples of it modulo the number of records come in no order.
const STRIDE: u64 = 999_999_937;
const MEMTABLE_BYTES: u64 = 256 << 10;

fn learning(name: &str) -> Result<Learning, String> {
    let offline = Bourbon { reads: ModelReads::Window, ..Bourbon::new(LearningRule::Offline) };
    match name {
        "never" => Ok(Bourbon::new(LearningRule::Never).into()),
        "file-models" => Ok(offline.into()),
        "level-models" => Ok(Bourbon { scope: ModelScope::Levels, ..offline }.into()),
        "coded" => Ok(Learning::CODED),
        _ => Err(format!("{name:?} is none of never, file-models, level-models, coded")),
    }
}

/// The key of a record, in no order and with no pattern.
fn key(number: u64) -> [u8; 16] {
    let mixed = (number.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(mixed ^ (mixed >> 29)).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = |at: usize, default| arguments.get(at).map_or(Ok(default), |text| text.parse::<u64>());
    let name = arguments.first().map_or("coded", String::as_str);
    let (records, lookups) = (count(1, RECORDS)?, count(2, LOOKUPS)?);
    let options = DbOptions::default()
        .memory_bytes(1 << 30)
        .writes(|writes| writes.memtable_bytes(MEMTABLE_BYTES))
        .levels(|levels| levels.table_bytes(MEMTABLE_BYTES).level_bytes(4 * MEMTABLE_BYTES))
        .durability(Durability::Buffered)
        .values(|values| values.separation_bytes(0))
        .compression(Compression::None)
        .learning(learning(name)?)
        .threads(0);
    let db = Db::open(Arc::new(MemoryStorage::new()), &options)?;
    for number in 0..records {
        db.insert(key(number * STRIDE % records), [7; 64])?;
    }
    db.flush()?;
    if name != "coded" {
        db.learn()?;
    }
    // Everything is read once, so that lookups find it in memory.
    for record in db.iter() {
        record?;
    }
    let (mut value, mut found) = (Vec::new(), 0);
    for number in 0..lookups {
        found += u64::from(db.get_into(key(number * STRIDE % records), &mut value)?);
    }
    println!("{name}: {found} of {lookups} keys found among {records} records");
    Ok(())
}
