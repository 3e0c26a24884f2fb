//! `ogive db keyspaces`: lists the keyspaces of a store.

use super::store::StoreFolder;
use super::{keys, rows};
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::values::size::human_bytes;
use crate::values::table_text::plain_table;
use ogive_text::escaped;
use serde_json::{Value, json};

/// Help after the arguments.
pub(super) const EXAMPLES: &str = "\
Examples:
  ogive db keyspaces fruit            names, types of keys, rows and bytes
  ogive db keyspaces fruit --json     the same as JSON

Reads no tables, except to count the rows of small keyspaces. `ogive count` counts those of any keyspace. The bytes
are those of tables, of the values that they point to, and of entries that are still in the log.";

/// Runs the command.
pub(crate) fn run(store: &StoreFolder, output: &mut Output) -> Result<Outcome> {
    let db = store.read()?;
    let (mut lines, mut objects) = (Vec::new(), Vec::<Value>::new());
    for keyspace in rows::keyspaces(&db) {
        let found = db.keyspace(&keyspace.name)?;
        let key_type = keys::of(&db, &found, None)?.key_type().to_string();
        let bytes = keyspace.bytes() + keyspace.value_bytes + keyspace.memtable_bytes;
        objects.push(json!({
            "name": keyspace.name,
            "key_type": key_type,
            "value_type": found.record_type().value_name(),
            "rows": keyspace.rows,
            "is_exact": keyspace.is_exact,
            "bytes": bytes,
        }));
        lines.push(vec![
            escaped(keyspace.name.as_bytes()).into_owned(),
            key_type,
            rows::short(&keyspace),
            human_bytes(bytes),
        ]);
    }
    if output.is_json() {
        output.json(&json!({ "keyspaces": objects }))?;
    } else {
        output.line(plain_table(&["keyspace", "keys", "rows", "bytes"], lines))?;
    }
    Ok(Outcome::Done)
}
