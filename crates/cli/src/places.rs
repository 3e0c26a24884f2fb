//! Kinds of places: URLs, addresses of the web, folders, stores, indexes of Parquet files.

use ogive::lsm::is_store_file;
use ogive::table::Table;
use std::path::Path;

/// The property of tables that hold indexes of Parquet files.
const BESIDE_PROPERTY: &str = "parquet";

/// Whether a path is a URL of another storage than the local file system.
pub(crate) fn is_url(path: &Path) -> bool {
    ogive::io::remote_url(path).is_some()
}

/// Whether a path is an address of the web, which is read only.
pub(crate) fn is_http(path: &Path) -> bool {
    is_url(path) && path.to_str().is_some_and(|url| url.to_ascii_lowercase().starts_with("http"))
}

/// The folder that a file is in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a file, which need not exist, is in a folder or below it.
pub(crate) fn is_inside(file: &Path, folder: &Path) -> bool {
    if is_url(folder) {
        return folder.as_os_str().as_encoded_bytes().ends_with(b"/") && file.starts_with(folder);
    }
    let resolved = || match (file.canonicalize(), file.file_name()) {
        (Ok(file), _) => Some(file),
        (Err(_), Some(name)) => Some(folder_of(file).canonicalize().ok()?.join(name)),
        (Err(_), None) => None,
    };
    folder.is_dir() && resolved().zip(folder.canonicalize().ok()).is_some_and(|(file, folder)| file.starts_with(folder))
}

/// Whether a path is a folder, or a URL behind which there is a store.
pub(crate) fn is_folder(path: &Path) -> ogive::Result<bool> {
    if is_http(path) {
        // Nothing is listed there.
        return Ok(false);
    }
    if is_url(path) { ogive::lsm::has_store(&*ogive::io::locate_folder(path)?) } else { Ok(path.is_dir()) }
}

/// Whether a path is a URL, or a folder with files of a store, even of one that cannot be opened now.
pub(crate) fn may_be_store(folder: &Path) -> bool {
    let mut paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    is_url(folder) || paths.any(|path| path.is_file() && matches!(is_store_file(&path), Ok(true) | Err(_)))
}

/// Whether a table holds an index of Parquet files.
pub(crate) fn is_beside(table: &Table) -> bool {
    table.property(BESIDE_PROPERTY).is_some()
}
