//! `ogive index`: commands on indexes, one file each.

mod any;
mod arguments;
mod count;
mod create;
mod delete;
mod explain;
mod file;
mod get;
mod info;
mod load;
mod put;
mod relation;
mod repair;
mod report;
mod scan;
mod stats;
mod text;
mod verify;

pub(crate) use arguments::{EXAMPLES, IndexCommand};
pub(crate) use info::info;
pub(crate) use relation::{input, is_index, relation};
pub(crate) use report::picture;
pub(crate) use verify::verify_at;
