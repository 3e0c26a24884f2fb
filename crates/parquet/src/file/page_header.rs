//! Headers of pages, for files without an offset index: sizes and rows, in the compact protocol of Thrift.

/// Deepest structure that is skipped.
const DEPTH_MAX: u32 = 16;

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    Data,
    Dictionary,
    /// Neither: readers pass over it.
    Other,
}

/// The header of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageHeader {
    pub(crate) kind: PageKind,
    /// Length of the header itself.
    pub(crate) header_bytes: u64,
    /// Length of what follows the header.
    pub(crate) body_bytes: u64,
    /// Values with nulls, of a data page.
    pub(crate) values: u64,
    /// Rows, of a data page of version 2.
    pub(crate) rows: Option<u64>,
    /// Whether values of a data page refer to the dictionary.
    pub(crate) uses_dictionary: bool,
}

/// The result of parsing the start of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Header(PageHeader),
    /// More bytes are needed.
    Short,
    Malformed,
}

/// Parses the header with which `bytes` begin.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut reader = Compact { bytes, at: 0, short: false, is_whole: false };
    match reader.page_header() {
        Some(header) => Parsed::Header(header),
        None if reader.short => Parsed::Short,
        None => Parsed::Malformed,
    }
}

/// Whether `bytes` begin with a whole structure, no collection of which states more elements than there are bytes:
/// other crates allocate on its word.
pub(crate) fn is_whole_structure(bytes: &[u8]) -> bool {
    Compact::whole(bytes).skip(STRUCT, 0).is_some()
}

/// A reader of the compact protocol.
pub(crate) struct Compact<'a> {
    bytes: &'a [u8],
    pub(crate) at: usize,
    /// Whether nothing follows the bytes, so that they bound all numbers of elements.
    is_whole: bool,
    /// Whether it failed because the bytes end.
    short: bool,
}

/// Codes of the encodings that refer to a dictionary.
const DICTIONARY_ENCODINGS: [i64; 2] = [2, 8];

/// Codes of types in the protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
pub(crate) const I32: u8 = 5;
pub(crate) const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
pub(crate) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(crate) const STRUCT: u8 = 12;

