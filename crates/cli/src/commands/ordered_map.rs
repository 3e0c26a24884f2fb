//! Ordered maps: tables, indexes and keyspaces of stores, as the commands on them see them.
//!
//! `get`, `put`, `delete`, `scan`, `count`, `rank`, `nth`, `export`, `stats` and `verify` have one body each in
//! [`super::verbs`], over [`OrderedMap`]. An implementation says what differs: forms of keys and values, traces of
//! reads, remarks, and reports.

use crate::export::RecordVisitor;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::reading::bounds::{Bounds, bounds};
use crate::values::size::whole_number;
use crate::values::value;
use ogive::types::{RecordType, ValueType};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::ops::{Bound, Deref};

/// A record in JSON whose columns have no names.
pub(crate) fn plain_record<M: OrderedMap + ?Sized>(map: &M, key: &M::Key, value: Option<&[u8]>) -> String {
    let mut object = json!({ "key": map.key_to_json(key) });
    if let Some(value) = value {
        object["value"] = map.value_to_json(value);
    }
    object.to_string()
}

/// An open table, index or keyspace, with the options of the command on its output.
pub(crate) trait OrderedMap {
    /// The arguments that name the table, index or store.
    type Location;
    /// A key. Its order is that of the map.
    type Key: Ord + Clone;
    /// A value in memory.
    type Value: Deref<Target = [u8]>;

    /// What it is, for messages, such as `the table`.
    const WHAT: &'static str;

    /// The key given as an argument.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it is not a key of the map's type.
    fn parse_key(&self, written: &OsStr) -> Result<Self::Key>;

