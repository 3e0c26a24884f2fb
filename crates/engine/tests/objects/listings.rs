//! Tests of wrong answers of object stores. Goal: no listing, however old, empty or of another store, and no answer
//! that is shorter than its object loses acknowledged writes, denies a store, or is called damage; and an object store
//! that ignores conditions is refused. Method: clients that are given false listings and cut answers.

use crate::support::{Records, STUB, client, open, put_part, records, small};
use ogive::io::{ListedFile, MemoryStorage, Storage, set_unix_time_s};
use ogive::lsm::{Db, DbOptions, checkpoint_store};
use ogive::{Cause, Error, Result, verify_store};
use ogive_testkit::{ObjectClient, Random, SimulatedObjects};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A store whose first manifest and first log were collected, with the listings that it had before, the oldest first.
fn collected() -> (SimulatedObjects, Vec<Vec<ListedFile>>) {
    let server = SimulatedObjects::new();
    let mut old = vec![Vec::new()];
    for round in 0..4 {
        set_unix_time_s(Some(1_000 + 1_000 * round));
        let db = Db::open(client(&server), &small().objects(|objects| objects.grace_s(100))).unwrap();
        for step in 0..4 {
            set_unix_time_s(Some(1_000 + 1_000 * round + 150 * step));
            old.push(server.listing());
            db.insert(format!("{round} {step}"), "x").unwrap();
            db.flush().unwrap();
        }
        if round % 2 == 0 {
            db.close().unwrap();
        }
    }
    set_unix_time_s(Some(9_000));
    let db = Db::open(client(&server), &small().objects(|objects| objects.grace_s(100))).unwrap();
    for time_s in [9_200, 9_400, 9_600] {
        set_unix_time_s(Some(time_s));
        db.insert("last", "x").unwrap();
    }
    db.close().unwrap();
    let is_stub = |(name, bytes): (&String, &Arc<[u8]>)| name == STUB && bytes.len() == 24;
    assert!(server.objects().iter().any(is_stub), "{:?}", server.objects().keys());
    assert!(!server.objects().contains_key("wal-000001-00000000"));
    (server, old)
}

/// A client that is given this listing whenever it asks.
fn misled(server: &SimulatedObjects, listing: &[ListedFile]) -> ObjectClient {
    let client = server.client();
    client.set_false_listings(Random::new(1), 1, vec![listing.to_vec()]);
    client
}

fn shared(client: ObjectClient) -> Arc<dyn Storage> {
    Arc::new(client)
}

/// Insists on an error that speaks of the listing, and neither of damage nor of creating a store.
fn assert_told<T: std::fmt::Debug>(outcome: Result<T>, place: &str) {
    let Err(error) = outcome else { panic!("{place}: {outcome:?}") };
    let text = error.to_string();
    assert!(matches!(error, Error { cause: Cause::WrongAnswer | Cause::Fenced, .. }), "{place}: {error:?}");
    assert!(!text.contains("create") && !text.contains("damaged"), "{place}: {text}");
}

