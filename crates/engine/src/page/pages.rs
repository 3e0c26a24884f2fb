//! Page reads: the `Pages` trait of snapshots and transactions, and pages in memory.

use crate::error::{Error, Result};
use crate::io::Purpose;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

/// Number of a page in its file, counted from 0. A file has fewer than 2^32 pages; growing beyond is an error.
pub type PageNumber = u32;

/// Bytes of a page that are not payload: the epoch and the checksum, at its end.
pub(super) const TRAILER_BYTES: usize = 8;

/// The payload of a page, as it was at one commit or in one transaction. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Page {
    /// The whole page; its trailer means something only when the page was just read from the file.
    whole: Arc<[u8]>,
}

impl Page {
    /// A page of zeros of `page_bytes`.
    pub(super) fn zeros(page_bytes: usize) -> Self {
        Self { whole: std::iter::repeat_n(0, page_bytes).collect() }
    }

    /// A page of `page_bytes` whose payload begins with `payload` and goes on with zeros.
    pub(super) fn padded(page_bytes: usize, payload: &[u8]) -> Self {
        let mut page = Self::zeros(page_bytes);
        let target = page.payload_mut();
        let length = payload.len().min(target.len());
        target[..length].copy_from_slice(&payload[..length]);
        page
    }

    /// The payload, to be changed; copied first if others hold the page.
    pub(super) fn payload_mut(&mut self) -> &mut [u8] {
        let whole = Arc::make_mut(&mut self.whole);
        let end = whole.len().saturating_sub(TRAILER_BYTES);
        &mut whole[..end]
    }

    /// Payload and trailer, to be changed.
    pub(super) fn whole_mut(&mut self) -> &mut [u8] {
        Arc::make_mut(&mut self.whole)
    }

    pub(super) fn whole(&self) -> &Arc<[u8]> {
        &self.whole
    }

    pub(super) fn from_whole(whole: Arc<[u8]>) -> Self {
        Self { whole }
    }
}

impl Deref for Page {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.whole[..self.whole.len().saturating_sub(TRAILER_BYTES)]
    }
}

impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Page {}

/// A consistent view of the pages of a file: a snapshot, or a transaction with its own changes.
pub trait Pages: Debug {
    /// Payload size of a page in bytes; the same for all pages of a file.
    fn payload_bytes(&self) -> usize;

    /// Reads the payload of a page and verifies its checksum. `purpose` is [`Purpose::Inner`] with the depth of the
    /// page (0 for the root) or [`Purpose::Leaf`]; it guides meters and the page pool.
    ///
    /// # Errors
    /// `Cause::Damaged` if the page is not the one last written, or the number is beyond the file.
    fn read(&self, page: PageNumber, purpose: Purpose) -> Result<Page>;

    /// Reads many pages, in the order requested, with as many reads at once as the storage serves.
    ///
    /// # Errors
    /// As for [`Self::read`].
    fn read_many(&self, pages: &[PageNumber], purpose: Purpose) -> Result<Vec<Page>> {
        pages.iter().map(|&page| self.read(page, purpose)).collect()
    }

    /// Number of pages in the file, free ones included: every valid page number is below. Traversals of child pointers
    /// bound their depth and steps by this.
    fn page_count(&self) -> u32;

    /// The error for a page with invalid content.
    fn damaged(&self, page: PageNumber, detail: &str) -> Error;
}
