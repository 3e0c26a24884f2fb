//! Followers of stores on an object store. Goal: they get what those of folders get, whatever happens to requests, and
//! nothing that a subscriber needs is removed, also by a writer that was taken over. Method: the same drawn operations
//! on a simulated object store whose clock passes, with requests that are lost, late or sent twice; a writer that dies
//! at each of its requests, and one that another writer takes over before each of them.

use crate::{
    Batches, Plain, STEPS_BETWEEN_CRASHES, SUBSCRIBER, Told, check_open, contents, contents_of, gone, key, plain, rest,
    small, step, value, work,
};
use ogive::io::{Storage, seed_random, set_unix_time_s};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::{Cause, Db, DbOptions, Error, Result};
use ogive_testkit::{Mishap, Random, Repeat, SimulatedObjects, seeds};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

/// Seconds for which files stay that the store does not need.
pub(crate) const GRACE_S: u64 = 90;

/// Lets this many seconds have passed since the beginning.
pub(crate) fn pass_to(seconds: u64) {
    set_unix_time_s(Some(1_000_000 + seconds));
}

/// A store in which everything happens soon.
pub(crate) fn on_objects() -> DbOptions {
    small().objects(|objects| objects.gather_ms(0).grace_s(GRACE_S))
}

pub(crate) fn client(server: &SimulatedObjects) -> Arc<dyn Storage> {
    Arc::new(server.client())
}

/// The logs and tables of which there are objects.
pub(crate) fn files(server: &SimulatedObjects) -> BTreeSet<String> {
    let of_seal = |bytes: &[u8]| bytes.starts_with(b"\x89OGVSEA\n");
    let objects = server.objects().into_iter().filter(|(_, bytes)| !of_seal(bytes));
    let names = objects.filter_map(|(name, _)| match name.strip_prefix("wal-") {
        Some(part) => Some(format!("log {}", &part[..6])),
        None => name.ends_with(".table").then_some(name),
    });
    names.collect()
}

/// Adopts a table from below the URL of a store.
fn adopt(db: &Db, storage: &Arc<dyn Storage>, random: &mut Random, done: &mut Batches) -> Result<()> {
    let name = format!("part-{}.table", random.next_u64());
    let records: BTreeMap<_, _> = (0..3).map(|_| (key(random), value(random))).collect();
    let mut writer = TableWriter::create((Arc::clone(storage), &*name), TableWriteOptions::default())?;
    records.iter().try_for_each(|(key, value)| writer.append(key, value))?;
    writer.finish()?;
    done.push(vec![Plain::Ingest("default".into(), records.into_iter().collect())]);
    db.adopt_from(&[(Arc::clone(storage), name)]).map(drop)
}

/// Lets all that is obsolete be removed by a writer.
fn collect(db: &Db, now_s: &mut u64) {
    for _ in 0..4 {
        *now_s += GRACE_S + 1;
        pass_to(*now_s);
        // Work of the background is done by writes.
        db.flush().unwrap();
        db.insert("last", "x").unwrap();
    }
}

