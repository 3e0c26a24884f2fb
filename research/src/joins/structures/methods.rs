//! The methods of the paper, and the structure that each probe method builds over the blocks of a table.

use super::btree::{SeparatorBTree, StringBTree};
use super::cost;
use super::learned::{BlockBorders, LearnedIndex};
use super::options::ProbeOptions;
use super::probe::ProbeJoin;
use super::trees::Trees;
use crate::models::pgm::{self, Pgm};
use crate::models::radix_spline::{self, RadixSpline};
use crate::models::rmi::{self, Rmi};
use crate::models::{Locate, tuning};
use ogive::Result;
use ogive::index::extend::Tunable;
use ogive::join::extend::{
    BlockIndex, BlockSeparators, InnerTable, JoinCostModel, JoinProbe, JoinProbeMethod, MemoryGrant,
};
use ogive::join::{JoinCost, JoinMethod, JoinSide};
use ogive_model::Fence;
use std::fmt::Debug;
use std::sync::Arc;

/// The error bound, in keys, under which the PGM-index is listed: that of the paper's window of 256.
const LISTED_ERROR_KEYS: u64 = 128;
/// The paper samples every 128th key (Section 6.1).
const SAMPLE_EVERY_KEYS: u64 = 128;
/// Error of the sampled PGM-index in samples (Section 6.1).
const SAMPLED_ERROR_SAMPLES: u64 = 2;
/// Largest error of a RadixSpline in keys (Section 6.6: "maximum error to be 256").
const RADIX_SPLINE_ERROR_KEYS: u64 = 256;
/// Of the Pareto-optimal settings, the most precise one of at most this many bytes is chosen: it stays in a core's
/// cache.
const PARETO_BYTES: u64 = 1 << 20;

/// Probes a B-tree, descending from the root for each key.
pub const BTREE: JoinMethod = JoinMethod::probe(&BlockStructure::Btree);
/// Probes a B-tree through a forward-only cursor.
pub const BTREE_CURSOR: JoinMethod = JoinMethod::probe(&BlockStructure::BtreeCursor);
/// Probes a PGM-index; [`JoinMethod::with_number`] sets its error bound in keys.
pub const PGM: JoinMethod = JoinMethod::probe(&BlockStructure::Pgm);
/// Probes a PGM-index over every 128th key.
pub const SAMPLED_PGM: JoinMethod = JoinMethod::probe(&BlockStructure::SampledPgm);
/// Probes a RadixSpline.
pub const RADIX_SPLINE: JoinMethod = JoinMethod::probe(&BlockStructure::RadixSpline);
/// Probes a recursive model index.
pub const RMI: JoinMethod = JoinMethod::probe(&BlockStructure::Rmi);
/// Builds a B-tree over each relation by inserts in order of arrival.
pub const PARTITION_BTREE: JoinMethod = JoinMethod::copy(&Trees);

/// All join methods of this crate.
pub const METHODS: [JoinMethod; 7] = [BTREE, BTREE_CURSOR, PGM, SAMPLED_PGM, RADIX_SPLINE, RMI, PARTITION_BTREE];

/// The structure of a probe method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockStructure {
    /// A B-tree, descended from its root for each key.
    Btree,
    /// A B-tree, read through a forward-only cursor.
    BtreeCursor,
    /// A PGM-index with an error bound in keys.
    Pgm,
    /// A PGM-index over every 128th key.
    SampledPgm,
    RadixSpline,
    Rmi,
}

