//! The encoding of what the index stores: varints, byte strings and packed numbers, bounded by the input.

/// Appends values to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Encoder(pub(crate) Vec<u8>);

impl Encoder {
    /// An unsigned integer, seven bits a byte, low bits first.
    pub(crate) fn int(&mut self, value: u64) -> &mut Self {
        let mut value = value;
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    /// A signed integer: its zigzag form.
    pub(crate) fn signed(&mut self, value: i64) -> &mut Self {
        self.int((value << 1 ^ value >> 63).cast_unsigned())
    }

    /// A byte string after its length.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.int(bytes.len() as u64);
        self.raw(bytes)
    }

    /// Bytes without their length.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Numbers as their least, the width of what exceeds it in bits, from 1 to 64, and that in as many bits each.
    pub(crate) fn packed(&mut self, numbers: &[u64]) -> &mut Self {
        let least = numbers.iter().copied().min().unwrap_or(0);
        let most = numbers.iter().copied().max().unwrap_or(0);
        let width = (64 - (most - least).leading_zeros()).max(1);
        self.int(least).0.push(width as u8);
        let (mut held, mut bits) = (0_u128, 0);
        for number in numbers {
            held |= u128::from(number - least) << bits;
            bits += width;
            while bits >= 8 {
                self.0.push(held as u8);
                held >>= 8;
                bits -= 8;
            }
        }
        if bits > 0 {
            self.0.push(held as u8);
        }
        self
    }
}

/// Decodes values from a buffer; `None` if it ends early or a value is out of range.
#[derive(Clone, Debug)]
pub(crate) struct Decoder<'a>(pub(crate) &'a [u8]);

impl<'a> Decoder<'a> {
    pub(crate) fn int(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                return None;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let value = self.int()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// An integer that fits the target type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.int()?).ok()
    }

    /// A number of things that take at least a byte each.
    pub(crate) fn count(&mut self) -> Option<usize> {
        self.small().filter(|&count: &usize| count <= self.0.len())
    }

    pub(crate) fn raw(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.raw(N)?.try_into().ok()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.small()?;
        self.raw(length)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        std::str::from_utf8(self.bytes()?).ok().map(str::to_owned)
    }

    /// As many numbers as [`Encoder::packed`] wrote.
    pub(crate) fn packed(&mut self, count: usize) -> Option<Vec<u64>> {
        let least = self.int()?;
        let width = u32::from(self.array::<1>()?[0]);
        if !(1..=64).contains(&width) {
            return None;
        }
        let bits = u64::try_from(count).ok()?.checked_mul(width.into())?;
        let mut bytes = self.raw(usize::try_from(bits.div_ceil(8)).ok()?)?.iter();
        let mask = u128::from(u64::MAX >> (64 - width));
        let (mut held, mut held_bits) = (0_u128, 0);
        let mut numbers = Vec::with_capacity(count);
        for _ in 0..count {
            while held_bits < width {
                held |= u128::from(*bytes.next()?) << held_bits;
                held_bits += 8;
            }
            numbers.push(least.checked_add((held & mask) as u64)?);
            held >>= width;
            held_bits -= width;
        }
        Some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_come_back_at_every_width() {
        for width in 0..=64_u32 {
            let most = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            for least in [0, 7, u64::MAX - most] {
                let numbers: Vec<u64> = (0..37)
                    .map(|i| {
                        least.saturating_add(if i % 3 == 0 { most } else { i % (most.max(1)) }.min(u64::MAX - least))
                    })
                    .collect();
                let mut encoder = Encoder::default();
                encoder.packed(&numbers).int(9);
                let mut decoder = Decoder(&encoder.0);
                assert_eq!(decoder.packed(numbers.len()), Some(numbers));
                assert_eq!(decoder.int(), Some(9));
            }
        }
    }

    #[test]
    fn signed_numbers_come_back() {
        for number in [0, 1, -1, i64::MAX, i64::MIN, 1 << 40, -(1 << 40)] {
            let mut encoder = Encoder::default();
            encoder.signed(number);
            assert_eq!(Decoder(&encoder.0).signed(), Some(number));
        }
    }
}
