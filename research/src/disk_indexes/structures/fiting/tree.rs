//! `Fiting`: a FITing-tree, by its layout and options.

use super::node::FitingGeometry;
use ogive::index::extend::{IndexLayout, Word};
use ogive::page::Pages;

/// Options of a FITing-tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FitingOptions {
    /// The greatest error of a segment's line, in positions.
    pub error: u32,
    /// Most entries of a segment's buffer; limited to one page.
    pub buffer_entries: usize,
}

impl Default for FitingOptions {
    /// The settings of Lan et al.: error 64, 256 entries.
    fn default() -> Self {
        Self { error: 64, buffer_entries: 256 }
    }
}

/// The FITing-tree; see the [module](super). Keys are unique.
#[derive(Clone, Copy, Debug)]
pub struct Fiting {
    layout: IndexLayout,
    options: FitingOptions,
}

impl Fiting {
    /// Creates a FITing-tree with payloads of `layout.payload_bytes` bytes. Segments are always full;
    /// `layout.fill_percent` is the fill of directory nodes.
    pub fn new(layout: IndexLayout, options: FitingOptions) -> Self {
        Self { layout, options }
    }

    pub(super) fn geometry<W: Word>(&self, pages: &dyn Pages) -> FitingGeometry {
        FitingGeometry::new::<W>(pages.payload_bytes(), self.layout.payload_bytes, self.options.buffer_entries)
    }

    pub(super) fn layout(&self) -> &IndexLayout {
        &self.layout
    }

    pub(super) fn error(&self) -> u64 {
        u64::from(self.options.error)
    }
}
