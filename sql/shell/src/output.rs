//! Rows as text: CSV and JSON as rows arrive, a table once all rows are known.

use crate::failure::{Failure, Result};
use arrow_array::RecordBatch;
use clap::ValueEnum;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;
use datafusion::arrow::{csv, json};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use std::io::Write;
use std::str::FromStr;

/// Rows that a table on a terminal shows, as DuckDB's and DataFusion's shells do.
const TERMINAL_ROWS: usize = 40;

/// Form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    Table,
    /// Comma-separated values under a line of names.
    Csv,
    /// One JSON object a line.
    Json,
}

/// Most rows of a table that are printed; `None` for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowLimit(pub(crate) Option<usize>);

impl RowLimit {
    /// The limit unless the user sets one.
    pub(crate) fn usual(is_terminal: bool) -> Self {
        Self(is_terminal.then_some(TERMINAL_ROWS))
    }
}

impl FromStr for RowLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self(None)),
            _ => text.parse().map(|rows| Self(Some(rows))).map_err(|_| "use a number of rows, or `all`".to_owned()),
        }
    }
}

/// Writes the rows of one result.
pub(crate) struct Printer<'a> {
    format: Format,
    schema: SchemaRef,
    limit: Option<usize>,
    /// Accounts for the rows of a table in the memory of the session.
    memory: MemoryReservation,
    kept: Vec<RecordBatch>,
    kept_rows: usize,
    rows: u64,
    buffer: Vec<u8>,
    output: &'a mut dyn Write,
}

impl<'a> Printer<'a> {
    /// A result with this schema.
    pub(crate) fn new(
        (format, limit): (Format, RowLimit),
        schema: SchemaRef,
        memory: MemoryReservation,
        output: &'a mut dyn Write,
    ) -> Self {
        let (kept, buffer) = (Vec::new(), Vec::new());
        Self { format, schema, limit: limit.0, memory, kept, kept_rows: 0, rows: 0, buffer, output }
    }

    /// Takes rows: prints them, or keeps those that a table shows.
    pub(crate) fn write(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let is_first = self.rows == 0;
        self.rows += batch.num_rows() as u64;
        match self.format {
            Format::Table => self.keep(&batch),
            Format::Csv => self.print_csv(&batch, is_first),
            Format::Json => {
                // An object has all columns, so that each line says what the others do.
                let mut writer = json::WriterBuilder::new()
                    .with_explicit_nulls(true)
                    .build::<_, json::writer::LineDelimited>(&mut self.buffer);
                writer.write(&batch).and_then(|()| writer.finish()).map_err(DataFusionError::from)?;
                self.flush()
            }
        }
    }

    /// Prints what is left, and returns the number of rows and how many of them are not shown.
    pub(crate) fn finish(mut self) -> Result<(u64, u64)> {
        let shown = match self.format {
            // A statement that returns nothing, such as SET.
            _ if self.schema.fields().is_empty() => self.rows,
            Format::Table => {
                let table = pretty_format_batches_with_schema(self.schema.clone(), &self.kept);
                self.buffer = format!("{}\n", table.map_err(DataFusionError::from)?).into_bytes();
                self.kept_rows as u64
            }
            Format::Csv if self.rows == 0 => {
                self.print_csv(&RecordBatch::new_empty(self.schema.clone()), true)?;
                0
            }
            Format::Csv | Format::Json => self.rows,
        };
        self.flush()?;
        Ok((self.rows, self.rows - shown))
    }

    fn keep(&mut self, batch: &RecordBatch) -> Result<()> {
        let left = self.limit.map_or(usize::MAX, |limit| limit - self.kept_rows);
        let rows = batch.num_rows().min(left);
        if rows > 0 {
            let batch = batch.slice(0, rows);
            self.memory.try_grow(batch.get_array_memory_size())?;
            self.kept_rows += rows;
            self.kept.push(batch);
        }
        Ok(())
    }

    fn print_csv(&mut self, batch: &RecordBatch, with_header: bool) -> Result<()> {
        let mut writer = csv::WriterBuilder::new().with_header(with_header).build(&mut self.buffer);
        writer.write(batch).map_err(DataFusionError::from)?;
        drop(writer);
        self.flush()
    }

