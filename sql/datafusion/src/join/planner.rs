//! The plan of a join with rows in the order of a key.

use super::choice::{look_up_us, scan_us};
use super::fence::{FenceExec, Hidden, needs_fence};
use super::keyed_side::KeyedSide;
use super::look_up::LookUpJoinExec;
use super::node::KeyJoinNode;
use super::rule::has_floats;
use crate::source::ROWS_PER_LOOKUP_JOINED;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, JoinSide, JoinType, NullEquality, internal_err};
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Join, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter, JoinOn};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use std::sync::Arc;

/// The part of the memory that the smaller side of a hash join may take: the rest is for what else the query does.
const HASH_MEMORY_SHARE: f64 = 0.25;
/// Bytes of a row in a hash table, beside its columns.
const HASH_ROW_BYTES: f64 = 24.0;
/// Bytes of a column of which nothing is known.
const COLUMN_BYTES: f64 = 16.0;

/// Plans [`KeyJoinNode`]s by the estimated times of the ways to join.
#[derive(Debug, Default)]
pub struct KeyJoinPlanner;

#[async_trait]
impl ExtensionPlanner for KeyJoinPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<KeyJoinNode>() else { return Ok(None) };
        let [left, right] = inputs else { return internal_err!("a join has two inputs") };
        let join = node.join();
        let on = join.on.iter().map(|(one, other)| {
            let one = planner.create_physical_expr(one, join.left.schema(), session, context)?;
            let other = planner.create_physical_expr(other, join.right.schema(), session, context)?;
            Ok((one, other))
        });
        let filter = match &join.filter {
            Some(filter) => Some(join_filter(join, filter, [left, right], &|expr, schema| {
                planner.create_physical_expr(expr, schema, session, context)
            })?),
            None => None,
        };
        let candidate = Candidate { join, on: on.collect::<Result<_>>()?, filter, left, right, session };
        candidate.plan().map(Some)
    }
}

/// Plans an expression on columns.
type PlanExpr<'a> = dyn Fn(&Expr, &DFSchema) -> Result<Arc<dyn PhysicalExpr>> + 'a;

/// A condition on the columns of both sides, in terms of those that it needs.
fn join_filter(
    join: &Join,
    condition: &Expr,
    inputs: [&Arc<dyn ExecutionPlan>; 2],
    planned: &PlanExpr<'_>,
) -> Result<JoinFilter> {
    let columns = condition.column_refs();
    let sides = [(JoinSide::Left, join.left.schema(), inputs[0]), (JoinSide::Right, join.right.schema(), inputs[1])];
    let (mut indices, mut logical, mut physical) = (Vec::new(), Vec::new(), Vec::new());
    for (side, schema, input) in sides {
        let mut used: Vec<usize> = columns.iter().filter_map(|column| schema.maybe_index_of_column(column)).collect();
        used.sort_unstable();
        used.dedup();
        for index in used {
            let (qualifier, field) = schema.qualified_field(index);
            logical.push((qualifier.cloned(), field.clone()));
            physical.push(input.schema().field(index).clone());
            indices.push(ColumnIndex { index, side });
        }
    }
    let schema = DFSchema::new_with_metadata(logical, Default::default())?;
    let condition = planned(condition, &schema)?;
    Ok(JoinFilter::new(condition, indices, Arc::new(arrow_schema::Schema::new(physical))))
}

/// A join to be planned.
struct Candidate<'a> {
    join: &'a Join,
    on: JoinOn,
    filter: Option<JoinFilter>,
    left: &'a Arc<dyn ExecutionPlan>,
    right: &'a Arc<dyn ExecutionPlan>,
    session: &'a dyn Session,
}

