//! An open index as an ordered map.

use super::any::AnyIndex;
use super::file::IndexFile;
use super::stats::IndexReport;
use super::text::{self, Form};
use super::verify::IndexFindings;
use crate::commands::ordered_map::{Bounds, Change, EntryPrinter, OrderedMap, Window, WritableMap};
use crate::failure::{Failure, Result};
use crate::size::grouped;
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsStr;

/// An open index, and the form of its payloads on the command line.
#[derive(Debug)]
pub(super) struct OpenIndex {
    pub(super) index: AnyIndex,
    pub(super) form: Form,
}

impl OrderedMap for OpenIndex {
    type Place = IndexFile;
    /// An integer widened to 16 bytes.
    type Key = u128;
    type Value = Vec<u8>;
    type Stats = IndexReport;
    type Findings = IndexFindings;

    fn parse_key(&self, written: &OsStr) -> Result<u128> {
        text::key_from_argument(self.index.key_type(), written)
    }

    fn shown_key<'a>(&self, key: &'a u128) -> Cow<'a, str> {
        text::key_shown(self.index.key_type(), *key).into()
    }

    fn key_to_json(&self, key: &u128) -> Value {
        text::key_to_json(self.index.key_type(), *key)
    }

    fn shown_value<'a>(&self, value: &'a [u8]) -> Cow<'a, str> {
        self.form.shown(value).into()
    }

    fn value_to_json(&self, value: &[u8]) -> Value {
        self.form.to_json(value)
    }

    fn get(&self, key: &u128, all: bool) -> Result<Vec<Vec<u8>>> {
        Ok(match all {
            true => self.index.get_all(*key)?,
            false => self.index.get(*key)?.into_iter().collect(),
        })
    }

    /// Unlike in tables, payloads have one size: they are empty in all entries or in none.
    fn remark(&self, _: &[Vec<u8>]) -> Option<&'static str> {
        (self.index.layout().payload_bytes == 0).then_some("found; this index has no payloads")
    }

    fn scan(&self, range: Bounds<u128>, window: Window, print: &mut EntryPrinter<'_, u128>) -> Result<()> {
        window.visit(self.index.range(range)?, |(key, payload)| print(&key, Some(&payload)))
    }

    fn stats(place: &IndexFile) -> Result<IndexReport> {
        IndexReport::new(place.read()?)
    }

    fn verify(place: &IndexFile, _: &mut dyn FnMut(u64, u64)) -> Result<IndexFindings> {
        IndexFindings::of(place)
    }
}

impl WritableMap for OpenIndex {
    /// An empty value stands for a payload of zeros, whatever its form.
    fn put(self, key: &u128, value: &[u8]) -> Result<Change> {
        let payload_bytes = self.index.layout().payload_bytes;
        let payload = match value {
            [] => vec![0; payload_bytes],
            written => self.form.parse(written, payload_bytes).map_err(|message| {
                Failure::usage(message, "use a payload that fits, or set its form with --values: text, number or hex")
            })?,
        };
        let is_new = self.index.put(*key, payload)?;
        self.index.close()?;
        let done = if is_new { "inserted" } else { "overwritten" };
        Ok(Change { field: ("new", is_new.into()), done: Some(done.into()) })
    }

    fn remove(self, key: &u128, all: bool) -> Result<Change> {
        let removed = self.index.delete(*key, all)?;
        self.index.close()?;
        let done = match removed {
            0 => None,
            1 => Some("1 entry removed".into()),
            _ => Some(format!("{} entries removed", grouped(removed))),
        };
        Ok(Change { field: ("removed", removed.into()), done })
    }
}