    /// Hands over what was formatted, so that a reader has each batch at once.
    fn flush(&mut self) -> Result<()> {
        let written = self.output.write_all(&self.buffer).and_then(|()| self.output.flush());
        self.buffer.clear();
        written.map_err(Failure::Output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float64Array, Int64Array};
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};
    use std::sync::Arc;

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]))
    }

    fn batch(numbers: std::ops::Range<i64>) -> RecordBatch {
        RecordBatch::try_new(schema(), vec![Arc::new(Int64Array::from_iter_values(numbers))]).unwrap()
    }

    fn memory(bytes: usize) -> MemoryReservation {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(bytes));
        MemoryConsumer::new("test").register(&pool)
    }

    fn printed(format: Format, limit: Option<usize>, ranges: &[std::ops::Range<i64>]) -> (String, (u64, u64)) {
        let mut output = Vec::new();
        let mut printer = Printer::new((format, RowLimit(limit)), schema(), memory(1 << 20), &mut output);
        ranges.iter().for_each(|range| printer.write(batch(range.clone())).unwrap());
        let counts = printer.finish().unwrap();
        (String::from_utf8(output).unwrap(), counts)
    }

    #[test]
    fn a_table_shows_the_first_rows_and_counts_the_others() {
        let (text, counts) = printed(Format::Table, Some(3), &[0..2, 2..6, 6..7]);
        assert_eq!(text, "+---+\n| n |\n+---+\n| 0 |\n| 1 |\n| 2 |\n+---+\n");
        assert_eq!(counts, (7, 4));
        assert_eq!(printed(Format::Table, None, &[0..2, 2..6]).1, (6, 0));
    }

    #[test]
    fn names_stand_once_above_comma_separated_rows() {
        assert_eq!(printed(Format::Csv, Some(1), &[0..2, 2..3]), ("n\n0\n1\n2\n".to_owned(), (3, 0)));
        assert_eq!(printed(Format::Csv, None, &[]).0, "n\n");
        assert_eq!(printed(Format::Csv, None, &[0..0, 0..1]).0, "n\n0\n");
        assert_eq!(printed(Format::Json, None, &[0..1, 1..2]).0, "{\"n\":0}\n{\"n\":1}\n");
        assert_eq!(printed(Format::Json, None, &[]).0, "");
    }

    #[test]
    fn nulls_and_numbers_that_json_lacks_are_written_as_null() {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Float64, true)]));
        let numbers = Float64Array::from(vec![Some(1.5), None, Some(f64::NAN), Some(f64::INFINITY)]);
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(numbers)]).unwrap();
        let mut output = Vec::new();
        let mut printer = Printer::new((Format::Json, RowLimit(None)), schema, memory(0), &mut output);
        printer.write(batch).unwrap();
        printer.finish().unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), "{\"x\":1.5}\n{\"x\":null}\n{\"x\":null}\n{\"x\":null}\n");
    }

    #[test]
    fn streamed_rows_are_written_before_the_result_ends() {
        for format in [Format::Csv, Format::Json] {
            let mut output = Vec::new();
            let mut printer = Printer::new((format, RowLimit(None)), schema(), memory(0), &mut output);
            printer.write(batch(0..2)).unwrap();
            drop(printer);
            assert_eq!(output.iter().filter(|byte| **byte == b'1').count(), 1, "{format:?}");
        }
    }

    #[test]
    fn a_table_larger_than_the_memory_is_refused() {
        let mut output = Vec::new();
        let mut printer = Printer::new((Format::Table, RowLimit(None)), schema(), memory(64), &mut output);
        let refused = printer.write(batch(0..1000));
        assert!(refused.is_err_and(|failure| failure.line().contains("--memory")));
    }

    #[test]
    fn a_limit_is_a_number_or_all() {
        assert_eq!("all".parse(), Ok(RowLimit(None)));
        assert_eq!("7".parse(), Ok(RowLimit(Some(7))));
        assert!("-1".parse::<RowLimit>().is_err());
    }
}
