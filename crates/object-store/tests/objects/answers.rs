//! Wrong answers. Goal: whatever a server answers in place of a listing or of an object that a listing has shown is
//! told as that, and neither believed nor called damage. Method: a store in memory whose answers are cut, and a server
//! on this machine that gives each client the same answer.

use crate::faulty_store::{Fault, FaultyStore, Lacks};
use crate::reads::{bytes_of, read};
use ogive::io::{ListedFile, Storage, locate_folder};
use ogive::{Cause, Db, DbOptions, Error};
use ogive_object_store::{ObjectOptions, ObjectStorage, register_with};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

/// The only file that a storage has.
fn only(storage: &dyn Storage) -> ListedFile {
    let mut listed = storage.list_files().unwrap().files;
    assert_eq!(listed.len(), 1);
    listed.remove(0)
}

/// The file `a`, of which a length is known.
fn of_length(bytes: u64) -> ListedFile {
    ListedFile { length_bytes: Some(bytes), ..ListedFile::named("a") }
}

/// Insists on the error of a wrong answer, and returns its words.
fn told<T: std::fmt::Debug>(outcome: ogive::Result<T>) -> String {
    match outcome {
        Err(error @ Error { cause: Cause::WrongAnswer, .. }) => error.to_string(),
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

/// By a listing, or by its length, as a manifest states it; with the first read, and with later ones.
#[test]
fn an_answer_that_is_not_of_the_opened_object_is_asked_for_again_and_then_told() {
    let store = FaultyStore::new();
    // Longer than an opening read.
    let content = bytes_of(1 << 20, 1);
    store.put("a", &content);
    let storage = store.storage(ObjectOptions::default());
    let listed = only(&*storage);
    store.fail_gets(&[Fault::Cut(0), Fault::Cut(500)]);
    assert_eq!(storage.open_listed(&listed).unwrap().len(), 1 << 20);
    store.fail_gets(&[Fault::Cut(500); 4]);
    let text = told(storage.open_listed(&listed));
    assert!(text.contains("500 bytes") && text.contains("1048576"), "{text}");
    let known = |bytes| storage.open_known(&of_length(bytes)).unwrap();
    for is_known in [true, false] {
        let file = if is_known { known(1 << 20) } else { storage.open("a").unwrap() };
        for _ in 0..2 {
            store.fail_gets(&[Fault::Cut(0), Fault::Cut(500), Fault::Cut(150)]);
            assert_eq!(read(&*file, 100, 200).unwrap(), content[100..300]);
        }
    }
    for is_known in [true, false] {
        let file = if is_known { known(1 << 20) } else { storage.open("a").unwrap() };
        // Each is followed by a HEAD.
        store.fail_gets(&[Some(Fault::Cut(500)), None].repeat(4));
        let text = told(read(&*file, 100, 200));
        assert!(text.contains("test://bucket/folder/a") && text.contains("500") && text.contains("1048576"), "{text}");
        assert_eq!(read(&*file, 100, 200).unwrap(), content[100..300]);
    }
    // It is another one by now.
    let file = known((1 << 20) + 1);
    assert!(matches!(read(&*file, 100, 200), Err(Error { cause: Cause::ObjectChanged, .. })));
}

/// A HEAD tells whether the object has changed.
#[test]
fn an_answer_with_the_e_tag_of_another_object_is_asked_for_again_and_then_told() {
    let store = FaultyStore::new();
    let content = bytes_of(1 << 20, 1);
    store.put("a", &content);
    let storage = store.storage(ObjectOptions::default());
    let modified_ns = storage.open("a").unwrap().modified_ns();
    let known = || storage.open_known(&ListedFile { modified_ns, ..of_length(1 << 20) }).unwrap();
    let (opened, unread) = (storage.open("a").unwrap(), known());
    for fault in [Fault::OtherTag, Fault::Precondition] {
        for file in [opened.clone(), known()] {
            store.fail_gets(&[fault]);
            assert_eq!(read(&*file, 100, 200).unwrap(), content[100..300], "{fault:?}");
            // Each is followed by a HEAD.
            store.fail_gets(&[Some(fault), None].repeat(4));
            let text = told(read(&*file, 100, 200));
            assert!(text.contains("test://bucket/folder/a") && text.contains("HEAD"), "{text}");
            assert_eq!(read(&*file, 100, 200).unwrap(), content[100..300], "{fault:?}");
        }
    }
    store.put("a", &bytes_of(1 << 20, 2));
    for file in [opened, unread] {
        store.fail_gets(&[Some(Fault::OtherTag)]);
        assert!(matches!(read(&*file, 100, 200), Err(Error { cause: Cause::ObjectChanged, .. })));
    }
}

#[test]
fn an_object_that_a_head_finds_and_a_get_does_not_is_told() {
    let store = FaultyStore::new();
    store.put("a", &bytes_of(1 << 20, 1));
    let storage = store.storage(ObjectOptions::default());
    let (listed, opened) = (only(&*storage), storage.open("a").unwrap());
    let known = storage.open_known(&of_length(1 << 20)).unwrap();
    store.deny("a", true);
    let texts = [
        told(storage.read_listed(std::slice::from_ref(&listed)).remove(0)),
        told(storage.open_listed(&listed)),
        told(read(&*opened, 100, 200)),
        told(read(&*known, 100, 200)),
    ];
    assert!(texts.iter().all(|text| text.contains("404") && text.contains("HEAD")), "{texts:?}");
    store.deny("a", false);
    assert!(read(&*opened, 100, 200).is_ok() && read(&*known, 100, 200).is_ok());
    store.remove("a");
    for file in [opened, known] {
        let error = read(&*file, 100, 200).unwrap_err();
        assert!(
            matches!(error, Error { cause: Cause::ObjectChanged, .. }) && error.to_string().contains("404"),
            "{error}"
        );
    }
    let absent = storage.read_listed(std::slice::from_ref(&listed)).remove(0).unwrap_err();
    assert!(matches!(absent, Error { cause: Cause::Io(_), .. }), "{absent:?}");
}

#[test]
fn a_copy_that_is_shorter_than_its_original_is_told() {
    let store = FaultyStore::lacking(Lacks { copies: true, ..Lacks::default() });
    store.put("a", &bytes_of(1000, 1));
    let storage = store.storage(ObjectOptions::default());
    let text = told(storage.export("a", &*storage, "b"));
    assert!(text.contains("1000 bytes") && text.contains("has 500"), "{text}");
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
    assert!(told(storage.list_below()).contains("another folder"));
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
        let opened = Db::open(storage, &DbOptions::default());
        match put_conditions {
            false => drop(opened.unwrap()),
            true => assert!(matches!(opened, Err(Error { cause: Cause::Unsupported, .. })), "{opened:?}"),
        }
    }
}

/// A server that answers all requests the same; its endpoint.
fn answering(head: &str, body: &str) -> String {
    let (head, body) = (head.to_owned(), body.to_owned());
    serving(move |_| (head.clone(), body.clone()))
}

/// A server for the life of the process, whose answers consist of a status with headers, and a body; its endpoint.
#[expect(clippy::disallowed_methods, reason = "the server of a test lives as long as the process")]
fn serving(mut answer: impl FnMut(&str) -> (String, String) + Send + 'static) -> String {
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
            let answered = String::from_utf8_lossy(&head).into_owned();
            let (status, body) = answer(&answered);
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let body = if answered.starts_with("HEAD ") { String::new() } else { body };
            _ = connection.write_all(format!("{head}{body}").as_bytes());
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
            Db::open(Arc::clone(&storage), &DbOptions::default()),
            Db::open_read_only(Arc::clone(&storage), &DbOptions::default()),
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

/// A page of a listing of S3, with the token for the next one.
fn page(names: &[&str], next: Option<&str>, is_truncated: bool) -> String {
    let object = |name: &&str| {
        format!(
            "<Contents><Key>fruit/{name}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
             <ETag>&quot;x&quot;</ETag></Contents>"
        )
    };
    let objects: String = names.iter().map(object).collect();
    let next = next.map_or_else(String::new, |next| format!("<NextContinuationToken>{next}</NextContinuationToken>"));
    format!("<ListBucketResult><IsTruncated>{is_truncated}</IsTruncated>{objects}{next}</ListBucketResult>")
}

#[test]
fn a_listing_of_short_pages_is_whole_and_known_to_be_of_several_moments() {
    let endpoint = serving(|head| {
        let body = match head {
            head if head.contains("continuation-token=one") => page(&["b"], Some("two"), true),
            head if head.contains("continuation-token=two") => page(&["c"], None, false),
            _ => page(&["a"], Some("one"), true),
        };
        ("200 OK".to_owned(), body)
    });
    let listing = folder(&endpoint).list_files().unwrap();
    let names: Vec<&str> = listing.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((names, listing.is_at_once), (vec!["a", "b", "c"], false));
    let all = folder(&answering("200 OK", &page(&["a", "b"], None, false))).list_files().unwrap();
    assert_eq!((all.files.len(), all.is_at_once), (2, true));
}

#[test]
fn a_page_that_is_repeated_cut_or_leads_nowhere_is_told() {
    let whole = page(&["a", "b"], None, false);
    let mut pages = 0;
    let fresh_tokens = serving(move |_| {
        pages += 1;
        ("200 OK".to_owned(), page(&["a", "b"], Some(&format!("token-{pages}")), true))
    });
    let mut turns = 0;
    let turning = serving(move |_| {
        turns += 1;
        ("200 OK".to_owned(), page(&[&format!("{turns:09}")], Some(["one", "two"][turns % 2]), true))
    });
    for (endpoint, words) in [
        (answering("200 OK", &page(&["a"], None, true)), "more follows"),
        (answering("200 OK", &page(&["a"], Some("same"), true)), "repeats"),
        (fresh_tokens, "repeats"),
        (turning, "repeats"),
        (answering("200 OK", &page(&["a", "a"], None, false)), "twice"),
        (answering("200 OK", &whole[..whole.len() / 2]), "ends within it"),
        (answering("200 OK", &whole[..whole.len() - 3]), "ends within it"),
    ] {
        let storage = folder(&endpoint);
        let text = told(storage.list());
        assert!(text.contains(words) && text.contains("s3://bucket/fruit"), "{words}: {text}");
        assert!(told(Db::open(storage.clone(), &DbOptions::default())).contains(words));
        assert!(told(storage.list_below()).contains(words));
    }
}

/// The client of S3 compares ranges before this crate does.
#[test]
fn a_part_of_an_object_that_is_shorter_than_was_asked_for_is_asked_for_again_and_then_told() {
    let shortening = |short: usize| {
        let mut gets = 0;
        serving(move |head| {
            let facts = "ETag: \"x\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT";
            if head.starts_with("HEAD ") {
                return (format!("200 OK\r\n{facts}"), "x".repeat(1000));
            }
            gets += 1;
            let end = if gets <= short { 150 } else { 300 };
            let range = format!("Content-Range: bytes 100-{}/1000", end - 1);
            (format!("206 Partial Content\r\n{range}\r\n{facts}"), "x".repeat(end - 100))
        })
    };
    let read_part = |short| read(&*folder(&shortening(short)).open_known(&of_length(1000)).unwrap(), 100, 200);
    assert_eq!(read_part(2).unwrap(), [b'x'; 200]);
    assert!(told(read_part(1000)).contains("another range"));
    let changed = read(&*folder(&shortening(1000)).open_known(&of_length(999)).unwrap(), 100, 200);
    assert!(matches!(changed, Err(Error { cause: Cause::ObjectChanged, .. })), "{changed:?}");
}
