//! The filter for absent keys: a blocked Bloom filter in checksummed pages, partitioned by position.
//!
//! The index routes a key to its data block before the filter is consulted, so the filter need not be one large
//! structure: each *group* of consecutive data blocks has a small filter of its own. It has one [`FILTER_PAGE_BYTES`]
//! page, or several if a single block has more keys than a page serves, or if that wastes less space. A query costs one
//! read of one page, which saves the read of a data block for nearly every absent key.
//!
//! ```text
//! blocks   | 0 1 2 3 4 | 5 6 7 8 9 | 10 ...     blocks_per_group = 5
//! pages    |     0     |     1     |  2 ...     pages_per_group  = 1
//!
//! page     | 63 lines of 64 bytes | probes: 1 byte | zeros: 59 | CRC-32C: 4 |
//! ```
//!
//! A key's hash is XXH3-64 of its bytes. Its high half chooses a line of the page, its low half the page of the group,
//! and both together, mixed once more, up to seven of the 512 bits of that line: one key touches one cache line.
//!
//! Guarantee: a key that was added is never reported as absent. Not guaranteed: about 1 % of the absent keys are
//! reported as possibly present at 10 bits a key, and more if a group holds more keys than the groups it was designed
//! for.
//!
//! Source: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2007), section 3.1 (blocked).

use crate::block::checksum::CHECKSUM_BYTES;
use crate::error::{Error, Result};
use std::ops::RangeInclusive;
use twox_hash::XxHash3_64;

/// Stored size of a page in bytes, checksum included.
pub const FILTER_PAGE_BYTES: usize = 4096;
const LINE_BYTES: usize = 64;
const LINES: usize = (FILTER_PAGE_BYTES - CHECKSUM_BYTES) / LINE_BYTES;
const PAGE_BITS: usize = LINES * LINE_BYTES * 8;
/// Offset of the number of bits set for a key.
const PROBES_OFFSET: usize = LINES * LINE_BYTES;
/// A hash provides seven times nine bits.
const PROBES_MAX: u8 = 7;
/// Enough for a block of 1 MiB full of keys without values, at 32 bits a key.
const PAGES_PER_GROUP_MAX: u32 = 1024;
/// Limit for the pages of a group, as a multiple of the pages that one block needs.
const GROUP_GROWTH_MAX: u32 = 8;
/// Ratio of a group's pages to what its blocks need at which no larger group is tried.
const WASTE_RATIO_MAX: f64 = 1.05;

/// The hash of a key: XXH3-64, seed 0.
#[must_use]
pub fn hash_key(key: &[u8]) -> u64 {
    XxHash3_64::oneshot(key)
}

/// Whether a key with this hash may be in the page; `false` is certain.
///
/// The checksum of `page` must have been verified. An invalid page (of another length, or with an impossible number of
/// probes) rules nothing out.
#[must_use]
pub fn may_contain(page: &[u8], hash: u64) -> bool {
    let probes = page.get(PROBES_OFFSET).copied().unwrap_or(0);
    if page.len() != FILTER_PAGE_BYTES || probes > PROBES_MAX {
        return true;
    }
    let line = line_of(hash) * LINE_BYTES;
    let line = page.get(line..line + LINE_BYTES).unwrap_or_default();
    bits_of(hash, probes).all(|bit| line.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1))
}

/// A line of a page, aligned to a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct FilterLine([u8; LINE_BYTES]);

/// A whole filter in memory; a query touches one cache line.
#[derive(Debug)]
pub(in crate::table) struct ResidentFilter {
    lines: Vec<FilterLine>,
}

/// Number of lines in a page, including the one with probes and checksum.
const PAGE_LINES: usize = FILTER_PAGE_BYTES / LINE_BYTES;

