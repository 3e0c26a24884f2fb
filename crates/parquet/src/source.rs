//! The choice of data files, in a folder or by a list, and the columns that their paths state.

use crate::catalog::PathColumn;
use crate::error::{ParquetIndexError, Remedy, Result};
use crate::folder::{Folder, PathFolder, join, shown, split};
use crate::table_log::{LogFolder, METADATA_ENDINGS, VERSION_HINT, delta_reason, iceberg_reason};
use arrow_array::{ArrayRef, Date32Array, Int64Array, StringArray, new_null_array};
use arrow_schema::{DataType, Field};
use ogive::io::{locate_folder, remote_url};
use ogive::types::Value;
use ogive::{Advice, Call, KeyType, Storage};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Endings of the names of data files in a folder.
const ENDINGS: [&str; 3] = [".parquet", ".parq", ".pq"];
/// How folders write that a column has no value.
pub(crate) const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// The data files of an index.
#[derive(Debug)]
pub(crate) struct FoundFiles {
    /// Their paths, relative to the root.
    pub(crate) paths: Vec<String>,
    /// Why they do not show the rows of the lake table that they belong to, where that is ignored.
    pub(crate) warnings: Vec<String>,
}

/// The data files below `root`, by paths relative to it; with `listed`, these and no others. Files of a lake table
/// whose log says that they do not show its rows are refused, unless the log is ignored.
///
/// # Errors
/// [`ParquetIndexError::TableFormat`]; [`ParquetIndexError::TableLog`]; [`ParquetIndexError::NotIndexable`] if there is
/// none; errors of the storage.
pub(crate) fn find_files(
    folder: &Arc<dyn Folder>,
    root: &str,
    listed: Option<&[String]>,
    ignores_log: bool,
) -> Result<FoundFiles> {
    let named = match listed {
        Some(listed) => Some(one_spelling_each(root, listed)?),
        None => None,
    };
    let (paths, reasons) = match named {
        Some(named) => (named.clone(), log_reasons(folder, root, &named)),
        None => match folder.list(root)? {
            all if all == [""] => (all.clone(), log_reasons(folder, root, &all)),
            all => below(&**folder, root, &all)?,
        },
    };
    let warnings = told(reasons, ignores_log)?;
    Ok(FoundFiles { paths, warnings })
}

/// Warnings of what logs of lake tables say, if it is ignored.
///
/// # Errors
/// [`ParquetIndexError::TableLog`] if it is not.
fn told(reasons: Vec<LogReason>, ignores_log: bool) -> Result<Vec<String>> {
    match reasons.first() {
        Some(first) if !ignores_log => {
            let LogReason { path, format, detail } = first.clone();
            Err(ParquetIndexError::TableLog { path, format, detail })
        }
        _ => Ok(reasons.iter().map(LogReason::warning).collect()),
    }
}

/// Checks a Parquet file that is read without an index, at a path or URL: whether the log of a lake table in whose
/// folder it lies says that it does not show the rows of the table. With `ignores_log`, returns warnings instead.
///
/// # Errors
/// [`ParquetIndexError::TableLog`]; those of finding the file.
pub fn check_table_log(path: &Path, ignores_log: bool) -> Result<Vec<String>> {
    let Some((folder, whole)) = located(path)? else { return Ok(Vec::new()) };
    told(log_reasons(&folder, "", &[whole]), ignores_log)
}

/// The folder that leads to a path or URL, and the path that it has there; `None` for a path that is no text, which is
/// not one of a lake table's.
fn located(path: &Path) -> Result<Option<(Arc<dyn Folder>, String)>> {
    Ok(match remote_url(path) {
        Some(url) => Some(match url.split_once('?') {
            Some((url, query)) => (Arc::new(QueriedFolder(query.to_owned())), url.to_owned()),
            None => (Arc::new(PathFolder::new("")), url.to_owned()),
        }),
        None => {
            let whole = path.canonicalize().map_err(|source| ogive::Error::io("read", path, source))?;
            whole.to_str().map(|whole| (Arc::new(PathFolder::new("")) as Arc<dyn Folder>, whole.to_owned()))
        }
    })
}

/// The files in a folder and below it that are read one after another, without an index, and what their paths state.
#[derive(Clone, Debug)]
pub struct FolderFiles {
    root: String,
    paths: Vec<String>,
    hidden: Vec<String>,
    warnings: Vec<String>,
}

