//! Environments of LMDB: what its library has put in is what the store has; other orders and damage are refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support::{Place, bytes_of, records};
use heed::byteorder::NativeEndian;
use heed::types::{Bytes, U32, U64};
use heed::{Database, DatabaseFlags, Env, EnvFlags, EnvOpenOptions, IntegerComparator};
use ogive::types::Value;
use ogive_testkit::{Random, Repeat, seeds};
use std::collections::BTreeMap;
use std::path::Path;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// An open environment in a folder, or in a file.
fn environment(path: &Path, flags: EnvFlags) -> Env {
    if flags.is_empty() {
        std::fs::create_dir_all(path).unwrap();
    }
    let mut options = EnvOpenOptions::new();
    options.max_dbs(20).map_size(64 << 20);
    #[expect(unsafe_code, reason = "no other program has the folder")]
    unsafe {
        options.flags(flags).open(path).unwrap()
    }
}

fn fill(env: &Env, name: Option<&str>, random: &mut Random) -> Records {
    let mut transaction = env.write_txn().unwrap();
    let database: Database<Bytes, Bytes> = env.create_database(&mut transaction, name).unwrap();
    let mut model = Records::new();
    let draw = |random: &mut Random, least: u64, most: u64| -> Vec<u8> {
        (0..least + random.below(most - least)).map(|_| random.below(256) as u8).collect()
    };
    for _ in 0..random.below(200) {
        // Longer than the name of a database.
        let key = draw(random, 10, 20);
        // As long as the record of a database is, among others.
        let value = match random.below(10) {
            0 => vec![0; 48],
            1 => draw(random, 2000, 9000),
            _ => draw(random, 0, 60),
        };
        database.put(&mut transaction, &key, &value).unwrap();
        model.insert(key, value);
    }
    transaction.commit().unwrap();
    model
}

#[test]
fn random_databases_arrive_as_they_are() {
    for seed in seeds(0..6) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let (place, mut random) = (Place::new(), Random::new(seed));
        let is_file = random.below(2) == 0;
        let flags = if is_file { EnvFlags::NO_SUB_DIR } else { EnvFlags::empty() };
        let env = environment(&place.path("source"), flags);
        let named: Vec<(String, Records)> = ["a", "größe", "a name"]
            .into_iter()
            .map(|name| (name.to_owned(), fill(&env, Some(name), &mut random)))
            .collect();
        let unnamed = fill(&env, None, &mut random);
        // It may be open, with a lock file, or closed and copied without one.
        let env = (random.below(2) == 0).then_some(env);
        if env.is_none() {
            for lock in ["source/lock.mdb", "source-lock"] {
                _ = std::fs::remove_file(place.path(lock));
            }
        }
        let folder = if is_file { "." } else { "source" };
        let before = place.files(folder);
        place.import(&["source", "store"]);
        let data = |files: &BTreeMap<_, _>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(data(&place.files(folder)), data(&before));
        let db = place.store();
        for (name, model) in &named {
            assert_eq!(bytes_of(&db, name), model.clone().into_iter().collect::<Vec<_>>(), "{name}");
        }
        assert_eq!(bytes_of(&db, "default"), unnamed.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_snapshot_is_read_and_long_values_arrive() {
    let place = Place::new();
    let env = environment(&place.path("source"), EnvFlags::empty());
    let mut transaction = env.write_txn().unwrap();
    let database: Database<Bytes, Bytes> = env.create_database(&mut transaction, Some("t")).unwrap();
    let long = vec![7; 20 << 20];
    database.put(&mut transaction, b"long", &long).unwrap();
    transaction.commit().unwrap();
    let mut open = env.write_txn().unwrap();
    database.put(&mut open, b"later", b"").unwrap();
    place.import(&["source", "store"]);
    assert!(bytes_of(&place.store(), "t") == [(b"long".to_vec(), long)]);
    open.commit().unwrap();
    place.import(&["source/data.mdb", "store", "--add"]);
    assert_eq!(bytes_of(&place.store(), "t").len(), 2);
}

#[test]
fn integers_and_several_values_have_their_types() {
    let place = Place::new();
    let env = environment(&place.path("source"), EnvFlags::empty());
    let mut transaction = env.write_txn().unwrap();
    let create = |transaction: &mut heed::RwTxn<'_>, name: &str, flags: DatabaseFlags| {
        env.database_options().types::<Bytes, Bytes>().name(name).flags(flags).create(transaction).unwrap()
    };
    let integers = || env.database_options().types::<Bytes, Bytes>().key_comparator::<IntegerComparator>();
    let wide = integers().name("wide").create(&mut transaction).unwrap().remap_key_type::<U64<NativeEndian>>();
    let narrow = integers().name("narrow").create(&mut transaction).unwrap().remap_key_type::<U32<NativeEndian>>();
    for number in [3_u64, 1 << 40, 256, 1] {
        wide.put(&mut transaction, &number, b"v").unwrap();
        narrow.put(&mut transaction, &(number as u32), b"v").unwrap();
    }
    let many = create(&mut transaction, "many", DatabaseFlags::DUP_SORT);
    for (key, value) in [("b", "2"), ("a", "2"), ("a", "1"), ("a", "0")] {
        many.put(&mut transaction, key.as_bytes(), value.as_bytes()).unwrap();
    }
    transaction.commit().unwrap();
    let told = place.import(&["source", "store"]);
    assert!(told.contains("several values for a key"), "{told}");
    let db = place.store();
    let keys = |name: &str| records(&db, name).1.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys("wide"), [1, 3, 256, 1 << 40].map(|number: u64| Value::from(number)));
    assert_eq!(keys("narrow"), [0, 1, 3, 256].map(|number: u64| Value::from(number)));
    let pair = |key: &str, value: &str| Value::Tuple(vec![Value::Bytes(key.into()), Value::Bytes(value.into())]);
    assert_eq!(keys("many"), [pair("a", "0"), pair("a", "1"), pair("a", "2"), pair("b", "2")]);
    let types: Vec<String> = ["wide", "narrow", "many"].map(|name| records(&db, name).0.to_string()).into();
    assert_eq!(types, ["u64 -> bytes", "u32 -> bytes", "(bytes, bytes) -> {}"]);
}

