//! The tuning problem: storage, workload, limits, and search effort.

use super::builder::LayerBuilder;
use super::compared::{ComparedDesign, ComparedDesigns};
use super::complexity::step_complexity_by;
use super::layer::{DesignLayer, LayerNodes};
use super::level_input::LevelInput;
use super::reads::ReadSizes;
use super::search_options::{DesignSearchOptions, LayerBuilderKind};
use super::sizes::STEP_PIECE_BYTES;
use crate::error::{Error, Result};
use crate::io::Profile;
use ogive_model::coded::CodedLayer;
use std::fmt;
use std::str::FromStr;

/// The objective of a design.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DesignObjective {
    /// Expected time of a lookup (AirIndex, Equation 7).
    MeanLatency,
    /// The sum over all reads of a lookup of this quantile of their time, above 0 and below 1. It is the quantile of
    /// the whole if the time of at most one read varies, or if reads are slow together; otherwise an estimate of it.
    /// The time of a read varies with its size, and by the spread of T(n) if the profile knows it (AirIndex, Section
    /// 3.2). A read that a cache answers often enough counts as one from the cache: a quantile does not see what is
    /// rarer than it.
    Quantile(f64),
    /// The number of resident bytes, among designs with an expected time within the limit; the fastest design if there
    /// is none.
    ResidentBytes {
        /// Limit for the expected time of a lookup, in microseconds.
        limit_us: f64,
    },
}

impl fmt::Display for DesignObjective {
    /// `mean`, or `p99` for a quantile of 0.99, as they are parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MeanLatency => f.write_str("mean"),
            // To a millionth of a per cent: 99.9 / 100 * 100 is not quite 99.9.
            Self::Quantile(quantile) => write!(f, "p{}", (quantile * 1e8).round() / 1e6),
            Self::ResidentBytes { limit_us } => write!(f, "resident bytes within {limit_us} us"),
        }
    }
}

impl FromStr for DesignObjective {
    type Err = Error;

    /// `mean`, or `p` and a percentage above 0 and below 100, such as `p99` or `p99.9`.
    fn from_str(text: &str) -> Result<Self> {
        // Still below 100, and above 0, as it is printed.
        let is_between = |percent: &f64| (1.0..1e8).contains(&(percent * 1e6).round());
        let percent = |digits: &str| digits.parse::<f64>().ok().filter(is_between);
        match (text, text.strip_prefix('p')) {
            ("mean", _) => Ok(Self::MeanLatency),
            // A sign or an exponent is no way to write a percentage.
            (_, Some(digits)) if digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => percent(digits)
                .map(|percent| Self::Quantile(percent / 100.0))
                .ok_or_else(|| Error::input(format!("{text:?} is no quantile; give p1 to p99.999"))),
            _ => Err(Error::input(format!("{text:?} is no objective; give mean, or a quantile such as p99"))),
        }
    }
}

/// Expected cache hits (AirIndex, Section 6, cache-aware optimisation).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DesignCaching {
    /// Share of the reads that the cache answers, by level: first the data, then the layers, bottom first. Levels not
    /// listed are never cached.
    pub hit_rates: Vec<f64>,
    /// Share of the lookups that find the table open; 1 if opening is free because it happens only once.
    pub opening_hit_rate: f64,
    /// Time of a read answered by the cache, in microseconds.
    pub cache_us: f64,
    /// The memory of a reader in bytes, as [`TableOptions`](crate::TableOptions::memory_bytes) limit it. If the
    /// looked-up keys are known, the hit rates are then those of a replay of them on the design, instead of the
    /// stated ones.
    pub memory_bytes: Option<u64>,
}

impl DesignCaching {
    /// The caching of a program that opens a table once in a number of lookups: the opening read counts as that part of
    /// one. Of zero lookups, it is made once and for all, and counts nothing.
    #[must_use]
    pub fn opened_once_in(lookups: u64) -> Self {
        let opening_hit_rate = if lookups == 0 { 1.0 } else { 1.0 - 1.0 / lookups as f64 };
        Self { opening_hit_rate, ..Self::default() }
    }
}

