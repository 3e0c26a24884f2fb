//! Options of an index: its kind and its layout, which the file stores, and those of its pages.

use super::key::KeyType;
use super::kind::{Kind, Tunable};
use crate::page::PageOptions;

/// The layout of an index: what every structure gets.
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

/// Options of a new index. All but `pages` are stored in the file and read from it when it is opened.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// The structure of the index.
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
    /// Choices of the structure, as its crate makes them; those left out have their defaults.
    pub tunables: Vec<Tunable>,
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
            tunables: Vec::new(),
        }
    }
}

/// How an index that exists is opened: the memory and the durability of its file. What the file knows by itself, such
/// as the size of its pages, is not looked at.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Memory and durability.
    pub pages: PageOptions,
}
