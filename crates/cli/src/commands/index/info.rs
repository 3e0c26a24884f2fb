//! The summary of an index for `ogive info`.

use super::any::either;
use crate::commands::info::Info;
use crate::failure::Result;
use crate::size::{counted, human_bytes};
use ogive::index::{AnyIndex, IndexOptions};
use ogive::io::{LocalStorage, Storage};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Opens an index, and says what it is.
pub(crate) fn info(path: &Path) -> Result<Info> {
    let (folder, name) = LocalStorage::split_path(path)?;
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder));
    let index = AnyIndex::open_read_only((&storage, &name), &IndexOptions::default())?;
    let (kind, types) = (index.kind(), index.record_type().clone());
    let entries = either!(&index, index => index.len())?;
    let file_bytes = either!(&index, index => index.page_statistics()).file_bytes;
    let size = human_bytes(file_bytes);
    Ok(Info {
        kind: "index",
        text: format!("an index of kind {kind}: {} of {types}, {size}", counted(entries, "entry")),
        facts: json!({
            "structure": kind.name(),
            "key_type": types.keys.to_string(),
            "value_type": types.value_name(),
            "entries": entries,
            "payload_bytes": index.layout().payload_bytes,
            "file_bytes": file_bytes,
        }),
        next: format!("`ogive index scan {0} --limit 10`, `ogive index stats {0}`", path.display()),
    })
}
