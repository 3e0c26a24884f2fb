//! The size of a column, and its stored form.

use super::fit::ColumnGroup;
use super::{COLUMN_HEAD_BYTES, GROUP_NUMBERS};
use crate::bits;

/// The size of a stored column, group by group.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSize {
    /// Numbers of the first group that precede the column.
    lead: usize,
    groups: usize,
    least_anchor: u64,
    greatest_anchor: u64,
    greatest_rise: u64,
    least_shift: u32,
    /// Words of residuals of all groups but the last.
    words: usize,
    last_width: u32,
}

fn bytes_of(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()).div_ceil(8) as usize
}

impl ColumnSize {
    /// The size of a column without groups that begins after `lead` numbers of its first group.
    #[must_use]
    pub fn new(lead: usize) -> Self {
        let lead = lead % GROUP_NUMBERS;
        Self {
            lead,
            groups: 0,
            least_anchor: u64::MAX,
            greatest_anchor: 0,
            greatest_rise: 0,
            least_shift: u64::BITS - 1,
            words: 0,
            last_width: 0,
        }
    }

    /// Adds the next group.
    pub fn push(&mut self, group: &ColumnGroup) {
        if self.groups > 0 {
            let before = if self.groups == 1 { GROUP_NUMBERS - self.lead } else { GROUP_NUMBERS };
            self.words += (before * self.last_width as usize).div_ceil(64);
        }
        self.groups += 1;
        self.least_anchor = self.least_anchor.min(group.anchor);
        self.greatest_anchor = self.greatest_anchor.max(group.anchor);
        self.greatest_rise = self.greatest_rise.max(group.rise);
        self.least_shift = self.least_shift.min(group.shift);
        self.last_width = group.width;
    }

    /// Number of groups so far.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups
    }

    fn anchor_bytes(&self) -> usize {
        bytes_of(self.greatest_anchor.saturating_sub(self.least_anchor) >> self.least_shift)
    }

    fn rise_bytes(&self) -> usize {
        bytes_of(self.greatest_rise >> self.least_shift)
    }

    /// Stored bytes, head included, if the last group ends after `in_last` of its numbers; a start takes
    /// `start_bytes`.
    #[must_use]
    pub fn bytes(&self, in_last: usize, start_bytes: usize) -> usize {
        if self.groups == 0 {
            return COLUMN_HEAD_BYTES;
        }
        let in_last = if self.groups == 1 { in_last - self.lead.min(in_last) } else { in_last };
        COLUMN_HEAD_BYTES
            + self.groups * (self.anchor_bytes() + self.rise_bytes() + 1 + start_bytes)
            + 8 * self.words
            + (in_last * self.last_width as usize).div_ceil(8)
    }

    /// Whether all numbers are the same, so that the column has no residuals.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.words == 0 && self.last_width == 0 && self.greatest_rise == 0 && self.least_anchor >= self.greatest_anchor
    }
}

/// Appends a column: `count` numbers, the first of which is number `lead` of the first of `groups`.
///
/// The numbers must be those that the groups were fitted to, and at least one.
pub fn encode(
    groups: &[ColumnGroup],
    lead: usize,
    count: usize,
    start_bytes: usize,
    number: impl Fn(usize) -> u64,
    out: &mut Vec<u8>,
) {
    let mut size = ColumnSize::new(lead);
    groups.iter().for_each(|group| size.push(group));
    let in_last = (lead + count - 1) % GROUP_NUMBERS + 1;
    let body = size.bytes(in_last, start_bytes) - COLUMN_HEAD_BYTES;
    let (anchor_bytes, rise_bytes, shift) = (size.anchor_bytes(), size.rise_bytes(), size.least_shift);
    out.extend_from_slice(&size.least_anchor.to_le_bytes());
    out.extend_from_slice(&[shift as u8, anchor_bytes as u8, rise_bytes as u8, 0]);
    out.extend_from_slice(&(body as u32).to_le_bytes());
    let mut words = 0_usize;
    for (index, group) in groups.iter().enumerate() {
        let anchor = (group.anchor - size.least_anchor) >> shift;
        out.extend_from_slice(&anchor.to_le_bytes()[..anchor_bytes]);
        out.extend_from_slice(&(group.rise >> shift).to_le_bytes()[..rise_bytes]);
        out.push(group.width as u8);
        out.extend_from_slice(&(words as u32).to_le_bytes()[..start_bytes]);
        let stored = if index == 0 { GROUP_NUMBERS - lead } else { GROUP_NUMBERS };
        words += (stored * group.width as usize).div_ceil(64);
    }
    let mut residuals = [0; GROUP_NUMBERS];
    let mut row = 0;
    for (index, group) in groups.iter().enumerate() {
        let first = if index == 0 { lead } else { 0 };
        let end = if index + 1 == groups.len() { in_last } else { GROUP_NUMBERS };
        let residuals = &mut residuals[..end.saturating_sub(first)];
        for (position, residual) in (first..).zip(residuals.iter_mut()) {
            *residual = number(row).wrapping_sub(group.line_at(position));
            row += 1;
        }
        let begin = out.len();
        bits::pack(residuals, group.width, out);
        if index + 1 < groups.len() {
            out.resize(begin + (out.len() - begin).next_multiple_of(8), 0);
        }
    }
}
