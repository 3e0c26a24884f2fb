//! Rows of CSV files with a header, as the command reads them: what has no meaning is refused, and a column has a type
//! only if every value is written in it without loss.

use crate::arrow::errors::arrow_error;
use crate::arrow::input::BatchReader;
use crate::errors;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use ogive::types::{
    ColumnPlace, Component, Field, KeyType, NullOrder, RecordType, RowBuilder, RowType, TupleType, ValueType,
};
use ogive_arrow::RecordBatchBuilder;
use ogive_text::{ColumnGuess, FieldBytes, FieldReader, Layout, TextColumn, TextError, may_be_null, unique_names};
use pyo3::prelude::*;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are read at a time.
const ROWS_AT_ONCE: usize = 8 << 10;

/// A CSV file whose types are known.
pub(crate) struct CsvFile {
    path: PathBuf,
    columns: Vec<TextColumn>,
    row_type: RowType,
    pub(crate) schema: SchemaRef,
    /// Columns of the key with numbers that are text, and why.
    remarks: Vec<String>,
}

impl CsvFile {
    /// Reads a file with a header for the types of its columns, of which these are the key. That of a side of a join
    /// may be null though it is one column, and is of numbers where all its values are, however they are written.
    pub(crate) fn open(path: &Path, key: &[String], is_joined: bool) -> PyResult<Self> {
        let (mut rows, names) = open(path)?;
        let names = unique_names(&names);
        let mut guesses = vec![ColumnGuess::new(); names.len()];
        while advance(&mut rows).map_err(|error| refused(path, &error))? {
            for (column, guess) in guesses.iter_mut().enumerate() {
                guess.see(rows.records(), rows.field(column));
            }
        }
        let (mut columns, mut fields, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
        for (name, guess) in names.iter().zip(&guesses) {
            let is_key = key.contains(name);
            let may_be_null = is_joined || may_be_null(is_key, key.len());
            let mut column = TextColumn::of_guess(guess.guessed(may_be_null), may_be_null);
            let exact = guess.united_with(guess).filter(|_| is_joined && is_key);
            (column.key_type, column.is_united) = (exact.unwrap_or(column.key_type), exact.is_some());
            // Names of columns that are left out may be too long for fields.
            let field = Field::new(format!("c{}", columns.len()), column.key_type);
            fields.push(if column.nullable { field.nullable() } else { field });
            columns.push(column);
            if is_key && exact.is_none() {
                remarks.extend(guess.remark(&format!("{}: column '{name}'", path.display()), may_be_null));
            }
        }
        let row_type = RowType::new(fields).map_err(errors::of)?;
        let built = builder(&row_type).schema().clone();
        let fields = built.fields().iter().zip(names).map(|(field, name)| field.as_ref().clone().with_name(name));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self { path: path.to_owned(), columns, row_type, schema, remarks })
    }

    /// The rows of the file, which is read anew.
    pub(crate) fn rows(&self) -> PyResult<BatchReader> {
        let batches = CsvBatches {
            rows: open(&self.path)?.0,
            path: self.path.clone(),
            columns: self.columns.clone(),
            row_type: self.row_type.clone(),
            schema: self.schema.clone(),
            is_done: false,
        };
        Ok(Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }

    /// The type of keys of several columns, of which some may be null; `None` for other keys.
    pub(crate) fn key_type(&self, key: &[String]) -> PyResult<Option<KeyType>> {
        let place = |name: &String| self.schema.index_of(name).ok();
        let columns: Option<Vec<&TextColumn>> = key.iter().map(|name| self.columns.get(place(name)?)).collect();
        let Some(columns) = columns.filter(|columns| columns.len() > 1) else { return Ok(None) };
        let component = |column: &&TextColumn| Component {
            nulls: if column.nullable { NullOrder::Last } else { NullOrder::Never },
            ..Component::new(column.key_type)
        };
        let components: Vec<Component> = columns.iter().map(component).collect();
        Ok(Some(KeyType::Tuple(TupleType::new(&components).map_err(errors::of)?)))
    }

    /// Whether a column of a key has nulls.
    pub(crate) fn has_nulls(&self, key: &[String]) -> bool {
        let of = |name: &String| self.columns.get(self.schema.index_of(name).ok()?);
        key.iter().any(|name| of(name).is_some_and(|column| column.nullable))
    }

    /// Warns of columns of the key that are text, and are ordered as such, though they have numbers.
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        self.remarks.iter().try_for_each(|remark| errors::warn(py, remark))
    }
}

/// The names of the columns of a file, each once.
pub(crate) fn column_names(path: &Path) -> PyResult<Vec<String>> {
    open(path).map(|(_, names)| unique_names(&names))
}

fn open(path: &Path) -> PyResult<(FieldReader<File>, Vec<String>)> {
    let refused_by_system = |source| errors::of(ogive::Error::io("open", path, source));
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
    columns: Vec<TextColumn>,
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
            for (place, column) in self.columns.iter().enumerate() {
                field.clear();
                let pushed = match column.read(self.rows.field(place), false, &mut field) {
                    Ok(FieldBytes::Null) => fields.push_known(None),
                    Ok(FieldBytes::Own(bytes)) => fields.push_known(Some(bytes)),
                    Ok(FieldBytes::Encoded) => fields.push_known(Some(&field)),
                    Err(_) => return Err(changed(&self.path)),
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

/// All fields were seen when the types were guessed.
fn changed(path: &Path) -> PyErr {
    errors::of_file("WrongFile", &format!("{} was changed while it was read", path.display()), path)
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
