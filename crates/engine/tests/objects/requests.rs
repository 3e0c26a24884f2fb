//! Counts of requests. Goal: what the document states for stores on an object store: openings in three rounds, a
//! lookup of a present key with one read, of an absent one with none; and scans, which take as many reads from the end
//! as from the front. Method: a meter around the storage.

use crate::support::small;
use ogive::io::{MemoryStorage, Meter, Profile, Purpose, Storage};
use ogive::lsm::{Db, DbOptions, ManifestSummary};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive_testkit::{Random, SimulatedObjects};
use std::sync::Arc;

/// Number of keys of the large store.
const KEYS: u64 = 60_000;

/// Small tables and levels, so that a store of a few megabytes has five levels; 20 bits a key of filters.
fn leveled() -> DbOptions {
    DbOptions::default()
        .threads(0)
        .memory_bytes(64 << 20)
        .writes(|writes| writes.memtable_bytes(32 << 10))
        .levels(|levels| levels.table_bytes(32 << 10).level_bytes(40 << 10).level_factor(3).filter_bits_per_key(20))
        .objects(|objects| objects.gather_ms(0))
}

fn key(number: u64) -> [u8; 8] {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes()
}

/// A store with five levels on an object store.
fn store_of_five_levels() -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let db = Db::open(Arc::clone(&storage), &leveled()).unwrap();
    let mut random = Random::new(1);
    for _ in 0..KEYS / 100 {
        let mut batch = db.batch();
        for _ in 0..100 {
            batch.insert(&db, key(random.below(KEYS)), random.next_u64().to_be_bytes());
        }
        batch.commit().unwrap();
    }
    db.flush().unwrap();
    let levels = db.stats().keyspaces[0].levels.iter().filter(|level| level.tables > 0).count();
    assert!(levels >= 5, "{levels} levels");
    db.close().unwrap();
    storage
}

#[test]
fn a_cold_lookup_in_five_levels_takes_one_read_and_of_an_absent_key_none() {
    let storage = store_of_five_levels();
    let meter = Meter::new(Arc::clone(&storage));
    // Without a cache, every block is read.
    let mut options = leveled();
    options.fast_paths.cache = false;
    let reader = Db::open_read_only(Arc::new(meter.clone()), &options).unwrap();
    let opening = meter.reset();
    let tables: u64 = reader.stats().keyspaces[0].levels.iter().map(|level| level.tables).sum();
    let of = |purpose| opening.reads_by_purpose.get(&purpose).map_or(0, |reads| reads.requests);
    assert_eq!(of(Purpose::Open), 0, "the manifest opens all {tables} tables");
    assert!(of(Purpose::Filter) <= tables, "{opening:?}");
    let mut random = Random::new(2);
    let (mut found, mut present) = (0, 0);
    while found < 10_000 {
        let is_there = reader.get(key(random.below(KEYS))).unwrap().is_some();
        let reads = meter.reset().reads.requests;
        if is_there {
            (found, present) = (found + 1, present + reads);
        }
    }
    for number in 0..10_000 {
        assert!(reader.get(key(KEYS + number)).unwrap().is_none());
    }
    let (present, absent) = (present as f64 / 10_000.0, meter.reset().reads.requests as f64 / 10_000.0);
    assert!(present <= 1.02, "{present} reads for a present key");
    assert!(absent <= 0.02, "{absent} reads for an absent key");
}

/// One listing, one round for the manifest, one for the logs.
#[test]
fn a_reader_opens_a_store_with_one_listing_and_the_parts_of_one_manifest_and_its_logs() {
    let server = SimulatedObjects::new();
    let storage: Arc<dyn Storage> = Arc::new(server.client());
    let db = Db::open(Arc::clone(&storage), &small()).unwrap();
    for number in 0..300 {
        db.insert(format!("{number}"), vec![b'x'; 100]).unwrap();
    }
    let reader_client = server.client();
    server.take_read();
    let reader = Db::open_read_only(Arc::new(reader_client.clone()), &small()).unwrap();
    let read = server.take_read();
    assert_eq!(reader_client.requests(), 1 + read.len() as u64, "one listing, and each object once: {read:?}");
    let is_chain = |name: &&String| name.starts_with("manifest-") || name.starts_with("wal-");
    let filters = read.iter().filter(|name| !is_chain(name)).count();
    assert!(filters <= 1, "of the one table, its filter is read: {read:?}");
    assert!(reader.get("299").unwrap().is_some());
}

#[test]
fn a_reader_of_a_store_that_was_closed_reads_no_log() {
    let server = SimulatedObjects::new();
    for commits in [0, 1, 30] {
        let db = Db::open(Arc::new(server.client()), &small()).unwrap();
        for number in 0..commits {
            db.insert(format!("{number}"), vec![b'x'; 50]).unwrap();
        }
        db.close().unwrap();
        server.take_read();
        let reader = Db::open_read_only(Arc::new(server.client()), &small()).unwrap();
        let logs = server.take_read().iter().filter(|name| name.starts_with("wal-")).count();
        assert_eq!(logs, if commits == 1 { 2 } else { 0 }, "a short log has a header and a commit");
        assert_eq!(reader.iter().count(), commits);
    }
}

