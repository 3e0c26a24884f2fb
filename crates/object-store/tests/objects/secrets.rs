//! Secrets. Goal: no error shows credentials, signed queries, or what a server says about them. Method: failures of
//! every kind whose causes contain a marked secret, and real requests that no one answers.

use crate::faulty_store::{Fault, FaultyStore};
use ogive::io::locate;
use ogive_object_store::{ObjectOptions, register_with};
use std::error::Error as _;

fn assert_no_secret(error: &ogive::Error) {
    let mut text = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(" {error} {error:?}"));
        cause = error.source();
    }
    assert!(!text.contains("SECRET"), "{text}");
}

#[test]
fn what_a_server_says_of_a_refusal_is_not_shown() {
    let store = FaultyStore::new();
    let storage = store.storage(ObjectOptions::default());
    store.fail_gets(&[Fault::Denied]);
    assert_no_secret(&storage.open("a").unwrap_err());
    store.fail_puts(&[Fault::Denied]);
    assert_no_secret(&storage.put_if_absent("a", b"x").unwrap_err());
}

/// Nothing listens on this port.
#[test]
fn failed_connections_show_the_url_without_its_query() {
    let options = ObjectOptions::default().deadline_s(0.3).backoff_ms(1);
    for (url, options) in [
        (
            "s3://bucket/a?endpoint=http://127.0.0.1:9&access_key_id=SECRET&region=x",
            options.clone().value("secret_access_key", "SECRET"),
        ),
        ("http://user:SECRET@127.0.0.1:9/a?signature=SECRET", options),
    ] {
        register_with(&options);
        let place = locate(url).unwrap();
        let error = place.storage.open(&place.name).unwrap_err();
        assert_no_secret(&error);
        assert!(error.to_string().contains("/a") && error.to_string().contains("network"), "{error}");
        assert_no_secret(&place.storage.exists(&place.name).unwrap_err());
    }
}
