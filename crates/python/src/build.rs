//! Tables from what Python has: Arrow streams, files, and pairs of keys and values.

use crate::arrow::errors::arrow_error;
use crate::arrow::input as arrow_in;
use crate::arrow::input::BatchReader;
use crate::convert::{encode_key, encode_value, iterated, pair_of};
use crate::csv::CsvFile;
use crate::errors::{self, OrRaise};
use crate::object::Object;
use crate::types;
use crate::wait::{Task, interruptible_as};
use arrow_array::RecordBatchIterator;
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use ogive::io::{LocalStorage, Profile, StoppableStorage, Storage, locate};
use ogive::table::dense_value_width;
use ogive::types::{KeyType, RecordType, ValueType};
use ogive::{DesignRequest, SortingWriter, TableWriteOptions};
use ogive_arrow::RecordEncoder;
use ogive_parquet::{ParquetRows, RowsOptions, check_table_log};
use pyo3::prelude::*;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Memory of the sort, unless it is stated.
const SORT_MEMORY_BYTES: u64 = 256 << 20;
/// Records between two looks for signals.
const RECORDS_BETWEEN_SIGNALS: usize = 8 << 10;

/// Records, and their bytes, that are written at a time: giving up the interpreter's lock costs as much as a record.
const RECORDS_AHEAD: usize = 256;
const BYTES_AHEAD: usize = 256 << 10;

/// How a table is written.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Target {
    path: PathBuf,
    profile: Option<String>,
    design: Option<String>,
    block_bytes: Option<u64>,
    filter_bits: Option<i64>,
    memory: Option<u64>,
    replace: bool,
}

impl Target {
    fn writer(&self, types: RecordType, task: &Task) -> ogive::Result<SortingWriter> {
        let place = locate(&self.path)?;
        let profile = match (&self.profile, place.storage.profile()) {
            (Some(name), _) => Profile::by_name_or_file(name)?,
            (None, Some(profile)) => profile.clone(),
            (None, None) => Profile::default(),
        };
        let block_bytes = small(self.block_bytes, "block_size=")?;
        let filter_bits = small(self.filter_bits, "filter_bits=")?;
        let options = TableWriteOptions::default()
            .value_width(types.values.width().and_then(|width| dense_value_width(types.keys, width)))
            .record_type(types)
            .design(self.design.as_deref().map_or(Ok(DesignRequest::Tuned), str::parse)?)
            .profile(profile)
            .block_bytes(block_bytes)
            .filter_bits_per_key(filter_bits)
            .replace(self.replace);
        let scratch: Arc<dyn Storage> = match place.storage.is_object_store() {
            true => Arc::new(LocalStorage::new(std::env::temp_dir())),
            false => place.storage.clone(),
        };
        let watched = |storage: Arc<dyn Storage>| StoppableStorage::new(storage, task.stop.clone());
        let memory = self.memory.unwrap_or(SORT_MEMORY_BYTES);
        SortingWriter::create_with_scratch((watched(place.storage), &place.name), options, memory, watched(scratch))
    }
}

fn small<N: Copy + Display + TryInto<u32>>(number: Option<N>, name: &str) -> ogive::Result<Option<u32>> {
    let out_of_range = |number| ogive::Error::input(format!("{name}{number} is out of range"));
    number.map(|number| number.try_into().map_err(|_| out_of_range(number))).transpose()
}

/// A table of the rows of a stream.
fn build(
    py: Python<'_>,
    reader: BatchReader,
    key: &[String],
    columns: Option<&[String]>,
    target: &Target,
    rows_expected: u64,
    progress: Option<&Object<'_>>,
) -> PyResult<()> {
    let rows = RecordEncoder::new(&reader.schema(), key, columns).map_err(errors::of_record)?;
    build_rows(py, reader, &rows, target, rows_expected, progress)
}

/// A table of the records of the rows of a stream.
fn build_rows(
    py: Python<'_>,
    reader: BatchReader,
    rows: &RecordEncoder,
    target: &Target,
    rows_expected: u64,
    progress: Option<&Object<'_>>,
) -> PyResult<()> {
    interruptible_as(py, Task::default(), progress, |task| {
        let mut writer = target.writer(rows.types().clone(), task).or_raise()?;
        for batch in reader {
            task.check().or_raise()?;
            let before = usize::try_from(writer.len()).unwrap_or(usize::MAX);
            let appended = rows.visit(&batch.map_err(arrow_error)?, |key, value| writer.append(key, value));
            appended.map_err(|error| errors::of_record(error.after(before)))?;
            task.report(writer.len(), rows_expected.max(writer.len()));
        }
        finish(writer, task)
    })
}

