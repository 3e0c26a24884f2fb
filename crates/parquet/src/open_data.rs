//! Data files of a catalog, opened with their footers.

use crate::bytes_io::Encoder;
use crate::catalog::{Catalog, DataFile, Group};
use crate::error::{ParquetIndexError, Result};
use crate::file::footer::{Footer, find_groups, read_footer};
use crate::folder::{Folder, join, split};
use crate::schema::FileSchema;
use ogive::io::{ReadableFile, open_compared};
use std::path::PathBuf;
use std::sync::Arc;

/// A file of the catalog, open, with its footer.
pub(crate) struct OpenData {
    pub(crate) file: Arc<dyn ReadableFile>,
    pub(crate) footer: Footer,
}

/// Refuses a column that is to be read in nanoseconds and is of another type than INT96 in all files.
pub(crate) fn refuse_other_than_int96(catalog: &Catalog, path_of: &dyn Fn(usize) -> PathBuf) -> Result<()> {
    for column in &catalog.reading.nanoseconds {
        let of = catalog.schemas.iter().find_map(|schema| Some((schema, schema.column(column)?)));
        let Some((schema, at)) = of else {
            let known =
                catalog.schemas.iter().flat_map(|schema| schema.arrow.fields()).map(|field| field.name().as_str());
            let mut known: Vec<&str> = known.collect();
            known.dedup();
            let known = known.join(", ");
            return Err(ParquetIndexError::NoColumn { path: path_of(0), column: column.clone(), known });
        };
        if !catalog.schemas.iter().any(|schema| schema.column(column).is_some_and(|at| schema.has_int96(at))) {
            let of = schema.arrow.field(at).data_type();
            let detail = format!(
                "column '{column}' is of type {of}, and only timestamps of the type INT96 can be read in another unit; \
                 leave its type out"
            );
            return Err(ParquetIndexError::NotIndexable { path: path_of(0), detail });
        }
    }
    Ok(())
}

/// Opens a data file as it is now.
///
/// # Errors
/// Storage errors; [`ogive::Cause::WrongAnswer`] in an object store.
pub(crate) fn open_now(folder: &dyn Folder, root: &str, path: &str) -> Result<Arc<dyn ReadableFile>> {
    let full = join(root, path);
    let (of, name) = split(&full);
    Ok(open_compared(&*folder.storage(of)?, name)?)
}

/// Opens a data file, and reads its footer.
pub(crate) fn open(folder: &dyn Folder, root: &str, path: &str) -> Result<OpenData> {
    let file = open_now(folder, root, path)?;
    let footer = read_footer(&file)?;
    Ok(OpenData { file, footer })
}

/// Adds a file and its row groups.
pub(crate) fn add_file(catalog: &mut Catalog, path: &str, found: &OpenData) -> Result<()> {
    let OpenData { file, footer } = found;
    let schema = FileSchema::of_file(file.path(), footer.metadata.file_metadata(), &catalog.reading)?;
    let groups = find_groups(file, footer, &schema)?;
    let known = catalog.schemas.iter().position(|known| known.stored == schema.stored);
    let number = known.unwrap_or_else(|| {
        catalog.schemas.push(schema);
        catalog.schemas.len() - 1
    });
    for group in groups {
        let mut pages = Encoder::default();
        group.pages.encode(group.rows, &mut pages);
        let file = catalog.files.len();
        catalog.groups.push(Group { file, rows: group.rows, key_hash: 0, intervals: 0, pages: pages.0 });
    }
    catalog.files.push(DataFile {
        path: path.to_owned(),
        bytes: file.len(),
        modified_ns: file.modified_ns().unwrap_or(0),
        footer_checksum: footer.checksum,
        schema: number,
        path_values: Vec::new(),
    });
    Ok(())
}
