//! `ogive db index`: secondary indexes that a store keeps itself.

use super::kept_facts::{index_state, index_to_json};
use super::keys;
use super::rows;
use super::store::{KeyspaceName, KeyspaceOptions, OpenKeyspace, StoreFolder, existing};
use crate::commands::ordered_map::{OrderedMap, Window};
use crate::commands::subcommands;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::values::table_text::plain_table;
use ogive::lsm::{KeyspaceIndex, KeyspaceIndexRange};
use ogive::types::{IndexDefinition, Value};
use serde_json::json;
use std::ops::Bound;

/// Help after the sub-commands.
pub(super) const EXAMPLES: &str = "\
Examples:
  ogive db index create shop by_email --keyspace users --by 'lower(email)' --unique --where 'email is not null'
  ogive db index list shop
  ogive db index get shop by_email ann@example.com      print the records with this value
  ogive db index get shop by_day --from 2024-01-01 --to 2024-02-01
  ogive db index drop shop by_email

An index is recorded in the store, and every write keeps it, whatever program writes: `ogive db put`, import and delete,
Rust, Python and SQL. Ingested tables get tables of entries beside them. Indexed columns keep their types.";

const CREATE_EXAMPLES: &str = "\
Examples:
  ogive db index create shop by_country --keyspace users --by 'country, joined desc'
  ogive db index create shop by_email --keyspace users --by 'lower(email)' --unique --where 'email is not null'
  ogive db index create shop by_day --keyspace orders --by 'date(placed), prefix(customer, 3)'

Indexed are columns, and lower(COLUMN), with a to z for A to Z, prefix(COLUMN, N), the first characters, and
date(COLUMN), the day of a timestamp; desc puts greater values first. In a unique index no two rows have the same
values; rows with a null among them do not count. A command that would write another one exits with 1; with --json, the
error has {\"not_unique\": {\"keyspace\": ..., \"index\": ..., \"key\": ..., \"other_key\": ...}}.

If the command is killed, writes keep the index, and the same command builds it again. Programs before the one that made
the first index of a store cannot open it any more.";

const GET_EXAMPLES: &str = "\
Examples:
  ogive db index get shop by_country de                 all with this country, in the order of the index
  ogive db index get shop by_country de,2024-02-29      with both values: fields of CSV, where an empty one is null
  ogive db index get shop by_email --prefix ann@
  ogive db index get shop by_score --from 10 --reverse --limit 3

Prints the records as `ogive scan` does, all as of one time. Bounds stand for all records with their values: --from has
them, and --to does not. Values are as the index has them: in small letters for lower(COLUMN). If no record has the
VALUES, prints 'not found' to standard error and exits with 1.";

subcommands! {
    /// The sub-commands.
    IndexesCommand {
        Create(KeptIndexCreate) => create,
        /// List the indexes of a store
        List(StoreFolder) => list,
        Get(KeptIndexGet) => get,
        Drop(KeptIndexDrop) => drop_index,
    }
}

/// Create an index of a keyspace, which all writes keep from then on
#[derive(Debug, clap::Args)]
#[command(after_help = CREATE_EXAMPLES)]
pub(crate) struct KeptIndexCreate {
    #[command(flatten)]
    keyspace: KeyspaceName,

    /// Name of the index
    #[arg(value_name = "NAME")]
    name: String,

    /// What it is by: columns and expressions, as in 'country, joined desc'
    #[arg(long, value_name = "LIST")]
    by: String,

    /// Refuse rows whose values another row has
    #[arg(long)]
    unique: bool,

    /// Leave out rows in which a column is null, as in 'email is not null'
    #[arg(long = "where", value_name = "CONDITION", value_parser = not_null)]
    condition: Option<String>,
}

/// Print the records that an index leads to
#[derive(Debug, clap::Args)]
#[command(after_help = GET_EXAMPLES)]
pub(crate) struct KeptIndexGet {
    #[command(flatten)]
    store: StoreFolder,

    /// Name of the index
    #[arg(value_name = "NAME")]
    name: String,

    /// The first values, or all of them, as fields of CSV [default: all records]
    #[arg(value_name = "VALUES", allow_negative_numbers = true, conflicts_with_all = ["from", "to", "prefix"])]
    values: Option<String>,

    /// First values
    #[arg(long, value_name = "VALUES", allow_negative_numbers = true)]
    from: Option<String>,

    /// Values before which to stop
    #[arg(long, value_name = "VALUES", allow_negative_numbers = true)]
    to: Option<String>,

    /// Values, of which the last is the beginning of a text
    #[arg(long, value_name = "VALUES", conflicts_with_all = ["from", "to"])]
    prefix: Option<String>,

    #[command(flatten)]
    window: Window,
}

/// Drop an index; the records stay
#[derive(Debug, clap::Args)]
pub(crate) struct KeptIndexDrop {
    #[command(flatten)]
    store: StoreFolder,

    /// Name of the index
    #[arg(value_name = "NAME")]
    name: String,
}

/// The column of a condition.
fn not_null(text: &str) -> std::result::Result<String, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        [ref column @ .., is, not, null]
            if !column.is_empty() && [is, not, null].join(" ").eq_ignore_ascii_case("is not null") =>
        {
            Ok(column.join(" ").trim_matches('"').to_owned())
        }
        _ => Err("write 'COLUMN is not null'".to_owned()),
    }
}

