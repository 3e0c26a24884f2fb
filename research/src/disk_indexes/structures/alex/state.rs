//! The committed state of an ALEX index, from which every lookup starts.

use super::child::ChildPointer;
use super::shape::AlexLayout;
use crate::kinds::numbers::u64_at;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Pages;

/// The state of an index: the number of entries, its peak since the last full build, and the root, unless the index is
/// empty.
///
/// ```text
///   0        8      16
///   entries  peak   root, a child pointer; or nothing
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct AlexState<W> {
    pub(super) entries: u64,
    pub(super) peak: u64,
    pub(super) root: Option<ChildPointer<W>>,
}

impl<W: Word> AlexState<W> {
    pub(super) const EMPTY: Self = Self { entries: 0, peak: 0, root: None };

    /// # Errors
    /// [`ogive::Cause::Damaged`] for an invalid state.
    pub(super) fn load(pages: &dyn Pages, shape: &AlexLayout, bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::EMPTY);
        }
        if bytes.len() != 16 && bytes.len() != 16 + shape.child() {
            return Err(pages.damaged(0, "the state of the index has an invalid length"));
        }
        let root = bytes.get(16..).filter(|root| !root.is_empty());
        let root = root.map(|root| ChildPointer::load(pages, shape, 0, root)).transpose()?;
        Ok(Self { entries: u64_at(bytes, 0), peak: u64_at(bytes, 8), root })
    }

    pub(super) fn stored(&self, shape: &AlexLayout) -> Vec<u8> {
        let mut bytes = [self.entries.to_le_bytes(), self.peak.to_le_bytes()].concat();
        bytes.extend(self.root.iter().flat_map(|root| root.stored(shape)));
        bytes
    }
}