/// All inputs of the search except the keys.
#[derive(Clone)]
pub struct DesignProblem<'a> {
    /// T(n) of the storage.
    pub profile: &'a Profile,
    /// The objective.
    pub objective: DesignObjective,
    /// Limit for the size of the root in memory, in bytes.
    pub resident_bytes: Option<u64>,
    /// Expected cache hits.
    pub caching: DesignCaching,
    /// Size of the opening read of a table as a function of its root size, in bytes.
    pub open_bytes: &'a (dyn Fn(u64) -> u64 + Sync),
    /// Whether the opening read of a table without an index includes the data, so that a lookup is this one read.
    pub opening_holds_data: bool,
    /// Mean number of keys in a data block, which converts an error in keys to one in blocks.
    pub keys_per_child: f64,
    /// Coded separators of every data block, if the writer chose block ends by them: more compact than any coded later.
    pub prepared: Option<&'a CodedLayer>,
    /// Takes a note of every design that the search compares.
    pub compared: Option<&'a ComparedDesigns>,
    /// Parameters of the search.
    pub options: DesignSearchOptions,
}

impl fmt::Debug for DesignProblem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Problem")
            .field("profile", self.profile)
            .field("objective", &self.objective)
            .field("resident_bytes", &self.resident_bytes)
            .field("caching", &self.caching)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn just_the_root(root_bytes: u64) -> u64 {
    root_bytes
}