fn create(arguments: &KeptIndexCreate, output: &mut Output) -> Result<Outcome> {
    let KeptIndexCreate { keyspace: KeyspaceName { store, keyspace }, name, by, unique, condition } = arguments;
    let definition = IndexDefinition::by(by)?;
    let definition = if *unique { definition.unique() } else { definition };
    let definition = condition.iter().fold(definition, |definition, column| definition.where_not_null(column));
    keys::check_name(keyspace)?;
    let interrupt = Interrupt::watch();
    let db = store.write()?;
    let found = existing(&db, store.path(), keyspace)?;
    let rows = rows::keyspaces(&db).into_iter().find(|known| known.name == *keyspace).map(|known| known.rows);
    let mut progress = Progress::start("indexing", rows, Unit::Items);
    let created = db.create_index_showing(name, &found, &definition, &mut |rows| {
        progress.reach(rows);
        interrupt.engine_check()
    });
    drop(progress);
    if let Err(error) = created {
        let failure = interrupt.interrupted(&error);
        let left = "writes keep the index from now on; create it again to build it, or drop it";
        return Err(failure.map_or_else(|| keys::refusal(&db, error), |failure| failure.but(left)));
    }
    drop(found);
    db.close().map_err(|error| Failure::from(error).but(format!("the index {name:?} was created")))?;
    if output.is_json() {
        output.json(&json!({ "index": name, "keyspace": keyspace, "definition": definition.to_string() }))?;
    } else {
        output.line(format_args!("{store}: index {name:?} of the keyspace {keyspace:?} by {definition}"))?;
    }
    Ok(Outcome::Done)
}

fn list(store: &StoreFolder, output: &mut Output) -> Result<Outcome> {
    let indexes = store.read()?.indexes();
    if output.is_json() {
        let objects = indexes.iter().map(index_to_json).collect::<Result<Vec<_>>>()?;
        output.json(&json!({ "indexes": objects }))?;
        return Ok(Outcome::Done);
    }
    let line = |index: &KeyspaceIndex| {
        let keyspace = index.keyspace().name().to_owned();
        let state = index_state(index)?.unwrap_or_default();
        Ok(vec![index.name().to_owned(), keyspace, index.definition().to_string(), state])
    };
    let lines = indexes.iter().map(line).collect::<Result<Vec<_>>>()?;
    output.line(plain_table(&["index", "keyspace", "by", ""], lines))?;
    Ok(Outcome::Done)
}

fn get(arguments: &KeptIndexGet, output: &mut Output) -> Result<Outcome> {
    let db = arguments.store.read()?;
    let indexes = db.indexes();
    if indexes.iter().all(|index| index.name() != arguments.name) {
        return Err(unknown(&arguments.store, &arguments.name, &indexes));
    }
    let index = db.index(&arguments.name)?;
    let records = range(arguments, &index)?;
    let name = index.keyspace().name().to_owned();
    let shown: OpenKeyspace = KeyspaceOptions::at(arguments.store.clone(), Some(name), None).existing(db)?;
    let mut found = 0_u64;
    arguments.window.visit(records, |(key, row)| {
        found += 1;
        shown.print_entry(&key.to_vec(), arguments.window.value(&row), output)
    })?;
    match &arguments.values {
        Some(values) if found == 0 => {
            note(format_args!("{values}: not found"));
            Ok(Outcome::Negative)
        }
        _ => Ok(Outcome::Done),
    }
}

fn range(arguments: &KeptIndexGet, index: &KeyspaceIndex) -> Result<KeyspaceIndexRange> {
    let KeptIndexGet { values, from, to, prefix, .. } = arguments;
    let parse = |text: &Option<String>| text.as_deref().map(|text| index.parse(text)).transpose();
    let (values, from, to, prefix) = (parse(values)?, parse(from)?, parse(to)?, parse(prefix)?);
    if let Some(prefix) = prefix {
        return Ok(index.prefix(&prefix)?);
    }
    if let Some(values) = values {
        return Ok(index.get(&values)?);
    }
    let from: Bound<&[Value]> = from.as_deref().map_or(Bound::Unbounded, Bound::Included);
    Ok(index.range(from, to.as_deref().map_or(Bound::Unbounded, Bound::Excluded))?)
}

fn drop_index(arguments: &KeptIndexDrop, output: &mut Output) -> Result<Outcome> {
    let KeptIndexDrop { store, name } = arguments;
    let db = store.write()?;
    let indexes = db.indexes();
    if !db.drop_index(name)? {
        return Err(unknown(store, name, &indexes));
    }
    drop(indexes);
    db.close().map_err(|error| Failure::from(error).but(format!("the index {name:?} was dropped")))?;
    if output.is_json() {
        output.json(&json!({ "index": name, "dropped": true }))?;
    } else {
        output.line(format_args!("{store}: index {name:?} dropped"))?;
    }
    Ok(Outcome::Done)
}

/// The failure of an index that is not there.
fn unknown(store: &StoreFolder, name: &str, indexes: &[KeyspaceIndex]) -> Failure {
    let names: Vec<&str> = indexes.iter().map(KeyspaceIndex::name).collect();
    let hint = match names[..] {
        [] => "the store has no indexes; `ogive db index create` makes one".to_owned(),
        _ => format!("existing indexes: {}", names.join(", ")),
    };
    Failure::refused(format!("{store}: the index {name:?} was not found"), hint)
}
