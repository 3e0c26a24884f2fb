//! Files that are read and written in place: the same on every storage as in a plain array.

use ogive::io::{
    LocalStorage, MemoryStorage, Meter, ModelledClock, Profile, Purpose, ReadRequest, ReadableFile, Storage,
};
use ogive::{Cause, Error};
use ogive_testkit::{FaultInjector, Random, SimulatedDisk, Survival};
use std::io::ErrorKind;
use std::sync::Arc;

fn read(file: &dyn ReadableFile, offset: u64, length: usize) -> Vec<u8> {
    let mut buffer = vec![0; length];
    file.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Leaf }).unwrap();
    buffer
}

fn work(storage: &dyn Storage, seed: u64) {
    let mut random = Random::new(seed);
    let mut file = storage.create_update("a").unwrap();
    assert!(matches!(storage.create_update("a"), Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. })));
    let mut model: Vec<u8> = Vec::new();
    for _ in 0..60 {
        match random.below(8) {
            0 => {
                let length = random.below(20_000);
                file.set_len(length).unwrap();
                model.resize(length as usize, 0);
            }
            1 => {
                file.sync().unwrap();
                drop(file);
                file = storage.open_update("a").unwrap();
                // Direct writes are whole blocks: zeros may follow.
                assert!(file.len() >= model.len() as u64 && file.len() < model.len() as u64 + 4096);
                model.resize(file.len() as usize, 0);
            }
            _ => {
                let offset = random.below(30_000);
                let bytes: Vec<u8> = (0..random.below(9_000)).map(|_| random.next_u64() as u8).collect();
                file.write_at(offset, &bytes, Purpose::Leaf).unwrap();
                let end = offset as usize + bytes.len();
                if model.len() < end {
                    model.resize(end, 0);
                }
                model[offset as usize..end].copy_from_slice(&bytes);
            }
        }
        assert_eq!(file.len(), model.len() as u64);
        assert_eq!(read(&*file, 0, model.len()), model);
        let from = random.below(model.len() as u64 + 1) as usize;
        assert_eq!(read(&*file, from as u64, model.len() - from), model[from..]);
        let beyond = ReadRequest { offset: model.len() as u64, buffer: &mut [0], purpose: Purpose::Leaf };
        assert!(file.read(beyond).is_err());
    }
}

#[test]
fn every_storage_updates_in_place_as_an_array_does() {
    for seed in 0..12 {
        let directory = tempfile::tempdir().unwrap();
        let memory = || Arc::new(MemoryStorage::new());
        let storages: [Arc<dyn Storage>; 7] = [
            Arc::new(LocalStorage::new(directory.path())),
            memory(),
            Arc::new(SimulatedDisk::new()),
            Arc::new(Meter::new(memory())),
            Arc::new(FaultInjector::new(memory())),
            Arc::new(ModelledClock::new(memory(), Profile::affine("test", 50.0, 1000.0, 8).unwrap())),
            Arc::new(SimulatedDisk::new().fork()),
        ];
        for storage in storages {
            work(&*storage, seed);
        }
    }
}

#[test]
fn direct_updates_read_back_what_they_wrote_at_any_offset() {
    for seed in 0..8 {
        // Not the temporary directory, which may live in memory: there direct I/O is refused, and the fallback is
        // tried.
        for directory in [tempfile::tempdir().unwrap(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()] {
            work(&LocalStorage::direct(directory.path()), seed);
        }
    }
}

#[test]
fn a_meter_counts_what_is_written_in_place_by_purpose() {
    let meter = Meter::new(Arc::new(MemoryStorage::new()));
    let file = meter.create_update("a").unwrap();
    file.write_at(0, &[1; 8192], Purpose::Leaf).unwrap();
    file.write_at(4096, &[1; 10], Purpose::Leaf).unwrap();
    file.write_at(20_000, &[1; 10], Purpose::Log).unwrap();
    file.sync().unwrap();
    read(&*file, 0, 100);
    let counts = meter.reset();
    assert_eq!((counts.writes.requests, counts.writes.bytes, counts.writes.file_syncs), (3, 8212, 1));
    let leaf = counts.writes_by_purpose[&Purpose::Leaf];
    assert_eq!((leaf.requests, leaf.bytes, leaf.blocks), (2, 8202, 2));
    assert_eq!(counts.writes_by_purpose[&Purpose::Log].blocks, 1);
    assert_eq!(counts.reads_by_purpose[&Purpose::Leaf].blocks, 1);
}

#[test]
fn updates_that_were_not_synced_may_be_lost() {
    let disk = SimulatedDisk::new();
    let file = disk.create_update("a").unwrap();
    file.write_at(0, &[1; 1000], Purpose::Leaf).unwrap();
    file.sync().unwrap();
    disk.sync_directory().unwrap();
    file.write_at(500, &[2; 1000], Purpose::Leaf).unwrap();
    let left = |survival| disk.crash(survival).files()["a"].clone();
    assert_eq!(left(Survival::Nothing), [1; 1000]);
    assert_eq!(left(Survival::Everything).len(), 1500);
    let torn = (0..200).map(|seed| left(Survival::Subset(seed))).filter(|bytes| {
        let new = bytes[500..].iter().filter(|&&byte| byte == 2).count();
        new > 0 && new < 1000
    });
    assert!(torn.count() > 5, "writes are torn");
    file.set_len(10).unwrap();
    assert_eq!(left(Survival::Everything), [1; 10]);
    file.sync().unwrap();
    assert_eq!(left(Survival::Nothing), [1; 10]);
}
