//! An open index, whose key and payload types are known only at run time.

use super::file::IndexFile;
use super::stats::IndexReport;
use super::text::{self, Form};
use super::verify::IndexFindings;
use crate::commands::ordered_map::{self, Change, OrderedMap, Report, Window, WritableMap};
use crate::export::RecordVisitor;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::reading::bounds::Bounds;
use crate::values::records::RecordFields;
use crate::values::size::counted;
use crate::values::value;
use ogive::index::{AnyIndex, RawKey, Word};
use ogive::types::{RecordType, ValueType};
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{Cursor, Read};
use std::ops::Bound;

/// Applies an expression to an index of either width.
macro_rules! either {
    ($any:expr, $index:ident => $do:expr) => {
        match $any {
            ogive::index::AnyIndex::Short($index) => $do,
            ogive::index::AnyIndex::Long($index) => $do,
        }
    };
}
pub(super) use either;

/// An open index, and the form of its payloads on the command line: that of their type if none is given.
#[derive(Debug)]
pub(crate) struct OpenIndex {
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

    const WHAT: &'static str = "the index";

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
        let bytes = AnyIndex::key_bytes(self.any.key_type(), *key);
        match (self.untyped_form(), payload.map(|payload| self.any.decode_value(payload)).transpose()) {
            (None, Ok(value)) => self.fields.json(&bytes, value.as_deref()),
            _ => ordered_map::plain_record(self, key, payload),
        }
    }

    fn get(&self, key: &u128, all: bool) -> Result<Vec<Vec<u8>>> {
        Ok(either!(&self.any, index => match all {
            true => index.get_all(AnyIndex::raw(*key))?,
            false => index.get(AnyIndex::raw(*key))?.into_iter().collect(),
        }))
    }

    fn get_some(&self, keys: &[u128], all: bool, room_bytes: u64) -> Result<Vec<Vec<Vec<u8>>>> {
        let layout = self.any.layout();
        let value_bytes = (layout.payload_bytes + size_of::<Vec<u8>>()) as u64;
        let fitting = usize::try_from(room_bytes / value_bytes).unwrap_or(usize::MAX).max(1);
        let keys = keys.get(..fitting).unwrap_or(keys);
        either!(&self.any, index => {
            // With several entries of a key, this brings their leaves into memory.
            let found = index.multi_get(&keys.iter().map(|key| AnyIndex::raw(*key)).collect::<Vec<_>>())?;
            if !(all && layout.duplicates) {
                return Ok(found.into_iter().map(|value| value.into_iter().collect()).collect());
            }
            let (mut answers, mut bytes) = (Vec::with_capacity(keys.len()), 0);
            for (key, first) in keys.iter().zip(found) {
                let values = if first.is_some() { index.get_all(AnyIndex::raw(*key))? } else { Vec::new() };
                bytes += values.len() as u64 * value_bytes;
                answers.push(values);
                if bytes >= room_bytes {
                    break;
                }
            }
            Ok(answers)
        })
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

    fn value_reader<'a>(&'a self, key: &u128) -> Result<Option<Box<dyn Read + 'a>>> {
        let Some(payload) = self.get(key, false)?.into_iter().next() else { return Ok(None) };
        // What is no value of the type is written as it is.
        let value = self.any.decode_value(&payload).map_or_else(|_| payload.clone(), Cow::into_owned);
        Ok(Some(Box::new(Cursor::new(value))))
    }

    fn nth(&self, position: u64) -> Result<Option<(u128, Vec<u8>)>> {
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        either!(&self.any, index => {
            let entry = index.iter()?.nth(position).transpose()?;
            Ok(entry.map(|(RawKey(word), payload)| (word.to_u128(), payload)))
        })
    }

    fn record_type(&self) -> RecordType {
        self.any.record_type().clone()
    }

    fn expected(&self) -> Option<u64> {
        self.total().ok()
    }

    fn export(&self, (from, to): Bounds<u128>, visit: &mut RecordVisitor<'_>) -> Result<()> {
        let key_type = self.any.key_type();
        either!(&self.any, index => {
            for entry in index.range((from.map(AnyIndex::raw), to.map(AnyIndex::raw)))? {
                let (RawKey(word), payload) = entry?;
                visit(&AnyIndex::key_bytes(key_type, word.to_u128()), &index.decode_value(&payload)?)?;
            }
            Ok(())
        })
    }

    fn scan(&self, (from, to): Bounds<u128>, window: Window, output: &mut Output) -> Result<()> {
        either!(&self.any, index => {
            let entries = index.range((from.map(AnyIndex::raw), to.map(AnyIndex::raw)))?;
            window.visit(entries, |(RawKey(word), payload)| {
                self.print_entry(&word.to_u128(), window.value(&payload), output)
            })
        })
    }

    fn count(&self, (from, to): Bounds<u128>) -> Result<u64> {
        either!(&self.any, index => match (from, to) {
            (Bound::Unbounded, Bound::Unbounded) => Ok(index.len()?),
            (from, to) => {
                let mut entries = index.range((from.map(AnyIndex::raw), to.map(AnyIndex::raw)))?;
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
            .map_err(|error| Failure::usage(error.message(), "leave out --values, and write a value of that type"))?;
        let is_new = either!(&self.any, index => {
            let mut transaction = index.write()?;
            let is_new = transaction.insert(AnyIndex::raw(*key), payload)?;
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
                true => transaction.remove_all(AnyIndex::raw(*key))?,
                false => u64::from(transaction.remove(AnyIndex::raw(*key))?),
            };
            transaction.commit()?;
            removed
        });
        self.any.close()?;
        let done = match removed {
            0 => None,
            _ => Some(format!("{} removed", counted(removed, "entry"))),
        };
        Ok(Change { field: ("removed", removed.into()), done })
    }
}