/// A listing, the manifest and the block: of a present key, and of an absent one in the range of a table.
#[test]
fn a_cold_lookup_in_a_closed_store_is_a_listing_and_two_reads() {
    let server = SimulatedObjects::new();
    let options = DbOptions::default().threads(0).objects(|objects| objects.gather_ms(0));
    let db = Db::open(Arc::new(server.client()), &options).unwrap();
    for part in 0..40_u64 {
        let mut batch = db.batch();
        for number in part * 500..(part + 1) * 500 {
            batch.insert(&db, (2 * number).to_be_bytes(), [7; 64]);
        }
        batch.commit().unwrap();
    }
    db.close().unwrap();
    for (key, is_there) in [(17_000_u64, true), (17_001, false), (80_000, false)] {
        let client = server.client();
        let chosen = |_: ManifestSummary<'_>| Some(vec![("default".to_owned(), key.to_be_bytes().to_vec())]);
        let get = |storage: Arc<dyn Storage>| {
            let db = Db::open_for_keys(storage, &options, &chosen).unwrap();
            assert_eq!(db.get(key.to_be_bytes()).unwrap().is_some(), is_there);
        };
        server.take_read();
        get(Arc::new(client.clone()));
        let in_range = usize::from(key < 40_000);
        assert_eq!(server.take_read().len(), 1 + in_range, "the manifest, and a table if the key is in its range");
        assert_eq!(client.requests(), 2 + in_range as u64, "the listing, too");
        let meter = Meter::new(Arc::new(client));
        get(Arc::new(meter.clone()));
        let bytes = meter.reset().reads.bytes;
        assert!(bytes < 70_000, "{bytes} bytes");
    }
}

/// As [`store_of_five_levels`], where filters tell in which level a key is: a page of one for each level that is asked
/// before the last. The manifest has the ends of few of the tables, which few keys need.
#[test]
fn lookups_of_few_keys_read_nothing_of_other_tables() {
    let storage = store_of_five_levels();
    let mut random = Random::new(3);
    let (mut requests, mut bytes, mut found) = (0, 0, 0);
    let reader = Db::open_read_only(Arc::clone(&storage), &leveled()).unwrap();
    for _ in 0..200 {
        let keys: Vec<[u8; 8]> = (0..1 + random.below(3)).map(|_| key(random.below(2 * KEYS))).collect();
        let meter = Meter::new(Arc::clone(&storage));
        let chosen = |summary: ManifestSummary<'_>| {
            assert!(summary.has_tables("default") && summary.keyspaces().eq(["default"]));
            Some(keys.iter().map(|key| ("default".to_owned(), key.to_vec())).collect())
        };
        let db = Db::open_for_keys(Arc::new(meter.clone()), &leveled(), &chosen).unwrap();
        for key in &keys {
            assert_eq!(db.get(key).unwrap(), reader.get(key).unwrap());
            found += u64::from(db.get(key).unwrap().is_some());
        }
        assert_eq!(db.multi_get(&keys).unwrap(), reader.multi_get(&keys).unwrap());
        let reads = meter.reset().reads;
        (requests, bytes) = (requests + reads.requests, bytes + reads.bytes);
    }
    let (requests, bytes) = (requests as f64 / 200.0, bytes / 200);
    assert!(found > 100 && requests < 16.0 && bytes < 150_000, "{found} found: {requests} requests, {bytes} bytes");
}

/// A commit is one request, and so is an edit of the manifest.
#[test]
fn a_commit_is_one_request() {
    let server = SimulatedObjects::new();
    let counted = server.client();
    let db = Db::open(Arc::new(counted.clone()), &small().writes(|writes| writes.memtable_bytes(1 << 18))).unwrap();
    let before = counted.requests();
    for number in 0..100 {
        db.insert(format!("{number}"), vec![b'x'; 200]).unwrap();
    }
    assert_eq!(counted.requests() - before, 100);
}

/// However many there are; the request has the range alone.
#[test]
fn a_removal_of_all_records_is_one_request() {
    let server = SimulatedObjects::new();
    let counted = server.client();
    let db = Db::open(Arc::new(counted.clone()), &small().writes(|writes| writes.memtable_bytes(1 << 20))).unwrap();
    let typed = db.keyspace("typed").unwrap().typed::<u64, u64>().unwrap();
    for number in 0..300 {
        db.insert(format!("{number}"), "x").unwrap();
        typed.insert(number, number).unwrap();
    }
    db.flush().unwrap();
    let size = |server: &SimulatedObjects| server.objects().values().map(|bytes| bytes.len()).sum::<usize>();
    let removals: [&dyn Fn() -> ogive::Result<()>; 2] = [&|| db.remove_range::<&[u8]>(..), &|| typed.remove_range(..)];
    for remove in removals {
        let (requests, bytes) = (counted.requests(), size(&server));
        remove().unwrap();
        let (requests, bytes) = (counted.requests() - requests, size(&server) - bytes);
        assert!(requests == 1 && bytes < 200, "{requests} requests and {bytes} bytes");
    }
    assert_eq!((db.iter().count(), typed.iter().count()), (0, 0));
}

