//! The entry point of the planner: from two relations and the options to a plan.

use super::choose::MethodCandidate;
use super::spread::TableHistogram;
use crate::error::{Advice, Call, Error, Result};
use crate::io::Profile;
use crate::join::input::read_shape::worthwhile_gap_bytes;
use crate::join::rows::method::JoinMethod;
use crate::join::rows::options::{JoinOptions, JoinSide};
use crate::join::rows::plan::cost::JoinCost;
use crate::join::rows::plan::explanation::{
    JoinActual, JoinAlternative, JoinExplanation, JoinReadPlan, JoinRelationSummary,
};
use crate::join::rows::plan::facts::{LookupAccess, PlanContext, PlanInput, SideFacts, StoredIndex, TableBlocks};
use crate::join::rows::plan::spread::Spread;
use crate::join::rows::relation::Relation;
use crate::join::rows::report::JoinReport;
use crate::join::rows::text_hints::InputHints;
use crate::table::{HistogramPoint, Table};

/// The plan of a join.
#[derive(Clone, Debug)]
pub(in crate::join) struct Plan {
    /// Never [`JoinMethod::Auto`].
    pub(in crate::join) method: JoinMethod,
    /// The inner relation: looked up in, hashed or indexed.
    pub(in crate::join) inner: JoinSide,
    pub(in crate::join) threads: usize,
    pub(in crate::join) explanation: JoinExplanation,
}

/// Plans the join of two relations.
///
/// # Errors
/// `Cause::Input` with the reason, if the requested method cannot run; `Cause::UnregisteredMethod`.
pub(in crate::join) fn plan(left: &dyn Relation, right: &dyn Relation, options: &JoinOptions) -> Result<Plan> {
    options.method.check()?;
    let [left_hints, right_hints] = options.inputs;
    let (left_side, right_side) = (gathered(left, left_hints), gathered(right, right_hints));
    let local = Profile::default();
    let input = PlanInput {
        left_over_right: spread(&left_side, &right_side),
        right_over_left: spread(&right_side, &left_side),
        left: left_side.0,
        right: right_side.0,
        context: PlanContext {
            kind: options.kind,
            has_condition: options.condition.is_some(),
            may_have_nulls: options.null_test.is_some(),
            profile: &options.profile,
            local: &local,
            memory_bytes: options.memory_bytes as f64,
            threads: options.threads,
            any_order: options.any_order,
            formatted_fields: options.formatted_fields,
        },
    };
    let candidates = input.candidates(options.method, options.inner);
    let chosen = choose(&candidates, options.method)?;
    let cost = chosen.cost.as_ref().copied().unwrap_or_default();
    let (method, inner) = (chosen.method, chosen.inner.unwrap_or_else(|| larger(&input)));
    let threads = input.threads(method, &cost);
    Ok(Plan { method, inner, threads, explanation: explain(&input, options, chosen, &cost, threads, &candidates) })
}

/// The inner relation if a method does not determine it: the larger one, if possible.
fn larger(input: &PlanInput<'_>) -> JoinSide {
    if input.left.rows > input.right.rows && !input.must_scan(JoinSide::Left) {
        JoinSide::Left
    } else {
        JoinSide::Right
    }
}

/// The cheapest method, or the requested one.
fn choose(candidates: &[MethodCandidate], asked: JoinMethod) -> Result<&MethodCandidate> {
    let wanted = candidates.iter().find(|candidate| asked == JoinMethod::Auto || candidate.method == asked);
    match wanted {
        Some(MethodCandidate { cost: Err(reason), method, .. }) => {
            let detail = format!("the method {method} cannot join these relations: {reason}");
            Err(Error::input(detail).advise(Advice::Use(Call::ChooseMethod)))
        }
        Some(candidate) => Ok(candidate),
        None => {
            let detail = format!("the method {asked} is not available");
            Err(Error::input(detail).advise(Advice::Use(Call::ChooseMethod)))
        }
    }
}

/// The facts of a relation, and its key histogram if it is a table.
fn gathered(relation: &dyn Relation, hints: InputHints) -> (SideFacts, Vec<HistogramPoint>) {
    let facts = relation.facts();
    let (access, histogram) = match relation.table() {
        Some(table) => (LookupAccess::TableBlocks(blocks(table)), table.key_histogram(HISTOGRAM_POINTS)),
        None if relation.prober().is_some() => (LookupAccess::Probe, Vec::new()),
        None => (LookupAccess::Scan, Vec::new()),
    };
    let facts = SideFacts {
        name: facts.name.clone(),
        rows: facts.rows as f64,
        bytes: facts.bytes as f64,
        memory_bytes: facts.memory_bytes() as f64,
        key_bytes: facts.key_bytes.map(|bytes| bytes as f64),
        value_bytes: facts.value_bytes.map(|bytes| bytes as f64),
        is_sorted: facts.is_sorted,
        is_distinct: facts.is_distinct,
        access,
        hints,
    };
    (facts, histogram)
}

