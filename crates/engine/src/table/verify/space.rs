//! The verification of file space: each byte belongs to exactly one section or is a zero between two sections.

use super::walk::{READ_RUN_BYTES, VerifyWalk};
use crate::error::Result;
use crate::table::format::meta::{DataSource, Section};
use std::collections::BTreeMap;

/// Limit for the number of separate ranges. Only long values stored in another order than their keys produce many.
const RANGES_MAX: usize = 1 << 16;
/// Largest alignment of sections in bytes, so that no gap between two is wider.
const GAP_BYTES_MAX: u64 = 4096;

/// The parts of a file seen so far.
#[derive(Default)]
pub(super) struct FileCoverage {
    /// End of each range by its beginning; adjacent ranges are merged.
    ranges: BTreeMap<u64, u64>,
    /// Whether parts of the data are unknown, because they are damaged or too many.
    pub(super) is_incomplete: bool,
}

impl FileCoverage {
    /// Adds a section; `false` if it overlaps another.
    fn add(&mut self, section: Section) -> bool {
        let (mut begin, mut end) = (section.offset, section.offset.saturating_add(section.bytes));
        let before = self.ranges.range(..end).next_back().map(|(&begin, &end)| (begin, end));
        match before.filter(|_| begin < end) {
            Some((_, before_end)) if before_end > begin => return false,
            Some((before_begin, before_end)) if before_end == begin => begin = before_begin,
            None if begin == end => return true,
            _ => {}
        }
        if let Some(behind) = self.ranges.remove(&end) {
            end = behind;
        }
        self.ranges.insert(begin, end);
        true
    }

    /// The gaps between the ranges, and before the first.
    fn gaps(&self) -> Vec<(u64, u64)> {
        let ends = std::iter::once(0).chain(self.ranges.values().copied());
        ends.zip(self.ranges.keys().copied()).filter(|(end, begin)| end < begin).collect()
    }
}

impl VerifyWalk<'_> {
    /// Adds a section of the table's own file.
    pub(super) fn cover(&mut self, section: Section, what: &str, coverage: &mut FileCoverage) -> Result<()> {
        if !coverage.add(section) {
            self.report.add(section.offset, format!("{what} overlaps another section"));
        }
        if coverage.ranges.len() <= RANGES_MAX || coverage.is_incomplete {
            return Ok(());
        }
        for (begin, end) in coverage.gaps() {
            if end - begin < GAP_BYTES_MAX && self.first_other_than_zero(begin, end)?.is_none() {
                coverage.add(Section { offset: begin, bytes: end - begin });
            }
        }
        if coverage.ranges.len() > RANGES_MAX / 2 {
            coverage.is_incomplete = true;
            coverage.ranges.clear();
        }
        Ok(())
    }

    /// Checks the sections after the data, given the `coverage` of the data, and the gaps between all sections.
    pub(super) fn space(&mut self, mut coverage: FileCoverage) -> Result<()> {
        let meta = &self.inner.meta;
        if coverage.is_incomplete {
            coverage = FileCoverage::default();
            coverage.add(Section { offset: 0, bytes: meta.data_bytes });
        }
        for layer in meta.layers.split_last().map_or(&[][..], |(_, below)| below) {
            let section = Section { offset: layer.offset, bytes: layer.page_bytes * layer.pages };
            self.cover(section, "an index layer", &mut coverage)?;
        }
        self.cover(meta.counts, "the section of counts", &mut coverage)?;
        if let Some(filter) = meta.filter {
            self.cover(filter.section, "the filter", &mut coverage)?;
        }
        if let DataSource::Foreign { checksums, .. } = &meta.source {
            self.cover(*checksums, "the section of checksums", &mut coverage)?;
        }
        let tail_offset = self.inner.files.tail_offset();
        let tail = Section { offset: tail_offset, bytes: self.inner.files.own().len() - tail_offset };
        self.cover(tail, "the tail", &mut coverage)?;
        for (begin, end) in coverage.gaps() {
            if let Some(offset) = self.first_other_than_zero(begin, end)? {
                self.report.add(offset, "nonzero bytes that belong to no section");
            }
        }
        Ok(())
    }

    /// The first nonzero byte between two offsets of the table's own file.
    fn first_other_than_zero(&self, begin: u64, end: u64) -> Result<Option<u64>> {
        let mut offset = begin;
        while offset < end {
            let bytes = (end - offset).min(READ_RUN_BYTES);
            let read = self.read(Section { offset, bytes })?;
            if let Some(at) = read.iter().position(|&byte| byte != 0) {
                return Ok(Some(offset + at as u64));
            }
            offset += bytes;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one_and_overlaps_are_seen() {
        let mut coverage = FileCoverage::default();
        let section = |offset, bytes| Section { offset, bytes };
        assert!(coverage.add(section(10, 10)) && coverage.add(section(30, 5)) && coverage.add(section(50, 0)));
        assert_eq!(coverage.gaps(), [(0, 10), (20, 30)]);
        assert!(coverage.add(section(20, 10)));
        assert_eq!(coverage.ranges, BTreeMap::from([(10, 35)]));
        for (offset, bytes) in [(9, 2), (10, 1), (0, 100), (34, 5), (15, 2)] {
            assert!(!coverage.add(section(offset, bytes)), "{offset}, {bytes}");
        }
        assert!(coverage.add(section(35, 5)) && coverage.add(section(0, 10)));
        assert_eq!(coverage.ranges, BTreeMap::from([(0, 40)]));
    }
}
