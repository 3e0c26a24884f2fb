//! Parquet files without the bounds of their floats.
//!
//! A writer of Parquet leaves NaN out of the least and the greatest value of a column, and writes zeros of either sign
//! for both. DataFusion 55 takes these bounds for exact: if both are the same number, a NaN is read as this number; the
//! greatest value is never NaN; and parts of a file that contain NaN are skipped, although DataFusion orders NaN above
//! all numbers. Bounds of other columns, and counts of rows and nulls, stay known.

use arrow_schema::{DataType, Schema};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Leaves the bounds of floats out of what is known of Parquet files. To be applied before the rules of DataFusion.
#[derive(Debug)]
pub(crate) struct LeaveOutFloatBounds;

impl PhysicalOptimizerRule for LeaveOutFloatBounds {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        with_scans(plan, without_bounds)
    }

    fn name(&self) -> &str {
        "leave_out_float_bounds"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Has no part of a Parquet file left out by a condition on floats, which an operator above, or the reader, checks row
/// by row. To be applied after the rules of DataFusion.
#[derive(Debug)]
pub(crate) struct LeaveOutFloatConditions;

impl PhysicalOptimizerRule for LeaveOutFloatConditions {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        with_scans(plan, without_conditions)
    }

    fn name(&self) -> &str {
        "leave_out_float_conditions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A plan whose scans of Parquet files are others, where `change` says so.
fn with_scans(
    plan: Arc<dyn ExecutionPlan>,
    change: impl Fn(&FileScanConfig, &ParquetSource) -> Option<FileScanConfig>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let changed = plan.transform_up(|plan| {
        let scan = plan.downcast_ref::<DataSourceExec>();
        let scan = scan.and_then(DataSourceExec::downcast_to_file_source::<ParquetSource>);
        Ok(match scan.and_then(|(config, source)| change(config, source)) {
            Some(config) => Transformed::yes(DataSourceExec::from_data_source(config) as _),
            None => Transformed::no(plan),
        })
    });
    Ok(changed?.data)
}

/// Whether values of a type are floats, or have some within.
fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_floats(values),
        DataType::RunEndEncoded(_, field)
        | DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_floats(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        DataType::Union(fields, _) => fields.iter().any(|(_, field)| has_floats(field.data_type())),
        other => other.is_floating(),
    }
}

fn without_bounds(config: &FileScanConfig, source: &ParquetSource) -> Option<FileScanConfig> {
    let schema = source.table_schema().table_schema();
    if !schema.fields().iter().any(|field| has_floats(field.data_type())) {
        return None;
    }
    let groups = config.file_groups.iter().map(|group| {
        let known = group.file_statistics(None).map(|known| Arc::new(without(known.clone(), schema)));
        let files = group.iter().cloned().map(|file| PartitionedFile {
            statistics: file.statistics.as_ref().map(|known| Arc::new(without(known.as_ref().clone(), schema))),
            ..file
        });
        let group = FileGroup::new(files.collect());
        match known {
            Some(known) => group.with_statistics(known),
            None => group,
        }
    });
    let groups = groups.collect();
    let known = without(config.statistics(), schema);
    Some(FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).with_statistics(known).build())
}

/// What is known of columns, without the bounds of floats.
fn without(mut known: Statistics, schema: &Schema) -> Statistics {
    for (column, field) in known.column_statistics.iter_mut().zip(schema.fields()) {
        if has_floats(field.data_type()) {
            *column = ColumnStatistics {
                min_value: Precision::Absent,
                max_value: Precision::Absent,
                sum_value: Precision::Absent,
                ..column.clone()
            };
        }
    }
    known
}

fn without_conditions(config: &FileScanConfig, source: &ParquetSource) -> Option<FileScanConfig> {
    let condition = source.filter()?;
    let schema = source.table_schema().table_schema();
    let is_of_floats = |condition: &Arc<_>| {
        let types =
            collect_columns(condition).into_iter().filter_map(|column| schema.fields().get(column.index()).cloned());
        types.into_iter().any(|field| has_floats(field.data_type()))
    };
    let all = split_conjunction(&condition);
    if !all.iter().any(|one| is_of_floats(one)) {
        return None;
    }
    let options = source.table_parquet_options();
    let source = if options.global.pushdown_filters {
        // The reader checks the condition, which may stand nowhere else.
        let mut options = options.clone();
        options.global.pruning = false;
        options.global.enable_page_index = false;
        source.clone().with_table_parquet_options(options)
    } else {
        source.with_predicate(conjunction(all.into_iter().filter(|one| !is_of_floats(one)).cloned()))
    };
    Some(FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build())
}
