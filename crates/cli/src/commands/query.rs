//! Tables as the commands read them: file, ranges, and the open table as an ordered map.

use super::ordered_map::{OrderedMap, RangeOptions, Report, Window};
use crate::export::RecordVisitor;
use crate::failure::{Failure, Result};
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::reading::bounds::Bounds;
use crate::reading::reads;
use crate::urls::{self, is_url};
use crate::values::key;
use crate::values::records::RecordFields;
use crate::values::size::ByteSize;
use ogive::io::{LenientStorage, Storage};
use ogive::table::{ReadTrace, Table, TableOptions, Traced};
use ogive::types::{RecordType, ValueType};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Read;
#[cfg(feature = "parquet")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// The file of a table, and how to read it.
#[derive(Clone, Debug)]
pub(crate) struct TableFile {
    path: PathBuf,
    /// Upper limit of memory, caches included.
    memory: ByteSize,
    /// Whether reads bypass the page cache.
    direct: bool,
}

/// A range of keys of a table, whose ends may also be given without their options, as they once were.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TableRangeOptions {
    #[command(flatten)]
    range: RangeOptions,

    #[arg(hide = true, allow_negative_numbers = true, conflicts_with_all = ["from", "to", "prefix"])]
    first: Option<OsString>,

    #[arg(hide = true, allow_negative_numbers = true)]
    end: Option<OsString>,
}

/// An open table with the trace of its reads so far.
#[derive(Debug)]
pub(crate) struct OpenTable {
    pub(crate) table: Table,
    /// The columns of its records.
    fields: RecordFields,
    trace: RefCell<ReadTrace>,
    /// Whether the trace is printed.
    explain: bool,
    /// Whether reads bypass the page cache, if requested.
    cold: Option<bool>,
}

impl fmt::Display for TableFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(formatter)
    }
}

impl TableFile {
    /// The table at a path or URL.
    pub(crate) fn at(path: PathBuf, memory: ByteSize, direct: bool) -> Self {
        Self { path, memory, direct }
    }

    /// The file of the table.
    #[cfg(feature = "parquet")]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The upper limit of memory, in bytes.
    #[cfg(feature = "parquet")]
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory.0
    }

    /// Opens the table; its reads are printed with `explain`.
    ///
    /// # Errors
    /// [`Failure::Refused`] if it holds an index of Parquet files; errors of the engine.
    pub(crate) fn open(&self, explain: bool) -> Result<OpenTable> {
        self.plain(self.open_any(explain)?)
    }

    /// The open table, unless it holds an index of Parquet files.
    ///
    /// # Errors
    /// [`Failure::Refused`].
    pub(crate) fn plain(&self, open: OpenTable) -> Result<OpenTable> {
        if !open.is_beside() {
            return Ok(open);
        }
        let message = format!("{self} is an index of Parquet files");
        Err(Failure::refused(
            message,
            match cfg!(feature = "parquet") {
                true => "its rows are in those files",
                false => "use an ogive that was built with `--features parquet`",
            },
        ))
    }

    /// Opens the table, even if it holds an index of Parquet files.
    pub(crate) fn open_any(&self, explain: bool) -> Result<OpenTable> {
        self.open_at(urls::place(&self.path, self.direct)?, explain)
    }

    /// As [`Self::open_any`], to verify it: parts that the device cannot read are findings.
    pub(crate) fn open_leniently(&self) -> Result<OpenTable> {
        let (storage, name) = urls::place(&self.path, self.direct)?;
        if !is_url(&self.path) {
            // What is no file is told as such.
            storage.open(&name)?;
        }
        let storage = LenientStorage::around(&storage);
        let opened = self.open_at((Arc::clone(&storage), name), false);
        opened.map_err(|failure| storage.unreadable().first().map_or(failure, |part| part.to_error().into()))
    }

    fn open_at(&self, (storage, name): (Arc<dyn Storage>, String), explain: bool) -> Result<OpenTable> {
        let options = TableOptions::default().memory_bytes(self.memory.0).profile(urls::profile_of(&self.path)?);
        let table = Table::open((storage, &name), &options).map_err(|error| Failure::of_opening(&self.path, error))?;
        let cold = (self.direct && !is_url(&self.path)).then(|| table.is_direct());
        if cold == Some(false) {
            note(format_args!(
                "warning: the file system of {self} does not support direct reads; using the page cache"
            ));
        }
        let trace = RefCell::new(ReadTrace { reads: vec![table.opening()] });
        let fields = RecordFields::new(table.record_type());
        Ok(OpenTable { table, fields, trace, explain, cold })
    }
}

impl TableRangeOptions {
    /// The range, however it was given.
    pub(crate) fn range(&self) -> RangeOptions {
        match &self.first {
            None => self.range.clone(),
            Some(first) => RangeOptions { from: Some(first.clone()), to: self.end.clone(), prefix: None },
        }
    }
}

