//! `ogive db alter`: alters the fields of the values of a keyspace, without rewriting its records.

use super::keys;
use super::store::{DEFAULT_KEYSPACE, StoreFolder, existing};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::values::size::duration;
use ogive::KeyType;
use ogive::lsm::ExpiryRule;
use ogive::types::{Alteration, Field, ValueType};
use serde_json::json;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ogive db alter shop --add 'origin: text?'              add a field, which is null in the records that are there
  ogive db alter shop orders --widen 'amount: u64'       in the keyspace 'orders', where it was u32
  ogive db alter shop orders --nullable price --dry-run  only tell what the types would be
  ogive db alter shop --to '{name: text, n: i64?}'       all fields together
  ogive db alter shop carts --expire-after 30d           records written from now on are gone after 30 days

Fields are added at the end, and may be null. A field may be null from now on, or get a type that holds all its values
exactly: a wider integer (i128 or decimal(20,0) for u64), f64 for f32 and integers of 32 bits, a decimal with no fewer
digits on either side of the point (also for integers), a time in a finer unit, or timestamp(s) for a date. Fields are
not removed, renamed or moved, and keys and the units of timestamps stay. Of values without fields, the name is 'value'.

No record is rewritten: each is read in the new type, and `ogive db compact` writes them anew. But for fields that are
only added, releases of Ogive before this one cannot open the store any more.";

/// Alter the fields of a keyspace, without rewriting its records, or when its records expire
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

    /// Let records expire so long after they are written, from now on, as in 30m or 90d; 'never' ends it
    #[arg(long, value_name = "TIME", value_parser = after, conflicts_with_all = ["add", "nullable", "widen", "to"])]
    expire_after: Option<ExpireAfter>,

    /// Let records expire at the time in this field, a timestamp in UTC, from now on
    #[arg(long, value_name = "NAME", conflicts_with_all = ["add", "nullable", "widen", "to", "expire_after"])]
    expire_at: Option<String>,

    /// Only check the alteration, and tell the types
    #[arg(long)]
    dry_run: bool,
}

/// How long records are kept; `None` for ever.
#[derive(Clone, Copy, Debug)]
struct ExpireAfter(Option<Duration>);

fn after(text: &str) -> std::result::Result<ExpireAfter, String> {
    if text == "never" { Ok(ExpireAfter(None)) } else { duration(text).map(|after| ExpireAfter(Some(after))) }
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
            return Err(Failure::usage(
                "no alteration was given",
                "use --add, --nullable, --widen, --to, --expire-after or --expire-at",
            ));
        }
        let alteration = self.add.iter().cloned().fold(Alteration::new(), Alteration::add_field);
        let alteration = self.nullable.iter().fold(alteration, |altered, name| altered.allow_null(name));
        Ok(self.widen.iter().fold(alteration, |altered, (name, key_type)| altered.widen(name, *key_type)))
    }
}

/// Sets the rule by which records expire.
fn set_expiry(arguments: &DbAlter, output: &mut Output) -> Result<Outcome> {
    let DbAlter { store, keyspace: name, dry_run, expire_after, expire_at, .. } = arguments;
    if *dry_run {
        return Err(Failure::usage("--dry-run is about types", "leave it out"));
    }
    keys::check_name(name)?;
    let db = store.write()?;
    let keyspace = existing(&db, &store.folder, name)?;
    match expire_at {
        Some(field) => keyspace.expire_at_field(field)?,
        None => keyspace.expire_after(expire_after.and_then(|ExpireAfter(after)| after))?,
    }
    let rule = match keyspace.expiry() {
        Some(ExpiryRule::After(after)) => format!("expire {after:?} after they are written"),
        Some(ExpiryRule::AtField(field)) => format!("expire at their field {field:?}"),
        _ => "do not expire".to_owned(),
    };
    drop(keyspace);
    db.close().map_err(|error| Failure::from(error).but(format!("the keyspace {name:?} was altered")))?;
    if output.is_json() {
        output.json(&json!({ "keyspace": name, "records": rule }))?;
    } else {
        output.line(format_args!("{store}: keyspace {name:?}: records that are written from now on {rule}"))?;
    }
    Ok(Outcome::Done)
}

/// Runs the command.
pub(crate) fn run(arguments: &DbAlter, output: &mut Output) -> Result<Outcome> {
    if arguments.expire_after.is_some() || arguments.expire_at.is_some() {
        return set_expiry(arguments, output);
    }
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
