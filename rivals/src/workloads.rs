//! The workloads by name.

use std::str::FromStr;

use anyhow::bail;
use ogive_bench::workload::{Requests, StoreMix};

/// Something that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
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
pub(crate) const SCAN_ENTRIES: usize = 100;
/// Threads of the synced load.
pub(crate) const LOAD_THREADS: usize = 8;

const NAMED: [(Workload, &str, &str); 13] = [
    (Workload::LoadRandom, "load-random", "batches of 1,000 in random order, log not synced; then `compact`"),
    (
        Workload::LoadSequential,
        "load-sequential",
        "batches of 1,000 in ascending order, log not synced; then `compact`",
    ),
    (Workload::LoadSynced, "load-synced", "one record a commit, each on the device when it returns, by 8 threads"),
    (Workload::PutRandom, "put-random", "one record a commit in random order by one thread, log not synced"),
    (Workload::PutSequential, "put-sequential", "the same in ascending order"),
    (Workload::Get, "get", "keys that are there, all data in memory"),
    (
        Workload::GetAbsent,
        "get-absent",
        "keys that are not there, from the gaps between the others, all data in memory",
    ),
    (Workload::Scan, "scan-100", "the 100 entries from a key on, all data in memory"),
    (Workload::ColdGet, "cold-get", "keys that are there, nothing in memory, a quarter of the data as budget"),
    (Workload::ColdGetAbsent, "cold-get-absent", "the same for keys that are not there"),
    (Workload::ColdScan, "cold-scan-100", "the same for the 100 entries from a key on"),
    (
        Workload::ColdFirst,
        "cold-first",
        "the first 1, 10, 100, ... keys that are there, with opening, nothing in memory, and a budget for all of it",
    ),
    (
        Workload::Overwrite,
        "overwrite",
        "new values in batches of 1,000, log not synced, until nothing goes on in the background",
    ),
];

impl Workload {
    /// All of them, in the order in which they run.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        NAMED.into_iter().map(|(workload, ..)| workload).chain(StoreMix::YCSB.into_iter().map(Self::Mix))
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Mix(mix) => mix.name(),
            _ => self.named().map_or_else(String::new, |(_, name, _)| (*name).into()),
        }
    }

    pub(crate) fn about(self) -> String {
        match self {
            Self::Mix(mix) => {
                format!("YCSB's workload, one write a commit, log not synced; requests {}", mix.requests())
            }
            _ => self.named().map_or_else(String::new, |(.., about)| (*about).into()),
        }
    }

    fn named(self) -> Option<&'static (Self, &'static str, &'static str)> {
        NAMED.iter().find(|(workload, ..)| *workload == self)
    }

    /// Whether it is measured while a store is made.
    pub(crate) fn is_load(self) -> bool {
        matches!(
            self,
            Self::LoadRandom | Self::LoadSequential | Self::LoadSynced | Self::PutRandom | Self::PutSequential
        )
    }

    /// Whether it begins with nothing in memory.
    pub(crate) fn is_cold(self) -> bool {
        matches!(self, Self::ColdGet | Self::ColdGetAbsent | Self::ColdScan | Self::ColdFirst)
    }

    /// Whether the store is another one afterwards.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Overwrite | Self::Mix(_))
    }

    /// The requests that it has by itself.
    pub(crate) fn requests(self) -> Requests {
        if let Self::Mix(mix) = self { mix.requests() } else { Requests::Uniform }
    }
}

impl FromStr for Workload {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        if let Some(workload) = Self::all().find(|workload| workload.name() == text) {
            return Ok(workload);
        }
        let names: Vec<String> = Self::all().map(Self::name).collect();
        bail!("a workload is one of {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_a_name_of_its_own() -> anyhow::Result<()> {
        for workload in Workload::all() {
            assert_eq!(workload.name().parse::<Workload>()?, workload);
            assert!(!workload.about().is_empty());
        }
        Ok(())
    }
}
