//! The summary of a store for `ogive info`.

use super::{keys, rows};
use crate::failure::Result;
use crate::info::Info;
use crate::places::may_be_store;
use crate::shell::shell_path;
use crate::values::size::{counted, human_bytes};
use ogive::lsm::{Db, DbOptions};
use ogive::types::RecordType;
use serde_json::json;
use std::path::Path;

/// Opens a store read-only, and says what it is; `None` for a folder without a store.
pub(crate) fn info(folder: &Path) -> Result<Option<Info>> {
    if !may_be_store(folder) {
        return Ok(None);
    }
    let db = Db::open_read_only(folder, &DbOptions::default().create(false))?;
    let mut keyspaces = Vec::new();
    for keyspace in rows::keyspaces(&db) {
        let open = db.keyspace(&keyspace.name)?;
        let types = RecordType { keys: keys::of(&db, &open, None)?.key_type(), ..open.record_type().as_ref().clone() };
        keyspaces.push((keyspace, types));
    }
    let stats = db.stats();
    let bytes = stats.table_bytes + stats.value_file_bytes;
    let listed =
        keyspaces.iter().map(|(keyspace, types)| format!("{} ({} of {types})", keyspace.name, rows::shown(keyspace)));
    let listed: Vec<String> = listed.collect();
    let count = counted(keyspaces.len() as u64, "keyspace");
    Ok(Some(Info {
        kind: "store",
        text: format!("a store: {count}: {}; {} in tables and value files", listed.join(", "), human_bytes(bytes)),
        details: Vec::new(),
        facts: json!({
            "keyspaces": keyspaces
                .iter()
                .map(|(keyspace, types)| json!({
                    "name": keyspace.name,
                    "key_type": types.keys.to_string(),
                    "value_type": types.value_name(),
                    "rows": keyspace.rows,
                    "is_exact": keyspace.is_exact,
                }))
                .collect::<Vec<_>>(),
            "bytes": bytes,
        }),
        next: format!("`ogive scan {0} --limit 10`, `ogive stats {0}`", shell_path(folder)),
    }))
}
