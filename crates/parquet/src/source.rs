//! The choice of data files, in a folder or by a list, and the columns that their paths state.

use crate::catalog::PathColumn;
use crate::error::{ParquetIndexError, Result};
use crate::folder::{Folder, join, split};
use arrow_array::{ArrayRef, Date32Array, Int64Array, StringArray, new_null_array};
use arrow_schema::{DataType, Field};
use ogive::KeyType;
use ogive::types::Value;
use std::path::Path;
use std::sync::Arc;

/// Endings of the names of data files in a folder.
const ENDINGS: [&str; 3] = [".parquet", ".parq", ".pq"];
/// How folders write that a column has no value.
const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// The data files below `root`, by paths relative to it; with `listed`, these and no others.
///
/// # Errors
/// [`ParquetIndexError::TableFormat`]; [`ParquetIndexError::NotIndexable`] if there is none; errors of the storage.
pub(crate) fn find_files(folder: &dyn Folder, root: &str, listed: Option<&[String]>) -> Result<Vec<String>> {
    if let Some(listed) = listed {
        let mut listed = listed.iter().map(|path| one_spelling(path)).collect::<Result<Vec<_>>>()?;
        listed.sort();
        listed.dedup();
        if listed.is_empty() {
            return Err(not_indexable(root, "the list of files is empty; name a file on each line"));
        }
        return Ok(listed);
    }
    let all = folder.list(root)?;
    if all == [""] {
        return Ok(all);
    }
    if let Some((below, format)) = all.iter().find_map(|path| table_format(path)) {
        return Err(ParquetIndexError::TableFormat { path: join(root, below).into(), format });
    }
    refuse_part_of_table(folder, root)?;
    let is_data = |path: &&String| {
        let is_hidden = path.split('/').any(|part| part.starts_with(['_', '.']) && !part.contains('='));
        !is_hidden && ENDINGS.iter().any(|ending| path.to_ascii_lowercase().ends_with(ending))
    };
    let found: Vec<String> = all.iter().filter(is_data).cloned().collect();
    if found.is_empty() {
        let detail = "no file in it or below ends in .parquet; name the file, or list the files (`--files LIST`)";
        let path = shown(folder, root, "");
        return Err(ParquetIndexError::NotIndexable { path, detail: detail.to_owned() });
    }
    Ok(found)
}

/// A listed path as a folder would list it, so that a file that is listed twice is indexed once.
fn one_spelling(path: &str) -> Result<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." if parts.pop().is_none() => {
                return Err(not_indexable(path, "it lies outside the folder of the data; give a folder above it"));
            }
            ".." => {}
            part => parts.push(part),
        }
    }
    if path.starts_with('/') {
        return Err(not_indexable(
            path,
            "a list names files by their paths in the folder of the data; shorten the path",
        ));
    }
    Ok(parts.join("/"))
}

fn not_indexable(root: &str, detail: &str) -> ParquetIndexError {
    let path = if root.is_empty() { "." } else { root };
    ParquetIndexError::NotIndexable { path: path.into(), detail: detail.to_owned() }
}

/// Folders in which table formats keep what says which files belong to the table.
const TABLE_FOLDERS: [&str; 3] = ["_delta_log", ".hoodie", "metadata"];

/// Refuses a folder that is a table, which a listing without sub-folders does not show, or a part of one.
///
/// # Errors
/// [`ParquetIndexError::TableFormat`].
fn refuse_part_of_table(folder: &dyn Folder, root: &str) -> Result<()> {
    let mut above = root.trim_end_matches('/');
    loop {
        for inner in TABLE_FOLDERS {
            // What cannot be listed is not there, or is none of ours.
            let Ok(names) = folder.storage(&join(above, inner)).and_then(|storage| Ok(storage.list()?)) else {
                continue;
            };
            let found = names.iter().find_map(|name| table_format(&join(inner, name)).map(|(_, format)| format));
            if let Some(format) = found {
                let path = if above.is_empty() { "." } else { above };
                return Err(ParquetIndexError::TableFormat { path: path.into(), format });
            }
        }
        // Not beyond the folder of the index, the root of the file system, or the bucket of a URL.
        let is_whole = root.starts_with('/') || root.contains("://");
        above = match above.rsplit_once('/') {
            Some((above, _)) if !above.is_empty() && !above.ends_with(":/") => above,
            None if !above.is_empty() && !is_whole => "",
            _ => return Ok(()),
        };
    }
}

/// The folder of a table, and its format, that a file belongs to.
fn table_format(path: &str) -> Option<(&str, &'static str)> {
    let (folder, name) = split(path);
    let above = |inner: &str| match folder.strip_suffix(inner)? {
        "" => Some(""),
        above => above.strip_suffix('/'),
    };
    let ends_in = |folder: &str| path.find(folder).filter(|&at| at == 0 || path.as_bytes()[at - 1] == b'/');
    if let Some(at) = ends_in("_delta_log/") {
        return Some((path[..at].trim_end_matches('/'), "Delta Lake"));
    }
    if let Some(at) = ends_in(".hoodie/") {
        return Some((path[..at].trim_end_matches('/'), "Hudi"));
    }
    let is_iceberg = name.ends_with(".metadata.json") || name == "version-hint.text";
    above("metadata").filter(|_| is_iceberg).map(|above| (above, "Iceberg"))
}

