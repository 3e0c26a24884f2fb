//! Cost of the check of types that each call of a typed handle makes: gets and inserts of a typed keyspace beside those
//! of an untyped one whose keys and values are encoded by hand, in rounds in turn, as the median of their ratios.
//!
//! ```console
//! $ cargo bench -p ogive --bench typed
//! ```
//!
//! Instructions, which other work on the machine does not change: of gets or inserts alone, typed or untyped, of 20,000
//! records. Two builds are compared by running each of them.
//!
//! ```console
//! $ valgrind --tool=callgrind --toggle-collect='typed::typed_gets*' target/release/deps/typed-... 20000
//! ```

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::io::Timer;
use ogive::typed::TypedKeyspace;
use ogive::{Db, DbOptions, Durability, Keyspace, MemoryStorage, Result};
use std::hint::black_box;
use std::sync::Arc;

const RECORDS: u64 = 200_000;
const ROUNDS: usize = 31;

/// A permutation of all numbers.
fn key(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline(never)]
fn typed_gets(keyspace: &TypedKeyspace<u64, u64>, records: u64) -> Result<()> {
    for i in 0..records {
        black_box(keyspace.load(black_box(key(i)))?);
    }
    Ok(())
}

#[inline(never)]
fn untyped_gets(keyspace: &Keyspace, records: u64) -> Result<()> {
    for i in 0..records {
        let found = keyspace.get(black_box(key(i)).to_be_bytes())?;
        black_box(found.and_then(|value| Some(u64::from_be_bytes(value[..].try_into().ok()?))));
    }
    Ok(())
}

#[inline(never)]
fn typed_inserts(keyspace: &TypedKeyspace<u64, u64>, records: u64) -> Result<()> {
    (0..records).try_for_each(|i| keyspace.insert(black_box(key(i)), i))
}

#[inline(never)]
fn untyped_inserts(keyspace: &Keyspace, records: u64) -> Result<()> {
    (0..records).try_for_each(|i| keyspace.insert(black_box(key(i)).to_be_bytes(), i.to_be_bytes()))
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn main() -> Result<()> {
    let given = std::env::args().find_map(|word| word.parse().ok());
    let (records, rounds) = (given.unwrap_or(RECORDS), if given.is_some() { 1 } else { ROUNDS });
    let options = DbOptions::default().threads(0).durability(Durability::Buffered).memory_bytes(1 << 30);
    let db = Db::open(Arc::new(MemoryStorage::new()), &options)?;
    let (typed, untyped) = (db.keyspace("typed")?.typed::<u64, u64>()?, db.keyspace("untyped")?);
    let (mut gets, mut inserts) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let us = |work: &dyn Fn() -> Result<()>| {
            let timer = Timer::start();
            work().map(|()| timer.elapsed_us())
        };
        let typed_us = us(&|| typed_inserts(&typed, records))?;
        inserts.push(typed_us / us(&|| untyped_inserts(&untyped, records))?);
        db.compact()?;
        let typed_us = us(&|| typed_gets(&typed, records))?;
        gets.push(typed_us / us(&|| untyped_gets(&untyped, records))?);
    }
    println!("typed over untyped: get {:.3}, insert {:.3} (medians of {rounds})", median(gets), median(inserts));
    Ok(())
}
