//! `AirIndexRouter`: the tuned hierarchy as a `Router`.

use super::build::AirBuilder;
use super::change::AirEditor;
use super::metanode::AirMetanode;
use super::options::AirIndexOptions;
use ogive::Result;
use ogive::index::IndexLayout;
use ogive::index::extend::{
    CodedRouter, Gap, IndexStatistics, IndexVisit, LeafVisit, PageVisit, Router, RouterBuilder, Word,
};
use ogive::io::Profile;
use ogive::page::{PageNumber, Pages, Transaction};
use ogive_model::inner::Children as CodedChildren;

/// An updatable AirIndex over B+-tree leaves.
///
/// ```text
///   metanode    root: a few steps or lines                                              no read
///      |
///   layers      steps and lines, chosen by the tuner for T(n) of the storage            one read each; often none
///      |
///   directory   [ separators -> leaves | gap ] [ ... | gap ] [ ... | gap ]              one read of a window
///      |                |
///   leaves      [ entries | gap ] ...   [ entries | gap ]                               one read
/// ```
///
/// The *directory* is the lowest layer: pages of coded separators, one for each leaf, consecutive in the file, with
/// gaps. The engine's tuner (AirIndex, Algorithm 2) chooses the layers over its pages from the paper's builders, for a
/// storage profile. A root of up to 80 bytes is part of the metanode.
///
/// A split puts its separator into the gap of a page of the directory. Borders between pages never move, so the layers
/// stay valid; what changes is the cost. A page without a gap gets an overflow page, and the cost of these decides when
/// directory and layers are built anew, in time O(leaves), without touching a leaf. A lookup reads at most one overflow
/// page, and one more page of the directory after a removal.
///
/// *Exactness*: lookups compare the key with the borders of the page that a prediction led to, and search beside the
/// window if it is wrong. A wrong model costs reads, never an answer.
///
/// Source: Chockchowwat et al., AirIndex, SIGMOD 2024, Section 7.6 (gaps in the data layer) and Section 6 (enlarge the
/// gaps and tune again when they are filled). Beyond the paper: removals; splits instead of a full data layer; the rule
/// for when to tune again; crashes and snapshots, by the engine's pages. The paper's lowest layer may be approximate;
/// here it is exact, because a leaf that was split is no longer where a line could predict it.
#[derive(Clone, Copy, Debug)]
pub struct AirIndexRouter {
    pub(super) options: AirIndexOptions,
    pub(super) layout: IndexLayout,
}

impl AirIndexRouter {
    /// A router for leaves of this layout. Values of T(n) that no storage has are replaced by the default's.
    pub fn new(options: AirIndexOptions, layout: IndexLayout) -> Self {
        Self { options, layout }
    }

    pub(super) fn profile(&self) -> Profile {
        self.options.profile().unwrap_or_default()
    }

    /// Number of entries of a full leaf in a page of `payload_bytes`, its header neglected.
    pub(super) fn leaf_entries<W: Word>(&self, payload_bytes: usize) -> f64 {
        payload_bytes as f64 / (W::BYTES + self.layout.payload_bytes) as f64
    }
}

impl<W: Word> Router<W> for AirIndexRouter {
    fn builder(&self, tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>> {
        let ends = Router::<W>::builder(&CodedRouter::new(), tx)?;
        Ok(Box::new(AirBuilder { router: *self, ends, children: CodedChildren::default() }))
    }

    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>> {
        AirMetanode::decode(pages, state)?.find(pages, key)
    }

    fn find_many(&self, pages: &dyn Pages, state: &[u8], keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
        AirMetanode::decode(pages, state)?.find_many(pages, keys)
    }

    fn choose_split(&self, pages: &dyn Pages, _state: &[u8], gaps: &[Gap<W>]) -> Result<usize> {
        // The choice of the engine's coded nodes, which depends on the gaps alone.
        CodedRouter::new().choose_split(pages, &[], gaps)
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        AirEditor::<W>::change(self, tx, state, |editor| editor.insert(gap, leaf))
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>> {
        AirEditor::<W>::change(self, tx, state, |editor| editor.remove(key))
    }

    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool> {
        AirEditor::<W>::change(self, tx, state, |editor| editor.replace(key, leaf))
    }

    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()> {
        AirMetanode::decode(pages, state)?.walk(pages, claim, leaf)
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        AirMetanode::<W>::decode(pages, state)?.statistics(pages)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        AirMetanode::decode(pages, state)?.explain(pages, key)
    }
}
