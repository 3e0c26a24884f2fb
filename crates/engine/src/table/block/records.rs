//! Records of a block of any form, as a lookup sees them: compiled for each form.

use super::coded::CodedBlock;
use super::column_search::SearchHint;
use super::columns::Columns;
use super::parts::{ValueLocation, VersionTag};
use super::view::BlockView;

/// The records of a block, which has the bytes `raw`. Every access is total: whatever a corrupt block lacks is `None`.
pub(in crate::table) trait BlockRecords {
    fn count(&self) -> usize;

    /// The first record whose key is not less than `key`, and whether it has that key.
    fn search(&self, raw: &[u8], key: &[u8], hint: SearchHint) -> Option<(usize, bool)>;

    /// Whether a record has a key.
    fn has_key(&self, raw: &[u8], index: usize, key: &[u8]) -> Option<bool>;

    /// The version tag of a record in a versioned table.
    fn tag(&self, raw: &[u8], index: usize) -> Option<VersionTag>;

    /// The location of a value.
    fn place(&self, raw: &[u8], index: usize) -> Option<ValueLocation>;
}

/// Columns with keys of one length, and without long values.
impl BlockRecords for Columns {
    #[inline]
    fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn search(&self, raw: &[u8], key: &[u8], hint: SearchHint) -> Option<(usize, bool)> {
        self.search_fixed(raw, self.key?, key, hint)
    }

    #[inline]
    fn has_key(&self, raw: &[u8], index: usize, key: &[u8]) -> Option<bool> {
        let rest = key.strip_prefix(self.prefix(raw)?);
        Some(rest == Some(self.key_rest(raw, index)?))
    }

    #[inline]
    fn tag(&self, raw: &[u8], index: usize) -> Option<VersionTag> {
        Columns::tag(self, raw, index)
    }

    #[inline]
    fn place(&self, raw: &[u8], index: usize) -> Option<ValueLocation> {
        self.value(raw, index).map(ValueLocation::Inline)
    }
}

impl BlockRecords for CodedBlock {
    #[inline]
    fn count(&self) -> usize {
        CodedBlock::count(self)
    }

    #[inline]
    fn search(&self, raw: &[u8], key: &[u8], _hint: SearchHint) -> Option<(usize, bool)> {
        CodedBlock::search(self, raw, key)
    }

    #[inline]
    fn has_key(&self, raw: &[u8], index: usize, key: &[u8]) -> Option<bool> {
        Some(self.key(raw, index)?.is(key))
    }

    #[inline]
    fn tag(&self, raw: &[u8], index: usize) -> Option<VersionTag> {
        CodedBlock::tag(self, raw, index)
    }

    #[inline]
    fn place(&self, raw: &[u8], index: usize) -> Option<ValueLocation> {
        self.value(raw, index)
    }
}

/// Blocks of any form, by their decoded heads.
impl BlockRecords for BlockView<'_> {
    fn count(&self) -> usize {
        BlockView::count(self)
    }

    fn search(&self, _raw: &[u8], key: &[u8], hint: SearchHint) -> Option<(usize, bool)> {
        BlockView::search(self, key, hint)
    }

    fn has_key(&self, _raw: &[u8], index: usize, key: &[u8]) -> Option<bool> {
        Some(self.key(index)?.is(key))
    }

    fn tag(&self, _raw: &[u8], index: usize) -> Option<VersionTag> {
        BlockView::tag(self, index)
    }

    fn place(&self, _raw: &[u8], index: usize) -> Option<ValueLocation> {
        BlockView::place(self, index)
    }
}
