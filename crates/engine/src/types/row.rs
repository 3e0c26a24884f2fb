//! Rows as bytes: a header, null bits, the fields of fixed width, the ends of the others, and their bytes. Every field
//! is found in constant time.

use super::row_type::{Field, RowType};
use super::value::Value;
use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use std::slice;

/// Bits of the header below the number of fields: the width of the ends.
const END_WIDTH_BITS: u32 = 2;
/// Widths of the ends of fields in bytes, by code.
const END_WIDTHS: [usize; 3] = [1, 2, 4];

/// Bytes of the header of a row whose fields have fixed widths.
pub(super) fn header_bytes(fields: usize) -> usize {
    let mut header = Vec::new();
    put_varint(&mut header, (fields << END_WIDTH_BITS) as u64);
    header.len()
}

impl RowType {
    /// The bytes in front of the field of a row with a single field of variable width, by the first byte of the row;
    /// `None` if no such row begins with it. With it, a field that does not fit in memory can be read as a stream.
    #[must_use]
    pub fn bytes_before_field(&self, first: u8) -> Option<usize> {
        let [Field { key_type, nullable, .. }] = self.fields() else { return None };
        let end_bytes = END_WIDTHS.get(usize::from(first & ((1 << END_WIDTH_BITS) - 1)))?;
        let is_one = key_type.width().is_none() && first >> END_WIDTH_BITS == 1;
        is_one.then_some(1 + usize::from(*nullable) + end_bytes)
    }
}

/// What the head of a row has of a field: its bytes, if their number is fixed, or where they end in the heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadField<'a> {
    pub(super) is_null: bool,
    pub(super) fixed: &'a [u8],
    pub(super) end: usize,
}

/// The fields of a row, in its bytes. Nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    row_type: &'a RowType,
    bytes: &'a [u8],
    /// Fields that were written. Those after them are null.
    count: usize,
    nulls_at: usize,
    fixed_at: usize,
    ends_at: usize,
    heap_at: usize,
    end_bytes: usize,
}

impl<'a> Row<'a> {
    /// The row of these bytes: written with this type, or with an older one that it extends.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if they are not those of a row of this type.
    pub fn new(row_type: &'a RowType, bytes: &'a [u8]) -> Result<Self> {
        Self::find(row_type, bytes).ok_or_else(|| wrong(row_type, bytes))
    }

    pub(super) fn find(row_type: &'a RowType, bytes: &'a [u8]) -> Option<Self> {
        let row = Self::find_head(row_type, bytes)?;
        let heap_bytes = bytes.len() - row.heap_at;
        (row.end(row.row_type.before(row.count).variable as usize) == heap_bytes).then_some(row)
    }

