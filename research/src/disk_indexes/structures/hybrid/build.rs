//! Bulk load of a structure that maps separators to leaves: collects the separators, then loads the structure.

use super::router::LEAF_BYTES;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::{Entries, Structure};
use ogive::index::extend::{Gap, RouterBuilder};
use ogive::page::{PageNumber, Transaction};
use std::sync::Arc;

/// Builder that collects separators and leaves, because most structures need all entries before they write a node. A
/// bulk load holds 16 bytes of memory per leaf for keys of 8 bytes, 32 for keys of 16: at most 1/256 of the data.
#[derive(Debug)]
pub(super) struct MapBuilder<W, S> {
    pub(super) structure: Arc<S>,
    pub(super) entries: Vec<(W, PageNumber)>,
}

/// A stream of the collected separators.
struct SeparatorStream<W>(std::vec::IntoIter<(W, PageNumber)>);

impl<W: Word> Entries<W> for SeparatorStream<W> {
    fn next(&mut self, payload: &mut [u8]) -> Result<Option<W>> {
        Ok(self.0.next().map(|(separator, leaf)| {
            if let Some(target) = payload.first_chunk_mut::<LEAF_BYTES>() {
                *target = leaf.to_le_bytes();
            }
            separator
        }))
    }
}

impl<W: Word, S: Structure<W>> RouterBuilder<W> for MapBuilder<W, S> {
    fn push(&mut self, _tx: &mut Transaction, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        self.entries.push((gap.low, leaf));
        Ok(())
    }

    fn finish(self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>> {
        self.structure.bulk_load(tx, &mut SeparatorStream(self.entries.into_iter()))
    }
}
