//! The protocol between the conductor and its workers: one JSON object per line in each direction.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::bail;
use serde::{Deserialize, Serialize};

/// What a worker works on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) system: String,
    pub(crate) keys: String,
    pub(crate) number: u64,
    pub(crate) seed: u64,
    pub(crate) key_form: String,
    pub(crate) value_bytes: usize,
    pub(crate) memtable_bytes: u64,
    pub(crate) lz4: bool,
    /// Keys that are not loaded, but come in later.
    pub(crate) held_out: u64,
}

/// The order in which keys come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    Random,
    Sequential,
}

impl FromStr for Order {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text {
            "random" => Ok(Self::Random),
            "sequential" => Ok(Self::Sequential),
            _ => bail!("keys come in random or sequential order"),
        }
    }
}

impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Self::Random { "random" } else { "sequential" })
    }
}

/// A job of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Open the store in a folder, or make one there.
    Open { folder: PathBuf, budget_bytes: u64, synced: bool, direct: bool },
    /// Close it.
    Close,
    /// Put in all records but those held out, in batches of a thousand.
    Load { order: Order },
    /// Put in records one a commit, from several threads.
    LoadOneByOne { order: Order, threads: usize, commits: u64 },
    /// Bring the store into the form that is best for reading.
    Compact,
    /// Read all of it once, and check some values.
    Warm,
    /// Look up keys.
    Gets { present: bool, requests: String, count: u64, seed: u64 },
    /// Read some entries from keys that are there.
    Scans { entries: usize, requests: String, count: u64, seed: u64 },
    /// Overwrite values, in batches of a thousand.
    Overwrites { requests: String, count: u64, seed: u64 },
    /// Run a mix of reads and writes, one a commit.
    Mix { mix: String, requests: String, count: u64, seed: u64 },
    /// Drop the files of the store from the page cache; it must be closed.
    Drop { folder: PathBuf },
}

/// What came of a job.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Operations done.
    pub(crate) operations: u64,
    pub(crate) elapsed_ns: f64,
    /// Time of the processor, all threads together.
    pub(crate) processor_ns: f64,
    /// Bytes that the store's files occupy.
    pub(crate) disk_bytes: u64,
    /// Resident set, less what it was before the store was opened.
    pub(crate) memory_bytes: u64,
    /// Bytes that were fetched from the device meanwhile.
    pub(crate) read_bytes: u64,
    /// Bytes that were sent to the device meanwhile.
    pub(crate) written_bytes: u64,
}

impl Outcome {
    /// This, and then another: sums, and what the store takes after it.
    pub(crate) fn and(&self, next: &Self) -> Self {
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
pub(crate) type Answer = Result<Outcome, String>;