    /// The row that begins with these bytes, which are all of those in front of its heap.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn of_head(row_type: &'a RowType, head: &'a [u8]) -> Result<Self> {
        Self::find_head(row_type, head).ok_or_else(|| wrong(row_type, head))
    }

    fn find_head(row_type: &'a RowType, bytes: &'a [u8]) -> Option<Self> {
        let mut nulls_at = 0;
        let header = take_varint(bytes, &mut nulls_at)?;
        let end_bytes = *END_WIDTHS.get((header & ((1 << END_WIDTH_BITS) - 1)) as usize)?;
        let count = usize::try_from(header >> END_WIDTH_BITS).ok()?;
        if count == 0 || count > row_type.fields().len() {
            return None;
        }
        let all = row_type.before(count);
        let fixed_at = nulls_at + (all.nullable as usize).div_ceil(8);
        let ends_at = fixed_at + all.fixed_bytes as usize;
        let heap_at = ends_at + all.variable as usize * end_bytes;
        let row = Self { row_type, bytes, count, nulls_at, fixed_at, ends_at, heap_at, end_bytes };
        (heap_at <= bytes.len()).then_some(row)
    }

    /// Where the bytes of the fields of variable width begin.
    pub(super) fn heap_at(&self) -> usize {
        self.heap_at
    }

    /// What the head of a row has of a field, or of one behind its own, which is null.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the row is not one of its type.
    pub(super) fn in_head(&self, index: usize) -> Result<HeadField<'a>> {
        let written = index.min(self.count);
        let before = self.row_type.before(written);
        let last = HeadField { is_null: true, fixed: &[], end: self.end(before.variable as usize) };
        let Some(field) = self.row_type.fields().get(index).filter(|_| index < self.count) else { return Ok(last) };
        let is_null = field.nullable && self.is_null(before.nullable as usize);
        let Some(width) = field.key_type.width() else {
            return Ok(HeadField { is_null, end: self.end(before.variable as usize + 1), ..last });
        };
        let at = self.fixed_at + before.fixed_bytes as usize;
        let fixed = self.bytes.get(at..at + width).ok_or_else(|| wrong(self.row_type, self.bytes))?;
        Ok(HeadField { is_null, fixed, ..last })
    }

    /// Its type.
    #[must_use]
    pub fn row_type(&self) -> &'a RowType {
        self.row_type
    }

    /// The bytes of a field, those of a key of its type; `None` if it is null.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if there is no such field, or if the row is not one of its type.
    pub fn field(&self, index: usize) -> Result<Option<&'a [u8]>> {
        let field = self.row_type.fields().get(index).ok_or_else(|| no_field(self.row_type, index))?;
        if index >= self.count {
            return Ok(None);
        }
        let before = self.row_type.before(index);
        if field.nullable && self.is_null(before.nullable as usize) {
            return Ok(None);
        }
        let bytes = match field.key_type.width() {
            Some(width) => {
                let at = self.fixed_at + before.fixed_bytes as usize;
                self.bytes.get(at..at + width)
            }
            None => {
                let number = before.variable as usize;
                self.bytes[self.heap_at..].get(self.end(number)..self.end(number + 1))
            }
        };
        bytes.map(Some).ok_or_else(|| wrong(self.row_type, self.bytes))
    }

    /// The bytes of the fields in order, as [`Self::field`] finds them one by one. Ends early where the row is not one
    /// of its type.
    #[must_use]
    #[inline]
    pub fn iter(&self) -> RowFields<'a> {
        RowFields {
            row: *self,
            fields: self.row_type.fields().iter(),
            written: self.count,
            fixed_at: self.fixed_at,
            nullable: 0,
            variable: 0,
            heap_at: self.heap_at,
        }
    }

    /// The value of a field.
    ///
    /// # Errors
    /// As [`Self::field`].
    pub fn value(&self, index: usize) -> Result<Value> {
        let Some(bytes) = self.field(index)? else { return Ok(Value::Null) };
        let value = self.row_type.fields()[index].key_type.decode_scalar(bytes);
        value.ok_or_else(|| wrong(self.row_type, self.bytes))
    }

    /// The value of the field of a name.
    ///
    /// # Errors
    /// As [`Self::field`].
    pub fn get(&self, name: &str) -> Result<Value> {
        let index = self.row_type.position(name);
        let absent = || Error::input(format!("rows of type {} have no field {name:?}", self.row_type));
        self.value(index.ok_or_else(absent)?)
    }

    /// The values of all fields.
    ///
    /// # Errors
    /// As [`Self::field`].
    pub fn values(&self) -> Result<Vec<Value>> {
        (0..self.row_type.fields().len()).map(|index| self.value(index)).collect()
    }

    fn is_null(&self, number: usize) -> bool {
        self.bytes[self.nulls_at + number / 8] >> (number % 8) & 1 == 1
    }

    /// Where the first `number` fields of variable width end.
    #[inline]
    fn end(&self, number: usize) -> usize {
        let Some(before) = number.checked_sub(1) else { return 0 };
        let at = self.ends_at + before * self.end_bytes;
        match self.bytes[at..at + self.end_bytes] {
            [end] => end.into(),
            [low, high] => u16::from_le_bytes([low, high]).into(),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as usize,
            _ => 0,
        }
    }
}

/// Takes the number of a field, and its bytes or `None` for a null.
type VisitField<'a> = dyn FnMut(usize, Option<&[u8]>) -> Result<()> + 'a;

/// Reads some fields of many rows of one type: what all rows have in common is computed once.
#[derive(Clone, Debug)]
pub struct FieldReader {
    row_type: RowType,
    places: Vec<FieldPlace>,
    /// The first byte of rows with all fields, without the width of their ends; `None` if the header has several.
    header: Option<u8>,
    /// Where the fields of fixed width begin in such a row, where the ends, and how many there are.
    fixed_at: usize,
    ends_at: usize,
    ends: usize,
}

/// The place of a field in rows with all fields.
#[derive(Clone, Copy, Debug)]
struct FieldPlace {
    field: usize,
    /// The byte and the bit that are set for a null, if it may be null.
    null: Option<(usize, u8)>,
    extent: FieldExtent,
}