fn finish(writer: SortingWriter, task: &Task) -> PyResult<()> {
    let records = writer.len();
    let written = writer.finish_observed(&mut |done, total| {
        if total > 0 {
            task.report((records as f64 * (done as f64 / total as f64)) as u64, records);
        }
    });
    written.map(drop).or_raise()
}

/// Builds a table from an Arrow stream.
#[pyfunction]
#[pyo3(signature = (stream, key, columns, target, rows_expected=0, progress=None))]
pub(crate) fn build_stream(
    py: Python<'_>,
    stream: &Object<'_>,
    key: Vec<String>,
    columns: Option<Vec<String>>,
    target: Target,
    rows_expected: u64,
    progress: Option<&Object<'_>>,
) -> PyResult<()> {
    build(py, arrow_in::rows(stream)?, &key, columns.as_deref(), &target, rows_expected, progress)
}

/// How a Parquet file is read.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ParquetReading {
    ignore_table_log: bool,
    nanoseconds: Vec<String>,
}

impl ParquetReading {
    /// Refuses a file of a lake table whose log says that it does not show the rows of the table, or warns of it.
    pub(crate) fn check_log(&self, py: Python<'_>, path: &Path) -> PyResult<()> {
        let warnings = py.detach(|| check_table_log(path, self.ignore_table_log)).map_err(errors::of_parquet)?;
        warnings.iter().try_for_each(|warning| errors::warn(py, warning))
    }

    /// The rows of a file, with all columns if none are chosen, and how many rows there are.
    pub(crate) fn rows(&self, path: &Path, columns: Option<Vec<String>>) -> PyResult<(BatchReader, u64)> {
        let options = RowsOptions::default().nanoseconds(self.nanoseconds.clone());
        let options = match columns {
            Some(columns) => options.columns(columns),
            None => options,
        };
        let rows = ParquetRows::open_with(path, &options).map_err(errors::of_parquet)?;
        let (schema, count) = (rows.schema(), rows.len());
        for name in &self.nanoseconds {
            let of = schema.field_with_name(name).ok().map(Field::data_type);
            if let Some(of) = of.filter(|of| !matches!(of, DataType::Timestamp(TimeUnit::Nanosecond, _))) {
                let message = format!(
                    "column '{name}' of {} is of type {of}, and only timestamps of the type INT96 are read in \
                     nanoseconds; leave it out of nanoseconds=",
                    path.display()
                );
                return Err(errors::new("InvalidArgument", &message));
            }
        }
        let batches = rows.map(|batch| batch.map_err(|error| ArrowError::ExternalError(Box::new(error))));
        Ok((Box::new(RecordBatchIterator::new(batches, schema)), count))
    }
}

/// Builds a table from a Parquet file.
#[pyfunction]
#[pyo3(signature = (path, key, columns, target, reading, progress=None))]
pub(crate) fn build_parquet(
    py: Python<'_>,
    path: PathBuf,
    key: Vec<String>,
    columns: Option<Vec<String>>,
    target: Target,
    reading: ParquetReading,
    progress: Option<&Object<'_>>,
) -> PyResult<()> {
    // Of all columns, only these are read.
    let chosen = columns.as_ref().map(|columns| {
        let others = columns.iter().filter(|column| !key.contains(column));
        key.iter().chain(others).cloned().collect()
    });
    reading.check_log(py, &path)?;
    let (reader, rows) = py.detach(|| reading.rows(&path, chosen))?;
    build(py, reader, &key, columns.as_deref(), &target, rows, progress)
}

/// Builds a table from a CSV file with a header.
#[pyfunction]
#[pyo3(signature = (path, key, columns, target, progress=None))]
pub(crate) fn build_csv(
    py: Python<'_>,
    path: PathBuf,
    key: Vec<String>,
    columns: Option<Vec<String>>,
    target: Target,
    progress: Option<&Object<'_>>,
) -> PyResult<()> {
    let file = CsvFile::open(&path, &key, false)?;
    file.warn(py)?;
    let rows = RecordEncoder::new(&file.schema, &key, columns.as_deref()).map_err(errors::of_record)?;
    let keys = file.key_type(&key)?.unwrap_or(rows.types().keys);
    build_rows(py, file.rows()?, &rows.with_key_type(keys), &target, 0, progress)
}

