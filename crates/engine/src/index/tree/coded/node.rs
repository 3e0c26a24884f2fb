//! Reads of coded nodes. A page holds the layout of [`ogive_model::inner::NodeView`] from its first byte on.

use super::state::CodedState;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::io::Purpose;
use crate::page::{Page, PageNumber, Pages};
use ogive_model::inner::{KeyWidth, NodeView};

/// The stored width of keys of type `W`.
pub(super) fn key_width<W: Word>() -> KeyWidth {
    if W::BYTES == 8 { KeyWidth::Eight } else { KeyWidth::Sixteen }
}

/// Reads the page of a node of the given level.
pub(super) fn read(pages: &dyn Pages, state: &CodedState, page: PageNumber, level: u8) -> Result<Page> {
    pages.read(page, Purpose::Inner(state.depth(level)))
}

/// Parses the node in a page, which must be of the given level.
pub(super) fn view<'a, W: Word>(
    pages: &dyn Pages,
    page: PageNumber,
    content: &'a Page,
    level: u8,
) -> Result<NodeView<'a>> {
    match NodeView::new(content, key_width::<W>()) {
        Some(node) if node.level() == level => Ok(node),
        Some(_) => Err(pages.damaged(page, "a coded inner node of another level")),
        None => Err(pages.damaged(page, "not a coded inner node")),
    }
}
