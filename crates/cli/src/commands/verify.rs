//! `ogive verify`: checks every byte and every promise of a table.

use super::query::TableOptions;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::size::{counted, grouped};
use ogive::table::TableVerifyReport;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive verify words.ogive
  ogive verify words.ogive --json

Checks every checksum, the order of the keys, and that the index leads every key to its place within the reads that
the table promises. For an index beside a file, also that the file has not changed. Whatever is wrong is listed, and the
exit code is 1.";

/// Findings that are shown to people: those after them rarely tell more.
const SHOWN_FINDINGS: usize = 20;

/// Check every byte of a table, the order of its keys, and its index
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: TableOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let open = arguments.table.open()?;
    let mut progress = Progress::start("verifying", None, Unit::Bytes);
    let report = open.table.verify(&mut |done, total| {
        progress.set_total(total);
        progress.reach(done);
    })?;
    drop(progress);
    let name = arguments.table.shown();
    if output.is_json() {
        let mut object = json!(report);
        object["sound"] = report.is_sound().into();
        output.json(&object)?;
    } else {
        print(&name, &report, output)?;
    }
    if report.is_sound() {
        return Ok(Outcome::Done);
    }
    output.flush()?;
    let findings = report.findings.len() as u64 + report.further_findings;
    note(format_args!("error: {name} is damaged: {}", counted(findings, "finding")));
    note("hint: restore it from a copy, or build it again");
    Ok(Outcome::Negative)
}

fn print(name: &str, report: &TableVerifyReport, output: &mut Output) -> Result<()> {
    if report.is_sound() {
        return output.line(format_args!(
            "{name}: sound; {} in {} and {} of the index, {} looked up",
            counted(report.records, "record"),
            counted(report.blocks, "block"),
            counted(report.units, "unit"),
            counted(report.routes, "key")
        ));
    }
    for finding in report.findings.iter().take(SHOWN_FINDINGS) {
        output.line(format_args!("at byte {}: {}", grouped(finding.offset), finding.detail))?;
    }
    match report.findings.len().saturating_sub(SHOWN_FINDINGS) as u64 + report.further_findings {
        0 => Ok(()),
        more => output.line(format_args!("and {} more; --json lists more of them", grouped(more))),
    }
}
