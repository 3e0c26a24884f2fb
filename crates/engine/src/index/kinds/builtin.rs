//! The engine's own kinds of index: coded inner nodes, and the B+-tree as their baseline.

use super::kind::{StructureFactory, Tunable};
use crate::index::tree::btree::BtreeRouter;
use crate::index::tree::coded::CodedRouter;
use crate::index::tree::layout::IndexLayout;
use crate::index::tree::leaves::LeafTree;
use crate::index::tree::structure::Structure;
use std::sync::Arc;

/// B+-tree leaves under coded inner nodes.
#[derive(Debug)]
pub(in crate::index) struct Ogive;

impl StructureFactory for Ogive {
    fn name(&self) -> &'static str {
        "ogive"
    }

    fn code(&self) -> u8 {
        1
    }

    fn allows_duplicates(&self) -> bool {
        true
    }

    fn for_u64(&self, layout: IndexLayout, _tunables: &[Tunable]) -> Arc<dyn Structure<u64>> {
        Arc::new(LeafTree::new(CodedRouter::new(), layout))
    }

    fn for_u128(&self, layout: IndexLayout, _tunables: &[Tunable]) -> Arc<dyn Structure<u128>> {
        Arc::new(LeafTree::new(CodedRouter::new(), layout))
    }
}

/// The B+-tree.
#[derive(Debug)]
pub(in crate::index) struct Btree;

impl StructureFactory for Btree {
    fn name(&self) -> &'static str {
        "btree"
    }

    fn code(&self) -> u8 {
        3
    }

    fn allows_duplicates(&self) -> bool {
        true
    }

    fn for_u64(&self, layout: IndexLayout, _tunables: &[Tunable]) -> Arc<dyn Structure<u64>> {
        Arc::new(LeafTree::new(BtreeRouter { fill_percent: layout.fill_percent }, layout))
    }

    fn for_u128(&self, layout: IndexLayout, _tunables: &[Tunable]) -> Arc<dyn Structure<u128>> {
        Arc::new(LeafTree::new(BtreeRouter { fill_percent: layout.fill_percent }, layout))
    }
}
