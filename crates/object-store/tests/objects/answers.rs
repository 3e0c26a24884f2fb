//! Wrong answers. Goal: whatever a server answers in place of a listing or of an object that a listing has shown is
//! told as that, and neither believed nor called damage. Method: a store in memory whose answers are cut, and a server
//! on this machine that gives each client the same answer.

use crate::faulty_store::{Fault, FaultyStore, Lacks};
use crate::reads::bytes_of;
use ogive::io::{ListedFile, Storage, locate_folder};
use ogive::{Db, DbOptions, Error};
use ogive_object_store::{ObjectOptions, ObjectStorage, register_with};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

/// The only file that a storage has.
fn only(storage: &dyn Storage) -> ListedFile {
    let mut listed = storage.list_files().unwrap();
    assert_eq!(listed.len(), 1);
    listed.remove(0)
}

/// Insists on the error of a wrong answer, and returns its words.
fn told<T: std::fmt::Debug>(outcome: ogive::Result<T>) -> String {
    match outcome {
        Err(error @ Error::WrongAnswer { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_that_is_not_of_the_listed_object_is_asked_for_again_and_then_told() {
    let store = FaultyStore::new();
    let content = bytes_of(1000, 1);
    store.put("a", &content);
    let storage = store.storage(ObjectOptions::default());
    let listed = only(&*storage);
    assert_eq!(listed.length_bytes, Some(1000));
    let read = |listed: &ListedFile| storage.read_listed(std::slice::from_ref(listed)).remove(0);
    store.fail_gets(&[Fault::Cut(0), Fault::Cut(500), Fault::Cut(999)]);
    assert_eq!(read(&listed).unwrap(), content);
    assert_eq!(store.take_counts().gets, 4);
    store.fail_gets(&[Fault::Cut(500); 4]);
    let text = told(read(&listed));
    assert!(text.contains("test://bucket/folder/a") && text.contains("500 bytes") && text.contains("1000"), "{text}");
    assert_eq!(store.take_counts().gets, 4);
    // An object of the same length has taken its place.
    store.put("a", &bytes_of(1000, 2));
    assert!(told(read(&listed)).contains("ETag"));
    // Nothing is known of it.
    assert_eq!(read(&ListedFile::named("a")).unwrap(), bytes_of(1000, 2));
}

#[test]
fn a_listing_of_another_folder_is_told() {
    let store = FaultyStore::new();
    store.put("a", b"x");
    let other = ObjectStorage::new(store.clone(), "other", "test://bucket/other", &ObjectOptions::default()).unwrap();
    other.put_if_absent("b", b"y").unwrap();
    store.list_also("other");
    let storage = store.storage(ObjectOptions::default());
    assert!(told(storage.list()).contains("another folder"));
}

#[test]
fn a_store_that_ignores_conditions_is_found_out_and_refused() {
    for put_conditions in [false, true] {
        let store = FaultyStore::lacking(Lacks { put_conditions, ..Lacks::default() });
        let storage = store.storage(ObjectOptions::default());
        storage.put_if_absent("a", b"x").unwrap();
        assert_eq!(storage.refuses_taken_name("a", b"x").unwrap(), !put_conditions);
        // The first request may have been executed.
        store.fail_puts(&[Fault::LateReset, Fault::Reset, Fault::SlowDown]);
        assert_eq!(storage.refuses_taken_name("a", b"x").unwrap(), !put_conditions);
        storage.remove("a").unwrap();
        let opened = Db::open_in(storage, &DbOptions::default());
        match put_conditions {
            false => drop(opened.unwrap()),
            true => assert!(matches!(opened, Err(Error::Unsupported { .. })), "{opened:?}"),
        }
    }
}

/// A server that answers all requests the same, for the life of the process; its endpoint.
#[expect(clippy::disallowed_methods, reason = "the server of a test lives as long as the process")]
fn answering(head: &str, body: &str) -> String {
    let length = body.len();
    let answer = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { return };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && connection.read(&mut byte).is_ok_and(|read| read > 0) {
                head.push(byte[0]);
            }
            _ = connection.write_all(answer.as_bytes());
        }
    });
    endpoint
}

/// The folder of a bucket of a server. Options of the query count, whatever other tests register meanwhile.
fn folder(endpoint: &str) -> Arc<dyn Storage> {
    register_with(&ObjectOptions::default().backoff_ms(1));
    locate_folder(format!("s3://bucket/fruit?endpoint={endpoint}&region=x&skip_signature=true&deadline=30")).unwrap()
}

#[test]
fn a_page_in_place_of_a_listing_is_no_empty_listing() {
    for body in ["<html><body>Please log in</body></html>", "", "{}"] {
        let storage = folder(&answering("200 OK", body));
        let text = told(storage.list());
        assert!(text.contains("s3://bucket/fruit") && text.contains("listing"), "{text}");
        for outcome in [
            Db::open_in(Arc::clone(&storage), &DbOptions::default()),
            Db::open_read_only_in(Arc::clone(&storage), &DbOptions::default()),
        ] {
            let text = told(outcome);
            assert!(!text.contains("create") && !text.contains("damaged"), "{text}");
        }
        told(ogive::lsm::has_store(&*storage));
    }
}

#[test]
fn a_listing_of_nothing_is_one() {
    let storage = folder(&answering("200 OK", "<ListBucketResult></ListBucketResult>"));
    assert_eq!(storage.list().unwrap(), Vec::<String>::new());
}

#[test]
fn the_region_of_a_bucket_elsewhere_is_named() {
    let redirected = "<Error><Code>PermanentRedirect</Code><Region>eu-west-1</Region><X>SECRET</X></Error>";
    let malformed = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region>SECRET</Error>";
    for (head, body) in [
        ("301 Moved Permanently\r\nx-amz-bucket-region: eu-west-1", ""),
        ("301 Moved Permanently", redirected),
        ("400 Bad Request", malformed),
    ] {
        let storage = folder(&answering(head, body));
        for error in [storage.list().unwrap_err(), storage.put_if_absent("a", b"x").unwrap_err()] {
            let text = error.to_string();
            assert!(text.contains("in the region eu-west-1") && text.contains("region=eu-west-1"), "{head}: {text}");
            assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
        }
    }
    // A name that may be anything is not shown.
    let storage = folder(&answering("301 Moved Permanently\r\nx-amz-bucket-region: SECRET", ""));
    let text = storage.list().unwrap_err().to_string();
    assert!(!text.contains("SECRET") && text.contains("region"), "{text}");
}
