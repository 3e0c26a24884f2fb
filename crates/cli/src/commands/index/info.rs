//! The summary of an index for `ogive info`.

use super::any::either;
use crate::failure::{Failure, Result};
use crate::info::Info;
use crate::shell::shell_path;
use crate::values::size::{counted, human_bytes};
use ogive::index::{AnyIndex, IndexOptions};
use ogive::io::{LocalStorage, Storage};
use ogive::{Cause, Error};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Opens an index, and says what it is.
pub(crate) fn info(path: &Path) -> Result<Info> {
    let (folder, name) = LocalStorage::split_path(path)?;
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder));
    let index = match AnyIndex::open_read_only((&storage, &name), &IndexOptions::default()) {
        Err(error) if is_of_papers(&error) => return of_papers(path, error.name()),
        opened => opened?,
    };
    let (kind, types) = (index.kind(), index.record_type().clone());
    let entries = either!(&index, index => index.len())?;
    let file_bytes = either!(&index, index => index.page_statistics()).file_bytes;
    let size = human_bytes(file_bytes);
    Ok(Info {
        kind: "index",
        text: format!("an index of kind {kind}: {} of {types}, {size}", counted(entries, "entry")),
        details: Vec::new(),
        facts: json!({
            "structure": kind.name(),
            "key_type": types.keys.to_string(),
            "value_type": types.value_name(),
            "entries": entries,
            "payload_bytes": index.layout().payload_bytes,
            "file_bytes": file_bytes,
        }),
        next: format!("`ogive scan {0} --limit 10`, `ogive stats {0}`", shell_path(path)),
    })
}

fn is_of_papers(error: &Error) -> bool {
    matches!(error.cause, Cause::UnregisteredKind { .. }) && !error.name().is_empty()
}

/// An index of a kind of papers, which this program cannot open.
fn of_papers(path: &Path, kind: &str) -> Result<Info> {
    let failed = |source| Failure::File { action: "read", path: path.display().to_string(), source };
    let file_bytes = std::fs::metadata(path).map_err(failed)?.len();
    Ok(Info {
        kind: "index",
        text: format!("an index of kind {kind}, {}", human_bytes(file_bytes)),
        details: Vec::new(),
        facts: json!({ "structure": kind, "file_bytes": file_bytes }),
        next: format!("`ogive-research info {}`", shell_path(path)),
    })
}
