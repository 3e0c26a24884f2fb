//! One group of coded children: its stored form and its decoding.
//!
//! Stored form (little-endian), beside the first separator, `start`, which stands in the directory of the node:
//!
//! ```text
//!  0  parameters u64, from the low bit up: children - 1 (7 bits), shift (7), width (8), bias (8), exponent (7),
//!                                         mantissa (24), others (1), round ones (1), 0 (1)
//!  8  base of the run u32
//! 12  width of the run u8
//!     base of the others u32, their width u8       only if there are others: pages that are not in the run
//!     shift of the round ones u8, their width u8   only if some separators are coded as rounder than the rest
//!     bits, packed without gaps:
//!         a bit a child (1: in the run), if there are others
//!         a bit a child (1: round), if there are round ones
//!         the residuals of separators 1 .. children - 1, each as wide as its class
//!         the residuals of pages, each as wide as its class
//! ```

use crate::bits;

/// Largest number of children in a group.
pub const GROUP_CHILDREN_MAX: usize = 128;

/// Stored size of the parameters with one class of pages and one of separators.
pub(super) const PARAMETER_BYTES: usize = 13;
/// Additional size for a second class of pages.
pub(super) const OTHERS_BYTES: usize = 5;
/// Additional size for a second class of separators.
pub(super) const ROUND_BYTES: usize = 2;
/// Widest residual of a page: pages are counted modulo 2^32.
pub(super) const PAGE_BITS_MAX: u32 = 32;

const MANTISSA_BITS: u32 = 24;
/// The bias is stored in units of `2^(width - 8)`.
const BIAS_BITS: u32 = 8;
const SEPARATOR_BITS_MAX: u32 = 128;

/// A line from 0: `mantissa * 2^(exponent - 24)` per child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Line {
    pub(super) exponent: u32,
    pub(super) mantissa: u32,
}

impl Line {
    /// The line that rises by at most `rise` in `children` children, as closely as 24 bits allow.
    pub(super) fn through(rise: u128, children: u32) -> Self {
        let children = u128::from(children.max(1));
        // Scaled up by 24 bits if that cannot overflow, so that small slopes keep their fraction.
        let (scaled, unit) = match rise.leading_zeros() {
            MANTISSA_BITS.. => ((rise << MANTISSA_BITS) / children, 0),
            _ => (rise / children, MANTISSA_BITS),
        };
        let excess = (128 - scaled.leading_zeros()).saturating_sub(MANTISSA_BITS);
        Self { exponent: excess + unit, mantissa: (scaled >> excess) as u32 }
    }

    /// The rise of the line at child `j`, which is below [`MOST_IN_GROUP`]. Truncated to 128 bits on corrupt
    /// parameters.
    pub(super) fn rise(self, j: u32) -> u128 {
        let product = u128::from(u64::from(self.mantissa) * u64::from(j));
        match self.exponent.checked_sub(MANTISSA_BITS) {
            Some(up) => product << up.min(127),
            None => product >> (MANTISSA_BITS - self.exponent),
        }
    }
}

/// The code of separators that are multiples of a higher power of two than the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct RoundCode {
    /// Low bits that are zero in all of these.
    pub(super) shift: u32,
    /// Bits of a residual, which counts multiples of `2^shift` from the line.
    pub(super) width: u32,
}

/// The code of a group's separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct SeparatorCode {
    /// Low bits that are zero in all separators.
    pub(super) shift: u32,
    /// Bits of a residual.
    pub(super) width: u32,
    /// See [`Self::bias_units`].
    pub(super) bias: u32,
    pub(super) line: Line,
    /// Present if there are rounder separators.
    pub(super) round: Option<RoundCode>,
}

impl SeparatorCode {
    /// The line at child `j` of a group that begins with separator `start`.
    fn at(self, start: u128, j: u32) -> u128 {
        start.wrapping_add(self.line.rise(j) << self.shift)
    }

    /// The stored residual of separator `j` in a class with that shift: its distance from the line in multiples of
    /// `2^shift`.
    pub(super) fn residual(self, start: u128, j: u32, separator: u128, shift: u32) -> u128 {
        (separator >> shift).wrapping_sub(self.at(start, j) >> shift).wrapping_add(self.bias_of(shift))
    }

    /// The separator of a stored residual.
    fn separator(self, start: u128, j: u32, residual: u128, shift: u32) -> u128 {
        (self.at(start, j) >> shift).wrapping_add(residual).wrapping_sub(self.bias_of(shift)) << shift
    }