/// What no subscriber needs, and is older than the grace period, is removed.
fn check_removals(db: &Db, server: &SimulatedObjects, now_s: &mut u64, place: &str) {
    collect(db, now_s);
    let left = files(server);
    let tables: u64 = db.stats().keyspaces.iter().flat_map(|of| &of.levels).map(|level| level.tables).sum();
    let (logs, found): (Vec<_>, Vec<_>) = left.iter().partition(|name| name.starts_with("log"));
    // What the last flushes and compactions have replaced is within the grace period.
    assert!(logs.len() <= 3, "{place}: {left:?}");
    assert!(found.len() as u64 <= tables + 8, "{place}: {tables} tables, {left:?}");
    assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn followers_on_an_object_store_get_every_change_in_order() {
    for seed in seeds(0..12) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        seed_random(Some(seed));
        let (mut random, server, mut done) = (Random::new(seed), SimulatedObjects::new(), Batches::new());
        let (storage, options, mut now_s) = (client(&server), on_objects(), 0);
        pass_to(now_s);
        let mut db = Db::open(Arc::clone(&storage), &options).unwrap();
        let (mut own, mut acknowledged, mut read) = (Batches::new(), Batches::new(), Batches::new());
        let start = db.subscribe(SUBSCRIBER).unwrap();
        let mut changes = db.changes_since(start).unwrap();
        let reader = Db::open_read_only(client(&server), &options).unwrap();
        let outside = reader.subscribe("outside").unwrap();
        let mut outside = reader.changes_since(outside).unwrap();
        for _ in 0..150 {
            now_s += random.below(GRACE_S / 2);
            pass_to(now_s);
            match random.below(20) {
                0 => adopt(&db, &storage, &mut random, &mut done).unwrap(),
                _ => step(&db, &mut random, &mut done).unwrap(),
            }
            match random.below(12) {
                0 => {
                    own.extend(rest(&mut changes).unwrap());
                    assert_eq!(own, done, "seed {seed}");
                }
                1 => {
                    read.extend(rest(&mut outside).unwrap());
                    assert_eq!(read, done, "seed {seed}, read");
                    reader.acknowledge("outside", &outside.position().unwrap()).unwrap();
                }
                2 => {
                    own.extend(rest(&mut changes).unwrap());
                    let position = reader.subscribers().unwrap()[SUBSCRIBER];
                    for batch in reader.changes_since(position).unwrap().take(5) {
                        let batch = batch.unwrap();
                        acknowledged.push(batch.changes.iter().map(plain).collect());
                        reader.acknowledge(SUBSCRIBER, &batch.position).unwrap();
                    }
                    assert!(done.starts_with(&acknowledged), "seed {seed}");
                }
                3 => {
                    own.extend(rest(&mut changes).unwrap());
                    let position = changes.position().unwrap();
                    drop(changes);
                    if random.one_in(2) {
                        db.close().unwrap();
                    }
                    db = Db::open(Arc::clone(&storage), &options).unwrap();
                    changes = db.changes_since(position).unwrap();
                }
                _ => {}
            }
        }
        let position = db.subscribers().unwrap()[SUBSCRIBER];
        acknowledged.extend(rest(&mut reader.changes_since(position).unwrap()).unwrap());
        assert_eq!(acknowledged, done, "seed {seed}");
        assert_eq!(contents(&done), contents_of(&db).unwrap());
        assert!(reader.unsubscribe("outside").unwrap() && db.unsubscribe(SUBSCRIBER).unwrap());
        check_removals(&db, &server, &mut now_s, &format!("seed {seed}"));
    }
    set_unix_time_s(None);
    seed_random(None);
}

/// Whether these are the batches that were tried, of which those that failed may be left out.
fn is_history(followed: &[Vec<Plain>], tried: &[(Vec<Plain>, bool)]) -> bool {
    let mut places: BTreeSet<usize> = [0].into();
    for (batch, may_miss) in tried {
        let taken = places.iter().filter(|&&at| followed.get(at) == Some(batch)).map(|at| at + 1);
        let taken: BTreeSet<usize> = taken.collect();
        places = if *may_miss { &places | &taken } else { taken };
    }
    places.contains(&followed.len())
}

/// After a failed request the store is opened again, or goes on.
#[test]
fn followers_agree_with_the_store_whatever_happens_to_requests() {
    let (mut failures, mut found) = (0, 0);
    for seed in seeds(0..24) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        seed_random(Some(seed));
        let (mut random, server, options) = (Random::new(seed), SimulatedObjects::new(), on_objects());
        let (mut now_s, mut tried, mut followed) = (0, Vec::new(), Batches::new());
        pass_to(now_s);
        let open = |mishaps: u64, random: &mut Random| {
            let client = server.client();
            let db = Db::open(Arc::new(client.clone()), &options).unwrap();
            client.set_mishaps(Random::new(random.next_u64()), mishaps);
            (db, client)
        };
        let (mut db, mut writer) = open(0, &mut random);
        let reader = Db::open_read_only(client(&server), &options).unwrap();
        let mut changes = reader.changes_since(reader.subscribe(SUBSCRIBER).unwrap()).unwrap();
        writer.set_mishaps(Random::new(seed), 9);
        for _ in 0..120 {
            now_s += random.below(GRACE_S / 2);
            pass_to(now_s);
            let mut done = Batches::new();
            let outcome = step(&db, &mut random, &mut done);
            tried.extend(done.into_iter().map(|batch| (batch, outcome.is_err())));
            if random.one_in(4) {
                server.deliver(&mut random);
            }
            if random.one_in(4) {
                followed.extend(rest(&mut changes).unwrap());
                if random.one_in(2) {
                    reader.acknowledge(SUBSCRIBER, &changes.position().unwrap()).unwrap();
                }
            }
            if outcome.is_err() {
                failures += 1;
                writer.set_mishaps(Random::new(0), 0);
                // A drop or an ingestion whose edit has arrived is undone by that.
                let is_edit = |change: &Plain| matches!(change, Plain::Ingest(..) | Plain::Drop(_));
                let may_resume = !tried.last().is_some_and(|(batch, _)| batch.iter().any(is_edit));
                if may_resume && random.one_in(2) && db.resume().is_ok() {
                    writer.set_mishaps(Random::new(random.next_u64()), 9);
                } else {
                    drop(db);
                    (db, writer) = open(9, &mut random);
                }
            }
        }
        writer.set_mishaps(Random::new(0), 0);
        if db.insert("last", "x").is_err() {
            drop(db);
            (db, _) = open(0, &mut random);
        } else {
            tried.push((vec![Plain::Set("default".into(), b"last".to_vec(), Some(b"x".to_vec()))], false));
        }
        while server.deliver(&mut random) {}
        followed.extend(rest(&mut changes).unwrap());
        assert!(is_history(&followed, &tried), "seed {seed}: {followed:?}\n{tried:?}");
        assert_eq!(contents(&followed), contents_of(&db).unwrap(), "seed {seed}");
        found += tried.iter().filter(|(_, may_miss)| *may_miss).count();
    }
    assert!(failures > 100 && found > 20, "{failures} failures, {found} of writes");
    set_unix_time_s(None);
    seed_random(None);
}

