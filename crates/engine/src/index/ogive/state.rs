//! What a coded tree keeps outside its pages.

use crate::error::{Error, Result};
use crate::page::{PageNumber, Pages, Transaction};
use std::marker::PhantomData;

/// Bytes of the state.
const STATE_BYTES: usize = 5;

/// More levels than any tree can have whose nodes have two children, with fewer than 2^32 pages.
const MOST_LEVELS: u8 = 64;

/// Where the tree begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) root: PageNumber,
    /// Levels of inner nodes; 0 for an empty map.
    pub(super) height: u8,
}

impl State {
    pub(super) fn load(pages: &dyn Pages, bytes: &[u8]) -> Result<Self> {
        let damaged = |detail: &str| -> Error { pages.damaged(0, detail) };
        let Ok(&[a, b, c, d, height]) = <&[u8; STATE_BYTES]>::try_from(bytes) else {
            return Err(damaged("the state of coded inner nodes has another length"));
        };
        if height > MOST_LEVELS {
            return Err(damaged("coded inner nodes of too many levels"));
        }
        Ok(Self { root: u32::from_le_bytes([a, b, c, d]), height })
    }

    pub(super) fn store(self) -> Vec<u8> {
        let [a, b, c, d] = self.root.to_le_bytes();
        vec![a, b, c, d, self.height]
    }

    /// Changes the tree that begins at `bytes`, and `bytes` with it; they stay as they were after an error.
    pub(super) fn change<W, T>(
        tx: &mut Transaction,
        bytes: &mut Vec<u8>,
        call: impl FnOnce(&mut Tree<'_, W>) -> Result<T>,
    ) -> Result<T> {
        let state = Self::load(tx, bytes)?;
        let mut tree = Tree { tx, state, word: PhantomData };
        let result = call(&mut tree)?;
        *bytes = tree.state.store();
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