impl<'a> DesignProblem<'a> {
    /// The problem of least mean latency on this storage: nothing cached, no limit for the root, an opening that
    /// reads only that.
    pub fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            objective: DesignObjective::MeanLatency,
            resident_bytes: None,
            caching: DesignCaching::default(),
            open_bytes: &just_the_root,
            opening_holds_data: false,
            keys_per_child: 1.0,
            prepared: None,
            compared: None,
            options: DesignSearchOptions::default(),
        }
    }

    /// Notes a design: the builders of its layers, bottom first, and their size.
    #[cfg(feature = "tune")]
    pub(super) fn note(&self, builders: &[LayerBuilder], modelled_us: f64, index_bytes: u64) {
        let Some(compared) = self.compared else { return };
        let names: Vec<String> = builders.iter().rev().map(ToString::to_string).collect();
        let name = if names.is_empty() { "none".to_owned() } else { names.join("/") };
        compared.note(ComparedDesign { name, modelled_us, index_bytes });
    }

    /// Whether builders of this kind need no estimate at `depth`, at the finest granularity.
    #[cfg(feature = "tune")]
    pub(super) fn is_prepared(&self, kind: LayerBuilderKind, depth: usize) -> bool {
        self.prepared.is_some() && kind == LayerBuilderKind::Coded && depth == 0
    }

    /// The layer at `depth` (0 is directly over the data) that a builder produces; the prepared one if applicable.
    pub(super) fn build(
        &self,
        builder: LayerBuilder,
        row: &LevelInput,
        depth: usize,
        options: &DesignSearchOptions,
    ) -> DesignLayer {
        let finest = matches!(builder, LayerBuilder::Coded { lambda_bytes } if lambda_bytes < 2 * row.child_bytes);
        match self.prepared.filter(|_| finest && depth == 0) {
            None => builder.build(row, options),
            Some(prepared) => {
                let nodes = LayerNodes::Coded { layer: prepared.clone(), granule: 1 };
                DesignLayer { builder, nodes, page_bytes: options.page_bytes, children: row.children() }
            }
        }
    }

    /// Expected time in microseconds of the reads from layer `depth` (0 is the data), under `profile`.
    pub fn expected_us(&self, depth: usize, reads: &ReadSizes, profile: &Profile) -> f64 {
        self.with_hits(depth, reads.expected_us(profile))
    }

    /// Expected time in microseconds of the opening read of a table whose root takes `root_bytes`, under `profile`.
    pub fn opening_us(&self, root_bytes: u64, profile: &Profile) -> f64 {
        let hit_rate = self.caching.opening_hit_rate;
        mix(hit_rate, self.caching.cache_us, profile.time_us((self.open_bytes)(root_bytes)))
    }

    /// The objective's cost of the reads from layer `depth`, in microseconds.
    pub fn read_us(&self, depth: usize, reads: &ReadSizes) -> f64 {
        match self.objective {
            DesignObjective::Quantile(q) => {
                self.quantile_us(self.hit_rate(depth), q, |q| reads.quantile_us(q, self.profile))
            }
            _ => self.expected_us(depth, reads, self.profile),
        }
    }

    /// The objective's cost of the opening read of a table whose root takes `root_bytes`, in microseconds.
    pub(crate) fn open_us(&self, root_bytes: u64) -> f64 {
        match self.objective {
            DesignObjective::Quantile(q) => self.quantile_us(self.caching.opening_hit_rate, q, |q| {
                self.profile.time_quantile_us((self.open_bytes)(root_bytes), q)
            }),
            _ => self.opening_us(root_bytes, self.profile),
        }
    }

    /// The objective's cost of a lookup in microseconds: of the opening read with a root of `root_bytes`, and of
    /// `reads`, those of data first. Without a limit on the latency: that is part of the score.
    pub fn lookup_us(&self, root_bytes: u64, reads: &[ReadSizes]) -> f64 {
        let reads_us = reads.iter().enumerate().map(|(depth, reads)| self.read_us(depth, reads));
        self.open_us(root_bytes) + reads_us.sum::<f64>()
    }

    /// The objective's cost of one read of `bytes` from layer `depth`, in microseconds.
    pub(super) fn single_read_us(&self, depth: usize, bytes: u64) -> f64 {
        match self.objective {
            DesignObjective::Quantile(q) => {
                self.quantile_us(self.hit_rate(depth), q, |q| self.profile.time_quantile_us(bytes, q))
            }
            _ => self.with_hits(depth, self.profile.time_us(bytes)),
        }
    }

    /// Estimated remaining cost of a layer of `size_bytes` at `depth` (1 is the bottom layer) and everything above it.
    #[cfg(feature = "tune")]
    pub(super) fn remaining_us(&self, depth: usize, size_bytes: u64) -> f64 {
        self.stacked_us(depth, size_bytes, 0)
    }

    /// As [`Self::remaining_us`], with at least `layers_min` layers above it; `depth` may be 0, the data.
    pub(super) fn stacked_us(&self, depth: usize, size_bytes: u64, layers_min: usize) -> f64 {
        // Levels of equal reads: one of them is the root's; the others are `depth` and the layers above it.
        step_complexity_by(size_bytes, STEP_PIECE_BYTES as f64, layers_min, |level, bytes| {
            if level == 0 { self.open_us(bytes) } else { self.single_read_us(depth + level - 1, bytes) }
        })
    }

    /// The least possible cost of opening.
    pub(super) fn least_opening_us(&self) -> f64 {
        self.open_us(0)
    }

    /// Whether a root of this size fits the memory budget.
    pub(crate) fn fits_budget(&self, root_bytes: u64) -> bool {
        self.resident_bytes.is_none_or(|budget| root_bytes <= budget)
    }

    /// The score of a design: smaller is better; compared field by field.
    pub(super) fn score(&self, latency_us: f64, root_bytes: u64) -> DesignScore {
        match self.objective {
            DesignObjective::ResidentBytes { limit_us } => {
                DesignScore((latency_us - limit_us).max(0.0), root_bytes as f64, latency_us)
            }
            _ => DesignScore(latency_us, root_bytes as f64, 0.0),
        }
    }

    fn hit_rate(&self, depth: usize) -> f64 {
        self.caching.hit_rates.get(depth).copied().unwrap_or(0.0)
    }

    fn with_hits(&self, depth: usize, storage_us: f64) -> f64 {
        mix(self.hit_rate(depth), self.caching.cache_us, storage_us)
    }

    /// Quantile `q` of the time of a read that a cache answers in a share of the cases; `storage_us` is the quantile of
    /// the time on storage.
    fn quantile_us(&self, hit_rate: f64, q: f64, storage_us: impl Fn(f64) -> f64) -> f64 {
        let hit_rate = hit_rate.clamp(0.0, 1.0);
        // Hits are taken to be faster than any read, so the quantile is one of the rest.
        if q <= hit_rate { self.caching.cache_us } else { storage_us((q - hit_rate) / (1.0 - hit_rate)) }
    }
}

/// `(1 - h) T + h c`: cost of a read of which a share h is answered by a cache.
fn mix(hit_rate: f64, cache_us: f64, storage_us: f64) -> f64 {
    let hit_rate = hit_rate.clamp(0.0, 1.0);
    hit_rate * cache_us + (1.0 - hit_rate) * storage_us
}

