//! `ALTER TABLE` of a keyspace of a store, `CREATE INDEX` and `DROP INDEX`, which DataFusion parses and does not plan.
//!
//! ```text
//! statement --> columns and their types --> one alteration of the keyspace --> the name means the table of now
//! ```
//!
//! Rows are not rewritten: see [`ogive::Keyspace::alter`].

mod column_types;
mod index_statement;
mod statement;

pub use index_statement::change_indexes;
pub use statement::{AlteredTable, alter_table};
