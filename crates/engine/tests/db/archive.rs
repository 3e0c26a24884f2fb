//! Tests of archives. Goal: a store is restored as of each archived moment to what it contained then, and never to
//! anything else; a part that is missing or damaged is an error that names the last moment; a kill leaves an archive
//! that goes on. Method: random batches, range removals, ingestions, and keyspaces that are made and dropped, whose
//! contents are recorded by position; backups, runs and reopenings at random; a power loss at every call of a run and
//! of a restore.

use crate::support::{Draws, Records, collect, small};
use ogive::backup::{BackupOptions, BackupSummary, Backups, Moment, RestoredMoment};
use ogive::io::{Clock, MemoryStorage, Storage, set_unix_time_s, unix_time_ms};
use ogive::lsm::{ChangePosition, Db, KeyspaceOptions};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::types::{Alteration, Field, IndexDefinition, KeyType, RecordType, ValueType};
use ogive::verify::verify_store;
use ogive::{Cause, Error};
use ogive_testkit::{CrashOptions, Random, Repeat, SimulatedDisk, enumerate_crashes, seeds};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) const ARCHIVE: &str = BackupOptions::ARCHIVE;
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// The records of all keyspaces by name.
pub(crate) type Contents = BTreeMap<String, Records>;

fn shared(memory: &MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

pub(crate) fn archived() -> BackupOptions {
    BackupOptions::default().archive_logs(ARCHIVE)
}

pub(crate) fn back_up(
    backups: &Backups,
    store: &MemoryStorage,
    options: &BackupOptions,
) -> ogive::Result<BackupSummary> {
    let made = backups.create(shared(store), options, &mut |_, _| ())?;
    assert_eq!(made.archive_failure, None);
    Ok(made)
}

/// A store with what it contained behind each of its changes.
pub(crate) struct Work {
    pub(crate) store: MemoryStorage,
    draws: Draws,
    db: Option<Db>,
    pub(crate) now: Contents,
    /// By the number of the change.
    past: BTreeMap<u64, Contents>,
    random: Random,
}

impl Work {
    pub(crate) fn new(seed: u64) -> Self {
        Self::on(MemoryStorage::new(), seed)
    }

    fn on(store: MemoryStorage, seed: u64) -> Self {
        let draws = Draws::new(seed, &small().threads(0)).timeless();
        let now = Contents::from([("default".to_owned(), Records::new())]);
        let random = Random::new(seed);
        let mut work = Self { store, draws, db: None, now, past: BTreeMap::new(), random };
        work.reopen();
        work
    }

    fn reopen(&mut self) {
        self.db = None;
        let options = self.draws.next().objects(|objects| objects.gather_ms(0));
        self.db = Some(Db::open(shared(&self.store), &options).unwrap());
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    /// Records what the store contains behind its newest change.
    fn note(&mut self) -> ChangePosition {
        let db = self.db().clone();
        let at = db.subscribe("note").unwrap();
        db.unsubscribe("note").unwrap();
        self.past.insert(at.number(), self.now.clone());
        at
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key {:02}", self.random.below(60)).into_bytes()
    }

    fn value(&mut self) -> Vec<u8> {
        let length = self.random.below(400);
        (0..length).map(|_| self.random.next_u64() as u8).collect()
    }

    fn name(&mut self) -> String {
        let names: Vec<&String> = self.now.keys().collect();
        names[self.random.below(names.len() as u64) as usize].clone()
    }

    pub(crate) fn step(&mut self) {
        match self.random.below(24) {
            0 => self.db().flush().unwrap(),
            1 => self.db().compact().unwrap(),
            2 => {
                self.db().persist().unwrap();
                self.reopen();
            }
            3 => {
                let name = format!("k{}", self.random.below(3));
                self.db().keyspace(&name).unwrap();
                self.now.entry(name).or_default();
            }
            4 => {
                let name = format!("k{}", self.random.below(3));
                assert_eq!(self.db().drop_keyspace(&name).unwrap(), self.now.remove(&name).is_some());
            }
            5 => self.ingest(),
            _ => self.batch(),
        }
        self.db().persist().unwrap();
        self.note();
    }

    fn batch(&mut self) {
        let db = self.db().clone();
        let mut batch = db.batch();
        for _ in 0..1 + self.random.below(5) {
            let (name, key) = (self.name(), self.key());
            let keyspace = db.keyspace(&name).unwrap();
            match self.random.below(8) {
                0 | 1 => {
                    batch.remove(&keyspace, &key);
                    self.now.get_mut(&name).unwrap().remove(&key);
                }
                2 => {
                    let end = [&key[..5], b"\xff"].concat();
                    batch.remove_range(&keyspace, key.clone()..end.clone());
                    self.now.get_mut(&name).unwrap().retain(|other, _| *other < key || *other >= end);
                }
                3 => {
                    let (value, has_expired) = (self.value(), self.random.below(3) == 0);
                    let years = if has_expired { 1 } else { 200 };
                    batch.insert_with(&keyspace, &key, &value, SystemTime::UNIX_EPOCH + years * YEAR);
                    match has_expired {
                        true => self.now.get_mut(&name).unwrap().remove(&key),
                        false => self.now.get_mut(&name).unwrap().insert(key, value),
                    };
                }
                _ => {
                    let value = self.value();
                    batch.insert(&keyspace, &key, &value);
                    self.now.get_mut(&name).unwrap().insert(key, value);
                }
            }
        }
        batch.commit().unwrap();
    }

    fn ingest(&mut self) {
        let name = self.name();
        let records: Records = (0..1 + self.random.below(9)).map(|_| (self.key(), self.value())).collect();
        let elsewhere = MemoryStorage::new();
        let options = TableWriteOptions::default().key_type(KeyType::Bytes);
        let mut writer = TableWriter::create((shared(&elsewhere), "table"), options).unwrap();
        records.iter().try_for_each(|(key, value)| writer.append(key, value)).unwrap();
        writer.finish().unwrap();
        let keyspace = self.db().keyspace(&name).unwrap();
        keyspace.ingest_from(&[(shared(&elsewhere), "table".to_owned())]).unwrap();
        self.now.get_mut(&name).unwrap().extend(records);
    }
}

fn contents(db: &Db) -> Contents {
    let of = |name: String| {
        let records = collect(db.keyspace(&name).unwrap().iter()).unwrap();
        (name, records)
    };
    db.keyspaces().into_iter().map(of).collect()
}

/// Without keyspaces that are empty: those that were made within a run are in a part of it only if they have changes.
pub(crate) fn with_records(contents: &Contents) -> Contents {
    contents.iter().filter(|(_, records)| !records.is_empty()).map(|(name, of)| (name.clone(), of.clone())).collect()
}

fn restore(backups: &Backups, until: Moment) -> ogive::Result<(RestoredMoment, MemoryStorage)> {
    let target = MemoryStorage::new();
    let outcome = backups.restore_until(until, shared(&target), &mut |_, _| ());
    if outcome.is_err() {
        let left: Vec<String> = target.list()?.into_iter().filter(|name| name != "LOCK").collect();
        assert!(left.is_empty(), "a failed restore has left {left:?}");
    }
    outcome.map(|restored| (restored, target))
}

fn restored_contents(target: &MemoryStorage) -> Contents {
    contents_at(&shared(target))
}

/// What a sound store contains.
pub(crate) fn contents_at(place: &Arc<dyn Storage>) -> Contents {
    let report = verify_store(place, &mut |_, _| ()).unwrap();
    assert!(report.is_sound() && report.orphans.is_empty(), "{report:?}");
    contents(&Db::open(Arc::clone(place), &small().create(false).memory_bytes(16 << 20)).unwrap())
}

#[test]
fn each_archived_moment_is_restored_to_what_the_store_contained() {
    let storage = |is_object_store| if is_object_store { MemoryStorage::objects() } else { MemoryStorage::new() };
    for seed in seeds(1..=6) {
        let _repeat = Repeat::new("db", seed);
        let (target, store) = (storage(seed % 2 == 0), storage(seed % 4 < 2));
        let (backups, mut work) = (Backups::at(shared(&target)).unwrap(), Work::on(store, seed));
        back_up(&backups, &work.store, &archived()).unwrap();
        let first = work.note();
        for _ in 0..140 {
            work.step();
            match work.random.below(24) {
                0 => drop(back_up(&backups, &work.store, &archived()).unwrap()),
                1..4 => drop(backups.archive(shared(&work.store), ARCHIVE).unwrap()),
                _ => {}
            }
        }
        let last = backups.archive(shared(&work.store), ARCHIVE).unwrap().moment;
        let list = backups.list().unwrap();
        assert_eq!((list.archived.last(), &list.damaged[..]), (Some(&last), &[][..]));
        assert_eq!(backups.verify(&mut |_, _| ()).unwrap(), []);
        let all: Vec<(u64, Contents)> = work.past.range(first.number()..).map(|(&at, of)| (at, of.clone())).collect();
        for (at, expected) in all.iter().step_by(5).chain(all.last()) {
            let position = format!("{:016x}-{at}", work.db().identity()).parse().unwrap();
            let (restored, target) = restore(&backups, Moment::Position(position)).unwrap();
            assert_eq!(restored.position, position, "seed {seed}");
            assert!(with_records(&restored_contents(&target)) == with_records(expected), "seed {seed}, at {at}");
        }
        for moment in list.archived.iter().step_by(3).chain(list.archived.last()) {
            let (restored, target) = restore(&backups, Moment::Position(moment.position)).unwrap();
            assert_eq!(restored.position, moment.position);
            // A keyspace may have been created since, which is no change.
            let expected = with_records(&work.past[&moment.position.number()]);
            assert!(with_records(&restored_contents(&target)) == expected, "seed {seed}: {moment}");
        }
        let (restored, _) = restore(&backups, Moment::Time { made_ms: last.made_ms }).unwrap();
        assert_eq!((restored.position, restored.made_ms), (last.position, Some(last.made_ms)));
    }
}

#[test]
fn a_position_within_a_batch_is_that_of_the_batch_before() {
    let (backups, mut work) = (Backups::at(shared(&MemoryStorage::new())).unwrap(), Work::new(9));
    back_up(&backups, &work.store, &archived()).unwrap();
    let before = work.note();
    let mut batch = work.db().batch();
    (0..5_u8).for_each(|number| _ = batch.insert(work.db(), [number], "x"));
    batch.commit().unwrap();
    let after = work.note();
    assert_eq!(after.number(), before.number() + 5);
    backups.archive(shared(&work.store), ARCHIVE).unwrap();
    for at in before.number()..=after.number() {
        let position = format!("{:016x}-{at}", work.db().identity()).parse().unwrap();
        let (restored, target) = restore(&backups, Moment::Position(position)).unwrap();
        let whole = at == after.number();
        assert_eq!(restored.position, if whole { after } else { before });
        assert_eq!(restored_contents(&target)["default"].len(), if whole { 5 } else { 0 });
    }
}

/// A store whose changes are archived by a backup and some runs, with the moments.
pub(crate) fn archive_of_runs(
    seed: u64,
    runs: usize,
) -> (MemoryStorage, Backups, Work, Vec<ogive::backup::ArchivedMoment>) {
    let target = MemoryStorage::new();
    let (backups, mut work) = (Backups::at(shared(&target)).unwrap(), Work::new(seed));
    let mut moments = vec![back_up(&backups, &work.store, &archived()).unwrap().archive.unwrap().moment];
    work.note();
    for _ in 0..runs {
        (0..6).for_each(|_| work.batch());
        work.db().persist().unwrap();
        work.note();
        moments.push(backups.archive(shared(&work.store), ARCHIVE).unwrap().moment);
    }
    (target, backups, work, moments)
}

#[test]
fn what_is_missing_or_damaged_is_an_error_that_names_the_last_moment() {
    let (target, backups, work, moments) = archive_of_runs(3, 4);
    let beyond: ChangePosition = format!("{:016x}-99999", work.db().identity()).parse().unwrap();
    let far = Moment::Time { made_ms: u64::MAX };
    for until in [Moment::Position(beyond), far] {
        let error = restore(&backups, until).unwrap_err();
        assert!(error.to_string().contains(&moments[4].position.to_string()), "{error}");
    }
    let early = restore(&backups, Moment::Time { made_ms: 1 }).unwrap_err();
    assert!(matches!(early, Error { cause: Cause::Input, .. }), "{early}");
    let other: ChangePosition = format!("{:016x}-1", work.db().identity() ^ 1).parse().unwrap();
    let error = restore(&backups, Moment::Position(other)).unwrap_err();
    assert!(error.to_string().contains("another store"), "{error}");
    let name = format!("{:06}.archive", moments[2].segment);
    let whole = target.content(&name).unwrap();
    let last = Moment::Position(moments[4].position);
    target.remove(&name).unwrap();
    let error = restore(&backups, last).unwrap_err();
    assert!(error.to_string().contains(&moments[1].position.to_string()), "{error}");
    assert_eq!(backups.verify(&mut |_, _| ()).unwrap()[0].file, name);
    let (restored, _) = restore(&backups, Moment::Position(moments[1].position)).unwrap();
    assert_eq!(restored.position, moments[1].position);
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        target.put(&name, changed).unwrap();
        assert!(restore(&backups, last).is_err(), "byte {at} of {name}");
        if at % 50 == 0 {
            assert!(!backups.verify(&mut |_, _| ()).unwrap().is_empty(), "byte {at}");
            target.put(&name, whole[..at].to_vec()).unwrap();
            assert!(restore(&backups, last).is_err(), "length {at} of {name}");
        }
    }
    target.put(&name, whole).unwrap();
    let (_, restored) = restore(&backups, last).unwrap();
    assert!(restored_contents(&restored) == work.now);
}

#[test]
fn a_backup_begins_anew_what_cannot_go_on_and_earlier_moments_stay() {
    let (_, backups, mut work, moments) = archive_of_runs(4, 2);
    let old = work.past[&moments[2].position.number()].clone();
    assert!(work.db().unsubscribe(ARCHIVE).unwrap());
    work.batch();
    work.db().flush().unwrap();
    let error = backups.archive(shared(&work.store), ARCHIVE).unwrap_err();
    assert!(error.to_string().contains("make a backup that"), "{error}");
    let begun = back_up(&backups, &work.store, &archived()).unwrap().archive.unwrap();
    assert!(begun.began);
    work.batch();
    work.db().persist().unwrap();
    let next = backups.archive(shared(&work.store), ARCHIVE).unwrap();
    assert!(!next.began);
    work.note();
    for (moment, expected) in [(moments[2], &old), (next.moment, &work.now)] {
        let (_, target) = restore(&backups, Moment::Position(moment.position)).unwrap();
        assert!(restored_contents(&target) == *expected, "{moment}");
    }
}

#[test]
fn a_restored_store_never_goes_on_with_the_archive_of_the_store_that_it_is_a_copy_of() {
    let (_, backups, mut work, moments) = archive_of_runs(5, 3);
    let (_, copy) = restore(&backups, Moment::Position(moments[1].position)).unwrap();
    work.db = None;
    (work.store, work.now) = (copy, work.past[&moments[1].position.number()].clone());
    work.reopen();
    // Beyond the end of the archive, so that numbers alone would fit.
    (0..40).for_each(|_| work.batch());
    work.db().persist().unwrap();
    assert!(backups.archive(shared(&work.store), ARCHIVE).is_err());
    assert!(back_up(&backups, &work.store, &archived()).unwrap().archive.unwrap().began);
    work.batch();
    work.db().persist().unwrap();
    let last = backups.archive(shared(&work.store), ARCHIVE).unwrap().moment;
    let (_, target) = restore(&backups, Moment::Position(last.position)).unwrap();
    assert!(restored_contents(&target) == work.now);
}

#[test]
fn the_archive_expires_with_the_backups_that_lead_to_it() {
    let (target, backups, mut work, moments) = archive_of_runs(6, 3);
    let keep = archived().keep(1);
    back_up(&backups, &work.store, &keep).unwrap();
    let left = backups.list().unwrap().archived;
    assert_eq!(left.len(), 1, "only the end, behind which it goes on: {left:?}");
    assert!(restore(&backups, Moment::Position(moments[1].position)).is_err());
    work.batch();
    work.db().persist().unwrap();
    let last = backups.archive(shared(&work.store), ARCHIVE).unwrap().moment;
    let (_, restored) = restore(&backups, Moment::Position(last.position)).unwrap();
    assert!(restored_contents(&restored) == work.now);
    assert!(target.list().unwrap().iter().all(|name| !name.ends_with(".new")));
}

#[test]
fn types_options_and_indexes_are_those_of_the_archived_moment() {
    let store = MemoryStorage::new();
    let db = Db::open(shared(&store), &small().memory_bytes(16 << 20)).unwrap();
    let backups = Backups::at(shared(&MemoryStorage::new())).unwrap();
    back_up(&backups, &store, &archived()).unwrap();
    let users = db.keyspace("users").unwrap();
    let values: ValueType = "{name: text, n: u32}".parse().unwrap();
    drop(users.declare(&RecordType::new(KeyType::Text, values.clone())).unwrap());
    users.insert("a", values.parse("Ann,1").unwrap()).unwrap();
    let first = backups.archive(shared(&store), ARCHIVE).unwrap().moment;
    db.create_index("by_name", &users, &IndexDefinition::by("name").unwrap().unique()).unwrap();
    let more = Alteration::new().widen("n", KeyType::U64).add_field(Field::new("mail", KeyType::Text).nullable());
    let altered = users.alter(&more).unwrap();
    users.insert("b", altered.values.parse("Bob,2,b@x").unwrap()).unwrap();
    users.set_options(&KeyspaceOptions::default().filter_bits_per_key(3)).unwrap();
    db.keyspace("empty").unwrap();
    let second = backups.archive(shared(&store), ARCHIVE).unwrap().moment;
    db.drop_index("by_name").unwrap();
    users.insert("c", altered.values.parse("Bob,3,c@x").unwrap()).unwrap();
    let third = backups.archive(shared(&store), ARCHIVE).unwrap().moment;

    let open = |moment: ogive::backup::ArchivedMoment| {
        let (_, target) = restore(&backups, Moment::Position(moment.position)).unwrap();
        Db::open(shared(&target), &small().memory_bytes(16 << 20)).unwrap()
    };
    let at_first = open(first);
    let restored = at_first.keyspace("users").unwrap();
    assert_eq!(restored.record_type().values, values);
    assert_eq!((restored.options(), at_first.indexes().len()), (KeyspaceOptions::default(), 0));
    assert_eq!(at_first.keyspaces(), ["default", "users"]);
    let at_second = open(second);
    let restored = at_second.keyspace("users").unwrap();
    assert_eq!(restored.record_type(), altered);
    assert_eq!(altered.values.display(&restored.get("a").unwrap().unwrap()), "Ann,1,");
    assert_eq!(restored.options().filter_bits_per_key, Some(3));
    let (key, _) = at_second.index("by_name").unwrap().get(&["Bob".into()]).unwrap().next().unwrap().unwrap();
    assert_eq!(&*key, b"b");
    assert_eq!(at_second.keyspaces(), ["default", "users", "empty"]);
    let at_third = open(third);
    assert_eq!((at_third.indexes().len(), at_third.keyspace("users").unwrap().iter().count()), (0, 3));
}

/// History may contain what the indexes of its end refuse: rows with the same values, for a while, or since the row
/// before has expired.
#[test]
fn indexes_are_those_of_the_moment_and_refuse_nothing_that_was_there() {
    let store = MemoryStorage::new();
    let clock = Clock::moved_by_hand(unix_time_ms());
    let options = small().memory_bytes(16 << 20).clock(clock.clone());
    let db = Db::open(shared(&store), &options).unwrap();
    let values: ValueType = "{a: u32, b: u32}".parse().unwrap();
    let [users, others] = ["users", "others"].map(|name| {
        let keyspace = db.keyspace(name).unwrap();
        drop(keyspace.declare(&RecordType::new(KeyType::Text, values.clone())).unwrap());
        keyspace
    });
    let row = |text: &str| values.parse(text).unwrap();
    let unique = |field: &str| IndexDefinition::by(field).unwrap().unique();
    db.create_index("one", &users, &unique("a")).unwrap();
    users.insert("1", row("1,1")).unwrap();
    let backups = Backups::at(shared(&MemoryStorage::new())).unwrap();
    back_up(&backups, &store, &archived()).unwrap();
    let mut moments = Vec::new();
    let mut archive = || {
        set_unix_time_s(Some(clock.unix_ms() / 1000 + 1));
        moments.push(backups.archive(shared(&store), ARCHIVE).unwrap().moment);
        set_unix_time_s(None);
    };

    // The same index at both ends of the run, and not between them.
    db.drop_index("one").unwrap();
    users.insert("2", row("1,2")).unwrap();
    users.remove("2").unwrap();
    db.create_index("one", &users, &unique("a")).unwrap();
    archive();
    // Another definition, then another keyspace.
    db.drop_index("one").unwrap();
    users.insert("2", row("1,2")).unwrap();
    db.create_index("one", &users, &unique("b")).unwrap();
    archive();
    db.drop_index("one").unwrap();
    db.create_index("one", &others, &unique("a")).unwrap();
    archive();
    // A value that is free since its row has expired, long after the backup.
    others.insert_with("3", row("7,7"), SystemTime::UNIX_EPOCH + Duration::from_millis(db.time_ms() + 1000)).unwrap();
    (0..4).for_each(|_| {
        clock.pass(12 * 3_600_000);
        db.flush().unwrap();
        users.insert("4", row("9,9")).unwrap();
    });
    others.insert("4", row("7,7")).unwrap();
    others.expire_after(Some(YEAR)).unwrap();
    others.insert("5", row("8,8")).unwrap();
    archive();

    for (moment, (owner, field)) in
        moments.into_iter().zip([("users", "a"), ("users", "b"), ("others", "a"), ("others", "a")])
    {
        let (restored, target) = restore(&backups, Moment::Position(moment.position)).unwrap();
        assert_eq!(restored.indexes_left_out, [""; 0]);
        let copy = Db::open(shared(&target), &options).unwrap();
        let index = copy.index("one").unwrap();
        assert_eq!((index.keyspace().name(), index.definition()), (owner, &unique(field)));
        assert!(copy.verify(&mut |_, _| {}).unwrap().is_sound());
    }
}

#[test]
fn a_kill_at_any_call_of_a_run_leaves_an_archive_that_goes_on() {
    for seed in seeds(0..2) {
        let _repeat = Repeat::new("db", seed);
        let mut work = Work::new(seed);
        let disk = SimulatedDisk::new();
        let on = |disk: &SimulatedDisk| Backups::at(Arc::new(disk.clone()) as Arc<dyn Storage>).unwrap();
        back_up(&on(&disk), &work.store, &archived()).unwrap();
        (0..8).for_each(|_| work.step());
        let outcome = enumerate_crashes(
            CrashOptions { random_images: 2, stride: 1, seed },
            &disk,
            |disk| _ = on(disk).archive(shared(&work.store), ARCHIVE),
            |(), left, _| {
                let backups = on(left);
                let say = |error: Error| error.to_string();
                let last = match backups.archive(shared(&work.store), ARCHIVE) {
                    Ok(done) => done.moment,
                    Err(error) => return Err(say(error)),
                };
                let (_, target) = restore(&backups, Moment::Position(last.position)).map_err(say)?;
                if restored_contents(&target) == work.now { Ok(()) } else { Err("another store was restored".into()) }
            },
        );
        if let Err(failure) = outcome {
            panic!("seed {seed}: {failure}");
        }
    }
}

#[test]
fn a_kill_at_any_call_of_a_restore_leaves_no_store_or_the_whole_one() {
    let (_, backups, work, moments) = archive_of_runs(7, 2);
    let until = Moment::Position(moments[2].position);
    let outcome = enumerate_crashes(
        CrashOptions { random_images: 2, stride: 1, seed: 1 },
        &SimulatedDisk::new(),
        |disk| _ = backups.restore_until(until, Arc::new(disk.clone()) as Arc<dyn Storage>, &mut |_, _| ()),
        |(), disk, _| {
            let storage: Arc<dyn Storage> = Arc::new(disk.clone());
            match Db::open(storage, &small().create(false).memory_bytes(16 << 20)) {
                // Files without a manifest are those of no store.
                Err(_) if disk.list().unwrap().iter().all(|name| !name.ends_with(".manifest")) => Ok(()),
                Err(error) => Err(error.to_string()),
                Ok(db) if contents(&db) == work.now => Ok(()),
                Ok(_) => Err("a part of a store was restored".to_owned()),
            }
        },
    );
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
