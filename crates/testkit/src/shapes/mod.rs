//! Shapes of input: what decides where blocks, groups and windows end, drawn from a seed or from the bytes of a fuzzer.
//!
//! A [`Shape`] says how long the shared prefix of the keys is, how many rows there are, what their ends and their values look like, how
//! they are written (sorted, unsorted, through a store, by a join), and with which design, blocks and memory. [`Shape::check`] writes
//! the rows that way and holds every answer against the sorted rows. One seed is one case.

mod check;
mod choices;
mod draw;
mod ends;
mod join;
mod rows;
mod shape;
mod store;
mod values;

pub use check::Effort;
pub use choices::Choices;
pub use shape::{Ends, JoinForm, Relation, Shape, ShapeFailure, StoreForm, TableForm, Way};
pub use values::Values;
