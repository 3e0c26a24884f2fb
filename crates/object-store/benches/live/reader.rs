//! The reader: opens the store from nothing, and follows its writer, comparing what it reads with the model.

use crate::faulty_store::FaultyStore;
use crate::model::{COUNTER, Model, key};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use ogive::{Db, DbOptions};
use ogive_object_store::{ObjectOptions, ObjectStorage};
use ogive_testkit::Random;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lookups between two refreshes: single ones, the keys of one batch, and the records of one scan.
const LOOKUPS: usize = 50;
const BATCH_KEYS: usize = 100;
const SCANNED: usize = 200;
/// The time between two refreshes.
const REFRESH: Duration = Duration::from_secs(1);
/// The time for filters to load behind an opening.
const SETTLED: Duration = Duration::from_secs(3);

/// The value of a line of the state of this process, in KiB; 0 on systems that have no such file.
fn status_kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// What the reader has found.
#[derive(Debug, Default)]
struct Found {
    refreshes: u64,
    versions: u64,
    records: u64,
    slowest_refresh: Duration,
}

/// Opens the store in a bucket, and follows its writer for some time. Ends the process with an error at the first wrong
/// answer.
pub(crate) fn follow(url: &str, places: u64, time: Duration) -> Result<(), Box<dyn Error>> {
    let address = url.strip_prefix("s3://").and_then(|address| address.split_once('/'));
    let (bucket, prefix) = address.ok_or("the URL is not of the form s3://bucket/prefix")?;
    let s3 = AmazonS3Builder::from_env().with_bucket_name(bucket).with_allow_http(true).build()?;
    let store: Arc<FaultyStore<AmazonS3>> = FaultyStore::over(s3);
    let storage = ObjectStorage::new(store.clone(), prefix, url, &ObjectOptions::default())?;
    let options = DbOptions::default();
    let begun = Instant::now();
    let mut db = Db::open_read_only(Arc::new(storage), &options)?;
    let opened = begun.elapsed();
    std::thread::sleep(SETTLED);
    let counts = store.take_counts();
    println!(
        "reader: opened in {:.0} ms by {} listing and {} GETs in {} rounds, {:.1} MB",
        opened.as_secs_f64() * 1e3,
        counts.lists,
        counts.gets + counts.heads,
        counts.rounds,
        counts.bytes as f64 / 1e6
    );
    let mut model = Model::new(places);
    let mut random = Random::new(begun.elapsed().as_nanos() as u64);
    let mut found = Found::default();
    let begun = Instant::now();
    while begun.elapsed() < time {
        check(&db, &mut model, &mut random, &mut found)?;
        std::thread::sleep(REFRESH);
        let refreshed = Instant::now();
        found.versions += u64::from(db.refresh()?);
        found.refreshes += 1;
        found.slowest_refresh = found.slowest_refresh.max(refreshed.elapsed());
    }
    println!(
        "reader: {} batches followed in {} versions of {} refreshes (the slowest took {:.0} ms); {} records \
         compared, all equal",
        model.batches(),
        found.versions,
        found.refreshes,
        found.slowest_refresh.as_secs_f64() * 1e3,
        found.records
    );
    println!(
        "reader: peak memory {} MiB, of which the store may use {}",
        status_kib("VmHWM") >> 10,
        options.memory_bytes >> 20
    );
    Ok(())
}

fn check(db: &Db, model: &mut Model, random: &mut Random, found: &mut Found) -> Result<(), Box<dyn Error>> {
    let counter = db.get(COUNTER)?.map_or(Ok(0), |count| <[u8; 8]>::try_from(&count[..]).map(u64::from_be_bytes))?;
    model.advance(counter);
    let compare = |place: u64, value: Option<&[u8]>| {
        if value == model.value(place).as_deref() {
            return Ok(());
        }
        let is_there = value.is_some();
        Err(format!("after batch {counter}, the record at place {place} is wrong; the store has one: {is_there}"))
    };
    for _ in 0..LOOKUPS {
        let place = model.place(random);
        compare(place, db.get(key(place))?.as_deref())?;
    }
    let places: Vec<u64> = (0..BATCH_KEYS).map(|_| model.place(random)).collect();
    let values = db.multi_get(places.iter().map(|&place| key(place)))?;
    places.iter().zip(&values).try_for_each(|(&place, value)| compare(place, value.as_deref()))?;
    let first = model.place(random);
    let mut expected = (first..).filter(|&place| model.value(place).is_some());
    for record in db.range(key(first)..).take(SCANNED) {
        let (found, value) = record?;
        let place = expected.next().ok_or("a record behind all others")?;
        if found[..] != key(place) {
            if found[..] == *COUNTER {
                break;
            }
            return Err(format!("after batch {counter}, a scan from {first} misses the record at place {place}").into());
        }
        compare(place, Some(&value))?;
    }
    found.records += (LOOKUPS + BATCH_KEYS + SCANNED) as u64;
    Ok(())
}
