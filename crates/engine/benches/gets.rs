//! Time of a get of a cached key, as the least of many rounds: to compare two builds, such as those without and with
//! the feature `metrics`, whose rounds should be run in turn.
//!
//! ```console
//! $ cargo bench -p ogive --bench gets
//! $ cargo bench -p ogive --bench gets --features metrics
//! ```
//!
//! Instructions of a get, which other work on the machine does not change, with 20,000 records:
//!
//! ```console
//! $ valgrind --tool=callgrind --toggle-collect='*get_into*' target/release/deps/gets-... 20000
//! ```

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::io::Timer;
use ogive::{Db, DbOptions, Durability, MemoryStorage};
use std::hint::black_box;
use std::sync::Arc;

const RECORDS: u64 = 1_000_000;
/// Gets of a round, as a share of the records.
const GETS_DIVISOR: u64 = 5;
const ROUNDS: u64 = 20;

/// A permutation of all numbers.
fn key(i: u64) -> [u8; 16] {
    let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (u128::from(mixed) << 64 | u128::from(i)).to_be_bytes()
}

fn main() -> ogive::Result<()> {
    let records = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(RECORDS);
    let gets = records / GETS_DIVISOR;
    let options = DbOptions::default().threads(0).durability(Durability::Buffered).memory_bytes(1 << 30);
    let db = Db::open(Arc::new(MemoryStorage::new()), &options)?;
    for i in 0..records {
        db.insert(key(i), [0; 64])?;
    }
    db.compact()?;
    let mut value = Vec::new();
    let mut least_ns = f64::MAX;
    for round in 0..=ROUNDS {
        let timer = Timer::start();
        for i in 0..gets {
            let number = (i * 7919 + round * 104_729) % records;
            black_box(db.get_into(black_box(key(number)), &mut value)?);
        }
        // The first round fills the cache.
        if round > 0 {
            least_ns = least_ns.min(timer.elapsed_us() * 1e3 / gets as f64);
        }
    }
    println!("{least_ns:.1} ns per get (features: metrics {})", cfg!(feature = "metrics"));
    Ok(())
}
