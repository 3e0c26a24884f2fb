//! `ogive db repair`: makes a damaged store sound.

use super::keys;
use super::store::StoreFolder;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::size::{counted, grouped};
use ogive::Error;
use ogive::check::{RepairReport, repair_store};
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
    let interrupt = Interrupt::watch();
    let repaired = repair(&arguments.store.stoppable(&interrupt))?;
    let untyped = if repaired.manifest_rebuilt { keys::recover(&arguments.store.write()?)? } else { Vec::new() };
    if output.is_json() {
        output.json(&json!({
            "damaged_files": repaired.damaged_files,
            "foreign_files": repaired.foreign_files,
            "saved_entries": repaired.saved_entries,
            "lost_entries": repaired.lost_entries,
            "is_loss_known": repaired.is_loss_known,
            "manifest_rebuilt": repaired.manifest_rebuilt,
        }))?;
        return Ok(Outcome::Done);
    }
    let shown = arguments.store.shown();
    if repaired.damaged_files.is_empty() && repaired.foreign_files.is_empty() {
        output.line(format_args!("{shown}: nothing to repair"))?;
        return Ok(Outcome::Done);
    }
    for file in &repaired.damaged_files {
        output.line(format_args!("{file}: damaged or missing"))?;
    }
    for file in &repaired.foreign_files {
        output.line(format_args!(
            "{file}: another store's or a copy's, as far as can be told; it was not used, and is {file}.foreign now"
        ))?;
    }
    if repaired.damaged_files.is_empty() {
        output.line(format_args!("{shown}: sound again; what its manifest names was whole, and stays as it was"))?;
        note(
            "if an older manifest was put in place of the newest, put that back, and the files that were set aside under their names",
        );
        return Ok(Outcome::Done);
    }
    output.line(format_args!(
        "{shown}: sound again; {} damaged or missing, {} entries saved, {}",
        counted(repaired.damaged_files.len() as u64, "file"),
        grouped(repaired.saved_entries),
        lost(&repaired)
    ))?;
    output.flush()?;
    notes(&repaired).into_iter().for_each(note);
    for name in untyped {
        note(format_args!("not known: what the keys of {name:?} are; say so with --keys"));
    }
    Ok(Outcome::Done)
}

/// Repairs a store, and shows how far it is.
pub(super) fn repair(storage: &Arc<dyn Storage>) -> Result<RepairReport> {
    let mut progress = Progress::start("repairing", None, Unit::Bytes);
    let repaired = repair_store(storage, &mut |done, total| {
        progress.set_total(total);
        progress.reach(done);
    });
    repaired.map_err(|error| match error {
        Error::Interrupted => Failure::from(error)
            .but("the store holds what it held before; what was begun goes when you repair it again"),
        error => error.into(),
    })
}

/// How much is lost, as far as it is known.
fn lost(repaired: &RepairReport) -> String {
    match (repaired.lost_entries, repaired.is_loss_known) {
        (0, true) => "none lost".to_owned(),
        (lost, true) => format!("{} lost", grouped(lost)),
        (0, false) => "how many are lost is not known".to_owned(),
        (lost, false) => format!("at least {} lost; how many more is not known", grouped(lost)),
    }
}

/// What cannot be known, and why.
fn notes(repaired: &RepairReport) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if repaired.damaged_files.iter().any(|file| file.ends_with(".log")) {
        notes.push("not known: how many entries a damaged log held behind its last sound group; they are lost");
    }
    if repaired.manifest_rebuilt {
        notes.push("not known without the manifest: which tables and logs there were; what a missing one held is lost");
        notes.push(
            "entries that had been removed may show again, and keyspaces but the default one have numbers for names",
        );
    }
    notes
}
