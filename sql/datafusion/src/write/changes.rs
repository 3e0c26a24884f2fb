//! Statements that change rows of a keyspace where they are: `DELETE` and `UPDATE`.
//!
//! DataFusion hands tables the conditions of such a statement without what it knows of other tables, so that `DELETE
//! ... WHERE id IN (SELECT ...)` would remove all rows. Here, the rows that the statement reads are a plan like that of
//! a query, and a sink removes or replaces them. It has the store open for writing while they are read, and fails if
//! another process wrote to the store after the rows were opened: so each statement is one serialisable transaction.

use super::records::{check_nulls, nullable_columns};
use super::request::{WriteRequest, existing};
use crate::blocking::blocking;
use crate::error::{external, external_record};
use crate::relation::RelationIdentity;
use crate::table::OgiveTable;
use crate::transaction::{OpenTransaction, SessionTransaction};
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, exec_err, internal_err, plan_err};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    DmlStatement, Expr, Extension, LogicalPlan, Projection, UserDefinedLogicalNode, UserDefinedLogicalNodeCore, WriteOp,
};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::StreamExt;
use ogive::{Db, DbOptions, Error};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Calls a function with the table of ours that a statement changes rows of, if it is one of a keyspace.
fn with_changed<T>(statement: &DmlStatement, then: impl FnOnce(&OgiveTable) -> T) -> Result<Option<T>> {
    let is_change = matches!(statement.op, WriteOp::Delete | WriteOp::Update);
    let provider = source_as_provider(&statement.target)?;
    let table = provider.downcast_ref::<OgiveTable>().filter(|table| is_change && table.keyspace().is_some());
    Ok(table.map(then))
}

/// Fails if an `UPDATE` of a keyspace sets a column of the key.
pub(crate) fn check_keys_stay(statement: &DmlStatement) -> Result<()> {
    let LogicalPlan::Projection(Projection { expr, .. }) = statement.input.as_ref() else { return Ok(()) };
    if statement.op != WriteOp::Update {
        return Ok(());
    }
    let Some(key) = with_changed(statement, OgiveTable::key_names)? else { return Ok(()) };
    for (field, value) in statement.target.schema().fields().iter().zip(expr) {
        let is_same = value.clone().unalias().try_as_col().is_some_and(|column| column.name == *field.name());
        if key.contains(field.name()) && !is_same {
            return plan_err!(
                "column '{}' of {} is one of the key, which rows keep; INSERT the rows under other keys, and DELETE \
                 these",
                field.name(),
                statement.table_name
            );
        }
    }
    Ok(())
}

/// A plan whose statements that change rows of a keyspace are nodes of their own. The tables of such a store are opened
/// again when they are read.
pub(crate) fn with_changes(plan: LogicalPlan) -> Result<LogicalPlan> {
    let changed = plan.transform_up(|plan| match plan {
        LogicalPlan::Dml(statement) if with_changed(&statement, |_| ())?.is_some() => {
            let tables = tables_read(&statement)?;
            tables.iter().filter_map(ours).for_each(OgiveTable::reopen_when_read);
            let node = Arc::new(Change { statement: LogicalPlan::Dml(statement) });
            Ok(Transformed::yes(LogicalPlan::Extension(Extension { node })))
        }
        plan => Ok(Transformed::no(plan)),
    });
    Ok(changed?.data)
}

fn ours(table: &Arc<dyn TableProvider>) -> Option<&OgiveTable> {
    table.downcast_ref()
}

