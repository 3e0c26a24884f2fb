//! Tests of stores that are removed under their handles. Goal: a writer of the removed store harms no store that was
//! made in its place, and is told so; nor do its requests that arrive late. Method: all objects are removed, another
//! store is made in the place, and handles of the first one write, flush, collect and close, at any time.

use crate::support::{Records, client, open, records, small};
use ogive::io::{MemoryStorage, Storage, set_unix_time_s};
use ogive::lsm::{Db, DbOptions, checkpoint_store};
use ogive::{Cause, Error, Result};
use ogive_testkit::{Mishap, ObjectClient, Random, SimulatedObjects};
use std::sync::{Arc, Mutex};

/// Removes all objects, as `aws s3 rm --recursive` does.
fn remove_all(server: &SimulatedObjects) {
    let remover = server.client();
    server.objects().keys().for_each(|name| remover.remove(name).unwrap());
}

/// What the writer of the removed store does.
const ACTS: [&str; 6] = ["close", "drop", "write and close", "write", "flush", "write much"];

fn act(old: Db, act: &str) -> Option<Db> {
    let gone = |outcome: Result<()>| match outcome {
        Ok(()) | Err(Error { cause: Cause::Gone, .. }) => {}
        Err(error) => assert!(error.to_string().contains("the name is taken") || is_taken(&error), "{act}: {error}"),
    };
    let write = |from: u32, count: u32| {
        (from..from + count).for_each(|n| gone(old.insert(format!("late {n}"), vec![b'A'; 60])))
    };
    match act {
        "write" | "write and close" => write(0, 1),
        "flush" => {
            write(0, 3);
            gone(old.flush());
        }
        "write much" => {
            for round in 0..80 {
                write(round, 2);
                gone(old.flush());
            }
        }
        _ => {}
    }
    if act.contains("close") {
        gone(old.close());
    }
    (!act.contains("close") && act != "drop").then_some(old)
}

/// Whether an error says that an object of another store is in the way.
fn is_taken(error: &Error) -> bool {
    matches!(error, Error { cause: Cause::Io(std::io::ErrorKind::AlreadyExists), .. })
        || matches!(error, Error { cause: Cause::ReadOnly, .. })
}

/// Writes to the new store, which goes on after errors that tell of objects in the way; returns whether it was told.
fn go_on(db: &Db, expected: &mut Records, from: u32, count: u32, case: &str) -> bool {
    let mut told = false;
    for number in from..from + count {
        let (key, value) = (format!("new {number}"), vec![b'B'; 60]);
        for tries in 0.. {
            match db.insert(&key, &value) {
                Ok(()) => break,
                Err(error) => {
                    assert!(tries < 4 && is_taken(&error), "{case}: {error}");
                    told = true;
                    _ = db.resume();
                }
            }
        }
        expected.insert(key.into_bytes(), value);
    }
    told
}

fn options() -> DbOptions {
    small().objects(|objects| objects.grace_s(100))
}

/// A writer, idle or in the middle of its work, whose store is removed and made anew, writes, flushes, closes or goes:
/// no write of the new store is lost, and the store opens for readers and writers.
#[test]
fn a_writer_of_a_removed_store_harms_none_that_is_made_in_its_place() {
    for (case, old_writes, old_flushes) in [(0, 3, 0), (1, 3, 2), (2, 0, 0), (3, 1, 0), (4, 12, 3)] {
        for new_writes in [0, 1, 2, 3, 5, 12] {
            for name in ACTS {
                let case = format!("case {case}, {new_writes} new writes, {name}");
                set_unix_time_s(Some(1_000));
                let server = SimulatedObjects::new();
                let old = Db::open(client(&server), &options()).unwrap();
                for flush in 0..=old_flushes {
                    (0..old_writes).for_each(|n| old.insert(format!("old {flush} {n}"), vec![b'o'; 60]).unwrap());
                    if flush < old_flushes {
                        old.flush().unwrap();
                    }
                }
                remove_all(&server);
                let mut expected = Records::new();
                let new = Db::open(client(&server), &options()).unwrap();
                go_on(&new, &mut expected, 0, new_writes, &case);
                let old = act(old, name);
                check(&server, &expected, &case);
                go_on(&new, &mut expected, new_writes, 8, &case);
                check(&server, &expected, &case);
                // What the old one has would be removed now.
                set_unix_time_s(Some(5_000));
                if let Some(old) = &old {
                    _ = old.insert("late", "A");
                    _ = old.flush();
                }
                for round in 0..6 {
                    go_on(&new, &mut expected, 100 + 10 * round, 4, &case);
                    if new.flush().is_err() {
                        new.resume().unwrap();
                    }
                }
                check(&server, &expected, &case);
                drop(new);
                let again = open(&client(&server)).unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!(records(&again).unwrap(), expected, "{case}");
                again.insert("again", "x").unwrap();
                expected.insert(b"again".to_vec(), b"x".to_vec());
                drop(old);
                again.close().unwrap();
                check(&server, &expected, &case);
            }
        }
    }
    set_unix_time_s(None);
}