impl FolderFiles {
    /// The files in the folder at a path or URL, of any format, without those whose names, or those of their folders,
    /// begin with `_` or `.`.
    ///
    /// # Errors
    /// [`ParquetIndexError::TableFormat`] for the folder of a lake table, whose log says which files count;
    /// [`ParquetIndexError::TableLog`] for a part of one, unless the log is ignored; those of listing it.
    pub fn of(path: &Path, ignores_log: bool) -> Result<Self> {
        let Some((folder, root)) = located(path)? else {
            let detail = "its path is not text in UTF-8; rename the folder".to_owned();
            return Err(ParquetIndexError::NotIndexable { path: path.to_owned(), detail });
        };
        let all = folder.list(&root)?;
        let reasons = refuse_table(&*folder, &root, &all)?;
        let (hidden, paths) = all.into_iter().partition(|path| is_hidden(path));
        Ok(Self { root, paths, hidden, warnings: told(reasons, ignores_log)? })
    }

    /// The paths of the files, relative to the folder, with `/` between their parts; sorted.
    #[must_use]
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The paths of the files whose names, or those of their folders, begin with `_` or `.`.
    #[must_use]
    pub fn hidden(&self) -> &[String] {
        &self.hidden
    }

    /// Why the files may not show the rows of the lake table that they belong to, where that is ignored.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The columns that the folders of one path state, with their values.
    #[must_use]
    pub fn stated_in(path: &str) -> Vec<(String, Option<String>)> {
        stated(path)
    }

    /// The columns that the folders of these files state, as `dt=2026-01-01`, with their types, and their values for
    /// each file; `None` is a null. Columns that `exists` says the files have are not among them, and those that are
    /// `known` keep their types.
    ///
    /// # Errors
    /// [`ParquetIndexError::Unstated`] for values that leave the type open, [`ParquetIndexError::NotIndexable`] for
    /// those that contradict one another.
    pub fn stated_columns(
        &self,
        paths: &[String],
        exists: &dyn Fn(&str) -> bool,
        known: &[(String, KeyType)],
    ) -> Result<StatedColumns> {
        let known = known.iter().map(|(name, key_type)| PathColumn { name: name.clone(), key_type: *key_type });
        let (columns, values) = path_columns(&self.root, paths, exists, &known.collect::<Vec<_>>())?;
        let columns = columns.into_iter().map(|column| (column.name, column.key_type)).collect();
        Ok(StatedColumns { columns, values })
    }
}

/// The columns that paths of files state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatedColumns {
    /// Their names and types.
    pub columns: Vec<(String, KeyType)>,
    /// The value of each column for each file, as text; `None` is a null.
    pub values: Vec<Vec<Option<String>>>,
}

/// The folders of URLs with the query of one of them, which has options of the store.
#[derive(Debug)]
struct QueriedFolder(String);

impl Folder for QueriedFolder {
    fn storage(&self, path: &str) -> Result<Arc<dyn Storage>> {
        Ok(locate_folder(format!("{path}?{}", self.0))?)
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        Ok(self.storage(path)?.list_below()?)
    }
}

/// Listed paths, each once.
fn one_spelling_each(root: &str, listed: &[String]) -> Result<Vec<String>> {
    let mut listed = listed.iter().map(|path| one_spelling(path)).collect::<Result<Vec<_>>>()?;
    listed.sort();
    listed.dedup();
    if listed.is_empty() {
        return Err(not_indexable(root, "the list of files is empty; name a file on each line"));
    }
    Ok(listed)
}

/// Refuses a folder of a lake table, by all files in it, and returns what is in the way of reading logs above it.
///
/// # Errors
/// [`ParquetIndexError::TableFormat`].
fn refuse_table(folder: &dyn Folder, root: &str, all: &[String]) -> Result<Vec<LogReason>> {
    match all.iter().find_map(|path| table_format(path)) {
        Some((below, format)) => Err(ParquetIndexError::TableFormat { path: join(root, below).into(), format }),
        None => refuse_part_of_table(folder, root),
    }
}

/// Whether a path in a folder is of a file that is not one of its data, by the names of its parts.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with(['_', '.']) && !part.contains('='))
}

/// The data files among all files in a folder, and what is in the way of reading logs above it.
fn below(folder: &dyn Folder, root: &str, all: &[String]) -> Result<(Vec<String>, Vec<LogReason>)> {
    let reasons = refuse_table(folder, root, all)?;
    let is_data =
        |path: &&String| !is_hidden(path) && ENDINGS.iter().any(|ending| path.to_ascii_lowercase().ends_with(ending));
    let found: Vec<String> = all.iter().filter(is_data).cloned().collect();
    if found.is_empty() {
        let detail = "no file in it or below ends in .parquet; name the file, or list the files".to_owned();
        let (path, remedy) = (shown(folder, root, ""), Box::new(Remedy::Take(Advice::Use(Call::ListFiles))));
        return Err(ParquetIndexError::Unstated { path, detail, remedy });
    }
    Ok((found, reasons))
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

/// The error for a column of paths whose type is one of `types`.
fn untyped(root: &str, column: &str, detail: String, types: &'static [&'static str]) -> ParquetIndexError {
    let path = if root.is_empty() { "." } else { root };
    let remedy = Box::new(Remedy::PartitionType { column: column.to_owned(), types });
    ParquetIndexError::Unstated { path: path.into(), detail, remedy }
}