/// Compares keys from their end, by a function that the file does not state.
struct Backwards;

impl heed::Comparator for Backwards {
    fn compare(one: &[u8], other: &[u8]) -> std::cmp::Ordering {
        one.iter().rev().cmp(other.iter().rev())
    }
}

#[test]
fn other_orders_are_refused_by_name() {
    let place = Place::new();
    let env = environment(&place.path("source"), EnvFlags::empty());
    let mut transaction = env.write_txn().unwrap();
    let own = env
        .database_options()
        .types::<Bytes, Bytes>()
        .key_comparator::<Backwards>()
        .name("own")
        .create(&mut transaction)
        .unwrap();
    own.put(&mut transaction, b"ab", b"").unwrap();
    own.put(&mut transaction, b"ba", b"").unwrap();
    let flags = DatabaseFlags::REVERSE_KEY;
    let reverse =
        env.database_options().types::<Bytes, Bytes>().name("reverse").flags(flags).create(&mut transaction).unwrap();
    reverse.put(&mut transaction, b"ab", b"").unwrap();
    transaction.commit().unwrap();
    place.refused(
        &["source", "store"],
        1,
        &["database \"reverse\" compares", "from their last byte", "--skip reverse"],
    );
    place.refused(
        &["source", "store", "--skip", "reverse"],
        1,
        &["database \"own\" compares", "comparator of its program"],
    );
    assert!(place.keyspaces().is_empty());
}

#[test]
fn an_empty_environment_and_a_cut_off_one_are_told() {
    let place = Place::new();
    let env = environment(&place.path("source"), EnvFlags::empty());
    assert!(place.import(&["source", "store"]).contains("nothing to import"));
    fill(&env, Some("t"), &mut Random::new(1));
    drop(env);
    let data = std::fs::read(place.path("source/data.mdb")).unwrap();
    for length in [data.len() / 2, 8192, 4096, 100, 20] {
        std::fs::write(place.path("source/data.mdb"), &data[..length]).unwrap();
        place.refused(&["source", "store"], 1, &["cannot read source"]);
    }
    std::fs::write(place.path("source/data.mdb"), [0; 8192]).unwrap();
    place.refused(&["source", "store"], 1, &["source is not of SQLite, LMDB or RocksDB"]);
    assert!(!place.path("store").exists());
}

#[test]
fn a_file_without_a_lock_that_is_written_meanwhile_fails_the_import() {
    let place = Place::new();
    let env = environment(&place.path("source"), EnvFlags::empty());
    let mut transaction = env.write_txn().unwrap();
    let database: Database<Bytes, Bytes> = env.create_database(&mut transaction, Some("t")).unwrap();
    for number in 0..100_000_u32 {
        database.put(&mut transaction, &number.to_be_bytes(), &[7; 100]).unwrap();
    }
    transaction.commit().unwrap();
    std::fs::remove_file(place.path("source/lock.mdb")).unwrap();
    let child = place.command(&["source", "store"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // Until the import has begun to write.
    while !place.path("store").exists() {
        std::thread::yield_now();
    }
    let mut transaction = env.write_txn().unwrap();
    database.put(&mut transaction, b"later", b"").unwrap();
    transaction.commit().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("was written while it was read"));
    assert!(place.keyspaces().is_empty());
}
