//! The source of a shape's choices: a seed, or the bytes of a fuzzer.

use crate::random::Random;

/// Numbers that a seed gives, or the bytes of a fuzzer; where the bytes end, all further numbers are 0.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    origin: Origin<'a>,
}

#[derive(Clone, Debug)]
enum Origin<'a> {
    Seed(Random),
    Bytes(&'a [u8]),
}

impl<'a> Choices<'a> {
    /// Choices that depend only on `seed`.
    pub fn of_seed(seed: u64) -> Self {
        Self { origin: Origin::Seed(Random::new(seed)) }
    }

    /// Choices that `bytes` spell, each in as few of them as hold it.
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        Self { origin: Origin::Bytes(bytes) }
    }

    /// A number from 0 up to, not including, `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        match &mut self.origin {
            Origin::Seed(random) => random.below(bound),
            Origin::Bytes(bytes) => {
                let needed = (u64::BITS - bound.saturating_sub(1).leading_zeros()).div_ceil(8) as usize;
                let (head, rest) = bytes.split_at(needed.min(bytes.len()));
                *bytes = rest;
                let number = head.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
                number % bound.max(1)
            }
        }
    }

    /// A number from `least` to `most`, each size in bits as likely as any other.
    pub fn skewed(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = (u64::BITS - least.leading_zeros(), u64::BITS - most.leading_zeros());
        let bits = u64::from(low) + self.below(u64::from(high.saturating_sub(low)) + 1);
        let top = if bits == 0 { 0 } else { 1 << (bits - 1) };
        (top + self.below(top)).clamp(least, most.max(least))
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == n.saturating_sub(1)
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}
