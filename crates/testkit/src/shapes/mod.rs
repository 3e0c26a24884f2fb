//! Shapes of input: the properties that decide where blocks, groups and windows end, drawn from a seed or from the
//! bytes of a fuzzer.
//!
//! A [`Shape`] fixes the length of the keys' shared prefix, the number of rows, the form of their key suffixes and
//! values, the way they are written (sorted, unsorted, through a store, by a join), and the design, blocks and memory.
//! [`Shape::check`] writes the rows that way and compares every answer with the sorted rows. One seed is one case.

mod check;
mod choices;
mod draw;
mod ends;
mod join;
mod rows;
mod run;
mod shape;
mod store;
mod values;

pub use check::Effort;
pub use choices::Choices;
pub use shape::{Ends, JoinForm, Relation, Shape, ShapeFailure, StoreForm, TableForm, Way};
pub use values::Values;
