//! The verification of data: blocks, records, long values, and the counts and filter that describe them.

use super::space::FileCoverage;
use super::walk::{READ_RUN_BYTES, VerifyWalk};
use crate::block::checksum;
use crate::error::Result;
use crate::io::{Purpose, ReadRequest};
use crate::table::block::parts::StoredValue;
use crate::table::block::view::BlockView;
use crate::table::external::build::block_checksums;
use crate::table::format::counts::RecordCounts;
use crate::table::format::filter::{self, hash_key};
use crate::table::format::meta::{DataSource, FilterMeta, Section};
use crate::table::format::value::ValuePointer;

/// The state that the walk carries from one block to the next.
struct WalkState {
    /// The last record: key, sequence number, and the block in which its key begins.
    last: Option<(Vec<u8>, u64, u64)>,
    /// The current key.
    key: Vec<u8>,
    /// Whether the last record seen is the last of the previous block.
    unbroken: bool,
    /// Number of records before the current block, if known.
    records: Option<u64>,
    /// The parts of the table's own file seen so far.
    coverage: FileCoverage,
    /// End of the last block.
    end: u64,
    /// Checksums of the blocks of a foreign file.
    checksums: Option<Vec<u32>>,
    /// Number and pages of the current filter group.
    group: Option<(u64, Vec<u8>)>,
}