impl ResidentFilter {
    /// Creates a filter from pages with verified checksums. Pages that state different numbers of probes are corrupt
    /// and rule nothing out.
    pub(in crate::table) fn new(pages: &[u8]) -> Self {
        let probes = pages.get(PROBES_OFFSET);
        let is_sound = pages
            .chunks(FILTER_PAGE_BYTES)
            .all(|page| page.len() == FILTER_PAGE_BYTES && page.get(PROBES_OFFSET) == probes);
        // The number of lines is known, so that the filter is copied once, into memory of its size.
        let sound = if is_sound { pages } else { &[] };
        let lines = sound.as_chunks().0.iter().map(|line| FilterLine(*line)).collect();
        Self { lines }
    }

    pub(in crate::table) fn bytes(&self) -> u64 {
        (self.lines.len() * LINE_BYTES) as u64
    }

    /// See [`may_contain`]; a page that does not exist rules nothing out.
    #[inline]
    pub(in crate::table) fn may_contain(&self, page: u64, hash: u64) -> bool {
        let begin = page as usize * PAGE_LINES;
        let Some(lines) = self.lines.get(begin..begin + PAGE_LINES) else { return true };
        // All pages of a filter state the same number; the first page's line stays in the processor's cache.
        let probes = self.lines.get(PAGE_LINES - 1).map_or(0, |last| last.0[PROBES_OFFSET % LINE_BYTES]);
        probes > PROBES_MAX || {
            let line = &lines[line_of(hash)].0;
            bits_of(hash, probes).fold(1, |all, bit| all & (line[bit / 8] >> (bit % 8))) & 1 == 1
        }
    }
}

/// Maps the 32 bits of `part` evenly to `0..count`.
#[inline]
fn scale(part: u32, count: u32) -> u32 {
    ((u64::from(part) * u64::from(count)) >> 32) as u32
}

fn line_of(hash: u64) -> usize {
    scale((hash >> 32) as u32, LINES as u32) as usize
}

/// The bits of its line that a key sets: nine bits of the mixed hash each.
#[inline]
fn bits_of(hash: u64, probes: u8) -> impl Iterator<Item = usize> {
    // The finaliser of SplitMix64: the bits must not depend on the line alone.
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let mixed = mixed ^ (mixed >> 31);
    (0..u32::from(probes)).map(move |probe| (mixed >> (9 * probe)) as usize & 511)
}

/// The assignment of filter pages to data blocks; stored with the table's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterLayout {
    blocks_per_group: u32,
    pages_per_group: u32,
}

impl FilterLayout {
    /// A layout read from a file. `None` unless both numbers are at least 1 and a group has at most 1,024 pages.
    #[must_use]
    pub fn new(blocks_per_group: u32, pages_per_group: u32) -> Option<Self> {
        let in_range = blocks_per_group >= 1 && (1..=PAGES_PER_GROUP_MAX).contains(&pages_per_group);
        in_range.then_some(Self { blocks_per_group, pages_per_group })
    }

    /// Number of consecutive data blocks that share a group of pages.
    #[must_use]
    pub fn blocks_per_group(self) -> u32 {
        self.blocks_per_group
    }

    /// Number of pages in a group; a key's hash chooses one of them.
    #[must_use]
    pub fn pages_per_group(self) -> u32 {
        self.pages_per_group
    }

    /// The page that covers a key with this hash, where `block` is the data block that would hold it.
    ///
    /// If an index leaves several blocks possible, each of their groups must be queried: see
    /// [`FilterLayout::groups_of_blocks`].
    #[inline]
    #[must_use]
    pub fn page_of(self, block: u64, hash: u64) -> u64 {
        self.page_in_group(block / u64::from(self.blocks_per_group), hash)
    }

    /// The page of `group` that covers a key with this hash.
    #[inline]
    #[must_use]
    pub fn page_in_group(self, group: u64, hash: u64) -> u64 {
        group.saturating_mul(u64::from(self.pages_per_group)).saturating_add(self.place_in_group(hash) as u64)
    }

    #[inline]
    fn place_in_group(self, hash: u64) -> usize {
        scale(hash as u32, self.pages_per_group) as usize
    }

