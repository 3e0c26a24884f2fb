//! Candidates for the next layer: built in full, or estimated on samples of a long level input.

use super::builder::LayerBuilder;
use super::layer::DesignLayer;
use super::level_input::{LevelInput, LookupShares};
use super::problem::DesignProblem;
use super::reads::{ReadSizes, WindowCounts};
use super::search_options::DesignSearchOptions;
use super::sizes::{INDEX_PAGE_HEADER_BYTES, LINE_NODE_BYTES};
use ogive_model::coded::Effort;

/// Number of samples on which builders are evaluated for a long input.
const SAMPLE_RUNS: usize = 8;
/// Total number of coarse children in all samples.
const SAMPLE_CHILDREN: usize = 1 << 13;
/// A coarse view leaves a window at least this many children.
const COARSE_WINDOW_CHILDREN_MIN: u64 = 16;
/// Size of separators coded with full effort, relative to those coded quickly.
const FULL_EFFORT_SIZE_RATIO: f64 = 0.93;

/// A candidate for the next layer.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) builder: LayerBuilder,
    /// Stored size as a root, in bytes.
    pub(super) root_bytes: u64,
    /// Reads from the level below.
    pub(super) reads: ReadSizes,
    /// The layer itself, if it was built in full.
    pub(super) layer: Option<DesignLayer>,
}

impl Candidate {
    /// Builds the layer over the whole input.
    pub(super) fn whole(
        builder: LayerBuilder,
        input: &LevelInput,
        shares: &LookupShares,
        depth: usize,
        problem: &DesignProblem<'_>,
    ) -> Self {
        let layer = problem.build(builder, input, depth, &problem.options);
        let reads = layer.windows(input, shares).sizes(input.child_bytes);
        Self { builder, root_bytes: layer.root_bytes(), reads, layer: Some(layer) }
    }
}

/// Coarse views at several scales of samples that represent a level input.
///
/// A window of m children is about one of m/c children over every c-th border, so a wide window is evaluated on a
/// coarse view, at a cost independent of the size of the input.
#[derive(Debug)]
pub(super) struct CoarseViews {
    by_factor: Vec<CoarseView>,
}

impl CoarseViews {
    /// Coarse views of one level input, for windows of up to `widest` children.
    pub(super) fn over(input: &LevelInput, widest: u64) -> Self {
        Self::over_runs(std::slice::from_ref(input), input.children() as f64, widest)
    }

    /// Coarse views of separate runs that represent an input of `children` children.
    pub(super) fn over_runs(runs: &[LevelInput], children: f64, widest: u64) -> Self {
        let factors = std::iter::successors(Some(1_u64), |factor| Some(factor * 2));
        let needed = factors.take_while(|&factor| factor == 1 || factor * COARSE_WINDOW_CHILDREN_MIN <= widest);
        Self { by_factor: needed.map(|factor| CoarseView::new(runs, children, factor)).collect() }
    }

    /// Evaluates a builder whose windows have `children` children.
    pub(super) fn judge(
        &self,
        builder: LayerBuilder,
        children: u64,
        options: &DesignSearchOptions,
    ) -> Option<Candidate> {
        let fits = |view: &&CoarseView| view.factor == 1 || view.factor * COARSE_WINDOW_CHILDREN_MIN <= children;
        let view = self.by_factor.iter().rev().find(fits)?;
        view.judge(builder, options)
    }
}

#[derive(Debug)]
struct CoarseView {
    factor: u64,
    samples: Vec<LayerSample>,
    /// Number of children in the whole input for each child of the samples, both coarse.
    scale: f64,
}

#[derive(Debug)]
struct LayerSample {
    input: LevelInput,
    shares: LookupShares,
    /// Number of lookups that end in the sample, relative to all samples.
    mass: f64,
}

impl LayerSample {
    fn new(input: LevelInput) -> Self {
        let mass = input.weights.as_ref().map_or(input.children() as f64, |weights| weights.iter().sum());
        Self { shares: input.shares(), input, mass }
    }
}

impl CoarseView {
    fn new(runs: &[LevelInput], children: f64, factor: u64) -> Self {
        // Samples are cut before they are made coarse, so that a long input is never copied.
        let factor = factor as usize;
        let total: usize = runs.iter().map(|run| (run.fences.len() + 1) / factor).sum();
        let mut cuts: Vec<LevelInput> = if total <= SAMPLE_CHILDREN {
            runs.iter().map(|run| run.coarse(factor)).collect()
        } else {
            let pieces = SAMPLE_RUNS.div_ceil(runs.len());
            let each = |run: &LevelInput| SAMPLE_CHILDREN * (run.fences.len() + 1) / total / pieces;
            runs.iter().flat_map(|run| cut(run, pieces, each(run))).map(|cut| cut.into_coarse(factor)).collect()
        };
        // Where no lookup ends in a sample, nothing tells their blocks apart.
        if cuts.iter().flat_map(|cut| cut.weights.iter().flatten()).all(|weight| *weight == 0.0) {
            cuts.iter_mut().for_each(|cut| cut.weights = None);
        }
        let samples: Vec<LayerSample> = cuts.into_iter().map(LayerSample::new).collect();
        let seen: u64 = samples.iter().map(|sample| sample.input.children()).sum();
        Self { factor: factor as u64, samples, scale: (children / factor as f64 / seen.max(1) as f64).max(0.0) }
    }

    fn judge(&self, builder: LayerBuilder, options: &DesignSearchOptions) -> Option<Candidate> {
        let mut windows = WindowCounts::default();
        let mut payload_bytes = 0.0;
        for sample in &self.samples {
            let layer = builder.build_with(&sample.input, options, Effort::Quick);
            windows.merge(&layer.windows(&sample.input, &sample.shares), sample.mass);
            payload_bytes += (layer.root_bytes() - INDEX_PAGE_HEADER_BYTES) as f64;
        }
        // The border at the end of a sample costs a greedy band half a node on average; other builders would end nodes
        // there anyway.
        if self.samples.len() > 1 && matches!(builder, LayerBuilder::GBand { .. }) {
            payload_bytes -= 0.5 * LINE_NODE_BYTES as f64 * self.samples.len() as f64;
        }
        if matches!(builder, LayerBuilder::Coded { .. }) {
            payload_bytes *= FULL_EFFORT_SIZE_RATIO;
        }
        let child_bytes = self.samples.first()?.input.child_bytes;
        let root_bytes = INDEX_PAGE_HEADER_BYTES + (payload_bytes * self.scale) as u64;
        Some(Candidate { builder, root_bytes, reads: windows.sizes(child_bytes), layer: None })
    }
}

/// `pieces` evenly spaced samples of `children` children each.
fn cut(run: &LevelInput, pieces: usize, children: usize) -> Vec<LevelInput> {
    let children = children.clamp(1, run.fences.len() + 1);
    let room = run.fences.len() + 1 - children;
    let sample = |i: usize| {
        let from = if pieces > 1 { room * i / (pieces - 1) } else { room / 2 };
        run.sample(from, from + children - 1)
    };
    (0..pieces).map(sample).collect()
}

impl DesignProblem<'_> {
    /// The prepared layer as a candidate that is still to be built.
    pub(super) fn prepared_candidate(&self, builder: LayerBuilder, child_bytes: u64) -> Option<Candidate> {
        let root_bytes = INDEX_PAGE_HEADER_BYTES + self.prepared?.total_len() as u64;
        Some(Candidate { builder, root_bytes, reads: ReadSizes::constant(child_bytes), layer: None })
    }
}
