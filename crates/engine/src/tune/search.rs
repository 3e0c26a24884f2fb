//! AirTune: the guided search for the fastest design.

use super::build_layer::granularities;
use super::builder::LayerBuilder;
use super::candidate::{Candidate, CoarseViews};
use super::design::Design;
use super::layer::{DesignLayer, LayerNodes};
use super::level_input::{LevelInput, LookupShares};
use super::parallel;
use super::problem::{DesignProblem, DesignScore};
use super::reads::ReadSizes;
use super::search_options::LayerBuilderKind;
use std::borrow::Cow;

/// A candidate is dropped unless it is smaller than the layer below by this factor. From the authors' code, not in the
/// paper. Bounds the depth of the search by log2 of the size.
const SHRINK_FACTOR_MIN: u64 = 2;

/// After evaluation on samples, only candidates are built in full whose promised cost, above that of an ideal index, is
/// at most this ratio of the best.
const ESTIMATE_SLACK_RATIO: f64 = 1.25;

/// A band may happen to read less than a finer one; this many consecutive losing granularities end a series.
const MISSES_MAX: usize = 2;

/// Finds the design with the best value of the problem's objective for a level input of data blocks.
///
/// The search builds layers from the bottom up. At each level it compares all builders, follows the `top_k` candidates
/// with the least expected read plus step index complexity of the rest, and stops where an ideal layer on top would
/// gain nothing. In addition to the paper's rules it prunes candidates that provably cannot win: those for which the
/// reads so far and the least possible opening and reads above already cost more than the best known design.
///
/// If no index fits the memory budget, the data is read without one.
///
/// If some children are looked up more often than others, the design for equal lookups is a candidate, too, at what it
/// costs for these: estimates and the limit on followed candidates could mislead the search to a worse one.
///
/// Source: AirIndex, Section 5, Algorithm 2, Equations 6, 7 and 9.
pub fn tune(row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
    let found = search(row, problem);
    if row.weights.is_none() {
        return found;
    }
    let equal = LevelInput { weights: None, ..row.clone() };
    // What it compares has the costs of equal lookups.
    let other = search(&equal, &DesignProblem { compared: None, ..problem.clone() }).repriced(row, problem);
    let score = |design: &Design| {
        (!problem.fits_budget(design.root_bytes()), problem.score(design.objective_us(problem), design.root_bytes()))
    };
    if score(&other) < score(&found) { other } else { found }
}

/// The guided search, by the weights of the children as they are.
fn search(row: &LevelInput, problem: &DesignProblem<'_>) -> Design {
    let without = Design::without_index(row, problem);
    let latency_us = without.objective_us(problem);
    problem.note(&[], latency_us, 0);
    let kept_bytes = if problem.opening_holds_data { row.size_bytes() } else { 0 };
    // A design that exceeds the budget is no bound.
    let bound = problem.fits_budget(kept_bytes).then(|| problem.score(latency_us, kept_bytes));
    match above(&SearchNode::data(row), row, problem, bound, problem.options.threads) {
        Some(found) if bound.is_none_or(|bound| found.score < bound) => {
            Design::assemble(row, found.layers, found.reads, problem)
        }
        _ => without,
    }
}

/// A layer on which the next one may be stacked, without its keys.
pub(super) struct SearchNode {
    /// 0 for the data.
    pub(super) depth: usize,
    /// Number of data blocks, or of pages of the layer.
    pub(super) children: u64,
    /// Stored size of one of them.
    pub(super) child_bytes: u64,
    /// Whether some children are looked up more often than others.
    pub(super) weighted: bool,
    /// Cost of the reads from all levels below this one, in microseconds.
    pub(super) spent_us: f64,
    /// Builders of the layers up to this one, bottom first, and their size.
    pub(super) path: Vec<LayerBuilder>,
    pub(super) path_bytes: u64,
}

impl SearchNode {
    fn data(row: &LevelInput) -> Self {
        Self::layer(0, row, 0.0)
    }

    fn layer(depth: usize, row: &LevelInput, spent_us: f64) -> Self {
        let weighted = row.weights.is_some();
        let (path, path_bytes) = (Vec::new(), 0);
        Self { depth, children: row.children(), child_bytes: row.child_bytes, weighted, spent_us, path, path_bytes }
    }

    fn size_bytes(&self) -> u64 {
        self.children.saturating_mul(self.child_bytes)
    }
}

/// The best layers found above a search node.
struct LayerStack {
    layers: Vec<DesignLayer>,
    reads: Vec<ReadSizes>,
    score: DesignScore,
}

/// A candidate with its promised cost.
pub(super) struct RankedCandidate {
    pub(super) candidate: Candidate,
    /// Cost of all reads below the candidate, in microseconds.
    spent_us: f64,
    /// Including the step index complexity of the candidate: Equation 9.
    pub(super) promised_us: f64,
}

