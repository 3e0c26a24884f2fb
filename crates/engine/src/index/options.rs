//! Which structure, and what it is told.

use super::alex::AlexOptions;
use super::aulid::AulidOptions;
use super::fiting::FitingOptions;
use super::key::KeyType;
use super::lipp::LippOptions;
use super::pgm::PgmOptions;
use crate::page::PageOptions;
use std::fmt::{self, Display};
use std::str::FromStr;

/// The structures that an index can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Kind {
    /// B+-tree leaves under coded inner nodes: our own.
    #[default]
    Ogive,
    /// AULID (Lan et al.): B+-tree leaves under mixed nodes, packed arrays and two-layer B+-tree nodes.
    Aulid,
    /// The B+-tree.
    Btree,
    /// FITing-tree: segments with delta buffers.
    Fiting,
    /// PGM with the logarithmic method.
    Pgm,
    /// ALEX: gapped data nodes.
    Alex,
    /// LIPP: exact positions, no last-mile search.
    Lipp,
    /// FITing-tree over B+-tree leaves.
    FitingBtree,
    /// PGM over B+-tree leaves.
    PgmBtree,
    /// ALEX over B+-tree leaves.
    AlexBtree,
    /// LIPP over B+-tree leaves: the LIPP-B+ of the AULID paper.
    LippBtree,
}

impl Kind {
    /// All kinds, our own first.
    pub const ALL: [Self; 11] = [
        Self::Ogive,
        Self::Aulid,
        Self::Btree,
        Self::Fiting,
        Self::Pgm,
        Self::Alex,
        Self::Lipp,
        Self::FitingBtree,
        Self::PgmBtree,
        Self::AlexBtree,
        Self::LippBtree,
    ];

    /// Its name in commands and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ogive => "ogive",
            Self::Aulid => "aulid",
            Self::Btree => "btree",
            Self::Fiting => "fiting",
            Self::Pgm => "pgm",
            Self::Alex => "alex",
            Self::Lipp => "lipp",
            Self::FitingBtree => "fiting-btree",
            Self::PgmBtree => "pgm-btree",
            Self::AlexBtree => "alex-btree",
            Self::LippBtree => "lipp-btree",
        }
    }

    /// Whether a key may stand for several entries in such an index.
    pub fn allows_duplicates(self) -> bool {
        matches!(self, Self::Ogive | Self::Aulid | Self::Btree)
    }

    /// The code in the file's header.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Ogive => 1,
            Self::Aulid => 2,
            Self::Btree => 3,
            Self::Fiting => 4,
            Self::Pgm => 5,
            Self::Alex => 6,
            Self::Lipp => 7,
            Self::FitingBtree => 8,
            Self::PgmBtree => 9,
            Self::AlexBtree => 10,
            Self::LippBtree => 11,
        }
    }
}

impl Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // What the papers call the hybrids: LIPP-B+.
        let plain = text.to_ascii_lowercase().replace("b+-tree", "btree").replace("-b+", "-btree");
        Self::ALL.into_iter().find(|kind| kind.name() == plain).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            format!("'{text}' is no kind of index; there are {}", names.join(", "))
        })
    }
}

/// What every structure of an index is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLayout {
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// How full a bulk load makes leaves, in percent.
    pub fill_percent: u8,
    /// Whether a key may stand for several entries.
    pub duplicates: bool,
}

impl Default for IndexLayout {
    /// The fill of the AULID paper's B+-tree.
    fn default() -> Self {
        Self { payload_bytes: 8, fill_percent: 80, duplicates: false }
    }
}

/// How an index is made. All but `pages` is stored in the file and found again when it is opened.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// What it is made of.
    pub kind: Kind,
    /// The type of the keys, where the types of the handle leave it open, as [`Raw`](super::Raw) does.
    pub key_type: Option<KeyType>,
    /// Bytes of a payload, where the types of the handle leave it open, as `Vec<u8>` does.
    pub payload_bytes: Option<usize>,
    /// How full a bulk load makes leaves, in percent, from 10 to 100.
    pub fill_percent: u8,
    /// Whether a key may stand for several entries; see [`Kind::allows_duplicates`].
    pub duplicates: bool,
    /// Sizes, memory and durability of the file.
    pub pages: PageOptions,
    /// The choices of AULID.
    pub aulid: AulidOptions,
    /// The choices of a FITing-tree, and of its hybrid.
    pub fiting: FitingOptions,
    /// The choices of a PGM index, and of its hybrid.
    pub pgm: PgmOptions,
    /// The choices of ALEX, and of its hybrid.
    pub alex: AlexOptions,
    /// The choices of LIPP, and of its hybrid.
    pub lipp: LippOptions,
}

impl Default for IndexOptions {
    fn default() -> Self {
        let IndexLayout { fill_percent, duplicates, .. } = IndexLayout::default();
        Self {
            kind: Kind::default(),
            key_type: None,
            payload_bytes: None,
            fill_percent,
            duplicates,
            pages: PageOptions::default(),
            aulid: AulidOptions::default(),
            fiting: FitingOptions::default(),
            pgm: PgmOptions::default(),
            alex: AlexOptions::default(),
            lipp: LippOptions::default(),
        }
    }
}

/// How an index that exists is opened: the memory and the durability of its file. What the file knows by itself, such as the size of
/// its pages, is not looked at.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Memory and durability.
    pub pages: PageOptions,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_that_lead_back_and_codes_of_their_own() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("LIPP-B+".parse(), Ok(Kind::LippBtree));
        assert_eq!("B+-tree".parse(), Ok(Kind::Btree));
        let error = "rmi".parse::<Kind>().unwrap_err();
        assert!(error.contains("lipp-btree"), "{error}");
        let codes: std::collections::BTreeSet<u8> = Kind::ALL.into_iter().map(Kind::code).collect();
        assert_eq!(codes.len(), Kind::ALL.len());
    }
}
