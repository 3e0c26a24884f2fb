//! The state of a coded tree outside its pages: its height, and a small root node.

use super::node::key_width;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::page::{PageNumber, Pages, Transaction};
use ogive_model::inner::Children;
use std::marker::PhantomData;

/// Most bytes of the topmost node: 4 children with keys of 8 bytes, 2 with keys of 16. With the states of leaves and
/// index, 74 bytes.
const TOP_BYTES_MAX: usize = 40;
/// Bytes of height and number of children.
const HEADER_BYTES: usize = 2;
const PAGE_BYTES: usize = 4;

/// Greatest height accepted: more than that of any tree of fewer than 2^32 pages.
const LEVELS_MAX: u8 = 64;

/// The topmost node of the tree, kept in the state: a small map needs neither a root page nor its read.
///
/// ```text
/// height u8, children u8, separators (one fewer than children), pages u32; an empty map: height 0, no children
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CodedState {
    /// Number of levels of pages; 0 for an empty map.
    pub(super) height: u8,
    /// The topmost node, whose level is `height`. In an empty map it has no last child.
    pub(super) top: Children,
}

impl CodedState {
    /// A tree of one root page.
    pub(super) fn of_root(root: PageNumber, height: u8) -> Self {
        Self { height, top: Children { level: height, last: Some(root), ..Children::default() } }
    }

    /// A tree under a small topmost node.
    pub(super) fn of_top(top: Children) -> Self {
        Self { height: top.level, top }
    }

    /// Most children of the topmost node.
    pub(super) fn children_max<W: Word>() -> usize {
        1 + (TOP_BYTES_MAX - PAGE_BYTES) / (W::BYTES + PAGE_BYTES)
    }

    pub(super) fn load<W: Word>(pages: &dyn Pages, bytes: &[u8]) -> Result<Self> {
        Self::parse::<W>(bytes).ok_or_else(|| pages.damaged(0, "the state of the coded inner nodes is invalid"))
    }

    fn parse<W: Word>(bytes: &[u8]) -> Option<Self> {
        let (&[height, count], rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let separators = usize::from(count).saturating_sub(1);
        let (keys, rest) = rest.split_at_checked(separators * W::BYTES)?;
        let (pages, rest) = rest.as_chunks::<PAGE_BYTES>();
        let valid = pages.len() == usize::from(count)
            && rest.is_empty()
            && height <= LEVELS_MAX
            && pages.len() <= Self::children_max::<W>()
            && (height > 0) == (count > 0);
        let mut top = Children {
            level: height,
            separators: keys.chunks_exact(W::BYTES).map(|key| W::load(key).to_u128()).collect(),
            pages: pages.iter().map(|page| u32::from_le_bytes(*page)).collect(),
            last: None,
        };
        top.last = top.pages.pop();
        let ascending = top.separators.windows(2).all(|pair| pair[0] < pair[1]);
        (valid && ascending).then_some(Self { height, top })
    }

    pub(super) fn store<W: Word>(&self) -> Vec<u8> {
        let pages = self.top.pages.iter().chain(&self.top.last);
        let mut bytes = vec![self.height, self.top.pages.len() as u8 + u8::from(self.top.last.is_some())];
        for &separator in &self.top.separators {
            bytes.extend_from_slice(separator.to_le_bytes().get(..key_width::<W>().bytes()).unwrap_or(&[]));
        }
        bytes.extend(pages.flat_map(|page| page.to_le_bytes()));
        bytes
    }

    /// The topmost page on the path to `key`; `None` in an empty map.
    pub(super) fn root_of<W: Word>(&self, key: W) -> Option<PageNumber> {
        let index = self.top.separators.partition_point(|&separator| separator < key.to_u128());
        self.top.pages.get(index).copied().or(self.top.last)
    }

    /// Changes the tree with the state `bytes`, and updates them; after an error they are unchanged.
    pub(super) fn change<W: Word, T>(
        tx: &mut Transaction,
        bytes: &mut Vec<u8>,
        call: impl FnOnce(&mut CodedTree<'_, W>) -> Result<T>,
    ) -> Result<T> {
        let state = Self::load::<W>(tx, bytes)?;
        let mut tree = CodedTree { tx, state, word: PhantomData };
        let result = call(&mut tree)?;
        *bytes = tree.state.store::<W>();
        Ok(result)
    }

    /// The depth of the nodes of a level, for the purpose of reads.
    pub(super) fn depth(&self, level: u8) -> u8 {
        self.height.saturating_sub(level + 1)
    }
}

/// A tree within a transaction.
#[derive(Debug)]
pub(super) struct CodedTree<'a, W> {
    pub(super) tx: &'a mut Transaction,
    pub(super) state: CodedState,
    pub(super) word: PhantomData<W>,
}
