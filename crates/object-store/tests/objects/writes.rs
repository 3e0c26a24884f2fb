//! Writes. Goal: an object appears whole under its name or not at all, and of several writers one has the name. Method:
//! uploads of one PUT and of several parts, dropped, failed and repeated, and names that are taken.

use crate::faulty_store::{Fault, FaultyStore};
use crate::reads::bytes_of;
use ogive::io::Storage;
use ogive::{Cause, Error};
use ogive_object_store::ObjectOptions;
use std::io::ErrorKind;
use std::sync::Arc;

fn parts_of_1000() -> ObjectOptions {
    ObjectOptions::default().part_bytes(1000)
}

fn write(storage: &Arc<dyn Storage>, replace: bool, content: &[u8]) -> Result<(), Error> {
    let mut file = if replace { storage.create_replacing("a")? } else { storage.create("a")? };
    for piece in content.chunks(77) {
        file.append(piece)?;
    }
    assert_eq!(file.len(), content.len() as u64);
    file.sync()
}

fn is_taken<T>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }))
}

#[test]
fn objects_of_any_length_appear_whole_at_their_sync() {
    for length in [0_usize, 1, 999, 1000, 1001, 12_345] {
        let store = FaultyStore::new();
        let storage = store.storage(parts_of_1000());
        let content = bytes_of(length, 3);
        let mut file = storage.create("a").unwrap();
        file.append(&content).unwrap();
        assert_eq!(store.content("a"), None);
        file.sync().unwrap();
        assert_eq!(store.content("a"), Some(content));
        assert!(matches!(file.append(b"x"), Err(Error { cause: Cause::Unsupported, .. })));
        file.sync().unwrap();
        drop(file);
        let counts = store.take_counts();
        assert_eq!(counts.puts, u64::from(length < 1000), "one PUT when small");
        assert_eq!((counts.uploads, counts.aborts), (u64::from(length >= 1000), 0));
        assert_eq!(storage.list().unwrap(), ["a"]);
        assert!(storage.exists("a").unwrap() && !storage.exists("b").unwrap());
        storage.remove("a").unwrap();
        assert!(!storage.exists("a").unwrap());
    }
}

#[test]
fn an_upload_that_is_dropped_or_fails_is_aborted_and_leaves_what_was_there() {
    for replace in [false, true] {
        let store = FaultyStore::new();
        let storage = store.storage(parts_of_1000());
        if replace {
            store.put("a", b"old");
        }
        let old = store.content("a");
        let create = || if replace { storage.create_replacing("a") } else { storage.create("a") };
        let mut file = create().unwrap();
        file.append(&bytes_of(5_500, 4)).unwrap();
        drop(file);
        assert_eq!((store.content("a"), store.take_counts().aborts), (old.clone(), 1));
        let mut file = create().unwrap();
        file.append(b"less than a part").unwrap();
        drop(file);
        assert_eq!((store.content("a"), store.take_counts().uploads), (old.clone(), 0));

        store.fail_parts(&[None, Some(Fault::Denied)]);
        let mut file = create().unwrap();
        let failed = file.append(&bytes_of(20_500, 4)).and_then(|()| file.sync());
        assert!(matches!(failed, Err(Error { cause: Cause::Io(_), .. })), "{failed:?}");
        assert!(matches!(file.append(b"x"), Err(Error { cause: Cause::Poisoned, .. })));
        assert!(matches!(file.sync(), Err(Error { cause: Cause::Poisoned, .. })));
        assert_eq!((store.content("a"), store.take_counts().aborts), (old, 1));
    }
}

#[test]
fn a_name_that_is_taken_is_kept_unless_it_is_to_be_replaced() {
    for length in [10_usize, 5_000] {
        let store = FaultyStore::new();
        let storage = store.storage(parts_of_1000());
        store.put("a", b"old");
        assert!(is_taken(&write(&storage, false, &bytes_of(length, 5))));
        assert_eq!(store.content("a").unwrap(), b"old");
        write(&storage, true, &bytes_of(length, 5)).unwrap();
        assert_eq!(store.content("a").unwrap(), bytes_of(length, 5));
    }
}

