//! Crash tests of records that expire. Goal: after a power loss what was acknowledged is there until it expires, and
//! what was seen to be expired before a flush does not come back. Method: writes, flushes and compactions while time
//! passes on a simulated disk, with a power loss at every call that changes it.

use crate::support::{HOUR, MINUTE, START, at, small};
use ogive::io::{Clock, Storage};
use ogive::{Db, Result};
use ogive_testkit::{Random, SimulatedDisk, check_crashes, seeds};
use std::collections::BTreeMap;
use std::sync::Arc;

type Records = BTreeMap<u64, (Vec<u8>, Option<u64>)>;

/// What may be found: the records after the acknowledged writes, and after the one that was under way.
struct Work {
    clock: Clock,
    records: Records,
    next: Records,
    /// The time that the store told before its last flush.
    flushed_ms: u64,
}

fn open(disk: &SimulatedDisk, clock: &Clock) -> Result<Db> {
    Db::open(Arc::new(disk.clone()) as Arc<dyn Storage>, &small(clock))
}

fn try_work(disk: &SimulatedDisk, seed: u64, work: &mut Work) -> Result<()> {
    let (db, mut random) = (open(disk, &work.clock)?, Random::new(seed));
    for round in 0..14_u64 {
        work.next = work.records.clone();
        let mut batch = db.batch();
        for _ in 0..2 {
            let (number, value) = (random.below(8), vec![round as u8; random.below(3) as usize * 50]);
            match random.below(4) {
                0 => {
                    work.next.remove(&number);
                    batch.remove(&db, number.to_be_bytes());
                }
                1 => {
                    work.next.insert(number, (value.clone(), None));
                    batch.insert(&db, number.to_be_bytes(), value);
                }
                _ => {
                    let expires_ms = work.clock.unix_ms() + random.below(5 * HOUR);
                    work.next.insert(number, (value.clone(), Some(expires_ms)));
                    batch.insert_with(&db, number.to_be_bytes(), value, at(expires_ms));
                }
            }
        }
        batch.commit()?;
        work.records = work.next.clone();
        let told_ms = db.time_ms();
        match random.below(4) {
            0 => db.flush()?,
            1 => db.compact()?,
            _ => {
                work.clock.pass(random.below(90 * MINUTE));
                continue;
            }
        }
        work.flushed_ms = told_ms;
    }
    db.close()
}

fn find(work: &Work, disk: &SimulatedDisk) -> Result<(), String> {
    // The clock is behind when the machine starts again.
    let clock = Clock::moved_by_hand(START);
    let db = open(disk, &clock).map_err(|error| error.to_string())?;
    let now_ms = db.time_ms();
    if work.flushed_ms > 0 && now_ms < work.flushed_ms {
        return Err(format!("the time is {now_ms}, but {} was told before a flush", work.flushed_ms));
    }
    let found: Result<BTreeMap<u64, Vec<u8>>> = db
        .iter()
        .map(|record| record.map(|(key, value)| (u64::from_be_bytes((*key).try_into().unwrap()), value.to_vec())))
        .collect();
    let found = found.map_err(|error| error.to_string())?;
    let seen = |records: &Records| -> BTreeMap<u64, Vec<u8>> {
        let alive = records.iter().filter(|(_, (_, expires))| expires.is_none_or(|expires_ms| expires_ms > now_ms));
        alive.map(|(key, (value, _))| (*key, value.clone())).collect()
    };
    let report = db.verify(&mut |_, _| {}).map_err(|error| error.to_string())?;
    match found == seen(&work.records) || found == seen(&work.next) {
        true if report.is_sound() => Ok(()),
        true => Err(format!("{report:?}")),
        false => Err(format!("{found:?} instead of {:?}", seen(&work.records))),
    }
}

#[test]
fn after_a_crash_records_are_there_until_they_expire() {
    let work = |disk: &SimulatedDisk, seed| {
        let clock = Clock::moved_by_hand(START);
        let mut work = Work { clock, records: Records::new(), next: Records::new(), flushed_ms: 0 };
        _ = try_work(disk, seed, &mut work);
        work
    };
    check_crashes(env!("CARGO_CRATE_NAME"), seeds(0..3), work, find);
}
