//! Indexes whose types of keys and values are known only at run time.

use crate::arrow_out::{RowBatch, RowReader};
use crate::convert::{decode_value, encode_key};
use crate::errors::{self, OrRaise};
use crate::index::bound_word;
use crate::keys::Keys;
use crate::keyspace::Object;
use crate::range::{Part, RecordIterator};
use crate::rows::{self, Batches};
use ogive::index::{Index, IndexOptions, IndexReader, Raw, Word};
use ogive::io::Storage;
use ogive::join::JoinSource;
use ogive::page::PageOptions;
use ogive::types::RecordType;
use ogive::{Error, KeyType};
use pyo3::prelude::*;
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::ops::Bound;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

/// How long a writer waits before it looks for signals.
const SIGNAL_WAIT: Duration = Duration::from_millis(50);

/// Entries of a range that are read at a time.
const ENTRIES_AT_ONCE: usize = 1024;

/// An index of keys of up to 8 bytes, or of up to 16, as integers; with payloads of any type.
#[derive(Debug)]
pub(crate) enum AnyIndex {
    Short(Index<Raw<u64>, Vec<u8>>),
    Long(Index<Raw<u128>, Vec<u8>>),
}

/// Applies an expression to an index of either width.
macro_rules! either {
    ($any:expr, $index:ident => $do:expr) => {
        match $any {
            $crate::index_any::AnyIndex::Short($index) => $do,
            $crate::index_any::AnyIndex::Long($index) => $do,
        }
    };
}
pub(crate) use either;

/// The key of a widened integer.
pub(crate) fn raw<W: Word>(word: u128) -> Raw<W> {
    Raw(W::from_u128(word))
}

/// The bytes of a key as an integer.
pub(crate) fn word_of(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |word, &byte| word << 8 | u128::from(byte))
}

fn key_bytes(key_type: KeyType, word: u128) -> Vec<u8> {
    word.to_be_bytes()[16 - key_type.width().unwrap_or(0).min(16)..].to_vec()
}

impl AnyIndex {
    pub(crate) fn create(
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

    pub(crate) fn open(
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

    pub(crate) fn record_type(&self) -> &RecordType {
        either!(self, index => index.record_type())
    }

    pub(crate) fn encode_value(&self, value: &[u8]) -> ogive::Result<Vec<u8>> {
        either!(self, index => index.encode_value(value))
    }

    pub(crate) fn decode_value<'a>(&self, payload: &'a [u8]) -> ogive::Result<Cow<'a, [u8]>> {
        either!(self, index => index.decode_value(payload))
    }

    /// The number of the last commit.
    pub(crate) fn sequence(&self) -> u64 {
        either!(self, index => index.page_statistics()).sequence
    }

    pub(crate) fn source(&self) -> ogive::Result<JoinSource> {
        either!(self, index => JoinSource::index(index))
    }

    pub(crate) fn stats(&self) -> ogive::Result<Json> {
        let (layout, file) = either!(self, index => (index.layout(), index.page_statistics()));
        let statistics = either!(self, index => index.statistics())?;
        let types = self.record_type();
        Ok(json!({
            "kind": either!(self, index => index.kind()).name(),
            "key_type": types.keys.to_string(),
            "value_type": types.values.to_string(),
            "payload_bytes": layout.payload_bytes,
            "duplicates": layout.duplicates,
            "page_bytes": file.page_bytes,
            "file_bytes": file.file_bytes,
            "free_pages": file.free_pages,
            "log_bytes": file.log_bytes,
            "entries": statistics.entries,
            "leaves": statistics.leaves,
            "leaf_pages": statistics.leaf_pages,
            "inner_pages": statistics.inner_pages,
            "height": statistics.height,
            "mean_height": statistics.mean_height,
        }))
    }

