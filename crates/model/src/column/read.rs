//! Access to a stored column. Every access is total: whatever a malformed column lacks is `None`.

use super::fit::rise_at;
use super::{COLUMN_HEAD_BYTES, GROUP_BITS, GROUP_NUMBERS};
use crate::bits;

/// A stored column: where its parts are. The bytes of the block are an argument of each access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    base: u64,
    count: u32,
    directory_at: u32,
    residuals_at: u32,
    end: u32,
    shift: u8,
    anchor_bytes: u8,
    rise_bytes: u8,
    start_bytes: u8,
    lead: u8,
}

/// Where the line of a group leaves so few positions, a number below the group is probably the next after the previous
/// group.
const NARROW_WINDOW: usize = 4;

/// A decoded entry of the directory.
#[derive(Clone, Copy)]
struct Group {
    anchor: u64,
    rise: u64,
    width: u32,
    /// Bit offset of its first stored residual within the residuals.
    bit: u64,
}

/// An unsigned integer of up to 8 bytes.
#[inline]
fn integer(bytes: &[u8], at: usize, length: u8) -> Option<u64> {
    match bytes.get(at..)?.first_chunk::<8>() {
        Some(word) => Some(u64::from_le_bytes(*word) & low_bits(8 * u32::from(length))),
        None => {
            let (mut word, length) = ([0; 8], usize::from(length));
            word[..length].copy_from_slice(bytes.get(at..at + length)?);
            Some(u64::from_le_bytes(word))
        }
    }
}

#[inline]
fn low_bits(width: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - width.min(u64::BITS)).unwrap_or(0)
}

impl Column {
    /// The column of `count` numbers at `at`, whose first group lacks its first `lead` numbers.
    #[inline]
    #[must_use]
    pub fn parse(bytes: &[u8], at: usize, lead: usize, count: usize, start_bytes: usize) -> Option<Self> {
        let head: &[u8; COLUMN_HEAD_BYTES] = bytes.get(at..)?.first_chunk()?;
        let base = u64::from_le_bytes(*head.first_chunk()?);
        let [shift, anchor_bytes, rise_bytes, reserved] = *head.get(8..)?.first_chunk()?;
        let body = u32::from_le_bytes(*head.last_chunk()?) as usize;
        if shift > 63 || anchor_bytes > 8 || rise_bytes > 8 || reserved != 0 || lead >= GROUP_NUMBERS {
            return None;
        }
        let directory_at = at.checked_add(COLUMN_HEAD_BYTES)?;
        let groups = lead.checked_add(count)?.div_ceil(GROUP_NUMBERS);
        let entry_bytes = usize::from(anchor_bytes) + usize::from(rise_bytes) + 1 + start_bytes;
        let directory = groups.checked_mul(entry_bytes)?;
        let end = directory_at.checked_add(body)?;
        (directory <= body && end <= bytes.len()).then_some(())?;
        Some(Self {
            base,
            count: u32::try_from(count).ok()?,
            directory_at: u32::try_from(directory_at).ok()?,
            residuals_at: u32::try_from(directory_at + directory).ok()?,
            end: u32::try_from(end).ok()?,
            shift,
            anchor_bytes,
            rise_bytes,
            start_bytes: start_bytes as u8,
            lead: lead as u8,
        })
    }

    #[inline]
    fn count(&self) -> usize {
        self.count as usize
    }

    #[inline]
    fn lead(&self) -> usize {
        usize::from(self.lead)
    }

