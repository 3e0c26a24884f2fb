//! Indexes beside Parquet files.

use crate::arrow::errors::arrow_error;
use crate::arrow::keys::Keys;
use crate::arrow::output::{RowBatch, RowReader};
use crate::convert::encode_key;
use crate::errors::{self, OrRaise, of_parquet};
use crate::fork::Native;
use crate::key_range::{Bounds, KeyRange};
use crate::object::Object;
use crate::table::open_options;
use crate::types;
use crate::wait::{Task, interruptible_as};
use arc_swap::ArcSwapOption;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use ogive::TableWriteOptions;
use ogive::io::{LocalStorage, LocatedFile, Profile, StoppableStorage, Storage, locate};
use ogive::types::KeyType;
use ogive_parquet::{BuildOptions, Folder, ParquetScan, PathFolder, Trace};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Keys whose rows are in memory twice.
const KEYS_AT_ONCE: usize = 8 << 10;

/// An index beside Parquet files. See `ogive.ParquetIndex`.
#[pyclass(module = "ogive._internal", frozen, subclass)]
pub(crate) struct ParquetIndex {
    index: Native<ArcSwapOption<ogive_parquet::ParquetIndex>>,
    path: PathBuf,
    memory: Option<u64>,
    profile: Option<String>,
}

/// The folder of an index, whose files cannot be read any more once a flag is set.
#[derive(Debug)]
struct StoppableFolder {
    folder: PathFolder,
    stop: Arc<AtomicBool>,
}

impl Folder for StoppableFolder {
    fn storage(&self, path: &str) -> ogive_parquet::Result<Arc<dyn Storage>> {
        Ok(StoppableStorage::new(self.folder.storage(path)?, self.stop.clone()))
    }

    fn list(&self, path: &str) -> ogive_parquet::Result<Vec<String>> {
        self.folder.list(path)
    }
}

/// What to index.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ParquetBuild {
    data: PathBuf,
    key: Vec<String>,
    path: PathBuf,
    update: bool,
    files: Option<Vec<String>>,
    nanoseconds: Vec<String>,
    ignore_table_log: bool,
    memory: Option<u64>,
    profile: Option<String>,
}

impl ParquetBuild {
    fn run(&self, partitions: Vec<(String, KeyType)>, task: &Task) -> ogive_parquet::Result<Json> {
        let LocatedFile { storage, name } = locate(&self.path)?;
        let folder = PathFolder::of_index(&self.path)?;
        let mut root = folder.root_of(&self.data)?;
        if self.update && root.is_empty() {
            ".".clone_into(&mut root);
        }
        let profile = match (&self.profile, storage.profile()) {
            (Some(name), _) => Profile::by_name_or_file(name)?,
            (None, Some(profile)) => profile.clone(),
            (None, None) => Profile::default(),
        };
        let key: Vec<&str> = self.key.iter().map(String::as_str).collect();
        let mut options =
            BuildOptions::new(&root, &key).table(TableWriteOptions::default().profile(profile).replace(true));
        options = options
            .nanoseconds(self.nanoseconds.clone())
            .partitions(partitions)
            .ignore_table_log(self.ignore_table_log);
        if let Some(memory) = self.memory {
            options = options.memory_bytes(memory);
        }
        if let Some(files) = &self.files {
            options = options.files(files.clone());
        }
        if storage.is_object_store() {
            let scratch: Arc<dyn Storage> = Arc::new(LocalStorage::new(std::env::temp_dir()));
            options = options.scratch(StoppableStorage::new(scratch, task.stop.clone()));
        }
        let storage = StoppableStorage::new(storage, task.stop.clone());
        let folder = Arc::new(StoppableFolder { folder, stop: task.stop.clone() });
        let report = match self.update {
            true => ogive_parquet::ParquetIndex::update(storage, &name, folder, options)?,
            false => ogive_parquet::ParquetIndex::build(storage, &name, folder, options)?,
        };
        Ok(json!({
            "files": report.files,
            "kept_files": report.kept_files,
            "rows": report.rows,
            "warnings": report.warnings,
        }))
    }
}

/// Builds an index beside Parquet files, or brings it up to date; the report as JSON.
#[pyfunction]
#[pyo3(signature = (build, partitions, progress=None))]
pub(crate) fn index_parquet(
    py: Python<'_>,
    build: ParquetBuild,
    partitions: Vec<(String, Object<'_>)>,
    progress: Option<&Object<'_>>,
) -> PyResult<String> {
    let partitions = partitions.into_iter().map(|(name, of)| Ok((name, types::key_type(&of)?)));
    let partitions = partitions.collect::<PyResult<Vec<_>>>()?;
    interruptible_as(py, Task::default(), progress, |task| build.run(partitions, task).map_err(of_parquet))
        .map(|report| report.to_string())
}

impl ParquetIndex {
    fn index(&self) -> PyResult<Arc<ogive_parquet::ParquetIndex>> {
        self.index.get()?.load_full().ok_or_else(|| {
            errors::new("Closed", &format!("the index {} was closed; open it again", self.path.display()))
        })
    }

    fn open_index(
        path: &PathBuf,
        memory: Option<u64>,
        profile: Option<&str>,
    ) -> ogive_parquet::Result<ogive_parquet::ParquetIndex> {
        let place = locate(path)?;
        let options = open_options(&place, memory, profile)?;
        let folder = Arc::new(PathFolder::of_index(path)?);
        ogive_parquet::ParquetIndex::open(place.storage, &place.name, folder, &options)
    }
}

/// The key as the index has it: of a column with nulls, a tuple of one.
fn as_key<'py>(key_type: KeyType, key: &Object<'py>) -> PyResult<Object<'py>> {
    match is_single(key_type) && !key.is_instance_of::<PyTuple>() {
        true => Ok(PyTuple::new(key.py(), [key])?.into_any()),
        false => Ok(key.clone()),
    }
}

