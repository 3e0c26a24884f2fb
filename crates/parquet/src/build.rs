//! Building of an index: which rows ascend, and what leads to them.

use crate::catalog::{Catalog, PROPERTY, PathColumn};
use crate::data::{Data, unified};
use crate::error::{ParquetIndexError, Remedy, Result};
use crate::file::footer::Footer;
use crate::file::int96::Reading;
use crate::folder::{Folder, shown};
use crate::keys::{KeyColumn, key_type};
use crate::open_data::{add_file, open, refuse_other_than_int96};
use crate::place::Place;
use crate::router::{GroupKeys, Run, assign};
use crate::source::{FoundFiles, find_files, path_columns};
use crate::stated;
use arrow_schema::DataType;
use ogive::table::{SortingWriter, TableReport, TableWriteOptions, TableWriter};
use ogive::types::{KeyColumn as TableKeyColumn, NullOrder, ValueType};
use ogive::{Advice, Call, KeyType, Storage};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// Most runs of an index of sorted files: a lookup asks each of them.
const RUNS_MAX: usize = 4;
/// Memory for sorting the keys of files that are not sorted.
const SORT_BYTES: u64 = 256 << 20;

/// What to index, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BuildOptions {
    /// The columns of the key.
    pub key: Vec<String>,
    /// The file or folder of the data, relative to the folder of the index.
    pub root: String,
    /// The files below the root, relative to it; without, all Parquet files there.
    pub files: Option<Vec<String>>,
    /// Options of the index file: the profile of the storage, `replace`, and the design if files are not sorted.
    pub table: TableWriteOptions,
    /// The upper limit, in bytes, of the memory for sorting keys if files are not sorted.
    pub memory_bytes: u64,
    /// Where keys that this memory does not hold are sorted; without, beside the index. An index in an object store
    /// needs a place on a file system.
    pub scratch: Option<Arc<dyn Storage>>,
    /// How columns are read whose types in the files leave a choice.
    pub(crate) reading: Reading,
    /// The types of columns that paths state, where they are given.
    pub(crate) partitions: Vec<PathColumn>,
    /// The types of those that the index has, which an update keeps.
    pub(crate) known_partitions: Vec<PathColumn>,
    /// The key that the index has, which an update keeps.
    pub(crate) known_key: Option<(KeyType, Vec<KeyColumn>)>,
    /// Whether files are indexed whatever the log of their lake table says.
    pub ignores_table_log: bool,
}

impl BuildOptions {
    /// Options for the data at `root`, with the default for all else.
    #[must_use]
    pub fn new(root: &str, key: &[&str]) -> Self {
        Self {
            key: key.iter().map(|name| (*name).to_owned()).collect(),
            root: root.to_owned(),
            files: None,
            table: TableWriteOptions::default(),
            memory_bytes: SORT_BYTES,
            scratch: None,
            reading: Reading::default(),
            partitions: Vec::new(),
            known_partitions: Vec::new(),
            known_key: None,
            ignores_table_log: false,
        }
    }

    /// The types of columns that the paths of files state, as `month=01`: `i64`, `date` or `text`. An update keeps
    /// those of the index.
    #[must_use]
    pub fn partitions(self, types: Vec<(String, KeyType)>) -> Self {
        let partitions = types.into_iter().map(|(name, key_type)| PathColumn { name, key_type }).collect();
        Self { partitions, ..self }
    }

    /// Indexes files that are listed as they are, even if the log of the lake table that they belong to says that rows
    /// of theirs were deleted, or columns renamed; [`BuildReport::warnings`] then says so.
    #[must_use]
    pub fn ignore_table_log(self, ignores_table_log: bool) -> Self {
        Self { ignores_table_log, ..self }
    }

    /// Reads these columns of timestamps of the type INT96 in nanoseconds, which have the years 1677 to 2262; others
    /// are read in microseconds. An update keeps the choice of the index.
    #[must_use]
    pub fn nanoseconds(self, columns: Vec<String>) -> Self {
        Self { reading: Reading { nanoseconds: columns, ..self.reading }, ..self }
    }

    /// Indexes these files below the root only.
    #[must_use]
    pub fn files(self, files: Vec<String>) -> Self {
        Self { files: Some(files), ..self }
    }

