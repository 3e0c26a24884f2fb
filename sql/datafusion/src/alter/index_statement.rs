//! `CREATE INDEX` and `DROP INDEX` of a keyspace of a store.

use crate::blocking::{blocking, is_of_cluster};
use crate::error::external;
use crate::relation::RelationIdentity;
use crate::table::OgiveTable;
use crate::transaction::refuse_within;
use crate::write::existing;
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::{IdentNormalizer, object_name_to_table_reference};
use datafusion::sql::sqlparser::ast::{
    CreateIndex, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectType,
    Statement as SqlStatement, Value,
};
use ogive::lsm::KeyspaceIndex;
use ogive::types::IndexDefinition;
use ogive::{Db, DbOptions};
use std::sync::atomic::Ordering;

const FORMS: &str = "an index is by columns, lower(COLUMN), prefix(COLUMN, N) and date(COLUMN), each with DESC behind \
                     it if greater values come first";

/// What a statement does to the indexes of a keyspace.
enum IndexChange {
    /// Makes one, perhaps only if there is none of its name.
    Create(String, IndexDefinition, bool),
    /// Drops some, perhaps only if they are there.
    Drop(Vec<String>, bool),
}

/// Carries out a `CREATE INDEX` or `DROP INDEX` of a keyspace of a store; `false` for any other statement.
///
/// ```sql
/// CREATE UNIQUE INDEX by_email ON users (lower(email)) WHERE email IS NOT NULL;
/// CREATE INDEX by_country ON users (country, joined DESC);
/// DROP INDEX by_country ON users;
/// ```
///
/// The store keeps the index from then on, by whatever program writes: see [`Db::create_index`]. Queries whose
/// conditions are about its first columns look rows up through it where that costs less than to read all.
///
/// # Errors
/// A table that is no keyspace, an index that none can be, a session of a cluster, whose processes would all change the
/// store, and those of [`Db::create_index`].
pub async fn change_indexes(context: &SessionContext, statement: &Statement) -> Result<bool> {
    let Statement::Statement(statement) = statement else { return Ok(false) };
    let state = context.state();
    let (table, change) = match statement.as_ref() {
        SqlStatement::CreateIndex(create) => (&create.table_name, created(&state, create)?),
        SqlStatement::Drop { object_type: ObjectType::Index, names, table, if_exists, .. } => {
            let Some(table) = table else {
                return plan_err!("indexes belong to keyspaces: write DROP INDEX {} ON its table", names[0]);
            };
            let names = names.iter().map(|name| name_of(&state, name)).collect::<Result<_>>()?;
            (table, IndexChange::Drop(names, *if_exists))
        }
        _ => return Ok(false),
    };
    if is_of_cluster(&state) {
        return plan_err!(
            "{table} takes no CREATE INDEX and DROP INDEX; one process changes a store: run the statement in a session \
             without a cluster"
        );
    }
    refuse_within(&state, "a change of indexes")?;
    let is_normal = state.config_options().sql_parser.enable_ident_normalization;
    let name = object_name_to_table_reference(table.clone(), is_normal)?;
    let Some(found) = state.schema_for_ref(name.clone())?.table(name.table()).await? else {
        return plan_err!("table '{name}' not found");
    };
    let keyspace = found.downcast_ref::<OgiveTable>().and_then(OgiveTable::keyspace);
    let Some((identity, _)) = keyspace else {
        return plan_err!("'{}' is no keyspace of a store, and has no indexes that a store keeps", name.table());
    };
    blocking(move || {
        carry_out(&identity, change)?;
        found.downcast_ref().map_or(Ok(()), |table| know(table).map_err(|error| error.context("the indexes changed")))
    })
    .await?;
    Ok(true)
}

/// Has plans from now on know the indexes, of this table and of the schema that made it.
fn know(table: &OgiveTable) -> Result<()> {
    if let Some(is_altered) = table.is_altered() {
        is_altered.store(true, Ordering::Release);
    }
    table.reopen_when_read();
    table.refresh()
}

