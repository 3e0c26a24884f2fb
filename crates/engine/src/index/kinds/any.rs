//! Indexes whose types of keys and values are known only at run time.

use super::kind::FactoryWord;
use crate::error::{Cause, Error, Result};
use crate::index::{Index, IndexKind, IndexLayout, IndexOptions, RawKey, Word};
use crate::io::Place;
use crate::page::LostLog;
use crate::types::{KeyType, RecordType};
use std::borrow::Cow;

/// An index of keys of one width, with payloads of any size.
pub type WordIndex<W> = Index<RawKey<W>, Vec<u8>>;

/// An index of any types: its keys are unsigned integers, the bytes of a key of its [`KeyType`] read with the most
/// significant one first.
///
/// ```
/// use ogive::index::{AnyIndex, IndexOptions};
/// use ogive::io::{MemoryStorage, Storage};
/// use ogive::page::PageOptions;
/// use ogive::types::{KeyType, RecordType};
/// use std::sync::Arc;
///
/// let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
/// let options = IndexOptions::default().record_type(RecordType::new(KeyType::Date, KeyType::U32)).payload_bytes(4);
/// AnyIndex::create((&storage, "days"), &options)?.close()?;
///
/// let days = AnyIndex::open_read_only((&storage, "days"), &IndexOptions::default())?;
/// assert_eq!(days.key_type(), KeyType::Date);
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Debug)]
pub enum AnyIndex {
    /// Keys of up to 8 bytes.
    Short(WordIndex<u64>),
    /// Keys of up to 16 bytes.
    Long(WordIndex<u128>),
}

/// Applies an expression to an index of either width.
macro_rules! either {
    ($any:expr, $index:ident => $do:expr) => {
        match $any {
            AnyIndex::Short($index) => $do,
            AnyIndex::Long($index) => $do,
        }
    };
}

impl AnyIndex {
    /// As [`Index::create`].
    ///
    /// # Errors
    /// As [`Index::create`].
    pub fn create(place: impl Into<Place>, options: &IndexOptions) -> Result<Self> {
        if options.key_type.unwrap_or(KeyType::U64).width().is_some_and(|width| width <= u64::BYTES) {
            Index::create(place, options).map(Self::Short)
        } else {
            Index::create(place, options).map(Self::Long)
        }
    }

    /// As [`Index::open`].
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn open(place: impl Into<Place>, options: &IndexOptions) -> Result<Self> {
        let file = place.into().file()?;
        match Index::open(&file, options) {
            Err(Error { cause: Cause::WrongType { .. }, .. }) => Index::open(&file, options).map(Self::Long),
            short => short.map(Self::Short),
        }
    }

    /// As [`Index::open_read_only`].
    ///
    /// # Errors
    /// As [`Index::open_read_only`].
    pub fn open_read_only(place: impl Into<Place>, options: &IndexOptions) -> Result<Self> {
        let file = place.into().file()?;
        match Index::open_read_only(&file, options) {
            Err(Error { cause: Cause::WrongType { .. }, .. }) => Index::open_read_only(&file, options).map(Self::Long),
            short => short.map(Self::Short),
        }
    }

    /// As [`Index::without_log`].
    ///
    /// # Errors
    /// As [`Index::without_log`].
    pub fn without_log(place: impl Into<Place>, options: &IndexOptions) -> Result<Option<(Self, LostLog)>> {
        let file = place.into().file()?;
        match Index::without_log(&file, options) {
            Err(Error { cause: Cause::WrongType { .. }, .. }) => {
                Ok(Index::without_log(&file, options)?.map(|(index, lost)| (Self::Long(index), lost)))
            }
            short => Ok(short?.map(|(index, lost)| (Self::Short(index), lost))),
        }
    }

    /// The structure.
    #[must_use]
    pub fn kind(&self) -> IndexKind {
        either!(self, index => index.kind())
    }

    /// The type of the keys.
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        either!(self, index => index.key_type())
    }

    /// The types of keys and values.
    #[must_use]
    pub fn record_type(&self) -> &RecordType {
        either!(self, index => index.record_type())
    }

    /// Sizes of entries, and whether keys repeat.
    #[must_use]
    pub fn layout(&self) -> IndexLayout {
        either!(self, index => index.layout())
    }

    /// As [`Index::encode_value`].
    ///
    /// # Errors
    /// As [`Index::encode_value`].
    pub fn encode_value(&self, value: &[u8]) -> Result<Vec<u8>> {
        either!(self, index => index.encode_value(value))
    }

    /// As [`Index::decode_value`].
    ///
    /// # Errors
    /// As [`Index::decode_value`].
    pub fn decode_value<'a>(&self, payload: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        either!(self, index => index.decode_value(payload))
    }

    /// The integer of a key.
    #[must_use]
    pub fn word_of(key: &[u8]) -> u128 {
        key.iter().fold(0, |word, &byte| word << 8 | u128::from(byte))
    }

    /// The integer of a bound, which may be shorter than keys are: its first bytes.
    #[must_use]
    pub fn word_of_bound(&self, mut bound: Vec<u8>) -> u128 {
        bound.resize(self.key_type().width().unwrap_or_default().max(bound.len()), 0);
        Self::word_of(&bound)
    }

    /// The bytes of a key.
    #[must_use]
    pub fn key_bytes(key_type: KeyType, word: u128) -> Vec<u8> {
        word.to_be_bytes()[16 - key_type.width().unwrap_or(0).min(16)..].to_vec()
    }

    /// The key of an integer that fits.
    #[must_use]
    pub fn raw<W: FactoryWord>(word: u128) -> RawKey<W> {
        RawKey(W::from_u128(word))
    }

    /// Writes everything to the file.
    ///
    /// # Errors
    /// As [`Index::close`].
    pub fn close(self) -> Result<()> {
        either!(self, index => index.close())
    }
}
