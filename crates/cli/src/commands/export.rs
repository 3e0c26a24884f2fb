//! `ogive export`: writes the records of a table, an index or a store to a file of another format.

use super::ordered_map::{OrderedMap, RangeOptions};
use super::place::{PlaceArguments, PlaceKind, Reading, with_map};
#[cfg(feature = "parquet")]
use super::place_flags::{PlaceUse, given};
use super::verbs::{RangeRecords, note_emptiness};
use crate::export::{RecordFormat, export};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::replace::Force;
use crate::urls::path_argument;
use crate::values::size::counted;
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive_text::{Quote, parse_quote};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive export rows.ogive rows.csv              comma-separated values, with the columns of the input
  ogive export fruit.db fruit.jsonl             a store: one JSON object per line
  ogive export fruit.db fruit.ogive             a table for `ogive get` or `ogive db ingest`
  ogive export ids.ogx ids.csv                  the entries of an index
  ogive export rows.ogive - --from 10 --to 20   a range, to standard output as CSV
  ogive export rows.ogive - --json              to standard output as JSON lines

Writes .csv, .tsv, .jsonl, .parquet (if built in) or .ogive, in key order, with a column for each part of the key and
for each field of the value; records of keys alone have no column of values. In CSV, nulls are empty fields, and empty
text is \"\". TSV is written as by PostgreSQL's COPY: \\t, \\n, \\r and \\\\ are escapes, \\N is a null, and quotes are
characters; --quote '\"' writes it as CSV with tabs. Text formats state no types: `build` finds them again by their
values, or takes --key-type, --type and --value-type. Parquet states all types, and which columns have the keys, in a
form that `build` and `db import` read; other programs see integers of 128 bits as decimals of 39 digits, and seconds,
which Parquet does not have, as milliseconds: a timestamp(s) beyond their range is refused. A store or an index is
exported as it is at one moment; of records that expire, the times are not exported, and a note says so. Replaces an
existing table once the new one is complete, and any other file only with --force; never files of a store or an index.";

/// Export records to CSV, TSV, JSON lines, Parquet or a table
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// File to write; - for standard output
    #[arg(value_name = "OUTPUT", value_parser = OsStringValueParser::new().try_map(path_argument))]
    target: PathBuf,

    #[command(flatten)]
    range: RangeOptions,

    /// Quote the fields of a TSV file instead of escaping them with \t, \N and the like: '"'
    #[arg(long, value_name = "CHAR", value_parser = parse_quote)]
    quote: Option<Quote>,

    /// For an index of Parquet files: columns to write after those of the key, separated by commas [default: all]
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "COLS", value_delimiter = ',', help_heading = "Parquet")]
    columns: Vec<String>,

    #[command(flatten)]
    force: Force,
}

/// Runs the command.
pub(crate) fn run(arguments: &ExportArguments, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let target = &arguments.target;
    let format = RecordFormat::of_path(target, output.is_json(), arguments.quote)?;
    let place = arguments.place.open(Reading::default())?;
    #[cfg(feature = "parquet")]
    {
        let flags = given(&[("--columns", !arguments.columns.is_empty())]);
        arguments.place.check(place.kind(), PlaceUse::Records, &flags)?;
    }
    // The folder of a store is no file that could be written.
    let input = if place.kind() == PlaceKind::Store { None } else { Some(arguments.place.path()) };
    let (inputs, force) = (input.as_slice(), arguments.force);
    let count = with_map!(
        place,
        map => {
            let records = RangeRecords::of(&*map, &arguments.range)?;
            let count = export(&records, (target, format), force, inputs, output, &interrupt)?;
            note_emptiness(&*map, output)?;
            map.remark_on_copies().iter().for_each(note);
            count
        },
        beside => {
            let records = crate::beside::records::BesideRecords::of(&beside, &arguments.range, &arguments.columns)?;
            export(&records, (target, format), force, inputs, output, &interrupt)?
        },
    );
    if target.as_os_str() == "-" {
        return Ok(Outcome::Done);
    }
    match output.is_json() {
        true => output.json(&json!({ "records": count }))?,
        false => output.line(format_args!("{}: {}", target.display(), counted(count, "record")))?,
    }
    Ok(Outcome::Done)
}
