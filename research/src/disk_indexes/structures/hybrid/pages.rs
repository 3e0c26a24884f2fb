//! The page reader of the inner part of a hybrid: counts its leaves as inner nodes.

use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use ogive::{Error, Result};
use std::sync::atomic::{AtomicU8, Ordering};

/// A reader that turns leaf reads of the inner structure into reads of inner nodes, one level below the nodes above.
#[derive(Debug)]
pub(super) struct InnerPages<'a> {
    pages: &'a dyn Pages,
    /// Number of levels of inner nodes read so far in this operation.
    depth: AtomicU8,
}

impl<'a> InnerPages<'a> {
    pub(super) fn new(pages: &'a dyn Pages) -> Self {
        Self { pages, depth: AtomicU8::new(0) }
    }

    fn purpose(&self, purpose: Purpose) -> Purpose {
        match purpose {
            Purpose::Inner(depth) => {
                self.depth.fetch_max(depth.saturating_add(1), Ordering::Relaxed);
                purpose
            }
            Purpose::Leaf => Purpose::Inner(self.depth.load(Ordering::Relaxed)),
            other => other,
        }
    }
}

impl Pages for InnerPages<'_> {
    fn payload_bytes(&self) -> usize {
        self.pages.payload_bytes()
    }

    fn read(&self, page: PageNumber, purpose: Purpose) -> Result<Page> {
        self.pages.read(page, self.purpose(purpose))
    }

    fn read_many(&self, pages: &[PageNumber], purpose: Purpose) -> Result<Vec<Page>> {
        self.pages.read_many(pages, self.purpose(purpose))
    }

    fn page_count(&self) -> u32 {
        self.pages.page_count()
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        self.pages.damaged(page, detail)
    }
}
