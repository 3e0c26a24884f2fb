//! The name and the header of a write-ahead log.

use super::version::{FileKind, file_name};
use crate::block::header::HeaderKind;
use crate::file_format::STORE_LOG_MAGIC;
use std::path::Path;

/// The header of logs.
pub(in crate::lsm) const HEADER: HeaderKind =
    HeaderKind { magic: &STORE_LOG_MAGIC, development_magic: b"OGIVEWAL", version: 1 };

/// The file name of a log.
pub(crate) fn log_name(number: u64) -> String {
    file_name(number, FileKind::Log)
}

/// The store of log `number`, as its first bytes say.
pub(crate) fn store_of(bytes: &[u8], number: u64) -> Option<u64> {
    let header = HEADER.decode(bytes, Path::new("")).ok()??;
    (header.number == number).then_some(header.binding.store)
}
