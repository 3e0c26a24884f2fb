//! Reads of indexes as of one commit.

use crate::arrow::keys::Keys;
use crate::arrow::output::{RowBatch, RowReader};
use crate::arrow::rows::{self, Batches};
use crate::convert::{decode_value, encode_key};
use crate::errors::{self, OrRaise};
use crate::key_range::KeyRange;
use crate::object::Object;
use crate::range::{Part, RecordIterator};
use arc_swap::ArcSwapOption;
use ogive::index::{AnyIndex, IndexReader, RawKey, Word};
use ogive::types::RecordType;
use pyo3::prelude::*;
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Entries of a range that are read at a time: few at first, since many ranges are left early.
const ENTRIES_AT_FIRST: usize = 16;
const ENTRIES_AT_ONCE: usize = 1024;

/// Applies an expression to an index of either width.
macro_rules! either {
    ($any:expr, $index:ident => $do:expr) => {
        match $any {
            ogive::index::AnyIndex::Short($index) => $do,
            ogive::index::AnyIndex::Long($index) => $do,
        }
    };
}
pub(crate) use either;

/// The number of the last commit.
pub(crate) fn sequence(any: &AnyIndex) -> u64 {
    either!(any, index => index.page_statistics()).sequence
}

/// Sizes and counts of an index. All nodes are read.
pub(crate) fn stats(any: &AnyIndex) -> ogive::Result<Json> {
    let (layout, file) = either!(any, index => (index.layout(), index.page_statistics()));
    let statistics = either!(any, index => index.statistics())?;
    let types = any.record_type();
    Ok(json!({
        "kind": either!(any, index => index.kind()).name(),
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

/// The nodes on the path to a key.
pub(crate) fn explain(any: &AnyIndex, word: u128) -> ogive::Result<Json> {
    let visits = either!(any, index => index.explain(AnyIndex::raw(word)))?;
    let visit = |visit: &ogive::index::IndexVisit| {
        let (node, depth) = (visit.node, visit.depth);
        json!({ "node": node, "depth": depth, "entries": visit.entries, "detail": visit.detail })
    };
    Ok(visits.iter().map(visit).collect())
}

/// The entries of one commit, until its index is closed.
#[derive(Clone, Debug)]
pub(crate) struct View(Arc<ArcSwapOption<Commit>>);

/// The views that are to be closed with their index.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<Vec<Weak<ArcSwapOption<Commit>>>>);

#[derive(Debug)]
pub(crate) struct Commit {
    any: Arc<AnyIndex>,
    reader: AnyReader,
}

#[derive(Debug)]
enum AnyReader {
    Short(IndexReader<RawKey<u64>, Vec<u8>>),
    Long(IndexReader<RawKey<u128>, Vec<u8>>),
}

macro_rules! of_reader {
    ($reader:expr, $index:ident => $do:expr) => {
        match $reader {
            AnyReader::Short($index) => $do,
            AnyReader::Long($index) => $do,
        }
    };
}

type Record = (Vec<u8>, Vec<u8>);

impl Views {
    /// A view that outlives a call.
    pub(crate) fn keep(&self, view: View) -> View {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|view| view.strong_count() > 0);
        kept.push(Arc::downgrade(&view.0));
        view
    }

    /// Closes all views, which may keep the file open.
    pub(crate) fn close(&self) {
        let kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        kept.iter().filter_map(Weak::upgrade).for_each(|view| view.store(None));
    }
}

impl View {
    pub(crate) fn of(any: &Arc<AnyIndex>) -> ogive::Result<Self> {
        let reader = match &**any {
            AnyIndex::Short(index) => AnyReader::Short(index.reader()?),
            AnyIndex::Long(index) => AnyReader::Long(index.reader()?),
        };
        Ok(Self(Arc::new(ArcSwapOption::from_pointee(Commit { any: any.clone(), reader }))))
    }

    pub(crate) fn close(&self) {
        self.0.store(None);
    }

    fn commit(&self) -> PyResult<Arc<Commit>> {
        let closed = || errors::new("Closed", "the snapshot, or its index, was closed; open it again");
        self.0.load_full().ok_or_else(closed)
    }

    pub(crate) fn types(&self) -> PyResult<(String, String)> {
        let commit = self.commit()?;
        let types = commit.any.record_type();
        Ok((types.keys.to_string(), types.values.to_string()))
    }

    pub(crate) fn duplicates(&self) -> PyResult<bool> {
        Ok(either!(&*self.commit()?.any, index => index.layout()).duplicates)
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Option<Object<'py>>> {
        let commit = self.commit()?;
        let word = commit.word(key)?;
        let found = py.detach(|| of_reader!(&commit.reader, reader => reader.get(AnyIndex::raw(word)))).or_raise()?;
        found.map(|payload| commit.value(py, &payload)).transpose()
    }

    pub(crate) fn get_all<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Vec<Object<'py>>> {
        let commit = self.commit()?;
        let word = commit.word(key)?;
        let found =
            py.detach(|| of_reader!(&commit.reader, reader => reader.get_all(AnyIndex::raw(word)))).or_raise()?;
        found.iter().map(|payload| commit.value(py, payload)).collect()
    }

    pub(crate) fn contains(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<bool> {
        let commit = self.commit()?;
        let word = commit.word(key)?;
        py.detach(|| of_reader!(&commit.reader, reader => reader.contains_key(AnyIndex::raw(word)))).or_raise()
    }

    pub(crate) fn len(&self, py: Python<'_>) -> PyResult<usize> {
        let commit = self.commit()?;
        let entries = py.detach(|| of_reader!(&commit.reader, reader => reader.len())).or_raise()?;
        usize::try_from(entries).map_err(|error| errors::new("OgiveError", &error.to_string()))
    }

    pub(crate) fn multi_get(&self, py: Python<'_>, keys: &Object<'_>) -> PyResult<RowBatch> {
        let commit = self.commit()?;
        let types = commit.any.record_type();
        let keys = Keys::of(py, types.keys, keys)?;
        rows::found(py, types, &keys, |keys| {
            let words = keys.into_iter().map(AnyIndex::word_of);
            let found =
                of_reader!(&commit.reader, reader => reader.multi_get(&words.map(AnyIndex::raw).collect::<Vec<_>>()))?;
            found.into_iter().map(|payload| payload.map(|payload| commit.decoded(&payload)).transpose()).collect()
        })
    }

    /// The records of a range.
    fn records(&self, range: &KeyRange<'_>, reverse: bool) -> PyResult<(Entries, RecordType)> {
        let commit = self.commit()?;
        let types = commit.any.record_type().clone();
        let (from, to) = range.bounds(types.keys)?;
        let word = |bound| commit.any.word_of_bound(bound);
        let bounds = Some((from.map(word), to.map(word)));
        let ahead = Vec::new().into_iter();
        Ok((Entries { view: self.clone(), bounds, reverse, at_once: ENTRIES_AT_FIRST, ahead }, types))
    }

    pub(crate) fn range(&self, range: &KeyRange<'_>, reverse: bool, part: Part) -> PyResult<RecordIterator> {
        let (records, types) = self.records(range, reverse)?;
        Ok(RecordIterator::new(Some(Box::new(records)), Arc::new(types), part))
    }

    pub(crate) fn scan(&self, range: &KeyRange<'_>) -> PyResult<RowReader> {
        let (records, types) = self.records(range, false)?;
        Ok(Batches::reader(&types, records))
    }
}

impl Commit {
    fn word(&self, key: &Object<'_>) -> PyResult<u128> {
        Ok(AnyIndex::word_of(&encode_key(self.any.key_type(), key)?))
    }

    fn decoded(&self, payload: &[u8]) -> ogive::Result<Vec<u8>> {
        self.any.decode_value(payload).map(Cow::into_owned)
    }

    fn value<'py>(&self, py: Python<'py>, payload: &[u8]) -> PyResult<Object<'py>> {
        decode_value(py, &self.any.record_type().values, &self.any.decode_value(payload).or_raise()?)
    }
}

/// The entries of a range, read some at a time: ranges of the engine stay on one thread.
struct Entries {
    view: View,
    /// The words that are left; `None` at the end.
    bounds: Option<(Bound<u128>, Bound<u128>)>,
    reverse: bool,
    at_once: usize,
    ahead: std::vec::IntoIter<Record>,
}

impl Entries {
    /// Reads the next entries: all of a key, if it has several.
    fn fill(&mut self) -> ogive::Result<()> {
        let Some((from, to)) = self.bounds.take() else { return Ok(()) };
        let commit = self.view.commit().map_err(|closed| errors::carried("index", closed))?;
        let key_type = commit.any.key_type();
        let mut found: Vec<Record> = Vec::new();
        let mut last = None;
        of_reader!(&commit.reader, reader => {
            let mut entries = reader.range((from.map(AnyIndex::raw), to.map(AnyIndex::raw)));
            while let Some(entry) = if self.reverse { entries.next_back() } else { entries.next() } {
                let (RawKey(word), payload) = entry?;
                let word = word.to_u128();
                if let Some(last) = last
                    && found.len() >= self.at_once
                    && last != word
                {
                    let rest = Bound::Excluded(last);
                    self.bounds = Some(if self.reverse { (from, rest) } else { (rest, to) });
                    break;
                }
                last = Some(word);
                found.push((AnyIndex::key_bytes(key_type, word), commit.decoded(&payload)?));
            }
        });
        self.ahead = found.into_iter();
        self.at_once = (self.at_once * 2).min(ENTRIES_AT_ONCE);
        Ok(())
    }
}

impl Iterator for Entries {
    type Item = ogive::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ahead.len() == 0
            && let Err(error) = self.fill()
        {
            return Some(Err(error));
        }
        self.ahead.next().map(Ok)
    }
}
