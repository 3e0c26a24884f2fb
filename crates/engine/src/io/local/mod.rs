//! Files of the local system: folders, direct reads, open files, links.

pub(super) mod direct;
pub(super) mod folder;
pub(super) mod large_buffer;
pub(super) mod links;
pub(super) mod local_file;
pub(super) mod open_files;
#[cfg(test)]
#[cfg(unix)]
mod open_files_tests;
pub(super) mod positional;
pub(super) mod scratch;
pub(super) mod stream;
pub(crate) mod sync;
pub(super) mod update;
