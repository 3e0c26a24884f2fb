//! Rows for Python: record batches in memory, and streams of them. Other libraries take them by the Arrow C interface;
//! without any, their values are Python objects.

use super::errors::arrow_error;
use crate::convert::object_of;
use crate::errors;
use crate::fork::Native;
use crate::wait::signal;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal256Type;
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchOptions, RecordBatchReader, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use ogive::types::KeyType;
use ogive_arrow::{key_type_of_field, unpacked, value_of};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use pyo3_arrow::PyRecordBatchReader;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows in memory. See `ogive.Rows`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct RowBatch {
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
}

/// A stream to the Arrow C interface.
fn capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
    requested_schema: Option<Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyAny>> {
    PyRecordBatchReader::new(reader).into_pyobject(py)?.call_method1("__arrow_c_stream__", (requested_schema,))
}

/// The schema, as the Arrow C interface has it.
fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyAny>> {
    let none = RecordBatchIterator::new([], schema.clone());
    PyRecordBatchReader::new(Box::new(none)).into_pyobject(py)?.call_method0("__arrow_c_schema__")
}

/// The columns of integers of 128 bits, and the names of their types.
fn long_integers(schema: &SchemaRef) -> Vec<(String, String)> {
    let of = |field: &FieldRef| match key_type_of_field(field)? {
        long @ (KeyType::U128 | KeyType::I128) => Some((field.name().clone(), long.to_string())),
        _ => None,
    };
    schema.fields().iter().filter_map(of).collect()
}

fn names(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

impl RowBatch {
    pub(crate) fn new(batches: Vec<RecordBatch>, schema: SchemaRef) -> Self {
        Self { batches, schema }
    }
}

#[pymethods]
impl RowBatch {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batches = self.batches.clone().into_iter().map(Ok);
        capsule(py, Box::new(RecordBatchIterator::new(batches, self.schema.clone())), requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        schema_capsule(py, &self.schema)
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(&self.schema)
    }

    /// The values of a column; `None` for columns of types that only Arrow libraries know.
    fn column<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Option<Bound<'py, PyList>>> {
        let field = self
            .schema
            .fields()
            .get(index)
            .ok_or_else(|| errors::new("InvalidArgument", &format!("there is no column {index}")))?;
        let Some(key_type) = key_type_of_field(field) else { return Ok(None) };
        let values = PyList::empty(py);
        for batch in &self.batches {
            let array = unpacked(batch.column(index).clone()).map_err(arrow_error)?;
            for row in 0..array.len() {
                values.append(object_of(py, key_type, &value_of(&array, key_type, row))?)?;
            }
        }
        Ok(Some(values))
    }

    /// The columns of integers of 128 bits, and the names of their types.
    #[getter]
    fn long_integers(&self) -> Vec<(String, String)> {
        long_integers(&self.schema)
    }

    /// The same rows, with integers of 128 bits as text: not every library has decimals of their length.
    fn with_text(&self) -> PyResult<Self> {
        let is_long = |field: &FieldRef| matches!(key_type_of_field(field), Some(KeyType::U128 | KeyType::I128));
        let field = |field: &FieldRef| match is_long(field) {
            true => Arc::new(Field::new(field.name(), DataType::Utf8, field.is_nullable())),
            false => field.clone(),
        };
        let schema: SchemaRef = Arc::new(Schema::new(self.schema.fields().iter().map(field).collect::<Vec<_>>()));
        let batch = |batch: &RecordBatch| {
            let columns = batch.columns().iter().zip(self.schema.fields());
            let columns = columns.map(|(array, field)| match array.as_primitive_opt::<Decimal256Type>() {
                Some(numbers) if is_long(field) => {
                    let texts = numbers.iter().map(|number| number.map(|number| number.to_string()));
                    Arc::new(texts.collect::<StringArray>()) as ArrayRef
                }
                _ => array.clone(),
            });
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(schema.clone(), columns.collect(), &options).map_err(arrow_error)
        };
        let batches = self.batches.iter().map(batch).collect::<PyResult<_>>()?;
        Ok(Self { batches, schema })
    }

    /// The first rows.
    fn head(&self, rows: usize) -> Self {
        let mut left = rows;
        let mut batches = Vec::new();
        for batch in &self.batches {
            let taken = left.min(batch.num_rows());
            left -= taken;
            if taken > 0 {
                batches.push(batch.slice(0, taken));
            }
        }
        Self { batches, schema: self.schema.clone() }
    }

    /// The rows after the first ones.
    fn tail(&self, rows: usize) -> Self {
        let mut left = rows;
        let mut batches = Vec::new();
        for batch in &self.batches {
            let skipped = left.min(batch.num_rows());
            left -= skipped;
            if skipped < batch.num_rows() {
                batches.push(batch.slice(skipped, batch.num_rows() - skipped));
            }
        }
        Self { batches, schema: self.schema.clone() }
    }
}

