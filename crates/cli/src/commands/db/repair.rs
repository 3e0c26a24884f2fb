//! The repair of a damaged store, for `ogive repair`.

use super::keys;
use super::store::StoreFolder;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::values::size::{counted, grouped};
use ogive::io::Storage;
use ogive::repair::{RepairReport, repair_store};
use ogive::{Cause, Error};
use serde_json::json;
use std::sync::Arc;

/// Repairs a store in its folder.
pub(crate) fn run(store: &StoreFolder, output: &mut Output) -> Result<Outcome> {
    store.check_there()?;
    store.refuse_url("repaired")?;
    let interrupt = Interrupt::watch();
    let repaired = repair(&store.stoppable(&interrupt)?)?;
    let untyped = if repaired.manifest_rebuilt { keys::recover(&store.write()?)? } else { Vec::new() };
    if output.is_json() {
        output.json(&json!({
            "damaged_files": repaired.damaged_files,
            "foreign_files": repaired.foreign_files,
            "ingested_files": repaired.ingested_files,
            "saved_entries": repaired.saved_entries,
            "lost_entries": repaired.lost_entries,
            "is_loss_known": repaired.is_loss_known,
            "manifest_rebuilt": repaired.manifest_rebuilt,
        }))?;
        return Ok(Outcome::Done);
    }
    let shown = store;
    if repaired.damaged_files.is_empty() && repaired.foreign_files.is_empty() {
        output.line(format_args!("{shown}: nothing to repair"))?;
        return Ok(Outcome::Done);
    }
    for file in &repaired.damaged_files {
        output.line(format_args!("{file}: damaged or missing"))?;
    }
    for file in &repaired.foreign_files {
        let what = match file.ends_with(".manifest") {
            true => "is damaged or no manifest of this store, which has an intact one",
            false => "appears to belong to another store or a copy",
        };
        output.line(format_args!("{file}: {what}; it was not used and is now {file}.foreign"))?;
    }
    for file in &repaired.ingested_files {
        let what = "was ingested to a keyspace that only the lost manifest named";
        output
            .line(format_args!("{file}: {what}; it was not used, is now {file}.ingested, and can be ingested again"))?;
    }
    if repaired.damaged_files.is_empty() {
        output.line(format_args!("{shown}: sound; the files that its manifest names are intact and unchanged"))?;
        note("if an older manifest replaced the newest, restore the newest and rename the files that were set aside");
        return Ok(Outcome::Done);
    }
    output.line(format_args!(
        "{shown}: repaired; {} damaged or missing, {} saved, {}",
        counted(repaired.damaged_files.len() as u64, "file"),
        counted(repaired.saved_entries, "entry"),
        lost(&repaired)
    ))?;
    output.flush()?;
    notes(&repaired).into_iter().for_each(note);
    for name in untyped {
        note(format_args!("unknown: the key type of {name:?}; set it with --key-type"));
    }
    Ok(Outcome::Done)
}

/// Repairs a store, with progress.
pub(super) fn repair(storage: &Arc<dyn Storage>) -> Result<RepairReport> {
    let repaired = Progress::during("repairing", Unit::Bytes, |progress| repair_store(storage, progress));
    repaired.map_err(|error| match error {
        Error { cause: Cause::Interrupted, .. } => {
            Failure::from(error).but("the store is unchanged; the next repair removes the incomplete files")
        }
        error => error.into(),
    })
}

/// The number of lost entries, as far as it is known.
fn lost(repaired: &RepairReport) -> String {
    match (repaired.lost_entries, repaired.is_loss_known) {
        (0, true) => "none lost".to_owned(),
        (lost, true) => format!("{} lost", grouped(lost)),
        (0, false) => "the number of lost entries is unknown".to_owned(),
        (lost, false) => format!("at least {} lost", grouped(lost)),
    }
}

/// Possible losses that cannot be determined, with the reason.
fn notes(repaired: &RepairReport) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if !repaired.is_loss_known && repaired.damaged_files.iter().any(|file| file.ends_with(".log")) {
        notes.push("unknown: the number of lost entries after the last intact group of a damaged log");
    }
    if repaired.manifest_rebuilt {
        notes.push("unknown without the manifest: which tables and logs are missing; their entries are lost");
        notes.push("removed entries may reappear, and keyspaces whose names nothing states have numbers as names");
    }
    notes
}
