//! `ogive db compact`: compacts a store completely.

use super::store::{KeyspaceOptions, StoreFolder};
use crate::commands::ordered_map::{OrderedMap, RangeOptions};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::values::size::human_bytes;
use ogive::io::LocalStorage;
use ogive::lsm::{Db, DbStats};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time between two looks at the progress.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Help after the arguments.
const EXAMPLES: &str = "\
Examples:
  ogive db compact fruit
  ogive db compact fruit --keyspace colours --from a --to c

Merges all tables and drops removed entries and old versions, which makes lookups fastest and the store smallest. Stores
also compact themselves in the background, step by step. The bytes are those of tables and values, and of logs whose
entries are not in tables yet. With a keyspace or a range, only tables that have its keys are merged, and those that
overlap them.";

/// Compact a store completely, or a range of keys
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbCompact {
    #[command(flatten)]
    store: StoreFolder,

    /// Compact this keyspace alone [default: all; with a range, the keyspace 'default']
    #[arg(long, value_name = "NAME", help_heading = "Store")]
    keyspace: Option<String>,

    #[command(flatten)]
    range: RangeOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbCompact, output: &mut Output) -> Result<Outcome> {
    let DbCompact { store, keyspace, range } = arguments;
    let interrupt = Interrupt::watch();
    let read_bytes = Arc::new(AtomicU64::new(0));
    let db = store.write_counted(&interrupt, &read_bytes)?;
    let part = match keyspace.is_some() || !range.is_whole() {
        true => Some(KeyspaceOptions::at(store.clone(), keyspace.clone(), None).existing(db.clone())?),
        false => None,
    };
    let bounds = part.as_ref().map_or(Ok(None), |part| part.parse_range(range))?;
    let work = |db: &Db| match (part, bounds) {
        (None, _) => db.compact(),
        (Some(part), Some(bounds)) => part.keyspace.compact_range(bounds),
        // A range without keys.
        (Some(_), None) => Ok(()),
    };
    let (before, after) = compact(db, store.path(), &read_bytes, &interrupt, work)?;
    if output.is_json() {
        output.json(&json!({ "bytes_before": before, "bytes_after": after }))?;
    } else {
        output.line(format_args!("{store}: {} before, {} now", human_bytes(before), human_bytes(after)))?;
    }
    Ok(Outcome::Done)
}

/// Merges tables of the store in a folder, of whose data `read_bytes` have been read so far; gives the bytes of the
/// store before and after.
pub(super) fn compact(
    db: Db,
    folder: &Path,
    read_bytes: &AtomicU64,
    interrupt: &Interrupt,
    work: impl FnOnce(&Db) -> ogive::Result<()>,
) -> Result<(u64, u64)> {
    let stats = db.stats();
    let before = data_bytes(&stats) + log_bytes(&stats, folder);
    if let Err(error) = with_progress(read_bytes, before, || work(&db)) {
        let Some(failure) = interrupt.interrupted(&error) else { return Err(error.into()) };
        // All entries are durable, even if closing fails.
        let _ = db.close();
        return Err(failure.but("the compactions finished so far are kept, and no entry is lost"));
    }
    let after = data_bytes(&db.stats());
    db.close()?;
    Ok((before, after))
}

/// Bytes of tables and values.
fn data_bytes(stats: &DbStats) -> u64 {
    stats.table_bytes + stats.value_file_bytes
}

/// Bytes of the logs of an open store, if they hold entries that are not in tables.
fn log_bytes(stats: &DbStats, folder: &Path) -> u64 {
    if stats.keyspaces.iter().all(|keyspace| keyspace.memtable_records == 0) {
        return 0;
    }
    // Only for information: a log that goes meanwhile counts nothing.
    let names = LocalStorage::names(folder).unwrap_or_default();
    let logs = names.iter().filter(|name| name.ends_with(".log"));
    logs.filter_map(|name| folder.join(name).metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Shows progress during `work`, by what it has read of about `total` bytes.
fn with_progress<T>(read_bytes: &AtomicU64, total: u64, work: impl FnOnce() -> T) -> T {
    let at_start = read_bytes.load(Ordering::Relaxed);
    thread::scope(|scope| {
        let (ending, ended) = channel::<()>();
        scope.spawn(move || {
            let mut progress = Progress::start("compacting", Some(total), Unit::Bytes);
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                let done = read_bytes.load(Ordering::Relaxed) - at_start;
                // Some data is read twice, on its way through several levels.
                progress.reach_of(done, total.max(done));
            }
        });
        let result = work();
        drop(ending);
        result
    })
}
