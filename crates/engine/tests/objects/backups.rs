//! Backup tests. Goal: backups and copies that are made into one object store at the same time harm no other one.
//! Method: a whole one between any two requests of another one.

use crate::support::{Records, client, open, records, small};
use ogive::backup::{BackupOptions, Backups};
use ogive::io::{ListedFile, MemoryStorage, Storage};
use ogive::lsm::{Db, checkpoint_store};
use ogive::{Cause, Error};
use ogive_testkit::{Random, SimulatedObjects};
use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// What the backups must have, by number.
type Made = Arc<Mutex<BTreeMap<u64, Records>>>;

fn back_up(backups: &Backups, store: &Arc<dyn Storage>, expected: Records, made: &Made) {
    let options = BackupOptions::default().keep(1);
    if let Ok(summary) = backups.create(store, &options, &mut |_, _| ()) {
        made.lock().unwrap().insert(summary.backup.number, expected);
    }
}

#[test]
fn a_backup_within_another_one_harms_no_kept_backup() {
    let mut last = 0;
    for at in 0.. {
        let (server, store): (_, Arc<dyn Storage>) = (SimulatedObjects::new(), Arc::new(MemoryStorage::objects()));
        let db = open(&store).unwrap();
        let made = Made::default();
        let outer_client = server.client();
        let outer = Backups::at(Arc::new(outer_client.clone())).unwrap();
        for number in 0..3 {
            db.insert(format!("{number}"), vec![b'x'; 150]).unwrap();
            db.compact().unwrap();
            if number < 2 {
                back_up(&outer, &store, records(&db).unwrap(), &made);
            }
        }
        let before = outer_client.requests();
        let (requests, inner) = (Mutex::new(0), Backups::at(client(&server)).unwrap());
        let (inner_db, inner_store, inner_made) = (db.clone(), Arc::clone(&store), Arc::clone(&made));
        outer_client.set_hook(Some(Box::new(move || {
            let mut requests = requests.lock().unwrap();
            *requests += 1;
            if *requests == at {
                // Other records, so that no file of this backup is as in the other one.
                inner_db.insert("inner", "y").unwrap();
                inner_db.compact().unwrap();
                back_up(&inner, &inner_store, records(&inner_db).unwrap(), &inner_made);
                // The outer backup finds the same log, but longer.
                inner_db.insert("inner, after", "z").unwrap();
            }
        })));
        let expected = records(&db).unwrap();
        back_up(&outer, &store, expected, &made);
        outer_client.set_hook(None);
        let kept = outer.list().unwrap();
        assert!(kept.damaged.is_empty() && !kept.backups.is_empty(), "{kept:?}");
        for backup in kept.backups {
            let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
            let restored = outer.restore(Some(backup.number), &target, &mut |_, _| ());
            assert!(restored.is_ok(), "backup {} with another one at request {at}: {restored:?}", backup.number);
            let found = records(&Db::open(target, &small()).unwrap()).unwrap();
            if let Some(expected) = made.lock().unwrap().get(&backup.number) {
                let mut found = found;
                if !expected.contains_key(&b"inner"[..]) {
                    // Written while the backup was made.
                    found.retain(|key, _| !key.starts_with(b"inner"));
                }
                assert_eq!(&found, expected, "backup {} with another one at request {at}", backup.number);
            }
        }
        if outer_client.requests() - before < at {
            break;
        }
        last = at;
    }
    assert!(last > 10, "{last} requests");
}

/// A backup that ends while another one, which has seen it running, is between any two of its requests. Returns whether
/// both have got as far as told.
fn end_within(first_at: u64, second_at: u64) -> bool {
    let (server, store): (_, Arc<dyn Storage>) = (SimulatedObjects::new(), Arc::new(MemoryStorage::objects()));
    let db = open(&store).unwrap();
    db.insert("key", vec![b'x'; 150]).unwrap();
    db.flush().unwrap();
    let (first, second) = (server.client(), server.client());
    let (reached, has_reached) = channel();
    let (ended, has_ended) = channel::<()>();
    let (back_up_second, other_store) = (Backups::at(Arc::new(second.clone())).unwrap(), Arc::clone(&store));
    let (mut requests, is_reached) = (0, reached.clone());
    second.set_hook(Some(Box::new(move || {
        requests += 1;
        if requests == second_at {
            is_reached.send(true).unwrap();
            // An error says that it has ended.
            _ = has_ended.recv();
        }
    })));
    let met = Arc::new(Mutex::new(false));
    std::thread::scope(|scope| {
        let (begin, is_begun) = channel::<()>();
        scope.spawn(move || {
            if is_begun.recv().is_ok() {
                _ = back_up_second.create(&other_store, &BackupOptions::default(), &mut |_, _| ());
            }
            _ = reached.send(false);
        });
        let (mut requests, is_met) = (0, Arc::clone(&met));
        first.set_hook(Some(Box::new(move || {
            requests += 1;
            if requests == first_at {
                begin.send(()).unwrap();
                *is_met.lock().unwrap() = has_reached.recv().unwrap();
            }
        })));
        let backups = Backups::at(Arc::new(first.clone())).unwrap();
        _ = backups.create(&store, &BackupOptions::default(), &mut |_, _| ());
        first.set_hook(None);
        drop(ended);
    });
    let backups = Backups::at(client(&server)).unwrap();
    let kept = backups.list().unwrap();
    assert!(kept.damaged.is_empty(), "{kept:?}");
    for backup in kept.backups {
        let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let restored = backups.restore(Some(backup.number), &target, &mut |_, _| ());
        assert!(restored.is_ok(), "backup {} of {first_at} and {second_at}: {restored:?}", backup.number);
    }
    *met.lock().unwrap()
}

