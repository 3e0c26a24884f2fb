//! `ogive db verify`: checks all files of a store.

use super::store::StoreFolder;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::size::{counted, grouped};
use ogive::check::{StoreReport, verify_store};
use ogive::io::Storage;
use serde_json::json;
use std::sync::Arc;

/// Help after the arguments.
pub(super) const EXAMPLES: &str = "\
Examples:
  ogive db verify fruit
  ogive db verify fruit --json

Reads every byte and checks checksums, the order of keys, the paths of indexes, value pointers and their values, logs,
and that no file is missing. Lists all findings, and exits with 1 if there are any. Changes nothing.";

/// Runs the command.
pub(crate) fn run(store: &StoreFolder, output: &mut Output) -> Result<Outcome> {
    store.check_there()?;
    let storage: Arc<dyn Storage> = Arc::new(store.options().storage(&store.folder));
    let mut progress = Progress::start("verifying", None, Unit::Bytes);
    let report = verify_store(&storage, &mut |done, total| {
        progress.set_total(total);
        progress.reach(done);
    })?;
    drop(progress);
    show(&store.shown(), &report, output)?;
    Ok(if report.is_sound() { Outcome::Done } else { Outcome::Negative })
}

fn show(name: &str, report: &StoreReport, output: &mut Output) -> Result<()> {
    if output.is_json() {
        return output.json(&json!({
            "sound": report.is_sound(),
            "findings": report.findings,
            "further_findings": report.further_findings,
            "keyspaces": report.keyspaces,
            "tables": report.tables,
            "records": report.records,
            "pointers": report.pointers,
            "value_files": report.value_files,
            "values": report.values,
            "logs": report.logs,
            "groups": report.groups,
            "bytes": report.bytes,
            "orphans": report.orphans,
        }));
    }
    for finding in &report.findings {
        output.line(format_args!("{} at byte {}: {}", finding.file, finding.offset, finding.detail))?;
    }
    if report.further_findings > 0 {
        output.line(format_args!("and {} more findings", grouped(report.further_findings)))?;
    }
    let counts = format!(
        "{}, {} entries, {} with {}, {}",
        counted(report.tables, "table"),
        grouped(report.records),
        counted(report.value_files, "value file"),
        counted(report.values, "value"),
        counted(report.logs, "log")
    );
    if report.is_sound() {
        output.line(format_args!("{name}: sound; {counts}"))?;
    } else {
        output.line(format_args!("{name}: damaged; {counts}"))?;
    }
    output.flush()?;
    if !report.orphans.is_empty() {
        note(format_args!("{} left by a crash; opening the store for writing removes them", report.orphans.join(", ")));
    }
    if !report.is_sound() {
        note("hint: restore it from a backup, or run `ogive db repair` to keep what passes its checksums");
    }
    Ok(())
}