/// A reader, and another writer on a copy of the server, find the records.
fn check(server: &SimulatedObjects, expected: &Records, case: &str) {
    let reader = Db::open_read_only(client(server), &small()).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(records(&reader).unwrap(), *expected, "{case}, a reader");
    let copy = SimulatedObjects::new();
    let putter = copy.client();
    server.objects().iter().for_each(|(name, bytes)| putter.put_if_absent(name, bytes).unwrap());
    let writer = open(&client(&copy)).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(records(&writer).unwrap(), *expected, "{case}, a writer");
}

/// The manifest that a closing puts meets another store, or nothing: the handle says that its store is gone, each time,
/// and leaves nothing that keeps a new store from being made.
#[test]
fn a_writer_of_a_removed_store_is_told_that_it_is_gone() {
    for is_made_anew in [false, true] {
        let server = SimulatedObjects::new();
        let old = open(&client(&server)).unwrap();
        for round in 0..40 {
            old.insert("old", format!("{round}")).unwrap();
            old.flush().unwrap();
        }
        remove_all(&server);
        let new = is_made_anew.then(|| {
            let new = open(&client(&server)).unwrap();
            new.insert("new", "1").unwrap();
            new
        });
        let before = server.objects();
        let told = (0..80).find_map(|round| old.insert("late", format!("{round}")).and_then(|()| old.flush()).err());
        assert!(matches!(told, Some(Error { cause: Cause::Gone, .. })), "{told:?}");
        for outcome in [old.insert("late", "x"), old.flush(), old.resume()] {
            assert!(matches!(outcome, Err(Error { cause: Cause::Gone, .. })), "{outcome:?}");
        }
        assert!(matches!(old.close(), Err(Error { cause: Cause::Gone, .. })));
        let Some(new) = new else {
            continue;
        };
        new.insert("new", "2").unwrap();
        assert!(before.keys().all(|name| server.objects().contains_key(name)));
        drop(new);
        assert_eq!(
            records(&open(&client(&server)).unwrap()).unwrap().get(&b"new"[..]).map(Vec::as_slice),
            Some(&b"2"[..])
        );
    }
}

/// A closing finds that all objects are gone, and leaves none: a new store can be made there.
#[test]
fn a_closing_leaves_nothing_where_the_store_was() {
    let server = SimulatedObjects::new();
    let old = open(&client(&server)).unwrap();
    old.insert("old", "1").unwrap();
    remove_all(&server);
    let told = old.close();
    assert!(matches!(told, Err(Error { cause: Cause::Gone, .. })), "what was acknowledged is lost: {told:?}");
    assert_eq!(server.objects().len(), 0);
    let idle = open(&client(&server)).unwrap();
    remove_all(&server);
    idle.close().unwrap();
    open(&client(&server)).unwrap().insert("new", "1").unwrap();
}

