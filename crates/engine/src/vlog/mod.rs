//! The value log: files of values that are written once, apart from their keys (WiscKey).
//!
//! A [`ValueWriter`] appends values; the [`ValuePlace`] that it returns is all that a [`ValueFile`] needs to read the value again,
//! by one read if it has up to 64 KiB. `vlog` knows files and places: which values are alive is known by whoever holds the places.

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