fn blocks(table: &Table) -> TableBlocks {
    let (count, bytes) = (table.blocks(), table.block_bytes());
    let stored_index = table.bottom_layer().map(|layer| {
        let each = if layer.is_exact { SEPARATOR_MEMORY_BYTES } else { LINE_MEMORY_BYTES };
        let nodes = if layer.is_exact { count / layer.granule.max(1) } else { layer.nodes };
        StoredIndex {
            unread_bytes: layer.read_bytes,
            memory_bytes: nodes.saturating_mul(each),
            window_blocks: (table.explain().data_mean_read_bytes / bytes.max(1) as f64).max(1.0),
            separates_blocks: layer.is_exact && layer.granule == 1,
        }
    });
    TableBlocks { count: count as f64, bytes, stored_index }
}

/// Memory of a separator of an 8-byte key, and of a line segment, in bytes.
const SEPARATOR_MEMORY_BYTES: u64 = 8;
const LINE_MEMORY_BYTES: u64 = 40;
/// Points of a key histogram: a few hundred intervals distinguish dense from sparse keys, and take a fraction of a
/// millisecond to compare.
const HISTOGRAM_POINTS: usize = 512;

/// The spread of one side's keys over the other's blocks.
fn spread(
    (outer, outer_points): &(SideFacts, Vec<HistogramPoint>),
    (inner, inner_points): &(SideFacts, Vec<HistogramPoint>),
) -> Spread {
    let LookupAccess::TableBlocks(inner_blocks) = &inner.access else { return Spread::default() };
    let inner_table = TableHistogram { points: inner_points, blocks: inner_blocks.count, rows: inner.rows };
    match &outer.access {
        LookupAccess::TableBlocks(blocks) => Spread::between(
            &TableHistogram { points: outer_points, blocks: blocks.count, rows: outer.rows },
            &inner_table,
        ),
        _ => {
            let keys = outer.hints.distinct_keys.map_or(outer.rows, |keys| outer.rows.min(keys as f64));
            Spread::even(keys, inner_blocks.count)
        }
    }
}

fn explain(
    input: &PlanInput<'_>,
    options: &JoinOptions,
    chosen: &MethodCandidate,
    predicted: &JoinCost,
    threads: usize,
    candidates: &[MethodCandidate],
) -> JoinExplanation {
    let scan = input.scan_shape();
    let rule = chosen.inner.and_then(|inner| match &input.side(inner).access {
        LookupAccess::TableBlocks(blocks) => Some((inner, input.read_rule(blocks))),
        _ => None,
    });
    let reads = JoinReadPlan {
        request_bytes: scan.request_bytes,
        at_once: scan.at_once,
        gap_bytes: rule.map_or(0, |(_, rule)| worthwhile_gap_bytes(input.context.profile, rule.block_bytes)),
        range_share: rule.map_or(1.0, |(inner, rule)| input.spread_over(inner).planned_reads(&rule).range_share),
    };
    JoinExplanation {
        method: chosen.method.to_string(),
        is_asked_for: options.method != JoinMethod::Auto,
        inner: chosen.inner,
        profile: options.profile.name().to_owned(),
        memory_bytes: options.memory_bytes,
        threads,
        reads,
        left: summary(input, JoinSide::Left),
        right: summary(input, JoinSide::Right),
        predicted: *predicted,
        actual: None,
        alternatives: candidates.iter().map(alternative).collect(),
    }
}

fn summary(input: &PlanInput<'_>, side: JoinSide) -> JoinRelationSummary {
    let facts = input.side(side);
    JoinRelationSummary {
        name: facts.name.clone(),
        rows: facts.rows,
        bytes: facts.bytes,
        text: facts.hints.text,
        is_sorted: facts.is_sorted,
        has_index: input.has_index(side),
    }
}

fn alternative(candidate: &MethodCandidate) -> JoinAlternative {
    JoinAlternative {
        method: candidate.method.to_string(),
        inner: candidate.inner,
        predicted: candidate.cost.as_ref().ok().copied(),
        refused: candidate.cost.as_ref().err().cloned(),
    }
}

impl JoinExplanation {
    /// Fills in the measured cost.
    pub(in crate::join) fn complete(&mut self, report: &JoinReport) {
        self.actual = Some(JoinActual {
            total_us: report.seconds.total() * 1e6,
            bytes_read: report.bytes_read,
            requests: report.requests,
            rows: report.rows,
            peak_memory_bytes: report.peak_memory_bytes,
        });
    }
}
