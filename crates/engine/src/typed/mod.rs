//! Keyspaces and tables with Rust types for their keys and values.
//!
//! | for | use |
//! |---|---|
//! | a keyspace of a store | [`Keyspace::typed`](crate::Keyspace::typed), [`TypedKeyspace`] |
//! | batches of it | [`Batch::typed_insert`](crate::Batch::typed_insert) |
//! | snapshots of it | [`DbSnapshot::typed`](crate::DbSnapshot::typed), [`TypedSnapshot`] |
//! | transactions of it | [`DbTransaction::typed`](crate::DbTransaction::typed), [`TypedTransaction`] |
//! | a table | [`Table::typed`](crate::Table::typed), [`TypedTable`], [`TypedTableWriter`] |
//! | several values a key | [`Db::multimap`](crate::Db::multimap), [`TypedMultimap`] |
//! | secondary indexes that the store keeps | [`TypedKeyspace::index`], [`TypedIndex`] |
//! | those that the program keeps | [`TypedKeyspace::with_index`], [`IndexedKeyspace`], [`SecondaryIndex`] |
//! | structs as values | [`row!`](crate::row!) |
//!
//! Keys and values are given by value or by reference, and read from a [`TypedGuard`] without copying. The types are
//! stated in the files, so that other programs and languages read the same keys and fields; other types are an error.
//! [`TypedKey`] lists the types for keys, [`TypedValue`] those for values.

mod alter;
mod data;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "uuid"))]
mod foreign;
mod guard;
mod indexed;
mod keyspace;
mod multimap;
mod parts;
#[cfg(feature = "postcard")]
mod postcard;
mod row;
mod scalars;
mod stored_index;
mod table;
#[cfg(test)]
mod tests;
mod transaction;

pub(crate) use data::take_fixed;
pub use data::{TypedData, TypedKey, TypedValue};
pub use guard::{TypedGuard, TypedRange, TypedRecord};
pub use indexed::{IndexedBatch, IndexedKeyspace, SecondaryIndex, SecondaryKeys, SecondaryRange};
pub use keyspace::{TypedKeyspace, TypedSnapshot};
pub use multimap::{MultimapRange, MultimapValues, TypedMultimap};
pub use parts::{Desc, TypedPrefix};
#[cfg(feature = "postcard")]
pub use postcard::Postcard;
pub use stored_index::TypedIndex;
pub use table::{TypedTable, TypedTableWriter};
pub use transaction::TypedTransaction;

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use {
    data::TypedScalar,
    multimap::TypedPart,
    parts::{TypedComponent, TypedParts},
    row::{RowField, TypedRow},
    transaction::TypedInteger,
};
