//! Rows of CSV files with a header, as the command reads them: what has no meaning is refused, and a type is one that
//! every value of the column is written as without loss.

use crate::arrow_in::BatchReader;
use crate::errors;
use crate::rows::arrow_error;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use ogive::types::{ColumnPlace, Field, KeyType, RecordType, RowBuilder, RowType, ValueType};
use ogive_arrow::RecordBatchBuilder;
use ogive_text::{ColumnGuess, FieldReader, GuessedType, Layout, TextError, Written};
use pyo3::prelude::*;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are read at a time.
const ROWS_AT_ONCE: usize = 8 << 10;

/// The rows of a CSV file with a header. It is read twice: for the types, and for the rows.
pub(crate) fn csv_rows(path: &Path) -> PyResult<BatchReader> {
    let (mut rows, names) = open(path)?;
    let mut guesses = vec![ColumnGuess::new(); names.len()];
    while advance(&mut rows).map_err(|error| refused(path, &error))? {
        for (column, guess) in guesses.iter_mut().enumerate() {
            guess.see(rows.records(), rows.field(column));
        }
    }
    let types: Vec<GuessedType> = guesses.iter().map(|guess| guess.guessed(true)).collect();
    // Names of columns that are left out may repeat, or be empty.
    let field = |(column, of): (usize, &GuessedType)| Field::new(format!("c{column}"), of.key_type).nullable();
    let row_type = RowType::new(types.iter().enumerate().map(field).collect::<Vec<_>>()).map_err(errors::of)?;
    let built = builder(&row_type).schema().clone();
    let fields = built.fields().iter().zip(names).map(|(field, name)| field.as_ref().clone().with_name(name));
    let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let (rows, path, schema_of) = (open(path)?.0, path.to_owned(), schema.clone());
    let batches = CsvBatches { rows, path, types, row_type, schema: schema_of, is_done: false };
    Ok(Box::new(RecordBatchIterator::new(batches, schema)))
}

fn open(path: &Path) -> PyResult<(FieldReader<File>, Vec<String>)> {
    let refused_by_system = |source| errors::of(ogive::Error::Io { action: "open", path: path.to_owned(), source });
    FieldReader::open(File::open(path).map_err(refused_by_system)?, Layout::CSV).map_err(|error| refused(path, &error))
}

/// Reads the next row. Of an only column, which is the key and not null, empty lines are no rows.
fn advance(rows: &mut FieldReader<File>) -> Result<bool, TextError> {
    while rows.advance()? {
        if !rows.is_blank() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn refused(path: &Path, error: &TextError) -> PyErr {
    errors::of_file("WrongFile", &format!("{} cannot be read as CSV: {error}", path.display()), path)
}

/// The rows of a file whose types are known.
struct CsvBatches {
    rows: FieldReader<File>,
    path: PathBuf,
    types: Vec<GuessedType>,
    row_type: RowType,
    schema: SchemaRef,
    is_done: bool,
}

fn builder(row_type: &RowType) -> RecordBatchBuilder {
    let types = RecordType::new(KeyType::Bytes, ValueType::Row(row_type.clone()));
    RecordBatchBuilder::with_columns(&types, false, |column| matches!(column.place, ColumnPlace::Value(_)))
}

impl CsvBatches {
    /// The next rows; none at the end.
    fn batch(&mut self) -> PyResult<Option<RecordBatch>> {
        let mut builder = builder(&self.row_type);
        let (mut fields, mut field, mut row) = (RowBuilder::new(self.row_type.clone()), Vec::new(), Vec::new());
        while builder.len() < ROWS_AT_ONCE && advance(&mut self.rows).map_err(|error| refused(&self.path, &error))? {
            for (column, of) in self.types.iter().enumerate() {
                field.clear();
                let pushed = match bytes(of, self.rows.field(column), &mut field) {
                    true => fields.push_bytes(Some(&field)),
                    false => fields.push_bytes(None),
                };
                pushed.map_err(errors::of)?;
            }
            row.clear();
            fields.finish(&mut row).map_err(errors::of)?;
            builder.append(&[], Some(&row)).map_err(errors::of)?;
        }
        if builder.is_empty() {
            return Ok(None);
        }
        let batch = builder.finish().map_err(errors::of)?;
        RecordBatch::try_new(self.schema.clone(), batch.columns().to_vec()).map(Some).map_err(arrow_error)
    }
}

/// Appends the bytes of a field; `false` for a null. All fields were seen when the types were guessed.
fn bytes(of: &GuessedType, written: Written<'_>, field: &mut Vec<u8>) -> bool {
    let text = written.text();
    if matches!(of.key_type, KeyType::Text | KeyType::Bytes) {
        field.extend_from_slice(text);
        return matches!(written, Written::Text(_));
    }
    // Floats keep the sign of zero.
    let parsed = std::str::from_utf8(text).ok().and_then(|text| ValueType::Scalar(of.key_type).parse(text).ok());
    parsed.inspect(|bytes| field.extend_from_slice(bytes)).is_some()
}

impl Iterator for CsvBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let batch = self.batch();
        self.is_done = !matches!(batch, Ok(Some(_)));
        batch.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}
