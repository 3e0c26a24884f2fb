//! The fit of a group: its line, and the width of its residuals.

use super::{GROUP_BITS, GROUP_NUMBERS};

/// Bits of the residuals that anchor and rise need not resolve: rounding them to a 32nd of the range widens few groups.
const ROUNDED_BITS: u32 = 5;
/// Attempts to tilt the line after the one through both ends.
const TILTS: usize = 3;
/// Ranges of a group from here on are coded without a line, since differences to one might overflow.
const LINE_RANGE_MAX: u64 = 1 << 61;

/// The line of a group and the width of its residuals. Independent of the block that the group is stored in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnGroup {
    /// The line at position 0, a multiple of 2^`shift`.
    pub(super) anchor: u64,
    /// The rise of the line over [`GROUP_NUMBERS`] positions, a multiple of 2^`shift`.
    pub(super) rise: u64,
    pub(super) shift: u32,
    /// Bits of a residual.
    pub(super) width: u32,
}

/// The rise of a line up to a position.
#[inline]
pub(super) fn rise_at(rise: u64, position: usize) -> u64 {
    let position = position as u64;
    // The product of a rise and a position may exceed 64 bits.
    (rise >> GROUP_BITS)
        .wrapping_mul(position)
        .wrapping_add(((rise & (GROUP_NUMBERS as u64 - 1)) * position) >> GROUP_BITS)
}

/// The least and the greatest of the distances to a line, with their positions.
#[derive(Clone, Copy)]
struct Distances {
    least: (i64, usize),
    greatest: (i64, usize),
}

impl Distances {
    fn of(numbers: &[u64], first: u64, rise: u64) -> Self {
        let distance = |position: usize, number: u64| number.wrapping_sub(first).wrapping_sub(rise_at(rise, position));
        let (mut least, mut greatest) = ((i64::MAX, 0), (i64::MIN, 0));
        for (position, &number) in numbers.iter().enumerate() {
            let distance = distance(position, number) as i64;
            if distance < least.0 {
                least = (distance, position);
            }
            if distance > greatest.0 {
                greatest = (distance, position);
            }
        }
        Self { least, greatest }
    }

    fn range(&self) -> u64 {
        self.greatest.0.wrapping_sub(self.least.0) as u64
    }
}

fn bits(range: u64) -> u32 {
    u64::BITS - range.leading_zeros()
}

impl ColumnGroup {
    /// Fits a group of at most [`GROUP_NUMBERS`] numbers, which are at positions from 0 on. Only numbers that ascend
    /// get a line; others get a frame of reference.
    #[must_use]
    pub fn fit(numbers: &[u64]) -> Self {
        let numbers = numbers.get(..GROUP_NUMBERS).unwrap_or(numbers);
        let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else { return Self::default() };
        let frame = Self::frame(numbers);
        let steps = numbers.len() as u64 - 1;
        if steps == 0 || frame.width < 2 || last < first || last - first >= LINE_RANGE_MAX || !numbers.is_sorted() {
            return frame;
        }
        // The range is below 2^61, so that the rise over one more step, and its 64-fold, are computed without overflow.
        let rise = (u128::from(last - first) * GROUP_NUMBERS as u128 / u128::from(steps)) as u64;
        match Self::line(numbers, first, rise) {
            Some(line) if line.width < frame.width => line,
            _ => frame,
        }
    }

    /// The frame of reference of a group.
    fn frame(numbers: &[u64]) -> Self {
        let (least, greatest) =
            numbers.iter().fold((u64::MAX, 0), |(least, greatest), &number| (least.min(number), greatest.max(number)));
        let shift = bits(greatest - least).saturating_sub(ROUNDED_BITS);
        let anchor = least >> shift << shift;
        Self { anchor, rise: 0, shift, width: bits(greatest - anchor) }
    }

    /// The best of a few lines around `rise`; `None` if it leaves the range of numbers.
    fn line(numbers: &[u64], first: u64, rise: u64) -> Option<Self> {
        let mut best = (rise, Distances::of(numbers, first, rise));
        for _ in 0..TILTS {
            // Turns the line so that its two farthest numbers come closer to it; by half of what would suit them, for
            // others become the farthest then.
            let (rise, Distances { least, greatest }) = best;
            let turn = (best.1.range() / 2).saturating_mul(GROUP_NUMBERS as u64);
            let rise = match greatest.1.abs_diff(least.1) as u64 {
                0 => break,
                apart if greatest.1 > least.1 => rise.checked_add(turn / apart)?,
                apart => rise.saturating_sub(turn / apart),
            };
            let turned = (rise, Distances::of(numbers, first, rise));
            if turned.1.range() >= best.1.range() {
                break;
            }
            best = turned;
        }
        let shift = bits(best.1.range()).saturating_sub(ROUNDED_BITS);
        let rise = best.0 >> shift << shift;
        let distances = Distances::of(numbers, first, rise);
        let anchor = first.checked_add_signed(distances.least.0)? >> shift << shift;
        let (position, greatest) = (distances.greatest.1, numbers.get(distances.greatest.1)?);
        // The line must not pass the greatest number of the type, so that comparisons with it need no care.
        anchor.checked_add(rise)?;
        let width = bits(greatest.wrapping_sub(anchor).wrapping_sub(rise_at(rise, position)));
        Some(Self { anchor, rise, shift, width })
    }

    /// The line at a position.
    #[inline]
    pub(super) fn line_at(&self, position: usize) -> u64 {
        self.anchor.wrapping_add(rise_at(self.rise, position))
    }

    /// Bits of a residual.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }
}
