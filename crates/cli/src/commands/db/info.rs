//! The summary of a store for `ogive info`.

use super::keys;
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
    for name in keys::named(&db) {
        let key_type = keys::of(&db, &db.keyspace(&name)?, None)?.key_type().to_string();
        keyspaces.push((name, key_type));
    }
    let stats = db.stats();
    let bytes = stats.table_bytes + stats.value_file_bytes;
    let listed: Vec<String> = keyspaces.iter().map(|(name, key_type)| format!("{name} ({key_type})")).collect();
    let count = counted(keyspaces.len() as u64, "keyspace");
    Ok(Some(Info {
        kind: "store",
        text: format!("a store: {count}: {}; {} in tables and value files", listed.join(", "), human_bytes(bytes)),
        facts: json!({
            "keyspaces": keyspaces
                .iter()
                .map(|(name, key_type)| json!({ "name": name, "key_type": key_type }))
                .collect::<Vec<_>>(),
            "bytes": bytes,
        }),
        next: format!("`ogive db scan {0} --limit 10`, `ogive db stats {0}`", folder.display()),
    }))
}
