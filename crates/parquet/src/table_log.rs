//! The logs of lake tables, as far as they say that rows of a data file are not those of the table: deletion vectors
//! and files of deletes, and columns that have other names in the file.
//!
//! Of Delta Lake the newest protocol is read, from the commits after the newest checkpoint, else from that; of Iceberg
//! the newest metadata, whose snapshot counts its deletes. What cannot be read is taken as a reason.

use crate::error::{ParquetIndexError, Result};
use crate::file::footer::read;
use crate::folder::{Folder, join};
use crate::rows::ParquetRows;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use ogive::io::open_compared;
use ogive::{Cause, Error};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

/// Largest file of a log that is read.
const LOG_BYTES_MAX: u64 = 1 << 28;
/// Digits of the version in the name of a file of a Delta log.
const VERSION_DIGITS: usize = 20;
/// What of a protocol changes the rows of files or the names of their columns.
const UNREAD_FEATURES: [&str; 2] = ["deletionVectors", "columnMapping"];
/// The reader of column mapping, before features had names.
const MAPPING_READER: i64 = 2;
/// What stands for it among the features.
const MAPPING_VERSION: &str = "minReaderVersion 2";
/// Endings of the names of metadata of Iceberg; compressed ones cannot be read here.
pub(crate) const METADATA_ENDINGS: [&str; 2] = [".metadata.json", ".metadata.json.gz"];
/// The file that names the newest version of the metadata of a table without a catalog.
pub(crate) const VERSION_HINT: &str = "version-hint.text";
/// The counters of deletes of a snapshot of Iceberg.
const DELETE_COUNTERS: [&str; 3] = ["total-delete-files", "total-position-deletes", "total-equality-deletes"];

/// The reason why files of a Delta table do not show its rows; none if they do.
pub(crate) fn delta_reason(folder: &Arc<dyn Folder>, log: &str, names: &[String]) -> Option<String> {
    if names.is_empty() {
        return Some("is empty, so it cannot be read".to_owned());
    }
    match newest_protocol(folder, log, names) {
        Ok(Some(features)) => {
            let found: Vec<&str> =
                UNREAD_FEATURES.into_iter().filter(|name| features.iter().any(|it| it == name)).collect();
            match features.iter().any(|it| it == MAPPING_VERSION) {
                true => Some(format!("has {MAPPING_VERSION}, with which columns may have other names in its files")),
                false => (!found.is_empty()).then(|| format!("names {}", found.join(" and "))),
            }
        }
        Ok(None) => Some("has no protocol that can be found".to_owned()),
        Err(reason) => Some(reason),
    }
}

/// A file of a Delta log by its name: its version, and the number of its part and of all parts if it is a checkpoint.
fn delta_file(name: &str) -> Option<(u64, Option<(u64, u64)>)> {
    let (version, rest) = name.split_at_checked(VERSION_DIGITS)?;
    let version = version.bytes().all(|byte| byte.is_ascii_digit()).then(|| version.parse().ok())??;
    if rest == ".json" {
        return Some((version, None));
    }
    let parts: Vec<&str> = rest.strip_prefix(".checkpoint.")?.split('.').collect();
    match parts[..] {
        ["parquet"] | [_, "parquet" | "json"] => Some((version, Some((1, 1)))),
        [part, of, "parquet"] => Some((version, Some((part.parse().ok()?, of.parse().ok()?)))),
        _ => None,
    }
}

