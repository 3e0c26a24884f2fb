//! Places of data files: folders, their sub-folders, and the storage of each.
//!
//! A [`Storage`] is one flat directory. A [`Folder`] leads from the folder of an index to the storages of the folders
//! in which data files lie, by relative paths with `/` between their parts.

use crate::error::{ParquetIndexError, Result};
use ogive::io::{LocalStorage, locate_folder, remote_url};
use ogive::{MemoryStorage, Storage};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Deepest folder that is listed.
const DEPTH_MAX: usize = 32;

/// A place with folders, each of which is a [`Storage`].
pub trait Folder: Debug + Send + Sync {
    /// The storage of the files in the folder at `path`, relative to this one; empty for this one itself.
    ///
    /// # Errors
    /// Errors of the storage.
    fn storage(&self, path: &str) -> Result<Arc<dyn Storage>>;

    /// The paths of all files in the folder at `path` and below it, relative to that folder, sorted. If `path` is a
    /// file, one empty path.
    ///
    /// # Errors
    /// Errors of the storage.
    fn list(&self, path: &str) -> Result<Vec<String>>;
}

/// Splits the path of a file into its folder and its name.
pub(crate) fn split(path: &str) -> (&str, &str) {
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((folder, name)) => (folder, name),
        None => ("", path),
    }
}

/// A URL and its query.
pub(crate) fn split_query(url: &str) -> (&str, Option<&str>) {
    url.split_once('?').map_or((url, None), |(url, query)| (url, Some(query)))
}

/// Joins two relative paths; either may be empty.
pub(crate) fn join(folder: &str, path: &str) -> String {
    match (folder.trim_end_matches('/'), path) {
        ("", path) if folder.is_empty() => path.to_owned(),
        ("", path) => format!("/{path}"),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// A folder of the local file system or of an object store, given by its path or URL.
#[derive(Clone, Debug)]
pub struct PathFolder {
    root: PathBuf,
    /// The query of a URL, which has options of the store.
    query: Option<String>,
}

impl PathFolder {
    /// The folder at a path or URL `root`; empty for the current one.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), query: None }
    }

    /// The folder of an index, by the path or URL of its file.
    ///
    /// # Errors
    /// [`ogive::Cause::Input`] for a path without a file name.
    pub fn of_index(index: &Path) -> Result<Self> {
        let parts = remote_url(index).map(split_query);
        match parts.and_then(|(url, query)| Some((url.rsplit_once('/')?.0, query))) {
            Some((folder, query)) => Ok(Self { query: query.map(str::to_owned), ..Self::new(folder) }),
            None => Ok(Self::new(LocalStorage::split_path(index)?.0)),
        }
    }

    /// The root of an index in this folder of the data at a path or URL, as
    /// [`BuildOptions::new`](crate::BuildOptions::new) takes it: relative if the data lie below this folder, and empty
    /// if they are this folder.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotIndexable`] for local data of an index in an object store, for a URL with a query that
    /// is not the one of this folder, and for a path that is not text; those of reading the file system.
    pub fn root_of(&self, data: &Path) -> Result<String> {
        let folder = self.root.as_path();
        if let Some(url) = remote_url(data) {
            let (url, query) = split_query(url);
            let url = url.trim_end_matches('/');
            let below = remote_url(folder).and_then(|folder| match url.strip_prefix(folder.trim_end_matches('/'))? {
                "" => Some(""),
                below => below.strip_prefix('/'),
            });
            if query.is_some() && (below.is_none() || query != self.query.as_deref()) {
                let detail = "an index keeps the URLs of its files, but no query, which has secrets or expires; leave \
                              the query out and state options in the environment, or index a copy of the file";
                return Err(ParquetIndexError::NotIndexable { path: url.into(), detail: detail.into() });
            }
            return Ok(below.unwrap_or(url).to_owned());
        }
        let refused = |detail: &str| ParquetIndexError::NotIndexable { path: data.to_owned(), detail: detail.into() };
        if remote_url(folder).is_some() {
            let detail = "an index in an object store is of files there; choose a local output, or give the URL of the \
                          data";
            return Err(refused(detail));
        }
        let resolved = |path: &Path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            path.canonicalize().map_err(|source| ogive::Error::io("read", path, source))
        };
        let (data_path, folder) = (resolved(data)?, resolved(folder)?);
        let root = data_path.strip_prefix(&folder).unwrap_or(&data_path);
        root.to_str()
            .map(str::to_owned)
            .ok_or_else(|| refused("its path is not text in UTF-8; rename the folder or the file"))
    }

    /// The URL of a folder or file, if it has one.
    fn url(&self, path: &str) -> Option<String> {
        if remote_url(Path::new(path)).is_some() {
            return Some(path.to_owned());
        }
        let url = join(remote_url(&self.root)?, path);
        Some(self.query.as_ref().map_or_else(|| url.clone(), |query| format!("{url}?{query}")))
    }

    fn list_below(folder: &Path, prefix: &str, depth: usize, found: &mut Vec<String>) -> Result<()> {
        if depth > DEPTH_MAX {
            let detail = format!("its folders are nested more than {DEPTH_MAX} deep; index a part of them");
            return Err(ParquetIndexError::NotIndexable { path: folder.to_owned(), detail });
        }
        let files = LocalStorage::new(folder).list()?;
        for name in LocalStorage::names(folder)? {
            let path = join(prefix, &name);
            match files.binary_search(&name) {
                Ok(_) => found.push(path),
                // What vanished meanwhile, or cannot be entered, is an error: a file of it would be missing silently.
                Err(_) => Self::list_below(&folder.join(&name), &path, depth + 1, found).map_err(|error| {
                    // Its path is lost.
                    match name.contains(char::REPLACEMENT_CHARACTER) {
                        true => {
                            let detail = "its name is not text in UTF-8; rename it".to_owned();
                            ParquetIndexError::NotIndexable { path: folder.join(&name), detail }
                        }
                        false => error,
                    }
                })?,
            }
        }
        Ok(())
    }
}

