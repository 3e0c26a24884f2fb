//! Inputs of joins: tables, indexes and stores, which have keys of their own, and rows with columns.

use crate::arrow::input as arrow_in;
use crate::arrow::input::BatchReader;
use crate::build::ParquetReading;
use crate::csv::{self, CsvFile};
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::index::Index;
use crate::keyspace::Keyspace;
use crate::snapshot::Snapshot;
use crate::table::{Table, open_options};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use ogive::io::{locate, locate_folder, remote_url};
use ogive::join::{JoinRecords, JoinSource, RecordShape};
use ogive::lsm::has_store;
use ogive::table::Record;
use ogive::{Cause, Db, DbOptions, DbSnapshot, Error};
use ogive_arrow::{RecordEncoder, longest_record_bytes};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows whose records are in memory at a time.
const ROWS_AT_ONCE: usize = 4 << 10;
/// Bytes of a record of a file, for the plan: only their order of magnitude matters.
const RECORD_BYTES: u64 = 32;

type BatchIterator = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Rows with columns, which are read as often as a join needs.
struct Frame {
    name: String,
    schema: SchemaRef,
    on: Vec<String>,
    /// Whether it is a file of text.
    is_text: bool,
    /// Finds whether there are nulls in its keys.
    has_null_keys: Arc<dyn Fn() -> PyResult<bool> + Send + Sync>,
    rows: u64,
    bytes: u64,
    /// The length of the longest record, if it is known.
    longest_bytes: Option<u64>,
    open: Arc<dyn Fn() -> PyResult<BatchIterator> + Send + Sync>,
}

enum Side {
    Source(JoinSource),
    Frame(Frame),
}

/// An input of a join. See `ogive.join`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct JoinInput {
    side: Native<Side>,
}

impl JoinInput {
    fn of(source: JoinSource) -> Self {
        Self { side: Native::new(Side::Source(source)) }
    }
}

/// Both inputs of a join of this kind, which compares keys of different types.
pub(crate) fn sources(inputs: [&JoinInput; 2], how: &str) -> PyResult<[JoinSource; 2]> {
    let keeps_rows = [matches!(how, "left" | "full" | "anti"), matches!(how, "right" | "full")];
    let source = |side: usize| match inputs[side].side.get()? {
        Side::Source(source) => Ok(source.clone()),
        Side::Frame(frame) => frame.source(keeps_rows[side]),
    };
    Ok([source(0)?, source(1)?])
}