/// The features of the newest protocol of a Delta log; or why it cannot be found.
fn newest_protocol(
    folder: &Arc<dyn Folder>,
    log: &str,
    names: &[String],
) -> std::result::Result<Option<Vec<String>>, String> {
    let mut commits: BTreeMap<u64, &String> = BTreeMap::new();
    let mut checkpoints: BTreeMap<u64, Vec<(&String, u64)>> = BTreeMap::new();
    for name in names {
        match delta_file(name) {
            Some((version, None)) => _ = commits.insert(version, name),
            Some((version, Some((_, of)))) => checkpoints.entry(version).or_default().push((name, of)),
            None => {}
        }
    }
    // A checkpoint is complete with all parts that the name of each states.
    let is_complete = |parts: &[(&String, u64)]| {
        let of = |total: u64| parts.iter().filter(|(_, of)| *of == total).count() as u64 >= total;
        parts.iter().any(|(_, total)| of(*total))
    };
    let checkpoint = checkpoints.iter().rev().find(|(_, parts)| is_complete(parts));
    let first = checkpoint.map_or(0, |(version, _)| version + 1);
    let later: Vec<(u64, &String)> = commits.range(first..).map(|(version, name)| (*version, *name)).collect();
    if let Some((absent, _)) = (first..).zip(&later).find(|(next, (version, _))| next != version) {
        return Err(format!("lacks commit {absent}"));
    }
    let unreadable = |name: &str| format!("has a file {name} that cannot be read");
    for (_, name) in later.into_iter().rev() {
        let bytes = contents(folder, log, name).map_err(|_| unreadable(name))?;
        if let Some(found) = protocol_of_lines(&bytes).ok_or_else(|| unreadable(name))? {
            return Ok(Some(found));
        }
    }
    for (name, _) in checkpoint.map_or(&[][..], |(_, parts)| parts.as_slice()) {
        let found = match name.ends_with(".json") {
            true => contents(folder, log, name).ok().and_then(|bytes| protocol_of_lines(&bytes)),
            false => protocol_of_rows(folder, &join(log, name)),
        };
        if let Some(found) = found.ok_or_else(|| unreadable(name))? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The features of the protocol among lines of JSON, if there is one; `None` if they are none.
fn protocol_of_lines(bytes: &[u8]) -> Option<Option<Vec<String>>> {
    let mut found = None;
    for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let action: Value = serde_json::from_slice(line).ok()?;
        let Some(protocol) = action.as_object()?.get("protocol").filter(|protocol| !protocol.is_null()) else {
            continue;
        };
        let reader = protocol.get("minReaderVersion")?.as_i64()?;
        let names = |member: &str| match protocol.get(member) {
            None | Some(Value::Null) => Some(Vec::new()),
            Some(list) => list.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        };
        found = Some(features(reader, [names("readerFeatures")?, names("writerFeatures")?].concat()));
    }
    Some(found)
}

/// The features of the protocol in a checkpoint, if there is one; `None` for what cannot be read, such as columns of
/// other types than those of a checkpoint.
fn protocol_of_rows(folder: &Arc<dyn Folder>, path: &str) -> Option<Option<Vec<String>>> {
    for batch in ParquetRows::in_folder(folder.clone(), path, Some(&["protocol"])).ok()? {
        let batch = batch.ok()?;
        let protocols = batch.column(0).as_struct_opt()?;
        let Some(row) = (0..batch.num_rows()).find(|row| protocols.is_valid(*row)) else { continue };
        let reader = protocols.column_by_name("minReaderVersion")?.as_primitive_opt::<Int32Type>()?;
        let names = |member: &str| protocols.column_by_name(member).map_or(Some(Vec::new()), |list| texts(list, row));
        let named = [names("readerFeatures")?, names("writerFeatures")?].concat();
        return Some(Some(features(reader.value(row).into(), named)));
    }
    Some(None)
}

/// The texts of a list, none of a null; `None` if it is no list of texts.
fn texts(lists: &ArrayRef, row: usize) -> Option<Vec<String>> {
    if lists.is_null(row) || *lists.data_type() == DataType::Null {
        return Some(Vec::new());
    }
    let items = lists.as_list_opt::<i32>()?.value(row);
    Some(items.as_string_opt::<i32>()?.iter().flatten().map(str::to_owned).collect())
}

/// The features that a protocol names, and those of its reader's version.
fn features(reader: i64, mut named: Vec<String>) -> Vec<String> {
    if reader == MAPPING_READER {
        named.push(MAPPING_VERSION.to_owned());
    }
    named
}

/// The bytes of a file of a log.
fn contents(folder: &Arc<dyn Folder>, log: &str, name: &str) -> Result<Vec<u8>> {
    let file = open_compared(&*folder.storage(log)?, name)?;
    read(&*file, 0, file.len().min(LOG_BYTES_MAX))
}

/// The reason why files of an Iceberg table do not show its rows; none if they do.
pub(crate) fn iceberg_reason(folder: &Arc<dyn Folder>, metadata: &str, names: &[String]) -> Option<String> {
    let version = |name: &String| {
        let number = METADATA_ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))?.trim_start_matches('v');
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        number[..digits].parse::<u64>().ok()
    };
    let Some(newest) = names.iter().filter_map(version).max() else {
        return Some("has no metadata whose name states a version".to_owned());
    };
    let hint = names.iter().any(|name| name == VERSION_HINT).then(|| contents(folder, metadata, VERSION_HINT).ok());
    let hint = hint.flatten().and_then(|hint| std::str::from_utf8(&hint).ok()?.trim().parse::<u64>().ok());
    if let Some(hint) = hint.filter(|&hint| hint > newest) {
        return Some(format!("lacks the metadata of version {hint}, which its hint names"));
    }
    // Of files that two writers began for one version, the catalog knows which counts: each must do.
    let mut of_newest = names.iter().filter(|name| version(name) == Some(newest));
    of_newest.find_map(|name| {
        let bytes = contents(folder, metadata, name).ok();
        let parsed: Option<Value> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match parsed.and_then(|parsed| metadata_reason(&parsed)) {
            Some(reason) => reason,
            None => Some(format!("has a file {name} that cannot be read")),
        }
    })
}

