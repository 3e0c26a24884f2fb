//! One group of coded separators: its header, and the arithmetic that decodes a separator.

/// Largest number of children in a group: the count takes 8 bits, less one.
pub const GROUP_CHILDREN_MAX: usize = 256;

const MANTISSA_BITS: u32 = 28;

/// The header of a group; 16 bytes including `start`.
///
/// The parameters are packed into one u64, from the low bit up: count - 1 (8 bits), shift (6), width (7), bias (8),
/// exponent (6), mantissa (28).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GroupHeader {
    /// Separator of the first child.
    pub start: u64,
    /// Number of children, 1 to [`MAX_GROUP`].
    pub count: u32,
    /// Low bits of a residual that are not stored, 0 to 63.
    pub shift: u32,
    /// Bits of a stored residual, 0 to 64.
    pub width: u32,
    /// Subtracted from each residual, in units of `2^(width - 8)` if `width` exceeds 8.
    pub bias: u32,
    /// Slope of the line per child, as `mantissa * 2^(exponent - 28)`.
    pub exponent: u32,
    /// See `exponent`.
    pub mantissa: u32,
}

impl GroupHeader {
    /// The stored parameters without `start`.
    pub fn pack(&self) -> u64 {
        u64::from(self.count - 1)
            | u64::from(self.shift) << 8
            | u64::from(self.width) << 14
            | u64::from(self.bias) << 21
            | u64::from(self.exponent) << 29
            | u64::from(self.mantissa) << 35
    }

    /// Decodes the result of [`Self::pack`]. Every u64 gives a header with fields in their ranges, except for a width
    /// above 64, which is `None`.
    pub fn unpack(start: u64, packed: u64) -> Option<Self> {
        let field = |from: u32, bits: u32| ((packed >> from) & ((1 << bits) - 1)) as u32;
        let width = field(14, 7);
        (width <= 64).then(|| Self {
            start,
            count: field(0, 8) + 1,
            shift: field(8, 6),
            width,
            bias: field(21, 8),
            exponent: field(29, 6),
            mantissa: field(35, MANTISSA_BITS),
        })
    }

    /// Size of the group's residuals in bits.
    pub fn residual_bits(&self) -> u64 {
        u64::from(self.count - 1) * u64::from(self.width)
    }

    /// The rise of the line at child `j`.
    pub(super) fn rise(&self, j: u32) -> u64 {
        ((u128::from(self.mantissa) * u128::from(j)) << self.exponent >> MANTISSA_BITS) as u64
    }

    /// The bias in units of residuals.
    pub(super) fn bias_units(&self) -> u64 {
        u64::from(self.bias) << self.width.saturating_sub(8).min(56)
    }

    /// The separator of child `j > 0` from its stored residual. Wraps on corrupt parameters instead of failing.
    pub fn separator(&self, j: u32, residual: u64) -> u64 {
        let offset = residual.wrapping_sub(self.bias_units()) << self.shift;
        self.start.wrapping_add(self.rise(j)).wrapping_add(offset)
    }

    /// Sets the slope to at most `rise` in `children` children, as closely as 28 bits allow.
    pub(super) fn with_slope(mut self, rise: u64, children: u64) -> Self {
        let scaled = (u128::from(rise) << MANTISSA_BITS) / u128::from(children.max(1));
        let excess = (128 - scaled.leading_zeros()).saturating_sub(MANTISSA_BITS);
        self.exponent = excess.min(63);
        // Only slopes of at least 2^63 per child saturate: two separators cannot both be so far apart.
        self.mantissa = (scaled >> self.exponent).min((1 << MANTISSA_BITS) - 1) as u32;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_packing_at_the_edges_of_its_fields() {
        let most = GroupHeader {
            start: u64::MAX,
            count: 256,
            shift: 63,
            width: 64,
            bias: 255,
            exponent: 63,
            mantissa: (1 << 28) - 1,
        };
        let least = GroupHeader { count: 1, ..GroupHeader::default() };
        for header in [most, least] {
            assert_eq!(GroupHeader::unpack(header.start, header.pack()), Some(header));
        }
        assert_eq!(GroupHeader::unpack(0, 65 << 14), None);
    }

    #[test]
    fn slopes_over_the_whole_range_stay_within_a_part_in_two_to_the_27() {
        for rise in [0, 1, 1000, 1 << 40, u64::MAX / 2] {
            for children in [1, 3, 255] {
                let header = GroupHeader::default().with_slope(rise, children);
                let reached = header.rise(children as u32);
                assert!(reached <= rise);
                assert!(rise - reached <= (rise >> 27) + 1, "{rise} over {children}: {reached}");
            }
        }
    }
}