impl<'a> Compact<'a> {
    /// A reader of bytes that nothing follows.
    pub(crate) fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, short: false, is_whole: true }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.short |= byte.is_none();
        self.at += 1;
        byte
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A number that is not negative.
    fn size(&mut self) -> Option<u64> {
        u64::try_from(self.zigzag()?).ok()
    }

    /// The next field of a structure: its number and its type; `Some(None)` at its end.
    pub(crate) fn field(&mut self, last: &mut i64) -> Option<Option<(i64, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *last = match head >> 4 {
            0 => self.zigzag()?,
            step => last.checked_add(step.into())?,
        };
        Some(Some((*last, head & 0x0f)))
    }

    fn advance(&mut self, length: u64) -> Option<()> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length))?;
        self.short |= end > self.bytes.len();
        self.at = end;
        (end <= self.bytes.len()).then_some(())
    }

    /// Whether as many elements, of a byte at least, may follow.
    fn can_follow(&self, count: u64) -> Option<()> {
        let left = self.bytes.len().saturating_sub(self.at) as u64;
        (!self.is_whole || count <= left).then_some(())
    }

    /// The number of elements of a list, and their type.
    pub(crate) fn list_head(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        self.can_follow(count)?;
        Some((count, head & 0x0f))
    }

    pub(crate) fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match kind {
            TRUE | FALSE => Some(()),
            BYTE => self.advance(1),
            I16 | I32 | I64 => self.varint().map(drop),
            DOUBLE => self.advance(8),
            BINARY => {
                let length = self.varint()?;
                self.advance(length)
            }
            LIST | SET => {
                let (count, kind) = self.list_head()?;
                (0..count).try_for_each(|_| self.skip_element(kind, depth))
            }
            MAP => {
                let count = self.varint()?;
                self.can_follow(count)?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth)?;
                    self.skip_element(kinds & 0x0f, depth)
                })
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// An element of a collection, in which truth values take a byte.
    fn skip_element(&mut self, kind: u8, depth: u32) -> Option<()> {
        if kind == TRUE || kind == FALSE { self.advance(1) } else { self.skip(kind, depth + 1) }
    }

    fn page_header(&mut self) -> Option<PageHeader> {
        let (mut kind, mut body_bytes) = (None, None);
        let mut counts = DataCounts::default();
        let mut last = 0;
        while let Some((field, field_kind)) = self.field(&mut last)? {
            match (field, field_kind) {
                (1, I32) => {
                    kind = Some(match self.zigzag()? {
                        0 | 3 => PageKind::Data,
                        2 => PageKind::Dictionary,
                        _ => PageKind::Other,
                    });
                }
                (3, I32) => body_bytes = Some(self.size()?),
                (5, STRUCT) => counts = self.counts(false)?,
                (8, STRUCT) => counts = self.counts(true)?,
                _ => self.skip(field_kind, 0)?,
            }
        }
        let header_bytes = self.at as u64;
        let DataCounts { values, rows, encoding } = counts;
        let uses_dictionary = DICTIONARY_ENCODINGS.contains(&encoding);
        Some(PageHeader { kind: kind?, header_bytes, body_bytes: body_bytes?, values, rows, uses_dictionary })
    }

    /// What the header of a data page of version 1 or 2 states.
    fn counts(&mut self, is_v2: bool) -> Option<DataCounts> {
        let (mut counts, mut last) = (DataCounts::default(), 0);
        while let Some((field, kind)) = self.field(&mut last)? {
            match (field, kind, is_v2) {
                (1, I32, _) => counts.values = self.size()?,
                (3, I32, true) => counts.rows = Some(self.size()?),
                (2, I32, false) | (4, I32, true) => counts.encoding = self.zigzag()?,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(counts)
    }
}

/// What the header of a data page states.
#[derive(Clone, Copy, Debug, Default)]
struct DataCounts {
    values: u64,
    rows: Option<u64>,
    encoding: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page of version 1 of 7 values and 40 bytes, with a statistics structure; then one of version 2 of 7
    /// values in 5 rows.
    const V1: [u8; 20] = [0x15, 0, 0x15, 80, 0x15, 80, 0x2c, 0x15, 14, 0x15, 0, 0x15, 6, 0x15, 6, 0x1c, 0x18, 0, 0, 0];
    const V2: [u8; 17] = [0x15, 6, 0x15, 80, 0x15, 80, 0x5c, 0x15, 14, 0x15, 2, 0x15, 10, 0x11, 0, 0, 0];

    #[test]
    fn headers_of_both_versions_state_values_and_rows() {
        let header = |header_bytes, rows| PageHeader {
            kind: PageKind::Data,
            header_bytes,
            body_bytes: 40,
            values: 7,
            rows,
            uses_dictionary: false,
        };
        let mut v1 = V1.to_vec();
        v1.push(0);
        let Parsed::Header(found) = parse(&v1) else { panic!("{:?}", parse(&v1)) };
        assert_eq!((found.kind, found.body_bytes, found.values), (PageKind::Data, 40, 7));
        let Parsed::Header(found) = parse(&V2) else { panic!("{:?}", parse(&V2)) };
        assert_eq!(found, header(16, Some(5)));
    }

    #[test]
    fn a_cut_header_asks_for_more() {
        for length in 0..16 {
            assert_eq!(parse(&V2[..length]), Parsed::Short, "{length}");
        }
        assert_eq!(parse(&[0xff; 12]), Parsed::Malformed);
    }

    #[test]
    fn deep_structures_and_huge_collections_end() {
        assert_eq!(parse(&[0x1c; 1000]), Parsed::Malformed);
        let list = [0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0];
        assert_eq!(parse(&list), Parsed::Short);
    }
}
