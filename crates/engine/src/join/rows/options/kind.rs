//! Kinds of joins, and the sides of a join.

use crate::error::{Error, Result};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The kind of a join: which rows it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Every pair of a left and a right row with equal keys.
    #[default]
    Inner,
    /// As `Inner`, plus each left row without partner, once.
    Left,
    /// As `Left`, plus each right row without partner, once, without a left value.
    Full,
    /// Each left row that has a partner, once, without right values.
    Semi,
    /// Each left row that has no partner.
    Anti,
}

impl JoinKind {
    /// All kinds, with their textual names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Inner, "inner"),
        (Self::Left, "left"),
        (Self::Full, "full"),
        (Self::Semi, "semi"),
        (Self::Anti, "anti"),
    ];

    /// Whether the join returns left rows without partner, and must therefore read the whole left relation.
    #[must_use]
    pub fn keeps_unmatched(self) -> bool {
        matches!(self, Self::Left | Self::Full | Self::Anti)
    }

    /// Whether the join returns right rows without partner, and must therefore read the whole right relation.
    #[must_use]
    pub fn keeps_unmatched_right(self) -> bool {
        self == Self::Full
    }

    /// Whether the join returns pairs of rows, with a left and a right value.
    #[must_use]
    pub fn pairs(self) -> bool {
        matches!(self, Self::Inner | Self::Left | Self::Full)
    }
}

impl fmt::Display for JoinKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Self::ALL.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for JoinKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind).ok_or_else(|| {
            Error::input(format!("{text:?} is not a kind of join; give inner, left, full, semi or anti"))
        })
    }
}

/// One of the two relations of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinSide {
    /// The first relation; left, full and anti joins return its unmatched rows.
    Left,
    /// The second relation; full joins return its unmatched rows.
    Right,
}

impl JoinSide {
    /// The opposite side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for (kind, name) in JoinKind::ALL {
            assert_eq!((kind.to_string().as_str(), name.parse::<JoinKind>().unwrap()), (name, kind));
        }
    }
}
