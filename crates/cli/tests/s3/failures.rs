//! Goal: on bad days the command says what failed, where, and what to do, shows no secret, and leaves nothing half
//! done. Method: wrong credentials, missing buckets and objects, damaged ones, and interrupts.

use super::server::{BUCKET, Place, Run, Server};
use std::time::Duration;

#[test]
fn missing_buckets_and_objects_are_named() {
    let Some(place) = Place::new() else { return };
    place.write("rows.txt", "a\nb\n");
    place.run(&["get", "s3://bucket/none", "a"]).complains_of(&["s3://bucket/none", "404", "check the URL"]);
    place.run(&["get", "s3://nobucket/x", "a"]).complains_of(&["s3://nobucket/x", "NoSuchBucket", "check the name"]);
    let run = place.run(&["build", "rows.txt", "-o", "s3://nobucket/x"]);
    run.complains_of(&["s3://nobucket/x", "NoSuchBucket"]);
    place.run(&["build", "s3://bucket/none.txt", "-o", "t"]).complains_of(&["s3://bucket/none.txt", "404"]);
    place.run(&["get", "s3://bucket", "a"]).complains_of(&["s3://bucket", "does not name a file"]);
}

#[test]
fn wrong_credentials_are_named_and_not_shown() {
    // All but the first request need credentials that the server knows.
    let Some(server) = Server::start(&[("INITIAL_NO_AUTH_ACTION_COUNT", "1")]) else { return };
    server.request("PUT", &format!("/{BUCKET}"), b"");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rows.txt"), "a\nb\n").unwrap();
    for words in [&["get", "s3://bucket/x", "a"][..], &["build", "rows.txt", "-o", "s3://bucket/x"]] {
        let mut command = super::server::command(folder.path(), words);
        command.env("AWS_ENDPOINT", server.endpoint()).env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", "SECRETID").env("AWS_SECRET_ACCESS_KEY", "SECRETKEY");
        let run = Run::new(words, command.output().unwrap());
        run.complains_of(&["s3://bucket/x", "403", "credentials"]);
    }
}

#[test]
fn an_index_and_a_damaged_table_behind_a_url_are_refused_with_the_reason() {
    let Some(place) = Place::new() else { return };
    place.prints(&["index", "create", "local.ogx", "--key-type", "u64"]);
    place.server.put("failures/i.ogx", std::fs::read(place.path("local.ogx")).unwrap());
    for words in [
        &["index", "create", "s3://bucket/i.ogx", "--key-type", "u64"][..],
        &["index", "put", "s3://bucket/i", "1"],
        &["get", "s3://bucket/failures/i.ogx", "1"],
        &["info", "s3://bucket/failures/i.ogx"],
    ] {
        place.run(words).complains_of(&["s3://bucket/", "updated in place"]);
    }
    place.write("rows.txt", (0..5000).map(|i| format!("key {i:06}\n")).collect::<String>());
    place.prints(&["build", "rows.txt", "-o", "t.ogive"]);
    let mut table = std::fs::read(place.path("t.ogive")).unwrap();
    let middle = table.len() / 2;
    table[middle] ^= 1;
    place.server.put("failures/damaged.ogive", &table);
    let verified = place.run(&["verify", "s3://bucket/failures/damaged.ogive"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    place.server.put("failures/cut.ogive", &table[..middle]);
    place.run(&["get", "s3://bucket/failures/cut.ogive", "a"]).complains_of(&["s3://bucket/failures/cut.ogive"]);
    place.run(&["repair", "s3://bucket/failures/damaged.ogive"]).complains_of(&["copy it to a file system"]);
}

#[test]
fn an_interrupted_upload_leaves_nothing_under_the_name_and_is_aborted() {
    let Some(place) = Place::new() else { return };
    let mut keys = 600_000_u64.to_le_bytes().to_vec();
    (0..600_000_u64).for_each(|i| keys.extend(i.wrapping_mul(31).to_le_bytes()));
    place.write("keys.u64", keys);
    let words =
        ["build", "keys.u64", "-o", "s3://bucket/interrupted/t.ogive", "--payload", "200", "--block-size", "4KiB"];
    let mut child = place.command(&words).spawn().unwrap();
    while !place.server.has_uploads() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(!place.server.has_uploads());
    assert_eq!(place.server.names("interrupted/"), Vec::<String>::new());
}
