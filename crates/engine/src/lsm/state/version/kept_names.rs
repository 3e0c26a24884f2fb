//! Names of the files that a store has for its followers: kept logs and tables, their record, and subscribers.

use super::file_names::{FileKind, file_name, parse_file_name};

/// The name of the record of what is kept.
pub(in crate::lsm) const RECORD_NAME: &str = "CHANGES";
/// The end of the names of files that are being written.
pub(in crate::lsm) const NEW_SUFFIX: &str = ".new";
/// The ends of names of kept files and of subscribers.
const KEPT_SUFFIX: &str = ".kept";
const SUBSCRIBER_SUFFIX: &str = ".subscriber";
/// The longest name of a subscriber, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The name of a log or a table that is kept.
pub(in crate::lsm) fn kept_name(number: u64, kind: FileKind) -> String {
    file_name(number, kind) + KEPT_SUFFIX
}

/// Whether a name is one of a kept log or table.
pub(in crate::lsm) fn is_kept_file(name: &str) -> bool {
    let kept = name.strip_suffix(KEPT_SUFFIX).and_then(parse_file_name);
    matches!(kept, Some((_, FileKind::Log | FileKind::Table)))
}

/// Whether a name is one of a file for followers.
pub(in crate::lsm) fn is_name_of_changes(name: &str) -> bool {
    let name = name.strip_suffix(NEW_SUFFIX).unwrap_or(name);
    name == RECORD_NAME || is_kept_file(name) || subscriber_of(name).is_some()
}

/// Whether a subscriber may have this name: letters, digits, `_` and `-`.
pub(in crate::lsm) fn is_subscriber_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain)
}

/// The name of the file of a subscriber.
pub(in crate::lsm) fn subscriber_file(name: &str) -> String {
    format!("{name}{SUBSCRIBER_SUFFIX}")
}

/// The subscriber whose file has this name.
pub(in crate::lsm) fn subscriber_of(name: &str) -> Option<&str> {
    name.strip_suffix(SUBSCRIBER_SUFFIX).filter(|name| is_subscriber_name(name))
}
