//! Data blocks: the layout of records in a block, and the search for a record.
//!
//! ```text
//! dense, for records of one width:      | key value | key value | ... | zeros | trailer |
//! columns, for records of any length:   | head | prefix | columns | zeros | trailer |
//! coded, instead of either:             | head | spans | columns | values | zeros | trailer |
//! trailer:  codec and form u8 | records u24 | checksum u32
//! ```
//!
//! Integers are little-endian. The checksum also covers file identity and offset ([`crate::block::checksum`]).
//! [`super::columns`] specifies the columnar form, [`super::coded`] the coded one. In tables without versions, a record
//! whose value is stored outside the blocks has the kind [`LONG_VALUE_KIND`] in its column, and a pointer as its value.

use super::coded::{CodedBlock, FrontKeys};
use super::column_search::SearchHint;
use super::columns::Columns;
use super::key::KeyBound;
use super::note::{self, NotedForm};
use super::parts::{SplitKey, StoredValue, VERSION_TAG_BYTES, ValueLocation, VersionTag};
use crate::block::cache::BlockNote;
use crate::table::format::meta::TableMeta;
use crate::table::format::value::ValuePointer;
use crate::types::KeyType;
use std::cmp::Ordering;

/// Bytes after the records of each block.
pub(in crate::table) const TRAILER_BYTES: usize = 8;
/// Smallest and largest block size in bytes.
pub const BLOCK_BYTES: std::ops::RangeInclusive<u32> = 512..=1 << 20;

/// Records of one width are packed densely into blocks of any size if this number of them fits into the smallest block.
const LEAST_DENSE_RECORDS: usize = 4;

/// The width of values, if records with values of it have one width and are so short that blocks of any size hold
/// several: a table may state it then, as [`TableWriteOptions::value_width`](crate::TableWriteOptions::value_width).
///
/// ```
/// use ogive::table::dense_value_width;
/// use ogive::types::KeyType;
///
/// assert_eq!(dense_value_width(KeyType::U64, 4), Some(4));
/// assert_eq!(dense_value_width(KeyType::U64, 5000), None);
/// assert_eq!(dense_value_width(KeyType::Text, 4), None);
/// ```
#[must_use]
pub fn dense_value_width(keys: KeyType, value_width: usize) -> Option<u32> {
    let record = keys.width()?.checked_add(value_width)?;
    let fits = record.checked_mul(LEAST_DENSE_RECORDS)? <= *BLOCK_BYTES.start() as usize;
    u32::try_from(value_width).ok().filter(|_| fits)
}
/// Flag in the codec byte of a trailer: the block is columnar.
pub(in crate::table) const COLUMNS_FLAG: u8 = 0x80;
/// Flag in the codec byte of a trailer: the block is coded.
pub(in crate::table) const CODED_FLAG: u8 = 0x40;
/// Both flags; the rest of the byte is the codec.
const FORM_FLAGS: u8 = COLUMNS_FLAG | CODED_FLAG;

/// The kind of a record of a table without versions whose value is a pointer to a long value; that of others is 0.
pub(in crate::table) const LONG_VALUE_KIND: u8 = 1;

/// The layout of records in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) enum Layout {
    Dense { key: usize, value: usize },
    Columns,
}

impl Layout {
    /// The block layout of a table.
    pub(in crate::table) fn of(meta: &TableMeta) -> Self {
        match (meta.record_type.keys.width(), meta.value_width) {
            (Some(key), Some(value)) => Self::Dense { key, value: value as usize },
            _ => Self::Columns,
        }
    }
}

/// Appends a trailer without its checksum.
pub(in crate::table) fn push_trailer(raw: &mut Vec<u8>, form: u8, count: usize) {
    raw.extend_from_slice(&((count as u32) << 8 | u32::from(form)).to_le_bytes());
    raw.extend_from_slice(&[0; 4]);
}

/// Codec, form (0, [`COLUMNS_FLAG`] or [`CODED_FLAG`]) and number of records from the trailer of a block.
pub(in crate::table) fn trailer(block: &[u8]) -> Option<(u8, u8, usize)> {
    let at = block.len().checked_sub(TRAILER_BYTES)?;
    let word = u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?);
    Some((word as u8 & !FORM_FLAGS, word as u8 & FORM_FLAGS, (word >> 8) as usize))
}