    /// The options of the index file.
    #[must_use]
    pub fn table(self, table: TableWriteOptions) -> Self {
        Self { table, ..self }
    }

    /// Memory for sorting keys.
    #[must_use]
    pub fn memory_bytes(self, memory_bytes: u64) -> Self {
        Self { memory_bytes, ..self }
    }

    /// Where keys are sorted.
    #[must_use]
    pub fn scratch(self, scratch: Arc<dyn Storage>) -> Self {
        Self { scratch: Some(scratch), ..self }
    }
}

/// What was built.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BuildReport {
    /// Whether the files are sorted by the key, so that separators lead to pages.
    pub is_sorted: bool,
    /// The number of data files.
    pub files: u64,
    /// The number of rows.
    pub rows: u64,
    /// The number of data pages.
    pub pages: u64,
    /// Of sorted files: intervals of rows that need one page of each column.
    pub intervals: u64,
    /// Bytes of the separators of sorted files.
    pub separator_bytes: u64,
    /// Bytes of the places of pages.
    pub place_bytes: u64,
    /// The type of the keys.
    pub key_type: KeyType,
    /// The index file.
    pub table: TableReport,
    /// Data files whose rows were not read again by an update.
    pub kept_files: u64,
    /// Why the files do not show the rows of the lake table that they belong to, where that was to be ignored.
    pub warnings: Vec<String>,
}

/// Builds an index at a place for data in folders; see [`ParquetIndex::build`](crate::ParquetIndex::build).
pub(crate) fn build(place: &Place, folder: Arc<dyn Folder>, options: BuildOptions) -> Result<BuildReport> {
    let found = find_files(&folder, &options.root, options.files.as_deref(), options.ignores_table_log)?;
    build_of(place, folder, options, found)
}

/// As [`build`], of files that were found.
pub(crate) fn build_of(
    place: &Place,
    folder: Arc<dyn Folder>,
    options: BuildOptions,
    found: FoundFiles,
) -> Result<BuildReport> {
    let catalog = collect(&folder, &options, &found.paths)?;
    let nulls = null_orders(&catalog);
    let of_key = match &options.known_key {
        Some((known, columns)) => {
            check_key(&*folder, &catalog.0, columns)?;
            *known
        }
        None => key_type(&catalog.1, &nulls)?,
    };
    let mut data = Data::new(catalog.0, of_key, place.path(), folder, &options.table.profile, None)?;
    let mut scanned = scan(&data)?;
    let is_one_nullable = options.known_key.is_none() && nulls == [NullOrder::First];
    if scanned.keys.is_none() && is_one_nullable {
        // Many writers sort nulls to the end.
        let last = key_type(&data.catalog.key_columns, &[NullOrder::Last])?;
        let first = std::mem::replace(&mut data.key_type, last);
        let again = scan(&data)?;
        if again.keys.is_some() {
            scanned = again;
        } else {
            data.key_type = first;
        }
    }
    for (group, hash) in data.catalog.groups.iter_mut().zip(&scanned.hashes) {
        group.key_hash = *hash;
    }
    let runs = scanned.keys.as_deref().map(assign).filter(|runs| runs.len() <= RUNS_MAX);
    let report = match (runs, scanned.keys) {
        (Some(runs), Some(keys)) => write_sorted(place, data, runs, &keys, options),
        _ => write_unsorted(place, &data, options),
    };
    Ok(BuildReport { warnings: found.warnings, ..report? })
}

/// The catalog of files, without hashes and runs, and the columns of the key with whether any file has nulls in them.
type Collected = (Catalog, Vec<KeyColumn>, Vec<bool>);

