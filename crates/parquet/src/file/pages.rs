//! Places of the pages of a row group, which the index stores in place of the footer and the offset index.

use crate::bytes_io::{Decoder, Encoder};
use std::ops::Range;

/// Most pages of a column in a row group.
pub(crate) const PAGES_MAX: usize = 1 << 22;

/// The flag of a column that is read as a whole.
const WHOLE: u64 = 1;
/// The flag of a column with bytes between its pages.
const GAPS: u64 = 2;
/// Bits of the flags; the codec is above them.
const FLAG_BITS: u32 = 2;

/// A data page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Offset in the file of its header.
    pub(crate) offset: u64,
    /// Its length with its header.
    pub(crate) bytes: u64,
    /// Its first row, counted in the row group.
    pub(crate) first_row: u64,
}

/// The pages of a column in a row group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnPages {
    /// The code of the compression, as Parquet defines it.
    pub(crate) codec: u8,
    /// Offset of the dictionary page, or of the first data page without one.
    pub(crate) start: u64,
    /// Length of the dictionary page with its header; 0 without one.
    pub(crate) dictionary_bytes: u64,
    /// How many of the first pages may refer to the dictionary: writers give it up where it grows too large.
    pub(crate) dictionary_pages: usize,
    /// Offset of the end of the last page.
    pub(crate) end: u64,
    /// The data pages; none for a column that is read as a whole, because the rows of its pages are not known.
    pub(crate) pages: Vec<Page>,
}

impl ColumnPages {
    /// Whether the column is read as a whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.pages.is_empty()
    }

    /// Whether pages with rows of ascending ranges may refer to the dictionary.
    pub(crate) fn refers_to_dictionary(&self, ranges: &[Range<u64>]) -> bool {
        let first = ranges.first().map(|range| self.pages_of(range).start);
        self.dictionary_bytes > 0 && first.is_some_and(|first| first < self.dictionary_pages)
    }

    /// The numbers of the pages with rows of a range that is not empty.
    pub(crate) fn pages_of(&self, rows: &Range<u64>) -> Range<usize> {
        let first = self.pages.partition_point(|page| page.first_row <= rows.start).saturating_sub(1);
        let end = self.pages.partition_point(|page| page.first_row < rows.end);
        first..end
    }
}

/// The pages of all columns of a row group, in the order of its leaf columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupPages {
    pub(crate) columns: Vec<ColumnPages>,
}

impl GroupPages {
    /// The rows at which a page of any column begins, ascending from 0: between two of them, a row needs one page of
    /// each column.
    pub(crate) fn cuts(&self) -> Vec<u64> {
        let firsts = self.columns.iter().flat_map(|column| &column.pages).map(|page| page.first_row);
        let mut cuts: Vec<u64> = std::iter::once(0).chain(firsts).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// Appends the stored form.
    pub(crate) fn encode(&self, rows: u64, out: &mut Encoder) {
        let mut before = 0;
        out.int(self.columns.len() as u64);
        for column in &self.columns {
            encode_column(column, rows, before, out);
            before = column.end;
        }
    }

    /// Decodes the stored form; `None` if it contradicts itself, or the length of the file.
    pub(crate) fn decode(stored: &[u8], rows: u64, file_bytes: u64) -> Option<Self> {
        let mut decoder = Decoder(stored);
        let count = decoder.count()?;
        let mut before = 0;
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            let column = decode_column(&mut decoder, rows, before, file_bytes)?;
            before = column.end;
            columns.push(column);
        }
        decoder.0.is_empty().then_some(Self { columns })
    }
}

fn encode_column(column: &ColumnPages, rows: u64, before: u64, out: &mut Encoder) {
    let pages = &column.pages;
    let gaps: Vec<u64> = pages.windows(2).map(|pair| pair[1].offset - pair[0].offset - pair[0].bytes).collect();
    let has_gaps = gaps.iter().any(|&gap| gap > 0);
    let flags = if pages.is_empty() { WHOLE } else { 0 } | if has_gaps { GAPS } else { 0 };
    out.int(u64::from(column.codec) << FLAG_BITS | flags);
    out.signed(column.start.wrapping_sub(before).cast_signed()).int(column.dictionary_bytes);
    if pages.is_empty() {
        out.int(column.end - column.start);
        return;
    }
    out.int(pages.len() as u64);
    if column.dictionary_bytes > 0 {
        out.int(column.dictionary_pages as u64);
    }
    let sizes: Vec<u64> = pages.iter().map(|page| page.bytes).collect();
    let ends = pages.iter().skip(1).map(|page| page.first_row).chain([rows]);
    let counts: Vec<u64> = pages.iter().zip(ends).map(|(page, end)| end - page.first_row).collect();
    out.packed(&sizes).packed(&counts[..counts.len() - 1]);
    if has_gaps {
        out.packed(&gaps);
    }
}

