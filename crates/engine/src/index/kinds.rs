//! From the name of a structure to the structure.

use super::alex::Alex;
use super::aulid::AulidRouter;
use super::btree::BtreeRouter;
use super::fiting::Fiting;
use super::header::Header;
use super::hybrid::MapRouter;
use super::leaves::LeafTree;
use super::lipp::Lipp;
use super::ogive::CodedRouter;
use super::options::{IndexLayout, Kind};
use super::pgm::Pgm;
use super::structure::Structure;
use super::word::Word;
use std::sync::Arc;

/// The structure that a header describes.
pub(super) fn structure<W: Word>(header: &Header) -> Arc<dyn Structure<W>> {
    let Header { kind, layout, ref tunables, .. } = *header;
    // What a structure is told that serves as the inner part of a hybrid.
    let inner = IndexLayout { payload_bytes: MapRouter::<()>::PAYLOAD_BYTES, duplicates: false, ..layout };
    match kind {
        Kind::Ogive => Arc::new(LeafTree::new(CodedRouter::new(), layout)),
        Kind::Aulid => Arc::new(LeafTree::new(AulidRouter::new(tunables.aulid), layout)),
        Kind::Btree => Arc::new(LeafTree::new(BtreeRouter { fill_percent: layout.fill_percent }, layout)),
        Kind::Fiting => Arc::new(Fiting::new(layout, tunables.fiting)),
        Kind::Pgm => Arc::new(Pgm::new(layout, tunables.pgm)),
        Kind::Alex => Arc::new(Alex::new(&layout, tunables.alex)),
        Kind::Lipp => Arc::new(Lipp::new(&layout, tunables.lipp)),
        Kind::FitingBtree => Arc::new(LeafTree::new(MapRouter::new(Fiting::new(inner, tunables.fiting)), layout)),
        Kind::PgmBtree => Arc::new(LeafTree::new(MapRouter::new(Pgm::new(inner, tunables.pgm)), layout)),
        Kind::AlexBtree => Arc::new(LeafTree::new(MapRouter::new(Alex::new(&inner, tunables.alex)), layout)),
        Kind::LippBtree => Arc::new(LeafTree::new(MapRouter::new(Lipp::new(&inner, tunables.lipp)), layout)),
    }
}
