//! Columns whose values stand for numbers: the order of values is that of the numbers, in every type.

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray, UInt8Array, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::error::Result;
use ogive_testkit::Random;
use std::sync::Arc;

/// What follows the number of a text: nothing, characters of two and three bytes, a quote, and wildcards.
const ENDINGS: [&str; 6] = ["", "é", " x", "'s", "_%", "日本"];
/// Digits and decimals of decimals.
const PRECISION: u8 = 9;
const SCALE: i8 = 2;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Bool,
    Date,
    Decimal,
    F64,
    I32,
    I64,
    Text,
    Timestamp,
    U8,
    U64,
}

/// All kinds that a key may have, the frequent ones more often.
pub(super) const KEY_KINDS: [ColumnKind; 12] = [
    ColumnKind::I64,
    ColumnKind::I64,
    ColumnKind::I32,
    ColumnKind::U64,
    ColumnKind::U64,
    ColumnKind::Text,
    ColumnKind::Text,
    ColumnKind::U8,
    ColumnKind::Date,
    ColumnKind::Timestamp,
    ColumnKind::Decimal,
    ColumnKind::F64,
];

impl ColumnKind {
    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Date => DataType::Date32,
            Self::Decimal => DataType::Decimal128(PRECISION, SCALE),
            Self::F64 => DataType::Float64,
            Self::I32 => DataType::Int32,
            Self::I64 => DataType::Int64,
            Self::Text => DataType::Utf8,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::U8 => DataType::UInt8,
            Self::U64 => DataType::UInt64,
        }
    }

    /// Numbers that have a value.
    pub(super) fn numbers(self) -> u64 {
        match self {
            Self::Bool => 2,
            Self::U8 => 250,
            Self::Text => 1_000,
            _ => 100_000,
        }
    }

    pub(super) fn is_integer(self) -> bool {
        matches!(self, Self::I32 | Self::I64 | Self::U8 | Self::U64)
    }

    /// Whether `sum` and `avg` know it, exactly or nearly.
    pub(super) fn is_number(self) -> bool {
        self.is_integer() || matches!(self, Self::Decimal | Self::F64)
    }

    /// The values of numbers.
    pub(super) fn array(self, numbers: &[Option<u64>]) -> Result<ArrayRef> {
        let signed = || numbers.iter().map(|number| number.map(u64::cast_signed));
        Ok(match self {
            Self::Bool => {
                Arc::new(numbers.iter().map(|number| number.map(|number| number == 1)).collect::<BooleanArray>())
            }
            Self::Date => {
                Arc::new(signed().map(|number| number.map(|number| 7_000 + 5 * number as i32)).collect::<Date32Array>())
            }
            Self::Decimal => {
                let cents = signed().map(|number| number.map(|number| i128::from(7 * number - 300)));
                Arc::new(cents.collect::<Decimal128Array>().with_precision_and_scale(PRECISION, SCALE)?)
            }
            Self::F64 => {
                // Quarters have exact sums, in any order.
                Arc::new(
                    signed().map(|number| number.map(|number| number as f64 / 4.0 - 9.0)).collect::<Float64Array>(),
                )
            }
            Self::I32 => {
                Arc::new(signed().map(|number| number.map(|number| number as i32 - 40)).collect::<Int32Array>())
            }
            Self::I64 => Arc::new(signed().map(|number| number.map(|number| 3 * number - 100)).collect::<Int64Array>()),
            Self::Text => Arc::new(numbers.iter().map(|number| number.map(text_of)).collect::<StringArray>()),
            Self::Timestamp => {
                let seconds = signed().map(|number| number.map(|number| (1_500_000_000 + 3_601 * number) * 1_000_000));
                Arc::new(seconds.collect::<TimestampMicrosecondArray>())
            }
            Self::U8 => {
                Arc::new(numbers.iter().map(|number| number.map(|number| number as u8)).collect::<UInt8Array>())
            }
            Self::U64 => {
                Arc::new(numbers.iter().map(|number| number.map(|number| 2 * number)).collect::<UInt64Array>())
            }
        })
    }

    /// The value of a number in SQL.
    pub(super) fn literal(self, number: u64) -> Result<String> {
        let text = array_value_to_string(&self.array(&[Some(number)])?, 0)?;
        Ok(match self {
            Self::Date => format!("date '{text}'"),
            Self::Decimal => format!("cast('{text}' as decimal({PRECISION},{SCALE}))"),
            Self::Text => format!("'{}'", text.replace('\'', "''")),
            Self::Timestamp => format!("timestamp '{text}'"),
            _ => text,
        })
    }
}

fn text_of(number: u64) -> String {
    format!("k{number:03}{}", ENDINGS[number as usize % ENDINGS.len()])
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct RandomColumn {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
    /// Values are those of the numbers below it.
    pub(super) domain: u64,
    pub(super) is_nullable: bool,
    /// Whether small numbers are more frequent.
    pub(super) is_skewed: bool,
    /// Whether it is of the key.
    pub(super) is_key: bool,
    /// Numbers of some rows.
    pub(super) seen: Vec<u64>,
}

impl RandomColumn {
    /// The number of a row.
    pub(super) fn draw(&self, draw: &mut Random) -> Option<u64> {
        if self.is_nullable && draw.one_in(6) {
            return None;
        }
        let share = draw.unit();
        let share = if self.is_skewed { share * share * share } else { share };
        Some((share * self.domain as f64) as u64)
    }

    /// A value in SQL: one of a row, which limits include or exclude, or any.
    pub(super) fn literal(&self, draw: &mut Random) -> Result<String> {
        if !self.seen.is_empty() && !draw.one_in(3) {
            return self.kind.literal(*draw.pick(&self.seen));
        }
        let number = draw.below(self.domain + 3).min(self.kind.numbers() - 1);
        self.kind.literal(number)
    }
}
