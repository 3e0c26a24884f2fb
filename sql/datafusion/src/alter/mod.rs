//! `ALTER TABLE` of a keyspace of a store, which DataFusion parses and does not plan.
//!
//! ```text
//! statement --> columns and their types --> one alteration of the keyspace --> the name means the table of now
//! ```
//!
//! Rows are not rewritten: see [`ogive::Keyspace::alter`].

mod column_types;
mod statement;

pub use statement::{AlteredTable, alter_table};