/// Folders in which table formats keep what says which files belong to the table, and those formats.
const TABLE_FOLDERS: [(&str, &str); 3] = [("_delta_log", "Delta Lake"), (".hoodie", "Hudi"), ("metadata", "Iceberg")];

/// Why the log of a lake table keeps files from showing its rows.
#[derive(Clone, Debug)]
struct LogReason {
    /// The folder of the table.
    path: PathBuf,
    format: &'static str,
    detail: String,
}

impl LogReason {
    fn unlistable(path: PathBuf, format: &'static str, error: &str) -> Self {
        Self { path, format, detail: format!("cannot be read ({error})") }
    }

    fn warning(&self) -> String {
        let Self { path, format, detail } = self;
        format!("{} is a table of {format}, whose log {detail}, so its files may not show its rows", path.display())
    }
}

/// Whether files of these names in a folder of a lake table make it one. Of some folders the name alone does.
fn is_table_folder(inner: &str, names: &[String]) -> bool {
    let is_table = |name: &str| table_format(&format!("{inner}/{name}")).is_some();
    is_table("") || names.iter().any(|name| is_table(name))
}

/// Refuses a folder that is a table, which a listing without sub-folders does not show, or a part of one. Returns what
/// cannot be listed.
///
/// # Errors
/// [`ParquetIndexError::TableFormat`].
fn refuse_part_of_table(folder: &dyn Folder, root: &str) -> Result<Vec<LogReason>> {
    let mut unlistable = Vec::new();
    for above in folders_above(root) {
        for (inner, format) in TABLE_FOLDERS {
            let path = || PathBuf::from(if above.is_empty() { "." } else { above });
            match LogFolder::of(folder, &join(above, inner)) {
                LogFolder::Names(names) if is_table_folder(inner, &names) => {
                    return Err(ParquetIndexError::TableFormat { path: path(), format });
                }
                LogFolder::Absent | LogFolder::Names(_) => {}
                LogFolder::Unlistable(error) => unlistable.push(LogReason::unlistable(path(), format, &error)),
            }
        }
    }
    Ok(unlistable)
}

/// A folder and those above it, but not beyond the folder of the index, the root of the file system, or the bucket of a
/// URL.
fn folders_above(folder: &str) -> impl Iterator<Item = &str> {
    let is_whole = folder.starts_with('/') || folder.contains("://");
    std::iter::successors(Some(folder.trim_end_matches('/')), move |below| match below.rsplit_once('/') {
        Some((above, _)) if !above.is_empty() && !above.ends_with(":/") => Some(above),
        None if !below.is_empty() && !is_whole => Some(""),
        _ => None,
    })
}

/// Why files do not show the rows of the lake tables in whose folders they lie.
fn log_reasons(folder: &Arc<dyn Folder>, root: &str, paths: &[String]) -> Vec<LogReason> {
    let of_files: BTreeSet<String> = paths.iter().map(|path| split(&join(root, path)).0.to_owned()).collect();
    let all: BTreeSet<&str> = of_files.iter().flat_map(|of| folders_above(of)).collect();
    let of_log = |above: &str, (inner, format): (&'static str, &'static str)| {
        let (log, path) = (join(above, inner), shown(&**folder, above, ""));
        let detail = match LogFolder::of(&**folder, &log) {
            LogFolder::Unlistable(error) => return Some(LogReason::unlistable(path, format, &error)),
            LogFolder::Names(names) if is_table_folder(inner, &names) => match format {
                "Delta Lake" => delta_reason(folder, &log, &names),
                "Iceberg" => iceberg_reason(folder, &log, &names),
                _ => None,
            },
            LogFolder::Absent | LogFolder::Names(_) => None,
        };
        detail.map(|detail| LogReason { path, format, detail })
    };
    let of_folder = |above: &str| TABLE_FOLDERS.into_iter().find_map(|kind| of_log(above, kind));
    all.into_iter().filter_map(of_folder).collect()
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
    let is_iceberg = METADATA_ENDINGS.iter().any(|ending| name.ends_with(ending)) || name == VERSION_HINT;
    above("metadata").filter(|_| is_iceberg).map(|above| (above, "Iceberg"))
}