#[test]
fn a_client_that_believes_an_old_an_empty_or_a_foreign_listing_writes_nothing_and_denies_nothing() {
    let (server, old) = collected();
    let expected = records(&Db::open_read_only(client(&server), &small()).unwrap()).unwrap();
    let (other, _) = collected();
    let stub_alone: Vec<ListedFile> = server.listing().into_iter().filter(|file| file.name == STUB).collect();
    let listings: Vec<(String, Vec<ListedFile>)> = old
        .into_iter()
        .enumerate()
        .map(|(at, listing)| (format!("listing {at}"), listing))
        .chain([("of another store".to_owned(), other.listing()), ("of the stub".to_owned(), stub_alone)])
        .collect();
    for (place, listing) in &listings {
        // Nothing of it was kept.
        let written = open(&shared(misled(&server, listing))).and_then(|db| db.insert("misled", "x"));
        // It has met the stub, and no other writer.
        assert!(
            !listing.is_empty() || matches!(written, Err(Error { cause: Cause::WrongAnswer, .. })),
            "{place}: {written:?}"
        );
        assert_told(written, place);
        let mut without = small();
        without.create = false;
        assert_told(Db::open(shared(misled(&server, listing)), &without), place);
        assert_told(Db::open_read_only(shared(misled(&server, listing)), &small()), place);
        let found = ogive::lsm::has_store(&misled(&server, listing));
        assert!(!matches!(found, Ok(false)), "{place}: {found:?}");
        let report = verify_store(shared(misled(&server, listing)), &mut |_, _| {});
        assert!(
            !matches!(report, Err(Error { cause: Cause::NotAStore | Cause::Damaged, .. }) | Ok(_)),
            "{place}: {report:?}"
        );
        let copy: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let copied = checkpoint_store(shared(misled(&server, listing)), &copy);
        assert!(
            !matches!(copied, Err(Error { cause: Cause::NotAStore | Cause::Damaged, .. }) | Ok(())),
            "{place}: {copied:?}"
        );
        // Nor is a copy of another store made there.
        let source: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
        open(&source).unwrap().insert("copied", "x").unwrap();
        assert!(checkpoint_store(&source, shared(misled(&server, listing))).is_err(), "{place}");
        let found = records(&Db::open_read_only(client(&server), &small()).unwrap()).unwrap();
        assert_eq!(found, expected, "{place}");
    }
    let db = open(&client(&server)).unwrap();
    db.insert("after", "x").unwrap();
    assert_eq!(records(&db).unwrap().len(), expected.len() + 1);
    set_unix_time_s(None);
}

/// The store was opened and closed by others since, and nothing was collected. The listing is old for good, or for one
/// request, after which it looks like another writer.
#[test]
fn an_opening_that_loses_by_an_old_listing_is_not_told_of_another_writer_alone() {
    for rounds in 1..4 {
        for is_old_for_good in [true, false] {
            let server = SimulatedObjects::new();
            open(&client(&server)).unwrap().close().unwrap();
            let old = server.listing();
            for round in 0..rounds {
                let db = open(&client(&server)).unwrap();
                db.insert(format!("{round}"), "x").unwrap();
                db.close().unwrap();
            }
            let opener = misled(&server, &old);
            let hooked = opener.clone();
            if !is_old_for_good {
                // The listing is the first request.
                opener.set_hook(Some(Box::new(move || {
                    let n = u64::from(hooked.requests() <= 1);
                    hooked.set_false_listings(Random::new(1), n, vec![old.clone()]);
                })));
            }
            let lost = Db::open(shared(opener.clone()), &small()).unwrap_err();
            opener.set_hook(None);
            let text = lost.to_string();
            assert!(text.contains("listing") && text.contains("out of date"), "{rounds}: {text}");
            assert!(!text.contains("taken over"), "{rounds}: {text}");
            assert_eq!(matches!(lost, Error { cause: Cause::WrongAnswer, .. }), is_old_for_good, "{rounds}: {text}");
            assert_eq!(records(&open(&client(&server)).unwrap()).unwrap().len(), rounds);
        }
    }
}

/// The listing is true when a store is opened, and old from some request on, or the other way round.
#[test]
fn an_opening_that_is_misled_at_any_listing_wins_nothing() {
    let moments = collected().1.len();
    for lies_at in 0..24 {
        for moment in (0..moments).step_by(3) {
            // Its objects have ETags of their own.
            let (server, mut old) = collected();
            let expected = records(&Db::open_read_only(client(&server), &small()).unwrap()).unwrap();
            let opener = server.client();
            let (hooked, listing) = (opener.clone(), old.swap_remove(moment));
            opener.set_hook(Some(Box::new(move || {
                let n = u64::from(hooked.requests() >= lies_at);
                hooked.set_false_listings(Random::new(1), n, vec![listing.clone()]);
            })));
            let written = Db::open(shared(opener.clone()), &small()).and_then(|db| db.insert("misled", "x"));
            opener.set_hook(None);
            let mut all = expected.clone();
            if written.is_ok() {
                all.insert(b"misled".to_vec(), b"x".to_vec());
            }
            let found = records(&open(&client(&server)).unwrap()).unwrap();
            assert_eq!(found, all, "misled from request {lies_at} on");
        }
    }
    set_unix_time_s(None);
}

