//! Counts of requests of followers. Goal: what the document states of following a store on an object store. Method:
//! the counts of clients of a simulated object store.

use crate::objects::{GRACE_S, client, on_objects, pass_to};
use crate::{SUBSCRIBER, rest};
use ogive::io::set_unix_time_s;
use ogive::{Db, DbOptions};
use ogive_testkit::{ObjectClient, SimulatedObjects};
use std::sync::Arc;

fn options() -> DbOptions {
    on_objects().writes(|writes| writes.memtable_bytes(1 << 18))
}

fn counted<T>(client: &ObjectClient, call: impl FnOnce() -> T) -> u64 {
    let before = client.requests();
    drop(call());
    client.requests() - before
}

#[test]
fn a_flush_makes_the_same_requests_with_subscribers_and_without() {
    pass_to(0);
    let server = SimulatedObjects::new();
    let writer = server.client();
    let db = Db::open(Arc::new(writer.clone()), &options()).unwrap();
    server.take_read();
    let flush = |key: &str| {
        db.insert(key, "x").unwrap();
        counted(&writer, || db.flush().unwrap())
    };
    let (changes, first) = (writer.changes(), flush("a"));
    assert_eq!(writer.changes() - changes, 1 + 4, "the insert, a table, the first part of a log, and two edits");
    assert!((5..=6).contains(&first), "{first} with the end of the table: {:?}", server.take_read());
    assert_eq!(counted(&writer, || db.subscribe(SUBSCRIBER).unwrap()), 2, "a look for it, and its object");
    let position = db.subscribe(SUBSCRIBER).unwrap();
    assert_eq!(flush("b"), first);
    let acknowledge = || db.acknowledge(SUBSCRIBER, &position).unwrap();
    assert_eq!(counted(&writer, acknowledge), 2, "a look for it, and its object");
    // The removal of old files reads the subscribers that its listing shows: a listing, a HEAD, and an object each.
    for (subscribers, seconds) in [(1, GRACE_S + 1), (2, 2 * GRACE_S + 2)] {
        pass_to(seconds);
        let kept = server.objects().len();
        let requests = counted(&writer, || db.insert("c", "x").unwrap());
        let removed = (kept + 1).saturating_sub(server.objects().len()) as u64;
        assert_eq!(requests, 1 + 2 + subscribers + removed, "{subscribers} subscribers");
        db.subscribe("other").unwrap();
    }
    set_unix_time_s(None);
}

#[test]
fn a_look_for_changes_is_one_listing_and_every_part_is_read_once() {
    let server = SimulatedObjects::new();
    let db = Db::open(client(&server), &options()).unwrap();
    db.insert("a", "x").unwrap();
    let follower = server.client();
    let reader = Db::open_read_only(Arc::new(follower.clone()), &options()).unwrap();
    let mut changes = reader.changes_since(None).unwrap();
    assert_eq!(rest(&mut changes).unwrap().len(), 1);
    for _ in 0..3 {
        assert_eq!(counted(&follower, || rest(&mut changes).unwrap()), 1, "a listing");
    }
    for commits in [1, 5] {
        (0..commits).for_each(|number| db.insert(format!("{number}"), "x").unwrap());
        // A listing, the parts, and another listing, after which nothing is new.
        assert_eq!(counted(&follower, || assert_eq!(rest(&mut changes).unwrap().len(), commits)), 2 + commits as u64);
    }
    // A flush has two edits; what is in tables was read before.
    db.flush().unwrap();
    assert_eq!(counted(&follower, || assert!(rest(&mut changes).unwrap().is_empty())), 1 + 2 + 1);
}

#[test]
fn a_follower_in_the_process_of_the_writer_asks_for_nothing_while_nothing_is_new() {
    let server = SimulatedObjects::new();
    let writer = server.client();
    let db = Db::open(Arc::new(writer.clone()), &options()).unwrap();
    db.insert("a", "x").unwrap();
    let mut changes = db.changes_since(None).unwrap();
    assert_eq!(rest(&mut changes).unwrap().len(), 1);
    assert_eq!(counted(&writer, || rest(&mut changes).unwrap()), 0);
    db.insert("b", "x").unwrap();
    assert_eq!(counted(&writer, || assert_eq!(rest(&mut changes).unwrap().len(), 1)), 2, "a listing and a part");
}

/// A follower that is far behind reads the logs one after the other, each once.
#[test]
fn a_follower_that_is_behind_reads_every_part_of_kept_logs_once() {
    let server = SimulatedObjects::new();
    let db =
        Db::open(client(&server), &DbOptions::default().threads(0).objects(|objects| objects.gather_ms(0))).unwrap();
    let start = db.subscribe(SUBSCRIBER).unwrap();
    let (mut parts, value) = (0, vec![b'x'; 900 << 10]);
    for round in 0..3_u8 {
        for number in 0..4_u8 {
            db.insert([round, number], &value).unwrap();
            parts += 1;
        }
        db.flush().unwrap();
    }
    let follower = server.client();
    let reader = Db::open_read_only(Arc::new(follower.clone()), &DbOptions::default().threads(0)).unwrap();
    let mut changes = reader.changes_since(start).unwrap();
    let mut found = 0;
    server.take_read();
    let requests = counted(&follower, || found = rest(&mut changes).unwrap().len());
    let read = server.take_read();
    let of_logs = read.iter().filter(|name| name.starts_with("wal-")).count();
    // The first parts have the headers of logs; the one that is empty is read, too.
    assert_eq!((found, of_logs), (parts, parts + 4));
    let of_manifest = read.len() - of_logs;
    assert_eq!(requests, (1 + of_logs + of_manifest) as u64, "a listing, and each once: {read:?}");
}