/// Whether the run died, and all that must hold after it does.
fn die_at(at: u64, mishap: Option<Mishap>, is_late_after_opening: bool, seed: u64) -> bool {
    seed_random(Some(3));
    let (server, options) = (SimulatedObjects::new(), on_objects());
    let mortal = server.client();
    mortal.die_at(at, mishap);
    pass_to(0);
    let told: Told = work(&(Arc::new(mortal.clone()) as Arc<dyn Storage>), &options, seed);
    let place = format!("died at request {at} ({mishap:?})");
    if !is_late_after_opening {
        while server.deliver(&mut Random::new(1)) {}
    }
    let mut now_s = STEPS_BETWEEN_CRASHES as u64 * GRACE_S;
    pass_to(now_s);
    let db = Db::open(client(&server), &options).unwrap();
    while server.deliver(&mut Random::new(1)) {}
    check_open(&told, &db, &options).unwrap_or_else(|failure| panic!("{place}: {failure}"));
    // What the subscriber needs outlives the grace period.
    let Some(&position) = db.subscribers().unwrap().get(SUBSCRIBER) else { return mortal.is_dead() };
    let mut batches = rest(&mut db.changes_since(position).unwrap()).unwrap();
    collect(&db, &mut now_s);
    let last = vec![Plain::Set("default".into(), b"last".to_vec(), Some(b"x".to_vec()))];
    batches.extend(std::iter::repeat_n(last, 4));
    let reader = Db::open_read_only(client(&server), &options).unwrap();
    let mut changes = reader.changes_since(position).unwrap();
    assert_eq!(rest(&mut changes).unwrap(), batches, "{place}");
    // What it needs no more is removed.
    let before = files(&server);
    reader.acknowledge(SUBSCRIBER, &changes.position().unwrap()).unwrap();
    collect(&db, &mut now_s);
    let left: Vec<String> = files(&server).into_iter().filter(|name| name.starts_with("log")).collect();
    assert!(left.len() <= 6 && left.iter().all(|name| !before.contains(name)), "{place}: {before:?}, {left:?}");
    mortal.is_dead()
}

#[test]
fn a_writer_may_die_at_any_request_and_a_subscriber_misses_nothing() {
    let ways = [
        (None, false),
        (Some(Mishap::AnswerLost), false),
        (Some(Mishap::Late), false),
        (Some(Mishap::Late), true),
        (Some(Mishap::Twice), true),
    ];
    for seed in seeds(0..2) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let mut at = 0;
        while ways.into_iter().all(|(mishap, is_late)| die_at(at, mishap, is_late, seed)) {
            at += 1;
        }
        assert!(at > 60, "only {at} requests");
    }
    set_unix_time_s(None);
    seed_random(None);
}

