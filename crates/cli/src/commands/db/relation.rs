//! A keyspace as a relation that is joined.

use super::keys;
use super::store::check_there;
use crate::failure::{Failure, Result};
use ogive::join::Source;
use ogive::lsm::{Db, DbOptions};
use ogive::table::KeyType;
use std::ffi::OsStr;
use std::ops::Bound;
use std::path::Path;

/// The entries of a keyspace as they are now, between two keys where such are given, and what its keys are: as is known of them or `asked`
/// for, else as the other side `wanted` them.
///
/// # Errors
/// [`Failure::Refused`] where there is no such store or keyspace; whatever the engine reports.
pub(crate) fn relation(
    folder: &Path,
    keyspace: &str,
    (asked, wanted): (Option<KeyType>, Option<KeyType>),
    (from, to): (Option<&OsStr>, Option<&OsStr>),
    memory_bytes: u64,
) -> Result<(Source, KeyType)> {
    check_there(folder)?;
    let memtable_bytes = (memory_bytes / 4).min(DbOptions::default().memtable_bytes);
    let options = DbOptions { memory_bytes, memtable_bytes, create: false, ..DbOptions::default() };
    let db = Db::open_read_only(folder, &options)?;
    let names = db.keyspaces();
    if !names.iter().any(|name| name == keyspace) {
        let message = format!("{}: the keyspace {keyspace:?} was not found", folder.display());
        return Err(Failure::refused(message, format!("there are: {}", names.join(", "))));
    }
    let open = db.keyspace(keyspace)?;
    // What was imported knows its keys; of other bytes the other side may know more.
    let known = keys::of(&db, &open, asked)?;
    let keys = known.or(asked.or(wanted));
    let (from, to) = (keys.parse_some(from)?, keys.parse_some(to)?);
    let bounds = (from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded));
    // That the other side has numbers says nothing of each key here.
    let source = match known.key_type() {
        KeyType::Bytes | KeyType::Text => Source::snapshot::<Vec<u8>>(&db.snapshot(), &open, bounds),
        numbers => Source::snapshot_of::<Vec<u8>>(&db.snapshot(), &open, numbers, bounds),
    };
    Ok((source, keys.key_type()))
}