/// Requests of a writer of the removed store arrive when another store is there.
#[test]
fn a_late_request_of_a_removed_store_harms_none_that_is_made_in_its_place() {
    for writes in 0..8 {
        for late in ["write", "close", "flush"] {
            for new_writes in [0, 1, 3, 6, 12] {
                let case = format!("{writes} writes, {late}, {new_writes} new writes");
                let server = SimulatedObjects::new();
                let sleeper = server.client();
                let old = Db::open(Arc::new(sleeper.clone()), &options()).unwrap();
                (0..writes).for_each(|n| old.insert(format!("old {n}"), "o").unwrap());
                sleeper.fail_next(Mishap::Late);
                let outcome = match late {
                    "write" => old.insert("late", "A"),
                    "close" => old.close(),
                    _ => old.flush(),
                };
                assert!(outcome.is_err() || late == "flush" && writes == 0, "{case}");
                sleeper.die_at(sleeper.changes(), None);
                drop(old);
                remove_all(&server);
                let mut expected = Records::new();
                let new = Db::open(client(&server), &options()).unwrap();
                go_on(&new, &mut expected, 0, new_writes, &case);
                while server.deliver(&mut Random::new(1)) {}
                check(&server, &expected, &case);
                go_on(&new, &mut expected, new_writes, 12, &case);
                check(&server, &expected, &case);
                drop(new);
                let again = open(&client(&server)).unwrap_or_else(|error| panic!("{case}: {error}"));
                go_on(&again, &mut expected, 100, 3, &case);
                again.close().unwrap();
                check(&server, &expected, &case);
            }
        }
    }
}

/// A reader whose store is removed, and one that was made in its place, however much it has: a refresh says that the
/// store is gone, also on object stores without ETags.
#[test]
fn a_refresh_of_a_reader_whose_store_was_removed_says_so() {
    for (has_e_tags, closes) in [(true, false), (false, false), (true, true), (false, true)] {
        for old_writes in [0, 1, 4] {
            let server = SimulatedObjects::new();
            let old = open(&client(&server)).unwrap();
            (0..old_writes).for_each(|n| old.insert(format!("old {n}"), "o").unwrap());
            if closes {
                old.close().unwrap();
            }
            let reading = server.client();
            reading.state_e_tags(has_e_tags);
            let mut reader = Db::open_read_only(Arc::new(reading), &small()).unwrap();
            let is_new = reader.refresh().unwrap();
            assert!(!is_new);
            remove_all(&server);
            let mut told = |case: &str| {
                let outcome = reader.refresh();
                let case = format!("{case}, ETags {has_e_tags}, closed {closes}, {old_writes} writes");
                assert!(matches!(outcome, Err(Error { cause: Cause::Gone, .. })), "{case}: {outcome:?}");
            };
            told("removed");
            for round in 0..4 {
                let new = open(&client(&server)).unwrap();
                told("made anew");
                for number in 0..5 {
                    new.insert(format!("new {round} {number}"), "n").unwrap();
                    told("written");
                }
                new.flush().unwrap();
                told("flushed");
                if closes {
                    new.close().unwrap();
                }
                told("closed");
            }
        }
    }
}

/// A copy into a prefix that is emptied while it is made, where a store is made then: whatever becomes of the copy, it
/// takes nothing of the store.
#[test]
fn a_copy_into_a_place_that_was_emptied_harms_no_store_that_is_made_there() {
    let sources: [Arc<dyn Storage>; 2] = [(); 2].map(|()| Arc::new(MemoryStorage::objects()) as Arc<dyn Storage>);
    for (openings, source) in sources.iter().enumerate() {
        for opening in 0..=3 * openings {
            let db = open(source).unwrap();
            (0..30).for_each(|n| db.insert(format!("{opening} {n}"), vec![b'c'; 150]).unwrap());
            db.flush().unwrap();
            db.insert(format!("{opening} in the log"), "c").unwrap();
            db.close().unwrap();
        }
        let mut tried = 0;
        for (at, flushes) in (1..200).map(|at| (at, at % 2 == 0)) {
            let case = format!("{openings}, request {at}, flushes {flushes}");
            let server = SimulatedObjects::new();
            let copier = server.client();
            let (emptied, requests) = (server.clone(), Mutex::new(0));
            let new = Arc::new(Mutex::new(None));
            let made = Arc::clone(&new);
            copier.set_hook(Some(Box::new(move || {
                let mut requests = requests.lock().unwrap();
                *requests += 1;
                if *requests == at {
                    remove_all(&emptied);
                    let db = open(&client(&emptied)).unwrap();
                    (0..5).for_each(|n| db.insert(format!("new {n}"), vec![b'n'; 150]).unwrap());
                    if flushes {
                        db.flush().unwrap();
                    }
                    *made.lock().unwrap() = Some(db);
                }
            })));
            _ = checkpoint_store(source, &(Arc::new(copier.clone()) as Arc<dyn Storage>));
            copier.set_hook(None);
            let Some(new) = new.lock().unwrap().take() else { break };
            tried += 1;
            let mut expected: Records = (0..5).map(|n| (format!("new {n}").into_bytes(), vec![b'n'; 150])).collect();
            check(&server, &expected, &case);
            go_on(&new, &mut expected, 10, 3, &case);
            check(&server, &expected, &case);
            drop(new);
            let again = open(&client(&server)).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(records(&again).unwrap(), expected, "{case}");
        }
        assert!(tried > 12, "{tried}");
    }
}