fn carry_out(RelationIdentity { location, keyspace, .. }: &RelationIdentity, change: IndexChange) -> Result<()> {
    let store = Db::open(location, &DbOptions::default().create(false)).map_err(external)?;
    let is_of_it = |index: &KeyspaceIndex| index.keyspace().name() == keyspace;
    let done = match change {
        IndexChange::Create(name, _, true) if store.index(&name).is_ok_and(|index| is_of_it(&index)) => Ok(()),
        IndexChange::Create(name, definition, _) => match existing(&store, location, keyspace, false) {
            Ok(Some(rows)) => store.create_index(&name, rows, &definition).map(drop),
            found => found.map(drop),
        },
        IndexChange::Drop(names, if_exists) => {
            let indexes = store.indexes();
            let is_there = |name: &&String| indexes.iter().any(|index| index.name() == *name && is_of_it(index));
            match names.iter().find(|name| !is_there(name)) {
                Some(name) if !if_exists => {
                    Err(ogive::Error::input(format!("{location}#{keyspace} has no index {name:?}")))
                }
                _ => names.iter().filter(is_there).try_for_each(|name| store.drop_index(name).map(drop)),
            }
        }
    };
    done.map_err(external)?;
    store.close().map_err(external)
}

/// The index that a statement makes.
fn created(state: &SessionState, create: &CreateIndex) -> Result<IndexChange> {
    let CreateIndex { name, columns, unique, if_not_exists, predicate, .. } = create;
    let Some(name) = name else { return plan_err!("CREATE INDEX {FORMS}; it needs a name") };
    let is_plain = create.using.is_none()
        && create.include.is_empty()
        && create.with.is_empty()
        && create.index_options.is_empty()
        && create.alter_options.is_empty()
        && create.nulls_distinct.is_none()
        && !create.concurrently;
    if !is_plain {
        return plan_err!("CREATE INDEX {name} takes UNIQUE, IF NOT EXISTS and WHERE; others write while it is made");
    }
    let mut parts = Vec::new();
    for column in columns {
        let options = &column.column.options;
        if options.nulls_first.is_some() || column.operator_class.is_some() {
            return plan_err!("{FORMS}; nulls come last, and first where it is descending");
        }
        let descending = if options.asc == Some(false) { " desc" } else { "" };
        parts.push(part(state, &column.column.expr)? + descending);
    }
    let mut definition = IndexDefinition::by(&parts.join(", ")).map_err(external)?;
    if *unique {
        definition = definition.unique();
    }
    match predicate {
        None => {}
        Some(Expr::IsNotNull(column)) => match column.as_ref() {
            Expr::Identifier(column) => definition = definition.where_not_null(normal(state, column)),
            other => return plan_err!("WHERE {other} IS NOT NULL of an index is about a column"),
        },
        Some(other) => return plan_err!("WHERE {other} of an index: there is WHERE COLUMN IS NOT NULL"),
    }
    Ok(IndexChange::Create(name_of(state, name)?, definition, *if_not_exists))
}

/// The text of what an index is by.
fn part(state: &SessionState, expr: &Expr) -> Result<String> {
    let wrong = || DataFusionError::Plan(format!("{expr}: {FORMS}"));
    match expr {
        Expr::Identifier(column) => Ok(quoted(state, column)),
        Expr::Nested(inner) => part(state, inner),
        Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, filter: None, .. }) => {
            let argument = |argument: &FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(column))) => Ok(quoted(state, column)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => match &value.value {
                    Value::Number(number, _) => Ok(number.to_string()),
                    _ => Err(wrong()),
                },
                _ => Err(wrong()),
            };
            let arguments = list.args.iter().map(argument).collect::<Result<Vec<_>>>()?;
            Ok(format!("{}({})", name.to_string().to_lowercase(), arguments.join(", ")))
        }
        _ => Err(wrong()),
    }
}

fn normal(state: &SessionState, name: &Ident) -> String {
    IdentNormalizer::new(state.config_options().sql_parser.enable_ident_normalization).normalize(name.clone())
}

fn quoted(state: &SessionState, column: &Ident) -> String {
    format!("\"{}\"", normal(state, column))
}

/// The name of an index.
fn name_of(state: &SessionState, name: &ObjectName) -> Result<String> {
    match &name.0[..] {
        [part] => match part.as_ident() {
            Some(ident) => Ok(normal(state, ident)),
            None => plan_err!("{name} is no name of an index"),
        },
        _ => plan_err!("{name} is no name of an index: the store is that of its table"),
    }
}
