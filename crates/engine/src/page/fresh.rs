//! Fresh pages: newly allocated pages written directly to the page file, combined into long writes.

use super::pages::{Page, PageNumber};
use super::store::PageStore;
use crate::error::Result;
use crate::io::{Purpose, UpdatableFile};

/// Most bytes of consecutive pages combined in one write.
const COMBINED_BYTES_MAX: usize = 1 << 20;

/// Combines consecutive pages into one write.
#[derive(Debug, Default)]
pub(super) struct WriteCombiner {
    first: PageNumber,
    bytes: Vec<u8>,
    /// Pages written so far.
    pub(super) pages: u64,
}

impl WriteCombiner {
    /// Adds a page; first writes the waiting ones if it does not follow them, or if enough wait.
    pub(super) fn write(
        &mut self,
        store: &PageStore,
        file: &dyn UpdatableFile,
        (number, epoch): (PageNumber, u32),
        payload: &[u8],
        purpose: Purpose,
    ) -> Result<()> {
        let waiting = self.bytes.len() / store.page_bytes;
        if u64::from(number) != u64::from(self.first) + waiting as u64 {
            self.flush(store, file, purpose)?;
        }
        if self.bytes.is_empty() {
            self.first = number;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.bytes.resize(start + store.page_bytes, 0);
        store.seal(number, epoch, &mut self.bytes[start..]);
        self.pages += 1;
        if self.bytes.len() >= COMBINED_BYTES_MAX {
            self.flush(store, file, purpose)?;
        }
        Ok(())
    }

    /// Writes the waiting pages.
    pub(super) fn flush(&mut self, store: &PageStore, file: &dyn UpdatableFile, purpose: Purpose) -> Result<()> {
        if !self.bytes.is_empty() {
            file.write_at(store.offset(self.first), &self.bytes, purpose)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// A waiting page.
    pub(super) fn waiting(&self, store: &PageStore, number: PageNumber) -> Option<Page> {
        let index = number.checked_sub(self.first)? as usize;
        let bytes = self.bytes.get(index * store.page_bytes..(index + 1) * store.page_bytes)?;
        Some(Page::padded(store.page_bytes, &bytes[..store.payload_bytes()]))
    }
}
