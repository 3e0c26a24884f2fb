//! Positions in the history of a store.

use crate::error::Error;
use crate::lsm::state::entry::Sequence;
use serde::{Serialize, Serializer};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A position in the history of a store: behind the change of this number, and before the next. It is shown, and read,
/// as `STORE-NUMBER`, with the [identity](crate::Db::identity) of the store in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChangePosition {
    pub(in crate::lsm) store: u64,
    pub(in crate::lsm) sequence: Sequence,
}

impl ChangePosition {
    pub(crate) fn of(store: u64, sequence: Sequence) -> Self {
        Self { store, sequence }
    }

    /// The identity of the store.
    pub(crate) fn store(&self) -> u64 {
        self.store
    }

    /// The number of the change: it grows from change to change, by one for each operation of a batch.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.sequence
    }
}

impl Serialize for ChangePosition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Display for ChangePosition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.store, self.sequence)
    }
}

impl FromStr for ChangePosition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = text.split_once('-').filter(|(store, _)| store.len() == 16);
        let parsed = parsed.and_then(|(store, number)| {
            Some(Self { store: u64::from_str_radix(store, 16).ok()?, sequence: number.parse().ok()? })
        });
        parsed.filter(|parsed| parsed.to_string() == text).ok_or_else(|| {
            Error::input(format!("{text:?} is not a position; give one such as \"0123456789abcdef-42\""))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back_from_their_text() {
        for (store, sequence) in [(0, 0), (0x0123_4567_89ab_cdef, 42), (u64::MAX, u64::MAX)] {
            let position = ChangePosition { store, sequence };
            assert_eq!(position.to_string().parse::<ChangePosition>().unwrap(), position);
        }
        for text in
            ["", "42", "0123456789abcdef", "0123456789abcdef-", "123-4", "0123456789ABCDEF-4", "+123456789abcdef-4"]
        {
            assert!(text.parse::<ChangePosition>().is_err(), "{text}");
        }
    }
}