#[test]
fn a_backup_that_ends_within_another_one_loses_none_of_its_files() {
    let mut met = 0;
    for first_at in 1..40 {
        let mut second_at = 1;
        while end_within(first_at, second_at) {
            (second_at, met) = (second_at + 1, met + 1);
        }
    }
    assert!(met > 100, "{met} pairs");
}

/// Two copies into one empty folder, the second between any two requests of the first: one store, whole, or none.
#[test]
fn of_two_copies_into_one_folder_at_most_one_is_made_and_is_whole() {
    let sources: Vec<Arc<dyn Storage>> =
        (0..2).map(|_| Arc::new(MemoryStorage::objects()) as Arc<dyn Storage>).collect();
    let mut expected = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let db = open(source).unwrap();
        (0..40).for_each(|key| db.insert(format!("{key}"), vec![number as u8; 150]).unwrap());
        db.flush().unwrap();
        expected.push(records(&db).unwrap());
        db.close().unwrap();
    }
    let mut last = 0;
    for at in 0.. {
        let server = SimulatedObjects::new();
        let (outer, inner) = (server.client(), client(&server));
        let (requests, other) = (Mutex::new(0), Arc::clone(&sources[1]));
        let inner_made = Arc::new(Mutex::new(false));
        let made = Arc::clone(&inner_made);
        outer.set_hook(Some(Box::new(move || {
            let mut requests = requests.lock().unwrap();
            *requests += 1;
            if *requests == at {
                *made.lock().unwrap() = checkpoint_store(&other, &inner).is_ok();
            }
        })));
        let copied = checkpoint_store(&sources[0], &(Arc::new(outer.clone()) as Arc<dyn Storage>)).is_ok();
        let inner_copied = *inner_made.lock().unwrap();
        assert!(copied != inner_copied, "at request {at}: {copied}, {inner_copied}");
        let found = records(&Db::open_read_only(client(&server), &small()).unwrap()).unwrap();
        assert!(found == expected[usize::from(inner_copied)], "at request {at}");
        assert!(!server.objects().contains_key("LOCK"));
        if outer.requests() < at {
            break;
        }
        last = at;
    }
    assert!(last > 3, "{last} requests");
}

/// A file of a backup of which an answer is short is asked for again, or told as a wrong answer: the backup is sound.
#[test]
fn a_backup_of_which_an_answer_is_short_is_asked_for_again_or_told() {
    let (server, store): (_, Arc<dyn Storage>) = (SimulatedObjects::new(), Arc::new(MemoryStorage::objects()));
    let db = open(&store).unwrap();
    db.insert("table", "1").unwrap();
    db.compact().unwrap();
    db.insert("log", "2").unwrap();
    Backups::at(client(&server)).unwrap().create(&store, &BackupOptions::default(), &mut |_, _| ()).unwrap();
    let expected = records(&db).unwrap();
    for (name, content) in server.objects() {
        for bytes in [0, 10, content.len() / 2, content.len() - 1] {
            for answers in [1, u32::MAX] {
                let place = format!("{answers} answers with {bytes} of {} bytes of {name}", content.len());
                let reader = server.client();
                let backups = Backups::at(Arc::new(reader.clone())).unwrap();
                reader.shorten(&name, bytes, answers);
                let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
                match backups.restore(None, &target, &mut |_, _| ()) {
                    Ok(_) => {
                        assert_eq!(records(&Db::open(target, &small()).unwrap()).unwrap(), expected, "{place}");
                    }
                    Err(error) => {
                        assert!(
                            answers > 1 && matches!(error, Error { cause: Cause::WrongAnswer, .. }),
                            "{place}: {error}"
                        );
                    }
                }
                reader.shorten(&name, bytes, answers);
                match backups.verify(&mut |_, _| ()) {
                    Ok(findings) => assert!(findings.is_empty(), "{place}: {findings:?}"),
                    Err(error) => {
                        assert!(
                            answers > 1 && matches!(error, Error { cause: Cause::WrongAnswer, .. }),
                            "{place}: {error}"
                        );
                    }
                }
            }
        }
    }
}

/// Files of a backup whose record a listing leaves out are no leftovers.
#[test]
fn a_listing_that_leaves_records_out_costs_no_backup_its_files() {
    for seed in 0..60 {
        let (server, store): (_, Arc<dyn Storage>) = (SimulatedObjects::new(), Arc::new(MemoryStorage::objects()));
        let db = open(&store).unwrap();
        let mut made = BTreeMap::new();
        for number in 1..=4_u64 {
            db.insert(format!("{number}"), "x").unwrap();
            if number == 2 {
                db.compact().unwrap();
            }
            let client = server.client();
            if number == 4 {
                let omitted = format!("{:06}.backup", seed % 3 + 1);
                let listing: Vec<ListedFile> =
                    server.listing().into_iter().filter(|file| file.name != omitted).collect();
                client.set_false_listings(Random::new(seed), 1 + seed % 3, vec![listing]);
            }
            let outcome =
                Backups::at(Arc::new(client)).unwrap().create(&store, &BackupOptions::default(), &mut |_, _| ());
            assert!(outcome.is_ok() || number == 4, "{outcome:?}");
            if let Ok(summary) = outcome {
                made.insert(summary.backup.number, records(&db).unwrap());
            }
        }
        for (number, expected) in made {
            let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
            Backups::at(client(&server)).unwrap().restore(Some(number), &target, &mut |_, _| ()).unwrap();
            assert_eq!(records(&Db::open(target, &small()).unwrap()).unwrap(), expected, "seed {seed}, {number}");
        }
    }
}