/// The tables of the store of a statement that are read: not even the one that is changed, if no row can be.
fn tables_read(statement: &DmlStatement) -> Result<Vec<Arc<dyn TableProvider>>> {
    let location = |table: &Arc<dyn TableProvider>| ours(table)?.keyspace().map(|(identity, _)| identity.location);
    let store = location(&source_as_provider(&statement.target)?);
    let mut found = Vec::new();
    statement.input.apply_with_subqueries(|plan| {
        if let LogicalPlan::TableScan(scan) = plan {
            let table = source_as_provider(&scan.source)?;
            let is_of_store = location(&table) == store;
            found.extend(Some(table).filter(|_| is_of_store));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// A statement that changes rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Change {
    statement: LogicalPlan,
}

/// Nodes have no order.
impl PartialOrd for Change {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Change {
    fn name(&self) -> &str {
        "Change"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.statement.inputs()
    }

    fn schema(&self) -> &DFSchemaRef {
        self.statement.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.statement.display())
    }

    fn with_exprs_and_inputs(&self, expressions: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(Self { statement: self.statement.with_new_exprs(expressions, inputs)? })
    }
}

/// Plans the statements of [`with_changes`].
#[derive(Debug)]
pub(crate) struct ChangePlanner;

#[async_trait]
impl ExtensionPlanner for ChangePlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(Change { statement }) = node.as_any().downcast_ref() else { return Ok(None) };
        let (LogicalPlan::Dml(statement), [input]) = (statement, inputs) else {
            return internal_err!("a change has the rows of one plan");
        };
        let Some(Some((request, identity))) = with_changed(statement, |table| {
            let (identity, _) = table.keyspace()?;
            Some(table.insert_request(InsertOp::Append).map(|request| (request, identity)))
        })?
        .map(Option::transpose)
        .transpose()?
        else {
            return internal_err!("a change is of a keyspace");
        };
        let transaction = match SessionTransaction::of(session) {
            Some(transaction) => {
                let location = identity.location.clone();
                blocking(move || transaction.at(&location)).await?
            }
            None => None,
        };
        let read = tables_read(statement)?.iter().filter_map(ours).filter_map(OgiveTable::sequence).collect();
        let is_update = statement.op == WriteOp::Update;
        let sink = ChangeSink { request, identity, is_update, schema: input.schema(), read, transaction };
        Ok(Some(Arc::new(DataSinkExec::new(input.clone(), Arc::new(sink), None))))
    }
}

/// Removes or replaces rows of a keyspace, all or none.
#[derive(Debug)]
struct ChangeSink {
    request: WriteRequest,
    identity: RelationIdentity,
    /// Whether rows are replaced; else they are removed.
    is_update: bool,
    schema: SchemaRef,
    /// The sequence numbers of the store as of which the rows are read.
    read: Vec<u64>,
    /// The transaction that the statement is a part of; else it is one by itself.
    transaction: Option<Arc<OpenTransaction>>,
}

impl ChangeSink {
    /// Changes rows in a transaction. It reads what it has written, so that all rows are read before.
    async fn change_in(
        &self,
        transaction: &OpenTransaction,
        mut rows: SendableRecordBatchStream,
        context: &TaskContext,
    ) -> Result<u64> {
        let memory = MemoryConsumer::new("OgiveTable").register(context.memory_pool());
        let (types, mut changes, mut bytes) = (self.request.types(), BTreeMap::new(), 0);
        let nullable = nullable_columns(&self.schema, types, false);
        while let Some(part) = rows.next().await.transpose()? {
            if self.is_update {
                check_nulls(&part, &self.schema, &nullable)?;
            }
            let encoded = self.request.encoder().visit(&part, |key, value| {
                bytes += key.len() + value.len();
                changes.insert(key.to_vec(), self.is_update.then(|| value.to_vec()));
                Ok(())
            });
            encoded.map_err(external_record)?;
            memory.try_resize(bytes)?;
        }
        let count = changes.len() as u64;
        transaction.change(&self.identity.keyspace, Some(types), changes, self.request.is_stale())?;
        Ok(count)
    }
}

impl DisplayAs for ChangeSink {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, RelationIdentity { location, keyspace, .. }) =
            (if self.is_update { "UPDATE" } else { "DELETE" }, &self.identity);
        write!(formatter, "OgiveKeyspace({verb}, store={location}, keyspace={keyspace})")
    }
}

#[async_trait]
impl DataSink for ChangeSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, mut rows: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        if let Some(transaction) = &self.transaction {
            return self.change_in(transaction, rows, context).await;
        }
        let RelationIdentity { location, keyspace, .. } = &self.identity;
        let store = {
            let location = location.clone();
            blocking(move || Db::open(location, &DbOptions::default().create(false)).map_err(external)).await?
        };
        if self.read.iter().any(|sequence| *sequence != store.snapshot().sequence()) {
            return exec_err!(
                "{location} was written to after the statement began; run it again {:?} {}",
                self.read,
                store.snapshot().sequence()
            );
        }
        let Some(found) = existing(&store, location, keyspace, false).map_err(external)? else {
            return internal_err!("{location} has no keyspace {keyspace}");
        };
        let types = self.request.types();
        if self.is_update && *found.record_type() != *types {
            let both = [found.record_type().to_string(), types.to_string()];
            let error = Error::wrong_record_type(location, found.name(), [&both[0], &both[1]], 0);
            return Err(external(error));
        }
        let memory = MemoryConsumer::new("OgiveTable").register(context.memory_pool());
        let mut batch = store.batch();
        let nullable = nullable_columns(&self.schema, types, false);
        while let Some(part) = rows.next().await.transpose()? {
            if self.is_update {
                check_nulls(&part, &self.schema, &nullable)?;
            }
            let encoded = self.request.encoder().visit(&part, |key, value| {
                match self.is_update {
                    true => _ = batch.insert(&found, key, value),
                    false => _ = batch.remove(&found, key),
                }
                Ok(())
            });
            encoded.map_err(external_record)?;
            memory.try_resize(batch.byte_len())?;
        }
        let count = batch.len();
        drop(found);
        blocking(move || batch.commit().and_then(|()| store.close()).map_err(external)).await?;
        self.request.rows_are_there();
        Ok(count)
    }
}
