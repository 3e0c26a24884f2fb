//! Immutable sorted tables: what a writer and a reader are made of.

pub mod filter;
pub mod value;
