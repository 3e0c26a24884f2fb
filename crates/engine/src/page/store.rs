//! The page file as bytes: whole pages, with their checksums.

use super::pages::{Page, PageNumber, TRAILER_BYTES};
use crate::block::checksum;
use crate::error::{Cause, Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The page file as bytes: whole pages, checked.
#[derive(Debug)]
pub(super) struct PageStore {
    pub(super) file: Arc<dyn ReadableFile>,
    pub(super) file_id: u64,
    pub(super) page_bytes: usize,
    pub(super) path: PathBuf,
}

impl PageStore {
    pub(super) fn payload_bytes(&self) -> usize {
        self.page_bytes - TRAILER_BYTES
    }

    pub(super) fn offset(&self, page: PageNumber) -> u64 {
        u64::from(page) * self.page_bytes as u64
    }

    /// Reads a page, and its epoch.
    pub(super) fn read(&self, number: PageNumber, purpose: Purpose) -> Result<(Page, u32)> {
        let mut page = Page::zeros(self.page_bytes);
        let request = ReadRequest { offset: self.offset(number), buffer: page.whole_mut(), purpose };
        self.file.read(request).map_err(|error| self.beyond(number, error))?;
        let epoch = self.check(number, &page)?;
        Ok((page, epoch))
    }

    /// Reads many pages at once.
    pub(super) fn read_many(&self, numbers: &[PageNumber], purpose: Purpose) -> Result<Vec<(Page, u32)>> {
        let mut pages = vec![Page::zeros(0); numbers.len()];
        for page in &mut pages {
            *page = Page::zeros(self.page_bytes);
        }
        let requests = numbers.iter().zip(&mut pages).map(|(&number, page)| ReadRequest {
            offset: self.offset(number),
            buffer: page.whole_mut(),
            purpose,
        });
        self.file.read_many(requests.collect()).map_err(|error| self.beyond(numbers[0], error))?;
        let checked = numbers.iter().zip(pages).map(|(&number, page)| Ok((page.clone(), self.check(number, &page)?)));
        checked.collect()
    }

    fn check(&self, number: PageNumber, page: &Page) -> Result<u32> {
        if !checksum::check(self.file_id, self.offset(number), page.whole()) {
            return Err(self.damaged(number, "the checksum of the page does not match"));
        }
        let trailer = &page.whole()[page.len()..];
        Ok(u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]))
    }

    /// Writes epoch and checksum to a page.
    pub(super) fn seal(&self, number: PageNumber, epoch: u32, whole: &mut [u8]) {
        let trailer = whole.len() - TRAILER_BYTES;
        whole[trailer..trailer + 4].copy_from_slice(&epoch.to_le_bytes());
        checksum::seal(self.file_id, self.offset(number), whole);
    }

    pub(super) fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        Error::damaged(&self.path, self.offset(page), format!("page {page}: {detail}"))
    }

    fn beyond(&self, page: PageNumber, error: Error) -> Error {
        match error {
            Error { cause: Cause::Io(ErrorKind::UnexpectedEof), .. } => ends_before(&self.path, self.page_bytes, page),
            error => error,
        }
    }
}

/// The error for a page that the page file has no room for.
pub(super) fn ends_before(path: &Path, page_bytes: usize, page: PageNumber) -> Error {
    Error::damaged(path, u64::from(page) * page_bytes as u64, format!("page {page}: the file ends before it"))
}