/// Reads the footers of files.
fn collect(folder: &Arc<dyn Folder>, options: &BuildOptions, paths: &[String]) -> Result<Collected> {
    let shared = folder;
    let folder = &**folder;
    let mut catalog = Catalog {
        root: options.root.clone(),
        is_listed: options.files.is_some(),
        reading: options.reading.clone(),
        ..Catalog::default()
    };
    let mut opened = Vec::with_capacity(paths.len());
    for path in paths {
        let found = open(folder, &options.root, path)?;
        add_file(&mut catalog, path, &found)?;
        opened.push(found.footer);
    }
    let path_of = |file: usize| shown(folder, &options.root, paths.get(file).map_or("", String::as_str));
    refuse_other_than_int96(&catalog, &path_of)?;
    let has_column = |name: &str| catalog.schemas.iter().any(|schema| schema.column(name).is_some());
    let (columns, values) = path_columns(&options.root, paths, &has_column, &known_partitions(options)?)?;
    refuse_unstated(options, &columns, &path_of(0))?;
    catalog.path_columns = columns;
    for (file, values) in catalog.files.iter_mut().zip(values) {
        file.path_values = values;
    }
    stated::check(shared, &catalog, catalog.files.iter())?;
    let columns = key_columns(folder, &catalog, &options.key)?;
    let nullable = columns.iter().map(|column| may_be_null(&catalog, &opened, &column.name)).collect();
    catalog.key_columns = columns.clone();
    Ok((catalog, columns, nullable))
}

/// The columns of paths whose types are known: those that the index has, and those that are given.
pub(crate) fn known_partitions(options: &BuildOptions) -> Result<Vec<PathColumn>> {
    let mut known = options.known_partitions.clone();
    for given in &options.partitions {
        let PathColumn { name, key_type } = given;
        let detail = match known.iter().find(|column| column.name == *name) {
            _ if !matches!(key_type, KeyType::I64 | KeyType::Date | KeyType::Text) => {
                format!("column '{name}' of its paths cannot be of type {key_type}; choose i64, date or text")
            }
            Some(column) if column.key_type != *key_type => format!(
                "column '{name}' of its paths is of type {}, which an update does not change; build the index again",
                column.key_type
            ),
            _ => {
                known.push(given.clone());
                continue;
            }
        };
        return Err(ParquetIndexError::NotIndexable { path: PathBuf::from(&options.root), detail });
    }
    Ok(known)
}

/// Refuses types of columns that no path states.
pub(crate) fn refuse_unstated(options: &BuildOptions, columns: &[PathColumn], path: &Path) -> Result<()> {
    let is_absent = |of: &&PathColumn| columns.iter().all(|column| column.name != of.name);
    let Some(absent) = options.partitions.iter().find(is_absent) else { return Ok(()) };
    let known = columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    let detail = match known.as_str() {
        "" => format!("no path states a column '{}'; leave its type out", absent.name),
        known => format!("no path states a column '{}', but they state {known}", absent.name),
    };
    Err(ParquetIndexError::NotIndexable { path: path.to_owned(), detail })
}

/// The columns of the key by their names.
fn key_columns(folder: &dyn Folder, catalog: &Catalog, names: &[String]) -> Result<Vec<KeyColumn>> {
    let path_of =
        |file: usize| shown(folder, &catalog.root, catalog.files.get(file).map_or("", |file| file.path.as_str()));
    let schema = unified(catalog, None, &path_of)?;
    if names.is_empty() {
        let (detail, remedy) = ("no key is given".to_owned(), Box::new(Remedy::Take(Advice::Use(Call::NameKey))));
        return Err(ParquetIndexError::Unstated { path: path_of(0), detail, remedy });
    }
    let column = |name: &String| {
        let Ok(field) = schema.field_with_name(name) else {
            let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let known = known.join(", ");
            return Err(ParquetIndexError::NoColumn { path: path_of(0), column: name.clone(), known });
        };
        if let Some(column) = catalog.path_columns.iter().find(|column| column.name == *name) {
            return Ok(KeyColumn { name: name.clone(), key_type: column.key_type });
        }
        let is_uuid = catalog.schemas.iter().any(|of| of.column(name).is_some_and(|at| of.is_uuid(at)));
        KeyColumn::of(&path_of(0), field, is_uuid)
    };
    names.iter().map(column).collect()
}

/// Whether rows may have no value in a column: by its statistics, else by its definition.
fn may_be_null(catalog: &Catalog, footers: &[Footer], name: &str) -> bool {
    (0..).zip(footers).any(|(file, footer)| may_be_null_in(catalog, file, footer, name))
}

