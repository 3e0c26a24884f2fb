//! `ogive export`: writes the records of a table, an index or a store to a file of another format.

use super::ordered_map::{Bounds, OrderedMap, RangeOptions};
use super::query::{OpenTable, TableArguments};
use crate::export::{RecordFormat, RecordSource, RecordVisitor, export};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::replace::Force;
use crate::size::counted;
use crate::urls::path_argument;
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::types::RecordType;
use ogive_text::{Quote, parse_quote};
use serde_json::json;
use std::ops::Bound;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive export rows.ogive rows.csv              comma-separated values, with the columns of the input
  ogive export rows.ogive rows.jsonl            one JSON object per line
  ogive export rows.ogive - --from 10 --to 20   a range, to standard output as CSV
  ogive export rows.ogive - --json              to standard output as JSON lines

Writes .csv, .tsv, .jsonl, .parquet (if built in) or .ogive, in key order, with a column for each part of the key and
for each field of the value; tables of keys alone have no column of values. In CSV, nulls are empty fields, and
empty text is \"\". TSV is written as by PostgreSQL's COPY: \\t, \\n, \\r and \\\\ are escapes, \\N is a null, and
quotes are characters; --quote '\"' writes it as CSV with tabs. Text formats state no types: `build` finds them again
by their values, or takes --key-type, --type and --value-type. Parquet states all types, and which columns have the
keys, in a form that `build` and `db import` read; other programs see integers of 128 bits as decimals of 39 digits,
and seconds, which Parquet does not have, as milliseconds: a timestamp(s) beyond those is refused. Replaces an
existing table once the new one is complete, and any other file only with --force. `ogive db export` does the same for
stores.";

/// Export the records of a table to CSV, TSV, JSON lines, Parquet or another table
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    table: TableArguments,

    /// File to write; - for standard output
    #[arg(value_name = "OUTPUT", value_parser = OsStringValueParser::new().try_map(path_argument))]
    target: PathBuf,

    #[command(flatten)]
    range: RangeOptions,

    /// Quote the fields of a TSV file, in place of escapes such as \t and \N: '"'
    #[arg(long, value_name = "CHAR", value_parser = parse_quote)]
    quote: Option<Quote>,

    #[command(flatten)]
    force: Force,
}

/// The records of a range of a table.
struct TableRecords {
    open: OpenTable,
    /// `None` if the range is empty.
    bounds: Option<Bounds<Vec<u8>>>,
}

impl RecordSource for TableRecords {
    fn record_type(&self) -> RecordType {
        self.open.table.record_type().clone()
    }

    fn expected(&self) -> Option<u64> {
        match &self.bounds {
            None => Some(0),
            Some((Bound::Unbounded, Bound::Unbounded)) => Some(self.open.table.len()),
            Some(_) => None,
        }
    }

    fn visit(&self, visit: &mut RecordVisitor<'_>) -> Result<()> {
        let Some(bounds) = self.bounds.clone() else { return Ok(()) };
        for record in self.open.table.range(bounds) {
            let (key, value) = record?;
            visit(&key, &value)?;
        }
        Ok(())
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &ExportArguments, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let format = RecordFormat::of_path(&arguments.target, output.is_json(), arguments.quote)?;
    let open = arguments.table.open(false)?;
    let bounds = open.parse_range(&arguments.range)?;
    let inputs = [arguments.table.path()];
    let records = TableRecords { open, bounds };
    let count = export(&records, (&arguments.target, format), arguments.force, &inputs, output, &interrupt)?;
    if arguments.target.as_os_str() == "-" {
        return Ok(Outcome::Done);
    }
    match output.is_json() {
        true => output.json(&json!({ "records": count }))?,
        false => output.line(format_args!("{}: {}", arguments.target.display(), counted(count, "record")))?,
    }
    Ok(Outcome::Done)
}
