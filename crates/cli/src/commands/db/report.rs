//! The page of a store for `ogive report`.

use super::{ClockAhead, StoreFolder, keys, rows};
use crate::failure::Result;
use crate::values::size::ByteSize;
use ogive_report::store::{StorePicture, StoreTable};
use std::collections::BTreeMap;
use std::path::Path;

/// What the report of a store shows. The store is opened read-only, as it is now; a program may have it open.
///
/// # Errors
/// Errors of opening the store.
pub(crate) fn picture(folder: &Path, name: &str, memory: ByteSize, clock: ClockAhead) -> Result<StorePicture> {
    let db = StoreFolder::at(folder.to_owned(), memory, None).clock(clock).read()?;
    let mut stats = db.stats();
    stats.keyspaces = rows::keyspaces(&db);
    let mut types = BTreeMap::new();
    for keyspace in &stats.keyspaces {
        types.insert(keyspace.name.clone(), keys::of(&db, &db.keyspace(&keyspace.name)?, None)?);
    }
    let shown = |keyspace: &str, key: &[u8]| match types.get(keyspace) {
        Some(keys) => keys.shown(key).into_owned(),
        None => String::from_utf8_lossy(key).into_owned(),
    };
    let ranges: BTreeMap<u64, _> = db.table_key_ranges().into_iter().map(|range| (range.number, range)).collect();
    let tables = db.tables().into_iter().filter_map(|table| {
        let range = ranges.get(&table.number)?;
        Some(StoreTable {
            keyspace: range.keyspace.clone(),
            number: table.number,
            level: table.level,
            bytes: table.bytes,
            records: table.records,
            model_segments: table.model_segments,
            filter_bytes: table.filter_bytes,
            expected_false_positives: table.expected_false_positives(),
            first: shown(&range.keyspace, &range.first_key),
            last: if range.last_key.is_empty() { String::new() } else { shown(&range.keyspace, &range.last_key) },
            first_key: range.first_key.clone(),
            last_key: range.last_key.clone(),
        })
    });
    Ok(StorePicture { name: name.to_owned(), tables: tables.collect(), stats, log_bytes: log_bytes(folder) })
}

/// Bytes of the logs in a local folder; `None` for one in an object store.
fn log_bytes(folder: &Path) -> Option<u64> {
    let files = std::fs::read_dir(folder).ok()?.filter_map(std::result::Result::ok);
    let is_log = |file: &std::fs::DirEntry| Path::new(&file.file_name()).extension().is_some_and(|it| it == "log");
    Some(files.filter(is_log).filter_map(|file| Some(file.metadata().ok()?.len())).sum())
}
