//! Sub-commands, one file each: arguments, work, and output.

pub(crate) mod build;
pub(crate) mod completions;
pub(crate) mod count;
pub(crate) mod db;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod index;
pub(crate) mod info;
pub(crate) mod join;
pub(crate) mod lookup_keys;
pub(crate) mod man;
pub(crate) mod nth;
pub(crate) mod ordered_map;
pub(crate) mod place;
pub(crate) mod place_flags;
pub(crate) mod profile;
pub(crate) mod query;
pub(crate) mod rank;
pub(crate) mod repair;
pub(crate) mod report;
pub(crate) mod scan;
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod stored;
mod subcommands;
pub(crate) mod tune;
pub(crate) mod verbs;
pub(crate) mod verify;

pub(crate) use subcommands::subcommands;
