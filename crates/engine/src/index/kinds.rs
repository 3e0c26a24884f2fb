//! From the name of a structure to the structure.

use super::alex::Alex;
use super::btree::BtreeRouter;
use super::fiting::Fiting;
use super::header::Header;
use super::leaves::LeafTree;
use super::ogive::CodedRouter;
use super::options::Kind;
use super::structure::Structure;
use super::word::Word;
use crate::error::{Error, Result};
use std::sync::Arc;

/// The structure that a header describes.
///
/// # Errors
/// [`Error::InvalidArgument`] for a kind that this build has not.
pub(super) fn structure<W: Word>(header: &Header) -> Result<Arc<dyn Structure<W>>> {
    let Header { kind, layout, ref tunables, .. } = *header;
    Ok(match kind {
        Kind::Ogive => Arc::new(LeafTree::new(CodedRouter::new(), layout)),
        Kind::Btree => Arc::new(LeafTree::new(BtreeRouter { fill_percent: layout.fill_percent }, layout)),
        Kind::Fiting => Arc::new(Fiting::new(layout, tunables.fiting)),
        Kind::Alex => Arc::new(Alex::new(&layout, tunables.alex)),
        _ => return Err(Error::InvalidArgument(format!("this build of ogive has no indexes of kind {kind}"))),
    })
}
