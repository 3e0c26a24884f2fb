//! The values of a shape's rows.

use crate::random::Random;

/// The values of rows: how long they are, and whether they are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// None has a byte.
    Empty,
    /// Distinct values of one length.
    Even(usize),
    /// Equal values of one length.
    Alike(usize),
    /// Any length up to this many bytes, uniform in the logarithm.
    Mixed(usize),
    /// Eight bytes, but for one row of `every`, which has `bytes`.
    Rare {
        /// One row in this many is long.
        every: usize,
        /// Length of the long ones.
        bytes: usize,
    },
}

impl Values {
    /// Length of all values, where they have one.
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Empty => Some(0),
            Self::Even(bytes) | Self::Alike(bytes) => Some(bytes),
            Self::Mixed(_) | Self::Rare { .. } => None,
        }
    }

    /// The longest there may be.
    pub fn most_bytes(self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Even(bytes) | Self::Alike(bytes) | Self::Mixed(bytes) => bytes,
            Self::Rare { bytes, .. } => bytes.max(8),
        }
    }

    /// About how long they are on average.
    pub fn mean_bytes(self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Even(bytes) | Self::Alike(bytes) => bytes,
            Self::Mixed(most) => most / (most.max(2).ilog2() as usize),
            Self::Rare { every, bytes } => 8 + bytes / every.max(1),
        }
    }

    /// The same values, limited to this many bytes.
    pub fn at_most(self, limit: usize) -> Self {
        match self {
            Self::Empty => Self::Empty,
            Self::Even(bytes) => Self::Even(bytes.min(limit)),
            Self::Alike(bytes) => Self::Alike(bytes.min(limit)),
            Self::Mixed(most) => Self::Mixed(most.min(limit)),
            Self::Rare { every, bytes } => Self::Rare { every, bytes: bytes.min(limit) },
        }
    }

    /// Puts the value of a row into `out`, in place of what that holds.
    pub fn fill(self, seed: u64, row: usize, out: &mut Vec<u8>) {
        out.clear();
        let length = match self {
            Self::Empty => 0,
            Self::Alike(bytes) => return out.resize(bytes, 0x37),
            Self::Even(bytes) => bytes,
            Self::Mixed(most) => {
                let mut random = Random::new(seed ^ row as u64);
                let bits = random.below(u64::from(usize::BITS - most.leading_zeros()) + 1);
                random.below(1 << bits).min(most as u64) as usize
            }
            Self::Rare { every, bytes } if row % every.max(1) == every.max(1) - 1 => bytes,
            Self::Rare { .. } => 8,
        };
        let word = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed;
        out.extend(word.to_le_bytes().iter().cycle().take(length));
    }
}
