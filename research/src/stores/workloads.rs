//! The workloads on stores, by name.

use std::str::FromStr;

use crate::workload::{Requests, StoreMix};
use anyhow::bail;

/// Something that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreWorkload {
    LoadRandom,
    LoadSequential,
    LoadSynced,
    PutRandom,
    PutSequential,
    Get,
    GetAbsent,
    Scan,
    ColdGet,
    ColdGetAbsent,
    ColdScan,
    ColdFirst,
    Overwrite,
    Mix(StoreMix),
}

/// Entries of one scan.
pub(super) const SCAN_ENTRIES: usize = 100;
/// Threads of the synced load.
pub(super) const LOAD_THREADS: usize = 8;

const NAMED: [(StoreWorkload, &str, &str); 13] = [
    (StoreWorkload::LoadRandom, "load-random", "batches of 1,000 in random order, log not synced; then `compact`"),
    (
        StoreWorkload::LoadSequential,
        "load-sequential",
        "batches of 1,000 in ascending order, log not synced; then `compact`",
    ),
    (StoreWorkload::LoadSynced, "load-synced", "one record a commit, each on the device when it returns, by 8 threads"),
    (StoreWorkload::PutRandom, "put-random", "one record a commit in random order by one thread, log not synced"),
    (StoreWorkload::PutSequential, "put-sequential", "the same in ascending order"),
    (StoreWorkload::Get, "get", "keys that are there, all data in memory"),
    (
        StoreWorkload::GetAbsent,
        "get-absent",
        "keys that are not there, from the gaps between the others, all data in memory",
    ),
    (StoreWorkload::Scan, "scan-100", "the 100 entries from a key on, all data in memory"),
    (StoreWorkload::ColdGet, "cold-get", "keys that are there, nothing in memory, a quarter of the data as memory"),
    (StoreWorkload::ColdGetAbsent, "cold-get-absent", "the same for keys that are not there"),
    (StoreWorkload::ColdScan, "cold-scan-100", "the same for the 100 entries from a key on"),
    (
        StoreWorkload::ColdFirst,
        "cold-first",
        "the first 1, 10, 100, ... keys that are there, with opening, nothing in memory, and memory for all of it",
    ),
    (
        StoreWorkload::Overwrite,
        "overwrite",
        "new values in batches of 1,000, log not synced, until nothing goes on in the background",
    ),
];

impl StoreWorkload {
    /// All of them, in the order in which they run.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        NAMED.into_iter().map(|(workload, ..)| workload).chain(StoreMix::YCSB.into_iter().map(Self::Mix))
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Mix(mix) => mix.name(),
            _ => self.named().map_or_else(String::new, |(_, name, _)| (*name).into()),
        }
    }

    pub(super) fn about(self) -> String {
        match self {
            Self::Mix(mix) => {
                format!("a mix of operations, one write a commit, log not synced; requests {}", mix.requests())
            }
            _ => self.named().map_or_else(String::new, |(.., about)| (*about).into()),
        }
    }

    fn named(self) -> Option<&'static (Self, &'static str, &'static str)> {
        NAMED.iter().find(|(workload, ..)| *workload == self)
    }

    /// Whether it is measured while a store is made.
    pub(super) fn is_load(self) -> bool {
        matches!(
            self,
            Self::LoadRandom | Self::LoadSequential | Self::LoadSynced | Self::PutRandom | Self::PutSequential
        )
    }

    /// Whether it begins with nothing in memory.
    pub(super) fn is_cold(self) -> bool {
        matches!(self, Self::ColdGet | Self::ColdGetAbsent | Self::ColdScan | Self::ColdFirst)
    }

    /// Whether the store is another one afterwards.
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Overwrite | Self::Mix(_))
    }

    /// The requests that it has by itself.
    pub(super) fn requests(self) -> Requests {
        if let Self::Mix(mix) = self { mix.requests() } else { Requests::Uniform }
    }
}

impl FromStr for StoreWorkload {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        if let Some(workload) = Self::all().find(|workload| workload.name() == text) {
            return Ok(workload);
        }
        if let Ok(mix) = text.parse() {
            return Ok(Self::Mix(mix));
        }
        let names: Vec<String> = Self::all().map(Self::name).collect();
        bail!("a workload is one of {}, writes:PERCENT, scans:PERCENT", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_a_name_of_its_own() -> anyhow::Result<()> {
        for workload in StoreWorkload::all() {
            assert_eq!(workload.name().parse::<StoreWorkload>()?, workload);
            assert!(!workload.about().is_empty());
        }
        Ok(())
    }
}
