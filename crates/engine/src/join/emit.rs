//! The rows of the output: their layout, and the emitter that builds them.
//!
//! ```text
//! key | value                                    of a table or a file of records
//!       inner      left value | right value
//!       left, full 1 | left value | right value      or 0 | left value | zeros, for a left row without partner,
//!                                                    or 2 | zeros | right value, for a right row without partner
//!       semi, anti left value
//! ```
//!
//! This is the dense form, in which keys and the values of each side have one width each; all rows then have one width,
//! too. Otherwise the value is
//!
//! ```text
//!       inner      varint length of the left value | left value | right value
//!       left, full varint length of the left value | left value | 1 | right value      or 0, and nothing behind it;
//!                                                       or the length 0 | 2 | right value
//!       semi, anti varint length of the left value | left value
//! ```

use super::merge::RowSink;
use super::options::JoinKind;
use super::rows::RowsView;
use super::source::RelationFacts;
use crate::block::varint::put_varint;
use crate::error::{Error, Result};
use crate::types::KeyType;
use std::ops::Range;

/// The layout of output rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowForm {
    pub(crate) kind: JoinKind,
    pub(crate) key_type: KeyType,
    /// Widths of the key, the left and the right value, if fixed.
    pub(crate) key: Option<usize>,
    pub(crate) left: Option<usize>,
    pub(crate) right: Option<usize>,
}

/// The widths of fixed-width rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Widths {
    pub(crate) key: usize,
    pub(crate) left: usize,
    pub(crate) right: usize,
}

impl RowForm {
    /// The layout of the rows of a join of this kind.
    pub(crate) fn new(kind: JoinKind, left: &RelationFacts, right: &RelationFacts) -> Self {
        let (mut key_type, mut key) = (left.key_type, left.key_bytes);
        // Output keys come from left rows, and in a full join from right rows too.
        if kind.keeps_unmatched_right() && (key_type, key) != (right.key_type, right.key_bytes) {
            key = key.filter(|_| key == right.key_bytes);
            key_type = if key_type == right.key_type { key_type } else { KeyType::Bytes };
        }
        Self { kind, key_type, key, left: left.value_bytes, right: right.value_bytes }
    }

    /// Bytes of the flag that marks rows without partner.
    fn flag_bytes(self) -> usize {
        usize::from(self.has_flag())
    }

    /// Whether a byte marks rows without partner.
    fn has_flag(self) -> bool {
        matches!(self.kind, JoinKind::Left | JoinKind::Full)
    }

    /// Width of output values, if rows have one width.
    pub(crate) fn value_bytes(self) -> Option<usize> {
        let Widths { left, right, .. } = self.widths()?;
        Some(self.flag_bytes() + left + right)
    }

    /// The widths of output rows, if fixed.
    pub(crate) fn widths(self) -> Option<Widths> {
        let right = if self.kind.pairs() { self.right? } else { 0 };
        Some(Widths { key: self.key?, left: self.left?, right })
    }

    /// Width of a whole row.
    pub(crate) fn row_bytes(self) -> Option<usize> {
        Some(self.widths()?.key + self.value_bytes()?)
    }

    /// Appends the value of a row.
    fn push_value(self, out: &mut Vec<u8>, left: Option<&[u8]>, right: Option<&[u8]>) {
        let flag = self.has_flag().then_some(match (left, right) {
            (None, _) => 2,
            (Some(_), right) => u8::from(right.is_some()),
        });
        match self.widths() {
            Some(widths) => {
                out.extend(flag);
                for (value, width) in [(left, widths.left), (right, widths.right)] {
                    match value {
                        Some(value) => out.extend_from_slice(value),
                        None => out.resize(out.len() + width, 0),
                    }
                }
            }
            None => {
                let left = left.unwrap_or_default();
                put_varint(out, left.len() as u64);
                out.extend_from_slice(left);
                out.extend(flag);
                out.extend_from_slice(right.unwrap_or_default());
            }
        }
    }
}

/// Approximate size of a batch of built rows, in bytes: a first-level cache holds the batch and its input rows.
const ROW_BATCH_BYTES: usize = 24 << 10;

/// A writer of rows in their final layout.
pub(crate) trait RowWriter {
    /// Writes consecutive rows of one width, each a key and a value. Requires known [`RowForm::widths`].
    ///
    /// # Errors
    /// Errors of the output; the same applies to the other methods.
    fn dense(&mut self, rows: &[u8]) -> Result<()>;