#[derive(Clone, Copy, Debug)]
enum FieldExtent {
    Fixed {
        begin: usize,
        end: usize,
    },
    /// The number of the field among those of variable width.
    Variable(usize),
}

impl FieldReader {
    /// Reads these fields.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a field that is not there.
    pub fn new(row_type: &RowType, fields: &[usize]) -> Result<Self> {
        let count = row_type.fields().len();
        let all = row_type.before(count);
        let nulls_at = header_bytes(count);
        let fixed_at = nulls_at + (all.nullable as usize).div_ceil(8);
        let place = |&field: &usize| {
            let found = row_type.fields().get(field).ok_or_else(|| no_field(row_type, field))?;
            let before = row_type.before(field);
            let null = before.nullable as usize;
            let begin = fixed_at + before.fixed_bytes as usize;
            Ok(FieldPlace {
                field,
                null: found.nullable.then_some((nulls_at + null / 8, 1 << (null % 8))),
                extent: match found.key_type.width() {
                    Some(width) => FieldExtent::Fixed { begin, end: begin + width },
                    None => FieldExtent::Variable(before.variable as usize),
                },
            })
        };
        Ok(Self {
            row_type: row_type.clone(),
            places: fields.iter().map(place).collect::<Result<_>>()?,
            header: (nulls_at == 1).then_some((count << END_WIDTH_BITS) as u8),
            fixed_at,
            ends_at: fixed_at + all.fixed_bytes as usize,
            ends: all.variable as usize,
        })
    }

    /// Passes the fields of a row on: the number of each in the order that was asked for, and the bytes of a key of its
    /// type, or `None` for a null.
    ///
    /// # Errors
    /// As [`Row::new`] and [`Row::field`], and errors of `visit`.
    #[inline]
    pub fn read(&self, bytes: &[u8], mut visit: impl FnMut(usize, Option<&[u8]>) -> Result<()>) -> Result<()> {
        let Some(row) = self.whole(bytes) else { return self.read_other(bytes, &mut visit) };
        for (number, place) in self.places.iter().enumerate() {
            let is_null = place.null.is_some_and(|(at, bit)| bytes[at] & bit != 0);
            let field = match place.extent {
                _ if is_null => None,
                FieldExtent::Fixed { begin, end } => bytes.get(begin..end),
                FieldExtent::Variable(at) => bytes[row.heap_at..].get(row.end(at)..row.end(at + 1)),
            };
            if field.is_none() && !is_null {
                return Err(wrong(&self.row_type, bytes));
            }
            visit(number, field)?;
        }
        Ok(())
    }

    /// A row with all fields; `None` for others.
    #[inline]
    fn whole<'a>(&'a self, bytes: &'a [u8]) -> Option<Row<'a>> {
        let first = *bytes.first()?;
        let width = first & ((1 << END_WIDTH_BITS) - 1);
        if self.header != Some(first - width) {
            return None;
        }
        let end_bytes = *END_WIDTHS.get(usize::from(width))?;
        let heap_at = self.ends_at + self.ends * end_bytes;
        let heap_bytes = bytes.len().checked_sub(heap_at)?;
        let count = self.row_type.fields().len();
        let Self { row_type, fixed_at, ends_at, .. } = self;
        let (fixed_at, ends_at) = (*fixed_at, *ends_at);
        let row = Row { row_type, bytes, count, nulls_at: 1, fixed_at, ends_at, heap_at, end_bytes };
        (row.end(self.ends) == heap_bytes).then_some(row)
    }

    /// A row with fewer fields, or none.
    #[cold]
    fn read_other(&self, bytes: &[u8], visit: &mut VisitField<'_>) -> Result<()> {
        let row = Row::find(&self.row_type, bytes).ok_or_else(|| wrong(&self.row_type, bytes))?;
        self.places.iter().enumerate().try_for_each(|(number, place)| visit(number, row.field(place.field)?))
    }
}

impl<'a> IntoIterator for &Row<'a> {
    type Item = Option<&'a [u8]>;
    type IntoIter = RowFields<'a>;

    #[inline]
    fn into_iter(self) -> RowFields<'a> {
        self.iter()
    }
}

/// The bytes of the fields of a row, in order; `None` for nulls. See [`Row::iter`].
#[derive(Clone, Debug)]
pub struct RowFields<'a> {
    row: Row<'a>,
    fields: slice::Iter<'a, Field>,
    /// Fields that follow and were written.
    written: usize,
    /// Where the next field of fixed width begins, and the next one of variable width.
    fixed_at: usize,
    heap_at: usize,
    /// Numbers of the next field that may be null, and of the next one of variable width.
    nullable: usize,
    variable: usize,
}

