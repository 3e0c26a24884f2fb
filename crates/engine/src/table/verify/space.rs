//! Accounting for every byte: each belongs to one section, or is a zero between two.

use super::super::format::{Section, Source};
use super::walk::{STRETCH_BYTES, Walk};
use crate::error::Result;

impl Walk<'_> {
    /// Takes a section into account that should begin at or behind `covered`, up to which all bytes are accounted for;
    /// returns up to where they are now.
    pub(super) fn cover(&mut self, covered: u64, section: Section, what: &str) -> Result<u64> {
        if section.offset < covered {
            self.report.add(section.offset, format!("{what} begins before the end of what lies ahead of it"));
        }
        self.zeros(covered, section.offset)?;
        Ok(covered.max(section.offset + section.bytes))
    }

    /// The sections behind the data, of which `covered` bytes are accounted for.
    pub(super) fn space(&mut self, mut covered: u64) -> Result<()> {
        let meta = &self.inner.meta;
        let below = meta.layers.split_last().map_or(&[][..], |(_, below)| below);
        let mut sections: Vec<(Section, &str)> = below
            .iter()
            .map(|layer| (Section { offset: layer.offset, bytes: layer.unit_bytes * layer.units }, "an index layer"))
            .collect();
        sections.push((meta.counts, "the section of counts"));
        sections.extend(meta.filter.map(|filter| (filter.section, "the filter")));
        if let Source::Foreign { checksums, .. } = &meta.source {
            sections.push((*checksums, "the section of checksums"));
        }
        sections.retain(|(section, _)| section.bytes > 0);
        sections.sort_by_key(|(section, _)| section.offset);
        let tail_offset = self.inner.tail_offset;
        sections.push((Section { offset: tail_offset, bytes: self.inner.file.len() - tail_offset }, "the tail"));
        for (section, what) in sections {
            covered = self.cover(covered, section, what)?;
        }
        Ok(())
    }

    /// Checks that nothing but zeros lies between two places of the table's own file.
    fn zeros(&mut self, begin: u64, end: u64) -> Result<()> {
        let mut offset = begin;
        while offset < end {
            let bytes = (end - offset).min(STRETCH_BYTES);
            let read = self.read(Section { offset, bytes })?;
            if let Some(at) = read.iter().position(|&byte| byte != 0) {
                self.report.add(offset + at as u64, "bytes that belong to nothing, where zeros should be");
                return Ok(());
            }
            offset += bytes;
        }
        Ok(())
    }
}