/// The best stack of at least one layer above a search node, if any can beat `bound`.
fn above(
    vertex: &SearchNode,
    row: &LevelInput,
    problem: &DesignProblem<'_>,
    bound: Option<DesignScore>,
    threads: usize,
) -> Option<LayerStack> {
    // The stop rule: an ideal layer on top would still pay for opening and for one child of this level.
    let ideal_us = vertex.spent_us + problem.single_read_us(vertex.depth, vertex.child_bytes);
    if vertex.children < 2 || hopeless(ideal_us, problem, bound) {
        return None;
    }
    let shares = row.shares();
    let mut ranked = if row.fences.len() < problem.options.exact_children {
        rank(vertex, &CandidateSource::Whole(row, &shares), problem, bound, threads)
    } else {
        let views = CoarseViews::over(row, problem.options.lambda_high_bytes / row.child_bytes);
        let mut judged = rank(vertex, &CandidateSource::Judged(&views), problem, bound, threads);
        keep_promising(&mut judged, ideal_us + problem.least_opening_us(), problem);
        build_whole(vertex, row, judged, &shares, problem, threads)
    };
    note_roots(vertex, &ranked, problem);
    let root = best_root(&ranked, problem);
    let bound = root.map_or(bound, |(_, score)| tighter(bound, score));
    let followed = ranked.len().min(problem.options.top_k.max(1));
    let stacked = parallel::map(threads, followed, |i| stack(vertex, &ranked[i], &shares, problem, bound));
    let stacked = stacked.into_iter().flatten().reduce(|best, next| if next.score < best.score { next } else { best });
    match root {
        Some((index, score)) if stacked.as_ref().is_none_or(|stacked| score <= stacked.score) => {
            let Candidate { layer, reads, .. } = ranked.swap_remove(index).candidate;
            layer.map(|layer| LayerStack { layers: vec![layer], reads: vec![reads], score })
        }
        _ => stacked,
    }
}

fn hopeless(spent_us: f64, problem: &DesignProblem<'_>, bound: Option<DesignScore>) -> bool {
    // With some tolerance: a sum of floats must not reject an equal value.
    bound.is_some_and(|bound| problem.score((spent_us + problem.least_opening_us()) * (1.0 - 1e-12), 0) > bound)
}

fn shrinks(candidate: &Candidate, vertex: &SearchNode) -> bool {
    candidate.root_bytes.saturating_mul(SHRINK_FACTOR_MIN) < vertex.size_bytes()
}

/// The source of candidates: built in full, or estimated on samples.
pub(super) enum CandidateSource<'a> {
    Whole(&'a LevelInput, &'a LookupShares),
    Judged(&'a CoarseViews),
}

/// All candidates that may win, by ascending promised cost; each kind tries increasing granularities until its reads
/// alone cost too much.
pub(super) fn rank(
    vertex: &SearchNode,
    scale: &CandidateSource<'_>,
    problem: &DesignProblem<'_>,
    bound: Option<DesignScore>,
    threads: usize,
) -> Vec<RankedCandidate> {
    let kinds = &problem.options.builders;
    let ladders = parallel::map(threads, kinds.len(), |i| climb(vertex, scale, problem, bound, kinds[i]));
    let mut ranked: Vec<RankedCandidate> = ladders.into_iter().flatten().collect();
    sort(&mut ranked);
    ranked
}

fn sort(ranked: &mut [RankedCandidate]) {
    ranked.sort_by(|a, b| a.promised_us.total_cmp(&b.promised_us));
}

fn climb(
    vertex: &SearchNode,
    scale: &CandidateSource<'_>,
    problem: &DesignProblem<'_>,
    mut bound: Option<DesignScore>,
    kind: LayerBuilderKind,
) -> Vec<RankedCandidate> {
    let children = vertex.children;
    let mut ladder = Vec::new();
    let mut misses = 0;
    for window in granularities(vertex.child_bytes, &problem.options) {
        if window >= children || misses >= MISSES_MAX {
            break;
        }
        let is_step = matches!(kind, LayerBuilderKind::GStep | LayerBuilderKind::Coded);
        if is_step {
            // The windows of steps are known in advance, all but the last.
            let full = (children - children % window - window) as f64 / children as f64;
            let read_us = full * problem.single_read_us(vertex.depth, window * vertex.child_bytes);
            if !vertex.weighted && hopeless(vertex.spent_us + read_us, problem, bound) {
                break;
            }
        }
        let builder = LayerBuilder::of_kind(kind, window * vertex.child_bytes, &problem.options);
        let candidate = match scale {
            CandidateSource::Whole(row, shares) => Some(Candidate::whole(builder, row, shares, vertex.depth, problem)),
            CandidateSource::Judged(_) if window == 1 && problem.is_prepared(kind, vertex.depth) => {
                problem.prepared_candidate(builder, vertex.child_bytes)
            }
            CandidateSource::Judged(views) => views.judge(builder, window, &problem.options),
        };
        let Some(candidate) = candidate else { continue };
        let ranked = weigh(vertex, candidate, problem);
        if !shrinks(&ranked.candidate, vertex) {
            continue;
        }
        if hopeless(ranked.spent_us, problem, bound) {
            misses += 1;
            continue;
        }
        misses = 0;
        if ranked.candidate.layer.is_some() && problem.fits_budget(ranked.candidate.root_bytes) {
            bound = tighter(bound, as_root(&ranked, problem));
        }
        ladder.push(ranked);
    }
    ladder
}

