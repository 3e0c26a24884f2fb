//! Crash tests of stores on an object store. Goal: a writer may die at any request of an opening, a commit, a flush, a
//! compaction, an adoption of a table, an alteration of a type, a collection of values, or a removal of old files.
//! Method: one run is repeated, and its client dies at each of its requests in turn; that request is lost, is done
//! without an answer, or arrives after the next opening.

use crate::support::{Records, STUB, client, leaks, put_part, records, small};
use ogive::io::{Storage, seed_random, set_unix_time_s};
use ogive::lsm::Db;
use ogive::types::{Alteration, KeyType, RecordType, ValueType};
use ogive::{Cause, Error};
use ogive_testkit::{Mishap, ObjectClient, Random, SimulatedObjects};
use std::sync::Arc;

/// The contents after each commit that was begun, and how many were acknowledged.
#[derive(Default)]
struct History {
    contents: Vec<Records>,
    acknowledged: usize,
    /// The tables that were adopted, as far as acknowledged.
    adopted: Vec<String>,
}

/// Two openings with commits, flushes, compactions, long values that die, and time that passes.
fn work(server: &SimulatedObjects, storage: &Arc<dyn Storage>, history: &mut History) -> ogive::Result<()> {
    let mut random = Random::new(7);
    let mut now = Records::new();
    history.contents.push(now.clone());
    for opening in 0..2 {
        let options = small().objects(|objects| objects.grace_s(100));
        let db = Db::open(Arc::clone(storage), &options)?;
        for step in 0..8 {
            set_unix_time_s(Some(1_000 + 1_000 * opening + 60 * step));
            let mut batch = db.batch();
            for _ in 0..3 {
                let key = format!("key {}", random.below(12)).into_bytes();
                let value = vec![random.below(256) as u8; [5, 80, 130][random.below(3) as usize]];
                batch.insert(&db, &key, &value);
                now.insert(key, value);
            }
            history.contents.push(now.clone());
            batch.commit()?;
            history.acknowledged = history.contents.len() - 1;
            if step % 4 == 1 {
                let (worker, name, part) = put_part(server, opening * 10 + step);
                now.extend(part);
                history.contents.push(now.clone());
                db.adopt_from(&[(worker, name.clone())])?;
                history.adopted.push(name);
                history.acknowledged = history.contents.len() - 1;
            }
            match step {
                5 => db.compact()?,
                _ if step % 3 == 2 => db.flush()?,
                _ => {}
            }
        }
        db.close()?;
    }
    Ok(())
}

/// Whether the run died, and all that must hold after it does.
fn die_at(at: u64, mishap: Option<Mishap>, is_late_after_opening: bool) -> bool {
    seed_random(Some(3));
    let server = SimulatedObjects::new();
    let mortal: ObjectClient = server.client();
    mortal.die_at(at, mishap);
    let mut history = History::default();
    let died =
        work(&server, &(Arc::new(mortal.clone()) as Arc<dyn Storage>), &mut history).is_err() || mortal.is_dead();
    let place = format!("died at request {at} ({mishap:?})");
    if !is_late_after_opening {
        while server.deliver(&mut Random::new(1)) {}
    }
    set_unix_time_s(Some(50_000));
    let options = small().objects(|objects| objects.grace_s(100));
    let db = Db::open(client(&server), &options).unwrap();
    let found = records(&db).unwrap();
    while server.deliver(&mut Random::new(1)) {}
    let allowed = &history.contents[history.acknowledged..];
    assert!(allowed.contains(&found), "{place}: {found:?}");
    // A table that did not become part of the store is still there, and may be adopted now.
    for name in server.objects().into_keys().filter(|name| name.starts_with("part")) {
        let outcome = db.adopt_from(&[(client(&server), name.clone())]);
        let may_be_adopted = outcome.is_ok() && !history.adopted.contains(&name);
        assert!(
            may_be_adopted || matches!(outcome, Err(Error { cause: Cause::Input, .. })),
            "{place}: {name}: {outcome:?}"
        );
    }
    let found = records(&db).unwrap();
    db.insert("last", "x").unwrap();
    db.flush().unwrap();
    db.compact().unwrap();
    assert_eq!(records(&db).unwrap().len(), found.len() + 1, "{place}");
    for time_s in [51_000, 52_000, 53_000] {
        set_unix_time_s(Some(time_s));
        db.insert("last", "x").unwrap();
    }
    let leaks = leaks(&server);
    assert!(leaks.is_empty(), "{place}: {leaks:?}");
    let has_later = server.objects().keys().any(|name| name.starts_with("manifest-") && !name.starts_with(&STUB[..15]));
    let first_bytes = server.objects().get(STUB).map(|first| first.len());
    assert!(first_bytes.is_some_and(|bytes| (bytes == 24) == has_later), "{place}: {first_bytes:?}");
    assert!(!server.objects().keys().any(|name| name.starts_with("part")), "{place}: all were compacted");
    drop(db);
    let again = Db::open(client(&server), &options).unwrap();
    assert_eq!(records(&again).unwrap().len(), found.len() + 1, "{place}");
    set_unix_time_s(None);
    seed_random(None);
    died
}

