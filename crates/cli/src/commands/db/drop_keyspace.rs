//! `ogive db drop-keyspace`: removes a keyspace with all its entries.

use super::keys;
use super::store::{DEFAULT_KEYSPACE, StoreFolder, existing};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive db drop-keyspace fruit colours     remove the keyspace 'colours' and all its entries

The keyspace and its tables are gone when the command returns; a checkpoint made before keeps them. The keyspace
'default' belongs to every store and cannot be removed; `ogive db delete` removes its entries.";

/// Remove a keyspace with all its entries
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbDropKeyspace {
    #[command(flatten)]
    store: StoreFolder,

    /// Name of the keyspace
    #[arg(value_name = "NAME")]
    name: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbDropKeyspace, output: &mut Output) -> Result<Outcome> {
    let DbDropKeyspace { store, name } = arguments;
    keys::check_name(name)?;
    if name == DEFAULT_KEYSPACE {
        return Err(Failure::refused(
            format!("{store}: every store has the keyspace {name:?}, so it cannot be dropped"),
            "remove its entries with `ogive db delete --from KEY`",
        ));
    }
    let db = store.write()?;
    existing(&db, &store.folder, name)?;
    db.drop_keyspace(name)?;
    keys::forget(&db, name)?;
    db.close().map_err(|error| Failure::from(error).but(format!("the keyspace {name:?} was dropped")))?;
    if output.is_json() {
        output.json(&json!({ "keyspace": name, "dropped": true }))?;
    } else {
        output.line(format_args!("{store}: keyspace {name:?} dropped"))?;
    }
    Ok(Outcome::Done)
}
