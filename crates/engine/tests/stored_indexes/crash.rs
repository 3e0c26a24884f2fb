//! Crash tests of indexes. Goal: after a power loss, rows and entries agree, what was acknowledged is there, and an
//! index that was not finished can be created again. Method: writes, ingestions, an index that is built among them, one
//! that is dropped, flushes and compactions on a simulated disk, with a power loss at every call that changes it.

use crate::support::{User, Users, check, definitions, drawn, key, small, table, users};
use ogive::io::{MemoryStorage, Storage};
use ogive::{Cause, Db, Error, Keyspace, Result};
use ogive_testkit::{Random, SimulatedDisk, check_crashes, seeds};
use std::sync::Arc;

/// What may be found: the users after the acknowledged writes, and after the one that was under way.
struct Work {
    users: Users,
    next: Users,
}

fn open(disk: &SimulatedDisk) -> Result<Db> {
    Db::open(Arc::new(disk.clone()) as Arc<dyn Storage>, &small())
}

fn try_work(disk: &SimulatedDisk, seed: u64, work: &mut Work) -> Result<()> {
    let (db, mut random) = (open(disk)?, Random::new(seed));
    let keyspace = users(&db)?;
    for round in 0..14_u64 {
        work.next = work.users.clone();
        let mut batch = db.batch();
        for _ in 0..2 {
            let number = random.below(8);
            match random.below(4) {
                0 => {
                    work.next.remove(&number);
                    batch.remove(&keyspace, key(number));
                }
                _ => {
                    let name = "n".repeat(if random.below(3) == 0 { 150 } else { 4 });
                    let email = Some(format!("{}@x", random.below(12)));
                    let user = User { name, email, country: "de".into(), score: round as i32 };
                    batch.insert(&keyspace, key(number), user.encode());
                    work.next.insert(number, user);
                }
            }
        }
        match batch.commit() {
            Ok(()) => work.users = work.next.clone(),
            Err(Error { cause: Cause::NotUnique, .. }) => work.next = work.users.clone(),
            Err(error) => return Err(error),
        }
        if matches!(round, 4 | 8 | 10) {
            ingest(&keyspace, &mut random, work)?;
        }
        match round {
            3 => drop(db.create_index("by_country", &keyspace, &definitions()[1].1)?),
            5 => match db.create_index("by_email", &keyspace, &definitions()[0].1) {
                Err(error) if error.cause != Cause::NotUnique => return Err(error),
                _ => {}
            },
            9 => drop(db.drop_index("by_country")?),
            11 => drop(db.create_index("by_country", &keyspace, &definitions()[1].1)?),
            _ if random.below(5) == 0 => db.flush()?,
            _ if random.below(5) == 0 => db.compact()?,
            _ => {}
        }
    }
    db.close()
}

/// Ingests two tables, whose rows replace some.
fn ingest(keyspace: &Keyspace, random: &mut Random, work: &mut Work) -> Result<()> {
    work.next = work.users.clone();
    let mut files = Vec::new();
    for _ in 0..2 {
        let rows: Users = (0..3).map(|_| (random.below(8), drawn(random))).collect();
        let folder: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        table(&folder, rows.clone());
        files.push((folder, "table".to_owned()));
        work.next.extend(rows);
    }
    match keyspace.ingest_from(&files) {
        Ok(_) => work.users = work.next.clone(),
        Err(Error { cause: Cause::NotUnique, .. }) => work.next = work.users.clone(),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn find(work: &Work, disk: &SimulatedDisk) -> Result<(), String> {
    let db = open(disk).map_err(|error| error.to_string())?;
    let Ok(keyspace) = users(&db) else { return Err("no keyspace".to_owned()) };
    let found =
        check(&db, &work.users).or_else(|first| check(&db, &work.next).map_err(|other| format!("{first}; {other}")));
    found?;
    for index in db.indexes().iter().filter(|index| !index.is_complete()) {
        // It is kept, and created again.
        match db.create_index(index.name(), &keyspace, index.definition()) {
            Ok(_) => {}
            Err(Error { cause: Cause::NotUnique, .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    check(&db, &work.users).or_else(|_| check(&db, &work.next))
}

#[test]
fn after_a_crash_rows_and_entries_agree() {
    let work = |disk: &SimulatedDisk, seed| {
        let mut work = Work { users: Users::new(), next: Users::new() };
        _ = try_work(disk, seed, &mut work);
        work
    };
    check_crashes(env!("CARGO_CRATE_NAME"), seeds(0..2), work, find);
}
