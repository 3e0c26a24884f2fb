//! The schema of data files: what the index stores of it, and its columns as Arrow has them.

use crate::error::{ParquetIndexError, Result};
use crate::file::int96::{Reading, has_int96, with_timestamps};
use crate::file::page_header::is_whole_structure;
use crate::hint;
use arrow_schema::{Field, Schema, SchemaRef};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::LogicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type, TypePtr};
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
    /// Its columns as they are read, with bytes in the place of INT96.
    descriptor: SchemaDescPtr,
    /// Options by which they are read.
    options: ArrowReaderOptions,
    /// Its columns, with nested ones as a whole.
    pub(crate) arrow: SchemaRef,
    /// The same with the types that the writer hints at, if they are read without.
    pub(crate) hinted: SchemaRef,
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
    pub(crate) fn of_file(path: &Path, file: &FileMetaData, reading: &Reading) -> Result<Self> {
        let malformed = |error: ParquetError| malformed(path, &error);
        let hints = file.key_value_metadata().into_iter().flatten();
        let hints: Vec<_> = hints.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY).cloned().collect();
        let hints = Some(hints).filter(|hints| !hints.is_empty());
        // A type of a later version of Parquet is what it is stored as, and is not written.
        let known = with_known_types(file.schema()).map(|known| Arc::new(SchemaDescriptor::new(Arc::new(known))));
        let descriptor = known.unwrap_or_else(|| file.schema_descr_ptr());
        // Only versions are kept: other names and texts of the footer would make schemas of files differ.
        let bare = FileMetaData::new(file.version(), 0, None, hints, descriptor, None);
        let mut stored = Vec::new();
        let metadata = ParquetMetaData::new(bare, Vec::new());
        ParquetMetaDataWriter::new(&mut stored, &metadata).finish().map_err(malformed)?;
        stored.truncate(stored.len().saturating_sub(FOOTER_END_BYTES));
        Self::from_stored(path, stored, reading)
    }

    /// The schema of its stored form.
    ///
    /// # Errors
    /// [`ParquetIndexError::Malformed`].
    pub(crate) fn from_stored(path: &Path, stored: Vec<u8>, reading: &Reading) -> Result<Self> {
        if !is_whole_structure(&stored) {
            return Err(malformed(path, &"its schema is damaged"));
        }
        let malformed = |error: ParquetError| malformed(path, &error);
        let metadata = ParquetMetaDataReader::decode_metadata(&stored).map_err(malformed)?;
        let file = metadata.file_metadata().clone();
        let (options, known) = hinted(&file, reading.is_plain).map_err(malformed)?;
        let of_writer = match reading.is_plain {
            true => hinted(&file, false).map_err(malformed)?.1,
            false => known.clone(),
        };
        let (descriptor, arrow) = match reading.as_bytes(file.schema()) {
            None => (file.schema_descr_ptr(), known),
            Some(bytes) => {
                let descriptor = Arc::new(SchemaDescriptor::new(Arc::new(bytes)));
                let read = of_options(&file, &descriptor, &options).map_err(malformed)?;
                let arrow = timestamps(&read, &known, reading);
                (descriptor, arrow)
            }
        };
        let mut leaves: Vec<Range<usize>> = vec![0..0; arrow.fields().len()];
        for leaf in 0..descriptor.num_columns() {
            if let Some(range) = leaves.get_mut(descriptor.get_column_root_idx(leaf)) {
                let start = if range.start == range.end { leaf } else { range.start };
                *range = start..leaf + 1;
            }
        }
        Ok(Self { arrow, hinted: of_writer, file, descriptor, options, stored, leaves })
    }

    /// The number of leaf columns.
    pub(crate) fn leaf_count(&self) -> usize {
        self.descriptor.num_columns()
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

    /// The columns as Parquet states them.
    pub(crate) fn columns(&self) -> &[TypePtr] {
        self.file.schema().get_fields()
    }

    /// Whether a column has timestamps of INT96.
    pub(crate) fn has_int96(&self, column: usize) -> bool {
        self.file.schema().get_fields().get(column).is_some_and(|field| has_int96(field))
    }

    /// Whether a leaf column lies in lists.
    pub(crate) fn repeats(&self, leaf: usize) -> bool {
        self.descriptor.column(leaf).max_rep_level() > 0
    }

    /// The descriptions of the leaf columns, as they are read.
    pub(crate) fn descriptor(&self) -> SchemaDescPtr {
        self.descriptor.clone()
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
        let Self { file, descriptor, options, .. } = self;
        // A batch has no more rows than the file.
        let hints = file.key_value_metadata().cloned();
        let file = FileMetaData::new(file.version(), group.num_rows(), None, hints, descriptor.clone(), None);
        let metadata = ParquetMetaData::new(file, vec![group]).into_builder();
        let metadata = metadata.set_offset_index(offset_index.map(|columns| vec![columns])).build();
        ArrowReaderMetadata::try_new(Arc::new(metadata), options.clone())
    }
}