#[test]
fn the_name_of_the_first_manifest_is_always_taken() {
    set_unix_time_s(Some(1_000));
    let server = SimulatedObjects::new();
    let writer = server.client();
    let (looked, is_there) = (server.clone(), Arc::new(Mutex::new(false)));
    writer.set_hook(Some(Box::new(move || {
        let mut was_there = is_there.lock().unwrap();
        let is_now = looked.objects().contains_key(STUB);
        assert!(is_now || !*was_there, "the name was free");
        *was_there = is_now;
    })));
    let storage = shared(writer);
    for round in 0..5 {
        let db = Db::open(Arc::clone(&storage), &small().objects(|objects| objects.grace_s(100))).unwrap();
        for step in 0..5 {
            set_unix_time_s(Some(1_000 + 1_000 * round + 150 * step));
            db.insert("key", format!("{round} {step}")).unwrap();
            db.flush().unwrap();
        }
        db.close().unwrap();
    }
    assert_eq!(server.objects()[STUB].len(), 24);
    let parts = server.objects().into_keys().filter(|name| name.starts_with("manifest-000001-")).count();
    assert_eq!(parts, 1, "the other parts of the first manifest were removed");
    set_unix_time_s(None);
}

/// As stores of earlier versions have lost theirs, and copies never had one.
#[test]
fn a_store_without_its_first_manifest_gets_the_stub_at_the_next_opening_for_writing() {
    let (server, _) = collected();
    server.client().remove(STUB).unwrap();
    drop(Db::open_read_only(client(&server), &small()).unwrap());
    assert!(!server.objects().contains_key(STUB), "a reader writes nothing");
    let counted = server.client();
    let db = Db::open(shared(counted.clone()), &small()).unwrap();
    assert_eq!(server.objects()[STUB].len(), 24);
    let before = counted.requests();
    db.insert("a", "b").unwrap();
    assert_eq!(counted.requests() - before, 1);
    let copy = SimulatedObjects::new();
    checkpoint_store(client(&server), client(&copy)).unwrap();
    assert_eq!(copy.objects()[STUB].len(), 24);
    assert_told(Db::open(shared(misled(&copy, &[])), &small()), "a copy");
    set_unix_time_s(None);
}

/// The objects of a killed writer, and what it has acknowledged.
fn killed_writer() -> (SimulatedObjects, Records) {
    let server = SimulatedObjects::new();
    let db = open(&client(&server)).unwrap();
    for number in 0..3 {
        let mut batch = db.batch();
        (0..4).for_each(|row| _ = batch.insert(&db, format!("{number} {row}"), "value"));
        batch.commit().unwrap();
    }
    db.keyspace("other").unwrap().insert("a", "b").unwrap();
    let found = records(&db).unwrap();
    std::mem::forget(db);
    (server, found)
}

/// What each way to read a store finds, through clients that are made anew for each.
fn all_findings(client: &dyn Fn() -> Arc<dyn Storage>) -> Vec<Result<Records>> {
    let read = Db::open_read_only(client(), &small()).and_then(|db| records(&db));
    let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let copied = checkpoint_store(client(), &target);
    let copied = copied.and_then(|()| Db::open(target, &small())).and_then(|db| records(&db));
    let verified = verify_store(client(), &mut |_, _| {}).and_then(|report| match report.findings.first() {
        None => Ok(Records::new()),
        Some(found) => Err(Error::damaged("a verified store", found.offset, found.detail.clone())),
    });
    let written = open(&client()).and_then(|db| records(&db));
    vec![read, copied, verified, written]
}

/// At each length, also where a record ends, so that nothing but the listing tells.
#[test]
fn an_answer_that_is_shorter_than_its_object_is_asked_for_again_or_told() {
    let names: Vec<(String, usize)> = {
        let (server, _) = killed_writer();
        server.objects().into_iter().map(|(name, bytes)| (name, bytes.len())).collect()
    };
    for (name, length) in names {
        for bytes in 0..length {
            for answers in [1, u32::MAX] {
                // Each way is tried on objects of its own, since the last one writes.
                let cut = || {
                    let client = killed_writer().0.client();
                    // Where there are no ETags, the length alone tells.
                    client.state_e_tags(bytes % 2 == 0);
                    client.shorten(&name, bytes, answers);
                    shared(client)
                };
                let (_, expected) = killed_writer();
                for (way, found) in all_findings(&cut).into_iter().enumerate() {
                    let place = format!("{bytes} of {length} bytes of {name}, way {way}");
                    match found {
                        Ok(found) => assert!(way == 2 || found == expected, "{place}: {} records", found.len()),
                        Err(error) => {
                            assert!(answers > 1, "{place}: {error}");
                            assert!(matches!(error, Error { cause: Cause::WrongAnswer, .. }), "{place}: {error:?}");
                        }
                    }
                }
            }
        }
    }
}