    /// The groups of a range of blocks.
    #[must_use]
    pub fn groups_of_blocks(self, blocks: RangeInclusive<u64>) -> RangeInclusive<u64> {
        let per_group = u64::from(self.blocks_per_group);
        blocks.start() / per_group..=blocks.end() / per_group
    }

    /// Number of filter pages for a table of `blocks` data blocks.
    #[must_use]
    pub fn page_count(self, blocks: u64) -> u64 {
        blocks.div_ceil(u64::from(self.blocks_per_group)).saturating_mul(u64::from(self.pages_per_group))
    }

    /// Size of the filter for a table of `blocks` data blocks, in bytes.
    #[must_use]
    pub fn filter_bytes(self, blocks: u64) -> u64 {
        self.page_count(blocks).saturating_mul(FILTER_PAGE_BYTES as u64)
    }
}

/// The expected share of absent keys that a filter of `filter_bytes` for `keys` keys lets through: lines get keys by a
/// Poisson distribution, and each key sets bits of its line. The number of bits is that of the builder.
pub(crate) fn expected_false_positives(filter_bytes: u64, keys: u64) -> f64 {
    let lines = (filter_bytes / FILTER_PAGE_BYTES as u64 * LINES as u64) as f64;
    let (line_bits, mean) = ((LINE_BYTES * 8) as f64, keys as f64 / lines);
    // Filters have at least a bit for each key.
    if lines == 0.0 || mean > line_bits {
        return 1.0;
    }
    let probes = (line_bits / mean * 0.6).floor().clamp(1.0, f64::from(PROBES_MAX));
    let (mut share, mut passed) = ((-mean).exp(), 0.0);
    for held in 0..LINE_BYTES * 16 {
        let free = (1.0 - 1.0 / line_bits).powf(probes * held as f64);
        passed += share * (1.0 - free).powf(probes);
        share *= mean / (held + 1) as f64;
    }
    passed.min(1.0)
}

/// The output of a [`FilterBuilder`], called with each page in order. A page has room for its checksum in its last four
/// bytes; the sink seals it for the location where it is written ([`crate::block::checksum::seal`]).
pub type FilterPageSink<'a> = dyn FnMut(&mut [u8]) -> Result<()> + 'a;

/// Builds a filter while data blocks are written, in the memory of one group.
///
/// The hashes of the first blocks are buffered (8 bytes a key) until there are enough to choose the [`FilterLayout`],
/// which then holds for the whole table.
#[derive(Debug)]
pub struct FilterBuilder {
    bits_per_key: u32,
    probes: u8,
    /// Hashes of the first blocks, and the end of each block among them.
    noted: Vec<u64>,
    noted_ends: Vec<usize>,
    group: Option<FilterGroup>,
    last_hash: Option<u64>,
}

/// The pages of the current group.
#[derive(Debug)]
struct FilterGroup {
    layout: FilterLayout,
    pages: Vec<u8>,
    blocks: u32,
}

impl FilterBuilder {
    /// Creates a builder for a filter of `bits_per_key`, from 1 to 32. With 10 bits about 1 % of the absent keys pass.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for other values.
    pub fn new(bits_per_key: u32) -> Result<Self> {
        if !(1..=32).contains(&bits_per_key) {
            let message = format!("a filter cannot have {bits_per_key} bits per key; choose 1 to 32 (10 is common)");
            return Err(Error::input(message));
        }
        // Fewer than ln 2 * bits: the keys of a page do not spread evenly over its lines, and a full line is worst.
        let probes = (bits_per_key * 6 / 10).clamp(1, u32::from(PROBES_MAX)) as u8;
        let (noted, noted_ends) = (Vec::new(), Vec::new());
        Ok(Self { bits_per_key, probes, noted, noted_ends, group: None, last_hash: None })
    }

