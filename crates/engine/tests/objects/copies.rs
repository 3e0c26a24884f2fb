//! Backups within a bucket. Goal: files are copied by requests and read once, nothing that is there is replaced, and no
//! record names a copy that is damaged, half there, or unread without saying so. Method: a store and its backups in two
//! folders of a simulated bucket, with damage, mishaps of any request, and a writer that removes files meanwhile.

use crate::support::{Records, client, open, records, small};
use ogive::backup::{BackupInfo, BackupOptions, BackupSummary, Backups};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::Db;
use ogive::{Cause, Result};
use ogive_testkit::{Mishap, ObjectClient, Random, SimulatedObjects};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A store with tables, value files and a log, the folder for its backups in the same bucket, and its records.
fn bucket() -> (SimulatedObjects, SimulatedObjects, Records) {
    let store = SimulatedObjects::new();
    let db = open(&client(&store)).unwrap();
    for round in 0..3 {
        for key in 0..60 {
            // Every second value is long enough for a value file.
            let value = vec![b'a' + round; if key % 2 == 0 { 20 } else { 150 }];
            db.insert(format!("{round} {key:03}"), value).unwrap();
        }
        db.flush().unwrap();
    }
    db.insert("in the log", "alone").unwrap();
    let expected = records(&db).unwrap();
    db.close().unwrap();
    (store.clone(), store.beside(), expected)
}

fn back_up(backups: &ObjectClient, store: &SimulatedObjects, trust: bool) -> Result<BackupSummary> {
    let options = BackupOptions::default().trust(trust);
    Backups::at(Arc::new(backups.clone()))?.create(client(store), &options, &mut |_, _| ())
}

fn restored(backups: &SimulatedObjects, number: u64) -> Result<Records> {
    let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    Backups::at(client(backups))?.restore(Some(number), &target, &mut |_, _| ())?;
    records(&Db::open(target, &small())?)
}

fn listed(backups: &SimulatedObjects) -> Vec<BackupInfo> {
    let list = Backups::at(client(backups)).unwrap().list().unwrap();
    assert!(list.damaged.is_empty(), "{list:?}");
    list.backups
}

/// The names of tables and value files of a folder.
fn immutable(server: &SimulatedObjects) -> Vec<String> {
    let is_immutable = |name: &String| name.ends_with(".table") || name.ends_with(".values");
    server.objects().into_keys().filter(is_immutable).collect()
}

/// Flips a bit of an object.
fn damage(server: &SimulatedObjects, name: &str) {
    let mut bytes = server.objects()[name].to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let mut file = server.client().create_replacing(name).unwrap();
    file.append(&bytes).unwrap();
    file.sync().unwrap();
}

#[test]
fn a_backup_within_a_bucket_copies_by_requests_and_uploads_no_table() {
    let (store, backups, expected) = bucket();
    let maker = backups.client();
    store.take_read();
    let made = back_up(&maker, &store, false).unwrap();
    let read_of_store = store.take_read();
    let tables = immutable(&store);
    assert!(tables.len() >= 4 && backups.copies() == tables.len() as u64, "{tables:?}, {} copies", backups.copies());
    // Of value files, the headers are.
    assert!(!read_of_store.iter().any(|name| name.ends_with(".table")), "{read_of_store:?}");
    // The mark, the copies, one log, the record, and the removal of the mark.
    assert_eq!(maker.changes(), 4 + tables.len() as u64);
    for name in &tables {
        assert_eq!(backups.objects()[&format!("000001-{name}")], store.objects()[name], "{name}");
    }
    assert_eq!(made.backup.unread_files, 0);
    assert_eq!(restored(&backups, 1).unwrap(), expected);
    assert_eq!(Backups::at(client(&backups)).unwrap().verify(&mut |_, _| ()).unwrap(), []);
}

#[test]
fn a_second_backup_copies_only_new_files() {
    let (store, backups, _) = bucket();
    back_up(&backups.client(), &store, false).unwrap();
    let before: BTreeSet<String> = immutable(&store).into_iter().collect();
    let db = open(&client(&store)).unwrap();
    db.insert("new", vec![b'n'; 200]).unwrap();
    db.flush().unwrap();
    let expected = records(&db).unwrap();
    db.close().unwrap();
    let new = immutable(&store).into_iter().filter(|name| !before.contains(name)).count() as u64;
    let copies = backups.copies();
    backups.take_read();
    back_up(&backups.client(), &store, false).unwrap();
    assert!(new > 0 && backups.copies() - copies == new, "{} copies of {new} files", backups.copies() - copies);
    let read = backups.take_read();
    assert!(immutable(&backups).iter().all(|name| read.contains(name) == name.starts_with("000002-")), "{read:?}");
    assert_eq!(restored(&backups, 2).unwrap(), expected);
}

