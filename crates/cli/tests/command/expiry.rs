//! Entries that expire: by themselves, by a rule of their keyspace, and as followers see them. Method: whole runs.

use super::run::{Folder, Run, grouped};
use ogive::io::Clock;
use ogive::{Db, DbOptions};
use std::time::{Duration, SystemTime};

fn db(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&grouped("db", arguments))
}

#[test]
fn entries_expire_at_their_time_and_followers_get_it() {
    let folder = Folder::new();
    db(&folder, &["put", "s", "a", "1", "--ttl", "30d"]).exits_with(0).prints("a: written\n");
    db(&folder, &["put", "s", "b", "2", "--expires-at", "2020-01-31T12:00:00"]).exits_with(0);
    db(&folder, &["put", "s", "c", "3", "--expires-at", "2120-01-31"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints("a\t1\nc\t3\n");
    folder.run(&["get", "s", "b"]).exits_with(1);
    let changes = db(&folder, &["changes", "s"]).exits_with(0);
    assert!(changes.stdout.contains("\"expires\":\"2020-01-31T12:00:00\""), "{}", changes.stdout);
    assert_eq!(changes.json_lines()[2]["put"]["expires"], "2120-01-31T00:00:00");
    db(&folder, &["put", "s", "d", "4", "--ttl", "1h", "--expires-at", "2030-01-31"]).exits_with(2);
    db(&folder, &["put", "s", "d", "4", "--ttl", "soon"]).exits_with(2).complains_of("'soon' is not a time");
    db(&folder, &["put", "s", "d", "4", "--expires-at", "soon"]).exits_with(2);
    folder.run(&["verify", "s"]).exits_with(0);
}

#[test]
fn a_keyspace_gets_a_rule_and_loses_it() {
    let folder = Folder::new();
    db(&folder, &["put", "s", "a", "1"]).exits_with(0);
    db(&folder, &["alter", "s", "--expire-after", "1ms"])
        .exits_with(0)
        .prints("s: keyspace \"default\" has the options: expiry 1ms after the write\n");
    db(&folder, &["put", "s", "b", "2"]).exits_with(0);
    std::thread::sleep(Duration::from_millis(2));
    db(&folder, &["alter", "s", "--expire-after", "never"])
        .exits_with(0)
        .prints("s: keyspace \"default\" has the options: those of the store\n");
    db(&folder, &["put", "s", "c", "3"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints("a\t1\nc\t3\n");
    for none in ["0s", "-1s", "-0"] {
        db(&folder, &["alter", "s", "--expire-after", none]).exits_with(2).complains_of("longer than 0");
        db(&folder, &["put", "s", "d", "4", "--ttl", none]).exits_with(2).complains_of("longer than 0");
    }
    db(&folder, &["alter", "s", "--expire-at", "due"]).exits_with(2).complains_of("no field \"due\"");
    folder.write("orders.csv", "id,name,due\n1,fig,2020-01-31T12:00:00\n2,lime,2120-01-31T12:00:00\n");
    db(&folder, &["import", "t", "orders.csv", "--key", "id"]).exits_with(0);
    db(&folder, &["alter", "t", "--expire-at", "due"]).exits_with(0);
    db(&folder, &["import", "t", "orders.csv", "--key", "id"]).exits_with(0);
    folder.run(&["scan", "t", "--keys-only"]).exits_with(0).prints("2\n");
}

/// The time of a store is that of its last write: a command that reads it long after shows what has expired, and says
/// so, until it is told that its clock is right.
#[test]
fn readers_warn_of_a_clock_far_ahead_and_take_it_when_they_are_told_to() {
    let folder = Folder::new();
    let long_ago = SystemTime::now() - Duration::from_secs(100 * 24 * 3600);
    let clock = Clock::moved_by_hand(long_ago.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64);
    let db_of_then = Db::open(folder.path("s"), &DbOptions::default().clock(clock)).unwrap();
    db_of_then.insert_with("a", "1", long_ago + Duration::from_secs(30 * 24 * 3600)).unwrap();
    db_of_then.insert("b", "2").unwrap();
    db_of_then.close().unwrap();

    let warned = "warning: the clock says";
    let shows = |arguments: &[&str], then: &str, now: &str| {
        let run = folder.run(arguments).exits_with(0).complains_of(warned).complains_of("--clock-ahead").prints(then);
        assert_eq!(run.stderr.matches(warned).count(), 1, "{}", run.stderr);
        folder
            .run(&[arguments, &["--clock-ahead", "365d"]].concat())
            .exits_with(0)
            .keeps_quiet_about(warned)
            .prints(now);
    };
    shows(&["scan", "s"], "a\t1\nb\t2\n", "b\t2\n");
    shows(&["scan", "s", "--keys-only"], "a\nb\n", "b\n");
    shows(&["count", "s", "--from", "a"], "2\n", "1\n");
    shows(&["get", "s", "b"], "2\n", "2\n");
    shows(&["rank", "s", "b"], "1\n", "0\n");
    shows(&["nth", "s", "0"], "a\t1\n", "b\t2\n");
    shows(&["export", "s", "-"], "key,value\na,1\nb,2\n", "key,value\nb,2\n");
    shows(&["join", "s", "s", "-o", "-"], "a\t1\t1\nb\t2\t2\n", "b\t2\t2\n");
    for arguments in [&["stats", "s"][..], &["info", "s"], &["explain", "s"], &["report", "s", "--json"]] {
        let told = folder.run(&[arguments, &["--clock-ahead", "365d"]].concat()).exits_with(0);
        told.keeps_quiet_about(warned);
        folder.run(arguments).exits_with(0).complains_of(warned);
    }
    folder.run(&["build", "s", "-o", "then.ogive"]).exits_with(0).complains_of(warned);
    folder.run(&["build", "s", "-o", "now.ogive", "--clock-ahead", "365d"]).exits_with(0).keeps_quiet_about(warned);
    let count = |table: &str| folder.run(&["count", table]).exits_with(0).stdout;
    assert_eq!((count("then.ogive"), count("now.ogive")), ("2\n".to_owned(), "1\n".to_owned()));

    // The writer's error has the same words.
    let ttl = ["put", "s", "c", "3", "--ttl", "1h"];
    db(&folder, &ttl).exits_with(2).complains_of("the clock says").keeps_quiet_about("warning");
    db(&folder, &[&ttl[..], &["--clock-ahead", "365d"]].concat()).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).keeps_quiet_about(warned).prints("b\t2\nc\t3\n");
    for arguments in [&["scan", "now.ogive"][..], &["info", "now.ogive"], &["report", "now.ogive", "--json"]] {
        let run = folder.run(&[arguments, &["--clock-ahead", "1d"]].concat()).exits_with(2);
        run.complains_of("--clock-ahead is for a store");
    }
    folder.run(&["verify", "s", "--clock-ahead", "1d"]).exits_with(2).complains_of("checks expired entries, too");
}

#[test]
fn copies_that_have_no_times_of_expiry_say_so() {
    let folder = Folder::new();
    db(&folder, &["put", "s", "a", "1", "--ttl", "30d"]).exits_with(0);
    db(&folder, &["put", "s", "x", "1", "--keyspace", "other"]).exits_with(0);
    db(&folder, &["compact", "s"]).exits_with(0);
    for target in ["c.csv", "c.jsonl", "c.ogive", "-"] {
        let other = folder.run(&["export", "s", &format!("other{target}.csv"), "--keyspace", "other"]);
        other.exits_with(0).keeps_quiet_about("expire");
        folder.run(&["export", "s", target]).exits_with(0).complains_of("does not have the times");
    }
    folder.run(&["build", "s", "-o", "t.ogive"]).exits_with(0).complains_of("does not have the times");
    db(&folder, &["put", "plain", "a", "1"]).exits_with(0);
    folder.run(&["export", "plain", "p.csv"]).exits_with(0).keeps_quiet_about("expire");
}
