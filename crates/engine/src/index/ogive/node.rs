//! Reading nodes. Their layout is that of [`ogive_model::inner::NodeView`], from the first byte of the page on.

use super::state::State;
use crate::error::Result;
use crate::index::word::Word;
use crate::io::Purpose;
use crate::page::{Page, PageNumber, Pages};
use ogive_model::inner::{KeyWidth, NodeView};

/// How keys of a word are stored.
pub(super) fn key_width<W: Word>() -> KeyWidth {
    if W::BYTES == 8 { KeyWidth::Eight } else { KeyWidth::Sixteen }
}

/// Reads the node of some level.
pub(super) fn read(pages: &dyn Pages, state: &State, page: PageNumber, level: u8) -> Result<Page> {
    pages.read(page, Purpose::Inner(state.depth(level)))
}

/// The node in a page, which must be of that level.
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