/// An object that appears under the name of a copy is not replaced, is in no record, and stays.
#[test]
fn a_copy_replaces_no_object() {
    let (store, backups, expected) = bucket();
    for name in immutable(&store) {
        let (folder, other) = (store.beside(), b"another one's".to_vec());
        let maker = folder.client();
        let (taken, rival, content) = (format!("000001-{name}"), folder.client(), other.clone());
        let reader = store.client();
        let (mut is_put, of_rival) = (false, taken.clone());
        reader.set_hook(Some(Box::new(move || {
            if !std::mem::replace(&mut is_put, true) {
                rival.put_if_absent(&of_rival, &content).unwrap();
            }
        })));
        // The listing of the catalog is before the first request to the store.
        let made = Backups::at(Arc::new(maker)).unwrap().create(
            &(Arc::new(reader) as Arc<dyn Storage>),
            &BackupOptions::default(),
            &mut |_, _| (),
        );
        let is_taken = matches!(&made, Err(error) if error.cause == Cause::Io(ErrorKind::AlreadyExists));
        assert!(is_taken, "{name}: {made:?}");
        assert_eq!(&folder.objects()[&taken][..], &other[..], "{name}");
        assert!(listed(&folder).is_empty());
        assert_eq!(folder.objects().len(), 1, "the other copies are taken back");
    }
    back_up(&backups.client(), &store, false).unwrap();
    assert_eq!(restored(&backups, 1).unwrap(), expected);
}

#[test]
fn damage_of_the_store_is_named_before_there_is_a_record() {
    let (store, backups, _) = bucket();
    for name in immutable(&store) {
        let sound = store.objects()[&name].clone();
        damage(&store, &name);
        let error = back_up(&backups.client(), &store, false).unwrap_err();
        let text = error.to_string();
        assert!(error.cause == Cause::Damaged && text.contains(&name) && !text.contains("000001-"), "{name}: {text}");
        assert!(backups.objects().is_empty(), "{:?}", backups.objects().keys());
        let mut file = store.client().create_replacing(&name).unwrap();
        file.append(&sound).unwrap();
        file.sync().unwrap();
    }
    back_up(&backups.client(), &store, false).unwrap();
}

#[test]
fn a_trusted_backup_reads_nothing_and_says_so() {
    let (store, backups, expected) = bucket();
    let maker = backups.client();
    store.take_read();
    let made = back_up(&maker, &store, true).unwrap();
    // Of value files of the store, the headers are.
    assert!(!store.take_read().iter().any(|name| name.ends_with(".table")));
    let read = backups.take_read();
    assert!(!read.iter().any(|name| name.ends_with(".table") || name.ends_with(".values")), "{read:?}");
    assert!(made.backup.unread_files >= immutable(&store).len() as u64, "{made:?}");
    assert_eq!(listed(&backups)[0].unread_files, made.backup.unread_files, "the record says so");
    assert_eq!(restored(&backups, 1).unwrap(), expected);
    assert_eq!(Backups::at(client(&backups)).unwrap().verify(&mut |_, _| ()).unwrap(), []);

    // A later one that trusts nothing reads them, and copies none again.
    let copies = backups.copies();
    backups.take_read();
    let later = back_up(&backups.client(), &store, false).unwrap();
    assert_eq!((backups.copies(), later.backup.unread_files), (copies, 0));
    let read = backups.take_read();
    assert!(immutable(&backups).iter().all(|name| read.contains(name)), "{read:?}");
    assert_eq!(restored(&backups, 2).unwrap(), expected);
}

#[test]
fn damage_of_a_trusted_backup_is_found_and_not_restored() {
    for from_store in [true, false] {
        let (store, backups, _) = bucket();
        for name in immutable(&store) {
            let folder = backups.beside();
            let sound = store.objects()[&name].clone();
            if from_store {
                damage(&store, &name);
            }
            back_up(&folder.client(), &store, true).unwrap();
            let stored = format!("000001-{name}");
            if !from_store {
                damage(&folder, &stored);
            }
            let findings = Backups::at(client(&folder)).unwrap().verify(&mut |_, _| ()).unwrap();
            let is_named =
                !findings.is_empty() && findings.iter().all(|found| found.file == stored && found.backups == [1]);
            assert!(is_named, "{name}: {findings:?}");
            let error = restored(&folder, 1).unwrap_err();
            assert!(error.cause == Cause::Damaged && error.to_string().contains(&stored), "{name}: {error}");
            let error = back_up(&folder.client(), &store, false).unwrap_err();
            assert_eq!(error.cause, Cause::Damaged, "{name}: {error}");
            assert_eq!(listed(&folder).len(), 1);
            let mut file = store.client().create_replacing(&name).unwrap();
            file.append(&sound).unwrap();
            file.sync().unwrap();
        }
    }
}

/// Gives a change of a client this mishap, counted from 0.
fn fail_at(client: &ObjectClient, at: u64, mishap: Mishap) {
    let (failing, mut is_done) = (client.clone(), false);
    client.set_hook(Some(Box::new(move || {
        if failing.changes() == at && !std::mem::replace(&mut is_done, true) {
            failing.fail_next(mishap);
        }
    })));
}

