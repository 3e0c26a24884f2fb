//! `ogive verify`: checks every byte of a table and its index.

use super::query::TableOptions;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::size::{counted, grouped};
use ogive::table::TableVerifyReport;
use serde_json::json;

/// Help after the arguments.
pub(crate) const EXAMPLES: &str = "\
Examples:
  ogive verify words.ogive
  ogive verify words.ogive --json

Checks all checksums, the order of the keys, and that the index leads to every key within the reads that the table
states. For an external index, also checks that the data file is unchanged. Lists all findings, and exits with 1 if
there are any.";

/// Findings shown in text output.
const SHOWN_FINDINGS: usize = 20;

/// Runs the command.
pub(crate) fn run(table: &TableOptions, output: &mut Output) -> Result<Outcome> {
    let open = table.open()?;
    let mut progress = Progress::start("verifying", None, Unit::Bytes);
    let report = open.table.verify(&mut |done, total| {
        progress.set_total(total);
        progress.reach(done);
    })?;
    drop(progress);
    let name = table.shown();
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
    note("hint: restore it from a backup, or build it again");
    Ok(Outcome::Negative)
}

fn print(name: &str, report: &TableVerifyReport, output: &mut Output) -> Result<()> {
    if report.is_sound() {
        return output.line(format_args!(
            "{name}: sound; {} in {} and {}, {} looked up",
            counted(report.records, "record"),
            counted(report.blocks, "block"),
            counted(report.units, "index page"),
            counted(report.routes, "key")
        ));
    }
    for finding in report.findings.iter().take(SHOWN_FINDINGS) {
        output.line(format_args!("at byte {}: {}", grouped(finding.offset), finding.detail))?;
    }
    match report.findings.len().saturating_sub(SHOWN_FINDINGS) as u64 + report.further_findings {
        0 => Ok(()),
        more => output.line(format_args!("and {} more; --json lists more", grouped(more))),
    }
}