/// A writer flushes and removes what is obsolete; before its request of number `at`, another one takes over, and does
/// the same. Returns whether there was such a request.
fn take_over_at(at: u64) -> bool {
    seed_random(Some(3));
    pass_to(0);
    let (server, options) = (SimulatedObjects::new(), on_objects());
    let sleeper = server.client();
    let mut tried = Batches::new();
    let insert = |db: &Db, key: &str, tried: &mut Batches| {
        tried.push(vec![Plain::Set("default".into(), key.into(), Some(b"x".to_vec()))]);
        db.insert(key, "x")
    };
    let db = Db::open(Arc::new(sleeper.clone()), &options).unwrap();
    let position = db.subscribe(SUBSCRIBER).unwrap();
    insert(&db, "a", &mut tried).unwrap();
    db.flush().unwrap();
    let taken: Arc<Mutex<Option<(Db, Batches)>>> = Arc::default();
    let (slot, mut wait, other) = (Arc::clone(&taken), at, server.clone());
    sleeper.set_hook(Some(Box::new(move || {
        if wait == 0 {
            let (db, mut after) = (Db::open(client(&other), &on_objects()).unwrap(), Batches::new());
            insert(&db, "b", &mut after).unwrap();
            db.flush().unwrap();
            pass_to(2 * GRACE_S);
            insert(&db, "c", &mut after).unwrap();
            db.flush().unwrap();
            pass_to(4 * GRACE_S);
            insert(&db, "d", &mut after).unwrap();
            *slot.lock().unwrap() = Some((db, after));
        }
        wait = wait.wrapping_sub(1);
    })));
    let mut acknowledged = tried.len();
    let mut go_on = || -> Result<()> {
        for (key, seconds) in [("e", 3 * GRACE_S / 2), ("f", 3 * GRACE_S), ("g", 5 * GRACE_S)] {
            insert(&db, key, &mut tried)?;
            acknowledged = tried.len();
            db.flush()?;
            if taken.lock().unwrap().is_none() {
                pass_to(seconds);
            }
        }
        Ok(())
    };
    let outcome = go_on();
    sleeper.set_hook(None);
    let Some((newer, after)) = taken.lock().unwrap().take() else { return false };
    if let Err(error) = outcome {
        let is_told = matches!(error.cause, Cause::Fenced | Cause::Io(ErrorKind::NotFound));
        assert!(is_told, "before request {at}: {error}");
    }
    pass_to(8 * GRACE_S);
    // The one that was taken over removes nothing any more, whatever it does.
    _ = db.insert("h", "x").and_then(|()| db.flush());
    newer.flush().unwrap();
    let found = rest(&mut newer.changes_since(position).unwrap()).unwrap();
    let whole = (acknowledged..=tried.len()).map(|count| [&tried[..count], &after].concat());
    assert!(whole.into_iter().any(|whole| whole == found), "before request {at}: {found:?}");
    assert_eq!(contents(&found), contents_of(&newer).unwrap(), "before request {at}");
    true
}

#[test]
fn a_writer_that_was_taken_over_forgets_nothing_that_the_new_one_keeps() {
    let mut at = 0;
    while take_over_at(at) {
        at += 1;
    }
    assert!(at > 25, "only {at} requests");
    set_unix_time_s(None);
    seed_random(None);
}

#[test]
fn without_a_subscriber_changes_are_left_for_the_grace_period() {
    pass_to(0);
    let server = SimulatedObjects::new();
    let db = Db::open(client(&server), &on_objects()).unwrap();
    db.insert("a", "1").unwrap();
    let mut changes = db.changes_since(None).unwrap();
    assert_eq!(rest(&mut changes).unwrap().len(), 1);
    let first = changes.position().unwrap();
    db.insert("b", "2").unwrap();
    db.flush().unwrap();
    db.insert("c", "3").unwrap();
    let reader = Db::open_read_only(client(&server), &on_objects()).unwrap();
    assert_eq!(rest(&mut reader.changes_since(first).unwrap()).unwrap().len(), 2);
    assert_eq!(rest(&mut reader.changes_since(None).unwrap()).unwrap().len(), 3);
    collect(&db, &mut 0);
    let oldest = gone(&reader, first).unwrap();
    assert_eq!(gone(&db, first), Some(oldest));
    assert!(oldest > first.number());
    set_unix_time_s(None);
}

#[test]
fn a_subscriber_on_an_object_store_beyond_the_limit_is_told_that_its_changes_are_gone() {
    pass_to(0);
    let (server, mut now_s) = (SimulatedObjects::new(), 0);
    let limited = on_objects().writes(|writes| writes.memtable_bytes(1 << 10).kept_changes_bytes(8 << 10));
    let db = Db::open(client(&server), &limited).unwrap();
    let start = db.subscribe(SUBSCRIBER).unwrap();
    for number in 0..200_u32 {
        db.insert(number.to_be_bytes(), vec![b'x'; 300]).unwrap();
    }
    collect(&db, &mut now_s);
    let oldest = gone(&db, start).unwrap();
    assert!(oldest > 100, "{oldest}");
    let refused = db.changes_since(None).unwrap().collect::<Result<Vec<_>>>();
    assert_eq!(refused.unwrap().len() as u64, 204 - oldest);
    set_unix_time_s(None);
}