fn decode_column(decoder: &mut Decoder<'_>, rows: u64, before: u64, file_bytes: u64) -> Option<ColumnPages> {
    let head = decoder.int()?;
    let codec = u8::try_from(head >> FLAG_BITS).ok()?;
    let start = before.checked_add_signed(decoder.signed()?)?;
    let dictionary_bytes = decoder.int()?;
    if head & WHOLE != 0 {
        let end = start.checked_add(decoder.int()?).filter(|&end| end <= file_bytes)?;
        return (dictionary_bytes == 0).then_some(ColumnPages {
            dictionary_pages: 0,
            codec,
            start,
            dictionary_bytes,
            end,
            pages: Vec::new(),
        });
    }
    let count = decoder.small().filter(|count| (1..=PAGES_MAX).contains(count))?;
    let dictionary_pages = if dictionary_bytes > 0 { decoder.small().filter(|&pages| pages <= count)? } else { 0 };
    let sizes = decoder.packed(count)?;
    let counts = decoder.packed(count - 1)?;
    let gaps = if head & GAPS != 0 { decoder.packed(count - 1)? } else { Vec::new() };
    let mut offset = start.checked_add(dictionary_bytes)?;
    let mut first_row = 0_u64;
    let mut pages = Vec::with_capacity(count);
    for (at, bytes) in sizes.into_iter().enumerate() {
        pages.push(Page { offset, bytes, first_row });
        offset = offset.checked_add(bytes)?.checked_add(gaps.get(at).copied().unwrap_or(0))?;
        first_row = first_row.checked_add(counts.get(at).copied().unwrap_or(0))?;
    }
    let is_sound = bytes_fit(&pages) && counts.iter().all(|&count| count > 0) && first_row < rows.max(1);
    (is_sound && offset <= file_bytes).then_some(ColumnPages {
        dictionary_pages,
        codec,
        start,
        dictionary_bytes,
        end: offset,
        pages,
    })
}

/// Whether all pages have bytes, as many as Parquet can state.
fn bytes_fit(pages: &[Page]) -> bool {
    pages.iter().all(|page| (1..=i32::MAX as u64).contains(&page.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(start: u64, dictionary_bytes: u64, gap: u64, pages: &[(u64, u64)]) -> ColumnPages {
        let mut offset = start + dictionary_bytes;
        let mut end = offset;
        let pages = pages
            .iter()
            .map(|&(bytes, first_row)| {
                let page = Page { offset, bytes, first_row };
                end = offset + bytes;
                offset = end + gap;
                page
            })
            .collect();
        let dictionary_pages = if dictionary_bytes > 0 { 1 } else { 0 };
        ColumnPages { codec: 6, start, dictionary_bytes, dictionary_pages, end, pages }
    }

    fn example() -> GroupPages {
        let whole =
            ColumnPages { codec: 0, dictionary_pages: 0, start: 900, dictionary_bytes: 0, end: 950, pages: Vec::new() };
        let columns =
            vec![column(4, 0, 0, &[(100, 0), (90, 10), (3, 20)]), column(300, 25, 7, &[(50, 0), (50, 15)]), whole];
        GroupPages { columns }
    }

    #[test]
    fn pages_come_back_and_every_cut_form_is_refused() {
        let mut out = Encoder::default();
        example().encode(30, &mut out);
        assert_eq!(GroupPages::decode(&out.0, 30, 950), Some(example()));
        assert_eq!(GroupPages::decode(&out.0, 30, 949), None, "past the end of the file");
        assert_eq!(GroupPages::decode(&out.0, 20, 950), None, "pages after the last row");
        for length in 0..out.0.len() {
            assert_eq!(GroupPages::decode(&out.0[..length], 30, 950), None);
        }
    }

    /// The bytes of the example of the document: lines of an offset and up to sixteen bytes; the last is the length.
    fn documented() -> Vec<u8> {
        let document = include_str!("../../../../docs/format/parquet.md");
        let (_, rest) = document.split_once("```hex pages\n").expect("an example of this name");
        let lines = rest.lines().take_while(|line| !line.starts_with("```"));
        let words = lines.flat_map(|line| line.split_whitespace().skip(1));
        words.map(|word| u8::from_str_radix(word, 16).expect("two digits")).collect()
    }

    #[test]
    fn the_example_of_the_document_is_what_is_written_and_read() {
        let mut group = example();
        group.columns[0].codec = 0;
        let mut out = Encoder::default();
        group.encode(30, &mut out);
        assert_eq!(format!("{:02x?}", out.0), format!("{:02x?}", documented()));
        assert_eq!(GroupPages::decode(&documented(), 30, 950), Some(group));
    }

    #[test]
    fn between_two_cuts_each_column_has_one_page() {
        let pages = example();
        assert_eq!(pages.cuts(), [0, 10, 15, 20]);
        assert_eq!(pages.columns[0].pages_of(&(10..15)), 1..2);
        assert_eq!(pages.columns[1].pages_of(&(10..15)), 0..1);
        assert_eq!(pages.columns[0].pages_of(&(0..30)), 0..3);
        assert_eq!(pages.columns[0].pages_of(&(29..30)), 2..3);
    }

    #[test]
    fn a_page_takes_few_bytes() {
        let pages: Vec<(u64, u64)> = (0..1000).map(|i| (60_000 + i * 37 % 800, i * 20_000)).collect();
        let group = GroupPages { columns: vec![column(4, 300, 0, &pages)] };
        let mut out = Encoder::default();
        group.encode(20_000_000, &mut out);
        assert!(out.0.len() < 1600, "{} bytes for 1000 pages", out.0.len());
    }
}
