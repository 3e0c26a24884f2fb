//! The source of a scan: the keys and the columns of relations that it reads.

use crate::dynamic_filter::keys_within;
use crate::in_list::in_words;
use crate::key_set::{KeyRange, KeySet};
use crate::metrics::ScanMetrics;
use crate::partition::split;
use crate::relation::{IndexOrder, OrderedPart, Relation, RelationIdentity, ScanRequest};
use arrow_schema::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileOpenFuture, FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Expr;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{DynamicFilterTracking, conjunction};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use datafusion::physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr};
use datafusion::physical_plan::SortOrderPushdownResult;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{DisplayFormatType, PhysicalExpr};
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// Rows of a batch, unless the engine says otherwise.
const BATCH_ROWS: usize = 8192;
/// Keys that a condition found at run time is worth: a row that is looked up costs as much as this many that are read
/// in a row, on the storages that were measured, warm; cold, blocks are read once in either way.
pub(crate) const ROWS_PER_LOOKUP: u64 = 12;
/// The same for the keys of a batch of rows that are joined: the rows that are read are kept in a hash table.
pub(crate) const ROWS_PER_LOOKUP_JOINED: u64 = 4;
/// Fewer keys are looked up without asking how many rows are between them, which takes a read or two.
pub(crate) const COUNTED_KEYS_MIN: usize = 1024;

/// The keys of a partition.
#[derive(Clone, Debug)]
pub(crate) struct PartitionKeys {
    /// The number of the relation in the source.
    pub(crate) relation: usize,
    pub(crate) keys: KeySet,
    /// About how many rows they have.
    pub(crate) rows: u64,
    /// Whether rows of other keys may be read, too, because they are left out above.
    pub(crate) is_hint: bool,
}

/// The rows that a partition of a scan reads, as another process needs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRows {
    /// The number of the relation among [`OgiveSource::identities`].
    pub relation: usize,
    /// The ranges of keys, disjoint and ascending.
    pub ranges: Vec<KeyRange>,
    /// About how many rows they have.
    pub rows: u64,
}

/// The rows that a partition of a scan reads; `None` for a file of another source.
#[must_use]
pub fn partition_rows(file: &PartitionedFile) -> Option<PartitionRows> {
    let PartitionKeys { relation, keys, rows, .. } = file.extension::<PartitionKeys>()?;
    Some(PartitionRows { relation: *relation, ranges: keys.ranges().collect(), rows: *rows })
}

/// The part of a scan with these keys; `None` if there is no such relation.
pub(crate) fn file_of(relations: &[Arc<dyn Relation>], part: PartitionKeys) -> Option<PartitionedFile> {
    let relation = relations.get(part.relation)?;
    let file = PartitionedFile::new(relation.identity().location.clone(), relation.bytes().max(1));
    Some(file.with_extension(part))
}

/// Conditions that were pushed down, for `EXPLAIN`. They are put into words when it asks: a list may have a million
/// values.
#[derive(Clone)]
pub(crate) enum Conditions {
    Planned(Arc<[Expr]>),
    /// In the words of another process.
    Told(Arc<[String]>),
}

/// The source of the rows of relations.
#[derive(Clone)]
pub struct OgiveSource {
    relations: Arc<[Arc<dyn Relation>]>,
    table_schema: TableSchema,
    projection: SplitProjection,
    batch_rows: usize,
    is_descending: bool,
    /// Rows of a partition that are enough if the greatest key comes first.
    last: Option<usize>,
    conditions: Conditions,
    /// The index from which the keys are.
    index: Option<Arc<str>>,
    /// The orders in which indexes lead to the rows.
    orders: Option<Arc<OrderChoice>>,
    /// That in which they are read.
    order: Option<Arc<ReadOrder>>,
    /// What becomes known while the query runs.
    dynamic: Option<Arc<dyn PhysicalExpr>>,
    metrics: ExecutionPlanMetricsSet,
}