    #[inline]
    fn residuals<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        bytes.get(self.residuals_at as usize..self.end as usize)
    }

    /// The offset of the column.
    #[inline]
    #[must_use]
    pub fn begin(&self) -> usize {
        self.directory_at as usize - COLUMN_HEAD_BYTES
    }

    /// The offset after the column.
    #[inline]
    #[must_use]
    pub fn end(&self) -> usize {
        self.end as usize
    }

    /// Number of groups.
    #[inline]
    fn groups(&self) -> usize {
        (self.lead() + self.count()).div_ceil(GROUP_NUMBERS)
    }

    #[inline]
    fn entry_bytes(&self) -> usize {
        usize::from(self.anchor_bytes) + usize::from(self.rise_bytes) + 1 + usize::from(self.start_bytes)
    }

    #[inline]
    fn anchor(&self, bytes: &[u8], group: usize) -> Option<u64> {
        let at = self.directory_at as usize + group * self.entry_bytes();
        let stored = integer(bytes, at, self.anchor_bytes)?;
        Some(self.base.wrapping_add(stored << self.shift))
    }

    #[inline]
    fn group(&self, bytes: &[u8], group: usize) -> Option<Group> {
        let at = self.directory_at as usize + group * self.entry_bytes();
        let anchor = self.base.wrapping_add(integer(bytes, at, self.anchor_bytes)? << self.shift);
        let at = at + usize::from(self.anchor_bytes);
        let rise = integer(bytes, at, self.rise_bytes)? << self.shift;
        let at = at + usize::from(self.rise_bytes);
        let width = u32::from(*bytes.get(at)?);
        let start = integer(bytes, at + 1, self.start_bytes)?;
        (width <= u64::BITS).then_some(Group { anchor, rise, width, bit: start * 64 })
    }

    /// The first and the end of the positions of a group that the column has.
    #[inline]
    fn positions(&self, group: usize) -> (usize, usize) {
        let first = if group == 0 { self.lead() } else { 0 };
        (first, (self.lead() + self.count() - group * GROUP_NUMBERS).min(GROUP_NUMBERS))
    }

    /// The number at a position of a group, whose first stored position is `first`.
    #[inline]
    fn number(&self, bytes: &[u8], group: &Group, first: usize, position: usize) -> Option<u64> {
        group.number(self.residuals(bytes)?, first, position)
    }

    /// The number of a row.
    #[inline]
    #[must_use]
    pub fn get(&self, bytes: &[u8], row: usize) -> Option<u64> {
        if row >= self.count() {
            return None;
        }
        let at = self.lead() + row;
        let index = at / GROUP_NUMBERS;
        let group = self.group(bytes, index)?;
        self.number(bytes, &group, if index == 0 { self.lead() } else { 0 }, at % GROUP_NUMBERS)
    }

    /// The numbers of the group that a row is in.
    #[inline]
    #[must_use]
    pub fn run<'a>(&self, bytes: &'a [u8], row: usize) -> Option<ColumnRun<'a>> {
        let index = (self.lead() + row) / GROUP_NUMBERS;
        let (first, end) = if row < self.count() { self.positions(index) } else { return None };
        Some(ColumnRun { group: self.group(bytes, index)?, residuals: self.residuals(bytes)?, first, end })
    }

    /// The first row whose number is not less than `number`, in a column that ascends; the number of rows if there is
    /// none.
    #[inline]
    #[must_use]
    pub fn lower_bound(&self, bytes: &[u8], number: u64) -> Option<usize> {
        self.search(bytes, number, || {})
    }

    /// As [`Self::lower_bound`]; calls `decoded` for each residual that it decodes.
    pub(super) fn search(&self, bytes: &[u8], number: u64, mut decoded: impl FnMut()) -> Option<usize> {
        // The last group whose line begins at or below the number: all groups after it are above.
        let (mut low, mut high) = (0, self.groups());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.anchor(bytes, middle)? <= number { low = middle + 1 } else { high = middle }
        }
        let Some(mut index) = low.checked_sub(1) else { return Some(0) };
        let mut number_at = |index: usize, position: usize| {
            decoded();
            self.number(bytes, &self.group(bytes, index)?, self.positions(index).0, position)
        };
        let (mut group, (mut first, mut end)) = (self.group(bytes, index)?, self.positions(index));
        let mut window = group.window(number);
        if window.0 <= first && number_at(index, first)? >= number {
            if index == 0 {
                return Some(0);
            }
            if window.1 <= first + NARROW_WINDOW && number_at(index - 1, GROUP_NUMBERS - 1)? < number {
                return Some(index * GROUP_NUMBERS - self.lead());
            }
            // The line may begin below numbers of earlier groups.
            let mut low = 0;
            while low < index {
                let middle = low + (index - low) / 2;
                if number_at(middle, self.positions(middle).0)? < number { low = middle + 1 } else { index = middle }
            }
            let Some(before) = low.checked_sub(1) else { return Some(0) };
            index = before;
            (group, (first, end)) = (self.group(bytes, index)?, self.positions(index));
            window = group.window(number);
            window.0 = window.0.max(first + 1);
        }
        let (mut from, mut to) = (window.0.clamp(first, end), window.1.clamp(first, end));
        while from < to {
            let middle = from + (to - from) / 2;
            decoded();
            if self.number(bytes, &group, first, middle)? < number { from = middle + 1 } else { to = middle }
        }
        Some(index * GROUP_NUMBERS + from - self.lead())
    }

    /// Appends the numbers of `rows` to `numbers`.
    #[must_use]
    pub fn decode(&self, bytes: &[u8], rows: std::ops::Range<usize>, numbers: &mut Vec<u64>) -> Option<()> {
        let (begin, end) = (self.lead() + rows.start, self.lead() + rows.end.min(self.count()));
        let residuals = self.residuals(bytes)?;
        let mut at = begin;
        while at < end {
            let index = at / GROUP_NUMBERS;
            let group = self.group(bytes, index)?;
            let (first, last) = self.positions(index);
            let position = at % GROUP_NUMBERS;
            let count = last.min(position + end - at) - position;
            let bit = group.bit + (position - first) as u64 * u64::from(group.width);
            let before = numbers.len();
            bits::unpack(residuals, bit, group.width, count, numbers)?;
            for (position, number) in (position..).zip(numbers.get_mut(before..)?) {
                *number = number.wrapping_add(group.anchor.wrapping_add(rise_at(group.rise, position)));
            }
            at += count;
        }
        Some(())
    }

    /// Whether the groups store their residuals one after another, as the writer does it, with zeros between them.
    #[must_use]
    pub fn is_canonical(&self, bytes: &[u8]) -> bool {
        let Some(residuals) = self.residuals(bytes) else { return false };
        let mut end_bit = 0_u64;
        for index in 0..self.groups() {
            let Some(group) = self.group(bytes, index) else { return false };
            if group.bit != end_bit.next_multiple_of(64) || !zeros(residuals, end_bit, group.bit) {
                return false;
            }
            let (first, end) = self.positions(index);
            end_bit = group.bit + (end - first) as u64 * u64::from(group.width);
        }
        end_bit.div_ceil(8) == residuals.len() as u64 && zeros(residuals, end_bit, 8 * residuals.len() as u64)
    }
}

