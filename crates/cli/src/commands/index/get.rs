//! `ogive index get`: looks up a key.

use super::file::{IndexFile, PayloadOptions};
use super::text;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use serde_json::json;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive index get ids.ogx 1234                     print the payload of a key
  ogive index get ids.ogx 1234 --values number     print it as a number
  ogive index get tags.ogx 1234 --all              print the payloads of all entries with this key

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Look up a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: IndexFile,

    /// Key to look up
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Print the payloads of all entries with this key, not only the first
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    payloads: PayloadOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let index = arguments.file.read()?;
    let key_type = index.key_type();
    let word = text::key_from_argument(key_type, &arguments.key)?;
    let form = arguments.payloads.values;
    let payloads = match arguments.all {
        true => index.get_all(word)?,
        false => index.get(word)?.into_iter().collect(),
    };
    if output.is_json() {
        let mut object = json!({ "key": text::key_to_json(key_type, word), "found": !payloads.is_empty() });
        if arguments.all {
            object["values"] = payloads.iter().map(|payload| form.to_json(payload)).collect();
        } else if let Some(payload) = payloads.first() {
            object["value"] = form.to_json(payload);
        }
        output.json(&object)?;
    } else {
        payloads.iter().try_for_each(|payload| output.line(form.shown(payload)))?;
    }
    if payloads.is_empty() {
        output.flush()?;
        note(format_args!("{}: not found", text::key_shown(key_type, word)));
        return Ok(Outcome::Negative);
    }
    if index.layout().payload_bytes == 0 && !output.is_json() {
        note("found; this index has no payloads");
    }
    Ok(Outcome::Done)
}
