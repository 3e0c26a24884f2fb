//! The part of an index that stays in memory.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::keys::spec::parse_bytes;
use crate::output::Figure;

/// Limit on the inner nodes in memory: upper levels first, whole pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resident {
    /// At most this number of bytes.
    Bytes(u64),
    /// All inner nodes.
    All,
}

impl Resident {
    /// The ladder of the papers' counts: nothing, one page of 4 KiB, 4, 16, all.
    pub const LADDER: [Self; 5] =
        [Self::Bytes(0), Self::Bytes(4 << 10), Self::Bytes(16 << 10), Self::Bytes(64 << 10), Self::All];

    /// The number of pages.
    pub fn pages(self, page_bytes: u64) -> usize {
        match self {
            Self::Bytes(bytes) => usize::try_from(bytes / page_bytes.max(1)).unwrap_or(usize::MAX),
            Self::All => usize::MAX,
        }
    }
}

impl FromStr for Resident {
    type Err = Error;

    /// Reads `all`, or a number of bytes such as `0`, `4096`, `4KiB`.
    fn from_str(text: &str) -> Result<Self> {
        if text == "all" {
            return Ok(Self::All);
        }
        parse_bytes(text)
            .map(Self::Bytes)
            .ok_or_else(|| Error::spec(text, "give bytes, such as 0, 4096 or 16KiB, or all"))
    }
}

impl From<Resident> for Figure {
    /// A count of bytes, or the word `all`.
    fn from(resident: Resident) -> Self {
        match resident {
            Resident::Bytes(bytes) => bytes.into(),
            Resident::All => "all".into(),
        }
    }
}

impl std::fmt::Display for Resident {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::All => f.write_str("all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_bytes_are_numbers_or_all() -> Result<()> {
        assert_eq!("16KiB".parse::<Resident>()?, Resident::Bytes(16_384));
        assert_eq!("4096".parse::<Resident>()?.pages(4096), 1);
        assert_eq!("4095".parse::<Resident>()?.pages(4096), 0);
        assert_eq!("all".parse::<Resident>()?, Resident::All);
        assert!(
            ["", "KiB", "-1", "some", "99999999999999999MiB", "éKiB"]
                .iter()
                .all(|text| text.parse::<Resident>().is_err())
        );
        Ok(())
    }
}