/// A reader or writer of a removed store, in whose place another one has tables of the same names: their blocks are no
/// damage of it.
#[test]
fn a_table_of_another_store_in_its_place_is_no_damage() {
    for has_e_tags in [true, false] {
        let server = SimulatedObjects::new();
        let fill = |db: &Db, what: &str| {
            for round in 0..4 {
                (0..60).for_each(|n| db.insert(format!("{round} {n:03}"), what.repeat(20)).unwrap());
                db.flush().unwrap();
            }
        };
        let writing = server.client();
        writing.state_e_tags(has_e_tags);
        let old = Db::open(Arc::new(writing), &options()).unwrap();
        fill(&old, "old");
        let reading = server.client();
        reading.state_e_tags(has_e_tags);
        let reader = Db::open_read_only(Arc::new(reading), &small()).unwrap();
        remove_all(&server);
        let new = open(&client(&server)).unwrap();
        fill(&new, "new");
        for (who, told) in [("a reader", records(&reader).err()), ("the writer", records(&old).err())] {
            assert!(matches!(told, Some(Error { cause: Cause::Gone, .. })), "{who}, ETags {has_e_tags}: {told:?}");
        }
        let told = (0..80).find_map(|n| old.insert("late", format!("{n}")).and_then(|()| old.compact()).err());
        assert!(matches!(told, Some(Error { cause: Cause::Gone, .. })), "ETags {has_e_tags}: {told:?}");
        assert_eq!(records(&new).unwrap().len(), 240);
    }
}

/// The seal that an opening puts over a part of another store arrives when the objects were removed again, and a third
/// store is there: it replaces no part of it.
#[test]
fn a_seal_that_arrives_late_replaces_no_part_of_another_store() {
    let mut late = 0;
    for writes in 1..5 {
        for at in 0.. {
            let case = format!("{writes} writes, change {at}");
            let server = SimulatedObjects::new();
            let die = |client: &ObjectClient, db: Db| {
                client.die_at(client.changes(), None);
                drop(db);
            };
            let (first, second) = (server.client(), server.client());
            let a = Db::open(Arc::new(first.clone()), &options()).unwrap();
            (0..writes).for_each(|n| a.insert(format!("a {n}"), "a").unwrap());
            remove_all(&server);
            let b = Db::open(Arc::new(second.clone()), &options()).unwrap();
            (0..writes).for_each(|n| b.insert(format!("b {n}"), "b").unwrap());
            // Its part lies behind those of the second store.
            a.insert("late", "a").unwrap();
            die(&first, a);
            die(&second, b);
            let opening = server.client();
            opening.die_at(at, Some(Mishap::Late));
            drop(Db::open(Arc::new(opening.clone()), &options()));
            if !opening.is_dead() {
                break;
            }
            remove_all(&server);
            let mut expected = Records::new();
            let third = Db::open(client(&server), &options()).unwrap();
            go_on(&third, &mut expected, 0, 6, &case);
            while server.deliver(&mut Random::new(1)) {
                late += 1;
            }
            let read = || records(&Db::open_read_only(client(&server), &small()).unwrap()).unwrap();
            assert_eq!(read(), expected, "{case}");
            go_on(&third, &mut expected, 6, 6, &case);
            assert_eq!(read(), expected, "{case}");
            drop(third);
            // Another late request may be in the way of an opening, which says that it is to be repeated.
            let again = (0..3).find_map(|_| open(&client(&server)).ok()).unwrap_or_else(|| panic!("{case}"));
            assert_eq!(records(&again).unwrap(), expected, "{case}");
        }
    }
    assert!(late > 8, "{late}");
}