/// Whether the bits from `bit` to `end`, fewer than 64, are zeros.
fn zeros(bytes: &[u8], bit: u64, end: u64) -> bool {
    bits::read(bytes, bit, (end - bit) as u32) == Some(0)
}

/// The numbers of a column in one group, by position.
#[derive(Clone, Copy)]
pub struct ColumnRun<'a> {
    group: Group,
    residuals: &'a [u8],
    first: usize,
    end: usize,
}

impl ColumnRun<'_> {
    /// The number at a position of the group.
    #[inline]
    #[must_use]
    pub fn get(&self, position: usize) -> Option<u64> {
        let is_stored = (self.first..self.end).contains(&position);
        is_stored.then(|| self.group.number(self.residuals, self.first, position))?
    }
}

impl Group {
    /// The number at a position, if the first stored one is `first`.
    #[inline]
    fn number(&self, residuals: &[u8], first: usize, position: usize) -> Option<u64> {
        let line = self.anchor.wrapping_add(rise_at(self.rise, position));
        let bit = self.bit + (position - first) as u64 * u64::from(self.width);
        Some(line.wrapping_add(bits::read(residuals, bit, self.width)?))
    }

    /// The positions among which the first number not less than `number` is, both ends included; `number` is not below
    /// the anchor.
    #[inline]
    fn window(&self, number: u64) -> (usize, usize) {
        let distance = number.wrapping_sub(self.anchor);
        let within = low_bits(self.width);
        (self.first_above(distance.saturating_sub(within)), self.first_above(distance))
    }

    /// The first position at which the line has risen by `distance`.
    #[inline]
    fn first_above(&self, distance: u64) -> usize {
        if distance == 0 {
            0
        } else if distance >= self.rise {
            GROUP_NUMBERS
        } else if let Some(scaled) = distance.checked_mul(GROUP_NUMBERS as u64) {
            scaled.div_ceil(self.rise) as usize
        } else {
            ((u128::from(distance) << GROUP_BITS).div_ceil(u128::from(self.rise))) as usize
        }
    }
}
