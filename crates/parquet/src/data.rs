//! The data files of an index, as far as they are open: rows of their row groups in one round of reads.

use crate::catalog::{Catalog, Group};
use crate::common::{common, in_common, wider};
use crate::error::{ParquetIndexError, Result};
use crate::file::decode::GroupSource;
use crate::file::fetched::{Fetched, Joining, Part, StartedFetch, Wanted, request_sizes, start};
use crate::file::pages::GroupPages;
use crate::file::walk::GroupWalk;
use crate::folder::{Folder, join, shown, split};
use crate::keys::RowKeys;
use crate::schema::FileSchema;
use crate::trace::Trace;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use ogive::io::ReadableFile;
use ogive::{Cause, Error, KeyType, Profile, Storage};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Rows that are decoded first, and at most, where many follow each other.
const PACE_ROWS: (u64, u64) = (1 << 13, 1 << 16);
/// Memory of decoded rows, about: a page of few bytes may hold many rows that are long.
const DECODED_BYTES: u64 = 32 << 20;
/// Time to decompress and decode a stored byte of a page, in microseconds: about that of Zstandard and dictionaries,
/// 125 MB of stored bytes a second.
const DECODED_US_PER_BYTE: f64 = 8e-3;

/// How many rows are decoded at a time, by the memory that those before took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rows: u64,
    rows_max: u64,
    decoded_bytes: u64,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { rows: PACE_ROWS.0, rows_max: PACE_ROWS.1, decoded_bytes: DECODED_BYTES }
    }

    /// A pace that only memory limits.
    pub(crate) fn within(decoded_bytes: u64) -> Self {
        Self { rows_max: u64::MAX, decoded_bytes, ..Self::new() }
    }

    /// The number of rows to decode next.
    pub(crate) fn rows(self) -> u64 {
        self.rows
    }

    /// Follows rows that were decoded.
    pub(crate) fn follow(&mut self, batch: &RecordBatch) {
        let row_bytes = batch.get_array_memory_size() as u64 / (batch.num_rows() as u64).max(1);
        let most = self.rows.saturating_mul(4).min(self.rows_max);
        self.rows = (self.decoded_bytes / row_bytes.max(1)).clamp(1, most);
    }
}

/// Rows of a row group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupRows {
    pub(crate) group: usize,
    /// Ascending, apart from each other, and not empty.
    pub(crate) ranges: Vec<Range<u64>>,
}

impl GroupRows {
    /// The number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }
}

/// The name of a column that no file has: the number of the schema of a row's file, among those of the index. It is
/// read where it is named, and not where all columns are.
pub const SCHEMA_COLUMN: &str = "\0schema";

/// Where a column of a file comes from.
#[derive(Clone, Copy, Debug)]
enum ColumnSource {
    File(usize),
    Path(usize),
    Schema,
    Missing,
}

/// Columns of the schema of all files, in the order in which they are returned.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    pub(crate) columns: Vec<usize>,
    pub(crate) schema: SchemaRef,
}

/// The data files of an index.
#[derive(Debug)]
pub(crate) struct Data {
    pub(crate) catalog: Catalog,
    pub(crate) key_type: KeyType,
    /// The columns of all files, then those of paths.
    pub(crate) schema: SchemaRef,
    /// The columns of the key.
    pub(crate) key: Projection,
    /// For each schema of files, where each column comes from.
    sources: Vec<Vec<ColumnSource>>,
    index_path: PathBuf,
    folder: Arc<dyn Folder>,
    storages: Mutex<HashMap<String, Arc<dyn Storage>>>,
    files: Vec<OnceLock<Arc<dyn ReadableFile>>>,
    pages: Vec<OnceLock<Arc<GroupPages>>>,
    profile: Profile,
    joining: Joining,
}

