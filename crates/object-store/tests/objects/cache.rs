//! The cache on the local disk. Goal: it saves requests, and never changes an answer. Method: random reads of objects
//! that are replaced, with caches that are too small, damaged, full, killed, and opened again.

use crate::faulty_store::{Fault as Answer, FaultyStore, Lacks};
use ogive::io::{ListedFile, MemoryStorage, Profile, Purpose, ReadRequest, Storage};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Db, DbOptions, Error, KeyType};
use ogive_object_store::{AsyncTable, DiskCache, ObjectOptions, ObjectStorage};
use ogive_testkit::{
    CrashOptions, Fault, FaultInjector, Operation, Random, SimulatedDisk, enumerate_crashes, enumerate_faults, seeds,
};
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn cached(cache: &Arc<DiskCache>) -> ObjectOptions {
    ObjectOptions::default().cache(Arc::clone(cache))
}

fn open(storage: &Arc<dyn Storage>) -> Table {
    Table::open((storage.clone(), "t"), &TableOptions::default().profile(Profile::named("s3").unwrap())).unwrap()
}

fn write(storage: &Arc<dyn Storage>, count: u64, word: u64) {
    let options = TableWriteOptions::default().key_type(KeyType::U64).block_bytes(Some(4096)).value_width(Some(8));
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    let mut random = Random::new(word);
    for number in 0..count {
        writer.append(&number.to_be_bytes(), &random.next_u64().to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn what_was_read_once_needs_no_request_again_even_after_a_restart() {
    let (store, disk) = (FaultyStore::new(), MemoryStorage::new());
    let keys: Vec<[u8; 8]> = (0..50_u64).map(|number| (number * 3_001).to_be_bytes()).collect();
    let mut answers = Vec::new();
    for round in 0..3 {
        let cache = DiskCache::open_in(&disk, 64 * MIB).unwrap();
        let storage = store.storage(cached(&cache));
        if round == 0 {
            write(&storage, 400_000, 1);
        }
        store.take_counts();
        let table = open(&storage);
        let found: Vec<_> = keys.iter().map(|key| table.get(key).unwrap().unwrap()).collect();
        let counts = store.take_counts();
        if round == 0 {
            answers = found;
            assert!(counts.gets > 10, "{counts:?}");
        } else {
            assert_eq!(found, answers);
            assert_eq!(counts.gets, 1, "the opening alone asks the store");
            assert_eq!(cache.counts().misses, 0);
        }
    }
}

/// With what an earlier process has kept, an opening is one request with an empty answer, and so is a whole lookup.
#[test]
fn an_opening_of_what_is_unchanged_is_one_empty_answer() {
    for count in [3_000, 400_000] {
        let (store, disk) = (FaultyStore::new(), MemoryStorage::new());
        write(&store.storage(ObjectOptions::default()), count, 1);
        let mut asked = Vec::new();
        for _ in 0..3 {
            let cache = DiskCache::open_in(&disk, 64 * MIB).unwrap();
            store.take_counts();
            let table = open(&store.storage(cached(&cache)));
            assert!(table.get(&(count / 2).to_be_bytes()).unwrap().is_some());
            let counts = store.take_counts();
            asked.push((counts.gets, counts.bytes));
        }
        assert_eq!(asked[1..], [(1, 0), (1, 0)], "{count} records: {asked:?}");
        // What takes its place is read.
        store.remove("t");
        write(&store.storage(ObjectOptions::default()), count + 1, 2);
        let cache = DiskCache::open_in(&disk, 64 * MIB).unwrap();
        store.take_counts();
        let table = open(&store.storage(cached(&cache)));
        assert_eq!(table.len(), count + 1);
        assert!(store.take_counts().bytes > 0);
    }
}

/// Files of stores are known by their listed ETags.
#[test]
fn a_store_is_read_from_the_cache_as_tables_are() {
    let (store, disk) = (FaultyStore::new(), MemoryStorage::new());
    let db = Db::open(store.storage(ObjectOptions::default()), &DbOptions::default().threads(0)).unwrap();
    for part in 0..20_u64 {
        let mut batch = db.batch();
        (0..1000).for_each(|number| _ = batch.insert(&db, (part * 1000 + number).to_be_bytes(), [part as u8; 100]));
        batch.commit().unwrap();
    }
    db.close().unwrap();
    let mut asked = Vec::new();
    for _ in 0..3 {
        let cache = DiskCache::open_in(&disk, 64 * MIB).unwrap();
        store.take_counts();
        let db = Db::open_read_only(store.storage(cached(&cache)), &DbOptions::default()).unwrap();
        assert_eq!(db.get(7_007_u64.to_be_bytes()).unwrap().as_deref(), Some(&[7; 100][..]));
        let counts = store.take_counts();
        asked.push((counts.lists, counts.gets));
    }
    assert_eq!(asked[1..], [(1, 1), (1, 1)], "the listing and the manifest: {asked:?}");
}

#[test]
fn lookups_as_futures_use_the_same_pages() {
    let (store, disk) = (FaultyStore::new(), MemoryStorage::new());
    let cache = DiskCache::open_in(&disk, 64 * MIB).unwrap();
    let plain = store.storage(cached(&cache));
    write(&plain, 400_000, 1);
    let table = open(&plain);
    let key = 123_456_u64.to_be_bytes();
    let expected = table.get(&key).unwrap();
    store.take_counts();
    let storage =
        ObjectStorage::new(store.clone(), "folder", "test://bucket/folder", &cached(&cache).backoff_ms(1)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let found = runtime.block_on(async {
        let table = AsyncTable::open(&storage, "t", &TableOptions::default()).await?;
        table.get(&key).await
    });
    assert_eq!(found.unwrap(), expected);
    assert_eq!(store.take_counts().gets, 1);
}

#[test]
fn a_replaced_object_is_read_anew_with_and_without_e_tags() {
    for e_tags in [false, true] {
        let (store, disk) = (FaultyStore::lacking(Lacks { e_tags, ..Lacks::default() }), MemoryStorage::new());
        let cache = DiskCache::open_in(&disk, 64 * MIB).unwrap();
        let storage = store.storage(cached(&cache));
        for word in 1..5 {
            // The same length each time.
            store.remove("t");
            write(&storage, 100_000, word);
            let table = open(&storage);
            let mut random = Random::new(word);
            for number in 0..100_000_u64 {
                let value = random.next_u64();
                if number % 997 == 0 {
                    assert_eq!(table.get(&number.to_be_bytes()).unwrap(), Some(value.to_le_bytes().to_vec()));
                }
            }
        }
    }
}

/// Whichever answer has other bytes, one lookup at most fails by it; what fails its checksum does not stay, neither for
/// later lookups nor for later openings.
#[test]
fn an_answer_with_other_bytes_is_not_kept() {
    let store = FaultyStore::new();
    let options = TableWriteOptions::default().key_type(KeyType::U64).block_bytes(Some(4096));
    let mut writer = TableWriter::create((store.storage(ObjectOptions::default()), "t"), options).unwrap();
    let value = |number: u64| vec![number as u8; if number % 1000 == 7 { 70_000 } else { 20 }];
    (0..20_000_u64).for_each(|number| writer.append(&number.to_be_bytes(), &value(number)).unwrap());
    writer.finish().unwrap();
    let content = store.content("t").unwrap();
    let keys = [7_u64, 500, 3007, 9_999, 12_007, 19_998];
    let mut failures = 0;
    for spoiled in 0..40 {
        let (store, disk) = (FaultyStore::new(), MemoryStorage::new());
        store.put("t", &content);
        let mut failed = 0;
        for opening in 0..3 {
            let cache = DiskCache::open_in(&disk, 64 * MIB).unwrap();
            let storage = store.storage(cached(&cache));
            if opening == 0 {
                store.fail_gets_after(spoiled, &[Answer::Spoiled]);
            }
            let options = TableOptions::default().profile(Profile::named("s3").unwrap());
            let mut table = Table::open((storage.clone(), "t"), &options);
            if let Err(error) = &table {
                assert!(matches!(error, Error { cause: Cause::Damaged | Cause::NotATable, .. }), "{spoiled}: {error}");
                failed += 1;
                table = Table::open((storage, "t"), &options);
            }
            let table = table.unwrap();
            for number in keys {
                match table.get(&number.to_be_bytes()) {
                    Ok(found) => assert!(found == Some(value(number)), "{spoiled}, {opening}: {number}"),
                    Err(Error { cause: Cause::Damaged, .. }) if opening == 0 => failed += 1,
                    Err(error) => panic!("{spoiled}, opening {opening}: {number}: {error}"),
                }
            }
        }
        assert!(failed <= 1, "{failed} failures by answer {spoiled}");
        failures += failed;
    }
    assert!(failures > 5, "{failures}");
}

/// Random reads of objects, and whether each has the bytes that it should have.
#[test]
fn random_reads_through_caches_of_any_state_are_those_of_the_objects() {
    for seed in seeds(0..40) {
        let mut random = Random::new(seed);
        let (store, disk) = (FaultyStore::new(), Arc::new(MemoryStorage::new()));
        let injector = FaultInjector::new(disk.clone());
        let mut objects: Vec<(String, Vec<u8>)> = Vec::new();
        for number in 0..3_u64 {
            let length = [1, 65_536, 65_537, 700_000, 3_000_000][random.below(5) as usize] + random.below(100);
            let bytes: Vec<u8> = (0..length).map(|at| (at / 251 + at * 7 + number * 13 + seed) as u8).collect();
            let name = format!("o{number}");
            store.put(&name, &bytes);
            objects.push((name, bytes));
        }
        for opening in 0..4_u64 {
            match random.below(4) {
                0 => injector.fail_from(Operation::Write, 4 + random.below(20), Fault::NoSpace),
                1 => injector.fail_from(Operation::Read, 4 + random.below(20), Fault::DeviceError),
                _ => injector.clear(),
            }
            let Ok(cache) = DiskCache::open_in(&injector, MIB * (1 + random.below(6))) else {
                injector.clear();
                continue;
            };
            let profile = Profile::affine("near", 1000.0, 1.0, 8).unwrap();
            let storage = store.storage(cached(&cache).profile(profile));
            if random.one_in(3) {
                let (name, bytes) = &mut objects[random.below(3) as usize];
                bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(opening as u8 + 1));
                store.put(name, bytes);
            }
            for _ in 0..30 {
                let (name, bytes) = &objects[random.below(3) as usize];
                let length = bytes.len() as u64;
                let known = ListedFile { length_bytes: Some(length), ..ListedFile::named(name) };
                let file = if random.one_in(2) { storage.open(name) } else { storage.open_known(&known) }.unwrap();
                let ranges: Vec<(u64, usize)> = (0..1 + random.below(5))
                    .map(|_| {
                        let start = random.below(length);
                        let most = [10, 5_000, 200_000, length][random.below(4) as usize];
                        (start, (1 + random.below(most)).min(length - start) as usize)
                    })
                    .collect();
                let mut buffers: Vec<Vec<u8>> = ranges.iter().map(|&(_, bytes)| vec![0; bytes]).collect();
                let requests = ranges.iter().zip(&mut buffers);
                let request = |((offset, _), buffer): (&(u64, usize), _)| ReadRequest {
                    offset: *offset,
                    buffer,
                    purpose: Purpose::Data,
                };
                file.read_many(requests.map(|(range, buffer)| request((range, &mut buffer[..]))).collect()).unwrap();
                for ((offset, length), buffer) in ranges.iter().zip(&buffers) {
                    let start = *offset as usize;
                    assert!(buffer[..] == bytes[start..start + length], "seed {seed}: {name} at {offset}, {length}");
                }
            }
            drop((storage, cache));
            // Damage, for the next opening.
            for name in ["ogive-cache.pages", "ogive-cache.slots"] {
                let file = disk.open_update(name).unwrap();
                if random.one_in(2) && file.len() > 5000 {
                    let offset = 4096 + random.below(file.len() - 4096);
                    file.write_at(offset, &[random.next_u64() as u8; 3], Purpose::Data).unwrap();
                }
            }
        }
    }
}

#[test]
fn walks_logs_and_inputs_pass_the_cache_by() {
    let (store, disk) = (FaultyStore::new(), MemoryStorage::new());
    let cache = DiskCache::open_in(&disk, 64 * MIB).unwrap();
    store.put("o", &vec![7; 2_000_000]);
    let file = store.storage(cached(&cache)).open("o").unwrap();
    for purpose in [Purpose::Walk, Purpose::Log, Purpose::Input] {
        file.read(ReadRequest { offset: 0, buffer: &mut [0; 1000], purpose }).unwrap();
    }
    assert_eq!((cache.counts().hits, cache.counts().misses, cache.counts().written), (0, 0, 0));
}

/// The content of page `number` of version `version` of an object of a test.
fn object(version: u64) -> Vec<u8> {
    (0..200_000_u64).map(|at| (at * 31 + version * 7 + at / 1000) as u8).collect()
}

fn read_versions(
    store: &Arc<FaultyStore>,
    cache: &Arc<DiskCache>,
    versions: std::ops::Range<u64>,
) -> Result<(), String> {
    let storage = store.storage(cached(cache).profile(Profile::affine("near", 1000.0, 1.0, 8).unwrap()));
    for version in versions {
        let bytes = object(version);
        let file = storage.open(&format!("v{version}")).map_err(|error| error.to_string())?;
        for start in [0, 60_000, 130_000] {
            let mut buffer = vec![0; 30_000];
            file.read(ReadRequest { offset: start, buffer: &mut buffer, purpose: Purpose::Data })
                .map_err(|error| error.to_string())?;
            if buffer[..] != bytes[start as usize..][..buffer.len()] {
                return Err(format!("version {version} has other bytes at {start}"));
            }
        }
    }
    Ok(())
}

#[test]
fn a_crash_at_any_write_leaves_a_cache_that_opens_and_is_right() {
    let store = FaultyStore::new();
    (0..9).for_each(|version| store.put(&format!("v{version}"), &object(version)));
    let options = CrashOptions { random_images: 4, ..CrashOptions::default() };
    let work = |disk: &SimulatedDisk| {
        // More pages than fit: slots are written again.
        if let Ok(cache) = DiskCache::open_in(disk, MIB) {
            read_versions(&store, &cache, 0..8).unwrap();
        }
    };
    enumerate_crashes(options, &SimulatedDisk::new(), work, |(), disk, _| {
        let cache = DiskCache::open_in(disk, MIB).map_err(|error| error.to_string())?;
        read_versions(&store, &cache, 4..9)
    })
    .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn no_fault_of_the_cache_is_one_of_a_read() {
    let store = FaultyStore::new();
    (0..3).for_each(|version| store.put(&format!("v{version}"), &object(version)));
    for (operation, fault) in [
        (Operation::Write, Fault::NoSpace),
        (Operation::Write, Fault::Short),
        (Operation::Read, Fault::DeviceError),
        (Operation::Read, Fault::Short),
    ] {
        let failed = enumerate_faults(
            operation,
            fault,
            || Arc::new(MemoryStorage::new()),
            |disk| match DiskCache::open_in(&*disk, MIB) {
                Ok(cache) => (0..2).for_each(|_| read_versions(&store, &cache, 0..3).unwrap()),
                Err(error) => assert!(matches!(error, Error { cause: Cause::Io(_), .. }), "{error}"),
            },
            |_, (), disk| {
                let cache = DiskCache::open_in(&*disk, MIB).unwrap();
                read_versions(&store, &cache, 0..3).unwrap();
            },
        );
        assert!(failed >= 9, "{operation:?}: {failed}");
    }
}
