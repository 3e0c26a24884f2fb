//! `ogive db repair`: makes a damaged store sound.

use super::store::StoreFolder;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::size::{counted, grouped};
use ogive::check::repair_store;
use ogive::io::Storage;
use serde_json::json;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  cp -r fruit fruit-damaged && ogive db repair fruit

Saves what checksums prove: the entries of undamaged blocks, the values that are whole, the groups of logs ahead of a damaged one. What
is damaged is lost, and told. Where the newest entry of a key is lost, an older one may show. Keep a copy of the folder: the damaged
files are removed.";

/// Save what checksums prove of a damaged store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreFolder,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    arguments.store.check_there()?;
    let storage: Arc<dyn Storage> = Arc::new(arguments.store.options().storage(&arguments.store.folder));
    let mut progress = Progress::start("repairing", None, Unit::Bytes);
    let repaired = repair_store(&storage, &mut |done, total| {
        progress.set_total(total);
        progress.reach(done);
    })?;
    drop(progress);
    if output.is_json() {
        output.json(&json!({
            "damaged_files": repaired.damaged_files,
            "saved_entries": repaired.saved_entries,
            "lost_entries": repaired.lost_entries,
            "manifest_rebuilt": repaired.manifest_rebuilt,
        }))?;
        return Ok(Outcome::Done);
    }
    let shown = arguments.store.shown();
    if repaired.damaged_files.is_empty() {
        output.line(format_args!("{shown}: nothing to repair"))?;
        return Ok(Outcome::Done);
    }
    for file in &repaired.damaged_files {
        output.line(format_args!("{file}: damaged"))?;
    }
    output.line(format_args!(
        "{shown}: sound again; of {} {} entries were saved, and {} are known to be lost",
        counted(repaired.damaged_files.len() as u64, "damaged file"),
        grouped(repaired.saved_entries),
        grouped(repaired.lost_entries)
    ))?;
    if repaired.damaged_files.iter().any(|file| file.ends_with(".log")) {
        output.flush()?;
        note("a log was damaged: what it held behind its last sound group is lost, and how much that was is not known");
    }
    if repaired.manifest_rebuilt {
        output.flush()?;
        note(
            "the manifest was lost: entries that had been removed may show again, and keyspaces but the default one have numbers for names",
        );
    }
    Ok(Outcome::Done)
}
