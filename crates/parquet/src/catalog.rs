//! The catalog of an index: the data files, their schemas, the places of their pages, and for sorted
//! files the separators. It is a property of the table that holds the index; see `docs/format/parquet.md`.

use crate::bytes_io::{Decoder, Encoder};
use crate::error::{ParquetIndexError, Result};
use crate::file::int96::Reading;
use crate::file::pages::GroupPages;
use crate::keys::KeyColumn;
use crate::router::Run;
use crate::schema::FileSchema;
use ogive::io::ListedFile;
use ogive::table::Table;
use std::path::Path;
use twox_hash::XxHash3_64;

/// The name of the property.
pub(crate) const PROPERTY: &str = "parquet";
/// The version of the stored form.
pub(crate) const VERSION: u64 = 1;

/// A column that the folders of files state, as `dt=2026-01-01`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathColumn {
    pub(crate) name: String,
    pub(crate) key_type: ogive::KeyType,
}

/// A data file, as it was when it was indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataFile {
    /// Its path, relative to the root of the data; empty if the root is the file.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970; 0 if the storage does not state it.
    pub(crate) modified_ns: u64,
    pub(crate) footer_checksum: u64,
    /// The number of its schema.
    pub(crate) schema: usize,
    /// The values of the columns that its path states.
    pub(crate) path_values: Vec<Option<String>>,
}

impl DataFile {
    /// What is known of it, in the words of a listing; its folder has it under `name`.
    pub(crate) fn known_as(&self, name: &str) -> ListedFile {
        let modified_ns = Some(self.modified_ns).filter(|&modified_ns| modified_ns != 0);
        ListedFile { length_bytes: Some(self.bytes), modified_ns, ..ListedFile::named(name) }
    }
}

/// A row group of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The number of its file.
    pub(crate) file: usize,
    pub(crate) rows: u64,
    /// The sum of the hashes of the keys of its rows with their places.
    pub(crate) key_hash: u64,
    /// The intervals between the cuts of its rows, in an index of sorted files.
    pub(crate) intervals: u64,
    /// The stored form of the places of its pages.
    pub(crate) pages: Vec<u8>,
}

/// Everything that an index stores beside its records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    /// The path of the data, relative to the folder of the index.
    pub(crate) root: String,
    /// Whether the files were given as a list.
    pub(crate) is_listed: bool,
    /// How columns are read whose types in the files leave a choice.
    pub(crate) reading: Reading,
    pub(crate) key_columns: Vec<KeyColumn>,
    pub(crate) path_columns: Vec<PathColumn>,
    pub(crate) schemas: Vec<FileSchema>,
    pub(crate) files: Vec<DataFile>,
    pub(crate) groups: Vec<Group>,
    /// The runs of sorted row groups; none if records of the table lead to the rows.
    pub(crate) runs: Option<Vec<Run>>,
}

impl Catalog {
    /// The catalog of the index that a table holds.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotAnIndex`] for another table, and those of [`Self::decode`].
    pub(crate) fn of_table(table: &Table) -> Result<Self> {
        let path = table.path();
        let stored = table.property(PROPERTY).ok_or_else(|| ParquetIndexError::NotAnIndex {
            path: path.to_owned(),
            detail: "it is a table of another kind".to_owned(),
        })?;
        Self::decode(path, stored)
    }

    /// The stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        let flags = u64::from(self.runs.is_some()) | u64::from(self.is_listed) << 1;
        out.int(VERSION).int(flags).bytes(self.root.as_bytes());
        out.int(self.key_columns.len() as u64);
        for column in &self.key_columns {
            out.bytes(column.name.as_bytes()).bytes(column.key_type.to_string().as_bytes());
        }
        out.int(self.path_columns.len() as u64);
        for column in &self.path_columns {
            out.bytes(column.name.as_bytes()).bytes(column.key_type.to_string().as_bytes());
        }
        out.int(self.reading.nanoseconds.len() as u64);
        for column in &self.reading.nanoseconds {
            out.bytes(column.as_bytes());
        }
        out.int(self.schemas.len() as u64);
        for schema in &self.schemas {
            out.bytes(&schema.stored).raw(&XxHash3_64::oneshot(&schema.stored).to_le_bytes());
        }
        out.int(self.files.len() as u64);
        for file in &self.files {
            out.bytes(file.path.as_bytes()).int(file.bytes).int(file.modified_ns);
            out.raw(&file.footer_checksum.to_le_bytes()).int(file.schema as u64);
            for value in &file.path_values {
                out.int(u64::from(value.is_some()));
                if let Some(value) = value {
                    out.bytes(value.as_bytes());
                }
            }
        }
        out.int(self.groups.len() as u64);
        for group in &self.groups {
            out.int(group.file as u64).int(group.rows).raw(&group.key_hash.to_le_bytes());
            out.int(group.intervals).bytes(&group.pages);
        }
        let runs = self.runs.as_deref().unwrap_or_default();
        out.int(runs.len() as u64);
        runs.iter().for_each(|run| run.encode(&mut out));
        out.0
    }

    /// Decodes the stored form, which messages call `path`.
    ///
    /// # Errors
    /// [`ParquetIndexError::NewerVersion`]; [`ParquetIndexError::NotAnIndex`] if it contradicts itself.
    pub(crate) fn decode(path: &Path, stored: &[u8]) -> Result<Self> {
        let mut decoder = Decoder(stored);
        let wrong =
            || ParquetIndexError::NotAnIndex { path: path.to_owned(), detail: "its content is malformed".into() };
        let version = decoder.int().ok_or_else(wrong)?;
        if version > VERSION {
            return Err(ParquetIndexError::NewerVersion { path: path.to_owned(), version, known: VERSION });
        }
        let (mut catalog, is_sorted, schemas) = decode_head(&mut decoder).ok_or_else(wrong)?;
        for schema in schemas {
            catalog.schemas.push(FileSchema::from_stored(path, schema, &catalog.reading)?);
        }
        decode_files(&mut decoder, &mut catalog).ok_or_else(wrong)?;
        decode_runs(&mut decoder, &mut catalog, is_sorted).ok_or_else(wrong)?;
        if decoder.0.is_empty() { Ok(catalog) } else { Err(wrong()) }
    }

    /// The places of the pages of a row group.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotAnIndex`] if they contradict themselves.
    pub(crate) fn group_pages(&self, path: &Path, group: usize) -> Result<GroupPages> {
        let found = self.groups.get(group).and_then(|group| {
            let file = self.files.get(group.file)?;
            let pages = GroupPages::decode(&group.pages, group.rows, file.bytes)?;
            let schema = self.schemas.get(file.schema)?;
            (pages.columns.len() == schema.leaf_count()).then_some(pages)
        });
        found.ok_or_else(|| ParquetIndexError::NotAnIndex {
            path: path.to_owned(),
            detail: format!("the pages of row group {group} are malformed"),
        })
    }
}