fn weigh(vertex: &SearchNode, candidate: Candidate, problem: &DesignProblem<'_>) -> RankedCandidate {
    let spent_us = vertex.spent_us + problem.read_us(vertex.depth, &candidate.reads);
    let promised_us = spent_us + problem.remaining_us(vertex.depth + 1, candidate.root_bytes);
    RankedCandidate { candidate, spent_us, promised_us }
}

fn as_root(ranked: &RankedCandidate, problem: &DesignProblem<'_>) -> DesignScore {
    let root_bytes = ranked.candidate.root_bytes;
    problem.score(ranked.spent_us + problem.open_us(root_bytes), root_bytes)
}

fn tighter(bound: Option<DesignScore>, score: DesignScore) -> Option<DesignScore> {
    Some(bound.map_or(score, |bound| if score < bound { score } else { bound }))
}

/// Of evaluated candidates, in order of promise, keeps the `top_k` best that come close to the best of all.
fn keep_promising(judged: &mut Vec<RankedCandidate>, ideal_us: f64, problem: &DesignProblem<'_>) {
    let best_us = judged.first().map_or(0.0, |first| first.promised_us);
    // On storage where short reads cost the same, the best may cost no more than the ideal, or a rounding error less.
    let limit_us = best_us + (best_us - ideal_us).max(0.0) * (ESTIMATE_SLACK_RATIO - 1.0);
    judged.retain(|ranked| ranked.promised_us <= limit_us);
    judged.truncate(problem.options.top_k.max(1));
}

fn build_whole(
    vertex: &SearchNode,
    row: &LevelInput,
    judged: Vec<RankedCandidate>,
    shares: &LookupShares,
    problem: &DesignProblem<'_>,
    threads: usize,
) -> Vec<RankedCandidate> {
    let build = |i: usize| {
        let candidate = Candidate::whole(judged[i].candidate.builder, row, shares, vertex.depth, problem);
        weigh(vertex, candidate, problem)
    };
    let mut ranked = parallel::map(threads, judged.len(), build);
    sort(&mut ranked);
    ranked
}

/// Notes the designs that candidates are if they are roots.
fn note_roots(vertex: &SearchNode, ranked: &[RankedCandidate], problem: &DesignProblem<'_>) {
    if problem.compared.is_none() {
        return;
    }
    for RankedCandidate { candidate, spent_us, .. } in ranked {
        let builders = [&vertex.path[..], &[candidate.builder]].concat();
        let modelled_us = spent_us + problem.open_us(candidate.root_bytes);
        problem.note(&builders, modelled_us, vertex.path_bytes + candidate.root_bytes);
    }
}

/// The best candidate as a root, among all candidates: its position, and its score.
fn best_root(ranked: &[RankedCandidate], problem: &DesignProblem<'_>) -> Option<(usize, DesignScore)> {
    let fitting = ranked.iter().enumerate().filter(|(_, ranked)| problem.fits_budget(ranked.candidate.root_bytes));
    let scored = fitting.map(|(index, ranked)| (index, as_root(ranked, problem)));
    scored.reduce(|best, next| if next.1 < best.1 { next } else { best })
}

/// The best design with at least one more layer above a candidate.
fn stack(
    vertex: &SearchNode,
    ranked: &RankedCandidate,
    shares: &LookupShares,
    problem: &DesignProblem<'_>,
    bound: Option<DesignScore>,
) -> Option<LayerStack> {
    let layer = ranked.candidate.layer.as_ref()?;
    let ideal_us = ranked.spent_us + problem.single_read_us(vertex.depth + 1, u64::from(layer.page_bytes));
    if hopeless(ideal_us, problem, bound) {
        return None;
    }
    // Only coded groups may have to change to fit; other layers are copied only when necessary.
    let layer = match &layer.nodes {
        LayerNodes::Coded { .. } => Cow::Owned(layer.clone().fit_into_pages()),
        _ => Cow::Borrowed(layer),
    };
    let row = layer.row_above(shares);
    let next = SearchNode {
        path: [&vertex.path[..], &[ranked.candidate.builder]].concat(),
        path_bytes: vertex.path_bytes + layer.size_in_pages_bytes(),
        ..SearchNode::layer(vertex.depth + 1, &row, ranked.spent_us)
    };
    let mut found = above(&next, &row, problem, bound, 1)?;
    found.layers.insert(0, layer.into_owned());
    found.reads.insert(0, ranked.candidate.reads.clone());
    Some(found)
}