/// A part that arrives after the listing is compared with another one.
#[test]
fn a_late_part_of_which_the_answer_is_short_is_told() {
    let (server, expected) = killed_writer();
    let name = server.objects().into_keys().rfind(|name| name.starts_with("wal-")).unwrap();
    let whole = server.objects()[&name].len();
    for (bytes, is_lagging) in (0..whole).flat_map(|bytes| [(bytes, false), (bytes, true)]) {
        // Its objects have ETags of their own.
        let (server, _) = killed_writer();
        let listing: Vec<ListedFile> = server.listing().into_iter().filter(|file| file.name != name).collect();
        let opener = server.client();
        opener.shorten(&name, bytes, u32::MAX);
        opener.set_false_listings(Random::new(1), 1, vec![listing]);
        // Until the late part has been read, or for good.
        let (hooked, looked) = (opener.clone(), server.clone());
        let part = name.clone();
        server.take_read();
        opener.set_hook((!is_lagging).then(|| -> Box<dyn FnMut() + Send> {
            Box::new(move || {
                if looked.take_read().contains(&part) {
                    hooked.set_false_listings(Random::new(1), 0, Vec::new());
                }
            })
        }));
        let found = open(&shared(opener)).and_then(|db| records(&db));
        let place = format!("{bytes} of {whole}, {is_lagging}");
        assert!(matches!(&found, Err(Error { cause: Cause::WrongAnswer, .. })), "{place}: {found:?}, not {expected:?}");
    }
}

/// One that only a log points into, so that no manifest states its length.
#[test]
fn a_value_file_of_which_the_answer_is_short_is_asked_for_again_or_told() {
    let grown = || {
        let server = SimulatedObjects::new();
        let db = open(&client(&server)).unwrap();
        db.insert("long", vec![b'x'; (1 << 20) + 10]).unwrap();
        std::mem::forget(db);
        server
    };
    let server = grown();
    let (name, content) = server.objects().into_iter().find(|(name, _)| name.ends_with(".values")).unwrap();
    for bytes in [0, 10, 30, 1000, 1 << 20, content.len() - 1] {
        for answers in [1, u32::MAX] {
            let cut = || {
                let client = grown().client();
                client.shorten(&name, bytes, answers);
                shared(client)
            };
            for (way, found) in all_contents(&cut) {
                let place = format!("{way}, {answers} answers of {bytes} bytes");
                match found {
                    Ok(found) => {
                        let is_whole = |found: &Contents| found["default"][&b"long"[..]].len() == (1 << 20) + 10;
                        assert!(answers == 1 && found.as_ref().is_none_or(is_whole), "{place}");
                    }
                    Err(_) => assert_told(found, &place),
                }
            }
        }
    }
}

/// The listing shows a manifest of that name which is another one.
#[test]
fn an_opening_does_not_take_a_manifest_that_had_the_name_before_for_its_own() {
    let (server, _) = collected();
    let before: Vec<String> = server.objects().into_keys().collect();
    let opener = server.client();
    let (hooked, looked) = (opener.clone(), server.clone());
    opener.set_hook(Some(Box::new(move || {
        let mut listing = looked.listing();
        let new = listing.iter_mut().filter(|file| file.name.starts_with("manifest") && !before.contains(&file.name));
        new.for_each(|file| file.e_tag = Some("of another".to_owned()));
        hooked.set_false_listings(Random::new(1), 1, vec![listing]);
    })));
    let opened = Db::open(shared(opener.clone()), &small());
    opener.set_hook(None);
    assert!(matches!(opened, Err(Error { cause: Cause::WrongAnswer, .. })), "{opened:?}");
    set_unix_time_s(None);
}