/// The columns of files of several schemas, with those of their paths; of all names, or of those that are chosen.
///
/// # Errors
/// [`ParquetIndexError::NotIndexable`] if a column has several types, or if several have one name.
pub(crate) fn unified(
    catalog: &Catalog,
    chosen: Option<&[&str]>,
    path_of: &dyn Fn(usize) -> PathBuf,
) -> Result<SchemaRef> {
    let mut fields: Vec<Field> = Vec::new();
    for (number, schema) in catalog.schemas.iter().enumerate() {
        let is_chosen = |(_, field): &(usize, &Arc<Field>)| chosen.is_none_or(|it| it.contains(&field.name().as_str()));
        for (at, field) in schema.arrow.fields().iter().enumerate().filter(is_chosen) {
            if schema.column(field.name()) != Some(at) {
                let file = catalog.files.iter().position(|file| file.schema == number).unwrap_or(0);
                let detail = format!("it has several columns '{}'; rename them", field.name());
                return Err(ParquetIndexError::NotIndexable { path: path_of(file), detail });
            }
            // A column of nulls alone may be stored as one that has none.
            let has_nulls = field.is_nullable() || *field.data_type() == DataType::Null;
            let Some(known) = fields.iter_mut().find(|known| known.name() == field.name()) else {
                fields.push(field.as_ref().clone().with_nullable(has_nulls || number > 0));
                continue;
            };
            let is_key = catalog.key_columns.iter().any(|column| column.name == *field.name());
            let unite = if is_key { common } else { wider };
            let Some(both) = unite(known.data_type(), field.data_type()) else {
                let file = catalog.files.iter().position(|file| file.schema == number).unwrap_or(0);
                let why = if is_key { ", and it is of the key" } else { "" };
                let detail = format!(
                    "column '{}' is of type {} there, and of type {} in other files{why}; index files of one schema",
                    field.name(),
                    field.data_type(),
                    known.data_type()
                );
                return Err(ParquetIndexError::NotIndexable { path: path_of(file), detail });
            };
            let is_nullable = known.is_nullable() || has_nulls;
            // What a column without values says of itself says nothing of those of other files.
            let typed = if *known.data_type() == DataType::Null { field.as_ref() } else { &*known };
            *known = typed.clone().with_data_type(both).with_nullable(is_nullable);
        }
        for known in &mut fields {
            if schema.column(known.name()).is_none() {
                *known = known.clone().with_nullable(true);
            }
        }
    }
    fields.extend(catalog.path_columns.iter().map(crate::catalog::PathColumn::field));
    Ok(Arc::new(Schema::new(fields)))
}

impl Data {
    /// The data of a catalog, with all columns or those that are chosen. Nothing is opened yet.
    ///
    /// # Errors
    /// Those of [`unified`]; [`ParquetIndexError::NoColumn`] for columns of the key that there are not.
    pub(crate) fn new(
        catalog: Catalog,
        key_type: KeyType,
        index_path: PathBuf,
        folder: Arc<dyn Folder>,
        profile: &Profile,
        chosen: Option<&[&str]>,
    ) -> Result<Self> {
        let path_of = |file: usize| {
            let path = catalog.files.get(file).map_or("", |file| &file.path);
            shown(&*folder, &catalog.root, path)
        };
        let schema = unified(&catalog, chosen, &path_of)?;
        let sources = catalog.schemas.iter().map(|of| sources(&schema, of, &catalog)).collect();
        let names: Vec<&str> = catalog.key_columns.iter().map(|column| column.name.as_str()).collect();
        let key = project(&schema, Some(&names), &index_path)?;
        let files = (0..catalog.files.len()).map(|_| OnceLock::new()).collect();
        let pages = (0..catalog.groups.len()).map(|_| OnceLock::new()).collect();
        let (storages, profile, joining) = (Mutex::default(), profile.clone(), Joining::of(profile));
        Ok(Self {
            catalog,
            key_type,
            schema,
            key,
            sources,
            index_path,
            folder,
            storages,
            files,
            pages,
            profile,
            joining,
        })
    }

    /// Columns by their names; all of them without any.
    ///
    /// # Errors
    /// [`ParquetIndexError::NoColumn`].
    pub(crate) fn project(&self, names: Option<&[&str]>) -> Result<Projection> {
        project(&self.schema, names, &self.index_path)
    }

    /// An open data file, which has the length and the time of the one that was indexed.
    ///
    /// # Errors
    /// [`ParquetIndexError::Gone`], [`ParquetIndexError::Changed`]; storage errors.
    pub(crate) fn file(&self, number: usize) -> Result<Arc<dyn ReadableFile>> {
        let malformed = || self.malformed(format!("there is no data file {number}"));
        let (stated, slot) = self.catalog.files.get(number).zip(self.files.get(number)).ok_or_else(malformed)?;
        if let Some(file) = slot.get() {
            return Ok(file.clone());
        }
        let full = join(&self.catalog.root, &stated.path);
        let (folder, name) = split(&full);
        let storage = self.storage(folder)?;
        // In an object store the first read shows whether the file is there and is that one.
        let opened = match storage.is_object_store() {
            true => storage.open_known(&stated.known_as(name)),
            false => storage.open(name),
        };
        let file = opened.map_err(|error| of_data_file(error.into()))?;
        if let Some(Difference { detail, may_be_copy }) = difference(&*file, stated.bytes, stated.modified_ns) {
            return Err(ParquetIndexError::Changed { path: file.path().to_owned(), detail, may_be_copy });
        }
        Ok(slot.get_or_init(|| file).clone())
    }

