//! The list of experiments, and what they are told.

use std::io::Write;

use super::generators;
use crate::keys::{KeySet, open_with};
use crate::output::Reporter;

/// What all experiments can be told.
#[derive(Debug, Clone)]
pub struct Context {
    /// Key sets by name or path; empty for those of the experiment.
    pub key_sets: Vec<String>,
    /// Number of keys of generated sets whose names give none.
    pub count: u64,
    /// First seed.
    pub seed: u64,
    /// Number of seeds: generated sets are made anew for each, and a figure is the median.
    pub seeds: u64,
}

impl Context {
    /// The key sets that were asked for, or else `default`.
    pub fn specs(&self, default: &[&str]) -> Vec<String> {
        if self.key_sets.is_empty() { default.iter().map(ToString::to_string).collect() } else { self.key_sets.clone() }
    }

    /// A key set under one of the seeds; a seed in its name goes first.
    ///
    /// # Errors
    /// As for [`crate::keys::open`].
    pub fn open(&self, spec: &str, seed: u64) -> crate::Result<KeySet> {
        open_with(spec, self.count, Some(seed))
    }

    /// The seeds in turn.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..self.seeds).map(move |index| first.wrapping_add(index))
    }
}

/// Where experiments print.
pub type Output<'a> = Reporter<&'a mut dyn Write>;

/// Something that can be run by name.
#[derive(Debug)]
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// Runs it and prints its records.
    pub run: fn(&Context, &mut Output<'_>) -> anyhow::Result<()>,
}

/// Every experiment.
pub fn experiments() -> &'static [Experiment] {
    &[generators::GENERATORS]
}
