//! `ogive db upgrade`: raises the format of a store to the newest.

use super::store::StoreFolder;
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use ogive::lsm::STORE_FORMAT;
use serde_json::json;

/// Help after the arguments.
pub(super) const EXAMPLES: &str = "\
Examples:
  ogive db upgrade fruit                         raise the format to the newest
  ogive db compact fruit                         rewrite all tables

A store keeps the format with which it was created, so that the release before can still open it. After an upgrade it
cannot. Existing tables stay as they are until a compaction.";

/// Runs the command.
pub(crate) fn run(store: &StoreFolder, output: &mut Output) -> Result<Outcome> {
    let was_new = is_newest(store)?;
    if !was_new {
        store.upgrade().and_then(|db| Ok(db.close()?)).map_err(|failure| truthful(store, failure))?;
    }
    if output.is_json() {
        output.json(&json!({ "upgraded": !was_new }))?;
    } else if was_new {
        output.line(format_args!("{store}: the format is the newest"))?;
    } else {
        output.line(format_args!("{store}: upgraded; `ogive db compact` rewrites its tables"))?;
    }
    Ok(Outcome::Done)
}

fn is_newest(store: &StoreFolder) -> Result<bool> {
    Ok(store.read()?.stats().format >= STORE_FORMAT)
}

/// Adds to a failure whether the format was raised: the newest manifest says so, even if a later step failed.
fn truthful(store: &StoreFolder, failure: Failure) -> Failure {
    match is_newest(store) {
        Ok(true) => failure.but("the upgrade took effect all the same"),
        Ok(false) => failure.but("the format is unchanged"),
        Err(_) => failure,
    }
}