/// The form of one block.
#[derive(Clone, Copy, Debug)]
enum BlockForm {
    Dense { key: usize, value: usize },
    Columns(Columns),
    Coded(CodedBlock),
}

/// The decoded head and trailer of a block.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct BlockHead {
    form: BlockForm,
    count: usize,
    pub(in crate::table) versioned: bool,
}

impl BlockHead {
    #[inline]
    pub(in crate::table) fn count(&self) -> usize {
        self.count
    }

    /// The columns of a versioned columnar block.
    #[inline]
    pub(in crate::table) fn versioned_columns(&self) -> Option<&Columns> {
        match &self.form {
            BlockForm::Columns(columns) if self.versioned => Some(columns),
            _ => None,
        }
    }
}

/// A checked and decompressed block. Every access is total: whatever a corrupt block lacks is `None`.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct BlockView<'a> {
    head: BlockHead,
    raw: &'a [u8],
}

impl<'a> BlockView<'a> {
    /// A view of a block, its trailer included, of a table of this layout, versioned or not.
    pub(in crate::table) fn new(layout: Layout, versioned: bool, raw: &'a [u8]) -> Option<Self> {
        let (_, form, count) = trailer(raw)?;
        let body_end = raw.len() - TRAILER_BYTES;
        let form = match layout {
            _ if form == CODED_FLAG => BlockForm::Coded(CodedBlock::parse(raw, body_end, count)?),
            _ if form == FORM_FLAGS => return None,
            _ if form == COLUMNS_FLAG => BlockForm::Columns(Columns::parse(raw, body_end, count)?),
            Layout::Dense { key, value } => {
                (count.checked_mul(key + value)? <= body_end).then_some(BlockForm::Dense { key, value })?
            }
            Layout::Columns => return None,
        };
        Some(Self { head: BlockHead { form, count, versioned }, raw })
    }

    /// A view of a block by its note; `None` if its head must be decoded.
    pub(in crate::table) fn of_note(layout: Layout, versioned: bool, note: &BlockNote, raw: &'a [u8]) -> Option<Self> {
        let (form, count) = match note::form_of(note) {
            NotedForm::None => return None,
            NotedForm::Dense => return Self::of_dense(layout, versioned, note::dense_count(note), raw),
            NotedForm::Columns => {
                let columns = note::columns(note, raw)?;
                (BlockForm::Columns(columns), columns.count)
            }
            NotedForm::Coded => {
                let coded = note::coded(note, raw)?;
                (BlockForm::Coded(coded), coded.count())
            }
        };
        Some(Self { head: BlockHead { form, count, versioned }, raw })
    }

    /// A view of a block of dense records, whose number is known.
    #[inline]
    pub(in crate::table) fn of_dense(layout: Layout, versioned: bool, count: usize, raw: &'a [u8]) -> Option<Self> {
        let Layout::Dense { key, value } = layout else { return None };
        Some(Self { head: BlockHead { form: BlockForm::Dense { key, value }, count, versioned }, raw })
    }

    /// What the cache keeps with the block: see [`note`]. Zeros if there is no note of it.
    pub(in crate::table) fn note(&self) -> BlockNote {
        let note = match &self.head.form {
            BlockForm::Dense { .. } => note::of_dense(self.head.count),
            BlockForm::Columns(_) if self.may_have_long_values() => None,
            BlockForm::Columns(columns) => note::of_columns(columns),
            BlockForm::Coded(coded) => note::of_coded(coded),
        };
        note.unwrap_or_default()
    }

    /// A view of the block that `head` was decoded from.
    pub(in crate::table) fn with_head(head: BlockHead, raw: &'a [u8]) -> Self {
        Self { head, raw }
    }

    pub(in crate::table) fn head(&self) -> BlockHead {
        self.head
    }

    pub(in crate::table) fn count(&self) -> usize {
        self.head.count
    }

    /// The columns of a columnar block.
    pub(in crate::table) fn columns(&self) -> Option<&Columns> {
        match &self.head.form {
            BlockForm::Columns(columns) => Some(columns),
            _ => None,
        }
    }

    /// The parts of a coded block.
    pub(in crate::table) fn coded(&self) -> Option<&CodedBlock> {
        match &self.head.form {
            BlockForm::Coded(coded) => Some(coded),
            _ => None,
        }
    }