impl JoinProbeMethod for BlockStructure {
    fn name(&self) -> &'static str {
        match self {
            Self::Btree => "inlj:btree",
            Self::BtreeCursor => "inlj:btree-iter",
            Self::Pgm => "inlj:pgm",
            Self::SampledPgm => "inlj:pgm-sampled",
            Self::RadixSpline => "inlj:radix-spline",
            Self::Rmi => "inlj:rmi",
        }
    }

    fn listed_number(&self) -> Option<u64> {
        (*self == Self::Pgm).then_some(LISTED_ERROR_KEYS)
    }

    fn cost(&self, model: &JoinCostModel<'_>, inner: JoinSide, number: u64) -> Result<JoinCost, String> {
        cost::probes(*self, model, inner, number)
    }

    fn prepare(&self, inner: InnerTable<'_>, number: u64, tunables: &[Tunable]) -> Result<Box<dyn JoinProbe>> {
        let options = ProbeOptions::parse(tunables)?;
        // The paper's B-tree join has neither optimisation (Section 5.3).
        let is_optimised = *self != Self::Btree;
        let (index, memory) = self.index(inner, number, options.leaf_iterator.unwrap_or(is_optimised))?;
        let forward_window = options.forward_window.unwrap_or(is_optimised);
        Ok(Box::new(ProbeJoin { index, forward_window, _memory: memory }))
    }
}

impl BlockStructure {
    /// Builds the index. With `is_forward`, lookups continue from the leaf of the previous one.
    pub(super) fn index(
        self,
        inner: InnerTable<'_>,
        error_keys: u64,
        is_forward: bool,
    ) -> Result<(Arc<dyn BlockIndex>, MemoryGrant)> {
        let keys = inner.rows().div_ceil(inner.blocks().max(1)).max(1);
        let in_blocks = |error_keys: u64| error_keys.div_ceil(keys);
        let learned = LearnedBuilder { inner, is_forward };
        match self {
            Self::Btree | Self::BtreeCursor => {
                let (separators, mut memory) = inner.separators()?;
                let index: Arc<dyn BlockIndex> = match separators {
                    _ if is_forward => separators.into_index(),
                    BlockSeparators::Numeric(numbers) => Arc::new(SeparatorBTree::new(numbers)),
                    BlockSeparators::Strings(strings) => Arc::new(StringBTree::new(strings)),
                };
                inner.resize(&mut memory, index.bytes())?;
                Ok((index, memory))
            }
            Self::Pgm => learned.train(|fences| Pgm::build(fences, in_blocks(error_keys), pgm::UPPER_ERROR)),
            Self::SampledPgm => {
                let error = in_blocks(SAMPLE_EVERY_KEYS * SAMPLED_ERROR_SAMPLES);
                learned.train(|fences| Pgm::build(fences, error, pgm::UPPER_ERROR))
            }
            Self::RadixSpline => {
                let error = in_blocks(RADIX_SPLINE_ERROR_KEYS);
                learned.train(|fences| {
                    let front = tuning::pareto(radix_spline::try_settings(fences, error));
                    let best = tuning::within(&front, PARETO_BYTES).map(|tried| tried.setting);
                    let smallest = radix_spline::RadixSplineSetting { error_children: error, radix_bits: 1 };
                    RadixSpline::build(fences, best.unwrap_or(smallest))
                })
            }
            Self::Rmi => learned.train(|fences| {
                let front = tuning::pareto(rmi::try_settings(fences, fences.len() / 16 + 1));
                let best = tuning::within(&front, PARETO_BYTES).map(|tried| tried.setting);
                Rmi::build(fences, best.unwrap_or(rmi::RmiSetting { root: rmi::RootKind::Linear, leaves: 1 }))
            }),
        }
    }
}

/// Trains learned indexes on the block borders of a table.
struct LearnedBuilder<'a> {
    inner: InnerTable<'a>,
    is_forward: bool,
}

impl LearnedBuilder<'_> {
    fn train<L: Locate + Debug + Send + Sync + 'static>(
        &self,
        build: impl FnOnce(&[Fence]) -> L,
    ) -> Result<(Arc<dyn BlockIndex>, MemoryGrant)> {
        let (separators, mut memory) = self.inner.separators()?;
        let fence_bytes = self.inner.blocks() * size_of::<Fence>() as u64;
        let separator_bytes = memory.bytes();
        self.inner.resize(&mut memory, separator_bytes + fence_bytes)?;
        let borders = BlockBorders::of(&separators);
        drop(separators);
        let index = Arc::new(LearnedIndex::train(borders, self.is_forward, build));
        self.inner.resize(&mut memory, index.bytes())?;
        Ok((index, memory))
    }
}
