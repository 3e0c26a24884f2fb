//! Answers as text with types, and the comparison of two engines' answers.
//!
//! Engines differ in the types of the same answer: an average of decimals is a decimal here and a float there. So
//! numbers are compared as numbers: exactly, unless one side is a float, which may differ by [`FLOAT_SHARE`] of itself,
//! or by one unit of the last place of the decimal on the other side.

use crate::error::failed;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::Result;

/// The share of a float by which two engines may differ: they add in different orders.
pub const FLOAT_SHARE: f64 = 1e-9;
/// Separates the columns of a file of answers; no text of TPC-H contains it.
const SEPARATOR: char = '|';
/// A null in a file of answers.
const NULL: &str = "\\N";

/// The comparison that a column needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerType {
    /// Floats of 32 or 64 bits.
    Float,
    /// Integers, and decimals with this number of digits after the point.
    Exact(u32),
    /// All else, compared as text.
    Text,
}

impl AnswerType {
    fn of_arrow(data_type: &DataType) -> Self {
        match data_type {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
                Self::Exact(u32::try_from(*scale).unwrap_or(0))
            }
            number if number.is_integer() => Self::Exact(0),
            _ => Self::Text,
        }
    }

    /// The type of a name of DuckDB, such as `DECIMAL(38,2)`.
    fn of_name(name: &str) -> Self {
        if let Some(scale) = name.strip_prefix("DECIMAL(").and_then(|rest| rest.trim_end_matches(')').split(',').nth(1))
        {
            return Self::Exact(scale.trim().parse().unwrap_or(0));
        }
        match name {
            "FLOAT" | "DOUBLE" => Self::Float,
            name if name.ends_with("INT") || name.ends_with("INTEGER") => Self::Exact(0),
            _ => Self::Text,
        }
    }

    /// Its name in lines of JSON.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Float => "float".to_owned(),
            Self::Exact(scale) => format!("exact {scale}"),
            Self::Text => "text".to_owned(),
        }
    }
}

/// The rows of a query as text, without nulls' text, and the types of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The types of the columns.
    pub types: Vec<AnswerType>,
    /// The rows; a null is `None`.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    /// The rows of batches.
    ///
    /// # Errors
    /// Values that Arrow cannot write.
    pub fn of_batches(schema: &Schema, batches: &[RecordBatch]) -> Result<Self> {
        let types = schema.fields().iter().map(|field| AnswerType::of_arrow(field.data_type())).collect();
        let options = FormatOptions::default();
        let mut rows = Vec::new();
        for batch in batches {
            let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
            let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
            for row in 0..batch.num_rows() {
                let cell = |(column, text): (&_, &ArrayFormatter<'_>)| {
                    let column: &datafusion::arrow::array::ArrayRef = column;
                    (!column.is_null(row)).then(|| text.value(row).to_string())
                };
                rows.push(batch.columns().iter().zip(&columns).map(cell).collect());
            }
        }
        Ok(Self { types, rows })
    }

    /// The answer in a file: a line of names, a line of types, and a line for each row.
    ///
    /// # Errors
    /// A file without these lines.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines().skip(1);
        let types = lines.next().ok_or_else(|| failed("an answer has a line of names and a line of types"))?;
        let types: Vec<AnswerType> = types.split(SEPARATOR).map(AnswerType::of_name).collect();
        let cell = |cell: &str| (cell != NULL).then(|| cell.to_owned());
        let rows: Vec<Vec<_>> = lines.map(|line| line.split(SEPARATOR).map(cell).collect()).collect();
        match rows.iter().position(|row| row.len() != types.len()) {
            Some(row) => Err(failed(format!("row {row} of an answer does not have {} columns", types.len()))),
            None => Ok(Self { types, rows }),
        }
    }

    /// The first difference between our rows and theirs, in words; `None` if there is none.
    #[must_use]
    pub fn difference(&self, theirs: &Self) -> Option<String> {
        if self.types.len() != theirs.types.len() {
            return Some(format!("{} columns instead of {}", self.types.len(), theirs.types.len()));
        }
        let types: Vec<_> = self.types.iter().copied().zip(theirs.types.iter().copied()).collect();
        let same = |ours: &[Option<String>], theirs: &[Option<String>]| {
            ours.iter().zip(theirs).zip(&types).all(|((ours, theirs), types)| match (ours, theirs) {
                (Some(ours), Some(theirs)) => is_same(ours, theirs, *types),
                (ours, theirs) => ours == theirs,
            })
        };
        let differs = self.rows.iter().zip(&theirs.rows).position(|(ours, theirs)| !same(ours, theirs));
        if let Some(row) = differs {
            return Some(format!("row {row} is {:?} instead of {:?}", self.rows[row], theirs.rows[row]));
        }
        let (ours, theirs) = (self.rows.len(), theirs.rows.len());
        (ours != theirs).then(|| format!("{ours} rows instead of {theirs}"))
    }
}

