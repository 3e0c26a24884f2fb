//! Rows of Parquet files on standard output: CSV, JSON lines, or the stream format of Arrow.

use crate::failure::{Failure, Result};
use crate::output::Output;
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::writer::StreamWriter;
use arrow_json::LineDelimitedWriter;

/// How rows of Parquet files are printed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct RowFormat {
    /// Of an index of Parquet files: columns to print, separated by commas [default: all]
    #[arg(long, value_name = "COLS", value_delimiter = ',', help_heading = "Parquet")]
    columns: Vec<String>,

    /// Of an index of Parquet files: print rows as CSV, which is the default
    #[arg(long, conflicts_with = "arrow", help_heading = "Parquet")]
    csv: bool,

    /// Of an index of Parquet files: write rows in the stream format of Arrow
    #[arg(long, conflicts_with_all = ["json", "explain"], help_heading = "Parquet")]
    arrow: bool,
}

impl RowFormat {
    /// The names of the columns; none for all.
    pub(crate) fn columns(&self) -> Option<Vec<&str>> {
        (!self.columns.is_empty()).then(|| self.columns.iter().map(String::as_str).collect())
    }

    /// Refuses the options for tables.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(crate) fn refuse(&self) -> Result<()> {
        if self.columns.is_empty() && !self.csv && !self.arrow {
            return Ok(());
        }
        let message = "--columns, --csv and --arrow are for indexes of Parquet files";
        Err(Failure::usage(message, "remove them; `ogive export` writes tables in other formats"))
    }
}

/// A writer of rows.
pub(crate) struct RowWriter<'a> {
    format: RowFormat,
    output: &'a mut Output,
    /// The stream of Arrow, from the first rows on.
    stream: Option<StreamWriter<Vec<u8>>>,
    has_header: bool,
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::refused(format!("rows cannot be printed: {error}"), "choose columns with --columns, or --arrow")
}

impl<'a> RowWriter<'a> {
    pub(crate) fn new(format: &RowFormat, output: &'a mut Output) -> Self {
        Self { format: format.clone(), output, stream: None, has_header: false }
    }

    /// Prints the rows of a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.format.arrow {
            return self.write_arrow(batch);
        }
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if self.output.is_json() {
            let mut writer = LineDelimitedWriter::new(Vec::new());
            writer.write(batch).map_err(failed)?;
            writer.finish().map_err(failed)?;
            return self.output.bytes(&writer.into_inner());
        }
        self.write_csv(batch)
    }

    /// Ends the output.
    pub(crate) fn finish(self) -> Result<()> {
        let Some(mut stream) = self.stream else { return Ok(()) };
        stream.finish().map_err(failed)?;
        self.output.bytes(stream.get_ref())
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
        let schema = batch.schema();
        if !std::mem::replace(&mut self.has_header, true) {
            let names: Vec<String> = schema.fields().iter().map(|field| quoted(field.name())).collect();
            self.output.line(names.join(","))?;
        }
        let options = FormatOptions::default();
        let formatters = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
        let formatters = formatters.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        for row in 0..batch.num_rows() {
            let fields = formatters.iter().zip(batch.columns()).map(|(formatter, column)| {
                // An empty field is a null, and quotes without anything empty text.
                if column.is_null(row) {
                    return Ok(String::new());
                }
                formatter.value(row).try_to_string().map(|text| quoted(&text))
            });
            let fields = fields.collect::<Result<Vec<_>, _>>().map_err(failed)?;
            self.output.line(fields.join(","))?;
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
