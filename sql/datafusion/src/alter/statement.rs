//! Statements that alter a keyspace: what they change, and the tables that are opened again afterwards.

use super::column_types::key_type;
use crate::blocking::blocking;
use crate::error::external;
use crate::relation::RelationIdentity;
use crate::table::OgiveTable;
use crate::transaction::refuse_within;
use crate::write::existing;
use datafusion::catalog::TableProvider;
use datafusion::common::{TableReference, plan_err};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::{IdentNormalizer, object_name_to_table_reference};
use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, ColumnOption, Ident, Statement as SqlStatement,
};
use ogive::types::{Alteration, Field, KeyType, RecordType};
use ogive::{Cause, Db, DbOptions, Error};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The name of a table that `ALTER TABLE` has altered.
#[derive(Debug)]
pub struct AlteredTable {
    /// The tables that the name meant before, and means now; none if the session keeps no table of the name.
    replaced: Option<(Arc<dyn TableProvider>, Arc<dyn TableProvider>)>,
}

impl AlteredTable {
    /// The table that has its name now, if it meant this one before.
    #[must_use]
    pub fn renewed(&self, table: &Arc<dyn TableProvider>) -> Option<Arc<dyn TableProvider>> {
        let (before, now) = self.replaced.as_ref()?;
        Arc::ptr_eq(before, table).then(|| now.clone())
    }
}

/// Carries out an `ALTER TABLE` of a keyspace of a store; `None` for any other statement, which is left to DataFusion.
///
/// There are `ADD COLUMN name type`, whose rows of before are null in the new column, `ALTER COLUMN name TYPE type` for
/// a type that has all values of the old one, and `ALTER COLUMN name DROP NOT NULL`. All actions of a statement are one
/// alteration, done or not begun. The name of the table then means the keyspace as it is now. Tables of other names and
/// sessions that were created before keep their columns, but for paths, which each statement opens.
///
/// ```
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::prelude::SessionContext;
/// use datafusion::sql::sqlparser::dialect::GenericDialect;
/// use ogive_datafusion::{OgiveOptions, alter_table, parse_statements, with_ogive};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let shop = folder.path().join("shop").display().to_string();
/// let state = SessionStateBuilder::new().with_default_features();
/// let context = SessionContext::from(with_ogive(state, &OgiveOptions::default()).build());
/// let text = format!(
///     "copy (select 7 as id, 'fig' as name) to '{shop}' stored as ogive options (keyspace 'fruit', key 'id');
///     create external table fruit stored as ogive location '{shop}#fruit';
///     alter table fruit add column price decimal(8,2);
///     insert into fruit values (8, 'kiwi', 0.25)"
/// );
/// for statement in parse_statements(&text, &GenericDialect {})? {
///     if alter_table(&context, &statement).await?.is_none() {
///         let plan = context.state().statement_to_plan(statement).await?;
///         context.execute_logical_plan(plan).await?.collect().await?;
///     }
/// }
/// let found = context.sql("select * from fruit order by id").await?.collect().await?;
/// let found = datafusion::arrow::util::pretty::pretty_format_batches(&found)?.to_string();
/// assert!(found.contains("| 7  | fig  |       |") && found.contains("| 8  | kiwi | 0.25  |"), "{found}");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// A table that is no keyspace, and what would not keep every value with its meaning: keys, narrower types, columns
/// that are removed or renamed, defaults, and new columns without nulls. Those of [`ogive::Keyspace::alter`].
pub async fn alter_table(context: &SessionContext, statement: &Statement) -> Result<Option<AlteredTable>> {
    let Statement::Statement(statement) = statement else { return Ok(None) };
    let SqlStatement::AlterTable(alter) = statement.as_ref() else { return Ok(None) };
    let state = context.state();
    refuse_within(&state, "ALTER TABLE")?;
    let options = &state.config_options().sql_parser;
    let name = object_name_to_table_reference(alter.name.clone(), options.enable_ident_normalization)?;
    let schema = state.schema_for_ref(name.clone())?;
    let Some(before) = schema.table(name.table()).await? else {
        return if alter.if_exists { Ok(Some(AlteredTable { replaced: None })) } else { absent(&state, name) };
    };
    let table = before.downcast_ref::<OgiveTable>();
    let Some((identity, options)) = table.and_then(OgiveTable::keyspace) else {
        return plan_err!(
            "'{}' is no keyspace of a store, and takes no ALTER TABLE; COPY (SELECT ...) TO a new table",
            name.table()
        );
    };
    let of_schema = table.and_then(OgiveTable::is_altered);
    let place = format!("{}#{}", identity.location, identity.keyspace);
    let changes = changes(&state, &place, alter)?;
    let is_named = of_schema.is_none() && schema.table_exist(name.table());
    let now = blocking(move || {
        alter_keyspace(&identity, &changes)?;
        if let Some(is_altered) = of_schema {
            is_altered.store(true, Ordering::Release);
        }
        let RelationIdentity { location, keyspace, .. } = &identity;
        let opened = is_named.then(|| options.open_keyspace(location, keyspace)).transpose();
        opened.map_err(|error| error.context(format!("{place} was altered")))
    });
    let Some(now) = now.await? else { return Ok(Some(AlteredTable { replaced: None })) };
    let now: Arc<dyn TableProvider> = Arc::new(now);
    schema.deregister_table(name.table())?;
    schema.register_table(name.table().to_owned(), now.clone())?;
    Ok(Some(AlteredTable { replaced: Some((before, now)) }))
}

