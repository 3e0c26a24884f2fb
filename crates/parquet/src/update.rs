//! Updates: an index is built anew for the files that there are now, and keeps the records of files that stayed.

use crate::build::{self, BuildOptions, BuildReport, row_bytes, row_hash, row_value, sorting_writer};
use crate::catalog::Catalog;
use crate::data::{Data, difference};
use crate::error::{ParquetIndexError, Result};
use crate::file::footer::footer_checksum;
use crate::folder::shown;
use crate::folder::{Folder, join, split};
use crate::index::{ParquetIndex, row_number};
use crate::open_data::{self, open};
use crate::place::Place;
use crate::source::{find_files, path_columns};
use crate::stated;
use ogive::Storage;
use ogive::table::TableOptions;
use std::collections::HashMap;
use std::sync::Arc;

impl ParquetIndex {
    /// Builds an index again for the files that are there now: takes in new and changed ones, and drops those that are
    /// gone. The key and the root are those of the index: of the options, `files`, `table` and `memory_bytes` are used,
    /// and a `root` that is not empty must be that of the index, with `.` for its own folder.
    ///
    /// Files that stayed as they were are not read again where the index has a record for each row; separators of
    /// sorted files are found anew, by reading the columns of the key. The new index replaces the old one as a whole.
    ///
    /// Type and columns of the key stay as they are. Of two updates that run at once, the second is refused or fails.
    ///
    /// # Errors
    /// As [`Self::build`] and [`Self::open`]; [`ParquetIndexError::NotIndexable`] for files whose keys are of another
    /// type; [`ogive::Cause::Locked`] while another writer is at work on the index, and
    /// [`ParquetIndexError::Replaced`] in an object store if one has replaced it meanwhile.
    pub fn update(
        storage: Arc<dyn Storage>,
        name: &str,
        folder: Arc<dyn Folder>,
        options: BuildOptions,
    ) -> Result<BuildReport> {
        let open_options = TableOptions::default().profile(options.table.profile.clone());
        let place = Place::claim(storage, name)?;
        let old = Self::open(place.storage.clone(), name, folder.clone(), &open_options)?;
        let catalog = &old.inner.data.catalog;
        let given = if options.root == "." { "" } else { &options.root };
        if !options.root.is_empty() && given != catalog.root {
            let indexed = if catalog.root.is_empty() { "its own folder" } else { &catalog.root };
            let detail = format!("the index is of the data in {indexed}; update it with them, or build another index");
            return Err(ParquetIndexError::NotIndexable { path: options.root.into(), detail });
        }
        let read_finer = |column: &&String| !catalog.reading.nanoseconds.contains(column);
        if let Some(column) = options.reading.nanoseconds.iter().find(read_finer) {
            let detail = format!(
                "column '{column}' is not one that the index reads in nanoseconds, which an update does not change; \
                 build the index again"
            );
            return Err(ParquetIndexError::NotIndexable { path: given.into(), detail });
        }
        let mut options = BuildOptions {
            key: catalog.key_columns.iter().map(|column| column.name.clone()).collect(),
            root: catalog.root.clone(),
            reading: catalog.reading.clone(),
            known_partitions: catalog.path_columns.clone(),
            known_key: Some((old.key_type(), catalog.key_columns.clone())),
            ..options
        };
        options.table = options.table.replace(true);
        if options.files.is_none() && catalog.is_listed {
            options.files = Some(catalog.files.iter().map(|file| file.path.clone()).collect());
        }
        let mut found = find_files(&folder, &options.root, options.files.as_deref(), options.ignores_table_log)?;
        if options.files.is_none() {
            add_left_out(&old, &*folder, &mut found.paths)?;
        }
        let kept = kept_files(&old, &*folder, &found.paths)?;
        if old.is_sorted() || kept.is_empty() {
            return build::build_of(&place, folder, options, found);
        }
        match merged(&old, &folder, &options, &found.paths, &kept)? {
            Some((new, kept_groups)) => {
                let report = write(&old, &place, folder, options, new, &kept_groups, kept.len())?;
                Ok(BuildReport { warnings: found.warnings, ..report })
            }
            None => build::build_of(&place, folder, options, found),
        }
    }
}

/// Adds the files of an index that a listing leaves out, though they are there: it may be out of date. That it leaves
/// out a new one cannot be known.
fn add_left_out(old: &ParquetIndex, folder: &dyn Folder, paths: &mut Vec<String>) -> Result<()> {
    let catalog = &old.inner.data.catalog;
    let mut left_out = Vec::new();
    for stated in catalog.files.iter().filter(|stated| paths.binary_search(&stated.path).is_err()) {
        let full = join(&catalog.root, &stated.path);
        let (of, name) = split(&full);
        if folder.storage(of)?.exists(name)? {
            left_out.push(stated.path.clone());
        }
    }
    paths.extend(left_out);
    paths.sort_unstable();
    Ok(())
}

/// The files that are as they were: their paths, with their numbers in the old index.
fn kept_files(old: &ParquetIndex, folder: &dyn Folder, paths: &[String]) -> Result<HashMap<String, usize>> {
    let catalog = &old.inner.data.catalog;
    let mut kept = HashMap::new();
    for (number, stated) in catalog.files.iter().enumerate() {
        if paths.binary_search(&stated.path).is_err() {
            continue;
        }
        let file = open_data::open_now(folder, &catalog.root, &stated.path)?;
        let is_same = difference(&*file, stated.bytes, stated.modified_ns).is_none()
            && footer_checksum(&*file).is_ok_and(|checksum| checksum == stated.footer_checksum);
        if is_same {
            kept.insert(stated.path.clone(), number);
        }
    }
    Ok(kept)
}

