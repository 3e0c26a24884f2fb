//! `ogive db compact`: merges all tables of a store.

use super::store::StoreFolder;
use crate::args::Outcome;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::size::human_bytes;
use ogive::lsm::Db;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive db compact fruit

Merges all tables, so that each key lies in one place, and removed entries and old versions in none. Look-ups are fastest afterwards,
and the store is as small as it can be. It happens in the background anyway, little by little.";

/// Merge all tables
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreFolder,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let (before, after) = compact(arguments.store.write_stoppable(&interrupt)?, &interrupt)?;
    if output.is_json() {
        output.json(&json!({ "bytes_before": before, "bytes_after": after }))?;
    } else {
        let shown = arguments.store.shown();
        output.line(format_args!("{shown}: {} before, {} now", human_bytes(before), human_bytes(after)))?;
    }
    Ok(Outcome::Done)
}

/// Merges all tables; gives how many bytes the store had before and has now.
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
        // What it holds is durable, closed in order or not.
        let _ = db.close();
        return Err(failure.but("what was merged until then stays merged, and every entry is where it was or there"));
    }
    let after = bytes(&db);
    db.close()?;
    Ok((before, after))
}
