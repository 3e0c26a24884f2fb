//! `ogive get`: looks up a key.

use super::query::TableOptions;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::key;
use crate::output::{Output, note};
use ogive::table::Table;
use serde_json::json;
use std::ffi::OsString;
use std::io::Read;

const EXAMPLES: &str = "\
Examples:
  ogive get words.ogive apple              print the value of a key
  ogive get ids.ogive 1234 --explain       also show every read
  ogive get rows.ogive 1234 --all          print the values of all records with this key
  ogive get images.ogive cat --raw >cat    write a value of any length, unchanged

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Look up a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: TableOptions,

    /// Key to look up, written as in the input of the table
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Print the values of all records with this key, not only the first
    #[arg(long)]
    all: bool,

    /// Write the value unchanged and without a newline; required for values larger than --memory
    #[arg(long, conflicts_with_all = ["all", "json"])]
    raw: bool,

    /// Show every read
    #[arg(long, conflicts_with = "raw")]
    explain: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let mut open = arguments.table.open()?;
    let key_type = open.table.key_type();
    let key = key::from_argument(key_type, &arguments.key)?;
    let shown = key::shown(key_type, &key).into_owned();
    if arguments.raw {
        return raw(&open.table, &key, &shown, output);
    }
    let values = if arguments.all {
        open.table.traced(&mut open.receipt).get_all(&key)?
    } else {
        open.table.traced(&mut open.receipt).get(&key)?.into_iter().collect()
    };
    let mut object = json!({ "key": key::to_json(key_type, &key), "found": !values.is_empty() });
    if arguments.all {
        object["values"] = values.iter().map(|value| open.value_to_json(value)).collect();
    } else if let Some(value) = values.first() {
        object["value"] = open.value_to_json(value);
    }
    if values.is_empty() {
        open.absent(output, object, arguments.explain)?;
        note(format_args!("{shown}: not found"));
        return Ok(Outcome::Negative);
    }
    let lines: Vec<_> = values.iter().map(|value| open.shown_value(value)).collect();
    open.answer(output, object, lines.join("\n"), arguments.explain)?;
    if values.iter().all(Vec::is_empty) && !output.is_json() {
        note("found; the value is empty");
    }
    Ok(Outcome::Done)
}

fn raw(table: &Table, key: &[u8], shown: &str, output: &mut Output) -> Result<Outcome> {
    let Some(mut reader) = table.value_reader(key)? else {
        note(format_args!("{shown}: not found"));
        return Ok(Outcome::Negative);
    };
    let mut chunk = vec![0; 1 << 16];
    loop {
        let read = reader.read(&mut chunk).map_err(Failure::from_value)?;
        if read == 0 {
            return Ok(Outcome::Done);
        }
        output.bytes(&chunk[..read])?;
    }
}
