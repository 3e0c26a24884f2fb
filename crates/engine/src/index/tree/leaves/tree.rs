//! `LeafTree`: B+-tree leaves and a router.

use super::chain::ChainState;
use super::leaf::{Leaf, LeafShape};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::layout::IndexLayout;
use crate::index::tree::router::Router;
use crate::page::{PageNumber, Pages};
use std::sync::Arc;

/// B+-tree leaves under an inner structure.
///
/// Its state takes 24 bytes for keys of 8, in addition to the router's. It contains the last leaf, and a key above
/// which all keys belong there, so that appends read no other page. The last leaf fills up before a new one is
/// appended; other leaves split near the middle, at a boundary that the router chooses.
#[derive(Debug)]
pub struct LeafTree<R> {
    pub(super) router: Arc<R>,
    pub(super) layout: IndexLayout,
}

impl<R> Clone for LeafTree<R> {
    fn clone(&self) -> Self {
        Self { router: Arc::clone(&self.router), layout: self.layout }
    }
}

impl<R> LeafTree<R> {
    /// A tree under `router`.
    pub fn new(router: R, layout: IndexLayout) -> Self {
        Self { router: Arc::new(router), layout }
    }

    pub(super) fn shape<W: Word>(&self, pages: &dyn Pages) -> LeafShape {
        LeafShape::new::<W>(pages.payload_bytes(), self.layout.payload_bytes)
    }

    pub(super) fn read<W: Word>(&self, pages: &dyn Pages, number: PageNumber) -> Result<Leaf> {
        Leaf::read(pages, number, self.shape::<W>(pages))
    }

    /// The head of the group of leaves for `key`.
    pub(super) fn route<W: Word>(
        &self,
        pages: &dyn Pages,
        chain: &ChainState<W>,
        router_state: &[u8],
        key: W,
    ) -> Result<PageNumber>
    where
        R: Router<W>,
    {
        if chain.is_single() || key > chain.low {
            return Ok(chain.last);
        }
        Ok(self.router.find(pages, router_state, key)?.unwrap_or(chain.last))
    }
}
