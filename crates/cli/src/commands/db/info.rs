//! The summary of a store for `ogive info`.

use super::clock::{ClockAhead, open_to_read};
use super::kept_facts::KeptFacts;
use super::store::{DEFAULT_KEYSPACE, existing};
use super::{keys, rows};
use crate::failure::Result;
use crate::info::Info;
use crate::places::may_be_store;
use crate::shell::shell_line;
use crate::values::own_options;
use crate::values::size::{counted, human_bytes};
use ogive::lsm::{DbOptions, KeyspaceStats};
use ogive::types::RecordType;
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;

/// Opens a store read-only, and says what it is, or what one keyspace of it is; `None` for a folder without a store.
pub(crate) fn info(folder: &Path, keyspace: Option<&str>, clock: ClockAhead) -> Result<Option<Info>> {
    if !may_be_store(folder) {
        return Ok(None);
    }
    let db = open_to_read(folder, &clock.applied_to(DbOptions::default().create(false)))?;
    if let Some(name) = keyspace {
        existing(&db, folder, name)?;
    }
    let mut keyspaces = Vec::new();
    for found in rows::keyspaces(&db).into_iter().filter(|found| keyspace.is_none_or(|name| found.name == name)) {
        let open = db.keyspace(&found.name)?;
        let types = RecordType { keys: keys::of(&db, &open, None)?.key_type(), ..open.record_type().as_ref().clone() };
        keyspaces.push((found, types));
    }
    let bytes = match keyspace {
        Some(_) => keyspaces.iter().map(|(found, _)| found.bytes() + found.value_bytes).sum(),
        None => db.stats().table_bytes + db.stats().value_file_bytes,
    };
    let listed = keyspaces.iter().map(|(found, types)| format!("{} ({} of {types})", found.name, rows::shown(found)));
    let listed = listed.collect::<Vec<_>>().join(", ");
    let what = match keyspace {
        Some(_) => format!("a keyspace of a store: {listed}"),
        None => format!("a store: {}: {listed}", counted(keyspaces.len() as u64, "keyspace")),
    };
    let kept = KeptFacts::of(&db, keyspace)?;
    let options = keyspaces.iter().filter_map(|(found, _)| {
        let shown = own_options::shown(&found.options)?;
        Some(format!("options of the keyspace {}: {shown}", found.name))
    });
    Ok(Some(Info {
        kind: "store",
        text: format!("{what}; {} in tables and value files", human_bytes(bytes)),
        details: options.chain(kept.lines()).collect(),
        facts: json!({
            "keyspaces": keyspaces
                .iter()
                .map(|(found, types)| {
                    let facts = json!({
                        "name": found.name,
                        "key_type": types.keys.to_string(),
                        "value_type": types.value_name(),
                        "rows": found.rows,
                        "is_exact": found.is_exact,
                    });
                    own_options::add_to(facts, &found.options)
                })
                .collect::<Vec<_>>(),
            "bytes": bytes,
            "indexes": kept.indexes,
            "subscribers": kept.subscribers,
        }),
        next: next(folder, &keyspaces, keyspace),
    }))
}

/// The commands that go on from here, on a keyspace that has records.
fn next(folder: &Path, keyspaces: &[(KeyspaceStats, RecordType)], asked: Option<&str>) -> String {
    let is_full = |(found, _): &&(KeyspaceStats, RecordType)| found.rows > 0 || !found.is_exact;
    let is_default = |name: &str| name == DEFAULT_KEYSPACE;
    let full: Vec<&str> = keyspaces.iter().filter(is_full).map(|(found, _)| found.name.as_str()).collect();
    let in_default = full.is_empty() || full.iter().any(|name| is_default(name));
    let chosen = asked.or(full.first().copied().filter(|_| !in_default));
    let words = |verb: &str, keyspace: Option<&str>, rest: &[&str]| {
        let keyspace = keyspace.map(|name| ["--keyspace", name]);
        let options = keyspace.iter().flatten().chain(rest).map(OsString::from);
        shell_line([verb.into(), folder.as_os_str().to_owned()].into_iter().chain(options))
    };
    format!("`{}`, `{}`", words("scan", chosen, &["--limit", "10"]), words("stats", asked, &[]))
}