/// The orders in which indexes lead to the rows of a scan.
#[derive(Debug)]
pub(crate) struct OrderChoice {
    pub(crate) orders: Vec<IndexOrder>,
    /// Whether the conditions of the scan are checked right above it.
    pub(crate) is_checked: bool,
    /// About how many rows are worth as much when they are looked up as what is read otherwise.
    pub(crate) otherwise: u64,
}

/// An order in which rows are read.
#[derive(Debug)]
pub(crate) struct ReadOrder {
    pub(crate) order: IndexOrder,
    pub(crate) part: OrderedPart,
    /// The rows that are enough, whatever is above.
    pub(crate) limit: Option<usize>,
}

impl OgiveSource {
    pub(crate) fn new(relations: Arc<[Arc<dyn Relation>]>, schema: SchemaRef, conditions: Conditions) -> Self {
        let table_schema = TableSchema::from(schema);
        Self {
            relations,
            projection: SplitProjection::unprojected(&table_schema),
            table_schema,
            batch_rows: BATCH_ROWS,
            is_descending: false,
            last: None,
            conditions,
            index: None,
            orders: None,
            order: None,
            dynamic: None,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// What is read, and of which time.
    pub fn identities(&self) -> impl Iterator<Item = &RelationIdentity> {
        self.relations.iter().map(|relation| relation.identity())
    }

    /// The conditions that became ranges of keys, for `EXPLAIN`.
    #[must_use]
    pub fn conditions(&self) -> Vec<String> {
        match &self.conditions {
            Conditions::Planned(filters) => filters.iter().map(in_words).collect(),
            Conditions::Told(texts) => texts.to_vec(),
        }
    }

    /// Whether the greatest key comes first.
    #[must_use]
    pub fn is_descending(&self) -> bool {
        self.is_descending
    }

    pub(crate) fn by_index(self, index: Option<String>) -> Self {
        Self { index: index.map(Into::into), ..self }
    }

    pub(crate) fn with_orders(self, orders: Option<OrderChoice>) -> Self {
        Self { orders: orders.map(Arc::new), ..self }
    }

    /// The orders in which its rows may be read; `None` if that is decided, or there are none.
    pub(crate) fn orders(&self) -> Option<&OrderChoice> {
        self.orders.as_deref().filter(|orders| self.order.is_none() && !orders.orders.is_empty())
    }

    pub(crate) fn in_order(self, order: ReadOrder) -> Self {
        Self { order: Some(Arc::new(order)), index: None, ..self }
    }

    /// One partition with all rows.
    pub(crate) fn all_rows(&self, rows: u64) -> Vec<FileGroup> {
        let part = PartitionKeys { relation: 0, keys: KeySet::all(), rows, is_hint: false };
        vec![FileGroup::new(file_of(&self.relations, part).into_iter().collect())]
    }

    pub(crate) fn descending(self, is_descending: bool) -> Self {
        Self { is_descending, ..self }
    }

    /// The rows of each partition that are enough, of those with the greatest keys; `None` for all.
    #[must_use]
    pub fn last(&self) -> Option<usize> {
        self.last.filter(|_| self.is_descending)
    }

    /// The same source, of which that many rows of each partition are enough if the greatest key comes first.
    #[must_use]
    pub fn with_last(self, last: Option<usize>) -> Self {
        Self { last, ..self }
    }

    pub(crate) fn relations(&self) -> &Arc<[Arc<dyn Relation>]> {
        &self.relations
    }
}

impl FileSource for OgiveSource {
    fn create_file_opener(
        &self,
        _: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let opener = RelationOpener {
            relations: self.relations.clone(),
            columns: self.projection.file_indices.clone(),
            batch_rows: self.batch_rows,
            limit: match self.order.as_ref().and_then(|order| order.limit) {
                Some(first) => Some(config.limit.map_or(first, |limit| limit.min(first))),
                None => config.limit.or(self.last()),
            },
            order: self.order.clone(),
            // A limit of the scan is of the first rows in the order of the key, before anything else is known of them:
            // a sort below it was left out for that order.
            is_descending: self.is_descending && config.limit.is_none(),
            dynamic: self.dynamic.clone().filter(|_| config.limit.is_none() && self.order.is_none()),
            metrics: ScanMetrics::new(&self.metrics, partition),
        };
        ProjectionOpener::try_new(self.projection.clone(), Arc::new(opener), self.table_schema.file_schema())
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(Self { batch_rows: batch_size, ..self.clone() })
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "ogive"
    }

    fn fmt_extra(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conditions = self.conditions();
        if !conditions.is_empty() {
            write!(formatter, ", keys=[{}]", conditions.join(" AND "))?;
        }
        if let Some(index) = &self.index {
            write!(formatter, ", index={index}")?;
        }
        if let Some(ReadOrder { order, part, limit }) = self.order.as_deref() {
            let direction = if part.is_descending { "reversed order" } else { "order" };
            write!(formatter, ", index={}, in its {direction}", order.name())?;
            limit.map_or(Ok(()), |limit| write!(formatter, ", first={limit}"))?;
        }
        if self.is_descending {
            write!(formatter, ", descending")?;
        }
        if let Some(last) = self.last() {
            write!(formatter, ", last={last}")?;
        }
        match &self.dynamic {
            Some(dynamic) => write!(formatter, ", dynamic_keys=[{dynamic}]"),
            None => Ok(()),
        }
    }

    /// Partitions are ranges of keys, not of bytes.
    fn supports_repartitioning(&self) -> bool {
        false
    }

    /// Takes conditions that become known while the query runs, as a help: they are checked again above.
    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let dynamic: Vec<_> = filters.iter().filter(|filter| is_dynamic(filter)).cloned().collect();
        let result = FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; filters.len()]);
        if dynamic.is_empty() {
            return Ok(result);
        }
        let dynamic = Some(conjunction(self.dynamic.iter().cloned().chain(dynamic)));
        Ok(result.with_updated_node(Arc::new(Self { dynamic, ..self.clone() }) as Arc<dyn FileSource>))
    }

    /// The opposite of the order of the key: the end comes first, and a sort above finds its first rows at once.
    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        let reversed: Vec<PhysicalSortExpr> =
            order.iter().map(|sort| PhysicalSortExpr { expr: sort.expr.clone(), options: !sort.options }).collect();
        let [relation] = &self.relations[..] else { return Ok(SortOrderPushdownResult::Unsupported) };
        // Rows in the order of an index are in the best one that there is.
        if self.order.is_some() {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        if !relation.reads_backwards() || reversed.is_empty() || !properties.ordering_satisfy(reversed)? {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let inner = Arc::new(Self { is_descending: !self.is_descending, last: None, ..self.clone() });
        Ok(SortOrderPushdownResult::Inexact { inner })
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let projection = SplitProjection::new(self.table_schema.file_schema(), &merged);
        Ok(Some(Arc::new(Self { projection, ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        apply: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let expressions = self.projection.source.iter().map(|it| &it.expr).chain(&self.dynamic);
        for expression in expressions {
            if apply(expression)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}

struct RelationOpener {
    relations: Arc<[Arc<dyn Relation>]>,
    columns: Vec<usize>,
    batch_rows: usize,
    limit: Option<usize>,
    is_descending: bool,
    order: Option<Arc<ReadOrder>>,
    dynamic: Option<Arc<dyn PhysicalExpr>>,
    metrics: ScanMetrics,
}

impl FileOpener for RelationOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let internal = |detail: &str| DataFusionError::Internal(format!("a partition of an Ogive table {detail}"));
        let part = file.extension::<PartitionKeys>().ok_or_else(|| internal("has no keys"))?;
        let relation = self.relations.get(part.relation).ok_or_else(|| internal("has no relation"))?.clone();
        let request = ScanRequest {
            keys: part.keys.clone(),
            columns: self.columns.clone(),
            batch_rows: self.batch_rows,
            limit: self.limit,
            is_descending: self.is_descending,
            metrics: self.metrics.clone(),
        };
        let (is_hint, order) = (part.is_hint, self.order.clone());
        let dynamic =
            self.dynamic.clone().map(|condition| DynamicKeys { condition, generation: None, rows: part.rows });
        // Other engines split files by their bytes.
        let bytes = file.range.as_ref().map(|range| (range.start.max(0) as u64, range.end.max(0) as u64));
        let file_bytes = file.object_meta.size;
        let schema = Arc::new(relation.schema().project(&self.columns)?);
        // The engine waits for storage, which must not hold up the other tasks of a thread.
        let mut builder = RecordBatchReceiverStreamBuilder::new(schema, 2);
        let sender = builder.tx();
        builder.spawn_blocking(move || {
            let (mut request, mut dynamic) = (request, dynamic);
            if is_hint {
                request.keys = closed(&*relation, request.keys)?;
            }
            if let Some((from, to)) = bytes {
                request.keys = split(&*relation, &request.keys, (from, to), file_bytes)?;
            }
            if let Some(keys) = dynamic.as_mut().map(|dynamic| dynamic.keys(&*relation)).transpose()?.flatten() {
                request.keys = request.keys.intersection(&keys);
            }
            let mut scan = match order.as_deref() {
                Some(ReadOrder { order, part, .. }) => relation.scan_in_order(order, *part, request)?,
                None => relation.scan(request)?,
            };
            while let Some(batch) = scan.next() {
                let is_last = batch.is_err();
                // The receiver is gone when the query ends.
                if sender.blocking_send(batch).is_err() || is_last {
                    break;
                }
                if let Some(keys) = dynamic.as_mut().map(|dynamic| dynamic.keys(&*relation)).transpose()?.flatten() {
                    scan.narrow(&keys);
                }
            }
            Ok(())
        });
        let stream = builder.build();
        Ok(Box::pin(async move { Ok(stream.boxed()) }))
    }
}

/// All keys between the first and the last one, if these have few rows more.
fn closed(relation: &dyn Relation, keys: KeySet) -> Result<KeySet> {
    let Some(hull) = keys.hull().filter(|_| keys.len() >= COUNTED_KEYS_MIN) else { return Ok(keys) };
    let most = (keys.len() as u64).saturating_mul(ROWS_PER_LOOKUP_JOINED);
    Ok(if relation.count(&hull)?.rows <= most { KeySet::of(vec![hull]) } else { keys })
}

fn is_dynamic(condition: &Arc<dyn PhysicalExpr>) -> bool {
    DynamicFilterTracking::classify(condition).contains_dynamic_filter()
}

/// Keys of a condition that becomes known while the query runs.
struct DynamicKeys {
    condition: Arc<dyn PhysicalExpr>,
    /// The state of the condition that was looked at last.
    generation: Option<u64>,
    /// About how many rows the partition has.
    rows: u64,
}

impl DynamicKeys {
    /// What is newly known of the keys; `None` for nothing.
    fn keys(&mut self, relation: &dyn Relation) -> Result<Option<KeySet>> {
        let generation = snapshot_generation(&self.condition);
        if self.generation.replace(generation) == Some(generation) {
            return Ok(None);
        }
        let condition = snapshot_physical_expr(self.condition.clone())?;
        let keys = keys_within(relation.key(), &condition);
        if keys.is_all() {
            return Ok(None);
        }
        if (keys.len() as u64).saturating_mul(ROWS_PER_LOOKUP) < self.rows.max(ROWS_PER_LOOKUP + 1) {
            return Ok(Some(keys));
        }
        // To read everything between the first and the last key costs less.
        Ok(keys.hull().map(|hull| KeySet::of(vec![hull])))
    }
}