    /// The bias in multiples of `2^shift`, rounded up so that no residual is negative.
    fn bias_of(self, shift: u32) -> u128 {
        match shift.saturating_sub(self.shift) {
            0 => self.bias_units(),
            rounder => (self.bias_units() >> rounder.min(127)) + 1,
        }
    }

    /// The bias, which is subtracted from each residual.
    pub(super) fn bias_units(self) -> u128 {
        u128::from(self.bias) << self.width.saturating_sub(BIAS_BITS).min(120)
    }
}

/// A class of pages: those of the run are `base + place in the run + residual`, others `base + residual`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct PageCode {
    pub(super) base: u32,
    pub(super) width: u32,
}

/// The parameters of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Parameters {
    /// Number of children, 1 to [`MOST_IN_GROUP`].
    pub(super) children: u32,
    pub(super) separators: SeparatorCode,
    pub(super) run: PageCode,
    /// Present with two classes.
    pub(super) others: Option<PageCode>,
}

impl Parameters {
    pub(super) fn stored_bytes(&self) -> usize {
        let others = if self.others.is_some() { OTHERS_BYTES } else { 0 };
        let round = if self.separators.round.is_some() { ROUND_BYTES } else { 0 };
        PARAMETER_BYTES + others + round
    }

    pub(super) fn store(&self, bytes: &mut Vec<u8>) {
        let SeparatorCode { shift, width, bias, line, round } = self.separators;
        let packed = u64::from(self.children - 1)
            | u64::from(shift) << 7
            | u64::from(width) << 14
            | u64::from(bias) << 22
            | u64::from(line.exponent) << 30
            | u64::from(line.mantissa) << 37
            | u64::from(self.others.is_some()) << 61
            | u64::from(round.is_some()) << 62;
        bytes.extend_from_slice(&packed.to_le_bytes());
        for class in std::iter::once(self.run).chain(self.others) {
            bytes.extend_from_slice(&class.base.to_le_bytes());
            bytes.push(class.width as u8);
        }
        if let Some(round) = round {
            bytes.extend_from_slice(&[round.shift as u8, round.width as u8]);
        }
    }

    fn load(bytes: &[u8]) -> Option<Self> {
        let packed = u64::from_le_bytes(*bytes.first_chunk()?);
        let field = |from: u32, bits: u32| ((packed >> from) & ((1 << bits) - 1)) as u32;
        let class = |at: usize| {
            let base = u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
            let width = u32::from(*bytes.get(at + 4)?);
            (width <= PAGE_BITS_MAX).then_some(PageCode { base, width })
        };
        let (has_others, has_round, reserved) = (field(61, 1) == 1, field(62, 1) == 1, field(63, 1));
        let others = if has_others { Some(class(PARAMETER_BYTES)?) } else { None };
        let round = if has_round {
            let at = PARAMETER_BYTES + if has_others { OTHERS_BYTES } else { 0 };
            let [shift, width] = *bytes.get(at..)?.first_chunk()?;
            Some(RoundCode { shift: u32::from(shift), width: u32::from(width) })
        } else {
            None
        };
        let line = Line { exponent: field(30, 7), mantissa: field(37, MANTISSA_BITS) };
        let separators = SeparatorCode { shift: field(7, 7), width: field(14, 8), bias: field(22, 8), line, round };
        let sound = round.is_none_or(|round| round.width <= SEPARATOR_BITS_MAX && round.shift < 128);
        (separators.width <= SEPARATOR_BITS_MAX && sound && reserved == 0).then_some(Self {
            children: field(0, 7) + 1,
            separators,
            run: class(8)?,
            others,
        })
    }
}

/// One group in the bytes of its node.
#[derive(Clone, Copy, Debug)]
pub struct GroupView<'a> {
    start: u128,
    parameters: Parameters,
    bits: &'a [u8],
    /// Offset of the bits that mark round separators.
    round_at: u64,
    /// Offset of the residuals of separators, in bits.
    separators_at: u64,
    /// Offset of the residuals of pages.
    pages_at: u64,
}

impl<'a> GroupView<'a> {
    /// The group that begins with separator `start` and is stored at the beginning of `bytes`.
    pub fn new(start: u128, bytes: &'a [u8]) -> Option<Self> {
        let parameters = Parameters::load(bytes)?;
        let bits = bytes.get(parameters.stored_bytes()..)?;
        let children = u64::from(parameters.children);
        let round_at = if parameters.others.is_some() { children } else { 0 };
        let mut view = Self { start, parameters, bits, round_at, separators_at: round_at, pages_at: 0 };
        if parameters.separators.round.is_some() {
            view.separators_at += children;
        }
        view.pages_at = view.separator_at(parameters.children)?;
        Some(view)
    }