#[test]
fn an_object_store_that_ignores_conditions_is_refused() {
    let refused = |outcome: Result<Db>| {
        let Err(error) = outcome else { panic!("{outcome:?}") };
        assert!(matches!(error, Error { cause: Cause::Unsupported, .. }), "{error:?}");
        assert!(error.to_string().contains("If-None-Match"), "{error}");
    };
    let server = SimulatedObjects::new();
    server.ignore_conditions();
    refused(open(&client(&server)));
    assert!(server.objects().is_empty(), "{:?}", server.objects().keys());
    // A creator of a store died before it had asked.
    for dies_at in 1..3 {
        let server = SimulatedObjects::new();
        let creator = server.client();
        creator.die_at(dies_at, None);
        assert!(open(&shared(creator)).is_err());
        server.ignore_conditions();
        refused(open(&client(&server)));
    }
    let source: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    open(&source).unwrap().insert("a", "b").unwrap();
    let server = SimulatedObjects::new();
    server.ignore_conditions();
    let copied = checkpoint_store(&source, client(&server));
    assert!(matches!(copied, Err(Error { cause: Cause::Unsupported, .. })), "{copied:?}");
    assert!(server.objects().is_empty(), "{:?}", server.objects().keys());
}

/// The one request more is made by the first two openings alone.
#[test]
fn conditions_are_asked_for_while_the_first_manifest_is_the_newest() {
    let server = SimulatedObjects::new();
    let changes = |options: &DbOptions| {
        let counted = server.client();
        Db::open(shared(counted.clone()), options).unwrap().close().unwrap();
        counted.changes()
    };
    let counts: Vec<u64> = (0..4).map(|_| changes(&small())).collect();
    assert!(counts[1] >= counts[2] && counts[2] == counts[3], "{counts:?}");
}

/// What is in all keyspaces, by name.
type Contents = BTreeMap<String, Records>;

fn contents(db: &Db) -> Result<Contents> {
    let of = |name: String| {
        let keyspace = db.keyspace(&name)?;
        let pairs = keyspace.iter().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())));
        Ok((name, pairs.collect::<Result<Records>>()?))
    };
    db.keyspaces().into_iter().map(of).collect()
}

/// A store whose writer was killed, with logs of several parts, tables, value files, and keyspaces that were made at
/// different times; what it had at each time, and the listings of these times.
fn grown() -> (SimulatedObjects, Vec<Contents>, Vec<Vec<ListedFile>>) {
    let server = SimulatedObjects::new();
    let (mut states, mut listings) = (vec![Contents::new()], Vec::new());
    for round in 0..3 {
        let db = open(&client(&server)).unwrap();
        let note = |states: &mut Vec<Contents>, listings: &mut Vec<Vec<ListedFile>>| {
            states.push(contents(&db).unwrap());
            listings.push(server.listing());
        };
        note(&mut states, &mut listings);
        for step in 0..3 {
            db.insert(format!("{round} {step}"), vec![b'x'; 40 + 100 * step]).unwrap();
            note(&mut states, &mut listings);
            let other = db.keyspace(&format!("of {round} {step}")).unwrap();
            note(&mut states, &mut listings);
            let mut batch = db.batch();
            batch.insert(&db, "last", format!("{round} {step}")).insert(&other, "first", "x");
            batch.commit().unwrap();
            note(&mut states, &mut listings);
            if step == 1 {
                db.flush().unwrap();
                note(&mut states, &mut listings);
            }
        }
        if round == 1 {
            db.close().unwrap();
        } else {
            std::mem::forget(db);
        }
    }
    (server, states, listings)
}

/// Whether these are the records of a store at one of these times. Keyspaces that were made later may be there, without
/// records.
fn is_of(states: &[Contents], found: &Contents) -> bool {
    let filled = |state: &Contents| -> Contents {
        state
            .iter()
            .filter(|(_, records)| !records.is_empty())
            .map(|(name, records)| (name.clone(), records.clone()))
            .collect()
    };
    let found = filled(found);
    states.iter().any(|state| filled(state) == found)
}