impl OpenTable {
    /// Whether it holds an index of Parquet files.
    pub(crate) fn is_beside(&self) -> bool {
        crate::places::is_beside(&self.table)
    }

    /// Calls `work` with the table, and traces its reads.
    pub(crate) fn traced<T>(&self, work: impl FnOnce(Traced<'_>) -> ogive::Result<T>) -> Result<T> {
        let mut trace = self.trace.borrow_mut();
        let done = work(self.table.traced(&mut trace))?;
        if !self.explain {
            // Else it would grow with the number of keys.
            trace.reads.clear();
        }
        Ok(done)
    }
}

impl OrderedMap for OpenTable {
    type Location = TableFile;
    type Key = Vec<u8>;
    type Value = Vec<u8>;

    const WHAT: &'static str = "the table";

    fn parse_key(&self, written: &OsStr) -> Result<Vec<u8>> {
        key::from_argument(self.table.key_type(), written)
    }

    fn parse_prefix(&self, written: &OsStr) -> Result<Bounds<Vec<u8>>> {
        key::prefix_range(self.table.key_type(), written)
    }

    fn shown_key<'a>(&self, key: &'a Vec<u8>) -> Cow<'a, str> {
        key::shown(self.table.key_type(), key)
    }

    fn key_to_json(&self, key: &Vec<u8>) -> Value {
        key::to_json(self.table.key_type(), key)
    }

    fn value_type(&self) -> &ValueType {
        self.table.value_type()
    }

    fn record_to_json(&self, key: &Vec<u8>, value: Option<&[u8]>) -> String {
        self.fields.json(key, value)
    }

    fn get(&self, key: &Vec<u8>, all: bool) -> Result<Vec<Vec<u8>>> {
        self.traced(|mut table| match all {
            true => table.get_all(key),
            false => Ok(table.get(key)?.into_iter().collect()),
        })
    }

    fn get_some(&self, keys: &[Vec<u8>], all: bool, room_bytes: u64) -> Result<Vec<Vec<Vec<u8>>>> {
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        self.traced(|mut table| table.multi_get_within(&keys, all, room_bytes))
    }

    fn repeats(&self, key: &Vec<u8>) -> Result<u64> {
        if self.table.is_distinct() {
            return Ok(1);
        }
        Ok(self.table.count(&key[..]..=&key[..])?)
    }

    fn remark(&self, values: &[Vec<u8>]) -> Option<&'static str> {
        values.iter().all(|value| self.shown_value(value).is_empty()).then_some("found; the value is empty")
    }

    fn value_reader<'a>(&'a self, key: &Vec<u8>) -> Result<Option<Box<dyn Read + 'a>>> {
        Ok(self.table.value_reader(key)?.map(|reader| Box::new(reader) as Box<dyn Read>))
    }

    fn total(&self) -> Result<u64> {
        Ok(self.table.len())
    }

    fn rank(&self, key: &Vec<u8>) -> Result<u64> {
        self.traced(|mut table| table.rank(key))
    }

    fn nth(&self, position: u64) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.traced(|mut table| table.nth(position))
    }

    fn record_type(&self) -> RecordType {
        self.table.record_type().clone()
    }

    fn expected(&self) -> Option<u64> {
        Some(self.table.len())
    }

    fn export(&self, range: Bounds<Vec<u8>>, visit: &mut RecordVisitor<'_>) -> Result<()> {
        for record in self.table.range(range) {
            let (key, value) = record?;
            visit(&key, &value)?;
        }
        Ok(())
    }

    fn scan(&self, range: Bounds<Vec<u8>>, window: Window, output: &mut Output) -> Result<()> {
        let mut records = self.table.range(range).traced();
        window.visit(&mut records, |(key, value)| self.print_entry(&key, window.value(&value), output))?;
        self.trace.borrow_mut().reads.extend(records.trace().into_iter().flat_map(|trace| &trace.reads));
        Ok(())
    }

    fn count(&self, range: Bounds<Vec<u8>>) -> Result<u64> {
        self.traced(|mut table| table.count(range))
    }

    fn add_trace(&self, object: &mut Value) {
        if self.explain {
            object["reads"] = reads::to_json(&self.trace.borrow().reads);
        }
        if let Some(cold) = self.cold {
            object["cold"] = cold.into();
        }
    }

    fn print_trace(&self, output: &mut Output) -> Result<()> {
        let reads = &self.trace.borrow().reads;
        match (self.explain, output.is_json()) {
            (false, _) => Ok(()),
            (true, true) => output.json(&json!({ "reads": reads::to_json(reads) })),
            (true, false) => reads::lines(reads).into_iter().try_for_each(|line| output.line(line)),
        }
    }

    fn stats(place: &TableFile) -> Result<impl Report> {
        Ok(place.open(false)?.table.explain())
    }

    fn verify(place: &TableFile) -> Result<impl Report> {
        let table = place.plain(place.open_leniently()?)?.table;
        Ok(Progress::during("verifying", Unit::Bytes, |progress| table.verify(progress))?)
    }
}
