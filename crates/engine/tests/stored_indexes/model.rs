//! Indexes against a model. Goal: after any write, each index has the entries of all rows, and of no others, and no two
//! rows have the same values in a unique one. Method: drawn writes by every way in, which a map of users predicts, with
//! flushes, compactions, closings, copies, and indexes that are dropped and created again; after each, all indexes are
//! read and compared, and rows and entries are verified both ways.

use crate::support::{User, Users, are_unique, check, definitions, drawn as user, key, small, table, users};
use ogive::backup::{BackupOptions, Backups};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::checkpoint_store;
use ogive::verify::verify_store;
use ogive::{Cause, Db, DbOptions, Error, Isolation, Keyspace, Result};
use ogive_testkit::{Random, Repeat, seeds};
use std::sync::Arc;

const KEYS: u64 = 24;

/// A store, and the users that it has.
struct World {
    storage: Arc<dyn Storage>,
    options: DbOptions,
    db: Option<Db>,
    users: Users,
}

impl World {
    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    fn keyspace(&self) -> Keyspace {
        users(self.db()).unwrap()
    }

    /// Checks the outcome of a write against what the users would be after it.
    fn wrote(&mut self, outcome: Result<()>, after: Users) {
        let is_unique = are_unique(&after) || self.db().index("by_email").is_err();
        match outcome {
            Ok(()) if is_unique => self.users = after,
            Err(Error { cause: Cause::NotUnique, .. }) if !is_unique => {}
            outcome => panic!("{outcome:?}, unique: {is_unique}"),
        }
    }

    fn put(&mut self, random: &mut Random) {
        let (number, new) = (random.below(KEYS), user(random));
        let (row, users) = (new.encode(), self.keyspace());
        let mut after = self.users.clone();
        let old = after.insert(number, new);
        let outcome = match (random.below(8), old) {
            (0, _) => users.insert_stream(key(number), &mut &row[..]),
            (1, None) => users.insert_new(key(number), &row).map(|made| assert!(made)),
            (2, None) => users.insert_if_absent(key(number), &row).map(|swap| assert!(swap.is_done())),
            (2 | 3, Some(old)) => users.replace_if(key(number), old.encode(), &row).map(|swap| assert!(swap.is_done())),
            (4, _) => users.update(key(number), |_| Some(row.clone())).map(drop),
            (5, _) => self.db().transaction(|tx| {
                tx.get(&users, key(number))?;
                tx.insert(&users, key(number), &row)
            }),
            (6, _) => {
                let mut tx = self.db().begin();
                tx.isolation(Isolation::Snapshot);
                tx.insert(&users, key(number), &row).and_then(|()| tx.commit())
            }
            _ => users.insert(key(number), &row),
        };
        self.wrote(outcome, after);
    }

    fn remove(&mut self, random: &mut Random) {
        let number = random.below(KEYS);
        let (mut after, users) = (self.users.clone(), self.keyspace());
        let old = after.remove(&number);
        let outcome = match (random.below(4), old) {
            (0, Some(old)) => users.remove_if(key(number), old.encode()).map(|swap| assert!(swap.is_done())),
            (1, old) => users.remove_present(key(number)).map(|was| assert_eq!(was, old.is_some())),
            (2, _) => users.update(key(number), |_| None).map(drop),
            _ => users.remove(key(number)),
        };
        self.wrote(outcome, after);
    }

    fn remove_range(&mut self, random: &mut Random) {
        let (from, to) = (random.below(KEYS), random.below(KEYS));
        let users = self.keyspace();
        let mut after = self.users.clone();
        let outcome = match random.below(6) {
            0 => {
                after.clear();
                users.remove_range::<&[u8]>(..)
            }
            1 => {
                after.retain(|&number, _| number < from);
                users.remove_range(key(from)..)
            }
            _ => {
                after.retain(|&number, _| !(from..to).contains(&number));
                if from < to { users.remove_range(key(from)..key(to)) } else { Ok(()) }
            }
        };
        self.wrote(outcome, after);
    }

