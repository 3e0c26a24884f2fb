//! Parts of `ogive demo`: generated events or the files below a folder as data, tables built from them, and lookups.

mod events;
mod files;
mod lookups;
mod next;
mod show;
mod tables;
mod versus;
mod walk;

pub(crate) use files::Files;
pub(crate) use show::{print, to_json};
pub(crate) use tables::make_all;
pub(crate) use versus::Versus;
pub(crate) use walk::{FoundFile, Walk};