/// The objective's value of a design, in order of importance.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct DesignScore(pub(super) f64, pub(super) f64, pub(super) f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::tune::reads::WindowCounts;

    fn uneven() -> ReadSizes {
        let mut windows = WindowCounts::default();
        windows.add(1, 0.99);
        windows.add(1000, 0.01);
        windows.sizes(1000)
    }

    #[test]
    fn a_quantile_counts_the_reads_that_a_mean_forgets() -> crate::Result<()> {
        let profile = Profile::affine("one byte a microsecond", 1.0, 1.0, 1)?;
        let at = |objective| DesignProblem { objective, ..DesignProblem::new(&profile) }.read_us(0, &uneven());
        assert!((at(DesignObjective::MeanLatency) - 10_991.0).abs() < 1e-6);
        assert!((at(DesignObjective::Quantile(0.5)) - 1_001.0).abs() < 1e-6);
        assert!((at(DesignObjective::Quantile(0.999)) - 1_000_001.0).abs() < 1e-6);
        Ok(())
    }

    #[test]
    fn hits_take_their_share_of_each_read() -> crate::Result<()> {
        let profile = Profile::affine("latency alone", 100.0, 1e9, 1)?;
        let caching = DesignCaching {
            hit_rates: vec![0.25, 1.0],
            opening_hit_rate: 0.5,
            cache_us: 2.0,
            ..DesignCaching::default()
        };
        let problem = DesignProblem { caching, ..DesignProblem::new(&profile) };
        let reads = ReadSizes::constant(1);
        let found = [0, 1, 2].map(|depth| problem.expected_us(depth, &reads, &profile));
        for (found_us, stated_us) in found.into_iter().zip([75.5, 2.0, 100.0]) {
            assert!((found_us - stated_us).abs() < 1e-6, "{found_us}, expected {stated_us}");
        }
        assert!((problem.opening_us(1, &profile) - 51.0).abs() < 1e-6);
        Ok(())
    }

    #[test]
    fn a_quantile_does_not_see_reads_that_are_rarer_than_it() -> crate::Result<()> {
        let profile = Profile::affine("one byte a microsecond", 1.0, 1.0, 1)?;
        let at = |hit_rate: f64, quantile: f64| {
            let caching =
                DesignCaching { hit_rates: vec![hit_rate], opening_hit_rate: hit_rate, ..DesignCaching::default() };
            let problem = DesignProblem {
                caching,
                objective: DesignObjective::Quantile(quantile),
                ..DesignProblem::new(&profile)
            };
            (problem.read_us(0, &uneven()), problem.open_us(9), problem.single_read_us(0, 4))
        };
        // Of a hundred lookups, 98.5 find the block cached, 1.485 read 1,000 bytes, 0.015 a million.
        assert_eq!(at(0.985, 0.98), (0.0, 0.0, 0.0));
        assert_eq!(at(0.985, 0.99), (1_001.0, 10.0, 5.0));
        assert_eq!(at(0.985, 0.9999), (1_000_001.0, 10.0, 5.0));
        assert_eq!(at(1.0, 0.9999), (0.0, 0.0, 0.0));
        Ok(())
    }

    #[test]
    fn an_objective_is_read_as_it_is_written() -> crate::Result<()> {
        for text in ["mean", "p50", "p95", "p99", "p99.9", "p99.99", "p0.5"] {
            assert_eq!(text.parse::<DesignObjective>()?.to_string(), text);
        }
        assert_eq!("p99".parse::<DesignObjective>()?, DesignObjective::Quantile(0.99));
        for text in ["", "p", "p0", "p100", "p101", "p-1", "p1e1", "p+5", "pNaN", "pinf", "99", "Mean", "p9.9.9"] {
            let refused = text.parse::<DesignObjective>();
            assert!(
                matches!(&refused, Err(error @ Error { cause: Cause::Input, .. }) if error.detail().contains("give")),
                "{refused:?}"
            );
        }
        Ok(())
    }

    #[test]
    fn an_opening_is_shared_by_the_lookups_after_it() {
        let rates = [0, 1, 4].map(|lookups| DesignCaching::opened_once_in(lookups).opening_hit_rate);
        assert_eq!(rates, [1.0, 0.0, 0.75]);
    }
}
