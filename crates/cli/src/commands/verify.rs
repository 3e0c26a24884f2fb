//! `ogive verify`: checks every byte of a table, an index or a store.

use super::db::OpenKeyspace;
use super::index::OpenIndex;
use super::ordered_map::Report;
use super::place::{PlaceArguments, PlaceKind};
use super::place_flags::PlaceUse;
#[cfg(feature = "parquet")]
use super::place_flags::given;
use super::query::OpenTable;
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::values::size::{counted, grouped};
use ogive::table::TableVerifyReport;
use ogive_terminal::shell_word;
use serde::Serialize;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive verify words.ogive             a table
  ogive verify ids.ogx                 an index
  ogive verify fruit.db --json         a store, as JSON

Table: checks all checksums, the order of the keys, and that the index leads to every key within the reads that the
table states. For an external index, also checks that the data file is unchanged.

Index: walks all nodes and checks checksums, the order of keys, links, models as lookups use them, counts, and
whether payloads are values of the stated type. Reports the first finding.

Store: reads every byte and checks checksums, the order of keys, the paths of indexes, value pointers and their
values, logs, and that no file is missing. Takes no lock: another process may have the store open, and go on writing.
It then verifies what the store contained at one moment.

Changes nothing. Lists findings, and exits with 1 if there are any.";

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
        let advice =
            format!("`ogive repair {}` saves its undamaged records; or restore it from a backup", shell_word(name));
        vec![format!("error: {name} is damaged: {findings}"), format!("hint: {advice}, or build it again")]
    }

    fn is_sound(&self) -> bool {
        self.is_sound()
    }
}

/// Check every byte: checksums, the order of the keys, and whether lookups find them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// For an index of Parquet files: accept files whose times differ from the indexed ones, as after a copy: compare
    /// their rows, and if nothing else is wrong, record their times in the index
    #[cfg(feature = "parquet")]
    #[arg(long, help_heading = "Parquet")]
    accept: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &VerifyArguments, output: &mut Output) -> Result<Outcome> {
    let place = &arguments.place;
    crate::disk_cache::bypass();
    #[cfg(feature = "parquet")]
    let flags = given(&[("--accept", arguments.accept)]);
    #[cfg(not(feature = "parquet"))]
    let flags = Vec::new();
    match place.kind(PlaceUse::Verification, &flags)? {
        PlaceKind::Table | PlaceKind::Beside => {
            let file = place.table();
            let open = file.open_leniently()?;
            place.check(PlaceKind::of_open(&open), PlaceUse::Verification, &flags)?;
            #[cfg(feature = "parquet")]
            if open.is_beside() {
                return crate::beside::verify::run(&file, open, arguments.accept, output);
            }
            verbs::verify::<OpenTable>(&file, output)
        }
        PlaceKind::Index => verbs::verify::<OpenIndex>(&place.index(), output),
        PlaceKind::Store => verbs::verify::<OpenKeyspace>(&place.store(), output),
    }
}