    fn storage(&self, folder: &str) -> Result<Arc<dyn Storage>> {
        let mut storages = self.storages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(storage) = storages.get(folder) {
            return Ok(storage.clone());
        }
        let storage = self.folder.storage(folder)?;
        storages.insert(folder.to_owned(), storage.clone());
        Ok(storage)
    }

    pub(crate) fn malformed(&self, detail: String) -> ParquetIndexError {
        ParquetIndexError::NotAnIndex { path: self.index_path.clone(), detail }
    }

    /// The path of a data file for messages.
    pub(crate) fn path_of(&self, number: usize) -> PathBuf {
        let path = self.catalog.files.get(number).map_or("", |file| &file.path);
        shown(&*self.folder, &self.catalog.root, path)
    }

    /// The places of the pages of a row group.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotAnIndex`].
    pub(crate) fn pages(&self, group: usize) -> Result<Arc<GroupPages>> {
        let slot = self.pages.get(group).ok_or_else(|| self.malformed(format!("there is no row group {group}")))?;
        if let Some(pages) = slot.get() {
            return Ok(pages.clone());
        }
        let pages = Arc::new(self.catalog.group_pages(&self.index_path, group)?);
        Ok(slot.get_or_init(|| pages).clone())
    }

    /// Reads the pages of columns for rows of several groups, in one round.
    ///
    /// # Errors
    /// Those of [`Self::file`] and [`Self::pages`]; storage errors.
    pub(crate) fn fetch(&self, parts: &[GroupRows], columns: &[usize], trace: Option<&mut Trace>) -> Result<Fetched> {
        self.start(self.wanted(parts, columns)?, u64::MAX, trace)?.wait().map_err(of_data_file)
    }

    /// Starts to read ranges of files, in one round. Gaps that are read along have at most `gap_bytes`.
    ///
    /// # Errors
    /// Those of [`Self::file`]; storage errors.
    pub(crate) fn start(&self, wanted: Vec<Wanted>, gap_bytes: u64, trace: Option<&mut Trace>) -> Result<StartedFetch> {
        let label = |file: usize, part: Part| self.label(file, part);
        start(wanted, &|file| self.file(file), self.joining.with_gaps_within(gap_bytes), trace, &label)
            .map_err(of_data_file)
    }

    /// The time to read and decode ranges of files, in microseconds.
    pub(crate) fn price_us(&self, wanted: Vec<Wanted>) -> f64 {
        let sizes = request_sizes(wanted, self.joining);
        self.profile.batch_us(&sizes) + sizes.iter().sum::<u64>() as f64 * DECODED_US_PER_BYTE
    }

