//! `ogive index scan`: prints entries in key order.

use super::file::{IndexFile, PayloadOptions};
use super::text;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use ogive::KeyType;
use serde_json::json;
use std::ffi::OsString;
use std::ops::RangeInclusive;

const EXAMPLES: &str = "\
Examples:
  ogive index scan ids.ogx                           print all entries
  ogive index scan ids.ogx --from 1000 --to 2000     print the keys from 1000 up to but not including 2000
  ogive index scan ids.ogx --reverse --limit 10      print the last ten entries
  ogive index scan ids.ogx --values number --json    print one JSON object per line

Each line is a key, a tab and a payload. The scan reads a single commit.";

/// Print entries in key order: key, tab, payload
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: IndexFile,

    /// First key of the range [default: the first of the index]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    from: Option<OsString>,

    /// End of the range, exclusive [default: the end of the index]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    to: Option<OsString>,

    /// Print at most N entries
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Print the entries in reverse order
    #[arg(long)]
    reverse: bool,

    #[command(flatten)]
    payloads: PayloadOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let index = arguments.file.read()?;
    let key_type = index.key_type();
    let form = arguments.payloads.values;
    let Some(words) = bounds(arguments, key_type)? else { return Ok(Outcome::Done) };
    let mut entries = index.scan(words)?;
    for _ in 0..arguments.limit.unwrap_or(u64::MAX) {
        let entry = if arguments.reverse { entries.next_back() } else { entries.next() };
        let Some(entry) = entry else { break };
        let (word, payload) = entry?;
        if output.is_json() {
            output.json(&json!({ "key": text::key_to_json(key_type, word), "value": form.to_json(&payload) }))?;
        } else {
            output.line(format_args!("{}\t{}", text::key_shown(key_type, word), form.shown(&payload)))?;
        }
    }
    Ok(Outcome::Done)
}

/// The first and last key to print; `None` if the range is empty.
fn bounds(arguments: &Arguments, key_type: KeyType) -> Result<Option<RangeInclusive<u128>>> {
    let parsed = |argument: &Option<OsString>| {
        argument.as_ref().map(|argument| text::key_from_argument(key_type, argument)).transpose()
    };
    let greatest = if key_type.width().is_some_and(|width| width <= 8) { u128::from(u64::MAX) } else { u128::MAX };
    let low = parsed(&arguments.from)?.unwrap_or(0);
    let high = match parsed(&arguments.to)? {
        Some(to) => to.checked_sub(1),
        None => Some(greatest),
    };
    Ok(high.filter(|&high| low <= high).map(|high| low..=high))
}
