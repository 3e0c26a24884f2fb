//! Bit-packed integers of a fixed width, least significant bit first.

/// A growing buffer of integers with given widths in bits.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    bits: u64,
}

impl BitWriter {
    /// Creates an empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the `width` low bits of `value`; `width` is at most 64.
    pub fn push(&mut self, value: u64, width: u32) {
        let mut rest = if width < 64 { value & ((1 << width) - 1) } else { value };
        let mut left = width;
        while left > 0 {
            let used = (self.bits % 8) as u32;
            if used == 0 {
                self.bytes.push(0);
            }
            let taken = left.min(8 - used);
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((rest & ((1 << taken) - 1)) as u8) << used;
            }
            rest >>= taken;
            left -= taken;
            self.bits += u64::from(taken);
        }
    }

    /// Number of bits appended so far.
    pub fn bit_len(&self) -> u64 {
        self.bits
    }

    /// The buffer, with its last byte padded with zeros.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads the integer of `width` bits (at most 64) at bit `offset`; `None` past the end.
pub fn read(bytes: &[u8], offset: u64, width: u32) -> Option<u64> {
    if width == 0 {
        return Some(0);
    }
    let first = usize::try_from(offset / 8).ok()?;
    let skip = (offset % 8) as u32;
    let span = (skip + width).div_ceil(8) as usize;
    let source = bytes.get(first..)?;
    let word = match source.first_chunk::<16>() {
        Some(word) => *word,
        None => {
            // Near the end of the bytes: a copy of dynamic length takes longer than everything else.
            let mut word = [0_u8; 16];
            word[..span].copy_from_slice(source.get(..span)?);
            word
        }
    };
    let value = (u128::from_le_bytes(word) >> skip) as u64;
    Some(if width < 64 { value & ((1 << width) - 1) } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_read_again_at_every_width() {
        for width in 0..=64_u32 {
            let mut writer = BitWriter::new();
            writer.push(5, 3);
            let values: Vec<u64> = (0..20_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
            for &value in &values {
                writer.push(value, width);
            }
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            for (i, &value) in values.iter().enumerate() {
                let offset = 3 + i as u64 * u64::from(width);
                assert_eq!(read(writer.as_bytes(), offset, width), Some(value & mask), "width {width}, value {i}");
            }
            assert_eq!(read(writer.as_bytes(), 3 + 21 * 64, 64), None);
        }
    }
}