/// Rows that are read as they are used. See `ogive.RowStream`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct RowReader {
    reader: Native<Mutex<Stream>>,
    schema: SchemaRef,
    failure: Failure,
}

/// Rows, until another library takes them.
type Stream = Option<Box<dyn RecordBatchReader + Send>>;

/// The exception that ended a stream: other libraries show its text alone.
type Failure = Arc<Mutex<Option<PyErr>>>;

/// A stream that looks for signals before each batch, and notes its failure.
struct Noted {
    reader: Box<dyn RecordBatchReader + Send>,
    failure: Failure,
}

impl Iterator for Noted {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match signal() {
            Ok(()) => self.reader.next()?.map_err(arrow_error),
            Err(raised) => Err(raised),
        };
        Some(next.map_err(|raised| {
            let noted = Python::attach(|py| raised.clone_ref(py));
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(noted);
            ArrowError::ExternalError(Box::new(raised))
        }))
    }
}

impl RecordBatchReader for Noted {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

/// A stream, and batches of it that come first.
struct PutBack {
    first: std::vec::IntoIter<RecordBatch>,
    rest: Box<dyn RecordBatchReader + Send>,
}

impl Iterator for PutBack {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.first.next().map(Ok).or_else(|| self.rest.next())
    }
}

impl RecordBatchReader for PutBack {
    fn schema(&self) -> SchemaRef {
        self.rest.schema()
    }
}

impl RowReader {
    pub(crate) fn new(reader: Box<dyn RecordBatchReader + Send>) -> Self {
        let (schema, failure) = (reader.schema(), Failure::default());
        let noted = Noted { reader, failure: failure.clone() };
        Self { reader: Native::new(Mutex::new(Some(Box::new(noted)))), schema, failure }
    }

    /// Uses the stream, for which others wait without the interpreter's lock: it may look for signals.
    fn with_reader<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Stream) -> R + Send) -> PyResult<R> {
        let reader = self.reader.get()?;
        Ok(py.detach(|| work(&mut reader.lock().unwrap_or_else(PoisonError::into_inner))))
    }
}

#[pymethods]
impl RowReader {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reader = self.with_reader(py, Option::take)?;
        let reader = reader.ok_or_else(|| errors::new("Closed", "the rows of this stream were used; scan again"))?;
        capsule(py, reader, requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        schema_capsule(py, &self.schema)
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(&self.schema)
    }

    /// The columns of integers of 128 bits, and the names of their types.
    #[getter]
    fn long_integers(&self) -> Vec<(String, String)> {
        long_integers(&self.schema)
    }

    /// Rows of these columns, of which there are none.
    fn no_rows(&self) -> RowBatch {
        RowBatch::new(Vec::new(), self.schema.clone())
    }

    /// Raises the exception that ended the stream, if one did.
    #[pyo3(name = "_raise_failure")]
    fn raise_failure(&self) -> PyResult<()> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Puts rows back that were read: they come next.
    #[pyo3(name = "_put_back")]
    fn put_back(&self, py: Python<'_>, rows: &RowBatch) -> PyResult<()> {
        let first = rows.batches.clone().into_iter();
        self.with_reader(py, |reader| {
            if let Some(rest) = reader.take() {
                *reader = Some(Box::new(PutBack { first, rest }));
            }
        })
    }

    /// Whether another library took the rows.
    #[getter]
    fn is_taken(&self, py: Python<'_>) -> PyResult<bool> {
        self.with_reader(py, |reader| reader.is_none())
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<RowBatch>> {
        let next = self.with_reader(py, |reader| match reader {
            Some(reader) => Ok(reader.next()),
            None => Err(errors::new("Closed", "the rows of this stream were used; scan again")),
        })??;
        let batch = next.transpose().map_err(arrow_error)?;
        Ok(batch.map(|batch| RowBatch::new(vec![batch], self.schema.clone())))
    }
}
