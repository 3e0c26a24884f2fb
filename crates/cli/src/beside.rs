//! Indexes beside Parquet files, as the commands on tables use them: building, lookups, and reports.

use crate::commands::ordered_map::{RangeOptions, Window};
use crate::commands::query::{OpenTable, TableFile};
use crate::commands::verbs::{RecordAt, from_start, no_record};
use crate::failure::{Failure, Result};
use crate::info::Info;
use crate::input::{ColumnType, stated_twice};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::reading::bounds::{Bounds, bounds};
use crate::shell::shell_path;
use crate::values::key;
use crate::values::size::{counted, grouped, human_bytes, human_us};
use ogive::io::{Profile, ScratchFolder, Storage};
use ogive::table::{Table, TableOptions, TableWriteOptions};
use ogive::types::{KeyType, TimeUnit};
use ogive_parquet::{BuildOptions, BuildReport, ParquetIndex, PathFolder, Trace};
use ogive_terminal::shell_word;
use rows::{RowFormat, RowWriter};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) mod fields;
pub(crate) mod lookup;
pub(crate) mod records;
pub(crate) mod report;
pub(crate) mod rows;
pub(crate) mod verify;

/// The member of JSON answers with the requests, as in those on tables.
const READS: &str = "reads";
/// Data files that `ogive info` lists.
const FILES_SHOWN: usize = 10;

/// What to index, and the index file.
#[derive(Debug)]
pub(crate) struct BesideBuild<'a> {
    /// The Parquet file, or a folder of them.
    pub(crate) data: &'a Path,
    /// The columns of the key.
    pub(crate) key: Vec<String>,
    /// A file with the paths of the data files, one a line, relative to the folder.
    pub(crate) files: Option<&'a Path>,
    /// The types of columns that are given: of timestamps of the type INT96.
    pub(crate) types: &'a [ColumnType],
    /// The types of columns that paths state.
    pub(crate) partitions: &'a [ColumnType],
    /// Whether the logs of lake tables are ignored.
    pub(crate) ignores_table_log: bool,
    /// Whether the index is there, and is brought up to date.
    pub(crate) is_update: bool,
    /// The index file.
    pub(crate) path: &'a Path,
    pub(crate) name: &'a str,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) options: TableWriteOptions,
    pub(crate) memory_bytes: u64,
}

/// Builds an index, or brings it up to date, and prints what was built.
pub(crate) fn build(build: BesideBuild<'_>, output: &mut Output) -> Result<()> {
    let folder = Arc::new(PathFolder::of_index(build.path)?);
    let mut root = folder.root_of(build.data)?;
    if build.is_update && root.is_empty() {
        ".".clone_into(&mut root);
    }
    let key: Vec<&str> = build.key.iter().map(String::as_str).collect();
    for (index, given) in build.partitions.iter().enumerate() {
        if build.partitions[..index].iter().any(|before| before.column == given.column) {
            return Err(stated_twice("--partition", &given.column.0));
        }
    }
    let partition = |given: &ColumnType| (given.column.0.clone(), given.key_type());
    let nanoseconds = in_nanoseconds(&build)?;
    let mut options = BuildOptions::new(&root, &key)
        .table(build.options)
        .memory_bytes(build.memory_bytes)
        .nanoseconds(nanoseconds)
        .partitions(build.partitions.iter().map(partition).collect())
        .ignore_table_log(build.ignores_table_log);
    if let Some(list) = build.files {
        options = options.files(listed(list)?);
    }
    let scratch = if build.storage.is_object_store() { Some(ScratchFolder::create()?) } else { None };
    if let Some(scratch) = &scratch {
        options = options.scratch(scratch.storage());
    }
    let _reading = Progress::start(format!("indexing {}", build.data.display()), None, Unit::Items);
    let report = match build.is_update {
        true => ParquetIndex::update(build.storage, build.name, folder, options),
        false => ParquetIndex::build(build.storage, build.name, folder, options),
    };
    let report = report.map_err(Failure::from)?;
    report.warnings.iter().for_each(|warning| note(format_args!("warning: {warning}")));
    print_report(build.path, &report, output)
}

