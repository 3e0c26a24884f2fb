//! A hash of numbers that are the engine's own, such as offsets and numbers of pages, and not of strangers.
//!
//! It is the same in each process, so that what leaves a full cache, and with it what is read, can be repeated.

use std::hash::{BuildHasherDefault, Hasher};

/// The builder of [`NumberHasher`], for maps and caches.
pub(crate) type NumberHash = BuildHasherDefault<NumberHasher>;

/// A hasher of a few numbers.
#[derive(Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        // Tables take the slot from the low bits, and a tag from the high ones.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