    /// The profile of the storage.
    pub(crate) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The ranges of all rows of all files.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotAnIndex`].
    pub(crate) fn all_ranges(&self, columns: &[usize]) -> Result<Vec<Wanted>> {
        let groups = self.catalog.groups.iter().enumerate();
        let all = |(group, of): (usize, &Group)| GroupRows { group, ranges: std::iter::once(0..of.rows).collect() };
        self.wanted(&groups.map(all).collect::<Vec<_>>(), columns)
    }

    /// The pages of columns that ascending rows of a group touch.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotAnIndex`].
    pub(crate) fn walk(&self, group: usize, columns: &[usize]) -> Result<GroupWalk> {
        let pages = self.pages(group)?;
        self.with_source(group, &pages, |source, sources| source.walk(&of_file(sources, columns), pages.clone()))
    }

    fn wanted(&self, parts: &[GroupRows], columns: &[usize]) -> Result<Vec<Wanted>> {
        let mut wanted: Vec<Wanted> = Vec::new();
        for part in parts {
            let pages = self.pages(part.group)?;
            self.with_source(part.group, &pages, |source, sources| {
                source.want(&of_file(sources, columns), &part.ranges, &mut wanted);
            })?;
        }
        Ok(wanted)
    }

    /// Bytes that are read for columns of rows of groups in one round.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotAnIndex`].
    pub(crate) fn round_bytes(&self, parts: &[GroupRows], columns: &[usize]) -> Result<u64> {
        Ok(request_sizes(self.wanted(parts, columns)?, self.joining).iter().sum())
    }

    /// Decodes columns of rows of a group from what was fetched.
    ///
    /// # Errors
    /// [`ParquetIndexError::Malformed`].
    pub(crate) fn decode(&self, part: &GroupRows, projection: &Projection, fetched: &Fetched) -> Result<RecordBatch> {
        let pages = self.pages(part.group)?;
        let rows = part.len() as usize;
        let decode = |source: GroupSource<'_>, sources: &[ColumnSource]| {
            let columns = of_file(sources, &projection.columns);
            let batch = source.decode(&columns, &part.ranges, &fetched.file(source.file))?;
            let values = self.catalog.files.get(source.file).map_or(&[][..], |file| &file.path_values[..]);
            let mut arrays: Vec<ArrayRef> = Vec::with_capacity(projection.columns.len());
            for (&column, field) in projection.columns.iter().zip(projection.schema.fields()) {
                arrays.push(match sources.get(column) {
                    Some(ColumnSource::File(at)) => {
                        let place = columns.iter().position(|known| known == at).unwrap_or(0);
                        in_common(batch.column(place), field.data_type())
                            .map_err(|error| crate::schema::malformed(source.path, &error))?
                    }
                    Some(&ColumnSource::Path(at)) => {
                        self.catalog.path_columns[at].array(values.get(at).and_then(Option::as_deref), rows)
                    }
                    Some(ColumnSource::Schema) => {
                        let number = self.catalog.files.get(source.file).map_or(0, |file| file.schema);
                        Arc::new(UInt32Array::from_value(u32::try_from(number).unwrap_or(u32::MAX), rows))
                    }
                    _ => new_null_array(field.data_type(), rows),
                });
            }
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            RecordBatch::try_new_with_options(projection.schema.clone(), arrays, &options)
                .map_err(|error| crate::schema::malformed(source.path, &error))
        };
        self.with_source(part.group, &pages, decode)?
    }

    /// The keys of decoded rows of a group.
    ///
    /// # Errors
    /// [`ParquetIndexError::NoColumn`].
    pub(crate) fn keys(&self, batch: &RecordBatch) -> Result<RowKeys> {
        RowKeys::new(&self.index_path, batch, &self.catalog.key_columns, self.key_type)
    }

    /// Visits the keys of all rows of a group in their order.
    ///
    /// # Errors
    /// Those of reading, and of `visit`.
    pub(crate) fn each_key(&self, group: usize, visit: &mut dyn FnMut(u64, Vec<u8>) -> Result<()>) -> Result<()> {
        let rows = self.catalog.groups.get(group).map_or(0, |group| group.rows);
        let all = GroupRows { group, ranges: std::iter::once(0..rows).collect() };
        let fetched = self.fetch(std::slice::from_ref(&all), &self.key.columns, None)?;
        let (mut start, mut pace) = (0, Pace::new());
        let path = self.path_of(self.catalog.groups.get(group).map_or(0, |group| group.file));
        while start < rows {
            let end = rows.min(start + pace.rows());
            let part = GroupRows { group, ranges: std::iter::once(start..end).collect() };
            let batch = self.decode(&part, &self.key, &fetched)?;
            pace.follow(&batch);
            let keys = RowKeys::new(&path, &batch, &self.catalog.key_columns, self.key_type)?;
            for row in start..end {
                visit(row, keys.key((row - start) as usize)?)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Bytes of the pages of columns for each row of a group, on average.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotAnIndex`].
    pub(crate) fn bytes_per_row(&self, group: usize, columns: &[usize]) -> Result<f64> {
        let pages = self.pages(group)?;
        self.with_source(group, &pages, |source, sources| {
            let leaves = of_file(sources, columns).into_iter().flat_map(|column| source.schema.leaves(column));
            let bytes: u64 = leaves.filter_map(|leaf| pages.columns.get(leaf)).map(|it| it.end - it.start).sum();
            bytes as f64 / source.rows as f64
        })
    }

    fn with_source<T>(
        &self,
        group: usize,
        pages: &GroupPages,
        work: impl FnOnce(GroupSource<'_>, &[ColumnSource]) -> T,
    ) -> Result<T> {
        let found = self.catalog.groups.get(group).and_then(|of| {
            let file = self.catalog.files.get(of.file)?;
            Some((of, file, self.catalog.schemas.get(file.schema)?, self.sources.get(file.schema)?))
        });
        let (of, _, schema, sources) = found.ok_or_else(|| self.malformed(format!("there is no row group {group}")))?;
        let path = self.path_of(of.file);
        let before = self.catalog.groups.get(..group).unwrap_or_default();
        let first_row = before.iter().filter(|before| before.file == of.file).map(|before| before.rows).sum();
        Ok(work(GroupSource { path: &path, file: of.file, schema, first_row, rows: of.rows, pages }, sources))
    }

    /// What a range is, for a trace.
    fn label(&self, file: usize, part: Part) -> String {
        let name = |leaf: usize| {
            let schema = self.catalog.files.get(file).and_then(|file| self.catalog.schemas.get(file.schema));
            schema.map_or_else(String::new, |schema| schema.descriptor().column(leaf).path().string())
        };
        match part {
            Part::Dictionary(leaf) => format!("dictionary of {}", name(leaf)),
            Part::Page(leaf, number) => format!("page {number} of {}", name(leaf)),
            Part::Chunk(leaf) => format!("all pages of {}", name(leaf)),
        }
    }
}

fn project(schema: &SchemaRef, names: Option<&[&str]>, path: &std::path::Path) -> Result<Projection> {
    let Some(names) = names else {
        return Ok(Projection { columns: (0..schema.fields().len()).collect(), schema: schema.clone() });
    };
    let find = |name: &&str| {
        if *name == SCHEMA_COLUMN {
            return Ok(schema.fields().len());
        }
        schema.fields().iter().position(|field| field.name() == name).ok_or_else(|| ParquetIndexError::NoColumn {
            path: path.to_owned(),
            column: (*name).to_owned(),
            known: schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", "),
        })
    };
    let columns = names.iter().map(find).collect::<Result<Vec<_>>>()?;
    let number = Arc::new(Field::new(SCHEMA_COLUMN, DataType::UInt32, false));
    let fields: Vec<_> = columns.iter().map(|&column| schema.fields().get(column).unwrap_or(&number).clone()).collect();
    Ok(Projection { columns, schema: Arc::new(Schema::new(fields)) })
}

fn sources(schema: &SchemaRef, of: &FileSchema, catalog: &Catalog) -> Vec<ColumnSource> {
    let path = |name: &str| catalog.path_columns.iter().position(|column| column.name == name);
    let source = |name: &str| match (of.column(name), path(name)) {
        (Some(column), _) => ColumnSource::File(column),
        (None, Some(column)) => ColumnSource::Path(column),
        (None, None) => ColumnSource::Missing,
    };
    // Behind all columns is the one that has no file.
    schema.fields().iter().map(|field| source(field.name())).chain([ColumnSource::Schema]).collect()
}

/// The columns of a file among columns of all.
fn of_file(sources: &[ColumnSource], columns: &[usize]) -> Vec<usize> {
    let of = |&column: &usize| match sources.get(column) {
        Some(&ColumnSource::File(at)) => Some(at),
        _ => None,
    };
    let mut found: Vec<usize> = columns.iter().filter_map(of).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The error of a data file in an object store, where the first read shows what became of it.
pub(crate) fn of_data_file(error: ParquetIndexError) -> ParquetIndexError {
    match error {
        ParquetIndexError::Engine(error @ Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => {
            ParquetIndexError::Gone { path: error.path().map(Into::into).unwrap_or_default() }
        }
        ParquetIndexError::Engine(error @ Error { cause: Cause::ObjectChanged, .. }) => ParquetIndexError::Changed {
            path: error.path().map(Into::into).unwrap_or_default(),
            detail: error.detail().to_owned(),
            may_be_copy: true,
        },
        error => error,
    }
}

/// How a file differs from the one that was indexed.
pub(crate) struct Difference {
    detail: String,
    may_be_copy: bool,
}

/// The difference of a file from the one that was indexed; `None` if length and time are the same.
pub(crate) fn difference(file: &dyn ReadableFile, bytes: u64, modified_ns: u64) -> Option<Difference> {
    if file.len() != bytes {
        let detail = format!("it has {} bytes, and had {bytes}", file.len());
        return Some(Difference { detail, may_be_copy: false });
    }
    let modified = file.modified_ns().is_some_and(|now| modified_ns != 0 && now != modified_ns);
    modified.then(|| Difference { detail: "it was modified later".to_owned(), may_be_copy: true })
}
