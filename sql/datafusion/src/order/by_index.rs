//! `ORDER BY` by an index of a keyspace: rows are read in its order, and none is sorted.
//!
//! ```text
//! order by joined desc limit 10      SortExec(fetch=10)         the sort is left out
//!                                      scan of all rows    -->   scan in reversed order of the index, first=10
//! ```
//!
//! The rule runs before DataFusion decides about sorts and partitions. It replaces the scan below a sort by one that
//! declares the order, and DataFusion leaves the sort out, as over a sorted file.

use crate::relation::{IndexOrder, OrderedPart, RowCount};
use crate::source::{OgiveSource, OrderChoice, ROWS_PER_LOOKUP, ReadOrder};
use crate::table::OgiveTable;
use arrow_schema::SortOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::datasource::physical_plan::{FileScanConfigBuilder, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use std::sync::Arc;

/// A row that is looked up in the order of an index costs as much as this many that are read in a row, in memory: of
/// 100,000 rows of 70 bytes, limits of 10 to 100,000 took 2 to 27 times as long a row, the median 11, and once 77, on
/// two cores with other work. Nearly the upper end is taken, since rows that are not in memory are blocks of their own.
const ROWS_PER_ORDERED_LOOKUP: u64 = 24;

/// Reads rows in the order of an index, where a sort needs that order and fewer rows are looked up than it is worth.
#[derive(Debug)]
pub(crate) struct ReadInIndexOrder;

impl PhysicalOptimizerRule for ReadInIndexOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let ordered = plan.transform_up(|plan| {
            let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(Transformed::no(plan)) };
            let wanted = Wanted { order: sort.expr().to_vec(), rows: sort.fetch(), filters: 0 };
            match ordered(sort.input(), wanted)? {
                Some(input) => with_input(plan, input).map(Transformed::yes),
                None => Ok(Transformed::no(plan)),
            }
        });
        Ok(ordered?.data)
    }

    fn name(&self) -> &str {
        "read_in_index_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What a sort wants of a plan below it.
struct Wanted {
    /// The order, by columns of the plan.
    order: Vec<PhysicalSortExpr>,
    /// The number of rows, if not all.
    rows: Option<usize>,
    /// The number of operators between that leave rows out.
    filters: usize,
}

impl Wanted {
    /// The same of the input of a plan, whose columns are columns of it at these places.
    fn of_input(&self, place: impl Fn(usize) -> Option<Column>, filters: usize) -> Option<Self> {
        let order = self.order.iter().map(|sort| {
            let column = place(sort.expr.downcast_ref::<Column>()?.index())?;
            Some(PhysicalSortExpr::new(Arc::new(column), sort.options))
        });
        Some(Self { order: order.collect::<Option<_>>()?, rows: self.rows, filters: self.filters + filters })
    }
}

fn with_input(plan: Arc<dyn ExecutionPlan>, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.replace_children(vec![input], ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// The plan with its rows in an order, by an index; `None` if there is none, or to sort the rows costs less.
fn ordered(plan: &Arc<dyn ExecutionPlan>, wanted: Wanted) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let (input, wanted) = if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let place = |at: usize| projection.expr().get(at)?.expr.downcast_ref::<Column>().cloned();
        (projection.input(), wanted.of_input(place, 0))
    } else if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let schema = filter.input().schema();
        let column = |at: usize| schema.fields().get(at).map(|field| Column::new(field.name(), at));
        let place = |at: usize| match filter.projection() {
            Some(places) => column(*places.get(at)?),
            None => column(at),
        };
        (filter.input(), wanted.of_input(place, 1).filter(|_| filter.fetch().is_none()))
    } else {
        return Ok(plan.downcast_ref::<DataSourceExec>().and_then(|scan| ordered_scan(scan, &wanted)));
    };
    let Some(wanted) = wanted else { return Ok(None) };
    ordered(input, wanted)?.map(|input| with_input(plan.clone(), input)).transpose()
}

fn ordered_scan(scan: &DataSourceExec, wanted: &Wanted) -> Option<Arc<dyn ExecutionPlan>> {
    let (config, source) = scan.downcast_to_file_source::<OgiveSource>()?;
    let choice = source.orders().filter(|_| config.limit.is_none())?;
    // The place of a column among those of the relation.
    let projection = source.projection()?;
    let places = wanted.order.iter().map(|sort| {
        let column = projection.as_ref().get(sort.expr.downcast_ref::<Column>()?.index())?;
        Some((column.expr.downcast_ref::<Column>()?.clone(), sort.options))
    });
    let places = places.collect::<Option<Vec<_>>>()?;
    let columns: Vec<(usize, SortOptions)> =
        places.iter().map(|(column, options)| (column.index(), *options)).collect();
    let (read, rows) = cheapest(choice, &columns, wanted)?;
    let ordering =
        LexOrdering::new(places.into_iter().map(|(column, options)| PhysicalSortExpr::new(Arc::new(column), options)))?;
    let statistics = OgiveTable::statistics_of(source.relations(), RowCount::about(rows), None);
    let source = source.clone().in_order(read);
    let config = FileScanConfigBuilder::from(config.clone())
        .with_file_groups(source.all_rows(rows))
        .with_source(Arc::new(source))
        .with_statistics(statistics)
        .with_output_ordering(vec![ordering])
        .with_output_partitioning(None)
        .build();
    Some(DataSourceExec::from_data_source(config))
}

/// The order in which the fewest rows are looked up, if these cost no more than what is read otherwise, and about how
/// many they are.
fn cheapest(choice: &OrderChoice, columns: &[(usize, SortOptions)], wanted: &Wanted) -> Option<(ReadOrder, u64)> {
    let read = |order: &IndexOrder| {
        let is_descending = order.direction(columns)?;
        // Conditions that are not those of the entries leave out any number of rows.
        let limit = wanted.rows.filter(|_| order.is_exact && wanted.filters == usize::from(choice.is_checked));
        let rows = match (limit, order.rows) {
            (Some(limit), Some(rows)) => rows.min(limit as u64),
            (Some(limit), None) => limit as u64,
            (None, rows) => rows?,
        };
        let part = OrderedPart { is_descending, first: wanted.rows };
        Some((ReadOrder { order: order.clone(), part, limit }, rows))
    };
    let (read, rows) = choice.orders.iter().filter_map(read).min_by_key(|(_, rows)| *rows)?;
    let is_counted = read.order.rows.is_some_and(|all| all == choice.otherwise);
    let most = if is_counted { choice.otherwise } else { choice.otherwise * ROWS_PER_LOOKUP / ROWS_PER_ORDERED_LOOKUP };
    (rows <= most).then_some((read, rows))
}
