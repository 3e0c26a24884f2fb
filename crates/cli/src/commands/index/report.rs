//! The page of an index file for `ogive report`.

use super::any::either;
use super::stats::IndexReport;
use super::text;
use crate::failure::Result;
use ogive::index::{AnyIndex, IndexOptions, RawKey, Word};
use ogive::io::Storage;
use ogive::page::PageOptions;
use ogive_report::index::{IndexLevel, IndexPicture, IndexVisit};
use std::ffi::OsString;
use std::sync::Arc;

/// What the report of an index shows: its nodes, and the path of a key, by default the first.
///
/// # Errors
/// Errors of opening and reading the index; [`crate::failure::Failure::Usage`] for a key of another type.
pub(crate) fn picture(
    storage: &Arc<dyn Storage>,
    name: &str,
    memory_bytes: u64,
    key: Option<&OsString>,
) -> Result<IndexPicture> {
    let mut pages = PageOptions::default();
    pages.memory_bytes = memory_bytes;
    let any = AnyIndex::open_read_only((storage, name), &IndexOptions::default().pages(pages.clone()))?;
    let key_type = any.key_type();
    let key = match key {
        Some(key) => Some(text::key_from_argument(key_type, key)?),
        None => first(&any)?,
    };
    let path = match key {
        Some(key) => either!(&any, index => index.explain(AnyIndex::raw(key)))?,
        None => Vec::new(),
    };
    let mut picture = IndexReport::new(any)?.picture(name)?;
    picture.path = path
        .into_iter()
        .map(|visit| IndexVisit {
            depth: visit.depth,
            node: visit.node.to_owned(),
            page: visit.page.into(),
            entries: visit.entries,
            detail: visit.detail,
        })
        .collect();
    picture.key = key.map(|key| text::key_shown(key_type, key)).unwrap_or_default();
    Ok(picture)
}

/// The first key of an index.
fn first(any: &AnyIndex) -> Result<Option<u128>> {
    either!(any, index => {
        let entry = index.range(..)?.next().transpose()?;
        Ok(entry.map(|(RawKey(word), _)| word.to_u128()))
    })
}

impl IndexReport {
    /// The statistics as a report shows them.
    fn picture(&self, name: &str) -> Result<IndexPicture> {
        let (index, statistics) = self.parts();
        let (layout, file) = (index.layout(), either!(index, index => index.page_statistics()));
        let key_bytes = match index {
            AnyIndex::Short(_) => u64::BYTES,
            AnyIndex::Long(_) => u128::BYTES,
        };
        let level = |level: &ogive::index::IndexLevelStatistics| IndexLevel {
            nodes: level.nodes,
            pages: level.pages,
            entries: level.entries,
        };
        Ok(IndexPicture {
            name: name.to_owned(),
            kind: index.kind().name().to_owned(),
            key_type: index.key_type().to_string(),
            value_type: index.record_type().value_name(),
            entry_bytes: (key_bytes + layout.payload_bytes) as u64,
            page_bytes: file.page_bytes,
            file_bytes: file.file_bytes,
            free_pages: file.free_pages,
            log_bytes: file.log_bytes,
            entries: either!(index, index => index.len())?,
            leaves: statistics.leaves,
            leaf_pages: statistics.leaf_pages,
            inner_pages: statistics.inner_pages,
            height: statistics.height,
            mean_height: statistics.mean_height,
            levels: statistics.levels.iter().map(level).collect(),
            details: statistics.details.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            ..IndexPicture::default()
        })
    }
}
