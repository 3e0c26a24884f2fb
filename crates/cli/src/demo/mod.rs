//! Parts of `ogive demo`: the files of the machine as data, tables built from them, and lookups.

mod files;
mod lookups;
mod next;
mod show;
mod tables;
mod walk;

pub(crate) use files::Files;
pub(crate) use show::{print, to_json};
pub(crate) use tables::make_all;
pub(crate) use walk::{FoundFile, Walk};
