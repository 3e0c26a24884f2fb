//! Release of the pages of a structure.

use ogive::Result;
use ogive::page::{PageNumber, Pages, Transaction};

/// Frees extents of pages (first, count). Fails if two of them share a page: freed twice, it would be used twice.
pub(crate) fn free_parts(tx: &mut Transaction, mut extents: Vec<(PageNumber, u32)>) -> Result<()> {
    extents.sort_unstable();
    if let Some(pair) = extents.windows(2).find(|pair| pair[0].0.saturating_add(pair[0].1) > pair[1].0) {
        return Err(tx.damaged(pair[1].0, "two parts of the index share a page"));
    }
    for (first, pages) in extents {
        tx.free(first, pages);
    }
    Ok(())
}
