//! `ogive db export`: writes the entries of a keyspace to a file.

use super::store::{KeyspaceOptions, OpenKeyspace};
use crate::export::{RecordFormat, RecordSource, RecordVisitor, export};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::replace::Force;
use crate::size::counted;
use ogive::types::RecordType;
use ogive_text::{Quote, parse_quote};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive db export fruit fruit.csv          comma-separated values, with the columns of the import
  ogive db export fruit fruit.tsv          the same, separated by tabs
  ogive db export fruit fruit.jsonl        one JSON object per line
  ogive db export fruit fruit.ogive        a table for `ogive get` or `ogive db ingest`
  ogive db export fruit - | sort -R        to standard output, as comma-separated values

Exports a consistent snapshot. `ogive db import` takes files of Parquet back without options, and text with --key-type,
--type and --value-type, or into a keyspace that has the types; `ogive db ingest` takes tables. Replaces an existing
table once the new one is complete, and any other file only with --force. Never replaces files of a store or an index,
or anything that is not a regular file.";

/// Export all entries to a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbExport {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// File to write: .csv, .tsv, .jsonl, .parquet if built in, or .ogive; - for standard output
    #[arg(value_name = "OUTPUT")]
    target: PathBuf,

    /// Quote the fields of a TSV file, in place of escapes such as \t and \N: '"'
    #[arg(long, value_name = "CHAR", value_parser = parse_quote)]
    quote: Option<Quote>,

    #[command(flatten)]
    force: Force,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbExport, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let format = RecordFormat::of_path(&arguments.target, output.is_json(), arguments.quote)?;
    let open = arguments.keyspace.read()?;
    let records = export(&open, (&arguments.target, format), arguments.force, &[], output, &interrupt)?;
    if arguments.target.as_os_str() == "-" {
        return Ok(Outcome::Done);
    }
    if output.is_json() {
        output.json(&json!({ "records": records }))?;
    } else {
        output.line(format_args!("{}: {}", arguments.target.display(), counted(records, "record")))?;
    }
    Ok(Outcome::Done)
}

impl RecordSource for OpenKeyspace {
    fn record_type(&self) -> RecordType {
        self.types()
    }

    fn expected(&self) -> Option<u64> {
        let stats = self.db.stats();
        let found = stats.keyspaces.iter().find(|found| found.name == self.keyspace.name());
        found.map(|found| found.rows)
    }

    fn visit(&self, visit: &mut RecordVisitor<'_>) -> Result<()> {
        for entry in self.keyspace.iter() {
            let (key, value) = entry?;
            visit(&key, &value)?;
        }
        Ok(())
    }
}