/// The columns that the folders of a path state, with their values.
fn stated(path: &str) -> Vec<(String, Option<String>)> {
    let folders = split(path).0.split('/');
    let pairs = folders.filter_map(|part| part.split_once('=')).filter(|(name, _)| !name.is_empty());
    pairs.map(|(name, value)| (decoded(name), (value != NULL_FOLDER).then(|| decoded(value)))).collect()
}

/// A part of a path without its escapes, as `%3A`.
fn decoded(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).filter(|_| byte == b'%').and_then(|it| std::str::from_utf8(it).ok());
        // Numbers may have a sign, and escapes do not.
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| part.to_owned())
}

/// The columns that the paths state, without those that `exists` says the files have, and their values for each file.
pub(crate) fn path_columns(
    paths: &[String],
    exists: &dyn Fn(&str) -> bool,
) -> (Vec<PathColumn>, Vec<Vec<Option<String>>>) {
    let all: Vec<_> = paths.iter().map(|path| stated(path)).collect();
    let mut columns: Vec<PathColumn> = Vec::new();
    for (name, _) in all.iter().flatten() {
        if columns.iter().all(|known| known.name != *name) && !exists(name) {
            columns.push(PathColumn { name: name.clone(), key_type: KeyType::Text });
        }
    }
    let value = |of: &[(String, Option<String>)], column: &PathColumn| {
        of.iter().find(|(name, _)| *name == column.name).and_then(|(_, value)| value.clone())
    };
    for column in &mut columns {
        let values: Vec<String> = all.iter().filter_map(|of| value(of, column)).collect();
        let all_are = |key_type: KeyType| {
            let is_one = |text: &String| key_type.parse(text).is_ok_and(|key| key_type.display(&key) == **text);
            !values.is_empty() && values.iter().all(is_one)
        };
        column.key_type = [KeyType::I64, KeyType::Date].into_iter().find(|&it| all_are(it)).unwrap_or(KeyType::Text);
    }
    let values = all.iter().map(|of| columns.iter().map(|column| value(of, column)).collect()).collect();
    (columns, values)
}

impl PathColumn {
    fn data_type(&self) -> DataType {
        match self.key_type {
            KeyType::I64 => DataType::Int64,
            KeyType::Date => DataType::Date32,
            _ => DataType::Utf8,
        }
    }

    /// The column as Arrow has it.
    pub(crate) fn field(&self) -> Field {
        Field::new(&self.name, self.data_type(), true)
    }

    /// The column of a file with a value for all its rows.
    pub(crate) fn array(&self, value: Option<&str>, rows: usize) -> ArrayRef {
        let Some(text) = value else { return new_null_array(&self.data_type(), rows) };
        let number = || match self.key_type.parse(text).and_then(|key| self.key_type.decode(&key)) {
            Ok(Value::Signed(number)) => Some(number),
            _ => None,
        };
        match self.key_type {
            KeyType::I64 => Arc::new(Int64Array::from(vec![number().and_then(|it| i64::try_from(it).ok()); rows])),
            KeyType::Date => Arc::new(Date32Array::from(vec![number().and_then(|it| i32::try_from(it).ok()); rows])),
            _ => Arc::new(StringArray::from(vec![text; rows])),
        }
    }
}

/// The path of a data file for messages.
pub(crate) fn shown(folder: &dyn Folder, root: &str, path: &str) -> std::path::PathBuf {
    let full = join(root, path);
    let (of, name) = split(&full);
    folder.storage(of).map_or_else(|_| Path::new(&full).to_owned(), |storage| storage.path(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_table_formats_are_told_from_others() {
        assert_eq!(table_format("_delta_log/000.json"), Some(("", "Delta Lake")));
        assert_eq!(table_format("a/b/_delta_log/000.json"), Some(("a/b", "Delta Lake")));
        assert_eq!(table_format("t/metadata/v1.metadata.json"), Some(("t", "Iceberg")));
        assert_eq!(table_format("metadata/version-hint.text"), Some(("", "Iceberg")));
        assert_eq!(table_format(".hoodie/hoodie.properties"), Some(("", "Hudi")));
        assert_eq!(table_format("metadata/a.parquet"), None);
        assert_eq!(table_format("my_delta_log/a.parquet"), None);
    }

    #[test]
    fn parts_of_paths_become_typed_columns() {
        let paths =
            ["dt=2026-01-01/n=1/k=a%2Fb%+5/x.parquet", "dt=2026-01-02/n=-2/k=__HIVE_DEFAULT_PARTITION__/x.parquet"];
        let (columns, values) = path_columns(&paths.map(String::from), &|name| name == "own");
        let types: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.key_type)).collect();
        assert_eq!(types, [("dt", KeyType::Date), ("n", KeyType::I64), ("k", KeyType::Text)]);
        assert_eq!(values[0][2].as_deref(), Some("a/b%+5"));
        assert_eq!(values[1], [Some("2026-01-02".into()), Some("-2".into()), None]);
        assert!(path_columns(&["own=1/x.parquet".into()], &|name| name == "own").0.is_empty());
    }
}
