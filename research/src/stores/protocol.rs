//! The protocol between the conductor and its workers: one JSON object per line in each direction.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::keys::generators;
use crate::keys::spec::format_count;

/// What a worker works on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) system: String,
    pub(super) keys: String,
    pub(super) number: u64,
    pub(super) seed: u64,
    pub(super) key_form: String,
    pub(super) value_bytes: usize,
    pub(super) memtable_bytes: u64,
    pub(super) lz4: bool,
    /// Keys that are not loaded, but come in later.
    pub(super) held_out: u64,
}

impl Setup {
    /// The full name of the key set: a generated one takes count and seed of the set-up where it states none.
    pub(super) fn key_set(&self) -> String {
        let generated = generators().iter().any(|generator| self.keys.split(':').next() == Some(generator.name));
        let fields: Vec<&str> = self.keys.split(':').skip(1).collect();
        let mut name = self.keys.clone();
        if generated && !fields.iter().any(|field| field.starts_with(|c: char| c.is_ascii_digit())) {
            name += &format!(":{}", format_count(self.number));
        }
        if generated && !fields.iter().any(|field| field.starts_with("seed=")) {
            name += &format!(":seed={}", self.seed);
        }
        name
    }
}

/// The order in which keys come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LoadOrder {
    Random,
    Sequential,
}

impl FromStr for LoadOrder {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text {
            "random" => Ok(Self::Random),
            "sequential" => Ok(Self::Sequential),
            _ => bail!("keys come in random or sequential order"),
        }
    }
}

impl std::fmt::Display for LoadOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Self::Random { "random" } else { "sequential" })
    }
}

/// A job of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Job {
    /// Open the store in a folder, or make one there.
    Open { folder: PathBuf, memory_bytes: u64, synced: bool, direct: bool },
    /// Close it.
    Close,
    /// Put in all records but those held out, in batches of a thousand.
    Load { order: LoadOrder },
    /// Put in records one a commit, from several threads.
    LoadOneByOne { order: LoadOrder, threads: usize, commits: u64 },
    /// Bring the store into the form that is best for reading.
    Compact,
    /// Read all of it once, and compare every value: never measured.
    Warm,
    /// Look up keys.
    Gets { present: bool, requests: String, count: u64, seed: u64 },
    /// Read some entries from keys that are there.
    Scans { entries: usize, requests: String, count: u64, seed: u64 },
    /// Overwrite values, in batches of a thousand.
    Overwrites { requests: String, count: u64, seed: u64 },
    /// Run a mix of reads and writes, one a commit.
    Mix { mix: String, requests: String, count: u64, seed: u64 },
    /// Look up some records, and compare the values: never measured.
    Check { count: u64, seed: u64 },
    /// Drop the files of the store from the page cache; it must be closed.
    Drop { folder: PathBuf },
}

/// What came of a job.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct JobOutcome {
    /// Operations done.
    pub(super) operations: u64,
    pub(super) elapsed_ns: f64,
    /// Time of the processor, all threads together.
    pub(super) processor_ns: f64,
    /// Bytes that the store's files occupy.
    pub(super) disk_bytes: u64,
    /// Resident set, less what it was before the store was opened.
    pub(super) memory_bytes: u64,
    /// Bytes that were fetched from the device meanwhile.
    pub(super) read_bytes: u64,
    /// Bytes that were sent to the device meanwhile.
    pub(super) written_bytes: u64,
}

impl JobOutcome {
    /// This, and then another: sums, and what the store takes after it.
    pub(super) fn and(&self, next: &Self) -> Self {
        Self {
            operations: self.operations + next.operations,
            elapsed_ns: self.elapsed_ns + next.elapsed_ns,
            processor_ns: self.processor_ns + next.processor_ns,
            read_bytes: self.read_bytes + next.read_bytes,
            written_bytes: self.written_bytes + next.written_bytes,
            ..next.clone()
        }
    }
}

/// A worker's answer.
pub(super) type Answer = Result<JobOutcome, String>;
