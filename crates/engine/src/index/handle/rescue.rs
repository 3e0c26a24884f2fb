//! Rescue of a damaged index: the entries of its intact leaves, and a new index for them.

use super::header::IndexHeader;
use super::open::Index;
use super::view::IndexState;
use crate::error::{Cause, Error, Result};
use crate::index::entries::key::{self, RawKey};
use crate::index::entries::word::Word;
use crate::index::kinds::kind::FactoryWord;
use crate::index::options::IndexOptions;
use crate::index::tree::structure::{Rescued, RescuedEntries};
use crate::io::Storage;
use crate::page::{PageFile, PageOptions, PageSnapshot, Pages, RescuedFile};
use crate::types::KeyType;
use std::sync::Arc;

/// A damaged index, by the size of its native keys.
#[derive(Debug)]
pub(crate) enum RescuedIndex {
    Short(WordRescue<u64>),
    Long(WordRescue<u128>),
}

/// The entries of the intact leaves of a damaged index.
#[derive(Debug)]
pub(crate) struct WordRescue<W: FactoryWord> {
    header: IndexHeader,
    pages: PageOptions,
    snapshot: PageSnapshot,
    /// None in an index that was never written to.
    entries: Option<Box<dyn RescuedEntries<W>>>,
    /// Number of entries of the commit.
    pub(crate) stated_entries: u64,
    /// The damage to the log, after which there may have been more commits.
    pub(crate) lost_commits: Option<Error>,
    /// Keeps the lock.
    _file: PageFile,
}

impl RescuedIndex {
    /// Opens a damaged index, and finds its intact leaves.
    ///
    /// # Errors
    /// [`Cause::NotRepairable`] if both copies of its header are damaged, and for a kind whose leaves cannot be told
    /// from other pages; [`Cause::UnregisteredKind`]; [`Cause::Locked`]; errors of the storage.
    pub(crate) fn open(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions) -> Result<Self> {
        let path = storage.path(name);
        let not_repairable = |detail: String| Error::not_repairable(path.clone(), detail);
        let rescued = match PageFile::rescue(storage, name, options) {
            Err(error @ Error { cause: Cause::Damaged, .. }) => {
                return Err(not_repairable(format!("{}; restore it from a copy, or build it again", error.detail())));
            }
            rescued => rescued?,
        };
        let header = IndexHeader::decode(rescued.file.header(), rescued.file.snapshot()?.payload_bytes(), &path)?;
        let kind = header.kind;
        let opened = match key::word_bytes(header.types.keys) == u64::BYTES {
            true => WordRescue::open(header, rescued, options)?.map(Self::Short),
            false => WordRescue::open(header, rescued, options)?.map(Self::Long),
        };
        opened.ok_or_else(|| {
            not_repairable(format!(
                "leaves of an index of kind {kind} cannot be told from its other pages; restore it from a copy, or \
                 build it again"
            ))
        })
    }
}

impl<W: FactoryWord> WordRescue<W> {
    /// `None` if the leaves cannot be told from other pages.
    fn open(header: IndexHeader, rescued: RescuedFile, options: &PageOptions) -> Result<Option<Self>> {
        let snapshot = rescued.file.snapshot()?;
        let state = IndexState::parse(&snapshot, snapshot.state())?;
        let (stated_entries, entries) = match state {
            None => (0, None),
            Some(IndexState { entries, structure }) => {
                let tree = W::structure(header.kind.factory(), header.layout, &header.tunables);
                match tree.rescue(&snapshot, structure, rescued.pages_in_use().as_deref())? {
                    Some(found) => (entries, Some(found)),
                    None => return Ok(None),
                }
            }
        };
        let pages = PageOptions { page_bytes: rescued.file.options().page_bytes, ..options.clone() };
        let RescuedFile { file, lost_commits, .. } = rescued;
        Ok(Some(Self { header, pages, snapshot, entries, stated_entries, lost_commits, _file: file }))
    }

    /// The type of the keys.
    pub(crate) fn key_type(&self) -> KeyType {
        self.header.types.keys
    }

    /// The bytes of a key, as in tables.
    pub(crate) fn key_bytes(&self, word: W) -> Vec<u8> {
        let bytes = word.to_u128().to_be_bytes();
        let width = self.header.types.keys.width().unwrap_or(W::BYTES).min(bytes.len());
        bytes[bytes.len() - width..].to_vec()
    }

    /// Creates an empty index with the same options.
    ///
    /// # Errors
    /// As [`Index::create`].
    pub(crate) fn create_alike(&self, storage: &Arc<dyn Storage>, name: &str) -> Result<Index<RawKey<W>, Vec<u8>>> {
        let IndexHeader { kind, ref types, layout, ref tunables } = self.header;
        let options = IndexOptions {
            kind,
            key_type: Some(types.keys),
            value_type: Some(types.values.clone()),
            key_columns: types.key_columns.clone(),
            payload_bytes: Some(layout.payload_bytes),
            fill_percent: layout.fill_percent,
            duplicates: layout.duplicates,
            pages: self.pages.clone(),
            tunables: tunables.clone(),
        };
        Index::create((Arc::clone(storage), name), &options)
    }

    /// The next entry with its payload, or the next gap.
    ///
    /// # Errors
    /// Those of the pages.
    pub(crate) fn next(&mut self) -> Result<Option<(Rescued<W>, Vec<u8>)>> {
        let Some(entries) = &mut self.entries else { return Ok(None) };
        let mut payload = vec![0; self.header.layout.payload_bytes];
        let found = entries.next(&self.snapshot, &mut payload)?;
        Ok(found.map(|found| (found, payload)))
    }
}