impl VerifyWalk<'_> {
    /// Walks over all blocks; returns the parts of the table's own file that they cover.
    pub(super) fn blocks(&mut self) -> Result<FileCoverage> {
        let checksums = block_checksums(self.inner, |section| self.read(section));
        let checksums = self.absorb(checksums)?.flatten();
        let mut trail = WalkState {
            last: None,
            key: Vec::new(),
            unbroken: true,
            records: Some(0),
            coverage: FileCoverage::default(),
            end: 0,
            checksums,
            group: None,
        };
        let blocks = self.inner.meta.blocks;
        let mut block = 0;
        while block < blocks {
            let sections = self.run(block)?;
            if sections.is_empty() {
                self.lose(block, &mut trail)?;
                block += 1;
                continue;
            }
            self.read_blocks(block, &sections, &mut trail)?;
            block += sections.len() as u64;
        }
        self.end_of_blocks(&trail)?;
        Ok(trail.coverage)
    }

    fn is_own(&self) -> bool {
        self.inner.meta.source == DataSource::Own
    }

    /// The contiguous blocks from `first` on that are read together; none if the first has no location.
    fn run(&mut self, first: u64) -> Result<Vec<Section>> {
        let mut sections: Vec<Section> = Vec::new();
        let mut bytes = 0;
        for block in first..self.inner.meta.blocks {
            let place = self.inner.section(0, block);
            let section = match sections.last() {
                None => match self.absorb(place)? {
                    Some(section) => section,
                    None => break,
                },
                Some(before) => match place {
                    Ok(section)
                        if section.offset == before.offset + before.bytes
                            && bytes + section.bytes <= READ_RUN_BYTES =>
                    {
                        section
                    }
                    _ => break,
                },
            };
            bytes += section.bytes;
            sections.push(section);
        }
        Ok(sections)
    }

    fn read_blocks(&mut self, first: u64, sections: &[Section], trail: &mut WalkState) -> Result<()> {
        let (Some(begin), Some(end)) = (sections.first(), sections.last()) else { return Ok(()) };
        let mut run = vec![0; (end.offset + end.bytes - begin.offset) as usize];
        let request = ReadRequest { offset: begin.offset, buffer: &mut run, purpose: Purpose::Walk };
        self.data.read(request)?;
        for (block, section) in (first..).zip(sections) {
            let at = (section.offset - begin.offset) as usize;
            let bytes = &run[at..at + section.bytes as usize];
            self.report.blocks += 1;
            self.compare(block, *section, bytes, trail);
            match self.absorb(self.inner.check(0, block, *section, bytes))? {
                Some(raw) => self.block(block, *section, &raw, trail)?,
                None => self.lose(block, trail)?,
            }
        }
        self.advance(run.len() as u64);
        Ok(())
    }

    /// Compares a block of a foreign file with the checksum taken when it was indexed.
    fn compare(&mut self, block: u64, section: Section, bytes: &[u8], trail: &WalkState) {
        let Some(checksums) = &trail.checksums else { return };
        let found = checksum::checksum(self.inner.files.id(), section.offset, bytes);
        if checksums.get(block as usize) != Some(&found) {
            self.found_in_data(section.offset, &format!("block {block} has changed since it was indexed"));
        }
    }

    /// Skips a block with unknown content.
    fn lose(&mut self, block: u64, trail: &mut WalkState) -> Result<()> {
        trail.unbroken = false;
        trail.coverage.is_incomplete = true;
        trail.records = self.counted_before(block + 1);
        Ok(())
    }

    fn counted_before(&self, block: u64) -> Option<u64> {
        let counts: Option<&RecordCounts> = self.inner.counts.get().filter(|_| self.has_counts);
        counts.and_then(|counts| counts.before(block))
    }

    fn block(&mut self, block: u64, section: Section, raw: &[u8], trail: &mut WalkState) -> Result<()> {
        let Some(view) = self.absorb(self.inner.view(block, raw))? else { return self.lose(block, trail) };
        if view.count() == 0 || !view.is_canonical() {
            self.found_in_data(section.offset, &format!("the layout of block {block} is not canonical"));
        }
        if section.offset < trail.end {
            self.found_in_data(section.offset, &format!("block {block} overlaps the previous block"));
        }
        trail.end = section.end();
        if self.is_own() {
            self.cover(section, "a block", &mut trail.coverage)?;
        }
        if self.has_counts && trail.records.is_some() && self.counted_before(block) != trail.records {
            let detail =
                format!("{:?} records lie before block {block}, but the counts state another number", trail.records);
            self.report.add(self.inner.meta.counts.offset, detail);
        }
        for index in 0..view.count() {
            if !self.record(block, section.offset, &view, index, trail)? {
                return self.lose(block, trail);
            }
        }
        trail.unbroken = true;
        trail.records = trail.records.map(|records| records + view.count() as u64);
        Ok(())
    }

    /// Checks one record; `false` if it is malformed.
    fn record(
        &mut self,
        block: u64,
        offset: u64,
        view: &BlockView<'_>,
        index: usize,
        trail: &mut WalkState,
    ) -> Result<bool> {
        let found = |walk: &mut Self, detail: &str| {
            walk.found_in_data(offset, &format!("record {index} of block {block} {detail}"));
        };
        let Some((stored_key, value)) = view.key(index).zip(view.value(index)) else {
            found(self, "is malformed");
            return Ok(false);
        };
        let mut kept = std::mem::take(&mut trail.key);
        stored_key.copy_to(&mut kept);
        let key = kept.as_slice();
        self.report.records += 1;
        if self.inner.meta.record_type.keys.width().is_some_and(|width| width != key.len()) {
            found(self, "has a key whose length does not match the key type");
        }
        let Some(sequence) = view.tag(index).map(|tag| tag.sequence) else {
            found(self, "has no version tag");
            return Ok(false);
        };
        let order =
            trail.last.as_ref().map(|(last, last_sequence, _)| (last.as_slice().cmp(key), sequence.cmp(last_sequence)));
        match order {
            Some((std::cmp::Ordering::Greater, _)) => found(self, "has a smaller key than the previous record"),
            Some((std::cmp::Ordering::Equal, sequences)) => {
                if self.inner.meta.distinct {
                    found(self, "repeats a key, but the metadata state that keys are distinct");
                }
                if sequences == std::cmp::Ordering::Greater {
                    found(self, "has a larger sequence number than the previous version");
                }
            }
            _ => {}
        }
        let is_new = order.is_none_or(|(keys, _)| keys != std::cmp::Ordering::Equal);
        if is_new {
            self.check_routes(block, index, key, trail)?;
        }
        if is_new || index == 0 {
            self.check_filter(block, key, trail)?;
        }
        if let StoredValue::Long(pointer) = value {
            self.value(pointer, trail)?;
        }
        let home = trail.last.as_ref().filter(|_| !is_new).map_or(block, |&(.., home)| home);
        trail.key = trail.last.take().map_or(Vec::new(), |(last, ..)| last);
        trail.last = Some((kept, sequence, home));
        Ok(true)
    }

    /// Routes a key that begins here, and absent keys before it.
    fn check_routes(&mut self, block: u64, index: usize, key: &[u8], trail: &WalkState) -> Result<()> {
        if !trail.unbroken && index == 0 {
            // The key may begin in the block that was skipped.
            return Ok(());
        }
        match &trail.last {
            None => self.check_before(key)?,
            Some((last, ..)) if last.as_slice() > key => return Ok(()),
            Some((last, ..)) if index == 0 => self.check_border(last, key, block)?,
            Some((last, _, home)) if *home != block => self.check_gap(last, key, block)?,
            _ => {}
        }
        self.check_present(key, block)
    }

    /// Checks that the filter admits a key.
    fn check_filter(&mut self, block: u64, key: &[u8], trail: &mut WalkState) -> Result<()> {
        let Some(meta) = self.inner.meta.filter else { return Ok(()) };
        let group = block / u64::from(meta.layout.blocks_per_group());
        if trail.group.as_ref().is_none_or(|(number, _)| *number != group) {
            trail.group = Some((group, self.filter_group(&meta, group)?));
        }
        let hash = hash_key(key);
        let place = (meta.layout.page_in_group(0, hash) as usize) * filter::FILTER_PAGE_BYTES;
        let page = trail.group.as_ref().and_then(|(_, pages)| pages.get(place..place + filter::FILTER_PAGE_BYTES));
        if page.is_some_and(|page| !filter::may_contain(page, hash)) {
            let detail = format!("the filter rejects a key of block {block}");
            self.report.add(meta.section.offset, detail);
        }
        Ok(())
    }

    fn filter_group(&self, meta: &FilterMeta, group: u64) -> Result<Vec<u8>> {
        let each = u64::from(meta.layout.pages_per_group()) * filter::FILTER_PAGE_BYTES as u64;
        let from = group.saturating_mul(each).min(meta.section.bytes);
        let bytes = each.min(meta.section.bytes - from);
        self.read(Section { offset: meta.section.offset + from, bytes })
    }

    /// Reads a long value to its end.
    fn value(&mut self, pointer: ValuePointer, trail: &mut WalkState) -> Result<()> {
        let reader = self.inner.value_stream_of(&self.data, pointer);
        let Some(mut reader) = self.absorb(reader)? else {
            trail.coverage.is_incomplete = true;
            return Ok(());
        };
        loop {
            let chunk = reader.next_chunk().map(|chunk| chunk.map(<[u8]>::len));
            match self.absorb(chunk)? {
                Some(Some(bytes)) => self.advance(bytes as u64),
                _ => break,
            }
        }
        self.report.values += 1;
        if self.is_own() {
            let section = Section { offset: pointer.offset, bytes: pointer.stored_bytes() };
            self.cover(section, "a long value", &mut trail.coverage)?;
        }
        Ok(())
    }

    fn end_of_blocks(&mut self, trail: &WalkState) -> Result<()> {
        if let (true, Some((last, ..))) = (trail.unbroken, trail.last.as_ref()) {
            self.check_after(last, self.inner.meta.blocks - 1)?;
        }
        if trail.records.is_some_and(|records| records != self.inner.meta.records) {
            let detail = format!("there are {:?} records, but the metadata state another number", trail.records);
            self.report.add(self.inner.files.tail_offset(), detail);
        }
        if trail.unbroken && self.inner.meta.blocks > 0 && trail.end != self.inner.meta.data_bytes {
            self.found_in_data(trail.end, "the data does not end where the metadata states");
        }
        Ok(())
    }
}
