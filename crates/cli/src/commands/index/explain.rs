//! `ogive index explain`: shows the nodes that a lookup visits.

use super::any::either;
use super::file::IndexLookup;
use crate::commands::ordered_map::OrderedMap;
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::size::{counted, grouped};
use crate::table_text::plain_table;
use ogive::index::{AnyIndex, Visit};
use serde_json::json;
use std::collections::BTreeSet;

/// Help after the arguments.
pub(super) const EXAMPLES: &str = "\
Examples:
  ogive index explain ids.ogx 1234
  ogive index explain ids.ogx 1234 --json

Prints the path from the root to the entry, node by node, with the pages read. Exits with 1 if the key is absent.";

/// Runs the command.
pub(crate) fn run(lookup: &IndexLookup, output: &mut Output) -> Result<Outcome> {
    let open = lookup.file.read(None)?;
    let key = open.parse_key(&lookup.key)?;
    let path = either!(&open.any, index => index.explain(AnyIndex::raw(key)))?;
    let found = !open.get(&key, false)?.is_empty();
    let blocks = path.iter().map(|visit| visit.page).collect::<BTreeSet<_>>().len() as u64;
    if output.is_json() {
        let visits: Vec<_> = path.iter().map(to_json).collect();
        let key = open.key_to_json(&key);
        output.json(&json!({ "key": key, "found": found, "blocks": blocks, "path": visits }))?;
    } else {
        print(&path, blocks, output)?;
    }
    if found { Ok(Outcome::Done) } else { verbs::not_found(open.shown_key(&key), output) }
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
