//! Structure of an index, for reports: its parts, the files that it covers, and its key curve.

use crate::error::Result;
use crate::index::{Inner, ParquetIndex};
use std::path::PathBuf;

/// The parts of an index, and what it covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexStructure {
    /// Bytes of the catalog, which is in the tail of the index file: all that follows but the records.
    pub catalog_bytes: u64,
    /// Bytes of the schemas in it.
    pub schema_bytes: u64,
    /// Bytes of the places of pages.
    pub place_bytes: u64,
    /// Bytes of the separators of sorted files.
    pub separator_bytes: u64,
    /// The data files.
    pub files: Vec<IndexedFile>,
    /// The runs of sorted row groups; none if each row has a record in the table.
    pub runs: Vec<IndexedRun>,
}

/// A data file that an index covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its length in bytes when it was indexed.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Row groups.
    pub groups: u64,
    /// Data pages that the index has places of; a column that is read as a whole counts as one.
    pub pages: u64,
    /// Bytes of those pages, and of the dictionary pages.
    pub page_bytes: u64,
}

/// A run: row groups that follow each other in key order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexedRun {
    /// Row groups.
    pub groups: u64,
    /// Rows.
    pub rows: u64,
    /// Intervals of rows with a separator each; in one, a row needs one page of each column.
    pub intervals: u64,
    /// Bytes of the separators.
    pub separator_bytes: u64,
}

impl ParquetIndex {
    /// The parts of the index, and the files that it covers. Reads nothing.
    ///
    /// # Errors
    /// [`crate::ParquetIndexError::NotAnIndex`] for places of pages that contradict themselves.
    pub fn structure(&self) -> Result<IndexStructure> {
        self.inner.structure()
    }

    /// The keys of some rows, evenly apart in the files, with the number of rows that have smaller keys; ascending.
    /// Reads pages of the key columns.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn curve(&self, samples: u64) -> Result<Vec<(Vec<u8>, u64)>> {
        self.inner.curve(samples)
    }
}

impl Inner {
    fn structure(&self) -> Result<IndexStructure> {
        let catalog = &self.data.catalog;
        let numbers = 0..catalog.files.len();
        let mut files: Vec<IndexedFile> = numbers
            .map(|number| IndexedFile {
                path: self.data.path_of(number),
                bytes: catalog.files[number].bytes,
                ..IndexedFile::default()
            })
            .collect();
        for (number, group) in catalog.groups.iter().enumerate() {
            let places = self.data.pages(number)?;
            let Some(file) = files.get_mut(group.file) else { continue };
            file.groups += 1;
            file.rows += group.rows;
            for column in &places.columns {
                let pages: u64 = column.pages.iter().map(|page| page.bytes).sum();
                file.pages += column.pages.len().max(1) as u64;
                file.page_bytes +=
                    if column.is_whole() { column.end - column.start } else { column.dictionary_bytes + pages };
            }
        }
        let runs = self.runs.iter().flatten().map(|run| IndexedRun {
            groups: run.search.groups.len() as u64,
            rows: run.rows(),
            intervals: run.search.intervals(),
            separator_bytes: run.search.stored_bytes(),
        });
        let runs: Vec<IndexedRun> = runs.collect();
        Ok(IndexStructure {
            catalog_bytes: self.table.property(crate::catalog::PROPERTY).map_or(0, <[u8]>::len) as u64,
            schema_bytes: catalog.schemas.iter().map(|schema| schema.stored.len() as u64).sum(),
            place_bytes: catalog.groups.iter().map(|group| group.pages.len() as u64).sum(),
            separator_bytes: runs.iter().map(|run| run.separator_bytes).sum(),
            files,
            runs,
        })
    }

    fn curve(&self, samples: u64) -> Result<Vec<(Vec<u8>, u64)>> {
        let all = self.first_rows.last().copied().unwrap_or(0);
        let count = samples.clamp(2, 1 << 12).min(all);
        let row = |at: u64| (u128::from(at) * u128::from(all - 1) / u128::from((count - 1).max(1))) as u64;
        let rows: Vec<u64> = (0..count).map(row).collect();
        let batch = self.rows(&rows, &self.data.key, None)?;
        let row_keys = self.data.keys(&batch)?;
        let mut keys = (0..batch.num_rows()).map(|row| row_keys.key(row)).collect::<Result<Vec<_>>>()?;
        keys.sort_unstable();
        keys.dedup();
        let asked: Vec<(&[u8], bool)> = keys.iter().map(|key| (key.as_slice(), false)).collect();
        let ranks = self.ranks(&asked, None)?;
        Ok(keys.into_iter().zip(ranks).collect())
    }
}
