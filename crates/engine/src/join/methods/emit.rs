//! The emitter of output rows: builds them in their [layout](crate::join::rows::form), batch by batch.

use crate::error::{Error, Result};
use crate::join::rows::form::{RowForm, Widths};
use crate::join::rows::joined_records::JoinedRecords;
use crate::join::rows::sink::RowSink;
use crate::join::rows::stream::RowsView;
use std::ops::Range;

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

/// How the rows are built.
enum EmitterLayout {
    /// Of these widths.
    Dense(Widths),
    /// As records of any width.
    Records(Box<JoinedRecords>),
}

/// Builds output rows and passes them to a writer.
pub(crate) struct Emitter<'w> {
    form: RowForm,
    layout: EmitterLayout,
    writer: Box<dyn RowWriter + 'w>,
    /// The current batch of built rows; empty between calls.
    built: Vec<u8>,
    rows: u64,
}

impl<'w> Emitter<'w> {
    /// An emitter of dense rows, of the widths of `form`.
    pub(crate) fn dense(form: RowForm, widths: Widths, writer: Box<dyn RowWriter + 'w>) -> Self {
        Self { form, layout: EmitterLayout::Dense(widths), writer, built: Vec::new(), rows: 0 }
    }

    /// An emitter of records for a table.
    pub(crate) fn of_records(form: RowForm, records: JoinedRecords, writer: Box<dyn RowWriter + 'w>) -> Self {
        let layout = form.widths().map_or_else(|| EmitterLayout::Records(Box::new(records)), EmitterLayout::Dense);
        Self { form, layout, writer, built: Vec::new(), rows: 0 }
    }

    /// The widths of the rows, if they are dense.
    fn widths(&self) -> Option<Widths> {
        match self.layout {
            EmitterLayout::Dense(widths) => Some(widths),
            EmitterLayout::Records(_) => None,
        }
    }

    /// Builds and emits a row.
    fn emit_row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        let records = match &mut self.layout {
            EmitterLayout::Dense(widths) => {
                let widths = *widths;
                return self.each(widths, std::iter::once((key, left, right)));
            }
            EmitterLayout::Records(records) => records,
        };
        self.built.clear();
        records.append(key, left, right, &mut self.built)?;
        let given = self.writer.row(key, &self.built);
        self.built.clear();
        given
    }

    /// Passes the built rows to the writer, after checking that they are `count` rows of `row_bytes` each.
    fn flush_built(&mut self, count: usize, row_bytes: usize) -> Result<()> {
        if self.built.len() != count * row_bytes {
            return Err(Error::input(format!(
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
        let Some(widths) = self.widths() else {
            return pairs.iter().try_for_each(|&(i, j)| {
                let (i, j) = (i as usize, j as usize);
                self.emit_row(left.key(i), Some(left.value(i)), Some(right.value(j)))
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
            let mark = self.form.marks.of(true, true);
            let row_bytes = key + value + behind + mark.len();
            let pairs_of = PairedRows { ours, theirs, pairs };
            let is_copied = match *mark {
                [] => copy_known::<0>(&mut self.built, widths, [], pairs_of),
                [mark] => copy_known::<1>(&mut self.built, widths, [mark], pairs_of),
                _ => false,
            };
            if is_copied {
                return self.flush_built(pairs.len(), row_bytes);
            }
            for &(i, j) in pairs {
                let (ours, theirs) = (ours.row(i), theirs.row(j));
                self.built.extend_from_slice(ours.get(..key).unwrap_or_default());
                self.built.extend_from_slice(mark);
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
            self.form.push_value(widths, &mut self.built, left, right);
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
        let Some(widths) = self.widths() else {
            return rows.into_iter().try_for_each(|i| self.emit_row(left.key(i), Some(left.value(i)), None));
        };
        match left {
            RowsView::Dense { bytes, key, value }
                if !self.form.kind.pairs()
                    && self.form.marks.len() == 0
                    && (key, value) == (widths.key, widths.left) =>
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
        self.emit_row(key, left, right)
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn dense_form(&self) -> Option<RowForm> {
        self.widths().map(|_| self.form)
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

/// Rows of both sides, and the pairs of them that are emitted.
#[derive(Clone, Copy)]
struct PairedRows<'a> {
    ours: StridedRows<'a>,
    theirs: StridedRows<'a>,
    pairs: &'a [(u32, u32)],
}

/// Builds rows of common widths by copies of constant length; returns `false` for other widths.
fn copy_known<const MARK: usize>(built: &mut Vec<u8>, widths: Widths, mark: [u8; MARK], rows: PairedRows<'_>) -> bool {
    match widths {
        Widths { key: 8, left: 8, right: 8 } => copy::<8, 8, 8, MARK>(built, mark, rows),
        Widths { key: 8, left: 0, right: 8 } => copy::<8, 0, 8, MARK>(built, mark, rows),
        Widths { key: 8, left: 8, right: 0 } => copy::<8, 8, 0, MARK>(built, mark, rows),
        Widths { key: 8, left: 0, right: 0 } => copy::<8, 0, 0, MARK>(built, mark, rows),
        Widths { key: 16, left: 8, right: 8 } => copy::<16, 8, 8, MARK>(built, mark, rows),
        Widths { key: 16, left: 16, right: 16 } => copy::<16, 16, 16, MARK>(built, mark, rows),
        _ => return false,
    }
    true
}

/// Appends rows: a key, the mark, the left value, and the right value of its partner.
fn copy<const KEY: usize, const LEFT: usize, const RIGHT: usize, const MARK: usize>(
    built: &mut Vec<u8>,
    mark: [u8; MARK],
    PairedRows { ours, theirs, pairs }: PairedRows<'_>,
) {
    let row_bytes = KEY + MARK + LEFT + RIGHT;
    let start = built.len();
    built.resize(start + pairs.len() * row_bytes, 0);
    let (mut missing, rows) = (false, built[start..].chunks_exact_mut(row_bytes));
    for (row, &(i, j)) in rows.zip(pairs) {
        let left = ours.bytes.get(i as usize * (KEY + LEFT)..).and_then(|rest| rest.get(..KEY + LEFT));
        let right = theirs.bytes.get(j as usize * (KEY + RIGHT) + KEY..).and_then(|rest| rest.first_chunk::<RIGHT>());
        let (Some(left), Some(right)) = (left, right) else {
            missing = true;
            continue;
        };
        row[..KEY].copy_from_slice(&left[..KEY]);
        row[KEY..KEY + MARK].copy_from_slice(&mark);
        row[KEY + MARK..KEY + MARK + LEFT].copy_from_slice(&left[KEY..]);
        row[KEY + MARK + LEFT..].copy_from_slice(right);
    }
    if missing {
        // The caller counts the rows.
        built.truncate(start);
    }
}

/// The caller's callback for each row: key, and the left and right values that there are.
pub(crate) type RowCallback<'a> = dyn FnMut(&[u8], Option<&[u8]>, Option<&[u8]>) -> Result<()> + Send + 'a;

/// Passes rows to the caller's callback.
pub(crate) struct CallerSink<'s, 'a> {
    pub(crate) visit: &'s mut RowCallback<'a>,
    pub(crate) rows: u64,
}

impl RowSink for CallerSink<'_, '_> {
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
