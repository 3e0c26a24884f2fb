//! The schema of data files: what the index stores of it, and its columns as Arrow has them.

use crate::error::{ParquetIndexError, Result};
use crate::hint;
use crate::page_header::is_whole_structure;
use arrow_schema::SchemaRef;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::LogicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Length and magic number after the metadata in a footer.
const FOOTER_END_BYTES: usize = 8;

/// The schema of one or more data files.
#[derive(Clone, Debug)]
pub(crate) struct FileSchema {
    /// The metadata of a file of this schema without rows.
    file: FileMetaData,
    /// Options that lead to `arrow`.
    options: ArrowReaderOptions,
    /// Its columns, with nested ones as a whole.
    pub(crate) arrow: SchemaRef,
    /// The stored form: metadata of a file without rows, as Parquet defines it.
    pub(crate) stored: Vec<u8>,
    /// The leaf columns of each column.
    leaves: Vec<Range<usize>>,
}

impl FileSchema {
    /// The schema of a file.
    ///
    /// # Errors
    /// [`ParquetIndexError::Malformed`].
    pub(crate) fn of_file(path: &Path, file: &FileMetaData) -> Result<Self> {
        let malformed = |error: ParquetError| malformed(path, &error);
        let hints = file.key_value_metadata().into_iter().flatten();
        let hints: Vec<_> = hints.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY).cloned().collect();
        let hints = Some(hints).filter(|hints| !hints.is_empty());
        // Only versions are kept: other names and texts of the footer would make schemas of files differ.
        let bare = FileMetaData::new(file.version(), 0, None, hints, file.schema_descr_ptr(), None);
        let mut stored = Vec::new();
        let metadata = ParquetMetaData::new(bare, Vec::new());
        ParquetMetaDataWriter::new(&mut stored, &metadata).finish().map_err(malformed)?;
        stored.truncate(stored.len().saturating_sub(FOOTER_END_BYTES));
        Self::from_stored(path, stored)
    }

    /// The schema of its stored form.
    ///
    /// # Errors
    /// [`ParquetIndexError::Malformed`].
    pub(crate) fn from_stored(path: &Path, stored: Vec<u8>) -> Result<Self> {
        if !is_whole_structure(&stored) {
            return Err(malformed(path, &"its schema is damaged"));
        }
        let malformed = |error: ParquetError| malformed(path, &error);
        let metadata = ParquetMetaDataReader::decode_metadata(&stored).map_err(malformed)?;
        let file = metadata.file_metadata().clone();
        let shared = Arc::new(metadata);
        let hinted = ArrowReaderOptions::new();
        // A hint that does not fit the columns is passed over, as if it were not there.
        let plain = hinted.clone().with_skip_arrow_metadata(true);
        // The crate `arrow-ipc` panics on some hints that no writer makes.
        let mut hints =
            file.key_value_metadata().into_iter().flatten().filter(|pair| pair.key == ARROW_SCHEMA_META_KEY);
        let is_sound = hints.all(|hint| hint.value.as_deref().is_some_and(hint::is_sound));
        let attempt = || ArrowReaderMetadata::try_new(shared.clone(), hinted.clone());
        let (options, found) = match is_sound.then(attempt) {
            Some(Ok(found)) => (hinted, found),
            _ => (plain.clone(), ArrowReaderMetadata::try_new(shared, plain).map_err(malformed)?),
        };
        let descriptor = file.schema_descr();
        let mut leaves: Vec<Range<usize>> = vec![0..0; found.schema().fields().len()];
        for leaf in 0..descriptor.num_columns() {
            if let Some(range) = leaves.get_mut(descriptor.get_column_root_idx(leaf)) {
                let start = if range.start == range.end { leaf } else { range.start };
                *range = start..leaf + 1;
            }
        }
        Ok(Self { arrow: found.schema().clone(), file, options, stored, leaves })
    }

    /// The number of leaf columns.
    pub(crate) fn leaf_count(&self) -> usize {
        self.file.schema_descr().num_columns()
    }

    /// The leaf columns of a column.
    pub(crate) fn leaves(&self, column: usize) -> Range<usize> {
        self.leaves.get(column).cloned().unwrap_or_default()
    }

    /// The column of a name, if there is one.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.arrow.fields().iter().position(|field| field.name() == name)
    }

    /// Whether a column holds UUIDs.
    pub(crate) fn is_uuid(&self, column: usize) -> bool {
        let field = self.file.schema().get_fields().get(column);
        field.is_some_and(|field| matches!(field.get_basic_info().logical_type_ref(), Some(LogicalType::Uuid)))
    }

    /// Whether a leaf column lies in lists.
    pub(crate) fn repeats(&self, leaf: usize) -> bool {
        self.file.schema_descr().column(leaf).max_rep_level() > 0
    }

    /// The descriptions of the leaf columns.
    pub(crate) fn descriptor(&self) -> parquet::schema::types::SchemaDescPtr {
        self.file.schema_descr_ptr()
    }

    /// The metadata of a file of this schema with one row group.
    ///
    /// # Errors
    /// Of the crate `parquet`.
    pub(crate) fn reader_metadata(
        &self,
        group: RowGroupMetaData,
        offset_index: Option<Vec<parquet::file::page_index::offset_index::OffsetIndexMetaData>>,
    ) -> Result<ArrowReaderMetadata, ParquetError> {
        let Self { file, options, .. } = self;
        // A batch has no more rows than the file.
        let hints = file.key_value_metadata().cloned();
        let file = FileMetaData::new(file.version(), group.num_rows(), None, hints, file.schema_descr_ptr(), None);
        let metadata = ParquetMetaData::new(file, vec![group]).into_builder();
        let metadata = metadata.set_offset_index(offset_index.map(|columns| vec![columns])).build();
        ArrowReaderMetadata::try_new(Arc::new(metadata), options.clone())
    }
}

/// The error for what the crate `parquet` cannot read.
pub(crate) fn malformed(path: &Path, error: &dyn std::fmt::Display) -> ParquetIndexError {
    ParquetIndexError::Malformed { path: path.to_owned(), detail: error.to_string() }
}
