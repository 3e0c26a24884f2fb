//! A store: a log file, and all records in a map in memory.
//!
//! ```text
//!  commit    checksum of the body (8)  length of the body (4)  body
//!  body      length of the key (4)  length of the value (4)  key  value, for each record of the batch
//! ```
//!
//! Numbers are little-endian. A write appends a commit and then changes the map, so that a commit counts wholly or not
//! at all. Opening reads the log into the map, and cuts off a commit that is not whole, which a crash leaves at the
//! end. Compaction writes a new log of the records that are left.
//!
//! It is a store to begin with, and a bound: its lookups are those of a map in memory, without a limit.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Error, Write};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

use ogive_research::stores::{KeyValueStore, StoreBatch, StoreResult, StoreSessions, StoreSettings, StoreSystem};

/// The system: what `--system log` opens.
pub const LOG_STORE: StoreSystem = StoreSystem { name: "log", settings, reads_directly: false, open };

const LOG: &str = "records.log";
/// A log that compaction is writing.
const NEXT_LOG: &str = "records.next";
const HEADER_BYTES: usize = 12;
/// Records of a commit that compaction writes.
const COMPACTED_RECORDS: usize = 1_000;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

struct LogStore {
    folder: PathBuf,
    synced: bool,
    /// The log, at its end. None after a failed write: what follows a commit that is not whole would be lost.
    log: Mutex<Option<File>>,
    records: RwLock<Records>,
}

/// The line that `stores list` prints: it says which settings the store does not follow.
fn settings(settings: &StoreSettings) -> String {
    let durable = if settings.synced { "each commit synced" } else { "not synced" };
    format!("all records in memory whatever the memory, log {durable}, no compression")
}

fn open(folder: &Path, settings: &StoreSettings) -> StoreResult<Box<dyn StoreSessions>> {
    let path = folder.join(LOG);
    let log = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
    let bytes = std::fs::read(&path)?;
    let mut records = Records::new();
    let mut rest = bytes.as_slice();
    while let Some((body, behind)) = first_commit(rest) {
        for (key, value) in records_of(body) {
            records.insert(key.into(), value.into());
        }
        rest = behind;
    }
    if !rest.is_empty() {
        log.set_len((bytes.len() - rest.len()) as u64)?;
    }
    Ok(Box::new(LogStore {
        folder: folder.into(),
        synced: settings.synced,
        log: Mutex::new(Some(log)),
        records: RwLock::new(records),
    }))
}

impl KeyValueStore for LogStore {
    fn write(&self, batch: &StoreBatch) -> StoreResult<()> {
        // Held until the map has the records: it takes commits in the order of the log.
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let file = log.as_mut().ok_or_else(|| Error::other("an earlier write failed; open the store again"))?;
        let mut written = file.write_all(&commit(batch.iter()));
        if self.synced {
            written = written.and_then(|()| file.sync_data());
        }
        if let Err(error) = written {
            *log = None;
            return Err(error.into());
        }
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        records.extend(batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
        Ok(())
    }

    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> StoreResult<bool> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        let value = records.get(key);
        out.clear();
        out.extend_from_slice(value.map_or(&[], Vec::as_slice));
        Ok(value.is_some())
    }

    fn scan(&self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> StoreResult<usize> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        out.clear();
        let mut passed = 0;
        for (key, value) in records.range::<[u8], _>((Bound::Included(from), Bound::Unbounded)).take(entries) {
            out.extend_from_slice(key);
            out.extend_from_slice(value);
            passed += 1;
        }
        Ok(passed)
    }

    /// Replaces the log by one without overwritten records.
    fn compact(&mut self) -> StoreResult<()> {
        let records = self.records.get_mut().unwrap_or_else(PoisonError::into_inner);
        let next = self.folder.join(NEXT_LOG);
        let mut file = File::create(&next)?;
        let all: Vec<(&[u8], &[u8])> = records.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
        for part in all.chunks(COMPACTED_RECORDS) {
            file.write_all(&commit(part.iter().copied()))?;
        }
        // The new log is on the device before it has the name of the old one.
        file.sync_all()?;
        std::fs::rename(next, self.folder.join(LOG))?;
        File::open(&self.folder)?.sync_all()?;
        *self.log.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(file);
        Ok(())
    }

    // `wait_idle` has nothing to wait for: a write is in the log when it returns.
}

/// The bytes of a commit.
fn commit<'r>(records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    for (key, value) in records {
        bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
    }
    let (header, body) = bytes.split_at_mut(HEADER_BYTES);
    header[..8].copy_from_slice(&checksum(body).to_le_bytes());
    header[8..].copy_from_slice(&(body.len() as u32).to_le_bytes());
    bytes
}

/// The body of the first commit, and what follows it; none if it is not whole.
fn first_commit(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (stated, rest) = bytes.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (body, behind) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    (checksum(body) == u64::from_le_bytes(*stated)).then_some((body, behind))
}

/// The records of a body.
fn records_of(mut body: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let (key_bytes, rest) = body.split_first_chunk::<4>()?;
        let (value_bytes, rest) = rest.split_first_chunk::<4>()?;
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*key_bytes) as usize)?;
        let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value_bytes) as usize)?;
        body = rest;
        Some((key, value))
    })
}

/// FNV-1a, which finds a torn commit; a store for use takes a stronger one.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
