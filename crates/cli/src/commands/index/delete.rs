//! `ogive index delete`: removes entries of a key.

use super::file::WritableIndexFile;
use super::text;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::size::grouped;
use serde_json::json;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive index delete ids.ogx 1234            remove an entry
  ogive index delete tags.ogx 1234 --all     remove all entries with this key

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Remove the entry of a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    index: WritableIndexFile,

    /// Key of the entry
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Remove all entries with this key, not only one
    #[arg(long)]
    all: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let index = arguments.index.write()?;
    let key_type = index.key_type();
    let word = text::key_from_argument(key_type, &arguments.key)?;
    let removed = index.delete(word, arguments.all)?;
    index.close()?;
    let shown = text::key_shown(key_type, word);
    if output.is_json() {
        output.json(&json!({ "key": text::key_to_json(key_type, word), "removed": removed }))?;
    } else if removed > 0 {
        output.line(format_args!("{shown}: {} removed", counted_entries(removed)))?;
    }
    if removed == 0 {
        output.flush()?;
        note(format_args!("{shown}: not found"));
        return Ok(Outcome::Negative);
    }
    Ok(Outcome::Done)
}

fn counted_entries(count: u64) -> String {
    match count {
        1 => "1 entry".into(),
        _ => format!("{} entries", grouped(count)),
    }
}