fn is_same(ours: &str, theirs: &str, types: (AnswerType, AnswerType)) -> bool {
    match types {
        (AnswerType::Exact(_), AnswerType::Exact(_)) => plain(ours) == plain(theirs),
        (AnswerType::Float, AnswerType::Float | AnswerType::Exact(_)) => is_close(ours, theirs, 0.0),
        (AnswerType::Exact(scale), AnswerType::Float) => is_close(ours, theirs, 0.1_f64.powi(scale.cast_signed())),
        _ => ours == theirs,
    }
}

fn is_close(ours: &str, theirs: &str, unit: f64) -> bool {
    let (Ok(first), Ok(second)) = (ours.parse::<f64>(), theirs.parse::<f64>()) else { return ours == theirs };
    first == second || (first - second).abs() <= unit.max(FLOAT_SHARE * second.abs())
}

/// A decimal without the zeros at its end, and without a sign if it is zero.
fn plain(number: &str) -> &str {
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    if number == "-0" { "0" } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(types: &str, row: &str) -> Answer {
        Answer::parse(&format!("a\n{types}\n{row}\n")).unwrap()
    }

    #[test]
    fn numbers_are_compared_by_value_and_floats_by_share() {
        let is_same = |ours: (&str, &str), theirs: (&str, &str)| {
            answer(ours.0, ours.1).difference(&answer(theirs.0, theirs.1)).is_none()
        };
        assert!(is_same(("DECIMAL(9,2)", "1.50"), ("DECIMAL(38,1)", "1.5")));
        assert!(!is_same(("DECIMAL(9,2)", "1.51"), ("DECIMAL(38,1)", "1.5")));
        assert!(is_same(("DECIMAL(9,2)", "7.00"), ("BIGINT", "7")));
        assert!(!is_same(("BIGINT", "70"), ("BIGINT", "7")));
        assert!(is_same(("DOUBLE", "1.0"), ("DOUBLE", "1.0000000009")));
        assert!(!is_same(("DOUBLE", "1.0"), ("DOUBLE", "1.000000002")));
        assert!(is_same(("DECIMAL(9,2)", "0.33"), ("DOUBLE", "0.3333333")));
        assert!(!is_same(("DECIMAL(9,2)", "0.33"), ("DOUBLE", "0.35")));
        assert!(is_same(("VARCHAR", "\\N"), ("VARCHAR", "\\N")));
        assert!(!is_same(("VARCHAR", "\\N"), ("VARCHAR", "")));
        assert!(!is_same(("VARCHAR", "1.0"), ("VARCHAR", "1.00")));
    }

    #[test]
    fn a_row_too_many_and_a_column_too_few_are_differences() {
        let one = answer("BIGINT", "1");
        assert!(one.difference(&answer("BIGINT", "1\n2")).is_some_and(|text| text.contains("1 rows instead of 2")));
        assert!(answer("BIGINT|BIGINT", "1|2").difference(&one).is_some());
        assert!(Answer::parse("a|b\nBIGINT|BIGINT\n1\n").is_err());
    }
}
