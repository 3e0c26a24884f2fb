//! One group of coded children: its stored form, and the arithmetic that decodes it.
//!
//! Stored form (little-endian), beside the first separator, `start`, which stands in the directory of the node:
//!
//! ```text
//!  0  parameters u64, from the low bit up: children - 1 (7 bits), shift (7), width (8), bias (8), exponent (7), mantissa (24),
//!                                          two classes (1), 0 (2)
//!  8  run base u32
//! 12  run width u8
//! 13  other base u32, other width u8        only with two classes
//!     bits, packed without gaps: with two classes a bit a child (1: in the run); the residuals of separators 1 .. children - 1,
//!     `width` bits each; the residuals of pages, each as wide as its class
//! ```

use crate::bits;

/// Most children in one group.
pub const MOST_IN_GROUP: usize = 128;

/// Stored bytes of the parameters, and of the addresses where all are of one class.
pub(super) const ONE_CLASS_BYTES: usize = 13;
/// The same with two classes.
pub(super) const TWO_CLASS_BYTES: usize = 18;
/// Widest residual of a page: pages are counted modulo 2^32.
pub(super) const WIDEST_PAGE: u32 = 32;

const MANTISSA_BITS: u32 = 24;
/// The bias is stored in units of as many bits fewer than the width.
const BIAS_BITS: u32 = 8;
const WIDEST_SEPARATOR: u32 = 128;

/// A line from 0: `mantissa * 2^(exponent - 24)` for each child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Line {
    pub(super) exponent: u32,
    pub(super) mantissa: u32,
}

impl Line {
    /// The line that rises by at most `rise` in `children` children, as near as 24 bits allow.
    pub(super) fn through(rise: u128, children: u32) -> Self {
        let children = u128::from(children.max(1));
        // Scaled up by 24 bits where that cannot overflow, so that small slopes keep their fraction.
        let (scaled, unit) = match rise.leading_zeros() {
            MANTISSA_BITS.. => ((rise << MANTISSA_BITS) / children, 0),
            _ => (rise / children, MANTISSA_BITS),
        };
        let excess = (128 - scaled.leading_zeros()).saturating_sub(MANTISSA_BITS);
        Self { exponent: excess + unit, mantissa: (scaled >> excess) as u32 }
    }

    /// How far the line has risen at child `j`, which is below [`MOST_IN_GROUP`]. Cut off at 128 bits on forged parameters.
    pub(super) fn rise(self, j: u32) -> u128 {
        let product = u128::from(u64::from(self.mantissa) * u64::from(j));
        match self.exponent.checked_sub(MANTISSA_BITS) {
            Some(up) => product << up.min(127),
            None => product >> (MANTISSA_BITS - self.exponent),
        }
    }
}

/// How the separators of a group are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct SeparatorCode {
    /// Low bits that are zero in all of them.
    pub(super) shift: u32,
    /// Bits of a residual.
    pub(super) width: u32,
    /// See [`Self::bias_units`].
    pub(super) bias: u32,
    pub(super) line: Line,
}

impl SeparatorCode {
    /// What is taken from each residual.
    pub(super) fn bias_units(self) -> u128 {
        u128::from(self.bias) << self.width.saturating_sub(BIAS_BITS).min(120)
    }
}

/// One class of pages: those of the run are `base + place in the run + residual`, others `base + residual`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct PageCode {
    pub(super) base: u32,
    pub(super) width: u32,
}

/// The parameters of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Parameters {
    /// Children, 1 to [`MOST_IN_GROUP`].
    pub(super) children: u32,
    pub(super) separators: SeparatorCode,
    pub(super) run: PageCode,
    /// Present with two classes.
    pub(super) others: Option<PageCode>,
}

impl Parameters {
    pub(super) fn stored_bytes(&self) -> usize {
        if self.others.is_some() { TWO_CLASS_BYTES } else { ONE_CLASS_BYTES }
    }

    pub(super) fn store(&self, bytes: &mut Vec<u8>) {
        let SeparatorCode { shift, width, bias, line } = self.separators;
        let packed = u64::from(self.children - 1)
            | u64::from(shift) << 7
            | u64::from(width) << 14
            | u64::from(bias) << 22
            | u64::from(line.exponent) << 30
            | u64::from(line.mantissa) << 37
            | u64::from(self.others.is_some()) << 61;
        bytes.extend_from_slice(&packed.to_le_bytes());
        for class in std::iter::once(self.run).chain(self.others) {
            bytes.extend_from_slice(&class.base.to_le_bytes());
            bytes.push(class.width as u8);
        }
    }

