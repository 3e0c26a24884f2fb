//! The layout of output rows.
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
//! too. A file of records has no other. In a table, values are [rows](crate::join::rows::joined_records) instead: if
//! they are dense, their header and null bits are other marks in the place of 0, 1 and 2.

use super::options::JoinKind;
use super::relation::RelationFacts;
use crate::types::KeyType;

/// The layout of output rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowForm {
    pub(crate) kind: JoinKind,
    pub(crate) key_type: KeyType,
    /// Widths of the key, the left and the right value, if fixed.
    pub(crate) key: Option<usize>,
    pub(crate) left: Option<usize>,
    pub(crate) right: Option<usize>,
    /// What is in front of the values of dense rows.
    pub(crate) marks: RowMarks,
}

/// Most bytes in front of the values of a dense row.
const MARK_BYTES_MAX: usize = 4;

/// What is in front of the values of dense rows: with both sides, without a right one, and without a left one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowMarks {
    marks: [[u8; MARK_BYTES_MAX]; 3],
    bytes: u8,
}

impl RowMarks {
    /// Marks of one length; `None` if they differ in length, or are too long.
    pub(crate) fn new(marks: [&[u8]; 3]) -> Option<Self> {
        let bytes = marks[0].len();
        let mut padded = [[0; MARK_BYTES_MAX]; 3];
        for (target, mark) in padded.iter_mut().zip(marks) {
            target.get_mut(..mark.len())?.copy_from_slice(mark);
        }
        let is_even = marks.iter().all(|mark| mark.len() == bytes);
        is_even.then_some(Self { marks: padded, bytes: bytes as u8 })
    }

    /// The marks of plain values: one byte in joins that keep rows without partner.
    pub(crate) fn of_kind(kind: JoinKind) -> Self {
        match kind {
            JoinKind::Left | JoinKind::Full => Self::new([&[1], &[0], &[2]]).unwrap_or_default(),
            JoinKind::Inner | JoinKind::Semi | JoinKind::Anti => Self::default(),
        }
    }

    pub(in crate::join) fn len(self) -> usize {
        usize::from(self.bytes)
    }

    #[inline]
    pub(crate) fn of(&self, has_left: bool, has_right: bool) -> &[u8] {
        let index = match (has_left, has_right) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        };
        &self.marks[index][..self.len()]
    }
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
        let marks = RowMarks::of_kind(kind);
        Self { kind, key_type, key, left: left.value_bytes, right: right.value_bytes, marks }
    }

    /// The layout of records: dense if they consist of marks, which are given, and values.
    pub(crate) fn of_records(self, marks: Option<RowMarks>) -> Self {
        match marks {
            Some(marks) => Self { marks, ..self },
            None => Self { left: None, ..self },
        }
    }

    /// Width of output values, if rows have one width.
    pub(crate) fn value_bytes(self) -> Option<usize> {
        let Widths { left, right, .. } = self.widths()?;
        Some(self.marks.len() + left + right)
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

    /// Appends the value of a dense row.
    pub(in crate::join) fn push_value(
        self,
        widths: Widths,
        out: &mut Vec<u8>,
        left: Option<&[u8]>,
        right: Option<&[u8]>,
    ) {
        // A semi join has no right values to lack.
        out.extend_from_slice(self.marks.of(left.is_some(), right.is_some() || !self.kind.pairs()));
        for (value, width) in [(left, widths.left), (right, widths.right)] {
            match value {
                Some(value) => out.extend_from_slice(value),
                None => out.resize(out.len() + width, 0),
            }
        }
    }
}
