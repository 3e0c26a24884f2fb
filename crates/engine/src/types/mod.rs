//! Types of keys: order-preserving encodings of scalars and of tuples, and their text form.
//!
//! The engine compares keys bytewise. A [`KeyType`] maps values to bytes such that the bytes of a key are smaller
//! exactly if its [`Value`] is, in the order of SQL. Tables and indexes state the type of their keys, so keys are
//! printed in the form in which they were given. The bytes are described in `docs/format/types.md`.
//!
//! ```
//! use ogive::types::{KeyType, Value};
//!
//! let visits: KeyType = "(text, timestamp(s) desc)".parse()?;
//! let first = visits.parse("ann,2024-05-01T12:00:00")?;
//! let second = visits.parse("ann,2023-01-01T00:00:00")?;
//! assert!(first < second);
//! assert_eq!(visits.display(&first), "ann,2024-05-01T12:00:00");
//!
//! // All keys of one visitor begin with these bytes.
//! assert!(first.starts_with(&visits.encode_prefix(&[Value::Text("ann".into())])?));
//! # Ok::<(), ogive::Error>(())
//! ```

mod alteration;
mod calendar;
mod comparable;
mod conversion;
mod escape;
mod float_text;
mod index_definition;
mod key_type;
mod plain_text;
mod prefix;
mod record;
pub(crate) mod record_type;
mod row;
mod row_type;
mod scalar;
mod text;
mod tuple;
mod value;
mod value_type;

#[cfg(test)]
mod row_tests;
#[cfg(test)]
mod tests;

pub use alteration::Alteration;
pub(crate) use calendar::display_unix_ms;
pub(crate) use comparable::KeyConversion;
pub(crate) use conversion::ValueRest;
pub use index_definition::IndexDefinition;
pub(crate) use index_definition::{IndexedValues, ResolvedIndex};
pub use key_type::{KeyType, TimeUnit};
pub(crate) use prefix::{end_of_prefix, range_of_prefix};
pub use record_type::{KeyColumn, RecordType};
pub use row::{Row, RowBuilder, RowFields};
pub use row_type::{Field, RowType};
pub(crate) use scalar::encode_f64_value;
pub(crate) use scalar::{encode_f32, encode_f32_value};
pub use scalar::{encode_f64, encode_i64};
pub(crate) use tuple::NullTest;
pub use tuple::{Component, NullOrder, TupleType};
pub use value::Value;
pub use value_type::ValueType;

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use {
    index_definition::IndexExpression,
    record_type::{ColumnPlace, RecordColumn},
    row::FieldReader,
    row_type::FIELDS_MAX,
    scalar::{decode_f32, decode_f64},
};