/// What a scan takes from the front, then from the end: the records of both, and the reads.
fn both_ways<T: PartialEq + std::fmt::Debug>(
    meter: &Meter,
    scan: impl Fn() -> Box<dyn DoubleEndedIterator<Item = T>>,
) -> (Vec<T>, u64, u64) {
    meter.reset();
    let forward: Vec<T> = scan().collect();
    let reads = meter.reset().reads.requests;
    let mut backward: Vec<T> = scan().rev().collect();
    let reversed = meter.reset().reads.requests;
    backward.reverse();
    assert!(forward == backward, "the same records");
    (forward, reads, reversed)
}

/// Options of readers on S3, which find nothing in a cache.
fn on_s3() -> DbOptions {
    let mut options = DbOptions::default().threads(0).profile(Profile::named("s3").unwrap());
    options.fast_paths.cache = false;
    options
}

#[test]
fn scans_from_the_end_take_as_many_reads_as_scans_from_the_front() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let db = Db::open(Arc::clone(&storage), &on_s3().levels(|levels| levels.table_bytes(1 << 20))).unwrap();
    for level in 0..3_u64 {
        let mut batch = db.batch();
        for number in (0..40_000_u64).filter(|number| level == 0 || number % (level * 7) == 0) {
            batch.insert(&db, ((number % 200) << 32 | number).to_be_bytes(), [level as u8; 100]);
        }
        batch.commit().unwrap();
        db.flush().unwrap();
        if level == 0 {
            db.compact().unwrap();
        }
    }
    db.close().unwrap();
    let meter = Meter::new(Arc::clone(&storage));
    let reader = Db::open_read_only(Arc::new(meter.clone()), &on_s3()).unwrap();
    let snapshot = reader.snapshot();
    let from = |number: u64| number << 32;
    let within = from(17).to_be_bytes()..from(140).to_be_bytes();
    let found = |record: ogive::Result<(ogive::Slice, ogive::Slice)>| record.unwrap().0.to_vec();
    let cases = [
        ("all", both_ways(&meter, || Box::new(reader.iter().map(found)))),
        ("a range", both_ways(&meter, || Box::new(reader.range(within.clone()).map(found)))),
        ("a snapshot", both_ways(&meter, || Box::new(snapshot.prefix(&reader, b"").map(found)))),
    ];
    for (name, (records, reads, reversed)) in cases {
        assert!(records.len() > 20_000 && reads >= 4, "{name}: {} records with {reads} reads", records.len());
        assert!(reversed <= reads + reads / 2, "{name}: {reversed} reads from the end, {reads} from the front");
    }
}

#[test]
fn scans_of_tables_from_the_end_take_as_many_reads_as_from_the_front() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let profile = Profile::named("s3").unwrap();
    let mut writer =
        TableWriter::create((Arc::clone(&storage), "t"), TableWriteOptions::default().profile(profile.clone()))
            .unwrap();
    for number in 0..40_000_u64 {
        writer.append(&number.to_be_bytes(), &[7; 100]).unwrap();
    }
    writer.finish().unwrap();
    let meter = Meter::new(storage);
    let mut options = TableOptions::default().profile(profile);
    options.fast_paths.cache = false;
    let table = Table::open((Arc::new(meter.clone()), "t"), &options).unwrap();
    let (records, reads, reversed) = both_ways(&meter, || Box::new(table.iter().map(|record| record.unwrap().0)));
    assert!(
        records.len() == 40_000 && reversed <= reads + reads / 2,
        "{reversed} from the end, {reads} from the front"
    );
}

/// From both ends in turn, each end has the reads of a scan of its half.
#[test]
fn a_scan_from_both_ends_takes_the_reads_of_two_halves() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let db = Db::open(Arc::clone(&storage), &on_s3()).unwrap();
    let mut batch = db.batch();
    for number in 0..40_000_u64 {
        batch.insert(&db, number.to_be_bytes(), [7; 100]);
    }
    batch.commit().unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let meter = Meter::new(storage);
    let reader = Db::open_read_only(Arc::new(meter.clone()), &on_s3()).unwrap();
    let (_, reads, _) = both_ways(&meter, || Box::new(reader.iter().map(|record| record.unwrap().0.to_vec())));
    let (mut records, mut number) = (reader.iter(), 0);
    while records.next().transpose().unwrap().is_some() {
        number += 1;
        number += u64::from(records.next_back().transpose().unwrap().is_some());
    }
    let in_turn = meter.reset().reads.requests;
    assert!(number == 40_000 && in_turn <= 2 * reads + 2, "{in_turn} reads in turn, {reads} from the front");
}