    /// Offset of the residual of separator `j > 0`.
    fn separator_at(&self, j: u32) -> Option<u64> {
        let code = self.parameters.separators;
        let round = match code.round {
            Some(_) => self.ones(self.round_at, j)?,
            None => 0,
        };
        let round_width = code.round.map_or(0, |round| round.width);
        let narrow = u64::from(round) * u64::from(round_width);
        Some(self.separators_at + narrow + u64::from((j - 1).saturating_sub(round)) * u64::from(code.width))
    }

    /// Number of children, 1 to [`MOST_IN_GROUP`].
    pub fn children(&self) -> u32 {
        self.parameters.children
    }

    /// Low bits that are zero in all separators, and the bits of each residual.
    pub fn shift_and_width(&self) -> (u32, u32) {
        (self.parameters.separators.shift, self.parameters.separators.width)
    }

    /// Separator `j`; `None` past the stored bytes.
    pub fn separator(&self, j: u32) -> Option<u128> {
        if j == 0 {
            return Some(self.start);
        }
        let code = self.parameters.separators;
        let at = self.separator_at(j)?;
        let (shift, width) = match code.round {
            Some(round) if bits::read(self.bits, self.round_at + u64::from(j), 1)? == 1 => (round.shift, round.width),
            _ => (code.shift, code.width),
        };
        Some(code.separator(self.start, j, read_wide(self.bits, at, width)?, shift))
    }

    /// Number of separators below `key`.
    pub fn below(&self, key: u128) -> Option<u32> {
        if key <= self.start {
            return Some(0);
        }
        let (mut low, mut high) = (1, self.parameters.children);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.separator(middle)? < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    /// The page of child `j`; `None` past the stored bytes.
    pub fn page(&self, j: u32) -> Option<u32> {
        let Parameters { run, others, .. } = self.parameters;
        let Some(others) = others else {
            let residual = bits::read(self.bits, self.pages_at + u64::from(j) * u64::from(run.width), run.width)?;
            return Some(run.base.wrapping_add(j).wrapping_add(residual as u32));
        };
        let place = self.ones(0, j)?;
        let at = self.pages_at
            + u64::from(place) * u64::from(run.width)
            + u64::from(j.saturating_sub(place)) * u64::from(others.width);
        if bits::read(self.bits, u64::from(j), 1)? == 1 {
            Some(run.base.wrapping_add(place).wrapping_add(bits::read(self.bits, at, run.width)? as u32))
        } else {
            Some(others.base.wrapping_add(bits::read(self.bits, at, others.width)? as u32))
        }
    }

    /// Number of ones in the `j` bits from bit `first` on.
    fn ones(&self, first: u64, j: u32) -> Option<u32> {
        let mut count = 0;
        let mut at = 0;
        while at < j {
            let taken = (j - at).min(64);
            count += bits::read(self.bits, first + u64::from(at), taken)?.count_ones();
            at += taken;
        }
        Some(count)
    }
}

/// Reads an integer of up to 128 bits.
fn read_wide(bytes: &[u8], offset: u64, width: u32) -> Option<u128> {
    let low = u128::from(bits::read(bytes, offset, width.min(64))?);
    match width.checked_sub(64) {
        None | Some(0) => Some(low),
        Some(rest) => Some(low | u128::from(bits::read(bytes, offset + 64, rest)?) << 64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_survive_storing_at_the_edges_of_their_fields() {
        let most = Parameters {
            children: 128,
            separators: SeparatorCode {
                shift: 127,
                width: 128,
                bias: 255,
                line: Line { exponent: 127, mantissa: (1 << 24) - 1 },
                round: Some(RoundCode { shift: 127, width: 128 }),
            },
            run: PageCode { base: u32::MAX, width: 32 },
            others: Some(PageCode { base: u32::MAX, width: 32 }),
        };
        let least = Parameters { children: 1, ..Parameters::default() };
        for parameters in [most, least] {
            let mut bytes = Vec::new();
            parameters.store(&mut bytes);
            assert_eq!(bytes.len(), parameters.stored_bytes());
            assert_eq!(Parameters::load(&bytes), Some(parameters));
            assert_eq!(Parameters::load(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn a_line_never_rises_above_its_end_and_misses_it_by_little() {
        for rise in [0, 1, 1000, 1 << 40, u128::from(u64::MAX), 1 << 103, 1 << 104, 1 << 125] {
            for children in [1, 3, 127] {
                let reached = Line::through(rise, children).rise(children);
                assert!(reached <= rise, "{rise} over {children}: {reached}");
                assert!(rise - reached <= (rise >> 22) + 1, "{rise} over {children}: {reached}");
            }
        }
    }
}
