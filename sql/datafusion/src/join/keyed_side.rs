//! Sides of joins whose rows come in the order of a key.

use crate::key_columns::KeyColumns;
use crate::key_set::KeySet;
use crate::packed_keys::KeyBuffer;
use crate::partition::cut_exactly;
use crate::relation::Relation;
use crate::source::{COUNTED_KEYS_MIN, OgiveSource, PartitionKeys};
use arrow_array::ArrayRef;
use datafusion::common::ScalarValue;
use datafusion::common::internal_err;
use datafusion::datasource::physical_plan::FileSource;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, RangePartitioning, SplitPoint};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning, PhysicalExpr};
use ogive_arrow::{append_frequent_key, value_of};
use std::sync::Arc;

/// A plan that reads one relation in the order of its key, and perhaps filters and projects its rows.
#[derive(Clone, Debug)]
pub(crate) struct KeyedSide {
    plan: Arc<dyn ExecutionPlan>,
    /// For each of the first columns of the key, the position of the join column that it is.
    pub(crate) on: Vec<usize>,
}

impl KeyedSide {
    /// The side, if its join columns have the first columns of its key among them.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>, on: &[Arc<dyn PhysicalExpr>]) -> Option<Self> {
        let (config, source) = scan_of(plan)?;
        // A limit counts the rows that would be read without the join.
        if config.limit.is_some() {
            return None;
        }
        let [relation] = &**source.relations() else { return None };
        let origins: Vec<Option<usize>> = on.iter().map(|column| origin(plan, column)).collect();
        let ordered = relation.key().ordering()?.len();
        let parts = relation.key().columns().iter().take(ordered);
        let places = parts.map_while(|part| origins.iter().position(|origin| *origin == Some(part.position)));
        let on: Vec<usize> = places.collect();
        (!on.is_empty()).then(|| Self { plan: plan.clone(), on })
    }

    pub(crate) fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// What the scan has measured.
    pub(crate) fn scan_metrics(&self) -> Option<MetricsSet> {
        Some(scan_of(&self.plan)?.1.metrics().clone_inner())
    }

    /// The relation that is read.
    pub(crate) fn relation(&self) -> Option<&Arc<dyn Relation>> {
        scan_of(&self.plan)?.1.relations().first()
    }

    /// The keys that are read.
    fn keys(&self) -> KeySet {
        let files = scan_of(&self.plan).into_iter().flat_map(|(config, _)| &config.file_groups);
        let parts = files.flat_map(FileGroup::iter).filter_map(|file| file.extension::<PartitionKeys>());
        parts.fold(KeySet::none(), |keys, part| keys.union(part.keys.clone()))
    }

    /// The order of the first columns of the key, in terms of the relation.
    pub(crate) fn ordering(&self) -> Option<LexOrdering> {
        let ordering = self.relation()?.key().ordering()?;
        LexOrdering::new(ordering.iter().take(self.on.len()).cloned())
    }

    /// The values of the first columns of the key at which the partitions begin that follow the first one.
    pub(crate) fn cuts(&self) -> Option<Vec<Vec<ScalarValue>>> {
        let (config, source) = scan_of(&self.plan)?;
        let key = source.relations().first()?.key();
        let firsts = config.file_groups.iter().skip(1).map(|group| {
            let part = group.iter().next()?.extension::<PartitionKeys>()?;
            let std::ops::Bound::Included(start) = part.keys.range(0)?.0 else { return None };
            let mut values = key.scalars(&start)?;
            values.truncate(self.on.len());
            Some(values)
        });
        let mut cuts = firsts.collect::<Option<Vec<_>>>()?;
        cuts.dedup();
        Some(cuts)
    }

    /// The same rows, with partitions that begin at these values of the first columns of the key.
    pub(crate) fn cut_at(&self, cuts: &[Vec<ScalarValue>]) -> Option<Result<Arc<dyn ExecutionPlan>>> {
        let key = self.relation()?.key();
        let starts = cuts.iter().map(|values| key.start_of(values)).collect::<Option<Vec<_>>>()?;
        let parts = cut_exactly(&self.keys(), &starts);
        let points = cuts.iter().map(|values| SplitPoint::new(values.clone())).collect();
        let ranges = RangePartitioning::try_new(self.ordering()?, points).ok()?;
        let rows = self.rows() / parts.len().max(1) as u64;
        let parts = parts.into_iter().map(|keys| PartitionKeys { relation: 0, keys, rows, is_hint: false }).collect();
        Some(self.with_parts(parts, Some(Partitioning::Range(ranges))))
    }

    /// The rows of the keys that are read, as far as they are in a set, and perhaps others, in one partition. They are
    /// looked up by at most `threads` threads.
    pub(crate) fn with_keys(&self, keys: &KeySet, threads: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let own = self.keys();
        let keys = if own.is_all() { keys.clone() } else { keys.intersection(&own) };
        // What is between two keys of one range is in it, too.
        let is_hint = own.len() == 1;
        let parts = keys.parts(threads, COUNTED_KEYS_MIN).into_iter();
        let parts: Vec<PartitionKeys> =
            parts.map(|keys| PartitionKeys { relation: 0, rows: keys.len() as u64, keys, is_hint }).collect();
        let is_one = parts.len() == 1;
        let found = self.with_parts(parts, None)?;
        Ok(if is_one { found } else { Arc::new(CoalescePartitionsExec::new(found)) })
    }

    /// All rows in one partition.
    pub(crate) fn whole(&self) -> Result<Arc<dyn ExecutionPlan>> {
        if self.plan.output_partitioning().partition_count() == 1 {
            return Ok(self.plan.clone());
        }
        self.with_parts(vec![PartitionKeys { relation: 0, keys: self.keys(), rows: self.rows(), is_hint: false }], None)
    }

    /// About how many rows are read.
    fn rows(&self) -> u64 {
        let files = scan_of(&self.plan).into_iter().flat_map(|(config, _)| &config.file_groups);
        files.flat_map(FileGroup::iter).filter_map(|file| Some(file.extension::<PartitionKeys>()?.rows)).sum()
    }

    fn with_parts(
        &self,
        parts: Vec<PartitionKeys>,
        partitioning: Option<Partitioning>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        with_scan(&self.plan, &|config| {
            let Some(file) = config.file_groups.iter().flat_map(FileGroup::iter).next() else {
                return internal_err!("the scan of an Ogive table has no partition");
            };
            let groups = parts.iter().map(|part| FileGroup::new(vec![file.clone().with_extension(part.clone())]));
            Ok(FileScanConfigBuilder::from(config.clone())
                .with_file_groups(groups.collect())
                .with_output_partitioning(partitioning.clone())
                .build())
        })
    }
}