    /// Adds a record of the current data block by its key's hash. Consecutive repeats count once.
    pub fn add(&mut self, hash: u64) {
        if self.last_hash.replace(hash) == Some(hash) {
            return;
        }
        match &mut self.group {
            Some(group) => group.add(hash, self.probes),
            None => self.noted.push(hash),
        }
    }

    /// Ends the current data block. Every block must be ended, even an empty one.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn end_block(&mut self, sink: &mut FilterPageSink<'_>) -> Result<()> {
        // The next block may belong to another group, which must cover the key too.
        self.last_hash = None;
        if let Some(group) = &mut self.group {
            return group.end_block(sink);
        }
        self.noted_ends.push(self.noted.len());
        // One block too many has shown how many fit. Blocks without keys could be buffered without end.
        let is_enough = self.noted.len() > self.keys_per_page() || self.noted_ends.len() > self.keys_per_page();
        if is_enough { self.lay_out(sink) } else { Ok(()) }
    }

    /// Ends the filter and the current group. All blocks must have been ended. Returns the layout; `None` for a table
    /// without blocks, which has no pages.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn finish(mut self, sink: &mut FilterPageSink<'_>) -> Result<Option<FilterLayout>> {
        if self.group.is_none() && !self.noted_ends.is_empty() {
            self.lay_out(sink)?;
        }
        let Some(mut group) = self.group else { return Ok(None) };
        group.close(sink)?;
        Ok(Some(group.layout))
    }

    fn keys_per_page(&self) -> usize {
        PAGE_BITS / self.bits_per_key as usize
    }

    /// Chooses the layout from the buffered blocks and adds them to pages.
    fn lay_out(&mut self, sink: &mut FilterPageSink<'_>) -> Result<()> {
        let layout = self.choose_layout();
        let mut group = FilterGroup::new(layout, self.probes);
        let noted = std::mem::take(&mut self.noted);
        let mut start = 0;
        for end in std::mem::take(&mut self.noted_ends) {
            noted.get(start..end).unwrap_or_default().iter().for_each(|&hash| group.add(hash, self.probes));
            group.end_block(sink)?;
            start = end;
        }
        self.group = Some(group);
        Ok(())
    }

    fn choose_layout(&self) -> FilterLayout {
        let (keys, blocks) = (self.noted.len(), self.noted_ends.len().max(1));
        if keys <= self.keys_per_page() {
            return FilterLayout { blocks_per_group: blocks as u32, pages_per_group: 1 };
        }
        let pages_per_block = keys as f64 / (blocks * self.keys_per_page()) as f64;
        let pages_max = (pages_per_block.ceil() as u32 * GROUP_GROWTH_MAX).min(PAGES_PER_GROUP_MAX);
        fitting_layout(pages_per_block, pages_max)
    }
}

/// The smallest group that wastes hardly any space, or else the one of at most `pages_max` that wastes least: one block
/// that fills 1.1 pages would take two of them, but ten such blocks take eleven.
fn fitting_layout(pages_per_block: f64, pages_max: u32) -> FilterLayout {
    let mut best = (f64::INFINITY, FilterLayout { blocks_per_group: 1, pages_per_group: pages_max });
    for pages_per_group in 1..=pages_max {
        let blocks_per_group = (f64::from(pages_per_group) / pages_per_block) as u32;
        if blocks_per_group == 0 {
            continue;
        }
        let waste = f64::from(pages_per_group) / (f64::from(blocks_per_group) * pages_per_block);
        if waste < best.0 {
            best = (waste, FilterLayout { blocks_per_group, pages_per_group });
        }
        if waste <= WASTE_RATIO_MAX {
            break;
        }
    }
    best.1
}

impl FilterGroup {
    fn new(layout: FilterLayout, probes: u8) -> Self {
        let mut pages = vec![0; layout.pages_per_group as usize * FILTER_PAGE_BYTES];
        pages.chunks_exact_mut(FILTER_PAGE_BYTES).for_each(|page| page[PROBES_OFFSET] = probes);
        Self { layout, pages, blocks: 0 }
    }