    /// Writes one row of any length.
    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Completes and syncs the output.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Builds output rows and passes them to a writer.
pub(crate) struct Emitter<'w> {
    form: RowForm,
    widths: Option<Widths>,
    writer: Box<dyn RowWriter + 'w>,
    /// The current batch of built rows; empty between calls.
    built: Vec<u8>,
    rows: u64,
}

impl<'w> Emitter<'w> {
    pub(crate) fn new(form: RowForm, writer: Box<dyn RowWriter + 'w>) -> Self {
        Self { form, widths: form.widths(), writer, built: Vec::new(), rows: 0 }
    }

    /// Passes the built rows to the writer, after checking that they are `count` rows of `row_bytes` each.
    fn flush_built(&mut self, count: usize, row_bytes: usize) -> Result<()> {
        if self.built.len() != count * row_bytes {
            return Err(Error::InvalidArgument(format!(
                "{count} rows of a join take {} bytes, instead of {row_bytes} each: a relation does not have the \
                 widths that it states",
                self.built.len()
            )));
        }
        let given = self.writer.dense(&self.built);
        self.built.clear();
        given
    }

    /// Builds and emits one batch of pairs.
    fn emit_pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        self.rows += pairs.len() as u64;
        let Some(widths) = self.widths else {
            return pairs.iter().try_for_each(|&(i, j)| {
                let (i, j) = (i as usize, j as usize);
                self.built.clear();
                self.form.push_value(&mut self.built, Some(left.value(i)), Some(right.value(j)));
                self.writer.row(left.key(i), &self.built)
            });
        };
        if let (
            RowsView::Dense { bytes: ours, key, value },
            RowsView::Dense { bytes: theirs, key: other, value: behind },
        ) = (left, right)
            && (Widths { key, left: value, right: behind }) == widths
            && key == other
        {
            let ours = StridedRows { bytes: ours, width: key + value };
            let theirs = StridedRows { bytes: theirs, width: key + behind };
            let row_bytes = key + value + behind + self.form.flag_bytes();
            if self.form.kind == JoinKind::Inner && copy_known(&mut self.built, widths, ours, theirs, pairs) {
                return self.flush_built(pairs.len(), row_bytes);
            }
            for &(i, j) in pairs {
                let (ours, theirs) = (ours.row(i), theirs.row(j));
                self.built.extend_from_slice(ours.get(..key).unwrap_or_default());
                if self.form.has_flag() {
                    self.built.push(1);
                }
                self.built.extend_from_slice(ours.get(key..).unwrap_or_default());
                self.built.extend_from_slice(theirs.get(key..).unwrap_or_default());
            }
            return self.flush_built(pairs.len(), row_bytes);
        }
        let rows = pairs
            .iter()
            .map(|&(i, j)| (left.key(i as usize), Some(left.value(i as usize)), Some(right.value(j as usize))));
        self.each(widths, rows)
    }

    /// Builds dense rows one by one, and emits them.
    fn each<'a>(
        &mut self,
        widths: Widths,
        rows: impl ExactSizeIterator<Item = (&'a [u8], Option<&'a [u8]>, Option<&'a [u8]>)>,
    ) -> Result<()> {
        let count = rows.len();
        let row_bytes = widths.key + self.form.value_bytes().unwrap_or(0);
        for (key, left, right) in rows {
            self.built.extend_from_slice(key);
            self.form.push_value(&mut self.built, left, right);
        }
        self.flush_built(count, row_bytes)
    }
}