    /// Whether every byte of the block is where the writer puts it: entries follow each other from the start of the
    /// block, and zeros pad it.
    pub(in crate::table) fn is_canonical(&self) -> bool {
        let body_end = self.raw.len() - TRAILER_BYTES;
        match &self.head.form {
            BlockForm::Columns(columns) => columns.is_canonical(self.raw, body_end),
            BlockForm::Coded(coded) => coded.is_canonical(self.raw, body_end),
            BlockForm::Dense { key, value } => {
                let rest = self.raw.get(self.head.count * (key + value)..body_end);
                rest.is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
            }
        }
    }

    /// Whether a value of the block may be a pointer to a long one.
    #[inline]
    pub(in crate::table) fn may_have_long_values(&self) -> bool {
        !self.head.versioned && self.columns().is_some_and(|columns| columns.kind != Some(0))
    }

    pub(in crate::table) fn key(&self, i: usize) -> Option<SplitKey<'a>> {
        if i >= self.head.count {
            return None;
        }
        match &self.head.form {
            BlockForm::Dense { key, value } => {
                self.raw.get(i * (key + value)..).and_then(|at| at.get(..*key)).map(SplitKey::whole)
            }
            BlockForm::Columns(columns) => {
                Some(SplitKey::of_parts(columns.prefix(self.raw)?, columns.key_rest(self.raw, i)?))
            }
            BlockForm::Coded(coded) => coded.key(self.raw, i),
        }
    }

    /// Whether keys are front-coded, so that they are decoded best by groups.
    #[inline]
    pub(in crate::table) fn is_front(&self) -> bool {
        self.coded().is_some_and(CodedBlock::is_front)
    }

    /// A front-coded key, decoded into `keys` with its group.
    pub(in crate::table) fn front_key<'k>(&self, i: usize, keys: &'k mut FrontKeys) -> Option<&'k [u8]> {
        keys.load(self.coded()?, self.raw, i)?;
        keys.key(i)
    }

    /// The location of what follows a key: the value, with its version tag if it is stored there.
    fn after_key(&self, i: usize) -> Option<ValueLocation> {
        match &self.head.form {
            _ if i >= self.head.count => None,
            BlockForm::Dense { key, value } => {
                let at = i * (key + value);
                Some(ValueLocation::Inline(at + key..at + key + value))
            }
            BlockForm::Columns(columns) => {
                let place = columns.value(self.raw, i)?;
                if !self.may_have_long_values() {
                    return Some(ValueLocation::Inline(place));
                }
                match columns.tag(self.raw, i)?.kind {
                    0 => Some(ValueLocation::Inline(place)),
                    LONG_VALUE_KIND => ValuePointer::decode(self.raw.get(place)?).map(ValueLocation::Long),
                    _ => None,
                }
            }
            BlockForm::Coded(coded) => coded.value(self.raw, i),
        }
    }

    /// Whether version tags precede the values, rather than being in columns of their own.
    fn has_tags_before_values(&self) -> bool {
        self.head.versioned && !matches!(self.head.form, BlockForm::Columns(_) | BlockForm::Coded(_))
    }

    /// The location of a value, without a version tag.
    pub(in crate::table) fn place(&self, i: usize) -> Option<ValueLocation> {
        match self.after_key(i)? {
            ValueLocation::Inline(place) if self.has_tags_before_values() => {
                let begin = place.start + VERSION_TAG_BYTES;
                (begin <= place.end).then_some(ValueLocation::Inline(begin..place.end))
            }
            place => Some(place),
        }
    }

    pub(in crate::table) fn value(&self, i: usize) -> Option<StoredValue<'a>> {
        match self.place(i)? {
            ValueLocation::Inline(place) => self.raw.get(place).map(StoredValue::Inline),
            ValueLocation::Short(value) => Some(StoredValue::Short(value)),
            ValueLocation::Long(pointer) => Some(StoredValue::Long(pointer)),
        }
    }

    /// The key and the value of a record.
    #[inline]
    pub(in crate::table) fn record(&self, i: usize) -> Option<(SplitKey<'a>, StoredValue<'a>)> {
        match &self.head.form {
            BlockForm::Columns(columns) if !self.may_have_long_values() => {
                let key = SplitKey::of_parts(columns.prefix(self.raw)?, columns.key_rest(self.raw, i)?);
                Some((key, StoredValue::Inline(self.raw.get(columns.value(self.raw, i)?)?)))
            }
            _ => Some((self.key(i)?, self.value(i)?)),
        }
    }

    /// The version tag of a record; zeros in a table that is not versioned.
    pub(in crate::table) fn tag(&self, i: usize) -> Option<VersionTag> {
        match &self.head.form {
            _ if i >= self.head.count => None,
            _ if !self.head.versioned => Some(VersionTag::default()),
            BlockForm::Columns(columns) => columns.tag(self.raw, i),
            BlockForm::Coded(coded) => coded.tag(self.raw, i),
            _ => match self.after_key(i)? {
                ValueLocation::Inline(place) => VersionTag::split(self.raw.get(place)?).map(|(tag, _)| tag),
                ValueLocation::Short(_) | ValueLocation::Long(_) => None,
            },
        }
    }

    /// The first record for which `passes` is false, where `passes` is monotone; the number of records if there is
    /// none.
    fn partition(&self, mut passes: impl FnMut(usize) -> Option<bool>) -> Option<usize> {
        let (mut low, mut high) = (0, self.head.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if passes(middle)? { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }

    /// The first record at or after a bound; the number of records if all lie before it.
    pub(in crate::table) fn lower_bound(&self, probe: &KeyBound<'_>) -> Option<usize> {
        if let BlockForm::Coded(coded) = &self.head.form {
            let (index, is_key) = coded.search(self.raw, probe.key)?;
            return if is_key && probe.after { coded.end_of_key(self.raw, index, probe.key) } else { Some(index) };
        }
        self.partition(|i| Some(probe.passes(&self.key(i)?)))
    }

    /// As [`Self::lower_bound`], and whether the record has the key of the bound.
    pub(in crate::table) fn find(&self, probe: &KeyBound<'_>) -> Option<(usize, bool)> {
        if !probe.after {
            return self.search(probe.key, SearchHint::NONE);
        }
        let index = self.lower_bound(probe)?;
        Some((index, index < self.count() && self.key(index)?.is(probe.key)))
    }

    /// The first record whose key is not less than `key`, and whether it has that key.
    #[inline]
    pub(in crate::table) fn search(&self, key: &[u8], hint: SearchHint) -> Option<(usize, bool)> {
        match &self.head.form {
            BlockForm::Coded(coded) => coded.search(self.raw, key),
            BlockForm::Columns(columns @ Columns { key: Some(rest), .. }) => {
                columns.search_fixed(self.raw, *rest, key, hint)
            }
            BlockForm::Dense { key: width, value } => {
                let record = |i: usize| self.raw.get(i * (width + value)..).and_then(|record| record.get(..*width));
                let index = self.partition(|i| Some(record(i)? < key))?;
                Some((index, index < self.head.count && record(index)? == key))
            }
            BlockForm::Columns(_) => {
                let index = self.partition(|i| Some(self.key(i)?.compare(key) == Ordering::Less))?;
                Some((index, index < self.head.count && self.key(index)?.is(key)))
            }
        }
    }

    /// The first record at or after (`key`, `sequence`), where records of one key are ordered by sequence number,
    /// largest first. In a table that is not versioned all records have the sequence number `unversioned`.
    pub(in crate::table) fn lower_bound_of_version(
        &self,
        key: &[u8],
        sequence: u64,
        unversioned: u64,
    ) -> Option<usize> {
        let is_newer = |i: usize| {
            Some(if self.head.versioned { self.tag(i)?.sequence > sequence } else { unversioned > sequence })
        };
        if let BlockForm::Coded(coded) = &self.head.form {
            let (mut low, is_key) = coded.search(self.raw, key)?;
            let mut high = if is_key { coded.end_of_key(self.raw, low, key)? } else { low };
            while low < high {
                let middle = low + (high - low) / 2;
                if is_newer(middle)? { low = middle + 1 } else { high = middle }
            }
            return Some(low);
        }
        self.partition(|i| {
            Some(match self.key(i)?.compare(key) {
                Ordering::Less => true,
                Ordering::Equal => is_newer(i)?,
                Ordering::Greater => false,
            })
        })
    }
}