fn may_be_null_in(catalog: &Catalog, number: usize, footer: &Footer, name: &str) -> bool {
    let file = &catalog.files[number];
    if let Some(at) = catalog.path_columns.iter().position(|column| column.name == name) {
        return file.path_values.get(at).is_none_or(Option::is_none);
    }
    let schema = &catalog.schemas[file.schema];
    let Some(column) = schema.column(name) else { return true };
    let field = schema.arrow.field(column);
    if *field.data_type() == DataType::Null {
        return true;
    }
    if !field.is_nullable() {
        return false;
    }
    let groups = footer.metadata.row_groups();
    groups.iter().any(|group| {
        schema.leaves(column).any(|leaf| {
            let statistics = group.columns().get(leaf).and_then(|column| column.statistics());
            statistics.and_then(parquet::file::statistics::Statistics::null_count_opt) != Some(0)
        })
    })
}

/// Checks that the files of a catalog have the columns of a key that is known, in its types.
///
/// # Errors
/// [`ParquetIndexError::NotIndexable`].
pub(crate) fn check_key(folder: &dyn Folder, catalog: &Catalog, known: &[KeyColumn]) -> Result<()> {
    let of_files = catalog.files.iter().flat_map(|file| known.iter().map(move |column| (file, column)));
    for (file, column) in of_files {
        let schema = &catalog.schemas[file.schema];
        let Some(at) = schema.column(&column.name) else { continue };
        if *schema.arrow.field(at).data_type() == DataType::Null {
            continue;
        }
        let path = shown(folder, &catalog.root, &file.path);
        let found = KeyColumn::of(&path, schema.arrow.field(at), schema.is_uuid(at))?;
        if found != *column {
            let detail = format!(
                "column '{}' of the key is of type {}, and of type {} in the index, which an update does not change; \
                 build the index again",
                column.name, found.key_type, column.key_type
            );
            return Err(ParquetIndexError::NotIndexable { path, detail });
        }
    }
    Ok(())
}

/// Where nulls of the columns of the key order.
fn null_orders((_, _, nullable): &Collected) -> Vec<NullOrder> {
    nullable.iter().map(|&nullable| if nullable { NullOrder::First } else { NullOrder::Never }).collect()
}

/// What a pass over the keys of all files finds.
struct Scanned {
    hashes: Vec<u64>,
    /// The keys at the cuts of each row group; none if the rows of any do not ascend.
    keys: Option<Vec<GroupKeys>>,
}

/// The hash of the key of a row, as it is summed for a row group.
pub(crate) fn row_hash(row: u64, key: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(row, key)
}

fn scan(data: &Data) -> Result<Scanned> {
    let mut hashes = Vec::with_capacity(data.catalog.groups.len());
    let mut keys = Some(Vec::new());
    for group in 0..data.catalog.groups.len() {
        let (hash, of_group) = scan_group(data, group)?;
        hashes.push(hash);
        match (of_group, &mut keys) {
            (Some(of_group), Some(keys)) => keys.push(of_group),
            _ => keys = None,
        }
    }
    Ok(Scanned { hashes, keys })
}

fn scan_group(data: &Data, group: usize) -> Result<(u64, Option<GroupKeys>)> {
    let cuts = data.pages(group)?.cuts();
    let mut next_cut = 1;
    let (mut hash, mut is_sorted) = (0_u64, true);
    let mut keys = GroupKeys::default();
    data.each_key(group, &mut |row, key| {
        hash = hash.wrapping_add(row_hash(row, &key));
        is_sorted &= row == 0 || keys.last <= key;
        if row == 0 {
            keys.first.clone_from(&key);
        }
        if cuts.get(next_cut) == Some(&row) && is_sorted {
            keys.borders.push((keys.last.clone(), key.clone()));
            next_cut += 1;
        }
        keys.last = key;
        Ok(())
    })?;
    Ok((hash, is_sorted.then_some(keys)))
}

/// The options of the table that holds an index.
fn table_options(data: &Data, options: TableWriteOptions, catalog: &Catalog) -> TableWriteOptions {
    let mut properties = options.properties.clone();
    properties.push((PROPERTY.to_owned(), catalog.encode()));
    let key_columns = (0..).zip(&data.catalog.key_columns);
    let key_columns = key_columns.map(|(position, column)| TableKeyColumn { name: column.name.clone(), position });
    options.key_type(data.key_type).properties(properties).key_columns(key_columns.collect())
}