/// What each way to read a store finds through clients that are made anew for each, with the words for the way. The
/// verification finds nothing but that the store is sound.
fn all_contents(misled: &dyn Fn() -> Arc<dyn Storage>) -> Vec<(&'static str, Result<Option<Contents>>)> {
    let read = Db::open_read_only(misled(), &small()).and_then(|db| contents(&db));
    let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let copied = checkpoint_store(misled(), &target);
    let copied = copied.and_then(|()| Db::open(target, &small())).and_then(|db| contents(&db));
    let verified = verify_store(misled(), &mut |_, _| {}).and_then(|report| match report.findings.first() {
        None => Ok(None),
        Some(found) => Err(Error::damaged("a verified store", found.offset, found.detail.clone())),
    });
    let written = open(&misled()).and_then(|db| contents(&db));
    vec![("read", read.map(Some)), ("copied", copied.map(Some)), ("verified", verified), ("written", written.map(Some))]
}

/// A copy of the objects of a server, on another one.
fn same(server: &SimulatedObjects) -> SimulatedObjects {
    let copy = SimulatedObjects::new();
    let client = copy.client();
    server.objects().iter().for_each(|(name, bytes)| client.put_if_absent(name, bytes).unwrap());
    copy
}

/// The chain and the number of a part, by its name.
fn part(name: &str) -> Option<(&str, u64)> {
    let (chain, number) = name.rsplit_once('-')?;
    Some((chain, number.parse().ok()?))
}

/// Each part of a log or a manifest is left out, and sets of them that are drawn.
#[test]
fn a_listing_with_holes_gives_the_newest_version_or_is_told() {
    let (server, states, _) = grown();
    let (expected, whole) = (states.last().unwrap(), server.listing());
    let parts: Vec<&ListedFile> = whole.iter().filter(|file| part(&file.name).is_some()).collect();
    let mut random = Random::new(3);
    let single = parts.iter().map(|left_out| vec![left_out.name.clone()]);
    let drawn = (0..20).map(|_| {
        let drawn = parts.iter().filter(|_| random.below(5) == 0);
        drawn.map(|file| file.name.clone()).collect::<Vec<_>>()
    });
    let (mut right, mut told) = (0, 0);
    for left_out in single.chain(drawn).collect::<Vec<_>>() {
        let listing: Vec<ListedFile> = whole.iter().filter(|file| !left_out.contains(&file.name)).cloned().collect();
        let is_last = |name: &String| {
            let (chain, number) = part(name).unwrap();
            !listing.iter().filter_map(|file| part(&file.name)).any(|(other, later)| other == chain && later > number)
        };
        // A reader may lag, but it does not skip anything.
        let may_lag = left_out.iter().any(is_last);
        for (way, found) in all_contents(&|| shared(misled(&same(&server), &listing))) {
            let place = format!("{way} without {left_out:?}");
            match found {
                Ok(Some(found)) if found != *expected => {
                    assert!(may_lag && way != "written" && is_of(&states, &found), "{place}");
                }
                Ok(_) => right += 1,
                Err(_) => {
                    assert_told(found, &place);
                    told += 1;
                }
            }
        }
    }
    assert!(right > 100 && told > 20, "{right} right, {told} told");
}

/// Manifests of one time and logs of another, and mixtures that are drawn name by name.
#[test]
fn a_listing_of_two_moments_gives_a_whole_version_or_is_told() {
    let (server, states, old) = grown();
    let now = server.listing();
    let mut random = Random::new(5);
    let (mut right, mut told) = (0, 0);
    for (at, before) in old.iter().enumerate().step_by(2) {
        let of_one = |of_old: &mut dyn FnMut(&str) -> bool| {
            let mut mixed: BTreeMap<&str, &ListedFile> = BTreeMap::new();
            let of_now = now.iter().map(|file| (file, false)).chain(before.iter().map(|file| (file, true)));
            for (file, is_old) in of_now {
                if of_old(&file.name) == is_old {
                    mixed.insert(&file.name, file);
                }
            }
            mixed.into_values().cloned().collect::<Vec<_>>()
        };
        let mut mixtures = vec![
            of_one(&mut |name| name.starts_with("manifest")),
            of_one(&mut |name| name.starts_with("wal")),
            of_one(&mut |name| part(name).is_none()),
        ];
        for _ in 0..2 {
            let drawn: BTreeMap<String, bool> =
                now.iter().chain(before).map(|file| (file.name.clone(), random.below(2) == 0)).collect();
            mixtures.push(of_one(&mut |name| drawn[name]));
        }
        for (mixture, listing) in mixtures.iter().enumerate() {
            for (way, found) in all_contents(&|| shared(misled(&same(&server), listing))) {
                let place = format!("{way} by mixture {mixture} of listing {at}");
                match found {
                    Ok(Some(found)) => {
                        let is_right = match way {
                            "written" => found == *states.last().unwrap(),
                            _ => is_of(&states, &found),
                        };
                        assert!(is_right, "{place}");
                        right += 1;
                    }
                    Ok(None) => right += 1,
                    Err(_) => {
                        assert_told(found, &place);
                        told += 1;
                    }
                }
            }
        }
    }
    assert!(right > 100 && told > 100, "{right} right, {told} told");
}