/// Whatever becomes of the attempts, and of what is there meanwhile: by one PUT and in parts.
#[test]
fn an_object_takes_the_place_of_the_one_that_was_found_and_of_no_other() {
    for length in [10_usize, 5_000] {
        let new = bytes_of(length, 6);
        let place = |store: &Arc<FaultyStore>, faults: &[Fault], meanwhile: &dyn Fn(&FaultyStore)| {
            let storage = store.storage(parts_of_1000());
            store.put("a", b"old");
            let found = storage.find_file("a").unwrap().unwrap();
            let mut file = storage.create_in_place_of(&found).unwrap();
            file.append(&new).unwrap();
            meanwhile(store);
            store.fail_puts(faults);
            file.sync()
        };
        // No other was at work, whatever happens to the requests.
        for faults in
            [&[][..], &[Fault::SlowDown], &[Fault::Reset], &[Fault::LateReset], &[Fault::LateReset, Fault::Reset]]
        {
            let store = FaultyStore::new();
            place(&store, faults, &|_| {}).unwrap_or_else(|error| panic!("{length} bytes, {faults:?}: {error}"));
            assert_eq!(store.content("a").unwrap(), new, "{length} bytes, {faults:?}");
        }
        for faults in [&[][..], &[Fault::SlowDown], &[Fault::Reset]] {
            let store = FaultyStore::new();
            let outcome = place(&store, faults, &|store| store.put("a", b"another"));
            assert!(is_taken(&outcome), "{length} bytes, {faults:?}: {outcome:?}");
            assert_eq!(store.content("a").unwrap(), b"another", "{length} bytes, {faults:?}");
            let outcome = place(&store, faults, &|store| store.remove("a"));
            assert!(is_taken(&outcome), "{length} bytes, {faults:?}, removed: {outcome:?}");
            assert_eq!(store.content("a"), None);
        }
    }
}

#[test]
fn of_concurrent_puts_one_succeeds() {
    for _ in 0..20 {
        let store = FaultyStore::new();
        let storage = store.storage(ObjectOptions::default());
        let put = |i: u8| is_taken(&storage.put_if_absent("a", &[i]));
        let taken = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|i| scope.spawn(move || put(i))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|&taken| taken).count()
        });
        assert_eq!(taken, 7);
    }
}

#[test]
fn a_put_of_unknown_outcome_is_ours_only_if_the_bytes_are() {
    let store = FaultyStore::new();
    let storage = store.storage(ObjectOptions::default());
    // Executed, and the answer was lost.
    store.fail_puts(&[Fault::LateReset]);
    storage.put_if_absent("a", b"mine").unwrap();
    assert_eq!(store.take_counts().puts, 2);
    // Not executed, and another writer was faster.
    store.put("b", b"others");
    store.fail_puts(&[Fault::Reset]);
    assert!(is_taken(&storage.put_if_absent("b", b"mine")));
    assert_eq!(store.content("b").unwrap(), b"others");
    // A refusal is no unknown outcome, even if the other has the same bytes.
    store.put("c", b"same");
    store.fail_puts(&[Fault::SlowDown]);
    assert!(is_taken(&storage.put_if_absent("c", b"same")));
    // Neither executed nor taken.
    store.fail_puts(&[Fault::Reset, Fault::SlowDown, Fault::Reset]);
    storage.put_if_absent("d", b"mine").unwrap();
    assert_eq!(store.content("d").unwrap(), b"mine");
}

#[test]
fn what_objects_cannot_do_is_refused_and_says_why() {
    let store = FaultyStore::new();
    let storage = store.storage(ObjectOptions::default());
    store.put("a", b"old");
    for error in [
        storage.open_update("a").err(),
        storage.create_update("b").err(),
        storage.rename("a", "b").err(),
        storage.lock("a").err(),
    ] {
        let error = error.unwrap();
        assert!(matches!(error, Error { cause: Cause::Unsupported, .. }), "{error:?}");
        assert!(error.to_string().contains("written once") && error.to_string().contains("test://bucket/folder/"));
    }
    assert!(matches!(storage.open("a/b"), Err(Error { cause: Cause::Input, .. })));
}

#[test]
fn folders_list_their_own_objects_only() {
    let store = FaultyStore::new();
    for name in ["b", "a", "below/c", "below/deeper/d"] {
        store.put(name, b"x");
    }
    let storage = store.storage(ObjectOptions::default());
    assert_eq!(storage.list().unwrap(), ["a", "b"]);
    // A listing may lag: an object that it does not show can be opened all the same.
    store.hide("a");
    assert_eq!(storage.list().unwrap(), ["b"]);
    assert!(storage.exists("a").unwrap());
    storage.open("a").unwrap();
}
