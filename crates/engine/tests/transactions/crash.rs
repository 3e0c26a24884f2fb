//! Crash tests of transactions. Goal: after a power loss, a transaction over several keyspaces is there wholly or not
//! at all, and one that was acknowledged is there. Method: transfers between accounts in two keyspaces on a simulated
//! disk, with a power loss at every call that changes it; in each possible image the sum is the same, and the number of
//! transfers is that of those acknowledged, or one more.

use crate::support::{number, small};
use ogive::io::Storage;
use ogive::{Db, Result};
use ogive_testkit::{Random, SimulatedDisk, check_crashes, seeds};
use std::sync::Arc;

const ACCOUNTS: u64 = 4;

fn open(disk: &SimulatedDisk) -> Result<Db> {
    Db::open(Arc::new(disk.clone()) as Arc<dyn Storage>, &small())
}

fn account(number: u64) -> (&'static str, String) {
    (if number.is_multiple_of(2) { "left" } else { "right" }, format!("account {number}"))
}

/// Transfers money until the power is lost; returns how many were acknowledged.
fn work(disk: &SimulatedDisk, seed: u64) -> u64 {
    let mut acknowledged = 0;
    _ = try_work(disk, seed, &mut acknowledged);
    acknowledged
}

fn try_work(disk: &SimulatedDisk, seed: u64, acknowledged: &mut u64) -> Result<()> {
    let (db, mut random) = (open(disk)?, Random::new(seed));
    for round in 0..8_u64 {
        let amount = 1 + random.below(9) as i64;
        let [from, to] = [0, 1 + random.below(ACCOUNTS - 1)].map(|step| account((round + step) % ACCOUNTS));
        db.transaction(|tx| {
            for ((keyspace, key), change) in [(&from, -amount), (&to, amount)] {
                let keyspace = db.keyspace(keyspace)?;
                let balance = number(tx.get(&keyspace, key)?) + change;
                // Long values go to the value log.
                tx.insert(&keyspace, key, format!("{balance:+0150}"))?;
            }
            let count = number(tx.get(&db, "transfers")?);
            tx.insert(&db, "transfers", (count + 1).to_string())
        })?;
        *acknowledged += 1;
        match random.below(6) {
            0 => db.flush()?,
            1 => db.compact()?,
            _ => {}
        }
    }
    db.close()
}

fn check(acknowledged: u64, disk: &SimulatedDisk) -> Result<(), String> {
    let found = || -> Result<(i64, i64)> {
        let db = open(disk)?;
        let mut sum = 0;
        for (keyspace, key) in (0..ACCOUNTS).map(account) {
            sum += number(db.keyspace(keyspace)?.get(key)?);
        }
        Ok((sum, number(db.get("transfers")?)))
    };
    let (sum, transfers) = found().map_err(|error| error.to_string())?;
    let is_known = (acknowledged as i64..=acknowledged as i64 + 1).contains(&transfers);
    if sum == 0 && is_known { Ok(()) } else { Err(format!("{transfers} of {acknowledged} transfers, sum {sum}")) }
}

#[test]
fn after_a_crash_a_transaction_is_there_wholly_or_not_at_all() {
    check_crashes(env!("CARGO_CRATE_NAME"), seeds(0..2), work, |acknowledged, disk| check(*acknowledged, disk));
}