/// Decodes the catalog of an index, which messages call `path`, and the places of all pages, as opening the index and
/// lookups do.
///
/// # Errors
/// [`ParquetIndexError`] for any bytes that are no sound catalog.
pub fn check_catalog(path: &Path, stored: &[u8]) -> Result<()> {
    let catalog = Catalog::decode(path, stored)?;
    (0..catalog.groups.len()).try_for_each(|group| {
        let pages = catalog.group_pages(path, group)?;
        debug_assert!(pages.cuts().first() == Some(&0), "rows are cut at the first");
        Ok(())
    })
}

/// What comes before the files, whether runs follow, and the stored schemas.
fn decode_head(decoder: &mut Decoder<'_>) -> Option<(Catalog, bool, Vec<Vec<u8>>)> {
    let flags = decoder.int().filter(|&flags| flags <= 3)?;
    let root = decoder.text()?;
    let mut catalog = Catalog { root, is_listed: flags & 2 != 0, ..Catalog::default() };
    for _ in 0..decoder.count()? {
        let (name, key_type) = (decoder.text()?, decoder.text()?.parse().ok()?);
        catalog.key_columns.push(KeyColumn { name, key_type });
    }
    for _ in 0..decoder.count()? {
        let (name, key_type) = (decoder.text()?, decoder.text()?.parse().ok()?);
        catalog.path_columns.push(PathColumn { name, key_type });
    }
    for _ in 0..decoder.count()? {
        catalog.reading.nanoseconds.push(decoder.text()?);
    }
    let count = decoder.count()?;
    let mut schema = || {
        // Other crates decode schemas, and not all of them take any bytes.
        let (stored, checksum) = (decoder.bytes()?, u64::from_le_bytes(decoder.array()?));
        (XxHash3_64::oneshot(stored) == checksum).then(|| stored.to_vec())
    };
    let schemas = (0..count).map(|_| schema()).collect::<Option<_>>()?;
    Some((catalog, flags & 1 != 0, schemas))
}

fn decode_files(decoder: &mut Decoder<'_>, catalog: &mut Catalog) -> Option<()> {
    for _ in 0..decoder.count()? {
        let mut file = DataFile {
            path: decoder.text()?,
            bytes: decoder.int()?,
            modified_ns: decoder.int()?,
            footer_checksum: u64::from_le_bytes(decoder.array()?),
            schema: decoder.small().filter(|&schema| schema < catalog.schemas.len())?,
            path_values: Vec::new(),
        };
        for _ in &catalog.path_columns {
            file.path_values.push(if decoder.int()? == 1 { Some(decoder.text()?) } else { None });
        }
        catalog.files.push(file);
    }
    let mut total = 0_u64;
    for _ in 0..decoder.count()? {
        let group = Group {
            file: decoder.small().filter(|&file| file < catalog.files.len())?,
            rows: decoder.int().filter(|&rows| 0 < rows && rows <= u64::from(u32::MAX) << 16)?,
            key_hash: u64::from_le_bytes(decoder.array()?),
            intervals: decoder.int()?,
            pages: decoder.bytes()?.to_vec(),
        };
        // Each interval has a row.
        if group.intervals > group.rows {
            return None;
        }
        total = total.checked_add(group.rows)?;
        catalog.groups.push(group);
    }
    Some(())
}

fn decode_runs(decoder: &mut Decoder<'_>, catalog: &mut Catalog, is_sorted: bool) -> Option<()> {
    let count = decoder.count()?;
    if !is_sorted {
        return (count == 0).then_some(());
    }
    let runs = (0..count).map(|_| Run::decode(decoder, catalog.groups.len())).collect::<Option<Vec<_>>>()?;
    let mut is_placed = vec![false; catalog.groups.len()];
    for &group in runs.iter().flat_map(|run| &run.groups) {
        if std::mem::replace(is_placed.get_mut(group)?, true) {
            return None;
        }
    }
    catalog.runs = Some(runs);
    is_placed.into_iter().all(|placed| placed).then_some(())
}
