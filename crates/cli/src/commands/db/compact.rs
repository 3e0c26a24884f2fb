//! `ogive db compact`: compacts a store completely.

use super::store::StoreFolder;
use crate::args::Outcome;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::size::human_bytes;
use ogive::lsm::Db;
use serde_json::json;

/// Help after the arguments.
pub(super) const EXAMPLES: &str = "\
Examples:
  ogive db compact fruit

Merges all tables and drops removed entries and old versions, which makes lookups fastest and the store smallest. Stores
also compact themselves in the background, step by step.";

/// Runs the command.
pub(crate) fn run(store: &StoreFolder, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let (before, after) = compact(store.write_stoppable(&interrupt)?, &interrupt)?;
    if output.is_json() {
        output.json(&json!({ "bytes_before": before, "bytes_after": after }))?;
    } else {
        output.line(format_args!("{store}: {} before, {} now", human_bytes(before), human_bytes(after)))?;
    }
    Ok(Outcome::Done)
}

/// Merges all tables; gives the bytes of the store before and after.
pub(super) fn compact(db: Db, interrupt: &Interrupt) -> Result<(u64, u64)> {
    let bytes = |db: &Db| {
        let stats = db.stats();
        stats.table_bytes + stats.value_file_bytes
    };
    let before = bytes(&db);
    let progress = Progress::start("compacting", None, Unit::Bytes);
    let compacted = db.compact();
    drop(progress);
    if let Err(error) = compacted {
        let Some(failure) = interrupt.interrupted(&error) else { return Err(error.into()) };
        // All entries are durable, even if closing fails.
        let _ = db.close();
        return Err(failure.but("the compactions finished so far are kept, and no entry is lost"));
    }
    let after = bytes(&db);
    db.close()?;
    Ok((before, after))
}
