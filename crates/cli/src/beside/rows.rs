//! Rows of Parquet files on standard output: CSV, JSON lines, or the stream format of Arrow.

use super::fields::{Fields, member};
use crate::commands::place_flags::given;
use crate::commands::verbs::{FoundRecords, raw_json};
use crate::failure::{Failure, Result};
use crate::output::Output;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use ogive_parquet::{ParquetIndex, SCHEMA_COLUMN};
use serde_json::Value;
use serde_json::value::RawValue;

/// How rows of Parquet files are printed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct RowFormat {
    /// For an index of Parquet files: columns to print, separated by commas [default: all]
    #[arg(long, value_name = "COLS", value_delimiter = ',', help_heading = "Parquet")]
    columns: Vec<String>,

    /// For an index of Parquet files: print rows as CSV, which is the default
    #[arg(long, conflicts_with = "arrow", help_heading = "Parquet", hide_short_help = true)]
    csv: bool,

    /// For an index of Parquet files: write rows in the stream format of Arrow
    #[arg(long, conflicts_with_all = ["json", "explain"], help_heading = "Parquet")]
    arrow: bool,
}

impl RowFormat {
    /// The names of the columns; none for all.
    pub(crate) fn columns(&self) -> Option<Vec<&str>> {
        (!self.columns.is_empty()).then(|| self.columns.iter().map(String::as_str).collect())
    }

    /// The flags that are given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        given(&[("--columns", !self.columns.is_empty()), ("--csv", self.csv), ("--arrow", self.arrow)])
    }
}

/// A writer of the rows of an index.
pub(crate) struct RowWriter<'a> {
    format: RowFormat,
    index: &'a ParquetIndex,
    /// The columns that are printed.
    schema: SchemaRef,
    output: &'a mut Output,
    /// The stream of Arrow, from the first rows on.
    stream: Option<StreamWriter<Vec<u8>>>,
    has_header: bool,
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::refused(format!("rows cannot be printed: {error}"), "choose columns with --columns, or --arrow")
}

impl<'a> RowWriter<'a> {
    /// A writer of these columns, or all of them.
    ///
    /// # Errors
    /// A column that there is not.
    pub(crate) fn new(format: &RowFormat, index: &'a ParquetIndex, output: &'a mut Output) -> Result<Self> {
        let schema = index.schema_of(format.columns().as_deref())?;
        Ok(Self { format: format.clone(), index, schema, output, stream: None, has_header: false })
    }

    /// The columns to read: those that are printed, and the schema of each row where one prints what its file has.
    pub(crate) fn columns(&self) -> Vec<String> {
        let mut names: Vec<String> = self.schema.fields().iter().map(|field| field.name().clone()).collect();
        if self.output.is_json() && self.index.schema_count() > 1 {
            names.push(SCHEMA_COLUMN.to_owned());
        }
        names
    }

    /// Prints the rows of a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.format.arrow {
            return self.write_arrow(batch);
        }
        if batch.num_rows() == 0 {
            return Ok(());
        }
        match self.output.is_json() {
            true => self.write_json(batch),
            false => self.write_csv(batch),
        }
    }

    /// Prints the rows of a key, all or only the first, in JSON as the answer to the lookup; `trace` is added to that.
    /// Returns the number of rows that are left out.
    pub(crate) fn answer(&mut self, key: Value, rows: &RecordBatch, all: bool, trace: &Value) -> Result<u64> {
        let more = if all { 0 } else { rows.num_rows().saturating_sub(1) };
        let shown = rows.slice(0, rows.num_rows() - more);
        let (found, more) = (rows.num_rows() > 0, more as u64);
        if !self.is_json() {
            self.write(&shown)?;
            return Ok(more);
        }
        let rows = self.objects(&shown)?;
        let (records, record) = if all { (Some(rows), None) } else { (None, rows.into_iter().next()) };
        self.output.json(&FoundRecords { key, found, record, records, more, trace: trace.clone() })?;
        Ok(more)
    }

    /// Whether rows are printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.output.is_json()
    }

    /// Flushes what was printed to the system.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.output.flush()
    }

    /// Ends the output.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.format.arrow {
            self.write_arrow(&RecordBatch::new_empty(self.schema.clone()))?;
        }
        let Some(mut stream) = self.stream else { return Ok(()) };
        stream.finish().map_err(failed)?;
        self.output.bytes(stream.get_ref())
    }

    fn fields(&self, batch: &RecordBatch) -> Result<Vec<Fields>, ArrowError> {
        let named = self.schema.fields().iter().zip(batch.columns());
        named.map(|(field, array)| Fields::new(array, self.index.is_uuid(field.name()))).collect()
    }

    /// Rows as objects with the columns that their files have.
    pub(crate) fn objects(&self, batch: &RecordBatch) -> Result<Vec<Box<RawValue>>> {
        let fields = self.fields(batch).map_err(failed)?;
        let schemas = batch.column_by_name(SCHEMA_COLUMN).map(|column| column.as_primitive::<UInt32Type>());
        let object = |row: usize| {
            let mut object = String::from("{");
            for (field, column) in fields.iter().zip(self.schema.fields()) {
                let has = |schema: u32| self.index.has_column(schema, column.name());
                if schemas.is_some_and(|schemas| !has(schemas.value(row))) {
                    continue;
                }
                member(column.name(), object.len() == 1, &mut object);
                field.json(row, &mut object).map_err(failed)?;
            }
            object.push('}');
            Ok(raw_json(object))
        };
        (0..batch.num_rows()).map(object).collect()
    }

    fn write_json(&mut self, batch: &RecordBatch) -> Result<()> {
        let objects = self.objects(batch)?;
        objects.into_iter().try_for_each(|object| self.output.line(object.get()))
    }

    fn write_arrow(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.stream.is_none() {
            self.stream = Some(StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(failed)?);
        }
        let Some(stream) = &mut self.stream else { return Ok(()) };
        if batch.num_rows() > 0 {
            stream.write(batch).map_err(failed)?;
        }
        let written = std::mem::take(stream.get_mut());
        self.output.bytes(&written)
    }

    fn write_csv(&mut self, batch: &RecordBatch) -> Result<()> {
        if !std::mem::replace(&mut self.has_header, true) {
            let names: Vec<String> = self.schema.fields().iter().map(|field| quoted(field.name())).collect();
            self.output.line(names.join(","))?;
        }
        let fields = self.fields(batch).map_err(failed)?;
        for row in 0..batch.num_rows() {
            // An empty field is a null, and quotes without anything empty text.
            let text = |field: &Fields| match field.is_null(row) {
                true => Ok(String::new()),
                false => field.text(row).map(|text| quoted(&text)),
            };
            let texts = fields.iter().map(text).collect::<Result<Vec<_>, _>>().map_err(failed)?;
            self.output.line(texts.join(","))?;
        }
        Ok(())
    }
}

/// A field of CSV.
fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

impl From<ogive_parquet::ParquetIndexError> for Failure {
    fn from(error: ogive_parquet::ParquetIndexError) -> Self {
        match error {
            ogive_parquet::ParquetIndexError::Engine(error) => Self::Engine(error),
            error => Self::Beside(Box::new(error)),
        }
    }
}
