//! `ogive db alter`: alters the fields of the values of a keyspace, without rewriting its records, and the options that
//! the keyspace has of its own.

use super::keys;
use super::store::{DEFAULT_KEYSPACE, StoreFolder, existing};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::values::own_options::{self, OwnOptions};
use ogive::KeyType;
use ogive::types::{Alteration, Field, ValueType};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive db alter shop --add 'origin: text?'              add a field, which is null in the records that are there
  ogive db alter shop orders --widen 'amount: u64'       in the keyspace 'orders', where it was u32
  ogive db alter shop orders --nullable price --dry-run  only tell what the types would be
  ogive db alter shop --to '{name: text, n: i64?}'       all fields together
  ogive db alter shop carts --expire-after 30d           records written from now on are gone after 30 days
  ogive db alter shop photos --compression lz4 --block-bytes 16KiB --separate-from 256
  ogive db alter shop photos --block-bytes store         again as the programs say that open the store

Fields are added at the end, and may be null. A field may be null from now on, or get a type that holds all its values
exactly: a wider integer (i128 or decimal(20,0) for u64), f64 for f32 and integers of 32 bits, a decimal with no fewer
digits on either side of the point (also for integers), a time in a finer unit, or timestamp(s) for a date. Fields are
not removed, renamed or moved, and keys and the units of timestamps stay. Of values without fields, the name is 'value'.

No record is rewritten: each is read in the new type, and `ogive db compact` writes them anew. But for fields that are
only added, releases of Ogive before this one cannot open the store any more.

Options of the keyspace are recorded in the store, for all programs that write to it, and hold for values and tables
that are written from now on. `ogive db compact` writes tables anew. When records expire holds for those that are
written from now on. Older releases cannot open such a store.";

/// Alter the fields of a keyspace, without rewriting its records, its options, and when its records expire
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

    #[command(flatten)]
    own: OwnOptions,

    /// Only check the alteration, and tell the types and the options
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
    /// The alteration of the fields; `None` if there is none.
    fn alteration(&self) -> Result<Option<Alteration>> {
        if let Some(values) = &self.to {
            return Ok(Some(Alteration::to(values.clone())));
        }
        if self.add.is_empty() && self.nullable.is_empty() && self.widen.is_empty() {
            let hint = "use --add, --nullable, --widen or --to, or an option of the keyspace";
            return if self.own.is_empty() { Err(Failure::usage("no alteration was given", hint)) } else { Ok(None) };
        }
        let alteration = self.add.iter().cloned().fold(Alteration::new(), Alteration::add_field);
        let alteration = self.nullable.iter().fold(alteration, |altered, name| altered.allow_null(name));
        Ok(Some(self.widen.iter().fold(alteration, |altered, (name, key_type)| altered.widen(name, *key_type))))
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
    let after = match &alteration {
        None => before.clone(),
        Some(alteration) if *dry_run => alteration.of(&before)?.into(),
        Some(alteration) => keyspace.alter(alteration)?,
    };
    let changes = after != before;
    let own = arguments.own.of(keyspace.options());
    let changes_options = own != keyspace.options();
    if changes_options && !dry_run {
        keyspace.set_options(&own)?;
    }
    drop(keyspace);
    if !dry_run {
        db.close().map_err(|error| Failure::from(error).but(format!("the keyspace {name:?} was altered")))?;
    }
    if output.is_json() {
        let (keys, values) = (after.keys.to_string(), after.value_name());
        let altered = (changes || changes_options) && !dry_run;
        let types = json!({ "keyspace": name, "altered": altered, "key_type": keys, "value_type": values });
        output.json(&own_options::add_to(types, &own))?;
        return Ok(Outcome::Done);
    }
    if alteration.is_some() {
        let what = match (changes, dry_run) {
            (false, _) => "keeps its types",
            (true, true) => "would become",
            (true, false) => "is now",
        };
        output.line(format_args!("{store}: keyspace {name:?} {what}: {after}"))?;
    }
    if !arguments.own.is_empty() {
        let what = match (changes_options, dry_run) {
            (false, _) => "keeps its options",
            (true, true) => "would have the options",
            (true, false) => "has the options",
        };
        let shown = own_options::shown(&own).unwrap_or_else(|| "those of the store".to_owned());
        output.line(format_args!("{store}: keyspace {name:?} {what}: {shown}"))?;
    }
    Ok(Outcome::Done)
}