    fn load(bytes: &[u8]) -> Option<Self> {
        let packed = u64::from_le_bytes(*bytes.first_chunk()?);
        let field = |from: u32, bits: u32| ((packed >> from) & ((1 << bits) - 1)) as u32;
        let class = |at: usize| {
            let base = u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
            let width = u32::from(*bytes.get(at + 4)?);
            (width <= WIDEST_PAGE).then_some(PageCode { base, width })
        };
        let (two_classes, reserved) = (field(61, 1) == 1, field(62, 2));
        let line = Line { exponent: field(30, 7), mantissa: field(37, MANTISSA_BITS) };
        let separators = SeparatorCode { shift: field(7, 7), width: field(14, 8), bias: field(22, 8), line };
        if separators.width > WIDEST_SEPARATOR || reserved != 0 {
            return None;
        }
        let others = if two_classes { Some(class(ONE_CLASS_BYTES)?) } else { None };
        Some(Self { children: field(0, 7) + 1, separators, run: class(8)?, others })
    }
}

/// One group in the bytes of its node.
#[derive(Clone, Copy, Debug)]
pub struct GroupView<'a> {
    start: u128,
    parameters: Parameters,
    bits: &'a [u8],
    /// Where the residuals of separators begin, in bits.
    separators_at: u64,
    /// Where those of pages begin.
    pages_at: u64,
}

impl<'a> GroupView<'a> {
    /// The group that begins with separator `start` and is stored in `bytes`, which may be longer than it.
    pub fn new(start: u128, bytes: &'a [u8]) -> Option<Self> {
        let parameters = Parameters::load(bytes)?;
        let bits = bytes.get(parameters.stored_bytes()..)?;
        let separators_at = if parameters.others.is_some() { u64::from(parameters.children) } else { 0 };
        let pages_at = separators_at + u64::from(parameters.children - 1) * u64::from(parameters.separators.width);
        Some(Self { start, parameters, bits, separators_at, pages_at })
    }

    /// Children of the group, 1 to [`MOST_IN_GROUP`].
    pub fn children(&self) -> u32 {
        self.parameters.children
    }

    /// Low bits that are zero in all separators, and the bits that each residual takes.
    pub fn shift_and_width(&self) -> (u32, u32) {
        (self.parameters.separators.shift, self.parameters.separators.width)
    }

    /// How far separator `j` lies above the first, in units of `2^shift`.
    fn quotient(&self, j: u32) -> Option<u128> {
        if j == 0 {
            return Some(0);
        }
        let code = self.parameters.separators;
        let at = self.separators_at + u64::from(j - 1) * u64::from(code.width);
        let residual = read_wide(self.bits, at, code.width)?;
        Some(residual.wrapping_sub(code.bias_units()).wrapping_add(code.line.rise(j)))
    }

    /// Separator `j`; `None` beyond the stored bytes.
    pub fn separator(&self, j: u32) -> Option<u128> {
        Some(self.start.wrapping_add(self.quotient(j)? << self.parameters.separators.shift))
    }

    /// How many separators lie below `key`.
    pub fn below(&self, key: u128) -> Option<u32> {
        let Some(apart) = key.checked_sub(self.start).and_then(|apart| apart.checked_sub(1)) else { return Some(0) };
        // A quotient reaches the key if it exceeds this one.
        let short = apart >> self.parameters.separators.shift;
        let (mut low, mut high) = (1, self.parameters.children);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.quotient(middle)? <= short {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    /// The page of child `j`; `None` beyond the stored bytes.
    pub fn page(&self, j: u32) -> Option<u32> {
        let Parameters { run, others, .. } = self.parameters;
        let Some(others) = others else {
            let residual = bits::read(self.bits, self.pages_at + u64::from(j) * u64::from(run.width), run.width)?;
            return Some(run.base.wrapping_add(j).wrapping_add(residual as u32));
        };
        let place = self.in_run_before(j)?;
        let at = self.pages_at
            + u64::from(place) * u64::from(run.width)
            + u64::from(j.saturating_sub(place)) * u64::from(others.width);
        if bits::read(self.bits, u64::from(j), 1)? == 1 {
            Some(run.base.wrapping_add(place).wrapping_add(bits::read(self.bits, at, run.width)? as u32))
        } else {
            Some(others.base.wrapping_add(bits::read(self.bits, at, others.width)? as u32))
        }
    }

    /// Children before `j` that are in the run.
    fn in_run_before(&self, j: u32) -> Option<u32> {
        let mut count = 0;
        let mut at = 0;
        while at < j {
            let taken = (j - at).min(64);
            count += bits::read(self.bits, u64::from(at), taken)?.count_ones();
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
