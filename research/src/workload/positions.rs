//! Workloads by name, and the ranks of the records that they request.

use std::path::PathBuf;
use std::str::FromStr;

use super::trace;
use super::zipf::ZipfRanks;
use crate::error::{Error, Result};
use crate::random::{Permutation, Random};

/// A distribution of lookup keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// Uniform over the records.
    Present,
    /// Keys that are not there, from the gap behind a uniform record.
    Absent,
    /// Zipf's law over the records, in a random order of popularity.
    Zipf {
        /// The exponent; 0 is uniform.
        skew: f64,
    },
    /// A recorded trace of little-endian u32 numbers.
    Trace(PathBuf),
}

impl FromStr for Workload {
    type Err = Error;

    /// Reads `present`, `absent`, `zipf:SKEW` or the path of a `.u32` file.
    fn from_str(text: &str) -> Result<Self> {
        match (text, text.split_once(':')) {
            ("present", _) => Ok(Self::Present),
            ("absent", _) => Ok(Self::Absent),
            (_, Some(("zipf", skew))) => match skew.parse::<f64>() {
                Ok(skew) if (0.0..=100.0).contains(&skew) => Ok(Self::Zipf { skew }),
                _ => Err(Error::spec(text, "the skew is a number from 0 to 100")),
            },
            _ if text.ends_with(".u32") => Ok(Self::Trace(text.into())),
            _ => Err(Error::spec(text, "a workload is present, absent, zipf:SKEW or the path of a .u32 trace")),
        }
    }
}

impl std::fmt::Display for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Present => f.write_str("present"),
            Self::Absent => f.write_str("absent"),
            Self::Zipf { skew } => write!(f, "zipf:{skew}"),
            Self::Trace(path) => f.write_str(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()),
        }
    }
}

impl Workload {
    /// The ranks, from 0, of `lookups` records out of `records`, in the order of access; none if there are no records.
    /// Of a trace, the accesses from a random place on, from its start again after its end.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Spec`] for a trace that cannot be read.
    pub fn positions(&self, records: u64, lookups: usize, seed: u64) -> Result<Vec<u64>> {
        let mut random = Random::new(seed, "positions");
        if records == 0 {
            return Ok(Vec::new());
        }
        Ok(match self {
            Self::Present | Self::Absent => (0..lookups).map(|_| random.below(records)).collect(),
            Self::Zipf { skew } => {
                let law = ZipfRanks::new(records, *skew);
                let popularity = Permutation::new(records, &mut random);
                (0..lookups).map(|_| popularity.apply(law.draw(&mut random) - 1)).collect()
            }
            Self::Trace(path) => {
                let trace = trace::read(path)?;
                let start = random.below(trace.ranks.len() as u64) as usize;
                let spread = |rank: u32| (u128::from(rank) * u128::from(records) / u128::from(trace.distinct)) as u64;
                trace.ranks.iter().cycle().skip(start).take(lookups).map(|rank| spread(*rank)).collect()
            }
        })
    }
}
