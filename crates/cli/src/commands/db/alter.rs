//! `ogive db alter`: alters the fields of the values of a keyspace, without rewriting its records.

use super::keys;
use super::store::{DEFAULT_KEYSPACE, StoreFolder, existing};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use ogive::KeyType;
use ogive::types::{Alteration, Field, ValueType};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive db alter shop --add 'origin: text?'              add a field, which is null in the records that are there
  ogive db alter shop orders --widen 'amount: u64'       in the keyspace 'orders', where it was u32
  ogive db alter shop orders --nullable price --dry-run  only tell what the types would be
  ogive db alter shop --to '{name: text, n: i64?}'       all fields together

Fields are added at the end, and may be null. A field may be null from now on, or get a type that holds all its values
exactly: a wider integer (i128 or decimal(20,0) for u64), f64 for f32 and integers of 32 bits, a decimal with no fewer
digits on either side of the point (also for integers), a time in a finer unit, or timestamp(s) for a date. Fields are
not removed, renamed or moved, and keys and the units of timestamps stay. Of values without fields, the name is 'value'.

No record is rewritten: each is read in the new type, and `ogive db compact` writes them anew. But for fields that are
only added, releases of Ogive before this one cannot open the store any more.";

/// Alter the fields of a keyspace, without rewriting its records
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbAlter {
    #[command(flatten)]
    store: StoreFolder,

    /// Name of the keyspace
    #[arg(value_name = "KEYSPACE", default_value = DEFAULT_KEYSPACE)]
    keyspace: String,

    /// Add a field that may be null, as in 'origin: text?'; may be repeated
    #[arg(long, value_name = "FIELD", value_parser = field)]
    add: Vec<Field>,

    /// Let a field be null; may be repeated
    #[arg(long, value_name = "NAME")]
    nullable: Vec<String>,

    /// Give a field a type that holds all its values, as in 'amount: u64'; may be repeated
    #[arg(long, value_name = "FIELD", value_parser = widened)]
    widen: Vec<(String, KeyType)>,

    /// The type of the values from now on, as in '{name: text, price: decimal(8,2)?}'
    #[arg(long, value_name = "TYPE", conflicts_with_all = ["add", "nullable", "widen"])]
    to: Option<ValueType>,

    /// Only check the alteration, and tell the types
    #[arg(long)]
    dry_run: bool,
}

/// A field by its name and type.
fn field(text: &str) -> std::result::Result<Field, String> {
    let row: ValueType = format!("{{{text}}}").parse().map_err(|error: ogive::Error| error.to_string())?;
    match row.fields() {
        [field] => Ok(field.clone()),
        _ => Err("write one field; repeat the option for others".to_owned()),
    }
}

fn widened(text: &str) -> std::result::Result<(String, KeyType), String> {
    match field(text)? {
        Field { nullable: true, name, .. } => Err(format!("whether it may be null is stated by --nullable {name}")),
        Field { name, key_type, .. } => Ok((name, key_type)),
    }
}

impl DbAlter {
    fn alteration(&self) -> Result<Alteration> {
        if let Some(values) = &self.to {
            return Ok(Alteration::to(values.clone()));
        }
        if self.add.is_empty() && self.nullable.is_empty() && self.widen.is_empty() {
            return Err(Failure::usage("no alteration was given", "use --add, --nullable, --widen or --to"));
        }
        let alteration = self.add.iter().cloned().fold(Alteration::new(), Alteration::add_field);
        let alteration = self.nullable.iter().fold(alteration, |altered, name| altered.allow_null(name));
        Ok(self.widen.iter().fold(alteration, |altered, (name, key_type)| altered.widen(name, *key_type)))
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &DbAlter, output: &mut Output) -> Result<Outcome> {
    let DbAlter { store, keyspace: name, dry_run, .. } = arguments;
    let alteration = arguments.alteration()?;
    keys::check_name(name)?;
    let db = if *dry_run { store.read()? } else { store.write()? };
    let keyspace = existing(&db, &store.folder, name)?;
    let before = keyspace.record_type();
    let after = if *dry_run { alteration.of(&before)?.into() } else { keyspace.alter(&alteration)? };
    let changes = after != before;
    drop(keyspace);
    if !dry_run {
        db.close().map_err(|error| Failure::from(error).but(format!("the keyspace {name:?} was altered")))?;
    }
    if output.is_json() {
        let (keys, values) = (after.keys.to_string(), after.value_name());
        let altered = changes && !dry_run;
        output.json(&json!({ "keyspace": name, "altered": altered, "key_type": keys, "value_type": values }))?;
    } else {
        let what = match (changes, dry_run) {
            (false, _) => "keeps its types",
            (true, true) => "would become",
            (true, false) => "is now",
        };
        output.line(format_args!("{store}: keyspace {name:?} {what}: {after}"))?;
    }
    Ok(Outcome::Done)
}
