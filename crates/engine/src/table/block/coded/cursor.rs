//! Access to the records of a coded block in order: a group of each column is decoded at a time.

use super::{CodedBlock, FrontKeys, KeyPart, StoredValues, put_integer, value_word_range, value_words};
use crate::block::Slice;
use crate::table::block::key_code::Alphabet;
use crate::table::block::parts::VersionTag;
use std::ops::Range;
use std::sync::Arc;

/// The records of a coded block, those of one group decoded.
///
/// A merge or a scan moves to the next record without decoding anything, except at the first one of each group.
#[derive(Debug)]
pub(in crate::table) struct CodedCursor {
    block: CodedBlock,
    /// The decoded records. What follows is theirs.
    rows: Range<usize>,
    /// Keys, one after another, unless they are front-coded.
    keys: Vec<u8>,
    front_keys: FrontKeys,
    tags: Vec<VersionTag>,
    /// Values that are stored as numbers, one after another.
    values: Vec<u8>,
    /// Otherwise, where each value begins in the block, and where the last one ends.
    borders: Vec<usize>,
    numbers: Vec<u64>,
}

impl CodedCursor {
    pub(in crate::table) fn new(block: CodedBlock) -> Self {
        Self {
            block,
            rows: 0..0,
            keys: Vec::new(),
            front_keys: FrontKeys::default(),
            tags: Vec::new(),
            values: Vec::new(),
            borders: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Goes on with another block.
    pub(in crate::table) fn enter(&mut self, block: CodedBlock) {
        (self.block, self.rows) = (block, 0..0);
        self.front_keys.clear();
    }

    /// Decodes the group of a record unless that has been done; `None` if the group is malformed.
    #[inline]
    pub(in crate::table) fn load(&mut self, raw: &[u8], row: usize) -> Option<()> {
        if self.is_loaded(row) { Some(()) } else { self.decode(raw, row) }
    }

    /// Whether the group of a record is decoded.
    #[inline]
    pub(in crate::table) fn is_loaded(&self, row: usize) -> bool {
        self.rows.contains(&row)
    }

    /// The key of a loaded record.
    #[inline]
    pub(in crate::table) fn key(&self, row: usize) -> Option<&[u8]> {
        if self.block.is_front() {
            return self.front_keys.key(row);
        }
        let (at, width) = (row.checked_sub(self.rows.start)?, self.block.key_bytes());
        self.keys.get(at * width..(at + 1) * width)
    }

    /// Kind and sequence number of a loaded record.
    #[inline]
    pub(in crate::table) fn tag(&self, row: usize) -> Option<VersionTag> {
        self.tags.get(row.checked_sub(self.rows.start)?).copied()
    }

    /// The value of a loaded record.
    #[inline]
    pub(in crate::table) fn value<'a>(&'a self, raw: &'a [u8], row: usize) -> Option<&'a [u8]> {
        let at = row.checked_sub(self.rows.start)?;
        match self.block.values {
            StoredValues::Words { .. } => self.decoded_value(at),
            _ => raw.get(self.place(at)?),
        }
    }

    /// The value of a loaded record, shared where it is in the block.
    #[inline]
    pub(in crate::table) fn value_slice(&self, raw: &Arc<[u8]>, row: usize) -> Option<Slice> {
        let at = row.checked_sub(self.rows.start)?;
        match self.block.values {
            StoredValues::Words { .. } => self.decoded_value(at).map(Slice::from),
            _ => Slice::of_block(raw, self.place(at)?),
        }
    }

    #[inline]
    fn decoded_value(&self, at: usize) -> Option<&[u8]> {
        let width = self.block.value as usize;
        self.values.get(at * width..(at + 1) * width)
    }

    #[inline]
    fn place(&self, at: usize) -> Option<Range<usize>> {
        let &[begin, end] = self.borders.get(at..)?.first_chunk()?;
        Some(begin..end)
    }

    #[cold]
    #[inline(never)]
    fn decode(&mut self, raw: &[u8], row: usize) -> Option<()> {
        let rows = self.block.rows_with(row)?;
        self.rows = 0..0;
        self.decode_keys(raw, &rows)?;
        self.decode_tags(raw, &rows)?;
        self.decode_values(raw, &rows)?;
        self.rows = rows;
        Some(())
    }

    fn decode_keys(&mut self, raw: &[u8], rows: &Range<usize>) -> Option<()> {
        if self.block.is_front() {
            return self.front_keys.load(&self.block, raw, rows.start);
        }
        let Self { block, keys, numbers, .. } = self;
        let (prefix, width) = (block.prefix(raw)?, block.key_bytes());
        keys.clear();
        keys.resize(rows.len() * width, 0);
        if !prefix.is_empty() {
            for key in keys.chunks_exact_mut(width) {
                key.get_mut(..prefix.len())?.copy_from_slice(prefix);
            }
        }
        let Some(first) = &block.first else { return Some(()) };
        let first_part = KeyPart::Number(first.alphabet, first.column);
        let mut put = |place: Range<usize>, part: KeyPart<'_>| {
            let place = prefix.len() + place.start..prefix.len() + place.end;
            let places = keys.chunks_exact_mut(width.max(1)).filter_map(|key| key.get_mut(place.clone()));
            match part {
                KeyPart::Literal(literal) => places.for_each(|place| place.copy_from_slice(literal)),
                KeyPart::Number(alphabet, column) => {
                    numbers.clear();
                    column.decode(raw, rows.clone(), numbers)?;
                    let mut numbered = places.zip(&*numbers);
                    match alphabet {
                        Alphabet::Bytes => numbered.try_for_each(|(place, &number)| put_integer(number, place, false)),
                        _ => numbered.try_for_each(|(place, &number)| alphabet.write(number, place)),
                    }?;
                }
            }
            Some(())
        };
        put(0..usize::from(first.length), first_part)?;
        block.further_parts(raw, put)
    }

    fn decode_tags(&mut self, raw: &[u8], rows: &Range<usize>) -> Option<()> {
        let Self { block, tags, numbers, .. } = self;
        tags.clear();
        tags.resize(rows.len(), VersionTag { kind: block.kind, sequence: block.sequence });
        let mut column = |at: u32, put: fn(&mut VersionTag, u64) -> Option<()>| {
            if at == 0 {
                return Some(());
            }
            numbers.clear();
            block.column(raw, at)?.decode(raw, rows.clone(), numbers)?;
            tags.iter_mut().zip(&*numbers).try_for_each(|(tag, &number)| put(tag, number))
        };
        column(block.sequences_at, |tag, sequence| {
            tag.sequence = sequence;
            Some(())
        })?;
        column(block.kinds_at, |tag, kind| {
            tag.kind = u8::try_from(kind).ok()?;
            Some(())
        })
    }

    fn decode_values(&mut self, raw: &[u8], rows: &Range<usize>) -> Option<()> {
        let Self { block, values, borders, numbers, .. } = self;
        let (width, at) = (block.value as usize, block.values_at as usize);
        borders.clear();
        match block.values {
            StoredValues::Plain => borders.extend((rows.start..=rows.end).map(|row| at + row * width)),
            StoredValues::Ends => {
                numbers.clear();
                let before = rows.start.saturating_sub(1);
                block.column(raw, block.values_column_at)?.decode(raw, before..rows.end, numbers)?;
                if rows.start == 0 {
                    borders.push(at);
                }
                for &end in &*numbers {
                    borders.push(block.value_end(end).filter(|&end| end <= block.end as usize)?);
                }
                borders.is_sorted().then_some(())?;
            }
            StoredValues::Words { is_little_endian } => {
                values.clear();
                values.resize(rows.len() * width, 0);
                let mut column_at = block.values_column_at;
                for word in 0..value_words(width) {
                    let column = block.column(raw, column_at)?;
                    numbers.clear();
                    column.decode(raw, rows.clone(), numbers)?;
                    let place = value_word_range(width, word);
                    for (value, &number) in values.chunks_exact_mut(width).zip(&*numbers) {
                        put_integer(number, value.get_mut(place.clone())?, is_little_endian)?;
                    }
                    column_at = column.end() as u32;
                }
            }
        }
        Some(())
    }
}