/// The columns that the folders of a path state, with their values.
pub(crate) fn stated(path: &str) -> Vec<(String, Option<String>)> {
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

/// The columns that paths state, and the values of each for each file.
pub(crate) type PathColumns = (Vec<PathColumn>, Vec<Vec<Option<String>>>);

/// The columns that the paths state, without those that `exists` says the files have, and their values for each file.
/// Columns that are known keep their types.
///
/// # Errors
/// [`ParquetIndexError::NotIndexable`] for values that leave the type open, or are not of the type that is known.
pub(crate) fn path_columns(
    root: &str,
    paths: &[String],
    exists: &dyn Fn(&str) -> bool,
    known: &[PathColumn],
) -> Result<PathColumns> {
    let all: Vec<_> = paths.iter().map(|path| stated(path)).collect();
    for (path, of) in paths.iter().zip(&all) {
        let other = |(name, value): &(String, Option<String>)| of.iter().any(|(one, it)| one == name && it != value);
        if let Some((name, _)) = of.iter().find(|pair| other(pair)) {
            let detail = format!("its folders state several values of column '{name}'; move it to another folder");
            return Err(not_indexable(&join(root, path), &detail));
        }
    }
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
        let values: BTreeSet<String> = all.iter().filter_map(|of| value(of, column)).collect();
        let name = &column.name;
        if let Some(known) = known.iter().find(|known| known.name == *name) {
            column.key_type = known.key_type;
            if let Some(other) = values.iter().find(|text| known.key_type.parse(text).is_err()) {
                let detail = format!(
                    "folder {name}={other} is not of type {}, which column '{name}' has; build the index again",
                    known.key_type
                );
                return Err(untyped(root, name, detail, &["text"]));
            }
            continue;
        }
        column.key_type =
            type_of_values(name, &values).map_err(|detail| untyped(root, name, detail, &["i64", "text"]))?;
    }
    let values = all.iter().map(|of| columns.iter().map(|column| value(of, column)).collect()).collect();
    Ok((columns, values))
}

/// The type of the values of a column of paths: integers are digits of one width, or without leading zeros.
fn type_of_values(name: &str, values: &BTreeSet<String>) -> Result<KeyType, String> {
    let are = |key_type: KeyType| !values.is_empty() && values.iter().all(|text| key_type.parse(text).is_ok());
    let digits = |text: &str| text.strip_prefix('-').unwrap_or(text).to_owned();
    let is_integer = |text: &String| !digits(text).is_empty() && digits(text).bytes().all(|it| it.is_ascii_digit());
    if values.iter().all(is_integer) && are(KeyType::I64) {
        let begins_with_zero = |text: &&String| digits(text).len() > 1 && digits(text).starts_with('0');
        let Some(padded) = values.iter().find(begins_with_zero) else { return Ok(KeyType::I64) };
        let Some(other) = values.iter().find(|text| text.len() != padded.len() || text.starts_with('-')) else {
            return Ok(KeyType::I64);
        };
        return Err(format!("folders {name}={padded} and {name}={other} leave open whether they are numbers or text"));
    }
    let are_dates = are(KeyType::Date) && values.iter().all(|text| text.len() == "2026-01-01".len());
    Ok(if are_dates { KeyType::Date } else { KeyType::Text })
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
        let (columns, values) = path_columns("", &paths.map(String::from), &|name| name == "own", &[]).unwrap();
        let types: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.key_type)).collect();
        assert_eq!(types, [("dt", KeyType::Date), ("n", KeyType::I64), ("k", KeyType::Text)]);
        assert_eq!(values[0][2].as_deref(), Some("a/b%+5"));
        assert_eq!(values[1], [Some("2026-01-02".into()), Some("-2".into()), None]);
        assert!(path_columns("", &["own=1/x.parquet".into()], &|name| name == "own", &[]).unwrap().0.is_empty());
    }

    #[test]
    fn digits_of_one_width_or_without_leading_zeros_are_integers() {
        let of = |values: &[&str]| type_of_values("m", &values.iter().map(|it| (*it).to_owned()).collect());
        for values in [&["01", "10", "12"][..], &["1", "10"], &["0", "7"], &["-2", "10"], &["007"], &["00", "99"]] {
            assert_eq!(of(values), Ok(KeyType::I64), "{values:?}");
        }
        for values in [&["01", "x"][..], &["1.5"], &["+1"], &["99999999999999999999"], &["-"]] {
            assert_eq!(of(values), Ok(KeyType::Text), "{values:?}");
        }
        for values in [["01", "1"], ["01", "100"], ["-1", "01"]] {
            let refused = of(&values).unwrap_err();
            assert!(values.iter().all(|value| refused.contains(&format!("m={value}"))), "{refused}");
            let paths = values.map(|value| format!("m={value}/x.parquet"));
            let Err(ParquetIndexError::Unstated { remedy, .. }) = path_columns("", &paths, &|_| false, &[]) else {
                panic!("the type of {values:?} is guessed");
            };
            assert!(
                matches!(&*remedy, Remedy::PartitionType { column, types } if column == "m" && types.contains(&"text")),
                "{remedy:?}"
            );
        }
    }
}
