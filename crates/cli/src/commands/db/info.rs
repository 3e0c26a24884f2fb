//! The summary of a store for `ogive info`.

use super::{keys, rows};
use crate::commands::info::Info;
use crate::failure::Result;
use crate::size::{counted, human_bytes};
use ogive::lsm::{Db, DbOptions, is_store_file};
use serde_json::json;
use std::path::Path;

/// Opens a store read-only, and says what it is; `None` for a folder without a store.
pub(crate) fn info(folder: &Path) -> Result<Option<Info>> {
    let mut paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    if !paths.any(|path| path.is_file() && matches!(is_store_file(&path), Ok(true) | Err(_))) {
        return Ok(None);
    }
    let db = Db::open_read_only(folder, &DbOptions::default().create(false))?;
    let mut keyspaces = Vec::new();
    for keyspace in rows::keyspaces(&db) {
        let key_type = keys::of(&db, &db.keyspace(&keyspace.name)?, None)?.key_type().to_string();
        keyspaces.push((keyspace, key_type));
    }
    let stats = db.stats();
    let bytes = stats.table_bytes + stats.value_file_bytes;
    let listed = keyspaces
        .iter()
        .map(|(keyspace, key_type)| format!("{} ({}, keys of type {key_type})", keyspace.name, rows::shown(keyspace)));
    let listed: Vec<String> = listed.collect();
    let count = counted(keyspaces.len() as u64, "keyspace");
    Ok(Some(Info {
        kind: "store",
        text: format!("a store: {count}: {}; {} in tables and value files", listed.join(", "), human_bytes(bytes)),
        facts: json!({
            "keyspaces": keyspaces
                .iter()
                .map(|(keyspace, key_type)| json!({
                    "name": keyspace.name,
                    "key_type": key_type,
                    "rows": keyspace.rows,
                    "is_exact": keyspace.is_exact,
                }))
                .collect::<Vec<_>>(),
            "bytes": bytes,
        }),
        next: format!("`ogive db scan {0} --limit 10`, `ogive db stats {0}`", folder.display()),
    }))
}