impl<'a> Iterator for RowFields<'a> {
    type Item = Option<&'a [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        let field = self.fields.next()?;
        self.take_field(field.key_type.width(), field.nullable)
    }
}

impl<'a> RowFields<'a> {
    /// The next field, of a width that the caller knows at compile time; `None` where the row is not one of its type.
    #[inline]
    pub(crate) fn take_field(&mut self, width: Option<usize>, nullable: bool) -> Option<Option<&'a [u8]>> {
        let Some(written) = self.written.checked_sub(1) else { return Some(None) };
        self.written = written;
        let at = match width {
            Some(_) => self.fixed_at,
            None => self.heap_at,
        };
        let end = match width {
            Some(width) => {
                self.fixed_at += width;
                self.fixed_at
            }
            None => {
                self.variable += 1;
                self.heap_at = self.row.heap_at + self.row.end(self.variable);
                self.heap_at
            }
        };
        let bytes = self.row.bytes.get(at..end)?;
        if nullable {
            self.nullable += 1;
            return Some((!self.row.is_null(self.nullable - 1)).then_some(bytes));
        }
        Some(Some(bytes))
    }
}

fn no_field(row_type: &RowType, field: usize) -> Error {
    Error::input(format!("a row of {} fields has no field {field}", row_type.fields().len()))
}

#[cold]
fn wrong(row_type: &RowType, bytes: &[u8]) -> Error {
    Error::input(format!("a value of {} bytes is not a row of type {row_type}", bytes.len()))
}

/// Appends what is in front of the heap of a row: its fields of fixed width, and where the others end.
///
/// # Errors
/// [`Cause::Input`](crate::Cause::Input) if the row exceeds 4 GiB.
pub(super) fn append_row_head(
    count: usize,
    nulls: &[u8],
    fixed: &[u8],
    ends: &[usize],
    target: &mut Vec<u8>,
) -> Result<()> {
    let code = match ends.last().copied().unwrap_or(0) {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        0x1_0000..=0xffff_ffff => 2,
        longer => return Err(Error::input(format!("a row of {longer} bytes is too long"))),
    };
    put_varint(target, (count << END_WIDTH_BITS) as u64 | code as u64);
    target.extend_from_slice(nulls);
    target.extend_from_slice(fixed);
    for end in ends {
        target.extend_from_slice(&(*end as u32).to_le_bytes()[..END_WIDTHS[code]]);
    }
    Ok(())
}

/// Builds rows, one field after the other.
#[derive(Clone, Debug)]
pub struct RowBuilder {
    row_type: RowType,
    /// The bytes of the fields of fixed width, and of the others.
    fixed: Vec<u8>,
    heap: Vec<u8>,
    nulls: Vec<u8>,
    /// Where the fields of variable width end in the heap.
    ends: Vec<usize>,
    count: usize,
}

impl RowBuilder {
    /// A builder of rows of this type.
    #[must_use]
    pub fn new(row_type: RowType) -> Self {
        let nulls = vec![0; (row_type.before(row_type.fields().len()).nullable as usize).div_ceil(8)];
        Self { row_type, fixed: Vec::new(), heap: Vec::new(), nulls, ends: Vec::new(), count: 0 }
    }

    /// The type of the rows.
    #[must_use]
    pub fn row_type(&self) -> &RowType {
        &self.row_type
    }

    /// Appends a field.
    ///
    /// # Errors
    /// `Cause::Input` if the value is not of the field's type, if it is null and may not be, and for a
    /// field too many. The row is discarded then.
    pub fn push(&mut self, value: &Value) -> Result<()> {
        if let Value::Null = value {
            return self.push_bytes(None);
        }
        let Some(field) = self.row_type.fields().get(self.count) else { return Err(self.too_many()) };
        let (key_type, variable) = (field.key_type, field.key_type.width().is_none());
        let target = if variable { &mut self.heap } else { &mut self.fixed };
        if let Err(error) = key_type.append_value(value, target) {
            self.clear();
            return Err(error);
        }
        if variable {
            self.ends.push(self.heap.len());
        }
        self.count += 1;
        Ok(())
    }

