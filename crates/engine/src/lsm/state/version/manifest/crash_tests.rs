//! Crash tests of manifests. Goal: after a crash while manifests are written, replaced or closed, the store opens with
//! the last acknowledged edit, or with one that was in progress. Method: the calls of a run are recorded; a power loss
//! is simulated after each of them, with any subset of the unsynced writes, reordered and torn; crashes during recovery
//! are simulated likewise.

use super::tests::flush;
use super::{ClosedLengths, Manifest, recover, remove_leftovers};
use crate::error::Result;
use crate::io::{MemoryStorage, Storage, StorageWrapper, WritableFile};
use crate::lsm::state::version::state::ManifestState;
use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A call that changes the disk. Files are numbered as they are created.
#[derive(Clone, Debug)]
enum Call {
    Create(String, usize),
    Write(usize, u64, Vec<u8>),
    Sync(usize),
    Rename(String, String),
    Remove(String),
    SyncDirectory,
    /// Not a call: this many states are acknowledged from here on.
    Reached(usize),
}

type Calls = Arc<Mutex<Vec<Call>>>;

/// A storage that records all calls.
#[derive(Debug)]
struct Recorder {
    memory: MemoryStorage,
    calls: Calls,
    files: Mutex<usize>,
}

impl Recorder {
    fn over(files: &BTreeMap<String, Vec<u8>>) -> (Arc<dyn Storage>, Calls) {
        let (memory, calls) = (MemoryStorage::new(), Calls::default());
        files.iter().for_each(|(name, content)| memory.put(name, content.clone()).unwrap());
        let recorder = Self { memory, calls: Arc::clone(&calls), files: Mutex::new(files.len()) };
        (Arc::new(recorder), calls)
    }

    fn record(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }
}