impl RowSink for Emitter<'_> {
    fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        let at_once = (ROW_BATCH_BYTES / self.form.row_bytes().unwrap_or(1).max(1)).max(1);
        pairs.chunks(at_once).try_for_each(|pairs| self.emit_pairs(left, right, pairs))
    }

    fn lefts(&mut self, left: RowsView<'_>, rows: Range<usize>) -> Result<()> {
        self.rows += rows.len() as u64;
        let Some(widths) = self.widths else {
            return rows.into_iter().try_for_each(|i| {
                self.built.clear();
                self.form.push_value(&mut self.built, Some(left.value(i)), None);
                self.writer.row(left.key(i), &self.built)
            });
        };
        match left {
            RowsView::Dense { bytes, key, value }
                if !self.form.kind.pairs() && (key, value) == (widths.key, widths.left) =>
            {
                let width = key + value;
                self.writer.dense(bytes.get(rows.start * width..rows.end * width).unwrap_or_default())
            }
            _ => {
                let at_once = (ROW_BATCH_BYTES / self.form.row_bytes().unwrap_or(1).max(1)).max(1);
                let mut begin = rows.start;
                while begin < rows.end {
                    let end = rows.end.min(begin + at_once);
                    self.each(widths, (begin..end).map(|i| (left.key(i), Some(left.value(i)), None)))?;
                    begin = end;
                }
                Ok(())
            }
        }
    }

    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        self.rows += 1;
        match self.widths {
            Some(widths) => self.each(widths, std::iter::once((key, left, right))),
            None => {
                self.built.clear();
                self.form.push_value(&mut self.built, left, right);
                self.writer.row(key, &self.built)
            }
        }
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn dense_form(&self) -> Option<RowForm> {
        self.widths.map(|_| self.form)
    }

    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        self.rows += (rows.len() / self.form.row_bytes().unwrap_or(1).max(1)) as u64;
        self.writer.dense(rows)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish()
    }
}

/// Rows of one width, by row number.
#[derive(Clone, Copy)]
struct StridedRows<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> StridedRows<'a> {
    #[inline]
    fn row(&self, row: u32) -> &'a [u8] {
        let at = row as usize * self.width;
        self.bytes.get(at..at + self.width).unwrap_or_default()
    }
}

/// Builds rows of common widths by copies of constant length; returns `false` for other widths.
fn copy_known(
    built: &mut Vec<u8>,
    widths: Widths,
    ours: StridedRows<'_>,
    theirs: StridedRows<'_>,
    pairs: &[(u32, u32)],
) -> bool {
    match widths {
        Widths { key: 8, left: 8, right: 8 } => copy::<8, 16, 8>(built, ours, theirs, pairs),
        Widths { key: 8, left: 0, right: 8 } => copy::<8, 8, 8>(built, ours, theirs, pairs),
        Widths { key: 8, left: 8, right: 0 } => copy::<8, 16, 0>(built, ours, theirs, pairs),
        Widths { key: 8, left: 0, right: 0 } => copy::<8, 8, 0>(built, ours, theirs, pairs),
        Widths { key: 16, left: 8, right: 8 } => copy::<16, 24, 8>(built, ours, theirs, pairs),
        Widths { key: 16, left: 16, right: 16 } => copy::<16, 32, 16>(built, ours, theirs, pairs),
        _ => return false,
    }
    true
}

/// Appends left rows of `LEFT` bytes, each followed by the `RIGHT` bytes after its partner's key.
fn copy<const KEY: usize, const LEFT: usize, const RIGHT: usize>(
    built: &mut Vec<u8>,
    ours: StridedRows<'_>,
    theirs: StridedRows<'_>,
    pairs: &[(u32, u32)],
) {
    let row_bytes = LEFT + RIGHT;
    let start = built.len();
    built.resize(start + pairs.len() * row_bytes, 0);
    let (mut missing, rows) = (false, built[start..].chunks_exact_mut(row_bytes));
    for (row, &(i, j)) in rows.zip(pairs) {
        let left = ours.bytes.get(i as usize * LEFT..).and_then(|rest| rest.first_chunk::<LEFT>());
        let right = theirs.bytes.get(j as usize * (KEY + RIGHT) + KEY..).and_then(|rest| rest.first_chunk::<RIGHT>());
        if let (Some(left), Some(right), Some((front, back))) = (left, right, row.split_first_chunk_mut::<LEFT>()) {
            *front = *left;
            back.copy_from_slice(right);
        } else {
            missing = true;
        }
    }
    if missing {
        // The caller counts the rows.
        built.truncate(start);
    }
}

/// The caller's callback for each row: key, and the left and right values that there are.
pub(crate) type RowCallback<'a> = dyn FnMut(&[u8], Option<&[u8]>, Option<&[u8]>) -> Result<()> + Send + 'a;

/// Passes rows to the caller's callback.
pub(crate) struct CallerSink<'a> {
    pub(crate) visit: Box<RowCallback<'a>>,
    pub(crate) rows: u64,
}

impl RowSink for CallerSink<'_> {
    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        self.rows += 1;
        (self.visit)(key, left, right)
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