#[test]
fn a_writer_may_die_at_any_request() {
    let ways = [
        (None, false),
        (Some(Mishap::AnswerLost), false),
        (Some(Mishap::Late), false),
        (Some(Mishap::Late), true),
        (Some(Mishap::Twice), true),
    ];
    let mut at = 0;
    while ways.into_iter().all(|(mishap, is_late)| die_at(at, mishap, is_late)) {
        at += 1;
    }
    assert!(at > 40, "only {at} requests");
}

/// The type of the values of a keyspace before an alteration and after it.
const FORMS: [&str; 2] = ["{t: text, n: u8}", "{t: text?, n: i32}"];

/// Writes rows before and after an alteration; returns whether it was acknowledged, and the keys of such rows.
fn alter(storage: &Arc<dyn Storage>, (is_altered, keys): &mut (bool, Vec<u8>)) -> ogive::Result<()> {
    let db = Db::open(Arc::clone(storage), &small())?;
    let keyspace = db.keyspace("k")?;
    drop(keyspace.declare(&RecordType::new(KeyType::U8, FORMS[0].parse::<ValueType>()?))?);
    for key in 0..6 {
        keyspace.insert([key], keyspace.record_type().values.parse(&row(key))?)?;
        keys.push(key);
        match key {
            1 | 4 => db.flush()?,
            2 => {
                keyspace.alter(&Alteration::new().widen("n", KeyType::I32).allow_null("t"))?;
                *is_altered = true;
            }
            _ => {}
        }
    }
    db.compact()?;
    db.close()
}

/// A row as text; every second value is separated from its key.
fn row(key: u8) -> String {
    format!("{},{key}", "x".repeat(if key.is_multiple_of(2) { 100 } else { 3 }))
}

#[test]
fn a_writer_may_die_while_it_alters_a_type() {
    let mut found = [0; 2];
    for (mishap, is_late) in
        [(None, false), (Some(Mishap::AnswerLost), false), (Some(Mishap::Late), false), (Some(Mishap::Late), true)]
    {
        let mut at = 0;
        loop {
            seed_random(Some(3));
            let server = SimulatedObjects::new();
            let mortal: ObjectClient = server.client();
            mortal.die_at(at, mishap);
            let mut acknowledged = (false, Vec::new());
            let outcome = alter(&(Arc::new(mortal.clone()) as Arc<dyn Storage>), &mut acknowledged);
            let died = outcome.is_err() || mortal.is_dead();
            if !is_late {
                while server.deliver(&mut Random::new(1)) {}
            }
            let db = Db::open(client(&server), &small()).unwrap();
            while server.deliver(&mut Random::new(1)) {}
            let place = format!("died at request {at} ({mishap:?})");
            let keyspace = db.keyspace("k").unwrap();
            let types = keyspace.record_type();
            let form = FORMS.iter().position(|form| *form == types.values.to_string());
            let (is_altered, keys) = acknowledged;
            assert!(form == Some(1) || form == Some(0) && !is_altered || keys.is_empty(), "{place}: {types:?}");
            found[form.unwrap_or(0)] += 1;
            for key in keys {
                let value = keyspace.get([key]).unwrap().unwrap_or_else(|| panic!("{place}: {key} is gone"));
                assert_eq!(types.values.display(&value).to_string(), row(key), "{place}");
            }
            if !died {
                break;
            }
            at += 1;
        }
        assert!(at > 20, "only {at} requests");
    }
    seed_random(None);
    assert!(found.iter().all(|&states| states > 20), "{found:?}");
}
