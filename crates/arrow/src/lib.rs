//! # Keys and rows as Arrow arrays
//!
//! The key type of an Arrow type, the value of a row of an array, and records as record batches.
//!
//! # Types
//! | type | Arrow |
//! |---|---|
//! | `bool` | `Boolean` |
//! | `u8` to `u64`, `i8` to `i64` | `UInt8` to `UInt64`, `Int8` to `Int64` |
//! | `u128`, `i128` | `Decimal256(39,0)`, with the name of the type as `ogive:type` in the metadata of the field |
//! | `f32`, `f64` | `Float32`, `Float64` |
//! | `text`, `bytes` | `Utf8`, `Binary` |
//! | `bytesN`, `uuid` | `FixedSizeBinary`, that of UUIDs with the extension `arrow.uuid` |
//! | `date` | `Date32` |
//! | `time(UNIT)` | `Time32` of `s` and `ms`, `Time64` of `us` and `ns` |
//! | `timestamp(UNIT)` | `Timestamp` without a zone |
//! | `decimal(P,S)` | `Decimal128(P,S)` |
//!
//! In the other direction dictionaries, views and large arrays are taken, too, and decimals of any width. Where an
//! array is read as another type than its own, as keys that are looked up are, each value is converted exactly or not
//! at all: see [`value_of`].
//!
//! # Example
#![doc = include_str!("../README.md")]

mod batches;
mod columns;
mod key_types;
mod longest;
mod records;
mod values;

pub use batches::{BATCH_BYTES_MAX, RecordBatchBuilder, schema_of};
pub use key_types::{is_uuid, key_type_of, key_type_of_field, type_name};
pub use longest::longest_record_bytes;
pub use records::{RecordEncoder, RecordError, check_field, key_of_row, value_of_row};
pub use values::{append_frequent_key, unpacked, value_of};