    fn batch(&mut self, random: &mut Random) {
        let (users, mut batch, mut after) = (self.keyspace(), self.db().batch(), self.users.clone());
        for _ in 0..1 + random.below(6) {
            let number = random.below(KEYS);
            match random.below(8) {
                0 => {
                    after.remove(&number);
                    batch.remove(&users, key(number));
                }
                1 => {
                    let end = number + random.below(8);
                    after.retain(|&number_of, _| !(number..end).contains(&number_of));
                    if number < end {
                        batch.remove_range(&users, key(number)..key(end));
                    }
                }
                2 if random.below(4) == 0 => {
                    after.clear();
                    batch.remove_range::<&[u8]>(&users, ..);
                }
                3 => _ = batch.insert(self.db(), "another keyspace", "value"),
                _ => {
                    let new = user(random);
                    batch.insert(&users, key(number), new.encode());
                    after.insert(number, new);
                }
            }
        }
        if random.below(4) == 0 {
            let number = random.below(KEYS);
            batch.expect(&users, key(number), self.users.get(&number).map(User::encode).as_deref());
        }
        let outcome = batch.commit();
        self.wrote(outcome, after);
    }

    fn ingest(&mut self, random: &mut Random) {
        let (mut after, mut files) = (self.users.clone(), Vec::new());
        for _ in 0..1 + random.below(3) {
            let folder: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
            let incoming: Users = (0..1 + random.below(5)).map(|_| (random.below(KEYS), user(random))).collect();
            table(&folder, incoming.clone());
            files.push((folder, "table".to_owned()));
            after.extend(incoming);
        }
        let ingested = self.keyspace().ingest_from(&files).map(drop);
        self.wrote(ingested, after);
    }

    fn index(&mut self, random: &mut Random) {
        let (name, definition) = definitions()[random.below(3) as usize].clone();
        if random.below(2) == 0 {
            let was_there = self.db().indexes().iter().any(|index| index.name() == name);
            assert_eq!(self.db().drop_index(name).unwrap(), was_there);
        }
        let made = self.db().create_index(name, self.keyspace(), &definition);
        match made {
            Ok(_) => assert!(are_unique(&self.users) || name != "by_email"),
            Err(error) => {
                assert_eq!((error.cause, name), (Cause::NotUnique, "by_email"));
                assert!(!are_unique(&self.users));
                assert!(self.db().index(name).is_err());
            }
        }
    }

    fn maintain(&mut self, random: &mut Random) {
        match random.below(5) {
            0 => self.db().flush().unwrap(),
            1 => self.db().compact().unwrap(),
            2 => {
                // A copy has the same indexes.
                let copy: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
                self.db().persist().unwrap();
                checkpoint_store(Arc::clone(&self.storage), Arc::clone(&copy)).unwrap();
                let db = Db::open(copy, &self.options).unwrap();
                assert_eq!(db.indexes().len(), self.db().indexes().len());
                check(&db, &self.users).unwrap();
            }
            3 => {
                let folder: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
                let (backups, nothing) = (Backups::at(folder).unwrap(), &mut |_: u64, _: u64| {});
                self.db().persist().unwrap();
                backups.create(Arc::clone(&self.storage), &BackupOptions::default(), nothing).unwrap();
                let restored: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
                backups.restore(None, Arc::clone(&restored), nothing).unwrap();
                let db = Db::open(restored, &self.options).unwrap();
                check(&db, &self.users).unwrap();
            }
            _ => {
                self.db.take().unwrap().close().unwrap();
                assert!(verify_store(Arc::clone(&self.storage), &mut |_, _| {}).unwrap().is_sound());
                self.db = Some(Db::open(Arc::clone(&self.storage), &self.options).unwrap());
            }
        }
    }
}

fn run(storage: Arc<dyn Storage>, seed: u64, steps: u32) {
    let options = small();
    let db = Db::open(Arc::clone(&storage), &options).unwrap();
    users(&db).unwrap();
    let mut world = World { storage, options, db: Some(db), users: Users::new() };
    let mut random = Random::new(seed);
    for _ in 0..steps {
        match random.below(20) {
            0 | 1 => world.index(&mut random),
            2 => world.maintain(&mut random),
            3 => world.remove_range(&mut random),
            19 => world.ingest(&mut random),
            4..=6 => world.remove(&mut random),
            7..=11 => world.batch(&mut random),
            _ => world.put(&mut random),
        }
        check(world.db(), &world.users).unwrap();
    }
}

#[test]
fn indexes_have_the_entries_of_all_rows_after_any_write() {
    for seed in seeds(0..6) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        run(Arc::new(MemoryStorage::new()), seed, 300);
    }
}

#[test]
fn indexes_on_an_object_store_have_the_entries_of_all_rows_after_any_write() {
    for seed in seeds(100..102) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        run(Arc::new(MemoryStorage::objects()), seed, 150);
    }
}