/// Whether a column of this name has a null in a row of these batches.
fn has_nulls(batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>, names: &[String]) -> PyResult<bool> {
    for batch in batches {
        let batch = batch.map_err(crate::arrow::errors::arrow_error)?;
        let columns = names.iter().filter_map(|name| batch.column_by_name(name));
        if columns.map(|column| column.logical_null_count()).any(|nulls| nulls > 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Frame {
    /// The rows as records. Those with nulls in their keys match nothing; a join that keeps rows without partner keeps
    /// them as well.
    fn source(&self, keeps_rows: bool) -> PyResult<JoinSource> {
        let rows = RecordEncoder::new(&self.schema, &self.on, None).map_err(errors::of_record)?;
        let null_rows = rows.clone();
        let rows = rows.without_null_keys();
        let types = rows.types().clone();
        let shape = RecordShape {
            name: self.name.clone(),
            key_type: types.keys,
            value_bytes: if types.values.is_bytes() { Some(0) } else { types.values.width() },
            rows: self.rows,
            bytes: self.bytes,
        };
        let mut source = JoinSource::unsorted(shape, self.records(rows)).with_types(types);
        if keeps_rows && (self.has_null_keys)()? {
            let null_rows = null_rows.only_null_keys().map_err(errors::of_record)?;
            source = source.with_null_records(self.records(null_rows)).or_raise()?;
        }
        if self.is_text {
            source = source.written_as_text();
        }
        Ok(match self.longest_bytes {
            Some(bytes) => source.with_longest_record(bytes),
            None => source,
        })
    }

    /// Opens the records that are made of the rows.
    fn records(&self, rows: RecordEncoder) -> impl Fn() -> JoinRecords + Send + Sync + 'static {
        let (name, open, rows) = (self.name.clone(), self.open.clone(), Arc::new(rows));
        move || -> JoinRecords {
            match open() {
                Ok(batches) => Box::new(FrameRecords {
                    name: name.clone(),
                    batches,
                    rows: rows.clone(),
                    batch: None,
                    done: 0,
                    ahead: Vec::new(),
                }),
                Err(error) => Box::new(std::iter::once(Err(errors::carried(&name, error)))),
            }
        }
    }
}

/// The records of rows.
struct FrameRecords {
    name: String,
    batches: BatchIterator,
    rows: Arc<RecordEncoder>,
    /// The batch, and how many of its rows were taken.
    batch: Option<(RecordBatch, usize)>,
    /// The rows that were taken of all batches.
    done: usize,
    /// Records in reverse order.
    ahead: Vec<Record>,
}

impl FrameRecords {
    fn fill(&mut self) -> PyResult<bool> {
        while self.ahead.is_empty() {
            let (batch, taken) = match self.batch.take() {
                Some(batch) => batch,
                None => match self.batches.next().transpose().map_err(crate::arrow::errors::arrow_error)? {
                    Some(batch) => (batch, 0),
                    None => return Ok(false),
                },
            };
            let count = ROWS_AT_ONCE.min(batch.num_rows() - taken);
            let ahead = &mut self.ahead;
            let pushed = self.rows.visit(&batch.slice(taken, count), |key, value| {
                ahead.push((key.to_vec(), value.to_vec()));
                Ok(())
            });
            let before = self.done;
            pushed.map_err(|error| errors::of_record(error.after(before)))?;
            self.done += count;
            ahead.reverse();
            if taken + count < batch.num_rows() {
                self.batch = Some((batch, taken + count));
            }
        }
        Ok(true)
    }
}

impl Iterator for FrameRecords {
    type Item = ogive::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.fill() {
            Ok(true) => self.ahead.pop().map(Ok),
            Ok(false) => None,
            Err(error) => Some(Err(errors::carried(&self.name, error))),
        }
    }
}

/// The records of a snapshot.
pub(crate) fn of_snapshot(snapshot: &DbSnapshot, keyspace: &ogive::Keyspace) -> JoinSource {
    JoinSource::snapshot::<Vec<u8>>(snapshot, keyspace, ..)
}

fn of_path(path: &PathBuf, memory: u64, profile: Option<&str>) -> PyResult<JoinSource> {
    let is_store = match remote_url(path) {
        Some(_) => locate_folder(path).and_then(|storage| has_store(&*storage)).or_raise()?,
        None => path.is_dir(),
    };
    if is_store {
        let options = DbOptions::default().memory_bytes(memory.max(1 << 20)).create(false);
        let db = Db::open_read_only(path, &options).or_raise()?;
        return Ok(of_snapshot(&db.snapshot(), &db.keyspace("default").or_raise()?));
    }
    let place = locate(path).or_raise()?;
    let options = open_options(&place, Some(memory), profile).or_raise()?;
    match ogive::Table::open((place.storage, &place.name), &options) {
        Ok(table) if ogive_parquet::ParquetIndex::is_one(&table) => {
            let message = format!("{} is an index beside Parquet files; join the Parquet file", path.display());
            Err(errors::of_file("WrongFile", &message, path))
        }
        Ok(table) => Ok(JoinSource::table(&table)),
        Err(Error { cause: Cause::NotATable, .. }) => Index::source_of_path(path, memory).or_raise(),
        Err(error) => Err(errors::of(error)),
    }
}

#[pymethods]
impl JoinInput {
    #[staticmethod]
    fn of_table(table: &Table) -> PyResult<Self> {
        Ok(Self::of(JoinSource::table(&*table.table()?)))
    }

    #[staticmethod]
    fn of_keyspace(py: Python<'_>, keyspace: &Keyspace) -> PyResult<Self> {
        let (current, typed) = keyspace.current()?;
        let keyspace = typed.keyspace()?;
        Ok(Self::of(py.detach(|| of_snapshot(&current.db.snapshot(), keyspace))))
    }

    #[staticmethod]
    fn of_snapshot(snapshot: &Snapshot, keyspace: &Keyspace) -> PyResult<Self> {
        snapshot.source(keyspace).map(Self::of)
    }

    #[staticmethod]
    fn of_index(py: Python<'_>, index: &Index) -> PyResult<Self> {
        index.source(py).map(Self::of)
    }

    /// The names of the key, if it has any, and those of the fields of the value; none of rows with columns.
    #[getter]
    fn names(&self) -> PyResult<(Vec<String>, Vec<String>)> {
        let Side::Source(source) = self.side.get()? else { return Ok((Vec::new(), Vec::new())) };
        let types = source.record_type();
        let keys = types.key_columns.iter().map(|column| column.name.clone());
        Ok((keys.collect(), types.values.fields().iter().map(|field| field.name.clone()).collect()))
    }

    /// A table, an index, or a store.
    #[staticmethod]
    fn of_path(py: Python<'_>, path: PathBuf, memory: u64, profile: Option<&str>) -> PyResult<Self> {
        py.detach(|| of_path(&path, memory, profile)).map(Self::of)
    }

    /// A Parquet file, or a CSV file with a header.
    #[staticmethod]
    fn of_file(py: Python<'_>, path: PathBuf, on: Vec<String>, reading: ParquetReading) -> PyResult<Self> {
        let name = path.display().to_string();
        let is_csv = path.extension().is_some_and(|extension| extension == "csv");
        if !is_csv {
            reading.check_log(py, &path)?;
        }
        let csv = match is_csv {
            true => Some(Arc::new(py.detach(|| CsvFile::open(&path, &on, true))?)),
            false => None,
        };
        csv.iter().try_for_each(|file| file.warn(py))?;
        let (key, file, place, how) = (on.clone(), csv.clone(), path.clone(), reading.clone());
        let has_null_keys = move || match &file {
            Some(file) => Ok(file.has_nulls(&key)),
            None => has_nulls(how.rows(&place, Some(key.clone()))?.0, &key),
        };
        let is_text = csv.is_some();
        let open = move || -> PyResult<(BatchReader, u64)> {
            match &csv {
                Some(file) => Ok((file.rows()?, ROWS_AT_ONCE as u64)),
                None => reading.rows(&path, None),
            }
        };
        let of = py.detach(|| {
            let (reader, rows) = open()?;
            Ok::<_, PyErr>((reader.schema(), rows))
        });
        let (schema, rows) = of?;
        Ok(Self {
            side: Native::new(Side::Frame(Frame {
                name,
                schema,
                on,
                is_text,
                has_null_keys: Arc::new(has_null_keys),
                rows,
                bytes: rows * RECORD_BYTES,
                longest_bytes: None,
                open: Arc::new(move || Ok(Box::new(open()?.0))),
            })),
        })
    }

    /// The names of the columns of such a file.
    #[staticmethod]
    fn columns_of_file(py: Python<'_>, path: PathBuf, reading: ParquetReading) -> PyResult<Vec<String>> {
        if path.extension().is_some_and(|extension| extension == "csv") {
            return py.detach(|| csv::column_names(&path));
        }
        let schema = py.detach(|| reading.rows(&path, None).map(|(rows, _)| rows.schema()))?;
        Ok(schema.fields().iter().map(|field| field.name().clone()).collect())
    }

    /// Rows that are in memory.
    #[staticmethod]
    fn of_frame(stream: &Bound<'_, PyAny>, on: Vec<String>, name: String) -> PyResult<Self> {
        let reader = arrow_in::rows(stream)?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<RecordBatch>, _>>().map_err(crate::arrow::errors::arrow_error)?;
        let sum = |of: fn(&RecordBatch) -> usize| batches.iter().map(|batch| of(batch) as u64).sum::<u64>();
        let (rows, bytes) = (sum(RecordBatch::num_rows), sum(RecordBatch::get_array_memory_size));
        let longest_bytes = Some(longest_record_bytes(&batches));
        let (key, looked_at) = (on.clone(), batches.clone());
        let has_null_keys = move || has_nulls(looked_at.iter().cloned().map(Ok), &key);
        let open = move || -> PyResult<BatchIterator> { Ok(Box::new(batches.clone().into_iter().map(Ok))) };
        Ok(Self {
            side: Native::new(Side::Frame(Frame {
                name,
                schema,
                on,
                is_text: false,
                has_null_keys: Arc::new(has_null_keys),
                rows,
                bytes,
                longest_bytes,
                open: Arc::new(open),
            })),
        })
    }
}