/// Whether keys are tuples of one component.
fn is_single(key_type: KeyType) -> bool {
    matches!(key_type, KeyType::Tuple(tuple) if tuple.components().len() == 1)
}

/// The bounds of a range, without null keys unless they are asked for.
fn as_bounds(
    index: &ogive_parquet::ParquetIndex,
    start: Option<&Object<'_>>,
    stop: Option<&Object<'_>>,
) -> PyResult<Bounds> {
    let key_type = index.key_type();
    let start = start.map(|key| as_key(key_type, key)).transpose()?;
    let stop = stop.map(|key| as_key(key_type, key)).transpose()?;
    index.asked_for(KeyRange(start, stop, None).bounds(key_type)?).map_err(of_parquet)
}

/// The bytes of many keys. Of a column with nulls, `None` and the nulls of an array are keys, too.
fn keys_of(py: Python<'_>, key_type: KeyType, keys: &Object<'_>) -> PyResult<Keys> {
    Keys::of_encoded(py, key_type, keys, &|key| encode_key(key_type, &as_key(key_type, key)?))
}

/// Names of columns as the index takes them.
fn named(columns: Option<&Vec<String>>) -> Option<Vec<&str>> {
    columns.map(|columns| columns.iter().map(String::as_str).collect())
}

/// Rows of a range as record batches.
struct Scan(ParquetScan);

impl Iterator for Scan {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Scan {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

/// The requests of a trace, with their modelled time on each named storage.
fn trace_json(trace: &Trace) -> Json {
    let requests: Vec<Json> = trace
        .requests
        .iter()
        .map(|request| {
            json!({
                "round": request.round,
                "path": request.path.display().to_string(),
                "offset": request.offset,
                "size_bytes": request.bytes,
                "parts": request.parts,
            })
        })
        .collect();
    let profiles = Profile::names().filter_map(|name| Profile::named(name).ok());
    let times = profiles.map(|profile| (profile.name().to_owned(), trace.modelled_us(&profile).into()));
    json!({ "requests": requests, "modelled_us": times.collect::<serde_json::Map<String, Json>>() })
}

#[pymethods]
impl ParquetIndex {
    #[new]
    #[pyo3(signature = (path, memory=None, profile=None))]
    fn open(py: Python<'_>, path: PathBuf, memory: Option<u64>, profile: Option<String>) -> PyResult<Self> {
        let index = py.detach(|| Self::open_index(&path, memory, profile.as_deref())).map_err(of_parquet)?;
        Ok(Self { index: Native::new(ArcSwapOption::from_pointee(index)), path, memory, profile })
    }

    #[getter]
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    #[getter]
    fn key(&self) -> PyResult<Vec<String>> {
        Ok(self.index()?.key_columns().map(str::to_owned).collect())
    }

    #[getter]
    fn key_type(&self) -> PyResult<String> {
        Ok(self.index()?.key_type().to_string())
    }

    #[getter]
    fn column_names(&self) -> PyResult<Vec<String>> {
        Ok(self.index()?.schema().fields().iter().map(|field| field.name().clone()).collect())
    }

    #[getter]
    fn is_sorted(&self) -> PyResult<bool> {
        Ok(self.index()?.is_sorted())
    }

    #[getter]
    fn files(&self) -> PyResult<Vec<String>> {
        Ok(self.index()?.files().map(|(path, _)| path.display().to_string()).collect())
    }

    fn __len__(&self) -> PyResult<usize> {
        usize::try_from(self.index()?.rows()).map_err(|error| errors::new("OgiveError", &error.to_string()))
    }

    #[pyo3(name = "_get", signature = (key, columns=None))]
    fn get(&self, py: Python<'_>, key: &Object<'_>, columns: Option<Vec<String>>) -> PyResult<RowBatch> {
        let index = self.index()?;
        let key = encode_key(index.key_type(), &as_key(index.key_type(), key)?)?;
        let batch = py.detach(|| index.get(&key, named(columns.as_ref()).as_deref())).map_err(of_parquet)?;
        let schema = batch.schema();
        Ok(RowBatch::new(vec![batch], schema))
    }