/// The error of a table that is not there, in the words of DataFusion.
fn absent<T>(state: &SessionState, name: TableReference) -> Result<T> {
    let catalog = &state.config_options().catalog;
    let name = name.resolve(&catalog.default_catalog, &catalog.default_schema);
    plan_err!("table '{name}' not found")
}

/// A change of one column.
enum ColumnChange {
    /// A new column, perhaps only if there is none of its name.
    Add(Field, bool),
    AllowNull(String),
    Widen(String, KeyType),
}

/// Alters a keyspace in one step.
fn alter_keyspace(
    RelationIdentity { location, keyspace, .. }: &RelationIdentity,
    changes: &[ColumnChange],
) -> Result<()> {
    let place = format!("{location}#{keyspace}");
    let store = Db::open(location, &DbOptions::default().create(false)).map_err(external)?;
    let Some(found) = existing(&store, location, keyspace, false).map_err(external)? else { return Ok(()) };
    let alteration = alteration(&found.record_type(), changes);
    found.alter(&alteration).map_err(|error| match error {
        // What cannot be altered so does not name its place.
        error @ Error { cause: Cause::Input, .. } => external(error).context(place.clone()),
        error => external(error),
    })?;
    drop(found);
    store.close().map_err(|error| external(error).context(format!("{place} was altered")))
}

fn alteration(types: &RecordType, changes: &[ColumnChange]) -> Alteration {
    let columns = types.columns();
    let is_there = |name: &str| columns.iter().any(|column| column.name == name);
    changes.iter().fold(Alteration::new(), |all, change| match change {
        ColumnChange::Add(field, true) if is_there(&field.name) => all,
        ColumnChange::Add(field, _) => all.add_field(field.clone()),
        ColumnChange::AllowNull(name) => all.allow_null(name),
        ColumnChange::Widen(name, key_type) => all.widen(name, *key_type),
    })
}

/// What a statement changes.
fn changes(state: &SessionState, place: &str, alter: &AlterTable) -> Result<Vec<ColumnChange>> {
    if alter.table_type.is_some() || alter.location.is_some() || alter.on_cluster.is_some() {
        return plan_err!("{place} takes no such ALTER TABLE; write ALTER TABLE, its name, and {ACTIONS}");
    }
    alter.operations.iter().map(|operation| change(state, place, operation)).collect()
}

const ACTIONS: &str = "ADD COLUMN c TYPE, ALTER COLUMN c TYPE t, or ALTER COLUMN c DROP NOT NULL";
const COPY: &str = "COPY (SELECT ...) TO another keyspace";

fn refused<T>(place: &str, what: &impl Display, remedy: impl Display) -> Result<T> {
    plan_err!("{place} takes no {what}: {remedy}")
}

fn change(state: &SessionState, place: &str, operation: &AlterTableOperation) -> Result<ColumnChange> {
    let is_normal = state.config_options().sql_parser.enable_ident_normalization;
    let named = |name: &Ident| IdentNormalizer::new(is_normal).normalize(name.clone());
    let refused = |remedy: &str| refused(place, operation, remedy);
    match operation {
        AlterTableOperation::AddColumn { column_position: Some(_), .. } => {
            refused("new columns come last; leave their position out")
        }
        AlterTableOperation::AddColumn { if_not_exists, column_def, .. } => {
            check_options(place, column_def)?;
            let name = named(&column_def.name);
            let key_type = key_type(state, &name, &column_def.data_type)?;
            Ok(ColumnChange::Add(Field::new(name, key_type).nullable(), *if_not_exists))
        }
        AlterTableOperation::AlterColumn { column_name, op } => match op {
            AlterColumnOperation::DropNotNull => Ok(ColumnChange::AllowNull(named(column_name))),
            AlterColumnOperation::SetDataType { data_type, using: None, .. } => {
                let name = named(column_name);
                let key_type = key_type(state, &name, data_type)?;
                Ok(ColumnChange::Widen(name, key_type))
            }
            AlterColumnOperation::SetDataType { .. } => {
                refused(&format!("values stay what they are; leave USING out, or {COPY}"))
            }
            AlterColumnOperation::SetNotNull => {
                refused(&format!("there may be nulls in the column; {COPY}, without the rows that have them"))
            }
            AlterColumnOperation::SetDefault { .. } | AlterColumnOperation::DropDefault => refused(NO_DEFAULTS),
            AlterColumnOperation::AddGenerated { .. } => refused(NO_DEFAULTS),
        },
        AlterTableOperation::DropColumn { .. } => {
            refused(&format!("rows keep their columns; select the others, or {COPY} without it"))
        }
        AlterTableOperation::RenameColumn { .. } => {
            refused(&format!("columns keep their names; give others in queries by AS, or {COPY}"))
        }
        AlterTableOperation::RenameTable { .. } => refused(&format!("keyspaces keep their names; {COPY}")),
        _ => refused(&format!("there are only {ACTIONS}")),
    }
}

const NO_DEFAULTS: &str = "columns have no defaults; give the value in INSERT";

/// Refuses what a new column cannot have.
fn check_options(place: &str, ColumnDef { name, options, .. }: &ColumnDef) -> Result<()> {
    for option in options.iter().map(|option| &option.option) {
        let remedy = match option {
            ColumnOption::Null => continue,
            ColumnOption::NotNull => {
                "the rows that are there have nothing for it; leave NOT NULL out, and INSERT them with values"
            }
            ColumnOption::Default(_) => {
                "the rows that are there are null in it, and columns have no defaults; leave DEFAULT out, and INSERT \
                 them with values"
            }
            _ => "columns have a type alone; leave what follows it out",
        };
        return refused(place, &format!("ADD COLUMN {name} ... {option}"), remedy);
    }
    Ok(())
}
