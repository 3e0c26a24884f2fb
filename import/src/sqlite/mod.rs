//! Databases of SQLite: tables become keyspaces of rows.
//!
//! A table is read twice in one read transaction. The first pass finds the class of each value, and so the types of the
//! columns; the second one makes records of the rows.

mod catalog;
mod columns;
mod connection;
mod indexes;
mod rows;
mod source;
mod sql_text;

pub(crate) use source::open;