fn write_sorted(
    place: &Place,
    mut data: Data,
    runs: Vec<Vec<usize>>,
    keys: &[GroupKeys],
    options: BuildOptions,
) -> Result<BuildReport> {
    for (group, keys) in data.catalog.groups.iter_mut().zip(keys) {
        group.intervals = keys.borders.len() as u64 + 1;
    }
    let runs = runs.into_iter().map(|groups| Run::build(groups, keys, data.key_type)).collect::<Result<Vec<_>, _>>();
    let runs = runs.map_err(|error| ParquetIndexError::NotIndexable {
        path: data.path_of(0),
        detail: format!("its separators cannot be coded: {error}"),
    })?;
    data.catalog.runs = Some(runs);
    let table = write_catalog(place, &data, &data.catalog, options.table)?;
    report(&data, table)
}

/// Writes an index that has no records, for data with this catalog.
pub(crate) fn write_catalog(
    place: &Place,
    data: &Data,
    catalog: &Catalog,
    options: TableWriteOptions,
) -> Result<TableReport> {
    let writer = TableWriter::create((place.target.clone(), &place.name), table_options(data, options, catalog))?;
    place.check()?;
    place.finished(writer.finish())
}

fn write_unsorted(place: &Place, data: &Data, options: BuildOptions) -> Result<BuildReport> {
    let mut writer = sorting_writer(place, data, &options)?;
    let (mut first_row, width) = (0, row_bytes(&data.catalog));
    for group in 0..data.catalog.groups.len() {
        data.each_key(group, &mut |row, key| Ok(writer.append(&key, &row_value(first_row + row, width))?))?;
        first_row += data.catalog.groups[group].rows;
    }
    place.check()?;
    let table = place.finished(writer.finish())?;
    report(data, table)
}

/// A writer of the records of an index of files that are not sorted: a key, and the number of its row.
pub(crate) fn sorting_writer(place: &Place, data: &Data, options: &BuildOptions) -> Result<SortingWriter> {
    let (target, name) = (place.target.clone(), place.name.as_str());
    let width = row_bytes(&data.catalog);
    let value_type = if width == 4 { KeyType::U32 } else { KeyType::U64 };
    let table = table_options(data, options.table.clone(), &data.catalog)
        .value_type(ValueType::Scalar(value_type))
        .value_width(width as u32);
    let scratch = options.scratch.clone().unwrap_or_else(|| Arc::clone(&place.storage));
    Ok(SortingWriter::create_with_scratch((target, name), table, options.memory_bytes, scratch)?)
}

/// Bytes of the number of a row.
pub(crate) fn row_bytes(catalog: &Catalog) -> usize {
    let rows: u64 = catalog.groups.iter().map(|group| group.rows).sum();
    if u32::try_from(rows).is_ok() { 4 } else { 8 }
}

/// The value of a record: the number of its row among those of all files.
pub(crate) fn row_value(row: u64, width: usize) -> Vec<u8> {
    row.to_be_bytes()[8 - width.min(8)..].to_vec()
}

pub(crate) fn report(data: &Data, table: TableReport) -> Result<BuildReport> {
    let catalog = &data.catalog;
    let mut pages = 0;
    for group in 0..catalog.groups.len() {
        pages += data.pages(group)?.columns.iter().map(|column| column.pages.len() as u64).sum::<u64>();
    }
    let runs = catalog.runs.as_deref().unwrap_or_default();
    Ok(BuildReport {
        is_sorted: catalog.runs.is_some(),
        files: catalog.files.len() as u64,
        rows: catalog.groups.iter().map(|group| group.rows).sum(),
        pages,
        intervals: catalog.groups.iter().map(|group| group.intervals).sum(),
        separator_bytes: runs.iter().map(|run| run.router.len() as u64).sum(),
        place_bytes: catalog.groups.iter().map(|group| group.pages.len() as u64).sum(),
        key_type: data.key_type,
        table,
        kept_files: 0,
        warnings: Vec::new(),
    })
}