/// The reason that metadata of Iceberg have, if any; `None` for what is no metadata.
fn metadata_reason(metadata: &Value) -> Option<Option<String>> {
    let format = metadata.get("format-version")?.as_u64()?;
    let mut names = BTreeMap::new();
    let empty = Vec::new();
    let schemas = metadata.get("schemas").map_or(Some(&empty), Value::as_array)?;
    for schema in schemas.iter().chain(metadata.get("schema")) {
        if let Some(reason) = differing_names(schema, "", &mut names) {
            return Some(Some(reason));
        }
    }
    let id = metadata.get("current-snapshot-id").and_then(Value::as_i64).filter(|&id| id != -1);
    // The first version of the format has no deletes.
    let Some(id) = id.filter(|_| format > 1) else { return Some(None) };
    let snapshots = metadata.get("snapshots")?.as_array()?;
    let of_id = |snapshot: &&Value| snapshot.get("snapshot-id").and_then(Value::as_i64) == Some(id);
    let summary = snapshots.iter().find(of_id)?.get("summary")?;
    let counter = |name: &str| summary.get(name).map(|count| count.as_str().map(|text| text.trim() == "0"));
    let counts = DELETE_COUNTERS.map(counter);
    if counts.iter().any(|count| matches!(count, Some(it) if *it != Some(true))) {
        return Some(Some("has deletes in its newest snapshot".to_owned()));
    }
    let are_known = counts[0].is_some() || (counts[1].is_some() && counts[2].is_some());
    Some((!are_known).then(|| "has a newest snapshot that does not count its deletes".to_owned()))
}

/// The reason if a column of a type has another name in another schema, or another column has had its name.
fn differing_names(of: &Value, above: &str, names: &mut BTreeMap<i64, String>) -> Option<String> {
    let inner = |name: &str, of: Option<&Value>, names: &mut BTreeMap<i64, String>| {
        of.and_then(|of| differing_names(of, &format!("{above}{name}."), names))
    };
    let fields = of.get("fields").and_then(Value::as_array);
    for field in fields.into_iter().flatten() {
        let (Some(id), Some(name)) =
            (field.get("id").and_then(Value::as_i64), field.get("name").and_then(Value::as_str))
        else {
            return Some("has a column without a name or a number".to_owned());
        };
        let path = format!("{above}{name}");
        if let Some(known) = names.get(&id).filter(|known| **known != path) {
            return Some(format!("has a column {path} that was {known}"));
        }
        if names.iter().any(|(other, known)| *other != id && *known == path) {
            return Some(format!("has a column {path} that replaced one of that name"));
        }
        names.insert(id, path);
        if let Some(reason) = inner(name, field.get("type"), names) {
            return Some(reason);
        }
    }
    let parts = [("element", of.get("element")), ("key", of.get("key")), ("value", of.get("value"))];
    parts.into_iter().find_map(|(name, part)| inner(name, part, names))
}

/// What a listing says of a folder that a lake table may have.
#[derive(Debug)]
pub(crate) enum LogFolder {
    /// There is none.
    Absent,
    /// The names of its files.
    Names(Vec<String>),
    /// Why they cannot be listed.
    Unlistable(String),
}

impl LogFolder {
    /// The folder at a path.
    pub(crate) fn of(folder: &dyn Folder, path: &str) -> Self {
        // Behind http nothing is listed.
        if path.starts_with("http://") || path.starts_with("https://") {
            return Self::Absent;
        }
        let listed = folder.storage(path).and_then(|storage| Ok((storage.list()?, storage.folder().is_some())));
        match listed {
            // Only file systems have folders without files.
            Ok((names, false)) if names.is_empty() => Self::Absent,
            Ok((names, _)) => Self::Names(names),
            Err(ParquetIndexError::Engine(Error {
                cause: Cause::Unsupported | Cause::Io(ErrorKind::NotFound | ErrorKind::NotADirectory),
                ..
            })) => Self::Absent,
            Err(error) => Self::Unlistable(error.message()),
        }
    }
}