impl Candidate<'_> {
    fn plan(self) -> Result<Arc<dyn ExecutionPlan>> {
        let (left_on, right_on): (Vec<_>, Vec<_>) = self.on.iter().cloned().unzip();
        let left = KeyedSide::of(self.left, &left_on);
        let right = KeyedSide::of(self.right, &right_on);
        if self.join.null_equality == NullEquality::NullEqualsNothing
            && let Some(looks_left) = self.looks_left(left.as_ref(), right.as_ref())
        {
            let (left, right) = (self.left.clone(), self.right.clone());
            let join_type = self.join.join_type;
            let join = LookUpJoinExec::try_new(left, right, self.on, self.filter, join_type, looks_left)?;
            return Ok(Arc::new(join));
        }
        if let (Some(left), Some(right)) = (&left, &right)
            && let Some(plan) = self.merge(left, right)
        {
            return plan;
        }
        self.hash()
    }

    /// Whether keys are looked up in the left or in the right side; `None` if another join costs less.
    fn looks_left(&self, left: Option<&KeyedSide>, right: Option<&KeyedSide>) -> Option<bool> {
        let sides = [(left, self.right, true), (right, self.left, false)];
        for (side, stream, looks_left) in sides {
            if side.is_some_and(|side| self.is_look_up_cheaper(side, stream, looks_left)) {
                return Some(looks_left);
            }
        }
        // A cluster exchanges both sides of a merge. If both are in order, a task can read of the other side the range
        // that the keys of its own rows are in, and nothing is exchanged.
        let (left, right) = (left?, right?);
        let is_cluster = !self.session.config_options().optimizer.prefer_hash_join;
        if !is_cluster || left.on.len() != self.on.len() || left.on != right.on {
            return None;
        }
        let is_dense = |side: &KeyedSide, stream: &KeyedSide| {
            let rows = |side: &KeyedSide| rows_of(side.plan());
            rows(side).zip(rows(stream)).is_some_and(|(read, passed)| read <= passed * ROWS_PER_LOOKUP_JOINED)
        };
        let fits = |side, stream, looks_left| {
            LookUpJoinExec::supports(self.join.join_type, looks_left) && is_dense(side, stream)
        };
        match (fits(left, right, true), fits(right, left, false)) {
            // The found rows are put into a hash table: those of the smaller side.
            (true, true) => Some(rows_of(self.left) <= rows_of(self.right)),
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }

    /// Whether to look up the keys of the other side costs less than to read all rows.
    fn is_look_up_cheaper(&self, side: &KeyedSide, stream: &Arc<dyn ExecutionPlan>, looks_left: bool) -> bool {
        let Some(relation) = side.relation() else { return false };
        let Some(rows) = rows_of(stream).filter(|_| LookUpJoinExec::supports(self.join.join_type, looks_left)) else {
            return false;
        };
        let scanned = rows_of(side.plan()).unwrap_or_else(|| relation.rows().rows);
        let share = scanned as f64 / relation.rows().rows.max(1) as f64;
        let threads = self.session.config().target_partitions();
        let profile = relation.profile();
        look_up_us(&**relation, rows, profile) < scan_us(&**relation, threads, profile) * share.min(1.0)
    }

    /// Both sides in order, cut at the same keys.
    fn merge(&self, left: &KeyedSide, right: &KeyedSide) -> Option<Result<Arc<dyn ExecutionPlan>>> {
        let all = self.on.len();
        if left.on.len() != all || left.on != right.on {
            return None;
        }
        if !self.can_merge() {
            return None;
        }
        let (one, other) = (left.ordering()?, right.ordering()?);
        let options: Vec<_> = one.iter().map(|sort| sort.options).collect();
        if !other.iter().map(|sort| sort.options).eq(options.iter().copied()) {
            return None;
        }
        let is_left_larger = left.relation()?.rows().rows >= right.relation()?.rows().rows;
        let cuts = if is_left_larger { left.cuts()? } else { right.cuts()? };
        // The columns in the order of the key.
        let on = left.on.iter().map(|&at| self.on[at].clone()).collect();
        let planned = |left: Result<Arc<dyn ExecutionPlan>>, right: Result<Arc<dyn ExecutionPlan>>| {
            let (filter, join_type) = (self.filter.clone(), self.join.join_type);
            let nulls = self.join.null_equality;
            let join = SortMergeJoinExec::try_new(left?, right?, on, filter, join_type, options, nulls)?;
            Ok(fenced(join))
        };
        Some(planned(left.cut_at(&cuts)?, right.cut_at(&cuts)?))
    }

    /// Whether DataFusion's merge does such joins. Those that add nulls fail in version 55 if they have a condition,
    /// with "declared as non-nullable but contains null values". Floats are sorted with -0 before 0, and merged as if
    /// the two were one: rows are lost where the next columns are not in order over both.
    fn can_merge(&self) -> bool {
        let adds_nulls = matches!(self.join.join_type, JoinType::Left | JoinType::Right | JoinType::Full);
        !self.join.null_aware && (self.filter.is_none() || !adds_nulls) && !has_floats(self.join)
    }

    /// DataFusion's own join; by sorting both sides, if neither fits memory.
    fn hash(self) -> Result<Arc<dyn ExecutionPlan>> {
        let options = &self.session.config_options().optimizer;
        let (left, right) = (self.left.clone(), self.right.clone());
        let join_type = self.join.join_type;
        let many = self.session.config().target_partitions() > 1;
        let (nulls, aware) = (self.join.null_equality, self.join.null_aware);
        if many && (!options.prefer_hash_join || self.exceeds_memory()) && self.can_merge() {
            let sort = vec![arrow_schema::SortOptions::default(); self.on.len()];
            let join = SortMergeJoinExec::try_new(left, right, self.on, self.filter, join_type, sort, nulls)?;
            return Ok(fenced(join));
        }
        let mode = match many && options.repartition_joins {
            // Ballista 55 divides joins that are collected where others read the whole.
            true if !options.prefer_hash_join => PartitionMode::Partitioned,
            true => PartitionMode::Auto,
            false => PartitionMode::CollectLeft,
        };
        let may_merge = !options.prefer_hash_join && self.filter.is_some();
        let join = HashJoinExec::try_new(left, right, self.on, self.filter, &join_type, None, mode, nulls, aware)?;
        // An engine that prefers merges may still make one of it.
        Ok(if may_merge { Arc::new(FenceExec::new(Arc::new(join), Hidden::Nothing)) } else { Arc::new(join) })
    }

    /// Whether the smaller side takes more memory than a hash table may have.
    fn exceeds_memory(&self) -> bool {
        let MemoryLimit::Finite(limit) = self.session.runtime_env().memory_pool.memory_limit() else { return false };
        // Each of the sorts, two for each thread, sets memory aside to merge what it has spilled.
        let sorts = 2 * self.session.config().target_partitions();
        if limit < 2 * sorts * self.session.config_options().execution.sort_spill_reservation_bytes {
            return false;
        }
        let bytes = |plan: &Arc<dyn ExecutionPlan>| {
            let row = HASH_ROW_BYTES + COLUMN_BYTES * plan.schema().fields().len() as f64;
            rows_of(plan).map(|rows| rows as f64 * row)
        };
        let smaller = match (bytes(self.left), bytes(self.right)) {
            (Some(left), Some(right)) => left.min(right),
            (one, other) => one.or(other).unwrap_or(0.0),
        };
        smaller > limit as f64 * HASH_MEMORY_SHARE
    }
}

/// A merge, behind a fence if it has a condition, or leaves rows of a side out.
fn fenced(join: SortMergeJoinExec) -> Arc<dyn ExecutionPlan> {
    let needs_fence = needs_fence(join.join_type(), join.filter().is_some());
    let join = Arc::new(join);
    if needs_fence { Arc::new(FenceExec::new(join, Hidden::Nothing)) } else { join }
}

/// About how many rows a plan has, if anything is known.
fn rows_of(plan: &Arc<dyn ExecutionPlan>) -> Option<u64> {
    let statistics = StatisticsContext::new().compute(&**plan, &StatisticsArgs::new()).ok()?;
    statistics.num_rows.get_value().map(|rows| *rows as u64)
}
