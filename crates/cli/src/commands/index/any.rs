//! An index whose key and payload types are known only at run time.

use ogive::index::{
    Index, IndexLayout, IndexOptions, IndexRange, IndexVerifyReport, Kind, Raw, Statistics, Visit, Word,
};
use ogive::io::Storage;
use ogive::page::PageOptions;
use ogive::page::{LostLog, PageStatistics};
use ogive::{Error, KeyType, Result};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// An index of keys of one width, with payloads of any size.
pub(super) type WordIndex<W> = Index<Raw<W>, Vec<u8>>;

/// An index of any types. Its keys are integers, widened to 16 bytes.
#[derive(Debug)]
pub(super) enum AnyIndex {
    /// Keys of 8 bytes.
    Short(WordIndex<u64>),
    /// Keys of 16 bytes.
    Long(WordIndex<u128>),
}

/// Applies an expression to an index of either width.
macro_rules! either {
    ($any:expr, $index:ident => $do:expr) => {
        match $any {
            $crate::commands::index::any::AnyIndex::Short($index) => $do,
            $crate::commands::index::any::AnyIndex::Long($index) => $do,
        }
    };
}
pub(super) use either;

/// The key of a widened integer.
pub(super) fn raw<W: Word>(word: u128) -> Raw<W> {
    Raw(W::from_u128(word))
}

impl AnyIndex {
    pub(super) fn create(
        storage: &Arc<dyn Storage>,
        name: &str,
        key_type: KeyType,
        options: &IndexOptions,
    ) -> Result<Self> {
        if key_type.width().is_some_and(|width| width <= u64::BYTES) {
            Index::create(storage, name, options).map(Self::Short)
        } else {
            Index::create(storage, name, options).map(Self::Long)
        }
    }

    pub(super) fn open(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions, read_only: bool) -> Result<Self> {
        let short = match read_only {
            true => Index::open_read_only(storage, name, options),
            false => Index::open(storage, name, options),
        };
        match (short, read_only) {
            (Err(Error::WrongType { .. }), true) => Index::open_read_only(storage, name, options).map(Self::Long),
            (Err(Error::WrongType { .. }), false) => Index::open(storage, name, options).map(Self::Long),
            (short, _) => short.map(Self::Short),
        }
    }

    /// As [`Index::without_log`].
    pub(super) fn without_log(
        storage: &Arc<dyn Storage>,
        name: &str,
        options: &PageOptions,
    ) -> Result<Option<(Self, LostLog)>> {
        match Index::without_log(storage, name, options) {
            Err(Error::WrongType { .. }) => {
                Ok(Index::without_log(storage, name, options)?.map(|(index, lost)| (Self::Long(index), lost)))
            }
            short => Ok(short?.map(|(index, lost)| (Self::Short(index), lost))),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        either!(self, index => index.kind())
    }

    pub(super) fn key_type(&self) -> KeyType {
        either!(self, index => index.key_type())
    }

    pub(super) fn layout(&self) -> IndexLayout {
        either!(self, index => index.layout())
    }

    pub(super) fn len(&self) -> Result<u64> {
        either!(self, index => index.len())
    }

    /// Writes everything to the file.
    pub(super) fn close(self) -> Result<()> {
        either!(self, index => index.close())
    }

    pub(super) fn page_statistics(&self) -> PageStatistics {
        either!(self, index => index.page_statistics())
    }

    pub(super) fn get(&self, word: u128) -> Result<Option<Vec<u8>>> {
        either!(self, index => index.get(raw(word)))
    }

    pub(super) fn get_all(&self, word: u128) -> Result<Vec<Vec<u8>>> {
        either!(self, index => index.get_all(raw(word)))
    }

    pub(super) fn put(&self, word: u128, payload: Vec<u8>) -> Result<bool> {
        either!(self, index => {
            let mut transaction = index.write()?;
            let grew = transaction.insert(raw(word), payload)?;
            transaction.commit()?;
            Ok(grew)
        })
    }

    pub(super) fn delete(&self, word: u128, all: bool) -> Result<u64> {
        either!(self, index => {
            let mut transaction = index.write()?;
            let removed = match all {
                true => transaction.remove_all(raw(word))?,
                false => u64::from(transaction.remove(raw(word))?),
            };
            transaction.commit()?;
            Ok(removed)
        })
    }

    pub(super) fn scan(&self, words: RangeInclusive<u128>) -> Result<Scan> {
        let (low, high) = words.into_inner();
        Ok(match self {
            Self::Short(index) => Scan::Short(index.range(raw(low)..=raw(high))?),
            Self::Long(index) => Scan::Long(index.range(raw(low)..=raw(high))?),
        })
    }

    pub(super) fn statistics(&self) -> Result<Statistics> {
        either!(self, index => index.statistics())
    }

    pub(super) fn verify(&self) -> Result<IndexVerifyReport> {
        either!(self, index => index.verify())
    }

    pub(super) fn explain(&self, word: u128) -> Result<Vec<Visit>> {
        either!(self, index => index.explain(raw(word)))
    }
}

/// Entries of an index of any types, in key order.
#[derive(Debug)]
pub(super) enum Scan {
    Short(IndexRange<'static, Raw<u64>, Vec<u8>>),
    Long(IndexRange<'static, Raw<u128>, Vec<u8>>),
}

/// An entry: the widened key and the payload.
type Entry = Result<(u128, Vec<u8>)>;

fn widened<W: Word>(entry: Result<(Raw<W>, Vec<u8>)>) -> Entry {
    entry.map(|(key, payload)| (key.0.to_u128(), payload))
}

impl Iterator for Scan {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        match self {
            Self::Short(range) => range.next().map(widened),
            Self::Long(range) => range.next().map(widened),
        }
    }
}

impl DoubleEndedIterator for Scan {
    fn next_back(&mut self) -> Option<Entry> {
        match self {
            Self::Short(range) => range.next_back().map(widened),
            Self::Long(range) => range.next_back().map(widened),
        }
    }
}
