//! `ogive index`: commands on indexes, one file each.

mod any;
mod arguments;
mod create;
mod delete;
mod explain;
mod file;
mod info;
mod kind;
mod load;
mod put;
mod relation;
mod repair;
mod report;
mod stats;
mod text;
mod verify;

pub(crate) use any::OpenIndex;
pub(crate) use arguments::{EXAMPLES, IndexCommand};
pub(crate) use explain::explain;
pub(crate) use file::{IndexFile, PayloadOptions};
pub(crate) use info::info;
pub(crate) use kind::is_index;
pub(crate) use relation::{input, relation};
pub(crate) use repair::recover;
pub(crate) use report::picture;
pub(crate) use text::Form;
pub(crate) use verify::verify_at;
