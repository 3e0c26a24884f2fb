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
#[inline]
pub fn read(bytes: &[u8], offset: u64, width: u32) -> Option<u64> {
    // A word of 64 bits has that many after the first ones of its first byte.
    const NARROW_BITS: u32 = u64::BITS - 7;
    if width == 0 {
        return Some(0);
    }
    let (first, skip) = (usize::try_from(offset / 8).ok()?, (offset % 8) as u32);
    match bytes.get(first..)?.first_chunk() {
        Some(word) if width <= NARROW_BITS => Some(u64::from_le_bytes(*word) >> skip & ((1 << width) - 1)),
        _ => read_wide(bytes, first, skip, width),
    }
}

/// As [`read`], `skip` bits after byte `first`, for wide integers and near the end of the bytes.
fn read_wide(bytes: &[u8], first: usize, skip: u32, width: u32) -> Option<u64> {
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

/// Appends the `width` low bits (at most 64) of each value, padded with zeros to a whole byte. No value may be wider.
pub fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    let end = out.len() + (values.len() as u64 * u64::from(width)).div_ceil(8) as usize;
    let (mut word, mut filled) = (0_u128, 0);
    for &value in values {
        word |= u128::from(value) << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&(word as u64).to_le_bytes());
            word >>= 64;
            filled -= 64;
        }
    }
    out.extend_from_slice(&(word as u64).to_le_bytes());
    out.truncate(end);
}

/// Widest integers of which one lies within 8 bytes, wherever it begins.
const WORD_WIDTH_MAX: u32 = 57;
/// Integers that are unpacked at a time.
const UNPACKED: usize = 64;

/// Appends `count` integers of `width` bits (at most 64) that begin at bit `offset`; `None` past the end.
pub fn unpack(bytes: &[u8], offset: u64, width: u32, count: usize, values: &mut Vec<u64>) -> Option<()> {
    let mask = if width < 64 { (1 << width) - 1 } else { u64::MAX };
    if width == 0 {
        values.resize(values.len() + count, 0);
        return Some(());
    }
    let (mut bit, mut left) = (offset, count);
    // With room for a read of 16 bytes at the last integer.
    let mut copied = [0_u8; UNPACKED * 8 + 16];
    while left > 0 {
        let taken = left.min(UNPACKED);
        let (first, skip) = (usize::try_from(bit / 8).ok()?, (bit % 8) as u32);
        let span = (u64::from(skip) + taken as u64 * u64::from(width)).div_ceil(8) as usize;
        let stored = bytes.get(first..first.checked_add(span)?)?;
        copied[..span].copy_from_slice(stored);
        if width <= WORD_WIDTH_MAX {
            values.extend((0..taken as u32).map(|i| {
                let bit = skip + i * width;
                let word = copied
                    .get((bit / 8) as usize..)
                    .and_then(|rest| rest.first_chunk())
                    .map_or(0, |word| u64::from_le_bytes(*word));
                (word >> (bit % 8)) & mask
            }));
        } else {
            values.extend((0..taken as u32).map(|i| {
                let bit = skip + i * width;
                let word = copied
                    .get((bit / 8) as usize..)
                    .and_then(|rest| rest.first_chunk())
                    .map_or(0, |word| u128::from_le_bytes(*word));
                (word >> (bit % 8)) as u64 & mask
            }));
        }
        bit += taken as u64 * u64::from(width);
        left -= taken;
    }
    Some(())
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

    #[test]
    fn packed_slices_are_those_of_the_writer() {
        for width in 0..=64_u32 {
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            for count in [0, 1, 7, 63, 64, 65, 200_u64] {
                let values: Vec<u64> =
                    (0..count).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(9) & mask).collect();
                let mut writer = BitWriter::new();
                values.iter().for_each(|&value| writer.push(value, width));
                let mut packed = vec![9; 3];
                pack(&values, width, &mut packed);
                assert_eq!(&packed[3..], writer.as_bytes(), "width {width}, {count} values");
                let mut read = vec![1];
                unpack(&packed[3..], 0, width, count as usize, &mut read).unwrap();
                assert_eq!(read[1..], values, "width {width}, {count} values");
                if count > 5 {
                    read.clear();
                    unpack(&packed, 24 + 5 * u64::from(width), width, count as usize - 5, &mut read).unwrap();
                    assert_eq!(read, values[5..], "width {width}, from the fifth");
                }
                if width > 0 {
                    assert_eq!(unpack(&packed[3..], 0, width, count as usize + 8, &mut read), None);
                }
            }
        }
    }
}
