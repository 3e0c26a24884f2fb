//! Changed pages of a transaction.

use super::pages::Page;
use super::records::PageChanges;
use crate::io::Purpose;

/// A changed page of a transaction.
#[derive(Clone, Debug)]
pub(super) struct DirtyPage {
    pub(super) page: Page,
    pub(super) changes: PageChanges,
    /// Whether the whole page will be logged, because much of it changed.
    pub(super) whole: bool,
    pub(super) purpose: Purpose,
}