    /// A key as text.
    fn shown_key<'a>(&self, key: &'a Self::Key) -> Cow<'a, str>;

    /// A key in JSON.
    fn key_to_json(&self, key: &Self::Key) -> Value;

    /// The type of the values.
    fn value_type(&self) -> &ValueType {
        value::BYTES
    }

    /// A value as text.
    fn shown_value<'a>(&self, value: &'a [u8]) -> Cow<'a, str> {
        value::shown(self.value_type(), value)
    }

    /// A value in JSON.
    fn value_to_json(&self, value: &[u8]) -> Value {
        value::to_json(self.value_type(), value)
    }

    /// A record as a JSON object, the same in all commands: with a member for each column, or for those of the key if
    /// the value is `None`.
    fn record_to_json(&self, key: &Self::Key, value: Option<&[u8]>) -> String {
        plain_record(self, key, value)
    }

    /// The values of a key: all of them, or only the first. Keyspaces have one value per key.
    fn get(&self, key: &Self::Key, all: bool) -> Result<Vec<Self::Value>>;

    /// The values of the first of several keys, each as [`Self::get`] returns them, looked up together: of as many keys
    /// as have values of `room_bytes`, and of one in any case.
    fn get_some(&self, keys: &[Self::Key], all: bool, room_bytes: u64) -> Result<Vec<Vec<Self::Value>>>;

    /// The number of records with a key that is there, if it may be more than one and is found without reading them.
    fn repeats(&self, _key: &Self::Key) -> Result<u64> {
        Ok(1)
    }

    /// A remark on found values that print as empty lines. Stores make none.
    fn remark(&self, _values: &[Self::Value]) -> Option<&'static str> {
        None
    }

    /// The value of a key by itself, which may be longer than what is held in memory.
    fn value_reader<'a>(&'a self, key: &Self::Key) -> Result<Option<Box<dyn Read + 'a>>>;

    /// A remark on a map without any records, if there are others with some. Only keyspaces make one.
    fn remark_on_emptiness(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// A remark on what a copy of the records in another format lacks. Only keyspaces make one.
    fn remark_on_copies(&self) -> Option<String> {
        None
    }

    /// The number of all records.
    fn total(&self) -> Result<u64> {
        self.count((Bound::Unbounded, Bound::Unbounded))
    }

    /// The number of records with smaller keys.
    fn rank(&self, key: &Self::Key) -> Result<u64> {
        self.count((Bound::Unbounded, Bound::Excluded(key.clone())))
    }

    /// The record at a position, counted from 0.
    fn nth(&self, position: u64) -> Result<Option<(Self::Key, Self::Value)>>;

    /// The types of the records as they are exported.
    fn record_type(&self) -> RecordType;

    /// The number of all records, perhaps estimated; `None` if it takes reading them.
    fn expected(&self) -> Option<u64>;

    /// Calls `visit` with each record of a range that is not empty, as it is exported.
    fn export(&self, range: Bounds<Self::Key>, visit: &mut RecordVisitor<'_>) -> Result<()>;

    /// Prints entries of a range that is not empty, each by [`Self::print_entry`].
    fn scan(&self, range: Bounds<Self::Key>, window: Window, output: &mut Output) -> Result<()>;

    /// The number of entries in a range that is not empty.
    fn count(&self, range: Bounds<Self::Key>) -> Result<u64>;

    /// Prints an entry on a line: key, tab, value, or a JSON object. The value is `None` if only keys are requested.
    fn print_entry(&self, key: &Self::Key, value: Option<&[u8]>, output: &mut Output) -> Result<()> {
        if output.is_json() {
            return output.line(self.record_to_json(key, value));
        }
        match value {
            Some(value) => output.line(format_args!("{}\t{}", self.shown_key(key), self.shown_value(value))),
            None => output.line(self.shown_key(key)),
        }
    }

    /// Adds the reads to a JSON answer if requested. Only tables trace them.
    fn add_trace(&self, _object: &mut Value) {}

    /// Prints the reads after an answer in text or after a scan if requested. Only tables trace them.
    fn print_trace(&self, _output: &mut Output) -> Result<()> {
        Ok(())
    }

    /// The report of `stats`.
    fn stats(place: &Self::Location) -> Result<impl Report>;

    /// The report of `verify`. Indexes show no progress, and stores need not open.
    fn verify(place: &Self::Location) -> Result<impl Report>;

    /// The keys that begin with an argument.
    ///
    /// # Errors
    /// [`Failure::Usage`] for keys without prefixes, such as numbers.
    fn parse_prefix(&self, written: &OsStr) -> Result<Bounds<Self::Key>>;

    /// The bounds of a range given as arguments; `None` if the range is empty.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it ends before it begins, and when a key is not of the map's type.
    fn parse_range(&self, range: &RangeOptions) -> Result<Option<Bounds<Self::Key>>> {
        if let Some(prefix) = &range.prefix {
            return self.parse_prefix(prefix).map(Some);
        }
        let from = range.from.as_deref().map(|from| self.parse_key(from)).transpose()?;
        let to = range.to.as_deref().map(|to| self.parse_key(to)).transpose()?;
        match from.as_ref().zip(to.as_ref()).map(|(from, to)| (from.cmp(to), from, to)) {
            Some((Ordering::Greater, from, to)) => {
                let (from, to) = (self.shown_key(from), self.shown_key(to));
                Err(Failure::usage(format!("the range from {from} to {to} ends before it begins"), "swap its ends"))
            }
            Some((Ordering::Equal, ..)) => Ok(None),
            _ => Ok(Some(bounds(from, to))),
        }
    }
}

/// An ordered map that can be modified: an index or a keyspace, open for writing.
pub(crate) trait WritableMap: OrderedMap {
    /// Inserts or overwrites an entry, and closes the map.
    fn put(self, key: &Self::Key, value: &[u8]) -> Result<Change>;

    /// Removes one entry of a key, or all of them, and closes the map. Keyspaces have one entry per key.
    fn remove(self, key: &Self::Key, all: bool) -> Result<Change>;
}

/// Result of a `put` or `delete`.
#[derive(Debug)]
pub(crate) struct Change {
    /// Name and value of its field in JSON.
    pub(crate) field: (&'static str, Value),
    /// Description in text; `None` if the key was absent.
    pub(crate) done: Option<String>,
}

/// A report on a table, index or store, by `stats` or `verify`.
pub(crate) trait Report {
    /// The report as JSON.
    fn to_json(&self) -> Result<impl Serialize>;

    /// Prints the report as text, under the name of its subject.
    fn print(&self, name: &str, output: &mut Output) -> Result<()>;

    /// Remarks for standard error. Stores make none with `--json`.
    fn remarks(&self, _name: &str, _is_json: bool) -> Vec<String> {
        Vec::new()
    }

    /// Whether no damage was found.
    fn is_sound(&self) -> bool {
        true
    }
}

/// A range of keys.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct RangeOptions {
    /// First key of the range [default: the first of all]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub(crate) from: Option<OsString>,

    /// End of the range, exclusive [default: the end]. A range with a bound contains no nulls in an index of Parquet
    /// files
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub(crate) to: Option<OsString>,

    /// Only keys that begin with this text, these bytes, or these components of a tuple
    #[arg(long, value_name = "PREFIX", allow_negative_numbers = true, conflicts_with_all = ["from", "to"])]
    pub(crate) prefix: Option<OsString>,
}

impl RangeOptions {
    /// Whether there is no bound.
    pub(crate) fn is_whole(&self) -> bool {
        self.from.is_none() && self.to.is_none() && self.prefix.is_none()
    }
}

/// The part of a range that a scan prints.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Window {
    /// Print at most N entries
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>)]
    pub(crate) limit: Option<u64>,

    /// Print the entries in reverse order
    #[arg(long)]
    pub(crate) reverse: bool,

    /// For a table, an index or a store: print keys only; a store reads no long values
    #[arg(long)]
    pub(crate) keys_only: bool,
}

impl Window {
    /// The value of an entry, if it is printed.
    pub(crate) fn value(self, value: &[u8]) -> Option<&[u8]> {
        (!self.keys_only).then_some(value)
    }

    /// Calls `visit` with the entries in this part.
    pub(crate) fn visit<T, E>(
        self,
        mut entries: impl DoubleEndedIterator<Item = Result<T, E>>,
        mut visit: impl FnMut(T) -> Result<()>,
    ) -> Result<()>
    where
        Failure: From<E>,
    {
        for _ in 0..self.limit.unwrap_or(u64::MAX) {
            let entry = if self.reverse { entries.next_back() } else { entries.next() };
            let Some(entry) = entry else { break };
            visit(entry?)?;
        }
        Ok(())
    }
}