    fn add(&mut self, hash: u64, probes: u8) {
        let line = self.layout.place_in_group(hash) * FILTER_PAGE_BYTES + line_of(hash) * LINE_BYTES;
        let line = &mut self.pages[line..line + LINE_BYTES];
        bits_of(hash, probes).for_each(|bit| line[bit / 8] |= 1 << (bit % 8));
    }

    fn end_block(&mut self, sink: &mut FilterPageSink<'_>) -> Result<()> {
        self.blocks += 1;
        if self.blocks == self.layout.blocks_per_group { self.close(sink) } else { Ok(()) }
    }

    /// Writes the pages, if the group has blocks, and clears them for the next group.
    fn close(&mut self, sink: &mut FilterPageSink<'_>) -> Result<()> {
        if self.blocks == 0 {
            return Ok(());
        }
        for page in self.pages.chunks_exact_mut(FILTER_PAGE_BYTES) {
            sink(page)?;
            page[..PROBES_OFFSET].fill(0);
        }
        self.blocks = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::checksum::{check, seal};
    use crate::error::Cause;
    use proptest::prelude::*;

    /// Builds the filter of a table whose blocks hold these keys.
    fn build(
        bits_per_key: u32,
        blocks: impl IntoIterator<Item = impl IntoIterator<Item = u64>>,
    ) -> (Vec<Vec<u8>>, Option<FilterLayout>, u64) {
        let mut builder = FilterBuilder::new(bits_per_key).unwrap();
        let mut pages = Vec::new();
        let mut sink = |page: &mut [u8]| {
            seal(1, pages.len() as u64, page);
            pages.push(page.to_vec());
            Ok(())
        };
        let mut block_count = 0;
        for block in blocks {
            block.into_iter().for_each(|key| builder.add(hash_key(&key.to_be_bytes())));
            builder.end_block(&mut sink).unwrap();
            block_count += 1;
        }
        let layout = builder.finish(&mut sink).unwrap();
        (pages, layout, block_count)
    }

    fn asks(pages: &[Vec<u8>], layout: FilterLayout, block: u64, key: u64) -> bool {
        let hash = hash_key(&key.to_be_bytes());
        may_contain(&pages[usize::try_from(layout.page_of(block, hash)).unwrap()], hash)
    }

    /// Keys `block * per_block ..`, times two so that odd ones are absent.
    fn even_blocks(blocks: u64, per_block: u64) -> impl Iterator<Item = impl Iterator<Item = u64>> {
        (0..blocks).map(move |block| (0..per_block).map(move |i| 2 * (block * per_block + i)))
    }

    /// The share of absent keys that pass, queried in the block where they would be.
    fn false_positives(bits_per_key: u32, blocks: u64, per_block: u64) -> f64 {
        let (pages, layout, count) = build(bits_per_key, even_blocks(blocks, per_block));
        let layout = layout.unwrap();
        assert_eq!(pages.len() as u64, layout.page_count(count));
        let keys = blocks * per_block;
        let passed = (0..keys).filter(|i| asks(&pages, layout, i / per_block, 2 * i + 1)).count();
        for i in 0..keys {
            assert!(asks(&pages, layout, i / per_block, 2 * i), "key {} was said to be absent", 2 * i);
        }
        passed as f64 / keys as f64
    }

    #[test]
    fn the_hash_is_the_standard_one() {
        assert_eq!(hash_key(b""), 0x2d06_8005_38d3_94c2, "XXH3-64 of nothing, as its specification has it");
    }

    #[test]
    fn ten_bits_a_key_let_less_than_two_percent_of_absent_keys_through() {
        for (blocks, per_block) in [(4000, 255), (500, 2000), (40, 10_000), (3, 65_000), (100, 4096), (100_000, 3)] {
            let rate = false_positives(10, blocks, per_block);
            assert!(rate < 0.02, "{rate} with blocks of {per_block} keys");
        }
    }

    #[test]
    fn more_bits_let_fewer_absent_keys_through() {
        let rates = [2, 5, 8, 10, 14, 20, 32].map(|bits| false_positives(bits, 2000, 255));
        assert!(rates.windows(2).all(|pair| pair[1] < pair[0]), "{rates:?}");
        assert!(rates[0] < 0.5 && rates[6] < 0.000_5, "{rates:?}");
    }

    #[test]
    fn the_expected_rate_is_the_measured_one() {
        for bits in [5, 10, 14] {
            let (pages, ..) = build(bits, even_blocks(2000, 255));
            let expected = expected_false_positives((pages.len() * FILTER_PAGE_BYTES) as u64, 2000 * 255);
            let measured = false_positives(bits, 2000, 255);
            assert!((expected / measured - 1.0).abs() < 0.1, "{bits} bits: {expected}, measured {measured}");
        }
        assert_eq!([expected_false_positives(0, 9), expected_false_positives(4096, 1 << 40)], [1.0, 1.0]);
        assert!(expected_false_positives(4096, 1) < 1e-9 && expected_false_positives(4096, 0) == 0.0);
    }

    #[test]
    fn a_filter_takes_about_the_bits_that_were_asked_for() {
        for (bits, blocks, per_block) in [
            (10, 4000, 255),
            (10, 40, 10_000),
            (8, 3000, 100),
            (16, 100, 65_536),
            (10, 400, 4096),
            (10, 400, 1900),
            (10, 400, 3226),
        ] {
            let (pages, layout, count) = build(bits, even_blocks(blocks, per_block));
            let bytes = layout.unwrap().filter_bytes(count);
            assert_eq!(bytes, (pages.len() * FILTER_PAGE_BYTES) as u64);
            let found = bytes as f64 * 8.0 / (blocks * per_block) as f64;
            assert!(found > 0.9 * f64::from(bits) && found < 1.15 * f64::from(bits), "{found} bits instead of {bits}");
        }
    }

    #[test]
    fn repeats_count_once_and_are_known_in_every_group_that_they_cross() {
        let all_equal = (0..10_000).map(|_| std::iter::repeat_n(42_u64, 250));
        let (pages, layout, count) = build(10, all_equal);
        let layout = layout.unwrap();
        assert!(layout.filter_bytes(count) < 20_000, "{} bytes for one key", layout.filter_bytes(count));
        assert!((0..count).all(|block| asks(&pages, layout, block, 42)));
    }

    #[test]
    fn tables_of_no_block_one_block_and_empty_blocks_have_filters() {
        assert_eq!(build(10, std::iter::empty::<[u64; 0]>()), (vec![], None, 0));
        let (pages, layout, _) = build(10, [[7]]);
        assert_eq!((pages.len(), layout), (1, FilterLayout::new(1, 1)));
        assert!(asks(&pages, layout.unwrap(), 0, 7));
        assert!((1000..2000).filter(|&key| asks(&pages, layout.unwrap(), 0, key)).count() < 3);
        let (pages, layout, count) = build(10, vec![vec![]; 10_000]);
        assert_eq!(pages.len() as u64, layout.unwrap().page_count(count));
        assert!((0..1000).all(|key| !asks(&pages, layout.unwrap(), key, key)));
    }

    #[test]
    fn an_empty_unit_rules_everything_out_and_what_is_no_unit_nothing() {
        let mut page = vec![0; FILTER_PAGE_BYTES];
        page[PROBES_OFFSET] = 6;
        assert!((0..1000).all(|key: u64| !may_contain(&page, hash_key(&key.to_le_bytes()))));
        page[PROBES_OFFSET] = 0;
        assert!(may_contain(&page, 5), "no probe rules nothing out");
        page[PROBES_OFFSET] = 8;
        assert!(may_contain(&page, 5), "more probes than a hash has bits for");
        page[PROBES_OFFSET] = 6;
        for length in [0, 1, 63, 64, PROBES_OFFSET, PROBES_OFFSET + 1, FILTER_PAGE_BYTES - 1] {
            assert!(may_contain(&page[..length], 5), "a page of {length} bytes ruled a key out");
        }
    }

    #[test]
    fn units_have_room_for_their_checksum_and_nothing_else_there() {
        let (pages, ..) = build(10, even_blocks(2000, 255));
        for (i, page) in pages.iter().enumerate() {
            assert_eq!(page.len(), FILTER_PAGE_BYTES);
            assert!(check(1, i as u64, page));
            assert_eq!(page[PROBES_OFFSET], 6);
            assert!(page[PROBES_OFFSET + 1..FILTER_PAGE_BYTES - CHECKSUM_BYTES].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn layouts_that_no_builder_makes_are_refused() {
        for (blocks, pages) in [(0, 1), (1, 0), (1, PAGES_PER_GROUP_MAX + 1), (0, 0), (u32::MAX, u32::MAX)] {
            assert_eq!(FilterLayout::new(blocks, pages), None, "{blocks} blocks, {pages} pages");
        }
        let widest = FilterLayout::new(u32::MAX, 1).unwrap();
        assert_eq!((widest.page_count(u64::MAX), widest.page_of(u64::MAX, 0)), ((1 << 32) + 1, (1 << 32) + 1));
        let densest = FilterLayout::new(1, PAGES_PER_GROUP_MAX).unwrap();
        assert_eq!((densest.filter_bytes(u64::MAX), densest.page_of(u64::MAX, u64::MAX)), (u64::MAX, u64::MAX));
    }

    #[test]
    fn senseless_sizes_are_refused() {
        for bits in [0, 33, u32::MAX] {
            assert!(matches!(FilterBuilder::new(bits), Err(Error { cause: Cause::Input, .. })));
        }
    }

    #[test]
    fn the_builder_holds_one_group_however_many_blocks_stream_by() {
        let mut builder = FilterBuilder::new(10).unwrap();
        let mut sink = |_: &mut [u8]| Ok(());
        for block in 0..20_000_u64 {
            (0..250).for_each(|i| builder.add(hash_key(&(block * 250 + i).to_be_bytes())));
            builder.end_block(&mut sink).unwrap();
            let group = builder.group.as_ref().map_or(0, |group| group.pages.capacity());
            let held = builder.noted.capacity() * 8 + builder.noted_ends.capacity() * 8 + group;
            assert!(held <= 40_000, "{held} bytes at block {block}");
        }
    }

    proptest! {
        #[test]
        fn no_key_is_ever_said_to_be_absent(
            blocks in proptest::collection::vec(proptest::collection::vec(0_u64..5000, 0..600), 0..40),
            bits in 1_u32..=32,
        ) {
            let (pages, layout, count) = build(bits, blocks.clone());
            prop_assert_eq!(pages.len() as u64, layout.map_or(0, |layout| layout.page_count(count)));
            for (block, keys) in blocks.into_iter().enumerate() {
                let layout = layout.unwrap();
                prop_assert_eq!(FilterLayout::new(layout.blocks_per_group(), layout.pages_per_group()), Some(layout));
                let group = block as u64 / u64::from(layout.blocks_per_group());
                prop_assert!(layout.groups_of_blocks(0..=block as u64).contains(&group));
                for key in keys {
                    prop_assert!(asks(&pages, layout, block as u64, key));
                }
            }
        }

        #[test]
        fn hostile_units_do_not_panic(page in proptest::collection::vec(any::<u8>(), 0..5000), hash: u64) {
            let mut page = page;
            let is_page = page.len() == FILTER_PAGE_BYTES;
            prop_assert!(is_page || may_contain(&page, hash));
            page.resize(FILTER_PAGE_BYTES, 0xff);
            let _ = may_contain(&page, hash);
        }
    }
}
