//! The value log: append-only files of values, separate from their keys (WiscKey).
//!
//! A `ValueWriter` appends values and returns a `ValuePointer` for each. A `ValueFile` reads a value by its pointer, in
//! one read if the value has at most 64 KiB. This module knows files and pointers only; the holders of the pointers
//! know which values are live.

mod chunk;
mod file;
mod place;
mod stream;
mod walk;
mod write;

pub(crate) use file::{ValueFile, values_name};
pub(crate) use place::ValuePlace;
pub(crate) use stream::ValueStream;
pub(crate) use walk::Found;
pub(crate) use write::ValueWriter;

#[cfg(test)]
mod tests;