    pub(crate) fn explain(&self, word: u128) -> ogive::Result<Json> {
        let visits = either!(self, index => index.explain(raw(word)))?;
        let visit = |visit: &ogive::index::Visit| {
            let (node, depth) = (visit.node, visit.depth);
            json!({ "node": node, "depth": depth, "entries": visit.entries, "detail": visit.detail })
        };
        Ok(visits.iter().map(visit).collect())
    }
}

/// The entries of one commit.
#[derive(Debug)]
pub(crate) struct View {
    any: Arc<AnyIndex>,
    reader: Arc<AnyReader>,
}

#[derive(Debug)]
enum AnyReader {
    Short(IndexReader<Raw<u64>, Vec<u8>>),
    Long(IndexReader<Raw<u128>, Vec<u8>>),
}

macro_rules! of_reader {
    ($reader:expr, $index:ident => $do:expr) => {
        match $reader {
            AnyReader::Short($index) => $do,
            AnyReader::Long($index) => $do,
        }
    };
}

type Record = ogive::Result<(Vec<u8>, Vec<u8>)>;

impl View {
    pub(crate) fn of(any: &Arc<AnyIndex>) -> ogive::Result<Self> {
        let reader = match &**any {
            AnyIndex::Short(index) => AnyReader::Short(index.reader()?),
            AnyIndex::Long(index) => AnyReader::Long(index.reader()?),
        };
        Ok(Self { any: any.clone(), reader: Arc::new(reader) })
    }

    fn key_type(&self) -> KeyType {
        self.any.record_type().keys
    }

    fn value<'py>(&self, py: Python<'py>, payload: &[u8]) -> PyResult<Object<'py>> {
        decode_value(py, &self.any.record_type().values, &self.any.decode_value(payload).or_raise()?)
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Option<Object<'py>>> {
        let word = word_of(&encode_key(self.key_type(), key)?);
        let found = py.detach(|| of_reader!(&*self.reader, reader => reader.get(raw(word)))).or_raise()?;
        found.map(|payload| self.value(py, &payload)).transpose()
    }

    pub(crate) fn get_all<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Vec<Object<'py>>> {
        let word = word_of(&encode_key(self.key_type(), key)?);
        let found = py.detach(|| of_reader!(&*self.reader, reader => reader.get_all(raw(word)))).or_raise()?;
        found.iter().map(|payload| self.value(py, payload)).collect()
    }

    pub(crate) fn contains(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<bool> {
        let word = word_of(&encode_key(self.key_type(), key)?);
        py.detach(|| of_reader!(&*self.reader, reader => reader.contains_key(raw(word)))).or_raise()
    }

    pub(crate) fn len(&self, py: Python<'_>) -> PyResult<usize> {
        let entries = py.detach(|| of_reader!(&*self.reader, reader => reader.len())).or_raise()?;
        usize::try_from(entries).map_err(|error| errors::new("OgiveError", &error.to_string()))
    }

    pub(crate) fn multi_get(&self, py: Python<'_>, keys: &Object<'_>) -> PyResult<RowBatch> {
        let types = self.any.record_type();
        let keys = Keys::of(py, types.keys, keys)?;
        let value = |payload: Vec<u8>| self.any.decode_value(&payload).map(Cow::into_owned);
        rows::found(py, types, &keys, |keys| {
            let words = keys.into_iter().map(word_of);
            let found = of_reader!(&*self.reader, reader => reader.multi_get(&words.map(raw).collect::<Vec<_>>()))?;
            found.into_iter().map(|payload| payload.map(value).transpose()).collect()
        })
    }

    /// The records of a range.
    fn records(
        &self,
        start: Option<&Object<'_>>,
        stop: Option<&Object<'_>>,
        reverse: bool,
    ) -> PyResult<Box<dyn Iterator<Item = Record> + Send>> {
        let key_type = self.key_type();
        let word = |key: Option<&Object<'_>>| key.map(|key| bound_word(key_type, key)).transpose();
        let from = word(start)?.map_or(Bound::Unbounded, Bound::Included);
        let to = word(stop)?.map_or(Bound::Unbounded, Bound::Excluded);
        let (any, reader) = (self.any.clone(), self.reader.clone());
        Ok(Box::new(Entries {
            any,
            reader,
            key_type,
            bounds: Some((from, to)),
            reverse,
            ahead: Vec::new().into_iter(),
        }))
    }

    pub(crate) fn range(
        &self,
        start: Option<&Object<'_>>,
        stop: Option<&Object<'_>>,
        reverse: bool,
        part: Part,
    ) -> PyResult<RecordIterator> {
        let types = Arc::new(self.any.record_type().clone());
        Ok(RecordIterator::new(Some(self.records(start, stop, reverse)?), types, part))
    }

    pub(crate) fn scan(&self, start: Option<&Object<'_>>, stop: Option<&Object<'_>>) -> PyResult<RowReader> {
        Ok(Batches::reader(self.any.record_type(), self.records(start, stop, false)?))
    }
}

