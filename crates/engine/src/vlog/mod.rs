//! The value log: append-only files of values, separate from their keys (WiscKey).
//!
//! A `ValueFileWriter` appends values and returns a `ValueFilePointer` for each. A `ValueFile` reads a value by its
//! pointer, in one read if the value has at most 64 KiB. This module knows files and pointers only; the holders of the
//! pointers know which values are live.

mod chunk;
mod file;
mod pointer;
mod scan;
mod stream;
mod write;

pub(crate) use file::{ValueFile, values_name};
pub(crate) use pointer::ValueFilePointer;
pub(crate) use scan::ScannedItem;
pub(crate) use stream::ValueStream;
pub(crate) use write::ValueFileWriter;

#[cfg(test)]
mod tests;
