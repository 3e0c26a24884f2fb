//! Reading pages, whoever holds them.

use crate::error::{Error, Result};
use crate::io::Purpose;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

/// Number of a page in its file, counted from 0. A file has fewer than 2^32 pages; growing beyond is an error.
pub type PageNumber = u32;

/// The payload of a page, as it was at one commit or in one transaction. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page(pub(super) Arc<[u8]>);

impl Deref for Page {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A consistent view of the pages of a file: a snapshot, or a transaction with its own changes.
pub trait Pages: Debug {
    /// Bytes of a page that its user may fill; the same for all pages of a file.
    fn payload_bytes(&self) -> usize;

    /// The payload of a page, checked against its checksum. `purpose` is [`Purpose::Inner`] with the depth of the page
    /// (0 for the root) or [`Purpose::Leaf`]: it tells meters what is read, and the pool what to keep.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the page is not what was written there, or the number leads beyond the file.
    fn read(&self, page: PageNumber, purpose: Purpose) -> Result<Page>;

    /// Many pages, in the order asked for, as many reads at a time as the storage serves at once.
    ///
    /// # Errors
    /// As for [`Self::read`].
    fn read_many(&self, pages: &[PageNumber], purpose: Purpose) -> Result<Vec<Page>> {
        pages.iter().map(|&page| self.read(page, purpose)).collect()
    }

    /// Pages in the file, free ones included: every valid page number is below. What walks child pointers bounds its
    /// depth and its steps by this.
    fn page_count(&self) -> u32;

    /// The error for a page whose content makes no sense.
    fn damaged(&self, page: PageNumber, detail: &str) -> Error;
}
