//! `ogive index put`: writes an entry.

use super::file::{PayloadOptions, WritableIndexFile};
use super::text;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::output::Output;
use serde_json::json;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

const EXAMPLES: &str = "\
Examples:
  ogive index put set.ogx 1234                     a key without a payload
  ogive index put ids.ogx 1234 hello               text, padded with zero bytes
  ogive index put ids.ogx 1234 99 --values number  a number, stored little-endian
  ogive index put ids.ogx 1234 00ff --values hex   any bytes

Overwrites an existing entry unless the index allows duplicates. The entry is durable when the command returns. For many
entries, `ogive index load` is faster.";

/// Insert or overwrite an entry
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    index: WritableIndexFile,

    /// Key of the entry
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Payload of the entry
    #[arg(value_name = "VALUE", default_value = "", hide_default_value = true, allow_negative_numbers = true)]
    value: OsString,

    #[command(flatten)]
    payloads: PayloadOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let index = arguments.index.write()?;
    let key_type = index.key_type();
    let word = text::key_from_argument(key_type, &arguments.key)?;
    let payload_bytes = index.layout().payload_bytes;
    let form = arguments.payloads.values;
    let payload = match arguments.value.as_bytes() {
        [] => vec![0; payload_bytes],
        written => form.parse(written, payload_bytes).map_err(|message| {
            Failure::usage(message, "use a payload that fits, or set its form with --values: text, number or hex")
        })?,
    };
    let grew = index.put(word, payload)?;
    index.close()?;
    if output.is_json() {
        output.json(&json!({ "key": text::key_to_json(key_type, word), "new": grew }))?;
    } else {
        let done = if grew { "inserted" } else { "overwritten" };
        output.line(format_args!("{}: {done}", text::key_shown(key_type, word)))?;
    }
    Ok(Outcome::Done)
}
