//! A change of the leaf chain in progress.

use super::chain::ChainState;
use super::tree::LeafTree;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::Router;
use crate::page::Transaction;

/// A change of the leaf chain in progress. `state` still ends with the old state of the chain; [`Self::store`] or
/// [`Self::change_router`] replaces it by `chain`.
pub(super) struct LeafChange<'a, W, R> {
    pub(super) tree: &'a LeafTree<R>,
    pub(super) tx: &'a mut Transaction,
    pub(super) state: &'a mut Vec<u8>,
    pub(super) chain: ChainState<W>,
}

impl<W: Word, R: Router<W>> LeafChange<'_, W, R> {
    /// Changes the router, and replaces the state of the chain.
    pub(super) fn change_router<T>(
        &mut self,
        change: impl FnOnce(&R, &mut Transaction, &mut Vec<u8>) -> Result<T>,
    ) -> Result<T> {
        ChainState::<W>::strip(self.state);
        let changed = change(&self.tree.router, self.tx, self.state);
        self.chain.append(self.state);
        changed
    }

    /// Replaces the state of the chain, with the router unchanged.
    pub(super) fn store(&mut self) {
        ChainState::<W>::strip(self.state);
        self.chain.append(self.state);
    }
}