/// The keys of rows of join columns, which are the first columns of a key; nulls have none. `None` if values of these
/// types have no keys.
pub(crate) fn keys_of_rows(key: &KeyColumns, columns: &[ArrayRef]) -> Option<KeySet> {
    let rows = columns.first()?.len();
    let types = key.columns().iter().zip(columns).map(|(part, array)| part.type_of(array));
    let types = types.collect::<Option<Vec<_>>>()?;
    let (mut starts, mut bytes) = (KeyBuffer::default(), Vec::new());
    for row in 0..rows {
        if columns.iter().any(|array| array.is_null(row)) {
            continue;
        }
        bytes.clear();
        if key.is_tuple() {
            for ((part, array), key_type) in key.columns().iter().zip(columns).zip(&types) {
                bytes.extend(part.encoded(&value_of(array, *key_type, row))?);
            }
        } else if !append_frequent_key(&columns[0], types[0], row, &mut bytes) {
            bytes = types[0].encode(&value_of(&columns[0], types[0], row)).ok()?;
        }
        starts.push(&bytes);
    }
    Some(key.with_prefixes(starts))
}

/// The scan at the end of a chain of filters and projections.
fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<(&FileScanConfig, &OgiveSource)> {
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        return scan.downcast_to_file_source::<OgiveSource>();
    }
    let is_passed = plan.downcast_ref::<ProjectionExec>().is_some()
        || plan.downcast_ref::<FilterExec>().is_some()
        || is_exchange(plan);
    match &plan.children()[..] {
        [input] if is_passed && plan.fetch().is_none() => scan_of(input),
        _ => None,
    }
}

/// Whether a plan only hands rows on, to other threads.
fn is_exchange(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<RepartitionExec>().is_some()
        || plan.downcast_ref::<CoalescePartitionsExec>().is_some()
        || plan.downcast_ref::<CooperativeExec>().is_some()
}

/// The same chain over another scan, whose partitions are not exchanged.
fn with_scan(
    plan: &Arc<dyn ExecutionPlan>,
    change: &dyn Fn(&FileScanConfig) -> Result<FileScanConfig>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        return match scan.downcast_to_file_source::<OgiveSource>() {
            Some((config, _)) => Ok(DataSourceExec::from_data_source(change(config)?)),
            None => internal_err!("the side of a join by key is no scan of an Ogive table"),
        };
    }
    let inputs = plan.children().into_iter().map(|input| with_scan(input, change)).collect::<Result<Vec<_>>>()?;
    if let ([input], true) = (&inputs[..], is_exchange(plan)) {
        return Ok(input.clone());
    }
    replace_children_if_necessary(plan.clone(), inputs)
}

/// The column of the relation that a column of a plan is.
fn origin(plan: &Arc<dyn ExecutionPlan>, column: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    let at = column.downcast_ref::<Column>()?.index();
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        let (config, _) = scan.downcast_to_file_source::<OgiveSource>()?;
        let projected = config.file_source().projection()?.iter().nth(at)?.expr.clone();
        return projected.downcast_ref::<Column>().map(Column::index);
    }
    let input = *plan.children().first()?;
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return origin(input, &projection.expr().get(at)?.expr);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let at = match filter.projection() {
            Some(projection) => *projection.get(at)?,
            None => at,
        };
        let name = input.schema().field(at).name().clone();
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(&name, at));
        return origin(input, &column);
    }
    origin(input, column)
}