/// Builds a table from an iterable of pairs of keys and values, or of keys.
///
/// The types are those stated, else those of the first pair.
#[pyfunction]
#[pyo3(signature = (pairs, key, value, target, has_values=true, progress=None))]
pub(crate) fn build_pairs(
    py: Python<'_>,
    pairs: &Object<'_>,
    key: Option<&Object<'_>>,
    value: Option<&Object<'_>>,
    target: Target,
    has_values: bool,
    progress: Option<&Object<'_>>,
) -> PyResult<()> {
    let task = Task::default();
    let mut writer = PairWriter { target: &target, task: &task, open: None, ahead: Vec::new(), ahead_bytes: 0 };
    let appended = (|| {
        for (number, pair) in iterated(pairs)?.enumerate() {
            let pair = pair?;
            let (this_key, this_value) = match has_values {
                true => {
                    let (key, value) = pair_of(&pair)?;
                    (key, Some(value))
                }
                false => (pair, None),
            };
            if writer.open.is_none() {
                writer.create(py, first_types(key, value, Some((&this_key, this_value.as_ref())))?)?;
            }
            let appended = writer.append(py, &this_key, this_value.as_ref());
            appended.map_err(|error| errors::in_row(py, error, number))?;
            if number % RECORDS_BETWEEN_SIGNALS == 0 {
                py.check_signals()?;
                if let Some(progress) = progress {
                    progress.call1((number as u64, 0_u64))?;
                }
            }
        }
        match writer.open {
            Some(_) => writer.flush(py),
            None => writer.create(py, first_types(key, value, None)?),
        }
    })();
    let open = writer.open;
    if let Err(error) = appended {
        // It removes what it has written.
        py.detach(|| drop(open));
        return Err(error);
    }
    let Some((writer, _)) = open else { return Ok(()) };
    interruptible_as(py, task, progress, |task| finish(writer, task))
}

/// A table of pairs: they are encoded with the interpreter's lock, and written without it, many at a time.
struct PairWriter<'a> {
    target: &'a Target,
    task: &'a Task,
    open: Option<(SortingWriter, RecordType)>,
    ahead: Vec<(Vec<u8>, Vec<u8>)>,
    ahead_bytes: usize,
}

impl PairWriter<'_> {
    fn create(&mut self, py: Python<'_>, types: RecordType) -> PyResult<()> {
        let target = self.target;
        let of_types = types.clone();
        let created = interruptible_as(py, self.task.clone(), None, |task| target.writer(of_types, task).or_raise())?;
        self.open = Some((created, types));
        Ok(())
    }

    fn append(&mut self, py: Python<'_>, key: &Object<'_>, value: Option<&Object<'_>>) -> PyResult<()> {
        let Some((_, types)) = &self.open else { return Ok(()) };
        let key = encode_key(types.keys, key)?;
        let value = value.map_or(Ok(Vec::new()), |value| encode_value(&types.values, value))?;
        self.ahead_bytes += key.len() + value.len();
        self.ahead.push((key, value));
        match self.ahead.len() >= RECORDS_AHEAD || self.ahead_bytes >= BYTES_AHEAD {
            true => self.flush(py),
            false => Ok(()),
        }
    }

    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some((writer, _)) = &mut self.open else { return Ok(()) };
        let mut ahead = self.ahead.drain(..);
        self.ahead_bytes = 0;
        py.detach(|| ahead.try_for_each(|(key, value)| writer.append(&key, &value))).or_raise()
    }
}

/// The types of pairs.
fn first_types(
    key: Option<&Object<'_>>,
    value: Option<&Object<'_>>,
    first: Option<(&Object<'_>, Option<&Object<'_>>)>,
) -> PyResult<RecordType> {
    let guessed = |object: &Object<'_>| types::type_of(object)?.ok_or_else(|| types::undecidable(object));
    let keys = match (key, first) {
        (Some(key), _) => types::key_type(key)?,
        (None, Some((key, _))) => guessed(key)?,
        (None, None) => KeyType::Bytes,
    };
    let values = match (value, first) {
        (Some(value), _) => types::value_type(value)?,
        (None, Some((_, Some(value)))) => ValueType::Scalar(guessed(value)?),
        (None, _) => ValueType::default(),
    };
    Ok(RecordType::new(keys, values))
}