/// What a record names can be restored, whatever happens to any request, and whether or not the client dies at it; and
/// the next backup works.
#[test]
fn a_mishap_of_any_request_leaves_a_whole_backup_or_none() {
    let (store, backups, expected) = bucket();
    let (mut made, mut failed) = (0, 0);
    let fates = [None].into_iter().chain(Mishap::ALL.map(Some)).flat_map(|mishap| [(mishap, true), (mishap, false)]);
    for (trust, (mishap, is_killed)) in fates.flat_map(|fate| [(false, fate), (true, fate)]) {
        for at in 0.. {
            let folder = backups.beside();
            let maker = folder.client();
            match mishap {
                Some(mishap) if !is_killed => fail_at(&maker, at, mishap),
                mishap => maker.die_at(at, mishap),
            }
            let outcome = back_up(&maker, &store, trust);
            if maker.changes() <= at {
                break;
            }
            (made, failed) = (made + u64::from(outcome.is_ok()), failed + u64::from(outcome.is_err()));
            let place = format!("{mishap:?} at change {at}, killed {is_killed}, trust {trust}");
            while folder.deliver(&mut Random::new(at)) {}
            for backup in listed(&folder) {
                assert_eq!(restored(&folder, backup.number).unwrap(), expected, "{place}");
            }
            let next = back_up(&folder.client(), &store, false);
            let next = next.unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(restored(&folder, next.backup.number).unwrap(), expected, "{place}");
        }
    }
    assert!(made > 20 && failed > 80, "{made} made, {failed} failed");
}

#[test]
fn a_copy_that_is_half_there_is_in_no_record() {
    let (store, backups, expected) = bucket();
    let mut refused = 0;
    for trust in [false, true] {
        for at in 0.. {
            for bytes in [0, 100] {
                let folder = backups.beside();
                let maker = folder.client();
                maker.cut_put(at, bytes);
                match back_up(&maker, &store, trust) {
                    Ok(_) => {}
                    Err(error) => {
                        let is_told = matches!(
                            error.cause,
                            Cause::WrongAnswer
                                | Cause::ObjectChanged
                                | Cause::Damaged
                                | Cause::Io(ErrorKind::UnexpectedEof)
                        );
                        assert!(is_told, "{bytes} bytes of change {at}, trust {trust}: {error}");
                        refused += 1;
                    }
                }
                let list = Backups::at(client(&folder)).unwrap().list().unwrap();
                // The record itself may be cut.
                for backup in list.backups {
                    assert_eq!(restored(&folder, backup.number).unwrap(), expected, "change {at}, trust {trust}");
                }
                if maker.changes() <= at {
                    break;
                }
            }
            if at > 40 {
                break;
            }
        }
    }
    assert!(refused > 16, "{refused}");
}

/// The writer replaces all tables between the image of the store and the copies, and removes them at once.
#[test]
fn files_that_are_removed_while_they_are_copied_are_those_of_a_later_version() {
    let options = small().objects(|objects| objects.gather_ms(0).grace_s(0));
    let mut replaced = 0;
    for at in 1..30 {
        let store = SimulatedObjects::new();
        let db = Db::open(client(&store), &options).unwrap();
        for round in 0..3 {
            (0..40).for_each(|key| db.insert(format!("{round} {key:03}"), vec![b'x'; 20]).unwrap());
            db.flush().unwrap();
        }
        let folder = store.beside();
        let (mut requests, writer, reader) = (0, db.clone(), store.client());
        let (server, removed) = (store.clone(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&removed);
        reader.set_hook(Some(Box::new(move || {
            requests += 1;
            if requests == at {
                let before = immutable(&server);
                for round in 0..3 {
                    (0..40).for_each(|key| writer.insert(format!("{round} {key:03}"), vec![b'y'; 20]).unwrap());
                }
                writer.compact().unwrap();
                // What no version needs is removed as the next writes are.
                for name in before.iter().filter(|name| server.objects().contains_key(*name)) {
                    server.client().remove(name).unwrap();
                }
                counted.store(before.len(), Ordering::Relaxed);
            }
        })));
        let source: Arc<dyn Storage> = Arc::new(reader.clone());
        let maker = Backups::at(client(&folder)).unwrap();
        let made = maker.create(&source, &BackupOptions::default(), &mut |_, _| ());
        reader.set_hook(None);
        let made = made.unwrap_or_else(|error| panic!("at {at}: {error}"));
        let found = restored(&folder, made.backup.number).unwrap();
        assert!(found.len() == 120 && found.values().all(|value| value == found.values().next().unwrap()), "at {at}");
        replaced += usize::from(removed.load(Ordering::Relaxed) > 0);
    }
    assert!(replaced > 5, "{replaced}");
}
