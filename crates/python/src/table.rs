//! Tables.

use crate::arrow::keys::Keys;
use crate::arrow::output::{RowBatch, RowReader};
use crate::arrow::rows::{self, Batches};
use crate::convert::{decode_key, decode_value, encode_bound, encode_key, with_key};
use crate::errors::{self, OrRaise};
use crate::fork::Native;
use crate::key_range::KeyRange;
use crate::object::Object;
use crate::range::{Part, RecordIterator};
use crate::wait::interruptible;
use arc_swap::ArcSwapOption;
use ogive::io::{FastPaths, LocatedFile, Profile, locate};
use ogive::table::TracedRead;
use ogive::{ReadTrace, TableOptions};
use ogive_report::notebook;
use ogive_report::table::{PictureOptions, TablePicture};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// A table. See `ogive.Table`.
#[pyclass(module = "ogive._internal", frozen, subclass)]
pub(crate) struct Table {
    table: Native<ArcSwapOption<ogive::Table>>,
    path: PathBuf,
}

impl Table {
    pub(crate) fn table(&self) -> PyResult<Arc<ogive::Table>> {
        self.table.get()?.load_full().ok_or_else(|| {
            errors::new("Closed", &format!("the table {} was closed; open it again", self.path.display()))
        })
    }

    fn find<R: Send>(
        &self,
        py: Python<'_>,
        key: &Object<'_>,
        look: impl FnOnce(&ogive::Table, &[u8]) -> ogive::Result<R> + Send,
    ) -> PyResult<(Arc<ogive::Table>, R)> {
        let table = self.table()?;
        let found = with_key(table.key_type(), key, |key| py.detach(|| look(&table, key)).or_raise())?;
        Ok((table, found))
    }
}

/// The reads of an operation, with their modelled times on the named storages.
pub(crate) fn reads_json(reads: &[TracedRead]) -> Value {
    let profiles: Vec<Profile> = Profile::names().filter_map(|name| Profile::named(name).ok()).collect();
    let read = |read: &TracedRead| {
        let times = profiles.iter().map(|profile| (profile.name().to_owned(), profile.time_us(read.bytes).into()));
        json!({
            "purpose": read.purpose.to_string(),
            "offset": read.offset,
            "size_bytes": read.bytes,
            "modelled_us": times.collect::<serde_json::Map<String, Value>>(),
        })
    };
    reads.iter().map(read).collect()
}

/// Options to open a table: with the profile that is stated, else that of its storage.
pub(crate) fn open_options(
    place: &LocatedFile,
    memory: Option<u64>,
    profile: Option<&str>,
) -> ogive::Result<TableOptions> {
    let mut options = TableOptions::default();
    if let Some(memory) = memory {
        options = options.memory_bytes(memory);
    }
    Ok(match (profile, place.storage.profile()) {
        (Some(name), _) => options.profile(Profile::by_name_or_file(name)?),
        (None, Some(profile)) => options.profile(profile.clone()),
        (None, None) => options,
    })
}

