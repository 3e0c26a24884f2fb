//! `ogive db get`: looks up a key.

use super::store::KeyspaceOptions;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::key;
use crate::output::{Output, note};
use serde_json::json;
use std::ffi::OsString;
use std::io::Read;

const EXAMPLES: &str = "\
Examples:
  ogive db get fruit apple                     print the value of a key
  ogive db get films night --raw > night.mkv   write a value of any length, unchanged
  ogive db get ids 1234 --keys u64             look up an integer key

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Bytes of a value per write.
const PIECE_BYTES: usize = 64 << 10;

/// Look up a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// Key to look up
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Write the value unchanged and without a newline
    #[arg(long)]
    raw: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let open = arguments.keyspace.read()?;
    let key = open.keys.parse(&arguments.key)?;
    if arguments.raw && !output.is_json() {
        return match open.keyspace.get_stream(&key)? {
            Some(value) => print_raw(value, output),
            None => not_found(&open.keys.shown(&key), output),
        };
    }
    let value = open.keyspace.get(&key)?;
    if output.is_json() {
        let mut object = json!({ "key": open.keys.to_json(&key), "found": value.is_some() });
        if let Some(value) = &value {
            object["value"] = key::bytes_to_json(value);
        }
        output.json(&object)?;
    } else if let Some(value) = &value {
        output.line(key::escaped(value))?;
    }
    match value {
        Some(_) => Ok(Outcome::Done),
        None => not_found(&open.keys.shown(&key), output),
    }
}

fn print_raw(mut value: Box<dyn Read + Send>, output: &mut Output) -> Result<Outcome> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = value.read(&mut piece).map_err(Failure::from_value)?;
        if length == 0 {
            return Ok(Outcome::Done);
        }
        output.bytes(&piece[..length])?;
    }
}

fn not_found(shown: &str, output: &mut Output) -> Result<Outcome> {
    output.flush()?;
    note(format_args!("{shown}: not found"));
    Ok(Outcome::Negative)
}