    #[pyo3(name = "_multi_get", signature = (keys, columns=None))]
    fn multi_get(&self, py: Python<'_>, keys: &Object<'_>, columns: Option<Vec<String>>) -> PyResult<RowBatch> {
        let index = self.index()?;
        let keys = keys_of(py, index.key_type(), keys)?;
        let keys: Vec<&[u8]> = keys.iter().collect();
        let columns = named(columns.as_ref());
        let schema = py.detach(|| index.scan::<Vec<u8>>(.., columns.as_deref())).map_err(of_parquet)?.schema();
        let mut batches = Vec::new();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            py.check_signals()?;
            let part = || {
                let found = index.multi_get(keys, columns.as_deref()).map_err(of_parquet)?;
                arrow_select::concat::concat_batches(&schema, &found).map_err(arrow_error)
            };
            batches.push(py.detach(part)?);
        }
        Ok(RowBatch::new(batches, schema))
    }

    #[pyo3(name = "_scan", signature = (start=None, stop=None, columns=None, limit=None))]
    fn scan(
        &self,
        py: Python<'_>,
        start: Option<&Object<'_>>,
        stop: Option<&Object<'_>>,
        columns: Option<Vec<String>>,
        limit: Option<u64>,
    ) -> PyResult<RowReader> {
        let index = self.index()?;
        let bounds = as_bounds(&index, start, stop)?;
        let scan = py.detach(|| index.scan(bounds, named(columns.as_ref()).as_deref())).map_err(of_parquet)?;
        let scan = if let Some(rows) = limit { scan.limit(rows) } else { scan };
        Ok(RowReader::new(Box::new(Scan(scan))))
    }

    /// Number of rows with smaller keys.
    fn rank(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<u64> {
        let index = self.index()?;
        let key = encode_key(index.key_type(), &as_key(index.key_type(), key)?)?;
        py.detach(|| index.rank(&key)).map_err(of_parquet)
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn count(&self, py: Python<'_>, start: Option<&Object<'_>>, stop: Option<&Object<'_>>) -> PyResult<u64> {
        let index = self.index()?;
        let bounds = as_bounds(&index, start, stop)?;
        py.detach(|| index.count(bounds)).map_err(of_parquet)
    }

    /// The requests of a look-up with nothing open, as JSON.
    #[pyo3(name = "_explain", signature = (key, columns=None))]
    fn explain(&self, py: Python<'_>, key: &Object<'_>, columns: Option<Vec<String>>) -> PyResult<String> {
        let key_type = self.index()?.key_type();
        let key = encode_key(key_type, &as_key(key_type, key)?)?;
        let (trace, rows) = py.detach(|| {
            let index = Self::open_index(&self.path, self.memory, self.profile.as_deref()).map_err(of_parquet)?;
            let mut trace = Trace::new();
            trace.add_index_reads(index.table().path(), &[index.table().opening()], false);
            let found =
                index.get_traced(&key, named(columns.as_ref()).as_deref(), Some(&mut trace)).map_err(of_parquet)?;
            Ok::<_, PyErr>((trace, found.num_rows()))
        })?;
        let mut facts = trace_json(&trace);
        facts["path"] = json!(self.path.display().to_string());
        facts["key"] = json!(key_type.display(&key));
        facts["rows"] = json!(rows);
        Ok(facts.to_string())
    }

    /// Compares every row with the index, which may take the times of files; the findings as JSON.
    #[pyo3(name = "_verify", signature = (progress=None, accept=false))]
    fn verify(&self, py: Python<'_>, progress: Option<&Object<'_>>, accept: bool) -> PyResult<String> {
        self.index()?;
        let report = interruptible_as(py, Task::default(), progress, |task| {
            let place = locate(&self.path).or_raise()?;
            let options = open_options(&place, self.memory, self.profile.as_deref()).or_raise()?;
            let folder = PathFolder::of_index(&self.path).map_err(of_parquet)?;
            let folder = Arc::new(StoppableFolder { folder, stop: task.stop.clone() });
            let mut build = BuildOptions::new("", &[]);
            build = build.table(TableWriteOptions::default().profile(options.profile.clone()));
            if place.storage.is_object_store() {
                let scratch: Arc<dyn Storage> = Arc::new(LocalStorage::new(std::env::temp_dir()));
                build = build.scratch(StoppableStorage::new(scratch, task.stop.clone()));
            }
            let storage = StoppableStorage::new(place.storage, task.stop.clone());
            let mut shown = |done, total| task.report(done, total);
            let report = match accept {
                true => ogive_parquet::ParquetIndex::accept(storage, &place.name, folder, build, &mut shown)
                    .map(|(report, _)| report),
                false => ogive_parquet::ParquetIndex::open(storage, &place.name, folder, &options)
                    .and_then(|index| index.verify(&mut shown)),
            };
            let report = report.map_err(of_parquet)?;
            // A stop can look like damage of a file.
            task.check().or_raise()?;
            Ok(report)
        })?;
        if accept && report.is_sound() {
            let opened = || Self::open_index(&self.path, self.memory, self.profile.as_deref());
            self.index.get()?.store(Some(Arc::new(py.detach(opened).map_err(of_parquet)?)));
        }
        Ok(json!({ "files": report.files, "rows": report.rows, "findings": report.findings }).to_string())
    }

    fn close(&self) -> PyResult<()> {
        self.index.get()?.store(None);
        Ok(())
    }
}