impl Folder for PathFolder {
    fn storage(&self, path: &str) -> Result<Arc<dyn Storage>> {
        match self.url(path) {
            Some(url) => Ok(locate_folder(url)?),
            None => Ok(Arc::new(LocalStorage::new(self.root.join(path)))),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        let (folder, name) = split(path);
        if self.url(path).is_some() {
            // Behind http nothing is listed.
            let is_file = !name.is_empty() && self.storage(folder)?.exists(name)?;
            return if is_file { Ok(vec![String::new()]) } else { Ok(self.storage(path)?.list_below()?) };
        }
        if !name.is_empty() && name != ".." && name != "." && self.storage(folder)?.exists(name)? {
            let files = self.storage(folder)?.list()?;
            if files.iter().any(|file| file == name) {
                return Ok(vec![String::new()]);
            }
        }
        let mut found = Vec::new();
        Self::list_below(&self.root.join(path), "", 0, &mut found)?;
        found.sort();
        Ok(found)
    }
}

/// Folders in memory, or any storages by path: for tests, and for data in one flat storage.
#[derive(Clone, Debug, Default)]
pub struct FolderMap {
    storages: Vec<(String, Arc<dyn Storage>)>,
}

impl FolderMap {
    /// A single flat folder.
    #[must_use]
    pub fn flat(storage: Arc<dyn Storage>) -> Self {
        Self { storages: vec![(String::new(), storage)] }
    }

    /// Adds the storage of the folder at `path`.
    #[must_use]
    pub fn with(mut self, path: &str, storage: Arc<dyn Storage>) -> Self {
        self.storages.retain(|(known, _)| known != path);
        self.storages.push((path.to_owned(), storage));
        self.storages.sort_by(|left, right| left.0.cmp(&right.0));
        self
    }
}

impl Folder for FolderMap {
    fn storage(&self, path: &str) -> Result<Arc<dyn Storage>> {
        let found = self.storages.iter().find(|(known, _)| known == path);
        Ok(found.map_or_else(|| Arc::new(MemoryStorage::new()) as Arc<dyn Storage>, |(_, storage)| storage.clone()))
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        let (folder, name) = split(path);
        if !name.is_empty() && self.storage(folder)?.exists(name)? {
            return Ok(vec![String::new()]);
        }
        let mut found = Vec::new();
        for (folder, storage) in &self.storages {
            let below = match folder.strip_prefix(path) {
                Some(rest) if path.is_empty() || rest.is_empty() => rest,
                Some(rest) => match rest.strip_prefix('/') {
                    Some(rest) => rest,
                    None => continue,
                },
                None => continue,
            };
            found.extend(storage.list()?.iter().map(|name| join(below, name)));
        }
        found.sort();
        Ok(found)
    }
}

/// The path of a data file for messages.
pub(crate) fn shown(folder: &dyn Folder, root: &str, path: &str) -> PathBuf {
    let full = join(root, path);
    let (of, name) = split(&full);
    folder.storage(of).map_or_else(|_| Path::new(&full).to_owned(), |storage| storage.path(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_and_join_at_any_depth() {
        assert_eq!(split("a/b/c.parquet"), ("a/b", "c.parquet"));
        assert_eq!(split("c.parquet"), ("", "c.parquet"));
        assert_eq!(split("/c.parquet"), ("/", "c.parquet"));
        assert_eq!(join("", "c"), "c");
        assert_eq!(join("a/b", "c"), "a/b/c");
        assert_eq!(join("/", "c"), "/c");
        assert_eq!(join("a", ""), "a");
    }
}
