//! A hash of numbers that the engine assigns itself, such as offsets and page numbers: it need not withstand chosen
//! input.
//!
//! It is the same in each process, so that what leaves a full cache, and with it what is read, can be repeated.

use std::hash::{BuildHasherDefault, Hasher};

/// The builder of [`NumberHasher`], for maps and caches.
pub(crate) type NumberHash = BuildHasherDefault<NumberHasher>;

/// Odd, with as many ones as zeros in no order: the golden ratio's fraction.
pub(in crate::block) const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Both halves of the product of a number and [`MULTIPLIER`]: maps take a place from some bits and a tag from the
/// highest ones, and offsets are multiples of powers of two.
#[inline]
pub(in crate::block) fn folded(number: u64) -> u64 {
    let product = u128::from(number) * u128::from(MULTIPLIER);
    product as u64 ^ (product >> 64) as u64
}

/// A hasher of a few numbers.
#[derive(Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = folded(self.0.rotate_left(5) ^ number);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::{BuildHasher, Hash};

    #[derive(Hash)]
    struct Place(u64, u64);

    #[test]
    fn high_bits_say_nothing_of_low_ones() {
        for step in [1, 512, 4096, 1 << 20] {
            let hashes = (0..1_u64 << 16).map(|number| NumberHash::default().hash_one(Place(7, number * step)));
            // Those of one of 64 groups, by high bits, and a place of 1,024 by low ones.
            let of_group = hashes.filter(|hash| hash >> 32 & 63 == 9).map(|hash| hash & 1023);
            let (mut places, mut count) = (HashSet::new(), 0);
            of_group.for_each(|place| {
                places.insert(place);
                count += 1;
            });
            // At random, 1,024 keys take 647 of as many places.
            assert!((900..1150).contains(&count) && places.len() > 550, "{step}: {count} in {}", places.len());
        }
    }
}
