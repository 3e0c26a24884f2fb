//! Verification of an index: its structure, then the pages of its file.

use super::view::{IndexState, IndexView};
use crate::error::{Error, Result};
use crate::index::entries::key::Key;
use crate::index::entries::word::Word;
use crate::index::tree::structure::Visitor;
use crate::page::{PageNumber, Pages};

/// What [`IndexReader::verify`](crate::index::IndexReader::verify) found to be valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexVerifyReport {
    /// Entries.
    pub entries: u64,
    /// Pages of the structure.
    pub pages: u64,
    /// Valid copies of the file's header, of two.
    pub header_copies: u32,
}

/// Checks the walk of a structure: no page twice, no entry out of order.
#[derive(Debug)]
struct VerifyVisitor<'a, W> {
    pages: &'a dyn Pages,
    /// One bit per page: whether a node claimed it.
    claimed: Vec<u64>,
    claimed_pages: u64,
    entries: u64,
    last: Option<W>,
    duplicates: bool,
}

impl<'a, W: Word> VerifyVisitor<'a, W> {
    fn new(pages: &'a dyn Pages, duplicates: bool) -> Self {
        let claimed = vec![0; pages.page_count().div_ceil(u64::BITS) as usize];
        Self { pages, claimed, claimed_pages: 0, entries: 0, last: None, duplicates }
    }

    /// The claimed pages as extents.
    fn runs(&self) -> Vec<(PageNumber, u32)> {
        let mut runs: Vec<(PageNumber, u32)> = Vec::new();
        for page in 0..self.pages.page_count() {
            let word = self.claimed.get((page / u64::BITS) as usize).copied().unwrap_or(0);
            if word & (1 << (page % u64::BITS)) == 0 {
                continue;
            }
            match runs.last_mut() {
                Some((first, pages)) if *first + *pages == page => *pages += 1,
                _ => runs.push((page, 1)),
            }
        }
        runs
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        self.pages.damaged(page, detail)
    }
}

impl<W: Word> Visitor<W> for VerifyVisitor<'_, W> {
    fn pages(&mut self, first: PageNumber, pages: u32) -> Result<()> {
        let end = first.checked_add(pages).filter(|&end| end <= self.pages.page_count());
        let end = end.ok_or_else(|| self.damaged(first, "a node lies beyond the end of the file"))?;
        for page in first..end {
            let bit = 1_u64 << (page % u64::BITS);
            match self.claimed.get_mut((page / u64::BITS) as usize) {
                Some(word) if *word & bit == 0 => *word |= bit,
                _ => return Err(self.damaged(page, "two nodes lie in this page")),
            }
        }
        self.claimed_pages += u64::from(pages);
        Ok(())
    }

    fn entry(&mut self, key: W) -> Result<()> {
        if self.last.is_some_and(|last| key < last || key == last && !self.duplicates) {
            return Err(self.damaged(0, &format!("key {key} is out of order")));
        }
        self.last = Some(key);
        self.entries += 1;
        Ok(())
    }
}

/// Verifies the index of a view. `file` gets the extents of its nodes, checks them against the pages in use, and
/// returns the number of valid copies of the header.
pub(in crate::index) fn verify<K: Key>(
    view: &IndexView<'_, K>,
    file: impl FnOnce(&[(PageNumber, u32)]) -> Result<u32>,
) -> Result<IndexVerifyReport> {
    let mut checker = VerifyVisitor::new(view.pages, view.shared.header.layout.duplicates);
    if let Some(IndexState { entries, structure }) = view.state {
        view.shared.structure.verify(view.pages, structure, &mut checker)?;
        if checker.entries != entries {
            let detail = format!("it holds {} entries but counts {entries}", checker.entries);
            return Err(view.pages.damaged(0, &detail));
        }
    }
    let header_copies = file(&checker.runs())?;
    Ok(IndexVerifyReport { entries: checker.entries, pages: checker.claimed_pages, header_copies })
}
