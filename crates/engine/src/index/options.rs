//! Options of an index: kind and layout, which the file stores, and the options of its pages.

use super::kinds::kind::{IndexKind, Tunable};
use super::tree::layout::IndexLayout;
use crate::page::PageOptions;
use crate::types::{KeyColumn, KeyType, RecordType, ValueType};

/// Options for creating and opening an index. All but `pages` are stored in the file: an index that is opened takes
/// them from there, whatever the options say.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IndexOptions {
    /// The structure of the index.
    pub kind: IndexKind,
    /// The type of the keys, if the type of the handle leaves it open, as [`RawKey`](super::RawKey) does.
    pub key_type: Option<KeyType>,
    /// The type of the values, if the type of the handle leaves it open, as `Vec<u8>` and arrays do; else bytes. The
    /// payloads of these handles are those of [`Index::encode_value`](super::Index::encode_value).
    pub value_type: Option<ValueType>,
    /// Names of the columns of the key.
    pub key_columns: Vec<KeyColumn>,
    /// Bytes of a payload, if neither the type of the handle nor that of the values has a size. For values of a
    /// variable width, 2 more than those of the longest one.
    pub payload_bytes: Option<usize>,
    /// Fill of leaves after a bulk load, in percent, from 10 to 100.
    pub fill_percent: u8,
    /// Whether a key may have several entries; see [`IndexKind::allows_duplicates`].
    pub duplicates: bool,
    /// Page size, memory and durability.
    pub pages: PageOptions,
    /// Parameters of the structure, as its crate defines them; missing ones have their defaults.
    #[doc(hidden)]
    pub tunables: Vec<Tunable>,
}

impl Default for IndexOptions {
    fn default() -> Self {
        let IndexLayout { fill_percent, duplicates, .. } = IndexLayout::default();
        Self {
            kind: IndexKind::default(),
            key_type: None,
            value_type: None,
            key_columns: Vec::new(),
            payload_bytes: None,
            fill_percent,
            duplicates,
            pages: PageOptions::default(),
            tunables: Vec::new(),
        }
    }
}

impl IndexOptions {
    /// Bytes of a payload beside those of a value of variable width: its length.
    pub const LENGTH_BYTES: usize = super::entries::values::LENGTH_BYTES;

    /// With these types of keys and values, and names of key columns.
    #[must_use]
    pub fn record_type(self, types: RecordType) -> Self {
        let RecordType { keys, values, key_columns } = types;
        Self { key_type: Some(keys), value_type: Some(values), key_columns, ..self }
    }
}

setters! {
    IndexOptions {
        kind: IndexKind,
        fill_percent: u8,
        duplicates: bool,
        pages: PageOptions,
        #[doc(hidden)]
        tunables: Vec<Tunable>,
        key_columns: Vec<KeyColumn>,
    } optional {
        key_type: KeyType,
        value_type: ValueType,
        payload_bytes: usize,
    }
}
