//! Scans from the end that stop at a limit of rows.

use crate::source::OgiveSource;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfigBuilder;
use datafusion::datasource::physical_plan::FileSource;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::sorts::sort::SortExec;
use std::sync::Arc;

/// Tells scans in the reversed order of the key below `ORDER BY key DESC LIMIT n` that n rows of each partition are
/// enough. Without it they stop when the sort above has found its rows, which is not known on other machines.
#[derive(Debug)]
pub(crate) struct ReadLastRows;

impl PhysicalOptimizerRule for ReadLastRows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let limited = plan.transform_up(|plan| {
            let scan = plan.downcast_ref::<SortExec>().and_then(limited);
            let Some(scan) = scan else { return Ok(Transformed::no(plan)) };
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
            Ok(Transformed::yes(plan.replace_children(vec![scan], options)?))
        });
        Ok(limited?.data)
    }

    fn name(&self) -> &str {
        "read_last_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The scan below a sort, with its limit; `None` if the sort needs more rows, or something else is below it.
fn limited(sort: &SortExec) -> Option<Arc<dyn ExecutionPlan>> {
    let rows = sort.fetch()?;
    let scan = sort.input().downcast_ref::<DataSourceExec>()?;
    let (config, source) = scan.downcast_to_file_source::<OgiveSource>()?;
    if !source.is_descending() || config.limit.is_some() || !is_reversed(sort.expr(), source) {
        return None;
    }
    let source = source.clone().with_last(Some(rows));
    let config = FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build();
    Some(DataSourceExec::from_data_source(config))
}

/// Whether an order is the opposite of that of the key, as far as it goes.
fn is_reversed(order: &LexOrdering, source: &OgiveSource) -> bool {
    let ([relation], Some(projection)) = (&source.relations()[..], source.projection()) else { return false };
    let Some(of_key) = relation.key().ordering() else { return false };
    // The place of a column among those of the relation.
    let place = |column: &PhysicalSortExpr| {
        let column = column.expr.downcast_ref::<Column>()?.index();
        projection.as_ref().get(column)?.expr.downcast_ref::<Column>().map(Column::index)
    };
    let is_opposite = |(one, key): (&PhysicalSortExpr, &PhysicalSortExpr)| {
        one.options == !key.options && place(one) == key.expr.downcast_ref::<Column>().map(Column::index)
    };
    order.len() <= of_key.len() && order.iter().zip(of_key.iter()).all(is_opposite)
}
