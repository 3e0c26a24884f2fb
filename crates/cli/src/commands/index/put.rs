//! `ogive index put`: writes an entry.

use super::file::{IndexEntry, PayloadOptions};
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use std::ffi::OsString;

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
pub(crate) struct IndexPut {
    #[command(flatten)]
    entry: IndexEntry,

    /// Payload of the entry
    #[arg(value_name = "VALUE", default_value = "", hide_default_value = true, allow_negative_numbers = true)]
    value: OsString,

    #[command(flatten)]
    payloads: PayloadOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexPut, output: &mut Output) -> Result<Outcome> {
    let open = arguments.entry.index.write(arguments.payloads.values)?;
    verbs::put(open, &arguments.entry.key, arguments.value.as_encoded_bytes(), output)
}
