//! File names of a store.

use crate::error::Result;
use crate::io::Storage;
use crate::table::sort::SORT_SUFFIX;
use crate::vlog::values_name;

/// The lock file of a store that is open for writing.
pub(crate) const LOCK_NAME: &str = "LOCK";

/// The kind of a numbered file of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum FileKind {
    Table,
    Log,
    Values,
    Manifest,
    /// An incomplete manifest.
    NewManifest,
}

impl FileKind {
    const ALL: [Self; 5] = [Self::Table, Self::Log, Self::Values, Self::Manifest, Self::NewManifest];

    fn suffix(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Log => "log",
            Self::Values => "values",
            Self::Manifest => "manifest",
            Self::NewManifest => "manifest.new",
        }
    }
}

/// The name of file `number`, with at least six digits so that listings are sorted.
pub(crate) fn file_name(number: u64, kind: FileKind) -> String {
    match kind {
        FileKind::Values => values_name(number),
        kind => format!("{number:06}.{}", kind.suffix()),
    }
}

/// What the entries of ingested rows are sorted under, behind a number.
const ENTRIES: &str = "entries";

/// The number and kind of a file; `None` for a name that [`file_name`] does not produce.
pub(crate) fn parse_file_name(name: &str) -> Option<(u64, FileKind)> {
    let (digits, suffix) = name.split_once('.')?;
    let kind = FileKind::ALL.into_iter().find(|kind| kind.suffix() == suffix)?;
    let number = digits.parse().ok()?;
    (file_name(number, kind) == name).then_some((number, kind))
}

/// The final name of a table being written, or left by a killed writer; any other name unchanged.
pub(crate) fn final_name(name: &str) -> &str {
    let whole = name.strip_suffix(".ogive-tmp").and_then(|rest| rest.rsplit_once('.'));
    match whole {
        Some((table, id)) if id.len() == 16 && id.bytes().all(|digit| digit.is_ascii_hexdigit()) => table,
        _ => name,
    }
}

/// The beginning of the names under which the entries of ingested rows are sorted, by a number of a file.
pub(crate) fn ingestion_sort_name(number: u64) -> String {
    format!("{number:06}.{ENTRIES}")
}

/// Whether a file was made while such entries were sorted.
pub(super) fn is_ingestion_sort(name: &str) -> bool {
    let mut parts = name.splitn(3, '.');
    let is_number = |text: Option<&str>| text.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    is_number(parts.next())
        && parts.next() == Some(ENTRIES)
        && parts.next().is_some_and(|rest| rest.ends_with(SORT_SUFFIX))
}

/// File numbers of a store are smaller than this.
pub(crate) const FILE_NUMBER_MAX: u64 = 1 << 62;

/// The largest number of any file of the store; 0 if there is none. Invalid numbers are ignored.
pub(crate) fn largest_number(storage: &dyn Storage) -> Result<u64> {
    let names = storage.list()?;
    let numbers = names.iter().filter_map(|name| parse_file_name(name)).map(|(number, _)| number);
    Ok(numbers.filter(|&number| number < FILE_NUMBER_MAX).max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_other_spellings_are_none_of_ours() {
        for kind in FileKind::ALL {
            for number in [0, 1, 999_999, 1_000_000, u64::MAX] {
                assert_eq!(parse_file_name(&file_name(number, kind)), Some((number, kind)));
            }
        }
        assert_eq!(final_name("000007.table.0123456789abcdef.ogive-tmp"), "000007.table");
        for name in ["000007.table", "000007.table.bak", "000007.tables", "000007.table.0123.ogive-tmp", ".ogive-tmp"] {
            assert_eq!(final_name(name), name, "files of others");
        }
        for name in ["7.table", "0000007.table", "+00007.table", "000007.tables", "000007", "LOCK", "-00007.log"] {
            assert_eq!(parse_file_name(name), None, "{name}");
        }
    }
}
