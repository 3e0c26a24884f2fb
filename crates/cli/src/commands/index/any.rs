//! An open index, whose key and payload types are known only at run time.

use super::file::IndexFile;
use super::stats::IndexReport;
use super::text::{self, Form};
use super::verify::IndexFindings;
use crate::commands::ordered_map::{self, Bounds, Change, OrderedMap, Report, Window, WritableMap};
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::records::RecordFields;
use crate::size::grouped;
use crate::value;
use ogive::index::{Index, IndexKind, IndexLayout, IndexOptions, Raw, Word};
use ogive::io::Storage;
use ogive::page::{LostLog, PageOptions};
use ogive::types::{RecordType, ValueType};
use ogive::{Error, KeyType};
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::ops::Bound;
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
    ) -> ogive::Result<Self> {
        if key_type.width().is_some_and(|width| width <= u64::BYTES) {
            Index::create(Arc::clone(storage), name, options).map(Self::Short)
        } else {
            Index::create(Arc::clone(storage), name, options).map(Self::Long)
        }
    }

    pub(super) fn open(
        storage: &Arc<dyn Storage>,
        name: &str,
        options: &PageOptions,
        read_only: bool,
    ) -> ogive::Result<Self> {
        let short = match read_only {
            true => Index::open_read_only(Arc::clone(storage), name, options),
            false => Index::open(Arc::clone(storage), name, options),
        };
        match (short, read_only) {
            (Err(Error::WrongType { .. }), true) => {
                Index::open_read_only(Arc::clone(storage), name, options).map(Self::Long)
            }
            (Err(Error::WrongType { .. }), false) => Index::open(Arc::clone(storage), name, options).map(Self::Long),
            (short, _) => short.map(Self::Short),
        }
    }

    /// As [`Index::without_log`].
    pub(super) fn without_log(
        storage: &Arc<dyn Storage>,
        name: &str,
        options: &PageOptions,
    ) -> ogive::Result<Option<(Self, LostLog)>> {
        match Index::without_log(Arc::clone(storage), name, options) {
            Err(Error::WrongType { .. }) => {
                Ok(Index::without_log(Arc::clone(storage), name, options)?
                    .map(|(index, lost)| (Self::Long(index), lost)))
            }
            short => Ok(short?.map(|(index, lost)| (Self::Short(index), lost))),
        }
    }

    pub(super) fn kind(&self) -> IndexKind {
        either!(self, index => index.kind())
    }

    pub(super) fn key_type(&self) -> KeyType {
        either!(self, index => index.key_type())
    }

    pub(super) fn record_type(&self) -> &RecordType {
        either!(self, index => index.record_type())
    }

    /// As [`Index::encode_value`].
    pub(super) fn encode_value(&self, value: &[u8]) -> ogive::Result<Vec<u8>> {
        either!(self, index => index.encode_value(value))
    }

    /// As [`Index::decode_value`].
    pub(super) fn decode_value<'a>(&self, payload: &'a [u8]) -> ogive::Result<Cow<'a, [u8]>> {
        either!(self, index => index.decode_value(payload))
    }

    pub(super) fn layout(&self) -> IndexLayout {
        either!(self, index => index.layout())
    }

    /// Writes everything to the file.
    pub(super) fn close(self) -> ogive::Result<()> {
        either!(self, index => index.close())
    }
}

/// An open index, and the form of its payloads on the command line: that of their type if none is given.
#[derive(Debug)]
pub(super) struct OpenIndex {
    pub(super) any: AnyIndex,
    form: Option<Form>,
    /// The columns of its records.
    fields: RecordFields,
}

impl OpenIndex {
    pub(super) fn new(any: AnyIndex, form: Option<Form>) -> Self {
        Self { fields: RecordFields::new(any.record_type()), any, form }
    }

    /// The form of payloads that are not shown as values of their type.
    fn untyped_form(&self) -> Option<Form> {
        self.form.or_else(|| self.value_type().is_bytes().then(Form::default))
    }
}

impl OrderedMap for OpenIndex {
    type Location = IndexFile;
    /// An integer widened to 16 bytes.
    type Key = u128;
    type Value = Vec<u8>;

    fn parse_key(&self, written: &OsStr) -> Result<u128> {
        text::key_from_argument(self.any.key_type(), written)
    }

    fn parse_prefix(&self, written: &OsStr) -> Result<Bounds<u128>> {
        text::prefix_range(self.any.key_type(), written)
    }

