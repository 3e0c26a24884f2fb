//! The workloads of the AULID paper (Section 5.1.3), as streams of operations.

use std::str::FromStr;

use super::population::Population;
use super::requests::{Chooser, Requests};
use crate::error::{Error, Result};
use crate::random::Random;

/// Entries that one scan passes.
pub const SCAN_ENTRIES: usize = 100;

/// Operations between two commits.
pub const COMMIT_OPERATIONS: usize = 1_000;

/// One operation on an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Looks up a key that is there.
    Get(u64),
    /// Passes [`SCAN_ENTRIES`] entries from a key that is there.
    Scan(u64),
    /// Puts in a key that is not there.
    Insert(u64),
}

/// A workload: how many operations in a hundred are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// W1: lookups over the whole set.
    LookupOnly,
    /// W2: scans of 100 over the whole set.
    ScanOnly,
    /// W3: inserts.
    WriteOnly,
    /// W4: nine lookups to one insert.
    ReadHeavy,
    /// W5: as many lookups as inserts.
    Balanced,
    /// W6: nine inserts to one lookup.
    WriteHeavy,
    /// Inserts in ascending order, behind all keys that are there.
    Append,
}

impl Mix {
    /// W1 to W6, then appends.
    pub const ALL: [Self; 7] = [
        Self::LookupOnly,
        Self::ScanOnly,
        Self::WriteOnly,
        Self::ReadHeavy,
        Self::Balanced,
        Self::WriteHeavy,
        Self::Append,
    ];

    /// The name in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::LookupOnly => "w1",
            Self::ScanOnly => "w2",
            Self::WriteOnly => "w3",
            Self::ReadHeavy => "w4",
            Self::Balanced => "w5",
            Self::WriteHeavy => "w6",
            Self::Append => "append",
        }
    }

    /// Inserts among a hundred operations.
    pub fn insert_percent(self) -> u64 {
        match self {
            Self::LookupOnly | Self::ScanOnly => 0,
            Self::ReadHeavy => 10,
            Self::Balanced => 50,
            Self::WriteHeavy => 90,
            Self::WriteOnly | Self::Append => 100,
        }
    }

    /// The loaded and the inserted keys: all are loaded if nothing is written, else half.
    pub fn population(self, keys: Vec<u64>, seed: u64) -> Population {
        match self {
            Self::LookupOnly | Self::ScanOnly => Population::whole(keys),
            Self::Append => Population::append(keys),
            _ => Population::halves(keys, seed),
        }
    }

    /// The operations in turn; fewer than `most` if the keys to insert run out. Inserted keys are requested once they
    /// are committed, after each [`COMMIT_OPERATIONS`].
    ///
    /// # Errors
    /// As for [`Chooser::new`].
    pub fn operations<'p>(
        self,
        population: &'p Population,
        requests: &Requests,
        most: usize,
        seed: u64,
    ) -> Result<impl Iterator<Item = Operation> + use<'p>> {
        let mut chooser = Chooser::new(population, requests, seed)?;
        let mut random = Random::new(seed, "operations");
        let (mut inserted, mut committed) = (0, 0);
        let mut count: usize = 0;
        let stream = std::iter::from_fn(move || {
            if count.is_multiple_of(COMMIT_OPERATIONS) {
                committed = inserted;
            }
            count += 1;
            if random.below(100) < self.insert_percent() {
                let key = *population.coming().get(inserted)?;
                inserted += 1;
                return Some(Operation::Insert(key));
            }
            let key = chooser.next_key(committed);
            Some(if self == Self::ScanOnly { Operation::Scan(key) } else { Operation::Get(key) })
        });
        Ok(stream.take(most))
    }
}

impl FromStr for Mix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|mix| mix.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|mix| mix.name()).collect();
            Error::spec(text, format!("a workload is one of {}", names.join(", ")))
        })
    }
}

impl std::fmt::Display for Mix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_in_the_share_that_the_workload_states() -> Result<()> {
        let keys: Vec<u64> = (0..20_000).map(|key| 3 * key).collect();
        for mix in Mix::ALL {
            let population = mix.population(keys.clone(), 1);
            let operations: Vec<Operation> = mix.operations(&population, &Requests::Uniform, 5_000, 1)?.collect();
            assert_eq!(operations.len(), 5_000, "{mix}");
            let inserted: Vec<u64> = operations
                .iter()
                .filter_map(|operation| if let Operation::Insert(key) = operation { Some(*key) } else { None })
                .collect();
            let expected = 50 * mix.insert_percent() as usize;
            assert!(inserted.len().abs_diff(expected) < 200, "{mix}: {} inserts", inserted.len());
            assert_eq!(inserted, population.coming()[..inserted.len()], "{mix}");
            assert_eq!(mix.name().parse::<Mix>()?, mix);
        }
        Ok(())
    }

    #[test]
    fn a_workload_ends_with_the_keys_that_come_in() -> Result<()> {
        let population = Mix::WriteOnly.population((0..1_000).collect(), 1);
        assert_eq!(Mix::WriteOnly.operations(&population, &Requests::Uniform, 10_000, 1)?.count(), 500);
        assert!("w7".parse::<Mix>().is_err());
        Ok(())
    }
}