impl StorageWrapper for Recorder {
    fn inner(&self) -> &dyn Storage {
        &self.memory
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        let inner = self.memory.create(name)?;
        let mut files = self.files.lock().unwrap();
        self.record(Call::Create(name.to_owned(), *files));
        *files += 1;
        Ok(Box::new(RecordingWriter {
            inner,
            file: *files - 1,
            calls: Arc::clone(&self.calls),
            path: PathBuf::from(name),
        }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.record(Call::Rename(from.to_owned(), to.to_owned()));
        self.memory.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.record(Call::Remove(name.to_owned()));
        self.memory.remove(name)
    }

    fn sync_directory(&self) -> Result<()> {
        self.record(Call::SyncDirectory);
        Ok(())
    }
}

#[derive(Debug)]
struct RecordingWriter {
    inner: Box<dyn WritableFile>,
    file: usize,
    calls: Calls,
    path: PathBuf,
}

impl WritableFile for RecordingWriter {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.calls.lock().unwrap().push(Call::Write(self.file, offset, bytes.to_vec()));
        self.inner.write_at(offset, bytes)
    }

    fn sync(&mut self) -> Result<()> {
        self.calls.lock().unwrap().push(Call::Sync(self.file));
        self.inner.sync()
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// The files after the first `count` calls and a crash, and the number of states acknowledged by then.
fn crash(
    start: &BTreeMap<String, Vec<u8>>,
    calls: &[Call],
    keep: &mut dyn FnMut() -> bool,
    random: &mut Random,
) -> (BTreeMap<String, Vec<u8>>, usize) {
    let mut contents: Vec<Vec<u8>> = start.values().cloned().collect();
    let mut names: BTreeMap<String, usize> = start.keys().cloned().zip(0..).collect();
    let mut reached = 0;
    let last_sync = |at: usize, wanted: &dyn Fn(&Call) -> bool| calls[at..].iter().any(wanted);
    for (at, call) in calls.iter().enumerate() {
        match call {
            Call::Create(name, file) => {
                contents.resize(contents.len().max(file + 1), Vec::new());
                if last_sync(at, &|call| matches!(call, Call::SyncDirectory)) || keep() {
                    names.insert(name.clone(), *file);
                }
            }
            Call::Write(file, offset, bytes) => {
                let durable = last_sync(at, &|call| matches!(call, Call::Sync(synced) if synced == file));
                let kept = if durable || keep() { bytes.len() } else { random.below(bytes.len() as u64 + 1) as usize };
                let torn = !durable && !keep();
                overlay(&mut contents[*file], *offset as usize, if torn { &bytes[..kept] } else { bytes });
            }
            Call::Rename(from, to) => {
                if (last_sync(at, &|call| matches!(call, Call::SyncDirectory)) || keep())
                    && let Some(file) = names.remove(from)
                {
                    names.insert(to.clone(), file);
                }
            }
            Call::Remove(name) => {
                if last_sync(at, &|call| matches!(call, Call::SyncDirectory)) || keep() {
                    names.remove(name);
                }
            }
            Call::Sync(_) | Call::SyncDirectory => {}
            Call::Reached(states) => reached = *states,
        }
    }
    (names.into_iter().map(|(name, file)| (name, contents[file].clone())).collect(), reached)
}

fn overlay(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    content.resize(content.len().max(offset + bytes.len()), 0);
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// The images tried for a crash: no pending changes, all of them, and random subsets.
fn images(
    start: &BTreeMap<String, Vec<u8>>,
    calls: &[Call],
    random_images: u64,
    mut check: impl FnMut(&BTreeMap<String, Vec<u8>>, usize, &str),
) {
    for count in 0..=calls.len() {
        for image in 0..random_images + 2 {
            let mut random = Random::new(count as u64 * 1000 + image);
            let mut coin = random.clone();
            let mut keep = || match image {
                0 => false,
                1 => true,
                _ => coin.one_in(2),
            };
            let (files, reached) = crash(start, &calls[..count], &mut keep, &mut random);
            check(&files, reached, &format!("after {count} calls, image {image}"));
        }
    }
}

/// Two manifests with edits, one replacing the other, and a closed one; returns the states in order of acknowledgement.
fn work(storage: &Arc<dyn Storage>, calls: &Calls) -> Vec<ManifestState> {
    let mut states = Vec::new();
    let reached = |states: &Vec<ManifestState>| calls.lock().unwrap().push(Call::Reached(states.len()));
    let mut state = ManifestState::new(77).apply(&flush(1)).unwrap();
    for number in [2, 20] {
        let mut manifest = Manifest::create(storage, number, &state, None).unwrap();
        if number == 2 {
            states.push(state.clone());
            reached(&states);
        }
        for edit in (number + 1..number + 5).map(flush) {
            state = state.apply(&edit).unwrap();
            manifest.append(&edit).unwrap();
            manifest.sync().unwrap();
            states.push(state.clone());
            reached(&states);
        }
    }
    let lengths = ClosedLengths { logs: vec![(1, 2)], ..ClosedLengths::default() };
    Manifest::create(storage, 40, &state, Some(&lengths)).unwrap();
    states
}

/// The recovered state, without its next file number.
fn reopened(files: &BTreeMap<String, Vec<u8>>, storage: &Arc<dyn Storage>) -> Option<ManifestState> {
    assert!(files.len() <= storage.list().unwrap().len());
    remove_leftovers(storage.as_ref()).unwrap();
    let recovered = recover(storage.as_ref()).unwrap()?;
    let (number, mut state) = (recovered.state.next_file, recovered.state);
    state.next_file += 1;
    Manifest::create(storage, number, &state, None).unwrap();
    state.next_file = 0;
    Some(state)
}

#[test]
fn after_every_crash_the_last_acknowledged_state_or_the_next_is_there() {
    let nothing = BTreeMap::new();
    let (storage, calls) = Recorder::over(&nothing);
    let states: Vec<ManifestState> =
        work(&storage, &calls).into_iter().map(|state| ManifestState { next_file: 0, ..state }).collect();
    let calls = calls.lock().unwrap().clone();
    let (mut tried, mut undecided) = (0, 0);
    images(&nothing, &calls, 12, |files, reached, point| {
        tried += 1;
        let (storage, recovery) = Recorder::over(files);
        let found = reopened(files, &storage);
        let place = found.as_ref().map(|found| states.iter().position(|state| state == found).unwrap() + 1);
        let place = place.unwrap_or(0);
        assert!(place == reached || place == reached + 1, "{point}: state {place}, acknowledged {reached}");
        undecided += usize::from(place > reached);
        let recovery = recovery.lock().unwrap().clone();
        images(files, &recovery, 2, |files, _, again| {
            let (storage, _) = Recorder::over(files);
            assert_eq!(reopened(files, &storage), found, "{point}, recovered, {again}");
        });
    });
    assert!(tried > 500 && undecided > 20, "{tried} images, {undecided} with an edit that was under way");
}