impl Table {
    /// The table without a cache, so that all reads are seen.
    fn uncached(&self) -> ogive::Result<ogive::Table> {
        let place = locate(&self.path)?;
        let options = TableOptions::default().fast_paths(FastPaths { cache: false, ..FastPaths::ALL });
        ogive::Table::open((place.storage, &place.name), &options)
    }
}

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (path, memory=None, profile=None))]
    fn open(py: Python<'_>, path: PathBuf, memory: Option<u64>, profile: Option<&str>) -> PyResult<Self> {
        let table = py.detach(|| {
            let place = locate(&path)?;
            let options = open_options(&place, memory, profile)?;
            ogive::Table::open((place.storage, &place.name), &options)
        });
        let table = table.or_raise()?;
        if ogive_parquet::ParquetIndex::is_one(&table) {
            let message =
                format!("{} is an index beside Parquet files; open it with ogive.ParquetIndex", path.display());
            return Err(errors::of_file("WrongFile", &message, &path));
        }
        if table.is_versioned() {
            let message = format!("{} is a file of a store; open the store", path.display());
            return Err(errors::new("WrongFile", &message));
        }
        Ok(Self { table: Native::new(ArcSwapOption::from_pointee(table)), path })
    }

    #[getter]
    fn path(&self) -> String {
        // Not as an object of `pathlib`, which would take URLs for paths.
        self.path.display().to_string()
    }

    /// The types of keys and values, as the engine names them.
    #[getter]
    fn types(&self) -> PyResult<(String, String)> {
        let table = self.table()?;
        Ok((table.key_type().to_string(), table.value_type().to_string()))
    }

    /// Whether no key has several records.
    #[getter(_is_distinct)]
    fn is_distinct(&self) -> PyResult<bool> {
        Ok(self.table()?.is_distinct())
    }

    fn __len__(&self) -> PyResult<usize> {
        usize::try_from(self.table()?.len()).map_err(|error| errors::new("OgiveError", &error.to_string()))
    }

    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Object<'py>,
        default: Option<Object<'py>>,
    ) -> PyResult<Option<Object<'py>>> {
        match self.find(py, key, |table, key| table.get(key))? {
            (table, Some(value)) => decode_value(py, table.value_type(), &value).map(Some),
            _ => Ok(default),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Object<'py>> {
        match self.find(py, key, |table, key| table.get(key))? {
            (table, Some(value)) => decode_value(py, table.value_type(), &value),
            _ => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<bool> {
        Ok(self.find(py, key, |table, key| table.contains_key(key))?.1)
    }

    /// The values of all records of a key.
    fn get_all<'py>(&self, py: Python<'py>, key: &Object<'py>) -> PyResult<Vec<Object<'py>>> {
        let (table, values) = self.find(py, key, |table, key| table.get_all(key))?;
        values.iter().map(|value| decode_value(py, table.value_type(), value)).collect()
    }

    #[pyo3(name = "_multi_get")]
    fn multi_get(&self, py: Python<'_>, keys: &Object<'_>) -> PyResult<RowBatch> {
        let table = self.table()?;
        let keys = Keys::of(py, table.key_type(), keys)?;
        rows::found(py, table.record_type(), &keys, |keys| table.multi_get(&keys))
    }

    #[pyo3(name = "_iterate")]
    fn range(&self, range: KeyRange<'_>, reverse: bool, part: Part) -> PyResult<RecordIterator> {
        let table = self.table()?;
        let types = Arc::new(table.record_type().clone());
        let range = table.range(range.bounds(types.keys)?);
        Ok(match (reverse, part) {
            // The values are not read.
            (false, Part::Keys) => {
                let keys = range.keys().map(|key| Ok((key?, Vec::new())));
                RecordIterator::new(Some(Box::new(keys)), types, part)
            }
            (false, _) => RecordIterator::new(Some(Box::new(range)), types, part),
            (true, _) => RecordIterator::new(Some(Box::new(range.rev())), types, part),
        })
    }

    /// The records of a range, as a stream of record batches.
    #[pyo3(name = "_scan")]
    fn scan(&self, range: KeyRange<'_>) -> PyResult<RowReader> {
        let table = self.table()?;
        let types = table.record_type();
        Ok(Batches::reader(types, table.range(range.bounds(types.keys)?)))
    }

    /// Number of records below a key, or below the first components of one.
    fn rank(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<u64> {
        let table = self.table()?;
        let key = encode_bound(table.key_type(), key)?;
        py.detach(|| table.rank(&key)).or_raise()
    }

    #[pyo3(signature = (start=None, stop=None, prefix=None))]
    fn count<'py>(
        &self,
        py: Python<'py>,
        start: Option<Object<'py>>,
        stop: Option<Object<'py>>,
        prefix: Option<Object<'py>>,
    ) -> PyResult<u64> {
        let table = self.table()?;
        let bounds = KeyRange(start, stop, prefix).bounds(table.key_type())?;
        py.detach(|| table.count(bounds)).or_raise()
    }

    /// The record at a position, from 0.
    fn nth<'py>(&self, py: Python<'py>, position: u64) -> PyResult<Option<(Object<'py>, Object<'py>)>> {
        let table = self.table()?;
        let Some((key, value)) = py.detach(|| table.nth(position)).or_raise()? else { return Ok(None) };
        Ok(Some((decode_key(py, table.key_type(), &key)?, decode_value(py, table.value_type(), &value)?)))
    }

    /// What a look-up of a key reads, as JSON.
    #[pyo3(name = "_explain")]
    fn explain(&self, py: Python<'_>, key: &Object<'_>) -> PyResult<String> {
        let mut trace = ReadTrace::new();
        let (table, found) = self.find(py, key, |_, key| {
            let table = self.uncached()?;
            let found = table.traced(&mut trace).contains_key(key)?;
            Ok(found)
        })?;
        let reads: Vec<TracedRead> = [table.opening()].into_iter().chain(trace.reads).collect();
        let key_bytes = encode_key(table.key_type(), key)?;
        let drawn = |read: &TracedRead| notebook::TracedRead {
            what: read.purpose.to_string(),
            offset: read.offset,
            length: read.bytes,
        };
        let picture = notebook::ReadTrace {
            title: format!("key {}", table.key_type().display(&key_bytes)),
            file_bytes: table.explain().file_bytes,
            reads: reads.iter().map(drawn).collect(),
        };
        Ok(json!({
            "svg": picture.to_svg(),
            "html": picture.to_html(),
            "path": self.path.display().to_string(),
            "key": table.key_type().display(&key_bytes),
            "found": found,
            "file_bytes": table.explain().file_bytes,
            "reads": reads_json(&reads),
        })
        .to_string())
    }

    /// The page of `ogive report`, with the look-ups of these keys.
    #[pyo3(name = "_page", signature = (keys, progress=None))]
    fn page(&self, py: Python<'_>, keys: &Object<'_>, progress: Option<&Object<'_>>) -> PyResult<String> {
        let keys = Keys::of(py, self.table()?.key_type(), keys)?.iter().map(<[u8]>::to_vec).collect();
        let options = PictureOptions { keys, ..PictureOptions::default() };
        let name = self.path.display().to_string();
        interruptible(py, progress, |task| {
            let mut watch = |done, total| {
                task.report(done, total);
                task.check()
            };
            let picture = TablePicture::of(&self.uncached()?, &name, &options, &mut watch)?;
            Ok(picture.to_html(&format!("ogive report {}", ogive_terminal::shell_word(&name))))
        })
    }

    /// What the table is made of, as JSON.
    #[pyo3(name = "_report")]
    fn report(&self) -> PyResult<String> {
        serde_json::to_string(&self.table()?.explain()).map_err(|error| errors::new("OgiveError", &error.to_string()))
    }

    /// The layers of the index, as a picture.
    #[pyo3(name = "_layers_svg")]
    fn layers_svg(&self) -> PyResult<String> {
        Ok(notebook::Layers(&self.table()?.explain()).to_svg())
    }

    fn close(&self) -> PyResult<()> {
        self.table.get()?.store(None);
        Ok(())
    }
}