/// The columns whose timestamps are read in nanoseconds.
fn in_nanoseconds(build: &BesideBuild<'_>) -> Result<Vec<String>> {
    let (mut columns, mut named) = (Vec::new(), HashSet::new());
    for given in build.types {
        let name = &given.column.0;
        if build.is_update {
            return Err(Failure::usage("an update keeps the types of the index", "remove --type"));
        }
        if !named.insert(name) {
            return Err(stated_twice("--type", name));
        }
        match given.key_type() {
            KeyType::Timestamp(TimeUnit::Nanosecond) => columns.push(name.clone()),
            KeyType::Timestamp(TimeUnit::Microsecond) => {}
            key_type => {
                let message = format!("column '{name}' of Parquet files is not converted to {key_type}");
                let hint = "--type is for timestamps of the type INT96, which are timestamp(us) or timestamp(ns); for \
                            a column of their paths, use --partition";
                return Err(Failure::usage(message, hint));
            }
        }
    }
    Ok(columns)
}

/// The lines of a list of files.
fn listed(list: &Path) -> Result<Vec<String>> {
    let shown = list.display().to_string();
    let text = std::fs::read_to_string(list).map_err(|source| Failure::File { action: "read", path: shown, source })?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn print_report(path: &Path, report: &BuildReport, output: &mut Output) -> Result<()> {
    if output.is_json() {
        return output.json(&json!({
            "is_sorted": report.is_sorted,
            "files": report.files,
            "kept_files": report.kept_files,
            "warnings": report.warnings,
            "rows": report.rows,
            "pages": report.pages,
            "intervals": report.intervals,
            "separator_bytes": report.separator_bytes,
            "place_bytes": report.place_bytes,
            "key_type": report.key_type.to_string(),
            "index_bytes": report.table.file_bytes,
        }));
    }
    let (rows, files) = (counted(report.rows, "row"), counted(report.files, "file"));
    output.line(format_args!(
        "{}: an index of {rows} in {files}, {}",
        path.display(),
        human_bytes(report.table.file_bytes)
    ))?;
    output.line(match report.is_sorted {
        true => format!(
            "  sorted by a key of type {}: {} of separators for {}",
            report.key_type,
            human_bytes(report.separator_bytes),
            counted(report.intervals, "row interval")
        ),
        false => format!("  not sorted by the key, of type {}: a record for each row", report.key_type),
    })?;
    output.line(format_args!(
        "  {} of places for {}",
        human_bytes(report.place_bytes),
        counted(report.pages, "data page")
    ))?;
    match report.kept_files {
        0 => Ok(()),
        kept => output.line(format_args!("  {} not read again", counted(kept, "file"))),
    }
}

/// The index that an open table holds.
fn index_of(file: &TableFile, open: OpenTable) -> Result<ParquetIndex> {
    let folder = PathFolder::of_index(file.path())?;
    let profile = open.table.profile().clone();
    let options = TableOptions::default().memory_bytes(file.memory_bytes()).profile(profile);
    Ok(ParquetIndex::of_table(open.table, Arc::new(folder), &options)?)
}

/// An open index with the trace of its requests.
#[derive(Debug)]
pub(crate) struct BesideIndex {
    index: ParquetIndex,
    trace: Trace,
    explain: bool,
}

impl BesideIndex {
    /// The index that an open table holds; its requests are printed with `explain`.
    ///
    /// # Errors
    /// Those of the index.
    pub(crate) fn new(file: &TableFile, open: OpenTable, explain: bool) -> Result<Self> {
        let mut trace = Trace::new();
        trace.add_index_reads(open.table.path(), &[open.table.opening()], false);
        Ok(Self { index: index_of(file, open)?, trace, explain })
    }

    fn key_type(&self) -> KeyType {
        self.index.key_type()
    }

    fn range(&self, range: &RangeOptions) -> Result<Bounds<Vec<u8>>> {
        if let Some(prefix) = &range.prefix {
            return key::prefix_range(self.key_type(), prefix);
        }
        let parse = |key: &Option<std::ffi::OsString>| {
            key.as_deref().map(|key| key::from_argument(self.key_type(), key)).transpose()
        };
        let (from, to) = (parse(&range.from)?, parse(&range.to)?);
        if from.as_ref().zip(to.as_ref()).is_some_and(|(from, to)| from > to) {
            return Err(Failure::usage("the range ends before it begins", "swap its ends"));
        }
        Ok(self.index.asked_for(bounds(from, to))?)
    }

    /// Prints a number, in JSON as the last member of an object, and the requests if asked for.
    fn answer(&self, mut object: Value, name: &str, number: u64, output: &mut Output) -> Result<Outcome> {
        if output.is_json() {
            object[name] = number.into();
            self.add_trace(&mut object);
            output.json(&object)?;
            return Ok(Outcome::Done);
        }
        output.line(number)?;
        self.print_trace(output)?;
        Ok(Outcome::Done)
    }

    /// Adds the requests to a JSON answer if asked for.
    fn add_trace(&self, object: &mut Value) {
        if self.explain {
            object[READS] = reads_json(&self.trace);
        }
    }

    fn print_trace(&self, output: &mut Output) -> Result<()> {
        match (self.explain, output.is_json()) {
            (false, _) => Ok(()),
            (true, true) => output.json(&json!({ READS: reads_json(&self.trace) })),
            (true, false) => trace_lines(&self.trace).into_iter().try_for_each(|line| output.line(line)),
        }
    }
}

/// Prints the rows of a range in key order.
pub(crate) fn scan(
    mut open: BesideIndex,
    range: &RangeOptions,
    window: Window,
    format: &RowFormat,
    output: &mut Output,
) -> Result<Outcome> {
    if window.keys_only {
        let key: Vec<&str> = open.index.key_columns().collect();
        let hint = format!("use --columns {}", shell_word(&key.join(",")));
        return Err(Failure::usage("--keys-only is not for indexes of Parquet files", hint));
    }
    let range = open.range(range)?;
    let mut writer = RowWriter::new(format, &open.index, output)?;
    let columns = writer.columns();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let trace = open.explain.then(|| open.trace.clone());
    let mut scan = match window.reverse {
        false => open.index.scan_traced(range, Some(&columns), trace)?,
        true => open.index.scan_reversed(range, Some(&columns), trace)?,
    };
    if let Some(rows) = window.limit {
        scan = scan.limit(rows);
    }
    for batch in scan.by_ref() {
        writer.write(&batch?)?;
    }
    writer.finish()?;
    open.trace = scan.into_trace().unwrap_or_default();
    open.print_trace(output)?;
    Ok(Outcome::Done)
}

/// Prints the number of rows in a range.
pub(crate) fn count(mut open: BesideIndex, range: &RangeOptions, output: &mut Output) -> Result<Outcome> {
    let range = open.range(range)?;
    let count = open.index.count_traced(range, Some(&mut open.trace))?;
    open.answer(json!({}), "count", count, output)
}

/// Prints the number of rows with smaller keys.
pub(crate) fn rank(mut open: BesideIndex, key: &OsStr, output: &mut Output) -> Result<Outcome> {
    let key = key::from_argument(open.key_type(), key)?;
    let rank = open.index.rank_traced(&key, Some(&mut open.trace))?;
    open.answer(json!({ "key": key::to_json(open.key_type(), &key) }), "rank", rank, output)
}

/// Prints the row at a position in key order.
pub(crate) fn nth(mut open: BesideIndex, position: i64, format: &RowFormat, output: &mut Output) -> Result<Outcome> {
    let total = open.index.rows();
    let index = from_start(position, || Ok(total))?;
    let mut writer = RowWriter::new(format, &open.index, output)?;
    let columns = writer.columns();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let row = match index {
        Some(index) => open.index.nth_traced(index, Some(&columns), Some(&mut open.trace))?,
        None => None,
    };
    if writer.is_json() {
        let record = row.as_ref().map(|row| writer.objects(row)).transpose()?.and_then(|rows| rows.into_iter().next());
        let mut trace = json!({});
        open.add_trace(&mut trace);
        let index = index.map_or(json!(position), Value::from);
        output.json(&RecordAt { index, found: record.is_some(), record, trace })?;
    } else {
        if let Some(row) = &row {
            writer.write(row)?;
        }
        writer.finish()?;
        open.print_trace(output)?;
    }
    if row.is_some() {
        return Ok(Outcome::Done);
    }
    output.flush()?;
    no_record(position, "the index of Parquet files", total);
    Ok(Outcome::Negative)
}

/// Prints what an index has, and what its files are.
pub(crate) fn explain(file: &TableFile, open: OpenTable, output: &mut Output) -> Result<Outcome> {
    let index = index_of(file, open)?;
    let (table, opening_bytes) = (index.table().explain(), index.table().opening().bytes);
    if output.is_json() {
        let mut object = json!({ "kind": "parquet index" });
        object.as_object_mut().into_iter().for_each(|object| object.extend(facts(&index)));
        object["opening_bytes"] = opening_bytes.into();
        output.json(&object)?;
        return Ok(Outcome::Done);
    }
    output.line(format_args!("{file}: {}", summary(&index)))?;
    let [columns, files] = parts(&index);
    columns.into_iter().try_for_each(|line| output.line(line))?;
    output.line(format_args!(
        "  index: {}, of which {} to open it",
        human_bytes(table.file_bytes),
        human_bytes(opening_bytes)
    ))?;
    files.into_iter().try_for_each(|line| output.line(line))?;
    Ok(Outcome::Done)
}

/// What an index is, in JSON.
fn facts(index: &ParquetIndex) -> Map<String, Value> {
    let file = |(path, bytes): (PathBuf, u64)| json!({ "path": path.display().to_string(), "bytes": bytes });
    let facts = json!({
        "is_sorted": index.is_sorted(),
        "key": index.key_columns().collect::<Vec<_>>(),
        "key_type": index.key_type().to_string(),
        "rows": index.rows(),
        "index_bytes": index.table().explain().file_bytes,
        "columns": index.schema().fields().iter().map(|field| field.name()).collect::<Vec<_>>(),
        "files": index.files().map(file).collect::<Vec<_>>(),
    });
    facts.as_object().cloned().unwrap_or_default()
}

/// The key and the columns, then the files, a line each.
fn parts(index: &ParquetIndex) -> [Vec<String>; 2] {
    let key: Vec<&str> = index.key_columns().collect();
    let schema = index.schema();
    let columns = schema.fields().iter().map(|field| {
        let null = if field.is_nullable() { "?" } else { "" };
        format!("  column {}: {}{null}", field.name(), field.data_type())
    });
    let key = format!("  key: {} ({})", key.join(", "), index.key_type());
    let file = |(path, bytes): (PathBuf, u64)| format!("  file {}, {}", path.display(), human_bytes(bytes));
    [std::iter::once(key).chain(columns).collect(), index.files().map(file).collect()]
}

/// What the index that a table holds is; `None` if it holds none.
///
/// # Errors
/// Those of the index.
pub(crate) fn info(path: &Path, table: Table) -> Result<Option<Info>> {
    if !ParquetIndex::is_one(&table) {
        return Ok(None);
    }
    let folder = PathFolder::of_index(path)?;
    let index = ParquetIndex::of_table(table, Arc::new(folder), &TableOptions::default())?;
    let [mut details, files] = parts(&index);
    let further = files.len().saturating_sub(FILES_SHOWN) as u64;
    details.extend(files.into_iter().take(FILES_SHOWN));
    if further > 0 {
        details.push(format!("  and {}; `ogive explain` lists all", counted(further, "more file")));
    }
    Ok(Some(Info {
        kind: "parquet index",
        text: summary(&index),
        details,
        facts: facts(&index).into(),
        next: format!("`ogive get {0} KEY`, `ogive explain {0}`", shell_path(path)),
    }))
}

fn summary(index: &ParquetIndex) -> String {
    let (rows, files) = (counted(index.rows(), "row"), counted(index.files().count() as u64, "Parquet file"));
    let order = if index.is_sorted() { "sorted" } else { "not sorted" };
    format!("an index of {rows} in {files}, {order} by the key")
}

/// The requests in JSON: the members that reads of tables have, the round, and the file.
fn reads_json(trace: &Trace) -> Value {
    let request = |request: &ogive_parquet::TracedRequest| {
        json!({
            "purpose": request.parts.join(", "),
            "offset": request.offset,
            "size_bytes": request.bytes,
            "round": request.round,
            "path": request.path.display().to_string(),
        })
    };
    trace.requests.iter().map(request).collect()
}

/// One line per request, then a line with the sums.
fn trace_lines(trace: &Trace) -> Vec<String> {
    let line = |request: &ogive_parquet::TracedRequest| {
        let name = request.path.file_name().unwrap_or_default().to_string_lossy();
        let (bytes, offset) = (grouped(request.bytes), grouped(request.offset));
        format!("  round {}: {bytes} B at {offset} of {name}: {}", request.round, request.parts.join(", "))
    };
    let mut lines: Vec<String> = trace.requests.iter().map(line).collect();
    let modelled = ["nvme", "s3"].into_iter().filter_map(|name| Profile::named(name).ok());
    let modelled: Vec<String> =
        modelled.map(|profile| format!("{} on {}", human_us(trace.modelled_us(&profile)), profile.name())).collect();
    lines.push(format!(
        "  {} in {}, {} B; modelled {}",
        counted(trace.requests.len() as u64, "request"),
        counted(trace.rounds().into(), "round"),
        grouped(trace.bytes()),
        modelled.join(", ")
    ));
    lines
}
