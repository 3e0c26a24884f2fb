//! `ogive verify`: checks every byte of a table and its index.

use super::ordered_map::Report;
use super::query::{OpenTable, TableArguments};
use super::verbs;
#[cfg(feature = "parquet")]
use crate::failure::Failure;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::size::{counted, grouped};
use ogive::table::TableVerifyReport;
use serde::Serialize;
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

impl Report for TableVerifyReport {
    fn to_json(&self) -> Result<impl Serialize> {
        let mut object = json!(self);
        object["sound"] = self.is_sound().into();
        Ok(object)
    }

    fn print(&self, name: &str, output: &mut Output) -> Result<()> {
        if self.is_sound() {
            return output.line(format_args!(
                "{name}: sound; {} in {} and {}, {} looked up",
                counted(self.records, "record"),
                counted(self.blocks, "block"),
                counted(self.units, "index page"),
                counted(self.routes, "key")
            ));
        }
        for finding in self.findings.iter().take(SHOWN_FINDINGS) {
            output.line(format_args!("at byte {}: {}", grouped(finding.offset), finding.detail))?;
        }
        match self.findings.len().saturating_sub(SHOWN_FINDINGS) as u64 + self.further_findings {
            0 => Ok(()),
            more => output.line(format_args!("and {} more; --json lists more", grouped(more))),
        }
    }

    fn remarks(&self, name: &str, _: bool) -> Vec<String> {
        if self.is_sound() {
            return Vec::new();
        }
        let findings = counted(self.findings.len() as u64 + self.further_findings, "finding");
        let advice = format!("`ogive repair {name}` saves its undamaged records; or restore it from a backup");
        vec![format!("error: {name} is damaged: {findings}"), format!("hint: {advice}, or build it again")]
    }

    fn is_sound(&self) -> bool {
        self.is_sound()
    }
}

/// The table to check, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct TableVerify {
    #[command(flatten)]
    table: TableArguments,

    /// Of an index of Parquet files: compare files that have other times than those that were indexed, as after a copy,
    /// and if nothing else is wrong, give the index their times
    #[cfg(feature = "parquet")]
    #[arg(long, help_heading = "Parquet")]
    accept: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &TableVerify, output: &mut Output) -> Result<Outcome> {
    let table = &arguments.table;
    crate::disk_cache::bypass();
    #[cfg(feature = "parquet")]
    {
        let open = table.open_leniently()?;
        if open.is_beside() {
            return crate::beside::verify(table, open, arguments.accept, output);
        }
        if arguments.accept {
            return Err(Failure::usage("--accept is for indexes of Parquet files", "remove it"));
        }
    }
    verbs::verify::<OpenTable>(table, output)
}