/// A value that is in a file of its own, and overwritten, is there for the subscriber.
#[test]
fn values_outside_logs_are_kept_for_a_subscriber() {
    pass_to(0);
    let (server, mut now_s) = (SimulatedObjects::new(), 0);
    let options = on_objects().memory_bytes(16 << 20).writes(|writes| writes.memtable_bytes(1 << 20));
    let db = Db::open(client(&server), &options).unwrap();
    let start = db.subscribe(SUBSCRIBER).unwrap();
    let long = vec![b'l'; 2 << 20];
    db.insert_stream("a", &mut &long[..]).unwrap();
    db.flush().unwrap();
    db.insert("a", "short").unwrap();
    db.compact().unwrap();
    collect(&db, &mut now_s);
    for db in [&db, &Db::open_read_only(client(&server), &options).unwrap()] {
        let first = db.changes_since(start).unwrap().next().unwrap().unwrap();
        let set = Plain::Set("default".into(), b"a".to_vec(), Some(long.clone()));
        assert!(plain(&first.changes[0]) == set, "the value is another one");
    }
    set_unix_time_s(None);
}

/// Neither the drop nor the ingestion has arrived, and the store goes on.
#[test]
fn a_drop_and_an_ingestion_that_failed_leave_no_gap_for_followers() {
    let (server, mut done, mut tried) = (SimulatedObjects::new(), Batches::new(), Batches::new());
    let (unlucky, storage) = (server.client(), client(&server));
    let db = Db::open(Arc::new(unlucky.clone()), &on_objects()).unwrap();
    let position = db.subscribe(SUBSCRIBER).unwrap();
    let fruit = db.keyspace("fruit").unwrap();
    let insert = |key: &str, done: &mut Batches| {
        done.push(vec![Plain::Set("fruit".into(), key.into(), Some(b"x".to_vec()))]);
        fruit.insert(key, "x").unwrap();
    };
    insert("a", &mut done);
    unlucky.fail_next(Mishap::Lost);
    assert!(db.drop_keyspace("fruit").is_err());
    db.resume().unwrap();
    insert("b", &mut done);
    unlucky.fail_next(Mishap::Lost);
    assert!(adopt(&db, &storage, &mut Random::new(1), &mut tried).is_err());
    db.resume().unwrap();
    insert("c", &mut done);
    for db in [&db, &Db::open_read_only(client(&server), &on_objects()).unwrap()] {
        assert_eq!(rest(&mut db.changes_since(position).unwrap()).unwrap(), done);
    }
}

#[test]
fn an_old_listing_delays_a_follower_and_does_not_mislead_it() {
    let server = SimulatedObjects::new();
    let db = Db::open(client(&server), &on_objects()).unwrap();
    let follower = server.client();
    let reader = Db::open_read_only(Arc::new(follower.clone()), &on_objects()).unwrap();
    let mut changes = reader.changes_since(None).unwrap();
    let mut listings = Vec::new();
    for round in 0..3 {
        db.insert("a", format!("{round}")).unwrap();
        listings.push(server.listing());
        assert_eq!(rest(&mut changes).unwrap().len(), 1);
        db.flush().unwrap();
        assert!(rest(&mut changes).unwrap().is_empty());
        for listing in &listings {
            follower.set_false_listings(Random::new(1), 1, vec![listing.clone()]);
            assert!(rest(&mut changes).unwrap().is_empty(), "round {round}");
            follower.set_false_listings(Random::new(1), 0, Vec::new());
        }
    }
}

#[test]
fn a_store_that_was_removed_is_told_to_its_followers() {
    let server = SimulatedObjects::new();
    let db = Db::open(client(&server), &on_objects()).unwrap();
    db.insert("a", "1").unwrap();
    let reader = Db::open_read_only(client(&server), &on_objects()).unwrap();
    let mut changes = reader.changes_since(None).unwrap();
    assert_eq!(rest(&mut changes).unwrap().len(), 1);
    let storage = client(&server);
    storage.list().unwrap().iter().for_each(|name| storage.remove(name).unwrap());
    let other = Db::open(client(&server), &on_objects()).unwrap();
    other.insert("b", "2").unwrap();
    let refused = rest(&mut changes);
    assert!(matches!(refused, Err(Error { cause: Cause::Gone, .. })), "{refused:?}");
}
