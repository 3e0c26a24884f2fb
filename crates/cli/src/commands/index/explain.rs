//! `ogive index explain`: shows the nodes that a lookup visits.

use super::file::IndexFile;
use super::text;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::size::{counted, grouped};
use crate::table_text::plain_table;
use ogive::index::Visit;
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive index explain ids.ogx 1234
  ogive index explain ids.ogx 1234 --json

Prints the path from the root to the entry, node by node, with the pages read. Exits with 1 if the key is absent.";

/// Show the path of a lookup, node by node
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: IndexFile,

    /// Key to look up
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let index = arguments.file.read()?;
    let key_type = index.key_type();
    let word = text::key_from_argument(key_type, &arguments.key)?;
    let path = index.explain(word)?;
    let found = index.get(word)?.is_some();
    let blocks = path.iter().map(|visit| visit.page).collect::<BTreeSet<_>>().len() as u64;
    if output.is_json() {
        let visits: Vec<_> = path.iter().map(to_json).collect();
        let key = text::key_to_json(key_type, word);
        output.json(&json!({ "key": key, "found": found, "blocks": blocks, "path": visits }))?;
    } else {
        print(&path, blocks, output)?;
    }
    if found {
        return Ok(Outcome::Done);
    }
    output.flush()?;
    note(format_args!("{}: not found", text::key_shown(key_type, word)));
    Ok(Outcome::Negative)
}

fn to_json(visit: &Visit) -> serde_json::Value {
    json!({
        "depth": visit.depth,
        "node": visit.node,
        "page": visit.page,
        "entries": visit.entries,
        "detail": visit.detail,
    })
}

fn print(path: &[Visit], blocks: u64, output: &mut Output) -> Result<()> {
    let rows = path.iter().map(|visit| {
        vec![
            format!("{} {}", visit.depth, visit.node),
            visit.page.to_string(),
            grouped(visit.entries),
            visit.detail.clone(),
        ]
    });
    output.line(plain_table(&["node", "page", "entries", "decision"], rows))?;
    output.line(format_args!("{} of one page each", counted(blocks, "block")))
}