/// Servers may give fewer names in an answer than the usual thousand, and a writer goes on between any two of them: it
/// makes a keyspace, or takes a table over, and writes after that.
#[test]
fn a_reader_of_short_answers_to_listings_sees_no_write_without_the_edit_before_it() {
    for (acts_at, adopts) in (0..24).flat_map(|at| [(at, false), (at, true)]) {
        let (server, mut states, _) = grown();
        let db = open(&client(&server)).unwrap();
        server.list_by(3);
        let reader = server.client();
        let (writer, made, mut requests) = (db.clone(), Arc::new(Mutex::new(Vec::new())), 0);
        let (seen, worker_server) = (Arc::clone(&made), server.clone());
        reader.set_hook(Some(Box::new(move || {
            if requests == acts_at {
                let other = if adopts { (*writer).clone() } else { writer.keyspace("late").unwrap() };
                if adopts {
                    let (worker, name, _) = put_part(&worker_server, 7);
                    writer.adopt_from(&[(worker, name)]).unwrap();
                }
                seen.lock().unwrap().push(contents(&writer).unwrap());
                let mut batch = writer.batch();
                batch.insert(&writer, "last", "late").insert(&other, "first", "x");
                batch.commit().unwrap();
                seen.lock().unwrap().push(contents(&writer).unwrap());
            }
            requests += 1;
        })));
        let found = Db::open_read_only(shared(reader.clone()), &small()).and_then(|db| contents(&db)).unwrap();
        reader.set_hook(None);
        states.extend(made.lock().unwrap().drain(..));
        assert!(states.contains(&found), "acted at request {acts_at}");
    }
}

/// Once, or always.
#[test]
fn an_object_that_is_denied_though_it_is_there_is_told_as_that() {
    let (server, states, _) = grown();
    let expected = states.last().unwrap();
    let mut told = 0;
    for name in server.objects().into_keys() {
        for answers in [1, u32::MAX] {
            let deny = || {
                let client = same(&server).client();
                client.deny(&name, answers);
                shared(client)
            };
            for (way, found) in all_contents(&deny) {
                let place = format!("{way}, {answers} answers that deny {name}");
                match found {
                    Ok(found) => assert!(found.is_none_or(|found| found == *expected), "{place}"),
                    Err(_) => {
                        let text = found.as_ref().unwrap_err().to_string();
                        assert!(text.contains("404"), "{place}: {text}");
                        assert_told(found, &place);
                        told += 1;
                    }
                }
            }
        }
    }
    assert!(told > 20, "{told} told");
}

/// The object store says that all is stored.
#[test]
fn a_copy_of_which_less_is_stored_than_was_put_fails() {
    let (server, states, _) = grown();
    let source = client(&server);
    let mut refused = 0;
    for at in 0.. {
        let target = SimulatedObjects::new();
        let copier = target.client();
        copier.cut_put(at, 20);
        let copied = checkpoint_store(&source, shared(copier.clone()));
        if copied.is_ok() {
            let found = contents(&open(&client(&target)).unwrap()).unwrap();
            assert_eq!(&found, states.last().unwrap(), "at put {at}");
        } else {
            assert_told(copied, &format!("at put {at}"));
            refused += 1;
        }
        if copier.changes() <= at {
            break;
        }
    }
    assert!(refused >= 5, "{refused} refused");
}