/// A type without what it is said to mean by versions of Parquet that are not known here; `None` if nothing is.
fn with_known_types(of: &Type) -> Option<Type> {
    match of {
        Type::PrimitiveType { basic_info, physical_type, type_length, .. } => {
            if !matches!(basic_info.logical_type_ref(), Some(LogicalType::_Unknown { .. })) {
                return None;
            }
            let id = basic_info.has_id().then(|| basic_info.id());
            let bare = Type::primitive_type_builder(basic_info.name(), *physical_type)
                .with_repetition(basic_info.repetition())
                .with_length(*type_length)
                .with_id(id);
            bare.build().ok()
        }
        Type::GroupType { basic_info, fields } => {
            let known: Vec<Option<Type>> = fields.iter().map(|field| with_known_types(field)).collect();
            if known.iter().all(Option::is_none) {
                return None;
            }
            let field = |(known, field): (Option<Type>, &TypePtr)| known.map_or_else(|| field.clone(), Arc::new);
            let fields = known.into_iter().zip(fields).map(field).collect();
            Some(Type::GroupType { basic_info: basic_info.clone(), fields })
        }
    }
}

/// The options by which the columns of a file are read, and the columns.
fn hinted(file: &FileMetaData, is_plain: bool) -> Result<(ArrowReaderOptions, SchemaRef), ParquetError> {
    let hinted = ArrowReaderOptions::new();
    // A hint that does not fit the columns is passed over, as if it were not there.
    let plain = hinted.clone().with_skip_arrow_metadata(true);
    // The crate `arrow-ipc` panics on some hints that no writer makes.
    let mut hints = file.key_value_metadata().into_iter().flatten().filter(|pair| pair.key == ARROW_SCHEMA_META_KEY);
    let is_sound = !is_plain && hints.all(|hint| hint.value.as_deref().is_some_and(hint::is_sound));
    let descriptor = file.schema_descr_ptr();
    if is_sound && let Ok(found) = of_options(file, &descriptor, &hinted) {
        return Ok((hinted, found));
    }
    let found = of_options(file, &descriptor, &plain)?;
    Ok((plain, found))
}

/// The columns of a file, as they are read by options.
fn of_options(
    file: &FileMetaData,
    descriptor: &SchemaDescPtr,
    options: &ArrowReaderOptions,
) -> Result<SchemaRef, ParquetError> {
    let hints = file.key_value_metadata().cloned();
    let bare = FileMetaData::new(file.version(), 0, None, hints, descriptor.clone(), None);
    let metadata = Arc::new(ParquetMetaData::new(bare, Vec::new()));
    Ok(ArrowReaderMetadata::try_new(metadata, options.clone())?.schema().clone())
}

/// The columns that are read, with timestamps in the place of bytes.
fn timestamps(read: &SchemaRef, known: &SchemaRef, reading: &Reading) -> SchemaRef {
    let field = |(read, known): (&Arc<Field>, &Arc<Field>)| {
        let unit = reading.unit(read.name());
        let data_type = with_timestamps(read.data_type(), known.data_type(), unit);
        Field::clone(read).with_data_type(data_type)
    };
    let fields: Vec<Field> = read.fields().iter().zip(known.fields()).map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, read.metadata().clone()))
}

/// The error for what the crate `parquet` cannot read.
pub(crate) fn malformed(path: &Path, error: &dyn std::fmt::Display) -> ParquetIndexError {
    ParquetIndexError::Malformed { path: path.to_owned(), detail: error.to_string() }
}
