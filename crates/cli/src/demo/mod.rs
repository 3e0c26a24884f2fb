//! Parts of `ogive demo`: real data that every machine has.

mod walk;

pub(crate) use walk::{Found, Walk};