    fn shown_key<'a>(&self, key: &'a u128) -> Cow<'a, str> {
        text::key_shown(self.any.key_type(), *key).into()
    }

    fn key_to_json(&self, key: &u128) -> Value {
        text::key_to_json(self.any.key_type(), *key)
    }

    fn value_type(&self) -> &ValueType {
        &self.any.record_type().values
    }

    fn shown_value<'a>(&self, payload: &'a [u8]) -> Cow<'a, str> {
        match (self.untyped_form(), self.any.decode_value(payload)) {
            (None, Ok(value)) => value::shown(self.value_type(), &value).into_owned().into(),
            (form, _) => form.unwrap_or_default().shown(payload).into(),
        }
    }

    fn value_to_json(&self, payload: &[u8]) -> Value {
        match (self.untyped_form(), self.any.decode_value(payload)) {
            (None, Ok(value)) => value::to_json(self.value_type(), &value),
            (form, _) => form.unwrap_or_default().to_json(payload),
        }
    }

    fn record_to_json(&self, key: &u128, payload: Option<&[u8]>) -> String {
        let bytes = text::key_bytes(self.any.key_type(), *key);
        match (self.untyped_form(), payload.map(|payload| self.any.decode_value(payload)).transpose()) {
            (None, Ok(value)) => self.fields.json(&bytes, value.as_deref()),
            _ => ordered_map::plain_record(self, key, payload),
        }
    }

    fn get(&self, key: &u128, all: bool) -> Result<Vec<Vec<u8>>> {
        Ok(either!(&self.any, index => match all {
            true => index.get_all(raw(*key))?,
            false => index.get(raw(*key))?.into_iter().collect(),
        }))
    }

    fn repeats(&self, key: &u128) -> Result<u64> {
        if !self.any.layout().duplicates {
            return Ok(1);
        }
        self.count((Bound::Included(*key), Bound::Included(*key)))
    }

    /// Unlike in tables, payloads have one size: they are empty in all entries or in none.
    fn remark(&self, _: &[Vec<u8>]) -> Option<&'static str> {
        (self.any.layout().payload_bytes == 0).then_some("found; this index has no payloads")
    }

    fn scan(&self, (from, to): Bounds<u128>, window: Window, output: &mut Output) -> Result<()> {
        either!(&self.any, index => {
            let entries = index.range((from.map(raw), to.map(raw)))?;
            window.visit(entries, |(Raw(word), payload)| self.print_entry(&word.to_u128(), Some(&payload), output))
        })
    }

    fn count(&self, (from, to): Bounds<u128>) -> Result<u64> {
        either!(&self.any, index => match (from, to) {
            (Bound::Unbounded, Bound::Unbounded) => Ok(index.len()?),
            (from, to) => {
                let mut entries = index.range((from.map(raw), to.map(raw)))?;
                Ok(entries.try_fold(0, |count, entry| entry.map(|_| count + 1))?)
            }
        })
    }

    fn stats(place: &IndexFile) -> Result<impl Report> {
        IndexReport::new(place.read(None)?.any)
    }

    fn verify(place: &IndexFile) -> Result<impl Report> {
        IndexFindings::of(place)
    }
}

impl WritableMap for OpenIndex {
    /// An empty value without a type stands for a payload of zeros, whatever its form.
    fn put(self, key: &u128, value: &[u8]) -> Result<Change> {
        let payload_bytes = self.any.layout().payload_bytes;
        let payload = match (self.untyped_form(), value) {
            (None, written) => self.any.encode_value(&value::from_argument(self.value_type(), written)?)?,
            (Some(_), []) => vec![0; payload_bytes],
            (Some(form), written) => form.parse(written, payload_bytes).map_err(|message| {
                Failure::usage(message, "use a payload that fits, or set its form with --values: text, number or hex")
            })?,
        };
        self.any
            .decode_value(&payload)
            .map_err(|error| Failure::usage(error.to_string(), "leave out --values, and write a value of that type"))?;
        let is_new = either!(&self.any, index => {
            let mut transaction = index.write()?;
            let is_new = transaction.insert(raw(*key), payload)?;
            transaction.commit()?;
            is_new
        });
        self.any.close()?;
        let done = if is_new { "inserted" } else { "overwritten" };
        Ok(Change { field: ("new", is_new.into()), done: Some(done.into()) })
    }

    fn remove(self, key: &u128, all: bool) -> Result<Change> {
        let removed = either!(&self.any, index => {
            let mut transaction = index.write()?;
            let removed = match all {
                true => transaction.remove_all(raw(*key))?,
                false => u64::from(transaction.remove(raw(*key))?),
            };
            transaction.commit()?;
            removed
        });
        self.any.close()?;
        let done = match removed {
            0 => None,
            1 => Some("1 entry removed".into()),
            _ => Some(format!("{} entries removed", grouped(removed))),
        };
        Ok(Change { field: ("removed", removed.into()), done })
    }
}