    /// Appends a field by the bytes of a key of its type, or a null.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn push_bytes(&mut self, bytes: Option<&[u8]>) -> Result<()> {
        let Some(field) = self.row_type.fields().get(self.count) else { return Err(self.too_many()) };
        match bytes.filter(|bytes| !field.key_type.has_value_of(bytes)).map(<[u8]>::len) {
            Some(length) => Err(self.no_value(length)),
            None => self.push_known(bytes),
        }
    }

    /// As [`Self::push_bytes`], for bytes that the caller has just made or found to be those of a value of the field's
    /// type, or a null. Only their number is checked.
    ///
    /// # Errors
    /// As [`Self::push`].
    #[doc(hidden)]
    #[inline]
    pub fn push_known(&mut self, bytes: Option<&[u8]>) -> Result<()> {
        let Some(field) = self.row_type.fields().get(self.count) else { return Err(self.too_many()) };
        match (bytes, field.key_type.width()) {
            (Some(bytes), Some(width)) if bytes.len() != width => return Err(self.no_value(bytes.len())),
            (None, _) if !field.nullable => {
                let detail = format!("the field {field} cannot be null");
                self.clear();
                return Err(Error::input(detail));
            }
            (Some(bytes), Some(_)) => self.fixed.extend_from_slice(bytes),
            (None, Some(width)) => self.fixed.resize(self.fixed.len() + width, 0),
            (_, None) => {
                self.heap.extend_from_slice(bytes.unwrap_or_default());
                self.ends.push(self.heap.len());
            }
        }
        if bytes.is_none() {
            let number = self.row_type.before(self.count).nullable as usize;
            self.nulls[number / 8] |= 1 << (number % 8);
        }
        self.count += 1;
        Ok(())
    }

    /// The buffer to which the bytes of a value of the next field may be appended, and its length: for
    /// [`Self::end_field`].
    ///
    /// # Errors
    /// As [`Self::push`], for a field too many.
    #[doc(hidden)]
    #[inline]
    pub fn begin_field(&mut self) -> Result<(&mut Vec<u8>, usize)> {
        let Some(field) = self.row_type.fields().get(self.count) else { return Err(self.too_many()) };
        let target = if field.key_type.width().is_some() { &mut self.fixed } else { &mut self.heap };
        let from = target.len();
        Ok((target, from))
    }

    /// Takes the bytes that were appended to the buffer of the next field, which had `from` bytes, as its value. Of
    /// bytes that are known to be those of a value of its type, only the number is checked.
    ///
    /// # Errors
    /// As [`Self::push`].
    #[doc(hidden)]
    #[inline]
    pub fn end_field(&mut self, from: usize, is_known: bool) -> Result<()> {
        let Some(field) = self.row_type.fields().get(self.count) else { return Err(self.too_many()) };
        let (key_type, width) = (field.key_type, field.key_type.width());
        let target = if width.is_some() { &self.fixed } else { &self.heap };
        let bytes = target.get(from..).unwrap_or_default();
        if width.is_some_and(|width| width != bytes.len()) || !(is_known || key_type.has_value_of(bytes)) {
            let length = bytes.len();
            return Err(self.no_value(length));
        }
        if width.is_none() {
            self.ends.push(self.heap.len());
        }
        self.count += 1;
        Ok(())
    }

    /// Appends the bytes of the row to `target`, and begins the next one.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if fields are missing, or if the row exceeds 4 GiB.
    pub fn finish(&mut self, target: &mut Vec<u8>) -> Result<()> {
        if self.count < self.row_type.fields().len() {
            let detail = format!("a row of type {} has only {} fields", self.row_type, self.count);
            self.clear();
            return Err(Error::input(detail));
        }
        if let Err(error) = append_row_head(self.count, &self.nulls, &self.fixed, &self.ends, target) {
            self.clear();
            return Err(error);
        }
        target.extend_from_slice(&self.heap);
        self.clear();
        Ok(())
    }

    /// Discards the fields of the row so far.
    pub fn clear(&mut self) {
        self.fixed.clear();
        self.heap.clear();
        self.nulls.fill(0);
        self.ends.clear();
        self.count = 0;
    }

    /// The error for bytes that are no value of the next field.
    #[cold]
    fn no_value(&mut self, length: usize) -> Error {
        let field = self.row_type.fields().get(self.count);
        let shown = field.map(ToString::to_string).unwrap_or_default();
        self.clear();
        Error::input(format!("{length} bytes are no value of the field {shown}"))
    }

    fn too_many(&mut self) -> Error {
        self.clear();
        Error::input(format!("a row of type {} has no more fields", self.row_type))
    }
}
