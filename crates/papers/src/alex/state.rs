//! The committed state of an ALEX index, where every look-up starts.

use super::child::Child;
use super::shape::Shape;
use crate::numbers::u64_at;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Pages;

/// The state of an index: entries, the most entries since the tree was built as a whole, and the root; no root when it
/// is empty.
///
/// ```text
///   0        8      16
///   entries  peak   root, a child pointer; or nothing
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct State<W> {
    pub(super) entries: u64,
    pub(super) peak: u64,
    pub(super) root: Option<Child<W>>,
}

impl<W: Word> State<W> {
    pub(super) const EMPTY: Self = Self { entries: 0, peak: 0, root: None };

    /// # Errors
    /// [`ogive::Error::Damaged`] where it makes no sense.
    pub(super) fn load(pages: &dyn Pages, shape: &Shape, bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::EMPTY);
        }
        if bytes.len() != 16 && bytes.len() != 16 + shape.child() {
            return Err(pages.damaged(0, "the state of the index has no length that it can have"));
        }
        let root = bytes.get(16..).filter(|root| !root.is_empty());
        let root = root.map(|root| Child::load(pages, shape, 0, root)).transpose()?;
        Ok(Self { entries: u64_at(bytes, 0), peak: u64_at(bytes, 8), root })
    }

    pub(super) fn stored(&self, shape: &Shape) -> Vec<u8> {
        let mut bytes = [self.entries.to_le_bytes(), self.peak.to_le_bytes()].concat();
        bytes.extend(self.root.iter().flat_map(|root| root.stored(shape)));
        bytes
    }
}
