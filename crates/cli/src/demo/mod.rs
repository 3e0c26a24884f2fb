//! Parts of `ogive demo`: real data that every machine has, the tables made of them, and the questions put to them.

mod dates;
mod files;
mod lookups;
mod show;
mod tables;
mod walk;

pub(crate) use files::Files;
pub(crate) use show::{print, to_json};
pub(crate) use tables::make_all;
pub(crate) use walk::{Found, Walk};