/// The entries of a range, read some at a time: ranges of the engine stay on one thread.
struct Entries {
    any: Arc<AnyIndex>,
    reader: Arc<AnyReader>,
    key_type: KeyType,
    /// The words that are left; `None` at the end.
    bounds: Option<(Bound<u128>, Bound<u128>)>,
    reverse: bool,
    ahead: std::vec::IntoIter<(u128, Vec<u8>)>,
}

impl Entries {
    /// Reads the next entries: all of a key, if it has several.
    fn fill(&mut self) -> ogive::Result<()> {
        let Some((from, to)) = self.bounds.take() else { return Ok(()) };
        let mut found: Vec<(u128, Vec<u8>)> = Vec::new();
        of_reader!(&*self.reader, reader => {
            let mut entries = reader.range((from.map(raw), to.map(raw)));
            while let Some(entry) = if self.reverse { entries.next_back() } else { entries.next() } {
                let (Raw(word), payload) = entry?;
                let word = word.to_u128();
                if let Some((last, _)) = found.last()
                    && found.len() >= ENTRIES_AT_ONCE
                    && *last != word
                {
                    let rest = Bound::Excluded(*last);
                    self.bounds = Some(if self.reverse { (from, rest) } else { (rest, to) });
                    break;
                }
                found.push((word, payload));
            }
        });
        self.ahead = found.into_iter();
        Ok(())
    }
}

impl Iterator for Entries {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if self.ahead.len() == 0
            && let Err(error) = self.fill()
        {
            return Some(Err(error));
        }
        let (word, payload) = self.ahead.next()?;
        let value = self.any.decode_value(&payload).map(Cow::into_owned);
        Some(value.map(|value| (key_bytes(self.key_type, word), value)))
    }
}

/// Lets one writer in at a time. A thread that waits for itself gets an error, and one that waits for another sees
/// signals.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    inside: Mutex<Option<ThreadId>>,
    left: Condvar,
}

/// The writer that is inside, until it is dropped.
#[derive(Debug)]
pub(crate) struct Writing(Arc<Gate>);

impl Gate {
    pub(crate) fn enter(gate: &Arc<Self>, py: Python<'_>) -> PyResult<Writing> {
        let own = std::thread::current().id();
        loop {
            let inside = py.detach(|| {
                let inside = gate.inside.lock().unwrap_or_else(PoisonError::into_inner);
                let wait = |inside: &mut Option<ThreadId>| inside.is_some_and(|other| other != own);
                let waited = gate.left.wait_timeout_while(inside, SIGNAL_WAIT, wait);
                let (mut inside, _) = waited.unwrap_or_else(PoisonError::into_inner);
                let found = *inside;
                inside.get_or_insert(own);
                found
            });
            match inside {
                None => return Ok(Writing(gate.clone())),
                Some(other) if other == own => {
                    let message = "this thread has a transaction open; write through it, or end it first";
                    return Err(errors::new("InvalidArgument", message));
                }
                Some(_) => py.check_signals()?,
            }
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        *self.0.inside.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.left.notify_one();
    }
}
