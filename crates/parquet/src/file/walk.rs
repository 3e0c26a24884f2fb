//! A walk over the pages of a row group that ascending rows touch, each page once.

use super::fetched::{Part, Wanted};
use super::pages::GroupPages;
use std::sync::Arc;

/// The pages of some columns of a row group, as far as rows touched them.
#[derive(Clone, Debug)]
pub(crate) struct GroupWalk {
    file: usize,
    pages: Arc<GroupPages>,
    leaves: Vec<LeafWalk>,
}

/// The pages of a leaf column.
#[derive(Clone, Debug)]
struct LeafWalk {
    leaf: usize,
    is_whole: bool,
    /// The number of the page after the last one that was touched.
    next_page: usize,
    /// The first row of that page.
    next_row: u64,
    /// Whether a page that was touched may refer to the dictionary.
    has_dictionary: bool,
}

/// What a row touched that rows before it did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Bytes of the pages.
    pub(crate) bytes: u64,
    /// The number of leaf columns with a further page.
    pub(crate) leaves: usize,
    /// Whether pages between were passed over.
    pub(crate) is_apart: bool,
}

impl GroupWalk {
    /// A walk over these leaf columns of a file; with `true`, those that are read as a whole.
    pub(crate) fn new(file: usize, leaves: Vec<(usize, bool)>, pages: Arc<GroupPages>) -> Self {
        let leaf = |(leaf, is_whole)| LeafWalk { leaf, is_whole, next_page: 0, next_row: 0, has_dictionary: false };
        Self { file, pages, leaves: leaves.into_iter().map(leaf).collect() }
    }

    /// The number of leaf columns.
    pub(crate) fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// Whether a column is read as a whole.
    pub(crate) fn has_whole(&self) -> bool {
        self.leaves.iter().any(|leaf| leaf.is_whole)
    }

    /// Whether a row lies in pages that were touched.
    pub(crate) fn has_touched(&self, row: u64) -> bool {
        self.leaves.iter().all(|leaf| row < leaf.next_row)
    }

    /// The ranges that rows behind the last one may need as well: its pages, and dictionaries.
    pub(crate) fn held(&self) -> Vec<Wanted> {
        let (file, mut held) = (self.file, Vec::new());
        for walk in &self.leaves {
            let column = &self.pages.columns[walk.leaf];
            if walk.is_whole && walk.next_row > 0 {
                let (offset, bytes) = (column.start, column.end - column.start);
                held.push(Wanted { file, offset, bytes, part: Part::Chunk(walk.leaf) });
            }
            if walk.next_page == 0 {
                continue;
            }
            let page = column.pages[walk.next_page - 1];
            let part = Part::Page(walk.leaf, walk.next_page - 1);
            held.push(Wanted { file, offset: page.offset, bytes: page.bytes, part });
            if walk.has_dictionary {
                let part = Part::Dictionary(walk.leaf);
                held.push(Wanted { file, offset: column.start, bytes: column.dictionary_bytes, part });
            }
        }
        held
    }

    /// Goes on to a row that is not before the last one, and adds the ranges that it needs.
    pub(crate) fn touch(&mut self, row: u64, wanted: &mut Vec<Wanted>) -> Touched {
        let mut touched = Touched::default();
        for walk in &mut self.leaves {
            if row < walk.next_row {
                continue;
            }
            let column = &self.pages.columns[walk.leaf];
            let mut want = |offset, bytes, part| {
                touched.bytes += bytes;
                wanted.push(Wanted { file: self.file, offset, bytes, part });
            };
            if walk.is_whole {
                want(column.start, column.end - column.start, Part::Chunk(walk.leaf));
                walk.next_row = u64::MAX;
                touched.leaves += 1;
                continue;
            }
            let rest = &column.pages[walk.next_page..];
            let number = walk.next_page + rest.partition_point(|page| page.first_row <= row).saturating_sub(1);
            let page = column.pages[number];
            if walk.next_page == 0 && column.dictionary_bytes > 0 && number < column.dictionary_pages {
                want(column.start, column.dictionary_bytes, Part::Dictionary(walk.leaf));
                walk.has_dictionary = true;
            }
            want(page.offset, page.bytes, Part::Page(walk.leaf, number));
            touched.leaves += 1;
            touched.is_apart |= number > walk.next_page;
            walk.next_page = number + 1;
            walk.next_row = column.pages.get(walk.next_page).map_or(u64::MAX, |page| page.first_row);
        }
        touched
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::{ColumnPages, Page};
    use super::*;

    fn column(start: u64, dictionary_bytes: u64, firsts: &[u64]) -> ColumnPages {
        let first = start + dictionary_bytes;
        let page = |(at, &first_row): (u64, &u64)| Page { offset: first + at * 10, bytes: 10, first_row };
        let pages: Vec<Page> = (0..).zip(firsts).map(page).collect();
        let end = first + 10 * firsts.len() as u64;
        ColumnPages { codec: 0, start, dictionary_bytes, dictionary_pages: 1, end, pages }
    }

    #[test]
    fn each_page_is_touched_once_and_a_dictionary_only_by_pages_that_refer_to_it() {
        let columns = vec![column(0, 7, &[0, 10, 20]), column(100, 0, &[0, 15]), column(200, 5, &[0, 30])];
        let mut walk = GroupWalk::new(3, vec![(0, false), (1, false), (2, true)], Arc::new(GroupPages { columns }));
        let mut wanted = Vec::new();
        let mut touch = |row| {
            let touched = walk.touch(row, &mut wanted);
            (touched.bytes, touched.leaves, touched.is_apart)
        };
        assert_eq!(touch(12), (10 + 10 + 25, 3, true), "page 1 of the first column needs no dictionary");
        assert_eq!(touch(12), (0, 0, false));
        assert_eq!(touch(14), (0, 0, false));
        assert_eq!(touch(15), (10, 1, false));
        assert_eq!(touch(99), (10, 1, false));
        let parts: Vec<Part> = wanted.iter().map(|wanted| wanted.part).collect();
        let expected = [Part::Page(0, 1), Part::Page(1, 0), Part::Chunk(2), Part::Page(1, 1), Part::Page(0, 2)];
        assert_eq!(parts, expected);
        let held: Vec<Part> = walk.held().into_iter().map(|wanted| wanted.part).collect();
        assert_eq!(held, [Part::Page(0, 2), Part::Page(1, 1), Part::Chunk(2)]);
    }
}
