//! The state of a coded tree outside its pages: the root, while it is small.

use super::node::key_width;
use crate::error::Result;
use crate::index::word::Word;
use crate::page::{PageNumber, Pages, Transaction};
use ogive_model::inner::Children;
use std::marker::PhantomData;

/// Most bytes of the topmost node: 4 children with keys of 8 bytes, 2 with keys of 16. With what leaves and index add,
/// 74 bytes.
const MOST_TOP_BYTES: usize = 40;
/// Height and number of children.
const HEADER_BYTES: usize = 2;
const PAGE_BYTES: usize = 4;

/// More levels than any tree can have whose nodes have two children, with fewer than 2^32 pages.
const MOST_LEVELS: u8 = 64;

/// Where the tree begins: a node of few children that stands above all pages, so that a small map needs no page for a
/// root, nor a read.
///
/// ```text
/// height u8, children u8, separators (one fewer than children), pages u32 a map without leaves: height 0, no children
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Levels of pages; 0 for an empty map.
    pub(super) height: u8,
    /// The topmost node, whose level is `height`. Of an empty map it has no last child.
    pub(super) top: Children,
}

impl State {
    /// A tree of one root page.
    pub(super) fn of_root(root: PageNumber, height: u8) -> Self {
        Self { height, top: Children { level: height, last: Some(root), ..Children::default() } }
    }

    /// A tree below a node that is small enough.
    pub(super) fn of_top(top: Children) -> Self {
        Self { height: top.level, top }
    }

    /// How many children the topmost node may have.
    pub(super) fn most_children<W: Word>() -> usize {
        1 + (MOST_TOP_BYTES - PAGE_BYTES) / (W::BYTES + PAGE_BYTES)
    }

    pub(super) fn load<W: Word>(pages: &dyn Pages, bytes: &[u8]) -> Result<Self> {
        Self::parse::<W>(bytes).ok_or_else(|| pages.damaged(0, "the state of coded inner nodes makes no sense"))
    }

    fn parse<W: Word>(bytes: &[u8]) -> Option<Self> {
        let (&[height, count], rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let separators = usize::from(count).saturating_sub(1);
        let (keys, rest) = rest.split_at_checked(separators * W::BYTES)?;
        let (pages, rest) = rest.as_chunks::<PAGE_BYTES>();
        let sound = pages.len() == usize::from(count)
            && rest.is_empty()
            && height <= MOST_LEVELS
            && pages.len() <= Self::most_children::<W>()
            && (height > 0) == (count > 0);
        let mut top = Children {
            level: height,
            separators: keys.chunks_exact(W::BYTES).map(|key| W::load(key).to_u128()).collect(),
            pages: pages.iter().map(|page| u32::from_le_bytes(*page)).collect(),
            last: None,
        };
        top.last = top.pages.pop();
        let ascending = top.separators.windows(2).all(|pair| pair[0] < pair[1]);
        (sound && ascending).then_some(Self { height, top })
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

    /// The topmost page on the way to `key`; `None` in an empty map.
    pub(super) fn root_of<W: Word>(&self, key: W) -> Option<PageNumber> {
        let index = self.top.separators.partition_point(|&separator| separator < key.to_u128());
        self.top.pages.get(index).copied().or(self.top.last)
    }

    /// Changes the tree that begins at `bytes`, and `bytes` with it; they stay as they were after an error.
    pub(super) fn change<W: Word, T>(
        tx: &mut Transaction,
        bytes: &mut Vec<u8>,
        call: impl FnOnce(&mut Tree<'_, W>) -> Result<T>,
    ) -> Result<T> {
        let state = Self::load::<W>(tx, bytes)?;
        let mut tree = Tree { tx, state, word: PhantomData };
        let result = call(&mut tree)?;
        *bytes = tree.state.store::<W>();
        Ok(result)
    }

    /// The depth of the nodes of a level, as page reads state it.
    pub(super) fn depth(&self, level: u8) -> u8 {
        self.height.saturating_sub(level + 1)
    }
}

/// A tree under change.
#[derive(Debug)]
pub(super) struct Tree<'a, W> {
    pub(super) tx: &'a mut Transaction,
    pub(super) state: State,
    pub(super) word: PhantomData<W>,
}
