//! Sessions with support for Ogive: joins by key, external tables, and conditions that become known at run time.

use crate::blocking::mark_of_cluster;
use crate::exact_cast::{CastWrittenExactly, EXACT_CAST};
use crate::exact_literals::CompareLiteralsExactly;
use crate::external_table::OgiveTableFactory;
use crate::float_bounds::{LeaveOutFloatBounds, LeaveOutFloatConditions};
use crate::in_list::KEY_LIST;
use crate::join::{FenceMerges, FencePlanner, KeyJoinPlanner, MarkKeyJoins, with_fenced_unions};
use crate::key_lists::{PackKeyLists, UnpackKeyLists};
use crate::null_lists::SeparateNullsOfLists;
use crate::order::{ReadInIndexOrder, ReadLastRows};
use crate::relation::OgiveOptions;
use crate::single_value::{AggregateScalarSubqueries, SINGLE_VALUE};
use crate::transaction::SessionTransaction;
use crate::unambiguous_filters::UnambiguousFilters;
use crate::write::{ChangePlanner, OgiveFormatFactory, PartsPlanner, with_changes};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

/// Most keys of the smaller side of a hash join that are handed to the scan of the other side as a list: DataFusion
/// takes 30 us for each to make it, more than a lookup, and a hundred thousand took 3 s in TPC-H query 7.
const LISTED_KEYS_MAX: usize = 20_000;
/// Most bytes of such a list.
const LISTED_BYTES_MAX: usize = 16 << 20;

/// Settings under which timestamps of the type INT96 of Parquet files are of microseconds, as in indexes beside the
/// files: nanoseconds wrap outside 1677 to 2262.
#[must_use]
pub fn with_long_timestamps(mut config: SessionConfig) -> SessionConfig {
    config.options_mut().execution.parquet.coerce_int96 = Some("us".to_owned());
    config
}

/// Settings under which scans of Ogive tables get the keys of the other side of a join as a list, and those of
/// [`with_long_timestamps`].
#[must_use]
pub fn configure(config: SessionConfig) -> SessionConfig {
    let mut config = with_long_timestamps(config);
    let options = &mut config.options_mut().optimizer;
    options.hash_join_inlist_pushdown_max_distinct_values = LISTED_KEYS_MAX;
    options.hash_join_inlist_pushdown_max_size = LISTED_BYTES_MAX;
    config
}

/// Adds what Ogive tables need to a session: the rule and the planner of joins by key, and `STORED AS OGIVE`. The
/// planner of queries is replaced.
///
/// ```
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::prelude::{SessionConfig, SessionContext};
/// use ogive_datafusion::{OgiveOptions, configure, with_ogive};
///
/// let state = SessionStateBuilder::new().with_default_features().with_config(configure(SessionConfig::new()));
/// let context = SessionContext::from(with_ogive(state, &OgiveOptions::default()).build());
/// ```
#[must_use]
pub fn with_ogive(builder: SessionStateBuilder, options: &OgiveOptions) -> SessionStateBuilder {
    let mut builder = with_key_joins(builder);
    builder.file_formats().get_or_insert_default().push(Arc::new(OgiveFormatFactory));
    builder
        .with_table_factory("OGIVE".to_owned(), Arc::new(OgiveTableFactory::new(options.clone())))
        .with_query_planner(Arc::new(KeyQueryPlanner { changes_rows: true }))
}

/// Leaves `DELETE`, `UPDATE`, `CREATE INDEX` and `DROP INDEX` out of a session of [`with_ogive`] whose plans other
/// processes carry out: one process changes a store. Plans do not use indexes, whose keys would travel with them.
///
/// To be called once the builder has the configuration of the session, in which this is noted.
#[must_use]
pub fn without_changes(mut builder: SessionStateBuilder) -> SessionStateBuilder {
    mark_of_cluster(&mut builder);
    builder.with_query_planner(Arc::new(KeyQueryPlanner { changes_rows: false }))
}

/// Adds the rules and the planner of joins by key to a session, as [`with_ogive`] does, and nothing that writes.
#[must_use]
pub fn with_key_joins(mut builder: SessionStateBuilder) -> SessionStateBuilder {
    // In version 55, this rule takes a column for another one of the same name if a join has both, and rows are wrong.
    // Conditions that are known before are pushed down by the logical optimiser, too.
    let optimizer = builder.physical_optimizers().take().unwrap_or_default();
    let rules = optimizer.rules.into_iter().filter(|rule| rule.name() != "FilterPushdown");
    let rules = rules.map(|rule| match rule.name() {
        "FilterPushdown(Post)" => Arc::new(UnambiguousFilters { rule }) as Arc<_>,
        _ => rule,
    });
    let first: [Arc<dyn PhysicalOptimizerRule + Send + Sync>; 3] =
        [Arc::new(LeaveOutFloatBounds), Arc::new(FenceMerges), Arc::new(ReadInIndexOrder)];
    let analyzer = &mut builder.analyzer().get_or_insert_default().rules;
    analyzer.insert(0, Arc::new(CompareLiteralsExactly));
    analyzer.insert(1, Arc::new(PackKeyLists));
    builder.scalar_functions().get_or_insert_default().extend([KEY_LIST.clone(), EXACT_CAST.clone()]);
    builder.aggregate_functions().get_or_insert_default().push(SINGLE_VALUE.clone());
    builder
        .with_physical_optimizer_rules(first.into_iter().chain(rules).collect())
        .with_physical_optimizer_rule(Arc::new(ReadLastRows))
        .with_physical_optimizer_rule(Arc::new(LeaveOutFloatConditions))
        .with_analyzer_rule(Arc::new(SeparateNullsOfLists))
        .with_analyzer_rule(Arc::new(AggregateScalarSubqueries))
        .with_analyzer_rule(Arc::new(CastWrittenExactly))
        .with_optimizer_rule(Arc::new(UnpackKeyLists))
        .with_optimizer_rule(Arc::new(MarkKeyJoins))
        .with_query_planner(Arc::new(KeyQueryPlanner { changes_rows: false }))
}

/// DataFusion's planner, and that of joins by key.
#[derive(Debug)]
struct KeyQueryPlanner {
    /// Whether the session may change rows of stores.
    changes_rows: bool,
}

#[async_trait]
impl QueryPlanner for KeyQueryPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        SessionTransaction::refuse_plan(plan)?;
        let extensions: Vec<Arc<dyn ExtensionPlanner + Send + Sync>> =
            vec![Arc::new(KeyJoinPlanner), Arc::new(PartsPlanner), Arc::new(FencePlanner), Arc::new(ChangePlanner)];
        let planner = DefaultPhysicalPlanner::with_extension_planners(extensions);
        let plan = match self.changes_rows {
            true => with_changes(plan.clone())?,
            false => plan.clone(),
        };
        let plan = with_fenced_unions(plan)?;
        planner.create_physical_plan(&plan, session).await
    }
}
