//! Stores behind an object store whose answers break off, are late, or are wrong. Goal: what is answered is right, and
//! what is told is neither damage nor a change; acknowledged writes are there. Method: drawn programs against a model,
//! with a fault in one of a few requests: puts that were executed and seem to have failed, so that a repeated one meets
//! the first; shortened answers, those of other objects, and denials.

use crate::faulty_store::{FaultyStore, Lacks};
use ogive::io::{Profile, Storage};
use ogive::{Cause, Db, DbOptions, Error};
use ogive_object_store::ObjectOptions;
use ogive_testkit::{Random, Repeat, seeds};
use std::collections::BTreeMap;
use std::sync::Arc;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// A change: a removal of a range, or of a key, or a value.
enum Change {
    Range(Vec<u8>, Vec<u8>),
    Key(Vec<u8>, Option<Vec<u8>>),
}

fn key(random: &mut Random) -> Vec<u8> {
    format!("key {:03}", random.below(150)).into_bytes()
}

fn change(random: &mut Random) -> Change {
    if random.one_in(12) {
        let (start, end) = (key(random), key(random));
        return Change::Range(start.clone().min(end.clone()), start.max(end));
    }
    let length = [0, 20, 200, 3_000][random.below(4) as usize];
    let value = random.next_u64().to_string().into_bytes().into_iter().cycle().take(length).collect();
    Change::Key(key(random), (!random.one_in(5)).then_some(value))
}

fn apply(records: &mut Records, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Range(start, end) => records.retain(|key, _| !(start <= key && key < end)),
            Change::Key(key, Some(value)) => _ = records.insert(key.clone(), value.clone()),
            Change::Key(key, None) => _ = records.remove(key),
        }
    }
}

fn write(db: &Db, changes: &[Change]) -> ogive::Result<()> {
    let mut batch = db.batch();
    for change in changes {
        match change {
            Change::Range(start, end) => batch.remove_range::<&[u8]>(db, &**start..&**end),
            Change::Key(key, Some(value)) => batch.insert(db, key, value),
            Change::Key(key, None) => batch.remove(db, key),
        };
    }
    batch.commit()
}

/// The records from one end, as a scan finds them.
fn scan(db: &Db, forward: bool) -> ogive::Result<Records> {
    let record = |record: ogive::Result<(ogive::Slice, ogive::Slice)>| {
        let (key, value) = record?;
        Ok((key.to_vec(), value.to_vec()))
    };
    if forward { db.iter().map(record).collect() } else { db.iter().rev().map(record).collect() }
}

/// What may be said of answers that stay wrong, and by a writer of which one failed.
#[track_caller]
fn check(error: &Error) {
    let is_told =
        matches!(error, Error { cause: Cause::WrongAnswer | Cause::Io(_) | Cause::ReadOnly | Cause::Fenced, .. });
    assert!(is_told, "{error:?}");
}

fn checked<T>(outcome: ogive::Result<T>) -> Option<T> {
    outcome.inspect_err(check).ok()
}

struct World {
    store: Arc<FaultyStore>,
    storage: Arc<dyn Storage>,
    options: DbOptions,
    records: Records,
}

impl World {
    fn new(random: &mut Random) -> Self {
        let lacks = Lacks { suffix_ranges: random.one_in(3), conditions: random.one_in(3), ..Lacks::default() };
        let store = FaultyStore::lacking(lacks);
        // Openings read less than whole tables.
        let profile = Profile::affine("near", 1000.0, 1.0, 8).unwrap();
        let storage = store.storage(ObjectOptions::default().profile(profile));
        let options = DbOptions::default()
            .threads(0)
            .memory_bytes(8 << 20)
            .writes(|writes| writes.memtable_bytes([16 << 10, 128 << 10][random.below(2) as usize]))
            .levels(|levels| levels.table_bytes(40 << 10).level_bytes(40 << 10).level_factor(2))
            .objects(|objects| objects.gather_ms(0))
            .values(|values| values.separation_bytes([100, u64::MAX][random.below(2) as usize]));
        Self { store, storage, options, records: Records::new() }
    }

    fn open(&self) -> Db {
        loop {
            if let Some(db) = checked(Db::open(Arc::clone(&self.storage), &self.options)) {
                return db;
            }
        }
    }

    /// What a handle answers is what is there.
    fn look(&self, db: &Db, random: &mut Random) {
        match random.below(3) {
            0 => _ = checked(scan(db, true)).inspect(|found| assert_eq!(*found, self.records)),
            1 => _ = checked(scan(db, false)).inspect(|found| assert_eq!(*found, self.records)),
            _ => {
                let keys: Vec<Vec<u8>> = (0..20).map(|_| key(random)).collect();
                let found = checked(db.multi_get(&keys));
                for (key, found) in keys.iter().zip(found.into_iter().flatten()) {
                    assert_eq!(found.as_deref(), self.records.get(key).map(Vec::as_slice));
                }
            }
        }
    }
}

fn run(seed: u64) {
    let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
    let mut random = Random::new(seed);
    let mut world = World::new(&mut random);
    let mut db = world.open();
    world.store.draw_faults(Some((Random::new(seed + 1), [4, 8, 20][random.below(3) as usize])));
    let mut reader = None;
    for _ in 0..50 {
        match random.below(12) {
            0 => _ = checked(db.flush()),
            1 => _ = checked(db.compact()),
            2 => {
                if random.one_in(2) {
                    _ = checked(db.close());
                }
                drop(db);
                db = world.open();
            }
            3 => reader = checked(Db::open_read_only(Arc::clone(&world.storage), &world.options)),
            4 | 5 => {
                // One that cannot go on keeps what it has.
                if let Some(found) = &mut reader
                    && checked(found.refresh()).is_some()
                {
                    world.look(found, &mut random);
                }
            }
            6 | 7 => world.look(&db, &mut random),
            _ => {
                let changes: Vec<Change> = (0..1 + random.below(8)).map(|_| change(&mut random)).collect();
                let mut with = world.records.clone();
                apply(&mut with, &changes);
                if checked(write(&db, &changes)).is_some() {
                    world.records = with;
                    continue;
                }
                // It is there, or not.
                let faults = world.store.draw_faults(None);
                drop(db);
                db = world.open();
                let found = scan(&db, true).unwrap();
                assert!(found == world.records || found == with, "a failed write is there in part");
                world.records = found;
                world.store.draw_faults(faults);
            }
        }
    }
    world.store.draw_faults(None);
    drop(db);
    let db = world.open();
    assert_eq!(scan(&db, true).unwrap(), world.records);
    assert_eq!(scan(&db, false).unwrap(), world.records);
    let report = ogive::verify_store(&world.storage, &mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn stores_behind_spoiled_answers_answer_rightly_or_tell() {
    for seed in seeds(0..60) {
        run(seed);
    }
}
