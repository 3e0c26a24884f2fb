//! The kinds of index of this crate, and their registration with the engine.

use crate::airindex::structures::AirIndexRouter;
use crate::aulid::structures::AulidRouter;
use crate::disk_indexes::structures::alex::Alex;
use crate::disk_indexes::structures::fiting::Fiting;
use crate::disk_indexes::structures::hybrid::MapRouter;
use crate::disk_indexes::structures::lipp::Lipp;
use crate::disk_indexes::structures::pgm::PgmTree;
use crate::joins::structures::METHODS;
use crate::kinds::tunables::{Family, Tunables};
use ogive::index::IndexKind;
use ogive::index::extend::{IndexLayout, LeafTree, Structure, StructureFactory, Tunable, Word};
use std::sync::Arc;

/// AULID: B+-tree leaves under mixed nodes, packed arrays and two-layer B+-tree nodes. Keys may repeat.
pub const AULID: IndexKind =
    IndexKind::new(&PaperFactory { name: "aulid", code: 2, family: Family::Aulid, is_hybrid: false });
/// FITing-tree: segments with delta buffers.
pub const FITING: IndexKind =
    IndexKind::new(&PaperFactory { name: "fiting", code: 4, family: Family::Fiting, is_hybrid: false });
/// PGM with the logarithmic method.
pub const PGM: IndexKind =
    IndexKind::new(&PaperFactory { name: "pgm", code: 5, family: Family::Pgm, is_hybrid: false });
/// ALEX: gapped data nodes.
pub const ALEX: IndexKind =
    IndexKind::new(&PaperFactory { name: "alex", code: 6, family: Family::Alex, is_hybrid: false });
/// LIPP: exact positions, without a last-mile search.
pub const LIPP: IndexKind =
    IndexKind::new(&PaperFactory { name: "lipp", code: 7, family: Family::Lipp, is_hybrid: false });
/// FITing-tree over B+-tree leaves.
pub const FITING_BTREE: IndexKind =
    IndexKind::new(&PaperFactory { name: "fiting-btree", code: 8, family: Family::Fiting, is_hybrid: true });
/// PGM over B+-tree leaves.
pub const PGM_BTREE: IndexKind =
    IndexKind::new(&PaperFactory { name: "pgm-btree", code: 9, family: Family::Pgm, is_hybrid: true });
/// ALEX over B+-tree leaves.
pub const ALEX_BTREE: IndexKind =
    IndexKind::new(&PaperFactory { name: "alex-btree", code: 10, family: Family::Alex, is_hybrid: true });
/// LIPP over B+-tree leaves: the LIPP-B+ of the AULID paper.
pub const LIPP_BTREE: IndexKind =
    IndexKind::new(&PaperFactory { name: "lipp-btree", code: 11, family: Family::Lipp, is_hybrid: true });
/// AirIndex with updates: B+-tree leaves under a directory and layers tuned for the storage. Keys may repeat.
pub const AIRINDEX: IndexKind =
    IndexKind::new(&PaperFactory { name: "airindex", code: 12, family: Family::AirIndex, is_hybrid: false });

/// All kinds of this crate, in ascending order of their codes.
pub const KINDS: [IndexKind; 10] =
    [AULID, FITING, PGM, ALEX, LIPP, FITING_BTREE, PGM_BTREE, ALEX_BTREE, LIPP_BTREE, AIRINDEX];

/// Registers all kinds of index, designs of tables, join methods and learning policies of this crate with the engine:
/// they can be used, and their names be parsed. Repeated calls have no effect; any thread may call it.
pub fn register() {
    crate::airindex::designs::register_designs();
    crate::bourbon::register();
    for method in METHODS {
        // The names are no names of the engine's methods.
        let registered = method.register();
        debug_assert!(registered.is_ok(), "{registered:?}");
    }
    for kind in KINDS {
        // The engine reserves these codes and names, so that no other kind can have them.
        let registered = kind.register();
        debug_assert!(registered.is_ok(), "{registered:?}");
    }
}

/// The factory of one kind.
#[derive(Debug)]
struct PaperFactory {
    name: &'static str,
    code: u8,
    family: Family,
    /// Whether the structure is the inner part of a hybrid.
    is_hybrid: bool,
}

impl PaperFactory {
    fn make<W: Word>(&self, layout: IndexLayout, tunables: &[Tunable]) -> Arc<dyn Structure<W>> {
        // The engine passes the tunables that `tunables` returned, which are complete and valid.
        let Tunables { aulid, fiting, pgm, alex, lipp, airindex } =
            Tunables::parse(self.family, tunables).unwrap_or_default();
        let inner = IndexLayout { payload_bytes: MapRouter::<()>::PAYLOAD_BYTES, duplicates: false, ..layout };
        match (self.family, self.is_hybrid) {
            (Family::Aulid, _) => Arc::new(LeafTree::new(AulidRouter::new(aulid), layout)),
            (Family::AirIndex, _) => Arc::new(LeafTree::new(AirIndexRouter::new(airindex, layout), layout)),
            (Family::Fiting, false) => Arc::new(Fiting::new(layout, fiting)),
            (Family::Pgm, false) => Arc::new(PgmTree::new(layout, pgm)),
            (Family::Alex, false) => Arc::new(Alex::new(&layout, alex)),
            (Family::Lipp, false) => Arc::new(Lipp::new(&layout, lipp)),
            (Family::Fiting, true) => Arc::new(LeafTree::new(MapRouter::new(Fiting::new(inner, fiting)), layout)),
            (Family::Pgm, true) => Arc::new(LeafTree::new(MapRouter::new(PgmTree::new(inner, pgm)), layout)),
            (Family::Alex, true) => Arc::new(LeafTree::new(MapRouter::new(Alex::new(&inner, alex)), layout)),
            (Family::Lipp, true) => Arc::new(LeafTree::new(MapRouter::new(Lipp::new(&inner, lipp)), layout)),
        }
    }
}

impl StructureFactory for PaperFactory {
    fn name(&self) -> &'static str {
        self.name
    }

    fn code(&self) -> u8 {
        self.code
    }

    fn allows_duplicates(&self) -> bool {
        matches!(self.family, Family::Aulid | Family::AirIndex)
    }

    fn tunables(&self, given: &[Tunable]) -> Result<Vec<Tunable>, String> {
        Ok(Tunables::parse(self.family, given)?.list(self.family))
    }

    fn for_u64(&self, layout: IndexLayout, tunables: &[Tunable]) -> Arc<dyn Structure<u64>> {
        self.make(layout, tunables)
    }

    fn for_u128(&self, layout: IndexLayout, tunables: &[Tunable]) -> Arc<dyn Structure<u128>> {
        self.make(layout, tunables)
    }
}
