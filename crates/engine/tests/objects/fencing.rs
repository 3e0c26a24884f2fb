//! Fencing tests. Goal: of all writers of a store on an object store, one at most is acknowledged, and what was
//! acknowledged is there. Method: openings from threads at once, and writers that sleep before a request while others
//! open the store.

use crate::support::{Records, client, open, records, small};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::Db;
use ogive::{Cause, Error};
use ogive_testkit::{Mishap, Random, SimulatedObjects};
use std::sync::{Arc, Barrier, Mutex};

/// In each round, threads open the store at once and write. What any of them acknowledged must be there in the end, and
/// at most one of them still writes.
#[test]
fn of_openings_at_once_one_stays_and_no_acknowledged_write_is_lost() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let mut expected = Records::new();
    for round in 0..60 {
        let barrier = Barrier::new(4);
        let acknowledged = Mutex::new(Vec::new());
        let opened = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (storage, barrier, acknowledged, opened) = (&storage, &barrier, &acknowledged, &opened);
                scope.spawn(move || {
                    barrier.wait();
                    let db = match open(storage) {
                        Ok(db) => db,
                        Err(error) => return assert!(matches!(error, Error { cause: Cause::Fenced, .. }), "{error}"),
                    };
                    for number in 0..3 {
                        let key = format!("{round} {thread} {number}").into_bytes();
                        match db.insert(&key, "x") {
                            Ok(()) => acknowledged.lock().unwrap().push(key),
                            Err(error) => assert!(matches!(error, Error { cause: Cause::Fenced, .. }), "{error}"),
                        }
                    }
                    opened.lock().unwrap().push(db);
                });
            }
        });
        let opened = opened.into_inner().unwrap();
        let writers = opened.iter().filter(|db| db.insert(format!("{round} last"), "x").is_ok()).count();
        assert_eq!(writers, 1, "round {round}");
        expected.extend(acknowledged.into_inner().unwrap().into_iter().map(|key| (key, b"x".to_vec())));
        expected.insert(format!("{round} last").into_bytes(), b"x".to_vec());
        if round % 2 == 0 {
            opened.iter().for_each(|db| _ = db.close());
        }
    }
    let db = open(&storage).unwrap();
    let found = records(&db).unwrap();
    let missing: Vec<_> = expected.keys().filter(|key| !found.contains_key(*key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A writer that was taken over gets the typed error for every write, sync and `resume`, and its reads go on.
#[test]
fn a_writer_that_was_taken_over_is_told_so() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let first = open(&storage).unwrap();
    first.insert("a", "1").unwrap();
    let second = open(&storage).unwrap();
    second.insert("b", "2").unwrap();
    for outcome in [first.insert("c", "3"), first.insert("c", "3"), first.flush(), first.resume(), first.close()] {
        assert!(matches!(outcome, Err(Error { cause: Cause::Fenced, .. })), "{outcome:?}");
    }
    assert_eq!(first.get("a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(records(&second).unwrap().len(), 2);
    let third = open(&storage).unwrap();
    assert_eq!(records(&third).unwrap(), records(&second).unwrap());
    assert!(matches!(second.insert("c", "3"), Err(Error { cause: Cause::Fenced, .. })));
}

/// Writes of `first` until it sleeps before its change of number `at`; meanwhile `others` open the store, write, and
/// close it or not, and the clock goes on until all old files are removed.
fn sleep_at(at: u64, others: u64, closes: bool) -> bool {
    let server = SimulatedObjects::new();
    let sleeper = server.client();
    ogive::io::set_unix_time_s(Some(1_000));
    let mut expected = Records::new();
    let first = open(&(Arc::new(sleeper.clone()) as Arc<dyn Storage>)).unwrap();
    let begun = sleeper.changes();
    let slept = Arc::new(Mutex::new(None));
    let (hook_server, hook_slept, hook_client) = (server.clone(), Arc::clone(&slept), sleeper.clone());
    sleeper.set_hook(Some(Box::new(move || {
        if hook_client.changes() != begun + at || hook_slept.lock().unwrap().is_some() {
            return;
        }
        let mut found = Records::new();
        for other in 0..others {
            let db = open(&client(&hook_server)).unwrap();
            ogive::io::set_unix_time_s(Some(10_000 * (other + 1)));
            for number in 0..8 {
                db.insert(format!("other {number}"), vec![b'o'; 60]).unwrap();
            }
            db.flush().unwrap();
            // Everything that an earlier version had is gone now.
            ogive::io::set_unix_time_s(Some(10_000 * (other + 1) + 5_000));
            db.insert("x", "y").unwrap();
            found = records(&db).unwrap();
            if closes {
                db.close().unwrap();
            }
        }
        *hook_slept.lock().unwrap() = Some(found);
    })));
    let mut refused = 0;
    for number in 0..24_u32 {
        if number % 8 == 7 {
            _ = first.flush();
        }
        let (key, value) = (format!("first {number}").into_bytes(), vec![b'f'; 60]);
        match first.insert(&key, &value) {
            Ok(()) => _ = expected.insert(key, value),
            Err(error) => {
                assert!(matches!(error, Error { cause: Cause::Fenced, .. }), "sleep at {at}: {error}");
                refused += 1;
            }
        }
    }
    sleeper.set_hook(None);
    drop(first);
    let slept = slept.lock().unwrap().take();
    let Some(others_found) = slept else { return false };
    let db = open(&client(&server)).unwrap();
    let found = records(&db).unwrap();
    assert!(refused > 0, "sleep at {at}");
    assert!(expected.iter().all(|(key, value)| found.get(key) == Some(value)), "sleep at {at}: a write is lost");
    assert_eq!(found, others_found, "sleep at {at}: a late write counts");
    ogive::io::set_unix_time_s(None);
    true
}

/// A writer sleeps before each of its requests in turn, while one or two others take over and remove all that is old.
#[test]
fn a_writer_that_wakes_up_after_an_hour_writes_nothing() {
    let mut at = 0;
    while [(1, false), (2, true), (3, false)].into_iter().all(|(others, closes)| sleep_at(at, others, closes)) {
        at += 1;
    }
    assert!(at > 20, "{at} requests");
}

/// An opening sleeps before each of its requests, while others open, close and go on.
#[test]
fn an_opening_that_wakes_up_late_wins_nothing() {
    for closes in [false, true] {
        for at in 0..12 {
            let server = SimulatedObjects::new();
            ogive::io::set_unix_time_s(Some(1_000));
            let db = open(&client(&server)).unwrap();
            db.insert("a", "1").unwrap();
            if closes {
                db.close().unwrap();
            }
            drop(db);
            let sleeper = server.client();
            let (hook_server, hook_client) = (server.clone(), sleeper.clone());
            let winner: Arc<Mutex<Option<Db>>> = Arc::default();
            let hook_winner = Arc::clone(&winner);
            sleeper.set_hook(Some(Box::new(move || {
                if hook_client.requests() != at || hook_winner.lock().unwrap().is_some() {
                    return;
                }
                for round in 1..3 {
                    let db = open(&client(&hook_server)).unwrap();
                    ogive::io::set_unix_time_s(Some(10_000 * round));
                    // Enough that the manifest is renewed, and earlier ones are removed.
                    for number in 0..60 {
                        db.insert("b", format!("{number}")).unwrap();
                        db.flush().unwrap();
                    }
                    ogive::io::set_unix_time_s(Some(10_000 * round + 5_000));
                    db.insert("b", "last").unwrap();
                    *hook_winner.lock().unwrap() = Some(db);
                }
            })));
            let late = open(&(Arc::new(sleeper.clone()) as Arc<dyn Storage>));
            sleeper.set_hook(None);
            let late_wrote = late.as_ref().is_ok_and(|late| late.insert("c", "3").is_ok());
            let winner = winner.lock().unwrap().take();
            let winner_wrote = winner.as_ref().is_some_and(|winner| winner.insert("d", "4").is_ok());
            assert!(winner.is_none() || late_wrote != winner_wrote, "{at}: {late_wrote}, {winner_wrote}, {late:?}");
            drop((late, winner));
            let found = records(&open(&client(&server)).unwrap()).unwrap();
            assert_eq!((found.contains_key(&b"c"[..]), found.contains_key(&b"d"[..])), (late_wrote, winner_wrote));
            ogive::io::set_unix_time_s(None);
        }
    }
}

/// An answer that is lost, or a request that arrives twice, makes no writer believe that another one has taken over.
#[test]
fn a_writer_recognises_its_own_parts() {
    for mishap in [Mishap::AnswerLost, Mishap::Twice] {
        for at in 0..40 {
            let server = SimulatedObjects::new();
            let unlucky = server.client();
            let db = open(&(Arc::new(unlucky.clone()) as Arc<dyn Storage>)).unwrap();
            for number in 0..at {
                db.insert(format!("{number}"), vec![b'x'; 60]).unwrap();
            }
            // The next change has the mishap.
            unlucky.fail_next(mishap);
            let outcome = db.insert("a", "1");
            assert!(!matches!(outcome, Err(Error { cause: Cause::Fenced, .. })), "{mishap:?} at {at}");
            // An answer that was lost leaves the write, or an edit of the manifest before it.
            let mut took_place = outcome.is_ok();
            if outcome.is_err() {
                db.resume().unwrap();
                took_place = db.contains_key("a").unwrap();
                assert!(took_place || at > 0, "{mishap:?} at {at}: the part is there");
            }
            while server.deliver(&mut Random::new(1)) {}
            db.insert("b", "2").unwrap();
            db.flush().unwrap();
            drop(db);
            let found = records(&Db::open(client(&server), &small()).unwrap()).unwrap();
            assert_eq!(found.len() as u64, at + 1 + u64::from(took_place), "{mishap:?} at {at}");
        }
    }
}

/// Groups that were in flight arrive behind the seal that an opening has put in place of one that is late. The seal
/// stays, so that the late one never arrives.
#[test]
fn a_seal_stays_also_when_parts_behind_it_have_arrived() {
    ogive::io::set_unix_time_s(Some(1_000));
    let server = SimulatedObjects::new();
    let options = small().objects(|objects| objects.grace_s(100));
    let sleeper = Db::open(client(&server), &options).unwrap();
    sleeper.insert("first", "1").unwrap();
    let mut db = Db::open(client(&server), &options).unwrap();
    let is_seal = |(name, bytes): &(String, Arc<[u8]>)| bytes.starts_with(b"\x89OGVSEA\n") && name.starts_with("wal-");
    let (seal, _) = server.objects().into_iter().find(is_seal).unwrap();
    let (chain, part) = seal.rsplit_once('-').unwrap();
    for behind in 1..3 {
        let name = format!("{chain}-{:08}", part.parse::<u64>().unwrap() + behind);
        server.client().put_if_absent(&name, &[b'x'; 60]).unwrap();
    }
    for round in 1..4 {
        for time_s in [2_000, 3_000, 4_000] {
            ogive::io::set_unix_time_s(Some(10_000 * round + time_s));
            db.insert("second", format!("{round}")).unwrap();
            db.flush().unwrap();
        }
        db.close().unwrap();
        db = Db::open(client(&server), &options).unwrap();
    }
    let left: Vec<String> = server.objects().into_keys().filter(|name| name.starts_with(chain)).collect();
    assert_eq!(left, std::slice::from_ref(&seal));
    assert!(matches!(sleeper.insert("first", "2"), Err(Error { cause: Cause::Fenced, .. })));
    ogive::io::set_unix_time_s(None);
}

/// The first part of a log or a manifest arrives once more after all of that chain but its seal was removed. The seal
/// stays, so that its writer, which sleeps, still meets it.
#[test]
fn a_seal_stays_also_when_a_first_part_arrives_again() {
    ogive::io::set_unix_time_s(Some(1_000));
    let server = SimulatedObjects::new();
    let sleeper = server.client();
    let options = small().objects(|objects| objects.grace_s(100));
    let first = Db::open(Arc::new(sleeper.clone()), &options).unwrap();
    first.insert("first", "1").unwrap();
    let parts: Vec<_> = server.objects().into_iter().filter(|(name, _)| name.ends_with("-00000000")).collect();
    let mut second = Db::open(client(&server), &options).unwrap();
    let seals = |server: &SimulatedObjects| {
        let objects = server.objects().into_iter();
        objects.filter(|(_, bytes)| bytes.starts_with(b"\x89OGVSEA\n")).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let put = seals(&server);
    assert_eq!(put.len(), 2, "{put:?}");
    for round in 0..3 {
        for time_s in [2_000, 3_000, 4_000] {
            ogive::io::set_unix_time_s(Some(10_000 * round + time_s));
            second.insert("second", format!("{round}")).unwrap();
            second.flush().unwrap();
        }
        for (name, bytes) in &parts {
            _ = server.client().put_if_absent(name, bytes);
        }
        // The next writer knows no seals.
        second.close().unwrap();
        second = Db::open(client(&server), &options).unwrap();
    }
    ogive::io::set_unix_time_s(Some(90_000));
    second.insert("second", "last").unwrap();
    assert_eq!(seals(&server), put);
    assert!(matches!(first.insert("first", "2"), Err(Error { cause: Cause::Fenced, .. })));
    ogive::io::set_unix_time_s(None);
}

/// A store whose writer was taken over by another one, which goes on. Its objects have seals.
fn taken_over() -> (SimulatedObjects, Db, Records) {
    let server = SimulatedObjects::new();
    let first = Db::open(client(&server), &small()).unwrap();
    first.insert("first", "1").unwrap();
    let second = Db::open(client(&server), &small()).unwrap();
    second.insert("second", "2").unwrap();
    let expected = records(&second).unwrap();
    (server, second, expected)
}

/// The objects of a store, and the parts that its newest manifest and its newest log get next.
fn names_and_next_parts(server: &SimulatedObjects) -> Vec<String> {
    let mut names: Vec<String> = server.objects().into_keys().collect();
    for kind in ["manifest-", "wal-"] {
        let newest = names.iter().filter(|name| name.starts_with(kind)).max().unwrap();
        let (chain, part) = newest.rsplit_once('-').unwrap();
        let next = format!("{chain}-{:08}", part.parse::<u64>().unwrap() + 1);
        names.push(next);
    }
    names
}

/// While a writer is taken over, answers to reads of any object, or of a part that is not there, have another object of
/// the store: a seal of another chain, a group of the same log. Whatever the opening makes of them, what any writer was
/// acknowledged is found, and at most one of them is acknowledged after the opening.
#[test]
fn an_answer_with_another_object_never_passes_for_a_seal() {
    let objects: Vec<String> = taken_over().0.objects().into_keys().collect();
    let names = names_and_next_parts(&taken_over().0);
    let mut told = 0;
    for (name, other) in names.iter().flat_map(|name| objects.iter().map(move |other| (name, other))) {
        for answers in [1, 2, 3, u32::MAX] {
            let case = format!("{answers} answers with {other} for {name}");
            let (server, old, mut expected) = taken_over();
            let unlucky = server.client();
            unlucky.mistake(name, &server.objects()[other], answers);
            let outcome = Db::open(Arc::new(unlucky.clone()), &small());
            unlucky.mistake(name, &[], 0);
            let mut acknowledged = 0;
            let mut write = |db: &Db, key: &str| match db.insert(key, "late") {
                Ok(()) => {
                    expected.insert(key.as_bytes().to_vec(), b"late".to_vec());
                    acknowledged += 1;
                }
                Err(error) => assert!(matches!(error, Error { cause: Cause::Fenced, .. }), "{case}: {error}"),
            };
            write(&old, "old");
            if let Ok(new) = &outcome {
                write(new, "new");
                write(&old, "old again");
                assert_eq!(acknowledged, 1, "{case}: writers after the opening");
            }
            if let Err(error) = &outcome {
                let is_of_answer = matches!(error, Error { cause: Cause::WrongAnswer, .. });
                assert!(name == other || is_of_answer, "{case}: {error}");
                told += 1;
            }
            drop((old, outcome));
            assert_eq!(records(&open(&client(&server)).unwrap()).unwrap(), expected, "{case}");
        }
    }
    assert!(told > 0);
}

/// An opening reads the seals that it has put. A short answer with one of them is asked for again, or told.
#[test]
fn a_seal_of_which_the_answer_is_short_is_asked_for_again_or_told() {
    let names = names_and_next_parts(&taken_over().0);
    for (name, bytes) in names.iter().rev().take(2).flat_map(|name| (0..24).map(move |bytes| (name, bytes))) {
        for answers in [1, u32::MAX] {
            let (server, _old, expected) = taken_over();
            let opener = server.client();
            opener.shorten(name, bytes, answers);
            let found = Db::open(Arc::new(opener), &small()).and_then(|db| records(&db));
            match found {
                Ok(found) if answers == 1 => assert_eq!(found, expected, "{bytes} bytes of {name}"),
                Err(Error { cause: Cause::WrongAnswer, .. }) if answers > 1 => {}
                other => panic!("{answers} answers with {bytes} bytes of {name}: {other:?}"),
            }
        }
    }
}
