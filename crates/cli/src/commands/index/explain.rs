//! The nodes of an index that a lookup visits, for `ogive explain`.

use super::any::either;
use super::file::IndexFile;
use crate::commands::ordered_map::OrderedMap;
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::values::size::{counted, grouped};
use crate::values::table_text::plain_table;
use ogive::index::{AnyIndex, IndexVisit};
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsStr;

/// Shows the path of a lookup, node by node.
pub(crate) fn explain(file: &IndexFile, key: &OsStr, output: &mut Output) -> Result<Outcome> {
    let open = file.read(None)?;
    let key = open.parse_key(key)?;
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

fn to_json(visit: &IndexVisit) -> serde_json::Value {
    json!({
        "depth": visit.depth,
        "node": visit.node,
        "page": visit.page,
        "entries": visit.entries,
        "detail": visit.detail,
    })
}

fn print(path: &[IndexVisit], blocks: u64, output: &mut Output) -> Result<()> {
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
