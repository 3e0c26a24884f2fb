//! Lookups and scans as futures. Goal: they answer as plain calls do, in as many rounds, and need no thread each.
//! Method: tables of random shape on a runtime with one thread, in a store that counts requests by waves.

use crate::faulty_store::{Fault, FaultyStore};
use futures_util::TryStreamExt;
use futures_util::future::try_join_all;
use ogive::io::Profile;
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{KeyType, Result};
use ogive_object_store::{AsyncTable, ObjectOptions, ObjectStorage};
use ogive_testkit::Random;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

fn storage(store: &Arc<FaultyStore>, options: ObjectOptions) -> ObjectStorage {
    ObjectStorage::new(store.clone(), "folder", "test://bucket/folder", &options.backoff_ms(1)).unwrap()
}

fn run<T>(future: impl Future<Output = Result<T>>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future).unwrap()
}

fn write(storage: &ObjectStorage, options: TableWriteOptions, records: &[(Vec<u8>, Vec<u8>)]) {
    let mut writer = TableWriter::create(Arc::new(storage.clone()), "t", options).unwrap();
    records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
}

/// Records of random values, whose keys are repeated up to `repeats_max` times.
fn records(random: &mut Random, count: u64, value_bytes: u64, repeats_max: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut key = 0_u64;
    let mut record = |_| {
        key += u64::from(random.below(repeats_max) == 0) * (1 + random.below(9));
        let value = (0..random.below(value_bytes + 1)).map(|_| random.next_u64() as u8).collect();
        (key.to_be_bytes().to_vec(), value)
    };
    (0..count).map(&mut record).collect()
}

#[test]
fn many_lookups_share_their_rounds_on_one_thread() {
    let store = FaultyStore::in_waves();
    let storage = storage(&store, ObjectOptions::default());
    let records = records(&mut Random::new(1), 100_000, 40, 1);
    write(&storage, TableWriteOptions::default().key_type(KeyType::U64).block_bytes(Some(4096)), &records);
    run(async {
        store.take_counts();
        let table = AsyncTable::open(&storage, "t", &TableOptions::default()).await?;
        assert_eq!(store.take_counts().gets, 1);
        let asked: Vec<_> = records.iter().step_by(700).collect();
        let found = try_join_all(asked.iter().map(|(key, _)| table.get(key))).await?;
        assert!(asked.iter().zip(&found).all(|((_, value), found)| found.as_ref() == Some(value)));
        let counts = store.take_counts();
        let rounds = asked.len().div_ceil(Profile::named("s3").unwrap().parallel() as usize);
        assert!(counts.gets <= asked.len() as u64 && counts.waves.len() <= rounds + 1, "{} waves", counts.waves.len());

        let keys: Vec<&[u8]> = records.iter().skip(11).step_by(700).map(|(key, _)| &key[..]).collect();
        let found = table.multi_get(&keys).await?;
        assert!(found.iter().all(Option::is_some));
        assert!(store.take_counts().waves.len() <= rounds + 1);
        Ok(())
    });
}

#[test]
fn scans_give_the_records_between_any_bounds() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let store = FaultyStore::new();
        let storage = storage(&store, ObjectOptions::default());
        let (count, value_bytes) = (1 + random.below(30_000), [0, 8, 300][random.below(3) as usize]);
        let repeats_max = [1, 3, 4_000][random.below(3) as usize];
        let records = records(&mut random, count, value_bytes, repeats_max);
        let block_bytes = [None, Some(512), Some(4096)][random.below(3) as usize];
        write(&storage, TableWriteOptions::default().key_type(KeyType::U64).block_bytes(block_bytes), &records);
        let plain = Table::open(Arc::new(storage.clone()), "t", &TableOptions::default()).unwrap();
        run(async {
            let table = AsyncTable::open(&storage, "t", &TableOptions::default()).await?;
            for _ in 0..4 {
                let mut bound = || match (random.below(3), random.below(6 * count / repeats_max + 2).to_be_bytes()) {
                    (0, _) => Bound::Unbounded,
                    (1, key) => Bound::Included(key),
                    (_, key) => Bound::Excluded(key),
                };
                let bounds = (bound(), bound());
                let expected: Vec<_> = plain.range(bounds).map(Result::unwrap).collect();
                let found: Vec<_> = table.range(bounds).try_collect().await?;
                assert!(found == expected, "seed {seed}, {bounds:?}: {} of {}", found.len(), expected.len());
            }
            let key = &records[records.len() / 2].0;
            assert_eq!(table.get(key).await?, plain.get(key)?);
            assert_eq!(table.rank(key).await?, plain.rank(key)?);
            Ok(())
        });
    }
}

#[test]
fn a_long_scan_takes_requests_that_grow() {
    let store = FaultyStore::new();
    let storage = storage(&store, ObjectOptions::default());
    let records = records(&mut Random::new(3), 200_000, 80, 1);
    write(&storage, TableWriteOptions::default().key_type(KeyType::U64).block_bytes(Some(4096)), &records);
    run(async {
        let table = AsyncTable::open(&storage, "t", &TableOptions::default()).await?;
        store.take_counts();
        let found: Vec<_> = table.range::<&[u8]>(..).try_collect().await?;
        assert!(found == records);
        let counts = store.take_counts();
        let bytes: usize = records.iter().map(|(key, value)| key.len() + value.len()).sum();
        assert!(counts.gets < 30, "{} requests for {bytes} bytes", counts.gets);
        assert!(counts.bytes < 2 * bytes as u64, "{} bytes for {bytes}", counts.bytes);
        Ok(())
    });
}

#[test]
fn a_dropped_lookup_gives_its_request_up() {
    let store = FaultyStore::new();
    let one_at_a_time = Profile::affine("one at a time", 40_000.0, 90.0, 1).unwrap();
    let options = ObjectOptions::default().profile(one_at_a_time).deadline_s(600.0);
    let storage = storage(&store, options);
    let records = records(&mut Random::new(2), 50_000, 40, 1);
    write(&storage, TableWriteOptions::default().key_type(KeyType::U64).block_bytes(Some(4096)), &records);
    run(async {
        let table = AsyncTable::open(&storage, "t", &TableOptions::default()).await?;
        store.fail_gets(&[Fault::Silence]);
        let (key, value) = &records[100];
        let lookup = timeout(Duration::from_millis(50), table.get(key));
        assert!(lookup.await.is_err(), "there is no answer");
        // The storage has one request in flight at a time, so this would wait for the end of the first one.
        let found = timeout(Duration::from_secs(60), table.get(key)).await.expect("the first request was given up");
        assert_eq!(found?.as_ref(), Some(value));
        Ok(())
    });
}
