//! Relations as tables of DataFusion.

use crate::blocking::{blocking, is_of_cluster};
use crate::filter::keys_of;
use crate::key_set::KeySet;
use crate::partition::{count, cut};
use crate::relation::{ByIndexes, OgiveOptions, Relation, RelationIdentity, RowCount, TableRelation};
use crate::side_by_side::side_by_side;
use crate::source::{Conditions, OgiveSource, OrderChoice, PartitionKeys, PartitionRows, file_of};
use crate::transaction::{OpenTransaction, SessionTransaction};
use crate::write::{RowSink, WriteRequest, WriteTarget};
use arrow_schema::{DataType, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Constraint, Constraints, DFSchema, Statistics, not_impl_err, plan_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{LexOrdering, RangePartitioning, SplitPoint, conjunction};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExecBuilder;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use ogive::Table;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Rows in the order of a key as a table of DataFusion: a table file, a keyspace of a store, an index, indexed Parquet
/// files, or several table files as one. It has the columns of the key, and the value or its fields.
#[derive(Debug)]
pub struct OgiveTable {
    relations: Arc<RwLock<Relations>>,
    schema: SchemaRef,
    /// That no two rows have one key, if it is so.
    constraints: Option<Constraints>,
    /// How to open a keyspace again after rows were inserted.
    options: Option<OgiveOptions>,
    /// Whether rows were inserted since it was opened.
    is_stale: Arc<AtomicBool>,
    /// Held while it is opened again, so that no other query is answered by the rows before.
    reopening: Arc<Mutex<()>>,
    /// Whether scans say by which keys they are cut.
    tells_ranges: bool,
    /// Becomes true when the columns are altered, for the schema of keyspaces that made the table.
    is_altered: Option<Arc<AtomicBool>>,
}

type Relations = Arc<[Arc<dyn Relation>]>;

/// A table into which rows were inserted since it was opened.
struct StaleTable {
    options: OgiveOptions,
    identity: RelationIdentity,
    relations: Arc<RwLock<Relations>>,
    is_stale: Arc<AtomicBool>,
    reopening: Arc<Mutex<()>>,
}

impl StaleTable {
    /// Opens it, unless another query has done so in the meantime.
    fn reopen(&self) -> Result<()> {
        let _reopening = self.reopening.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_stale.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let opened = self.options.open_again(&self.identity);
        // A query after one that failed must not be answered by the rows before the insert.
        let opened = opened.inspect_err(|_| self.is_stale.store(true, Ordering::Release))?;
        *self.relations.write().unwrap_or_else(PoisonError::into_inner) = Arc::new([opened]);
        Ok(())
    }
}

/// The keys that a scan reads: by conditions, or by those that an index leads to.
struct KeyScan {
    filters: Arc<[Expr]>,
    keys: KeySet,
    index: Option<String>,
    /// The orders in which indexes lead to the rows.
    orders: Option<OrderChoice>,
    limit: Option<usize>,
}

/// The parts of a scan, and what is known of its rows.
struct Plan {
    parts: Vec<PartitionKeys>,
    rows: RowCount,
    /// The first and the last key, if the rows are those of one relation.
    ends: Option<(Vec<u8>, Vec<u8>)>,
}

impl OgiveTable {
    /// Takes an open table.
    ///
    /// # Errors
    /// [`ogive::Cause::Input`] for a file of a store, whose records may be of several versions.
    pub fn new(table: Table) -> ogive::Result<Self> {
        let location = table.path().display().to_string();
        Ok(Self::with(Arc::new([Arc::new(TableRelation::new(table, location)?)])))
    }

    /// Several relations as one.
    ///
    /// # Errors
    /// Relations with different columns, or none.
    pub(crate) fn of(relations: Vec<Arc<dyn Relation>>) -> Result<Self> {
        let Some((first, others)) = relations.split_first() else {
            return plan_err!("there is no Ogive table to read");
        };
        for other in others {
            if other.schema() != first.schema() || other.key().key_type() != first.key().key_type() {
                let (one, two) = (&first.identity().location, &other.identity().location);
                return plan_err!("{two} has other columns than {one}; tables of one folder must have the same");
            }
        }
        Ok(Self::with(relations.into()))
    }

    /// There is at least one relation.
    fn with(relations: Relations) -> Self {
        let schema = relations[0].schema().clone();
        let constraints = match &*relations {
            [relation] if relation.is_distinct() => Some(unique_key(&**relation)),
            _ => None,
        };
        Self {
            relations: Arc::new(RwLock::new(relations)),
            schema,
            constraints,
            options: None,
            is_stale: Arc::default(),
            reopening: Arc::default(),
            tells_ranges: true,
            is_altered: None,
        }
    }

    /// The same table, to be opened again by these options after rows were inserted.
    pub(crate) fn reopened_by(self, options: &OgiveOptions) -> Self {
        Self { options: Some(options.clone()), ..self }
    }

    /// The same table, made by a schema that opens its keyspaces again once this is true.
    pub(crate) fn of_schema(self, is_altered: &Arc<AtomicBool>) -> Self {
        Self { is_altered: Some(is_altered.clone()), ..self }
    }

    /// What is to become true when the columns are altered, for the schema of keyspaces that made the table.
    pub(crate) fn is_altered(&self) -> Option<Arc<AtomicBool>> {
        self.is_altered.clone()
    }

    /// The keyspace whose rows it has, and how it is opened; `None` for other relations.
    pub(crate) fn keyspace(&self) -> Option<(RelationIdentity, OgiveOptions)> {
        Some((self.first().identity().clone(), self.options.clone()?))
    }

    /// The names of the columns of the key.
    pub(crate) fn key_names(&self) -> Vec<String> {
        self.first().key().columns().iter().map(|part| part.name.clone()).collect()
    }

    /// The number of the last write to its store that it shows.
    pub(crate) fn sequence(&self) -> Option<u64> {
        self.first().sequence()
    }

    /// Has the next scan show what was written since, also by others.
    pub(crate) fn reopen_when_read(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    fn relations(&self) -> Relations {
        self.relations.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The relations, with the rows that were inserted since.
    async fn current(&self) -> Result<Relations> {
        if let Some(stale) = self.stale() {
            blocking(move || stale.reopen()).await?;
        }
        Ok(self.relations())
    }

    /// The transaction of a session that reads and writes its rows, if one has begun.
    ///
    /// # Errors
    /// One that has begun in another store; those of opening the store for writing.
    pub(crate) async fn transaction(&self, session: &dyn Session) -> Result<Option<Arc<OpenTransaction>>> {
        let (Some(transaction), Some((identity, _))) = (SessionTransaction::of(session), self.keyspace()) else {
            return Ok(None);
        };
        blocking(move || transaction.at(&identity.location)).await
    }

    /// The relations as a statement of a session reads them.
    async fn relations_for(&self, session: &dyn Session) -> Result<Relations> {
        let Some(transaction) = self.transaction(session).await? else { return self.current().await };
        let identity = self.first().identity().clone();
        Ok(Arc::new([blocking(move || transaction.relation(&identity)).await?]))
    }

    /// Opens the table again if rows were inserted since it was opened; waits for storage.
    ///
    /// # Errors
    /// As [`OgiveOptions::open_keyspace`].
    pub fn refresh(&self) -> Result<()> {
        self.stale().map_or(Ok(()), |stale| stale.reopen())
    }

    /// What is to be opened again, if rows were inserted, or if another query is opening it.
    fn stale(&self) -> Option<StaleTable> {
        let options = self.options.as_ref()?;
        let is_stale = self.is_stale.load(Ordering::Acquire) || self.reopening.try_lock().is_err();
        is_stale.then(|| StaleTable {
            options: options.clone(),
            identity: self.first().identity().clone(),
            relations: self.relations.clone(),
            is_stale: self.is_stale.clone(),
            reopening: self.reopening.clone(),
        })
    }

    /// The same table for engines that cannot move ranges of keys between machines: its scans do not tell theirs.
    #[must_use]
    pub fn without_ranges(self) -> Self {
        Self { tells_ranges: false, ..self }
    }

    /// A source of all rows, which a scan narrows: that of a scan which another process has planned.
    #[must_use]
    pub fn source(&self, conditions: Vec<String>, is_descending: bool) -> OgiveSource {
        OgiveSource::new(self.relations(), self.schema(), Conditions::Told(conditions.into())).descending(is_descending)
    }

    /// The part of a scan that reads these rows; `None` if there is no such relation.
    #[must_use]
    pub fn partition(&self, rows: &PartitionRows) -> Option<PartitionedFile> {
        let keys = KeySet::of(rows.ranges.clone());
        file_of(&self.relations(), PartitionKeys { relation: rows.relation, keys, rows: rows.rows, is_hint: false })
    }

    /// What is read, and of which time.
    #[must_use]
    pub fn identities(&self) -> Vec<RelationIdentity> {
        self.relations().iter().map(|relation| relation.identity().clone()).collect()
    }

    fn first(&self) -> Arc<dyn Relation> {
        self.relations()[0].clone()
    }

    /// The type of the first column of the key, if that has this name.
    pub(crate) fn first_key_type(&self, name: &str) -> Option<DataType> {
        let position = self.first().key().columns().first().filter(|part| part.name == name)?.position;
        Some(self.schema.field(position).data_type().clone())
    }

    /// The request of an `INSERT INTO`; a row replaces the one that has its key.
    ///
    /// # Errors
    /// Relations that are not keyspaces of stores, and `INSERT OVERWRITE`.
    pub(crate) fn insert_request(&self, operation: InsertOp) -> Result<WriteRequest> {
        let relation = self.first();
        let RelationIdentity { location, keyspace, .. } = relation.identity();
        let Some(types) = relation.record_type().filter(|_| self.options.is_some()) else {
            return plan_err!("{location} takes no rows by SQL; COPY ... TO a new table, or use a keyspace of a store");
        };
        if operation == InsertOp::Overwrite {
            return not_impl_err!("INSERT OVERWRITE of a keyspace; by INSERT INTO rows replace those of the same key");
        }
        let target = WriteTarget::Keyspace { location: location.clone(), keyspace: keyspace.clone(), create: false };
        WriteRequest::new(target, self.schema(), types, self.is_stale.clone())
    }

    fn plan(relations: &[Arc<dyn Relation>], keys: &KeySet, most: usize) -> Result<Plan> {
        let mut plan = Plan { parts: Vec::new(), rows: RowCount::exact(0), ends: None };
        let wait_us = relations.first().map_or(0.0, |first| first.profile().time_us(0));
        let counts = side_by_side(relations, wait_us, |relation| count(&**relation, keys))?;
        let all: u64 = counts.iter().map(|count| count.rows).sum();
        let counted: Vec<(&Arc<dyn Relation>, RowCount)> = relations.iter().zip(counts).collect();
        let cuts = side_by_side(&counted, wait_us, |(relation, count)| {
            // Several relations share the partitions by their rows.
            let share = (most as u128 * u128::from(count.rows)).div_ceil(u128::from(all.max(1)));
            cut(&***relation, keys, count.rows, (share as usize).clamp(1, most.max(1)))
        })?;
        for (number, ((_, count), parts)) in counted.into_iter().zip(cuts).enumerate() {
            plan.rows.rows += count.rows;
            plan.rows.is_exact &= count.is_exact;
            let rows = count.rows / parts.len().max(1) as u64;
            plan.parts.extend(parts.into_iter().map(|keys| PartitionKeys {
                relation: number,
                keys,
                rows,
                is_hint: false,
            }));
        }
        if let ([relation], Some(range)) = (relations, keys.only_range()) {
            plan.ends = relation.ends(range)?;
        }
        Ok(plan)
    }

    pub(crate) fn statistics_of(
        relations: &[Arc<dyn Relation>],
        rows: RowCount,
        ends: Option<&(Vec<u8>, Vec<u8>)>,
    ) -> Statistics {
        let (schema, key) = (relations[0].schema(), relations[0].key());
        let precise = |number: usize| if rows.is_exact { Precision::Exact(number) } else { Precision::Inexact(number) };
        let count = usize::try_from(rows.rows).unwrap_or(usize::MAX);
        let mut column_statistics = vec![ColumnStatistics::new_unknown(); schema.fields().len()];
        for part in key.columns() {
            if let Some(column) = column_statistics.get_mut(part.position)
                && !schema.field(part.position).is_nullable()
            {
                column.null_count = Precision::Exact(0);
            }
        }
        if let ([part, others @ ..], [relation]) = (key.columns(), relations)
            && let Some(column) = column_statistics.get_mut(part.position)
        {
            if others.is_empty() && relation.is_distinct() {
                column.distinct_count = precise(count);
            }
            if let Some((first, last)) = ends.and_then(|(first, last)| key.scalars(first).zip(key.scalars(last)))
                && let ([first, ..], [last, ..]) = (&first[..], &last[..])
                && !first.is_null()
                && !last.is_null()
            {
                let (first, last) = if part.is_descending() { (last, first) } else { (first, last) };
                column.min_value = Precision::Exact(first.clone());
                column.max_value = Precision::Exact(last.clone());
            }
        }
        Statistics { num_rows: precise(count), total_byte_size: Precision::Absent, column_statistics }
    }

    /// The ranges of the parts of a scan, if their rows are those of one relation.
    fn partitioning(
        relations: &[Arc<dyn Relation>],
        ordering: Option<&LexOrdering>,
        parts: &[PartitionKeys],
    ) -> Option<Partitioning> {
        let [relation] = relations else { return None };
        let ordering = ordering?;
        let cuts = parts.iter().skip(1).map(|part| match part.keys.range(0) {
            Some((Bound::Included(key), _)) => relation.key().scalars(&key).map(SplitPoint::new),
            _ => None,
        });
        let cuts = cuts.collect::<Option<Vec<_>>>()?;
        RangePartitioning::try_new(ordering.clone(), cuts).ok().map(Partitioning::Range)
    }

    /// A scan of a set of keys.
    async fn scan_keys(
        &self,
        state: &dyn Session,
        all: Relations,
        projection: Option<&Vec<usize>>,
        KeyScan { filters, keys, index, orders, limit }: KeyScan,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let most = if limit.is_some() { 1 } else { state.config().target_partitions() };
        let relations = all.clone();
        let Plan { parts, rows, ends } = blocking(move || Self::plan(&relations, &keys, most)).await?;

        let ordering = all[0].key().ordering();
        let partitioning = match self.tells_ranges {
            true => Self::partitioning(&all, ordering.as_ref(), &parts),
            false => None,
        };
        let group = |part: PartitionKeys| FileGroup::new(file_of(&all, part).into_iter().collect());
        let source = OgiveSource::new(all.clone(), self.schema(), Conditions::Planned(filters))
            .by_index(index)
            .with_orders(orders);
        let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
            .with_file_groups(parts.into_iter().map(group).collect())
            .with_statistics(Self::statistics_of(&all, rows, ends.as_ref()))
            .with_output_ordering(ordering.into_iter().collect())
            .with_output_partitioning(partitioning)
            .with_limit(limit);
        let config = config.with_projection_indices(projection.cloned())?.build();
        Ok(DataSourceExec::from_data_source(config))
    }

    /// A scan under conditions of which some are checked row by row: those for which an index of the keyspace perhaps
    /// finds the rows; and the optimiser rewrites conditions after it was told that they are exact, into ones that are
    /// perhaps not seen through any more.
    async fn scan_and_check(
        &self,
        state: &dyn Session,
        all: Relations,
        projection: Option<&Vec<usize>>,
        (filters, is_used): (&[Expr], &[bool]),
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let part = |wanted: bool| filters.iter().zip(is_used).filter(move |(_, used)| **used == wanted);
        let used: Vec<Expr> = part(true).map(|(filter, _)| filter.clone()).collect();
        let checked: Vec<Expr> = part(false).map(|(filter, _)| filter.clone()).collect();
        let (mut keys, _) = keys_of(all[0].key(), &used.iter().collect::<Vec<_>>());
        let (mut index, mut orders) = (None, None);
        if keys.points().is_none()
            && let Some(by) = by_indexes(state, &all, &checked).await?
        {
            if keys.is_all() {
                orders = Some(OrderChoice { orders: by.orders, is_checked: true, otherwise: by.otherwise });
            }
            if let Some(found) = by.found {
                keys = keys.intersection(&found.keys);
                index = Some(found.index);
            }
        }
        let wanted = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let checked_columns =
            checked.iter().flat_map(Expr::column_refs).map(|column| self.schema.index_of(&column.name));
        let checked_columns = checked_columns.collect::<Result<BTreeSet<_>, _>>()?;
        let mut columns = wanted.clone();
        columns.extend(checked_columns.into_iter().filter(|at| !wanted.contains(at)));
        let schema = DFSchema::try_from(self.schema.project(&columns)?)?;
        let keys = KeyScan { filters: used.into(), keys, index, orders, limit: None };
        let scan = self.scan_keys(state, all, Some(&columns), keys).await?;
        let checks = checked.into_iter().map(|filter| state.create_physical_expr(filter, &schema));
        let checks = conjunction(checks.collect::<Result<Vec<_>>>()?);
        let first = (0..wanted.len()).collect();
        let checked = FilterExecBuilder::new(checks, scan).apply_projection(Some(first))?.build()?;
        Ok(match limit {
            Some(limit) => {
                Arc::new(GlobalLimitExec::new(Arc::new(CoalescePartitionsExec::new(Arc::new(checked))), 0, Some(limit)))
            }
            None => Arc::new(checked),
        })
    }

    /// The error of a statement that would change rows in place.
    fn refused(&self, statement: &str) -> Result<Arc<dyn ExecutionPlan>> {
        let first = self.first();
        let RelationIdentity { location, keyspace, .. } = first.identity();
        let remedy = match (!keyspace.is_empty(), statement) {
            (true, "TRUNCATE") => "DELETE FROM it removes all rows",
            (true, _) => "one process changes rows of a store: run the statement in a session without a cluster",
            (false, "UPDATE") => "COPY (SELECT ...) TO a new table, with the changed values",
            (false, _) => "COPY (SELECT ... WHERE ...) TO a new table, with the rows that stay",
        };
        plan_err!("{location} takes no {statement}; {remedy}")
    }
}

/// How the rows of conditions are found by the indexes of a keyspace; `None` for other relations, and in a cluster,
/// with whose plans the keys would travel.
async fn by_indexes(state: &dyn Session, all: &Relations, conditions: &[Expr]) -> Result<Option<ByIndexes>> {
    let [only] = &all[..] else { return Ok(None) };
    if is_of_cluster(state) || !only.has_indexes() {
        return Ok(None);
    }
    let (only, conditions) = (only.clone(), conditions.to_vec());
    blocking(move || only.by_indexes(&conditions.iter().collect::<Vec<_>>())).await.map(Some)
}

/// What a key is whose rows are all different.
fn unique_key(relation: &dyn Relation) -> Constraints {
    let columns: Vec<usize> = relation.key().columns().iter().map(|part| part.position).collect();
    let has_nulls = columns.iter().any(|&column| relation.schema().field(column).is_nullable());
    Constraints::new_unverified(vec![match has_nulls {
        true => Constraint::Unique(columns),
        false => Constraint::PrimaryKey(columns),
    }])
}

#[async_trait]
impl TableProvider for OgiveTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.constraints.as_ref()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn statistics(&self) -> Option<Statistics> {
        let relations = self.relations();
        let counts = relations.iter().map(|relation| relation.rows());
        let all = counts.fold(RowCount::exact(0), |all, count| RowCount {
            rows: all.rows + count.rows,
            is_exact: all.is_exact && count.is_exact,
        });
        Some(Self::statistics_of(&relations, all, None))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let first = self.first();
        let (_, is_used) = keys_of(first.key(), filters);
        // The scan checks the others for which there is an index, whether it uses that or not.
        let pushdown = |(is_used, filter): (bool, &&Expr)| match is_used || first.has_index_for(filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(is_used.into_iter().zip(filters).map(pushdown).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = self.relations_for(state).await?;
        let (keys, is_used) = keys_of(all[0].key(), &filters.iter().collect::<Vec<_>>());
        if is_used.contains(&false) {
            return self.scan_and_check(state, all, projection, (filters, &is_used), limit).await;
        }
        let mut orders = None;
        if keys.is_all()
            && limit.is_none()
            && let Some(by) = by_indexes(state, &all, &[]).await?
        {
            orders = Some(OrderChoice { orders: by.orders, is_checked: false, otherwise: by.otherwise });
        }
        let keys = KeyScan { filters: filters.into(), keys, index: None, orders, limit };
        self.scan_keys(state, all, projection, keys).await
    }

    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let transaction = self.transaction(session).await?;
        Ok(RowSink::plan(self.insert_request(operation)?, self.schema(), input, transaction))
    }

    async fn delete_from(&self, _: &dyn Session, _: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        self.refused("DELETE")
    }

    async fn update(&self, _: &dyn Session, _: Vec<(String, Expr)>, _: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        self.refused("UPDATE")
    }

    async fn truncate(&self, _: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        self.refused("TRUNCATE")
    }
}
