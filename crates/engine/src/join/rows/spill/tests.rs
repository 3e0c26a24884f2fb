//! Goal: spill files return the bytes written, detect damage, and are removed after success, failure and a kill.

use super::*;
use crate::error::{Cause, Error, Result};
use crate::io::{LocalStorage, MemoryStorage, Purpose, Storage, StorageWrapper, WritableFile, WriterWrapper};
use crate::join::rows::options::JoinOptions;
use crate::join::rows::task::Task;
use crate::table::sort::ChunkLocation;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const CLAIM: &str = "0123456789abcdef";

fn open(storage: &MemoryStorage) -> Arc<Spill> {
    let task = Task::new(&JoinOptions::default()).unwrap();
    Spill::open(&task, Arc::new(storage.clone()), "out").unwrap()
}

fn noise(count: usize) -> Vec<u8> {
    (0..count as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn read_all(bytes: &SpilledBytes, buffer_bytes: usize) -> Result<Vec<u8>> {
    let mut reader = bytes.reader(buffer_bytes);
    let mut found = Vec::new();
    while reader.advance()? {
        found.extend_from_slice(reader.rest());
    }
    Ok(found)
}

#[test]
fn bytes_come_back_as_often_as_they_are_read_and_leave_no_file() {
    let storage = MemoryStorage::new();
    let spill = open(&storage);
    for (count, payload_bytes, piece) in
        [(0, 10, 1), (1, 1, 1), (1000, 16, 7), (1000, 64, 200), (64, 64, 64), (130, 65, 3)]
    {
        let expected = noise(count);
        let mut writer = ByteWriter::create(spill.name().unwrap(), payload_bytes).unwrap();
        expected.chunks(piece).for_each(|piece| writer.write(piece).unwrap());
        let bytes = writer.finish().unwrap();
        for buffer_bytes in [0, 100, 10_000] {
            assert_eq!(read_all(&bytes, buffer_bytes).unwrap(), expected, "{count} by {payload_bytes}, {buffer_bytes}");
        }
        let mut target = Vec::new();
        let mut reader = bytes.reader(100);
        assert!(reader.read(count / 3, &mut target).unwrap());
        assert!(!reader.read(count + 1, &mut target).unwrap());
        assert_eq!(target, expected);
    }
    drop(spill);
    assert_eq!(storage.list().unwrap(), Vec::<String>::new());
}

#[test]
fn chunks_are_read_in_any_order() {
    let spill = open(&MemoryStorage::new());
    let mut writer = spill.create().unwrap();
    let chunks: Vec<Vec<u8>> = (1..20).map(|i| noise(i * 13)).collect();
    let locations: Vec<ChunkLocation> = chunks.iter().map(|chunk| writer.append(&mut chunk.clone()).unwrap()).collect();
    let file = writer.finish().unwrap();
    let mut buffers: Vec<Vec<u8>> = locations.iter().map(|location| vec![0; location.stored_bytes as usize]).collect();
    let requests =
        locations.iter().zip(&mut buffers).rev().map(|(location, buffer)| (location.offset, &mut buffer[..])).collect();
    file.read_chunks(requests).unwrap();
    for ((location, buffer), chunk) in locations.iter().zip(&buffers).zip(&chunks) {
        assert_eq!(&buffer[..location.payload_bytes()], chunk);
    }
}

#[test]
fn every_damage_is_an_error() {
    let damages: [fn(&mut [u8]); 4] = [
        |file| file[3] ^= 1,
        |file| *file.last_mut().unwrap() ^= 128,
        |file| file[..128].rotate_left(64),
        |file| file[64 * 9..].fill(0),
    ];
    for damage in damages {
        let storage = MemoryStorage::new();
        let spill = open(&storage);
        let mut writer = ByteWriter::create(spill.name().unwrap(), 60).unwrap();
        writer.write(&noise(600)).unwrap();
        let bytes = writer.finish().unwrap();
        let name = storage.list().unwrap().into_iter().find(|name| name.ends_with(".spill")).unwrap();
        let mut content = storage.content(&name).unwrap();
        damage(&mut content);
        storage.open_update(&name).unwrap().write_at(0, &content, Purpose::Input).unwrap();
        assert!(matches!(read_all(&bytes, 0), Err(error @ Error { cause: Cause::Damaged, .. })
                if error.path().unwrap().ends_with(&name)));
    }
}

#[test]
fn a_file_goes_with_its_last_reader_and_the_lock_with_the_last_file() {
    let storage = MemoryStorage::new();
    let spill = open(&storage);
    assert!(storage.list().unwrap().is_empty(), "nothing was put aside yet");
    let mut writer = ByteWriter::create(spill.name().unwrap(), 60).unwrap();
    writer.write(&noise(600)).unwrap();
    let bytes = writer.finish().unwrap();
    let reader = bytes.reader(0);
    drop(bytes);
    drop(spill);
    assert_eq!(storage.list().unwrap().len(), 2);
    drop(reader);
    assert!(storage.list().unwrap().is_empty());
}

#[test]
fn what_others_put_under_a_name_goes_with_it() {
    let storage = MemoryStorage::new();
    let spill = open(&storage);
    let name = spill.name().unwrap();
    let other = spill.name().unwrap();
    for suffix in ["", ".log-1", ".lock", ".000001.ogive-sort"] {
        storage.put(&format!("{}{suffix}", name.as_str()), vec![1]).unwrap();
    }
    storage.put(other.as_str(), vec![1]).unwrap();
    drop(name);
    assert_eq!(
        storage.list().unwrap().iter().filter(|name| name.contains(".spill") && !name.contains("lock")).count(),
        1
    );
}

#[test]
fn leftovers_of_dead_joins_are_removed_and_nothing_else() {
    let storage = MemoryStorage::new();
    let alive = open(&storage);
    let _name = alive.name().unwrap();
    let file = alive.create().unwrap();
    let live_files = storage.list().unwrap();
    let strangers = [
        "out".to_owned(),
        format!("out2.{CLAIM}-000.spill"),
        format!("out.{CLAIM}-000.spilled"),
        format!("out.{CLAIM}-x.spill"),
        format!("out.{CLAIM}-.spill"),
        format!("out.{CLAIM}"),
        format!("out.{CLAIM}.spill"),
        "out.0123456789ABCDEF-000.spill".to_owned(),
        "out.012345678-000.spill".to_owned(),
        format!("a.out.{CLAIM}-000.spill"),
    ];
    let leftovers = [
        format!("out.{CLAIM}-000.spill"),
        format!("out.{CLAIM}-1234.spill"),
        format!("out.{CLAIM}-001.spill.lock"),
        format!("out.{CLAIM}-001.spill.000001.ogive-sort"),
        format!("out.{CLAIM}.spill-lock"),
        "out.00000000000000ff-000.spill".to_owned(),
        "out.fffffffffffffff0.spill-lock".to_owned(),
    ];
    strangers.iter().chain(&leftovers).for_each(|name| storage.put(name, vec![1]).unwrap());
    let next = open(&storage);
    let mut expected = [live_files.clone(), strangers.to_vec()].concat();
    expected.sort();
    assert_eq!(storage.list().unwrap(), expected);
    drop((next, file, _name, alive));
    let mut expected = strangers.to_vec();
    expected.sort();
    assert_eq!(storage.list().unwrap(), expected);
}

#[test]
fn leftovers_that_cannot_be_locked_stay_and_keep_no_join_from_running() {
    let folder = tempfile::tempdir().unwrap();
    let storage = LocalStorage::new(folder.path());
    // As one that another user owns.
    let lock = folder.path().join(format!("out.{CLAIM}.spill-lock"));
    std::fs::DirBuilder::new().create(lock).unwrap();
    let leftover = format!("out.{CLAIM}-000.spill");
    storage.create(&leftover).unwrap().append(b"rows").unwrap();
    let task = Task::new(&JoinOptions::default()).unwrap();
    let spill = Spill::open(&task, Arc::new(storage.clone()), "out").unwrap();
    spill.name().unwrap();
    drop(spill);
    assert!(storage.exists(&leftover).unwrap());
}

#[test]
fn a_join_that_is_stopped_writes_and_reads_nothing_more() {
    let storage = MemoryStorage::new();
    let stop = Arc::new(AtomicBool::new(false));
    let task = Task::new(&JoinOptions { stop: Some(Arc::clone(&stop)), ..JoinOptions::default() }).unwrap();
    let spill = Spill::open(&task, Arc::new(storage.clone()), "out").unwrap();
    let mut writer = ByteWriter::create(spill.name().unwrap(), 60).unwrap();
    writer.write(&noise(600)).unwrap();
    let mut stopped = ByteWriter::create(spill.name().unwrap(), 60).unwrap();
    let bytes = writer.finish().unwrap();
    stop.store(true, Ordering::Relaxed);
    assert!(matches!(stopped.write(&noise(100)), Err(Error { cause: Cause::Interrupted, .. })));
    assert!(matches!(read_all(&bytes, 0), Err(Error { cause: Cause::Interrupted, .. })));
    drop((stopped, bytes, spill));
    assert!(storage.list().unwrap().is_empty());
}

/// A storage with a size limit per file.
#[derive(Debug)]
struct FullStorage(MemoryStorage, u64);

#[derive(Debug)]
struct FullWriter(Box<dyn WritableFile>, u64);

impl StorageWrapper for FullStorage {
    fn inner(&self) -> &dyn Storage {
        &self.0
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(FullWriter(self.0.create(name)?, self.1)))
    }
}

impl WriterWrapper for FullWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.0
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.0
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.0.len() + bytes.len() as u64 > self.1 {
            return Err(Error::io("write", self.0.path(), ErrorKind::StorageFull.into()));
        }
        self.0.append(bytes)
    }
}

#[test]
fn a_full_storage_is_a_typed_error_and_leaves_no_file() {
    let storage = MemoryStorage::new();
    let task = Task::new(&JoinOptions::default()).unwrap();
    let spill = Spill::open(&task, Arc::new(FullStorage(storage.clone(), 500)), "out").unwrap();
    let mut writer = ByteWriter::create(spill.name().unwrap(), 60).unwrap();
    let refused = writer.write(&noise(600));
    assert!(matches!(refused, Err(Error { cause: Cause::Io(ErrorKind::StorageFull), .. })));
    drop((writer, spill));
    assert!(storage.list().unwrap().is_empty());
}
