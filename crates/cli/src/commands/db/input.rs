//! A keyspace as an input of `ogive build`.

use super::clock::{ClockAhead, open_to_read};
use super::keys;
use super::store::{DEFAULT_KEYSPACE, check_there, existing, hint_on_emptiness, lost_expiry};
use crate::failure::Result;
use crate::input::{Input, InputFacts, StoredInput};
use crate::output::note_once;
use ogive::lsm::DbOptions;
use ogive::types::RecordType;
use std::path::Path;

/// The entries of a keyspace, by default the one that every store has, from a snapshot.
///
/// # Errors
/// [`Failure::Refused`] when the store or keyspace does not exist; errors of the engine.
pub(crate) fn input(folder: &Path, keyspace: Option<&str>, clock: ClockAhead) -> Result<Box<dyn Input>> {
    check_there(folder)?;
    let db = open_to_read(folder, &clock.applied_to(DbOptions::default().create(false)))?;
    let open = existing(&db, folder, keyspace.unwrap_or(DEFAULT_KEYSPACE))?;
    if let Some(hint) = hint_on_emptiness(&db, &open, "--keyspace")? {
        note_once(hint);
    }
    if db.stats().keyspaces.iter().any(|stats| stats.name == open.name() && stats.may_expire) {
        note_once(lost_expiry(open.name()));
    }
    let key_type = keys::of(&db, &open, None)?.key_type();
    let facts = InputFacts {
        path: folder.to_owned(),
        record_type: RecordType { keys: key_type, ..open.record_type().as_ref().clone() },
        value_width: None,
        records: None,
        length_bytes: None,
        may_be_empty: true,
    };
    let entries = open.iter().map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())));
    Ok(Box::new(StoredInput::new(facts, entries)))
}
