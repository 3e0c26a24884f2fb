//! A keyspace as an input of a join.

use super::clock::{ClockAhead, open_to_read};
use super::keys;
use super::store::{DEFAULT_KEYSPACE, check_there, existing, hint_on_emptiness};
use crate::failure::{Failure, Result};
use crate::output::note_once;
use crate::reading::bounds::bounds;
use ogive::KeyType;
use ogive::join::JoinSource;
use ogive::lsm::DbOptions;
use std::ffi::OsStr;
use std::path::Path;

/// A snapshot of the entries of a keyspace, which the flag of this name chooses, optionally between two keys, and its
/// key type: the known or requested one (`asked`), else that of the other side (`wanted`).
///
/// # Errors
/// [`Failure::Refused`] when the store or keyspace does not exist; errors of the engine.
pub(crate) fn relation(
    folder: &Path,
    (flag, keyspace): (&str, Option<&str>),
    (asked, wanted): (Option<KeyType>, Option<KeyType>),
    (from, to): (Option<&OsStr>, Option<&OsStr>),
    (memory_bytes, clock): (u64, ClockAhead),
) -> Result<(JoinSource, KeyType)> {
    check_there(folder)?;
    let memtable_bytes = (memory_bytes / 4).min(DbOptions::default().writes.memtable_bytes);
    let options = DbOptions::default()
        .memory_bytes(memory_bytes)
        .writes(|writes| writes.memtable_bytes(memtable_bytes))
        .create(false);
    let db = open_to_read(folder, &clock.applied_to(options))?;
    let open = existing(&db, folder, keyspace.unwrap_or(DEFAULT_KEYSPACE))?;
    if let Some(hint) = hint_on_emptiness(&db, &open, flag)? {
        note_once(hint);
    }
    // An imported keyspace has a key type; otherwise the other side may have one.
    let known = keys::of(&db, &open, asked)?;
    let keys = known.or(asked.or(wanted));
    let (from, to) = (keys.parse_some(from)?, keys.parse_some(to)?);
    if let Some((from, to)) = from.as_ref().zip(to.as_ref()).filter(|(from, to)| from > to) {
        let message = format!("the range from {} to {} ends before it begins", keys.shown(from), keys.shown(to));
        return Err(Failure::usage(message, "swap its ends"));
    }
    let bounds = bounds(from, to);
    // The other side's type need not fit every key of this one.
    let source = JoinSource::snapshot_of::<Vec<u8>>(&db.snapshot(), &open, known.key_type(), bounds);
    Ok((source, keys.key_type()))
}