/// The new catalog, and the new number of each group that stayed; `None` if paths state other columns now.
fn merged(
    old: &ParquetIndex,
    folder: &Arc<dyn Folder>,
    options: &BuildOptions,
    paths: &[String],
    kept: &HashMap<String, usize>,
) -> Result<Option<(Catalog, HashMap<usize, usize>)>> {
    let before = &old.inner.data.catalog;
    let mut catalog = Catalog {
        root: before.root.clone(),
        is_listed: before.is_listed || options.files.is_some(),
        reading: before.reading.clone(),
        key_columns: before.key_columns.clone(),
        schemas: before.schemas.clone(),
        ..Catalog::default()
    };
    let mut groups = HashMap::new();
    for path in paths {
        let Some(&number) = kept.get(path) else {
            let found = open(&**folder, &options.root, path)?;
            open_data::add_file(&mut catalog, path, &found)?;
            continue;
        };
        for (at, group) in before.groups.iter().enumerate().filter(|(_, group)| group.file == number) {
            groups.insert(at, catalog.groups.len());
            catalog.groups.push(crate::catalog::Group { file: catalog.files.len(), ..group.clone() });
        }
        catalog.files.push(before.files[number].clone());
    }
    drop_unused_schemas(&mut catalog);
    let has_column = |name: &str| catalog.schemas.iter().any(|schema| schema.column(name).is_some());
    let known = build::known_partitions(options)?;
    let (columns, values) = path_columns(&options.root, paths, &has_column, &known)?;
    build::refuse_unstated(options, &columns, &shown(&**folder, &options.root, ""))?;
    let is_same = columns == before.path_columns;
    catalog.path_columns = columns;
    for (file, values) in catalog.files.iter_mut().zip(values) {
        file.path_values = values;
    }
    let is_new = |file: &&crate::catalog::DataFile| !kept.contains_key(&file.path);
    stated::check(folder, &catalog, catalog.files.iter().filter(is_new))?;
    build::check_key(&**folder, &catalog, &before.key_columns)?;
    Ok(is_same.then_some((catalog, groups)))
}

/// Drops the schemas that no file has any more: their columns are no columns of the data.
fn drop_unused_schemas(catalog: &mut Catalog) {
    let mut numbers = Vec::with_capacity(catalog.schemas.len());
    let mut used = Vec::new();
    for (number, schema) in catalog.schemas.drain(..).enumerate() {
        numbers.push(used.len());
        if catalog.files.iter().any(|file| file.schema == number) {
            used.push(schema);
        }
    }
    catalog.schemas = used;
    for file in &mut catalog.files {
        file.schema = numbers.get(file.schema).copied().unwrap_or(file.schema);
    }
}

/// Writes an index again with the records that it has and another catalog of the same files.
pub(crate) fn write_again(
    old: &ParquetIndex,
    place: &Place,
    folder: Arc<dyn Folder>,
    options: BuildOptions,
    catalog: Catalog,
) -> Result<ogive::table::TableReport> {
    let same = (0..catalog.groups.len()).map(|group| (group, group)).collect();
    let files = catalog.files.len();
    Ok(write(old, place, folder, options, catalog, &same, files)?.table)
}

fn write(
    old: &ParquetIndex,
    place: &Place,
    folder: Arc<dyn Folder>,
    options: BuildOptions,
    catalog: Catalog,
    kept_groups: &HashMap<usize, usize>,
    kept_files: usize,
) -> Result<BuildReport> {
    let mut data = Data::new(catalog, old.key_type(), place.path(), folder, &options.table.profile, None)?;
    let is_kept: std::collections::HashSet<usize> = kept_groups.values().copied().collect();
    let groups = data.catalog.groups.len();
    for group in (0..groups).filter(|group| !is_kept.contains(group)) {
        let mut hash = 0_u64;
        data.each_key(group, &mut |row, key| {
            hash = hash.wrapping_add(row_hash(row, &key));
            Ok(())
        })?;
        data.catalog.groups[group].key_hash = hash;
    }
    let mut first_rows = Vec::with_capacity(groups);
    let mut rows = 0;
    for group in &data.catalog.groups {
        first_rows.push(rows);
        rows += group.rows;
    }
    let width = row_bytes(&data.catalog);
    let mut writer = sorting_writer(place, &data, &options)?;
    for record in old.inner.table.iter() {
        let (key, value) = record?;
        let row = row_number(&value);
        let of_old = &old.inner.first_rows;
        let group = of_old.partition_point(|&first| first <= row).saturating_sub(1);
        if let Some(&new) = kept_groups.get(&group) {
            writer.append(&key, &row_value(first_rows[new] + row - of_old[group], width))?;
        }
    }
    for group in (0..groups).filter(|group| !is_kept.contains(group)) {
        data.each_key(group, &mut |row, key| Ok(writer.append(&key, &row_value(first_rows[group] + row, width))?))?;
    }
    place.check()?;
    let table = place.finished(writer.finish())?;
    Ok(BuildReport { kept_files: kept_files as u64, ..build::report(&data, table)? })
}
