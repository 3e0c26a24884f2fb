//! URLs as places of files: a registry from schemes to the storages that serve them.
//!
//! `file://` and plain paths are the local file system. Other crates register the schemes that they serve, such as
//! `s3` by `ogive-object-store`.

use super::traits::Storage;
use crate::error::{Advice, Call, Error, Result};
use crate::io::local::folder::LocalStorage;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// Schemes served by the crate `ogive-object-store`, to name it in errors.
const OBJECT_STORE_SCHEMES: [&str; 11] =
    ["s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "http", "https", "memory"];
/// Longest scheme in characters; longer ones are parts of paths.
const SCHEME_CHARS_MAX: usize = 16;

/// A file of a storage, as [`locate`] finds it.
#[derive(Clone, Debug)]
pub struct LocatedFile {
    /// The storage that has the file.
    pub storage: Arc<dyn Storage>,
    /// The file's name there.
    pub name: String,
}

/// The folder part of a URL.
#[derive(Clone, PartialEq, Eq)]
pub struct FolderUrl {
    scheme: String,
    address: String,
    file: Option<String>,
    query: Option<String>,
}

impl FolderUrl {
    /// The scheme in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Host or bucket, and path, without a slash at the end: `bucket/prefix`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The name of the file that was asked for, if it was not the folder itself.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The same URL with this query.
    #[must_use]
    pub fn with_query(&self, query: &str) -> Self {
        Self { query: Some(query.to_owned()), ..self.clone() }
    }

    /// The text after the first question mark. It may contain secrets.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }
}

/// Scheme and address, without the query.
impl fmt::Display for FolderUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme, self.address)
    }
}

impl fmt::Debug for FolderUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Makes the storage of a folder.
type OpenFolder = Arc<dyn Fn(&FolderUrl) -> Result<Arc<dyn Storage>> + Send + Sync>;

static SCHEMES: RwLock<BTreeMap<String, OpenFolder>> = RwLock::new(BTreeMap::new());

/// Lets URLs of a scheme, such as `s3`, lead to the storages that `open` makes of their folders. A later registration
/// of the scheme replaces an earlier one. `file` is always the local file system.
pub fn register_scheme(scheme: &str, open: impl Fn(&FolderUrl) -> Result<Arc<dyn Storage>> + Send + Sync + 'static) {
    let mut schemes = SCHEMES.write().unwrap_or_else(PoisonError::into_inner);
    schemes.insert(scheme.to_ascii_lowercase(), Arc::new(open));
}

/// The URL that a path is, for a scheme other than `file`.
#[must_use]
pub fn remote_url(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    split_scheme(text).filter(|(scheme, _)| !scheme.eq_ignore_ascii_case("file")).map(|_| text)
}

/// A path for messages: a URL without its query, which may contain secrets.
#[must_use]
pub fn without_query(path: &Path) -> PathBuf {
    match remote_url(path).and_then(|url| url.split_once('?')) {
        Some((url, _)) => PathBuf::from(url),
        None => path.to_owned(),
    }
}

/// The file that a path or URL leads to: `fruit.table`, `file:///data/fruit.table`, `s3://bucket/prefix/fruit.table`.
///
/// # Errors
/// `Cause::UnknownScheme`; `Cause::Input` for a path or URL that does not end in a name; errors of the
/// scheme's storage.
pub fn locate(path: impl AsRef<Path>) -> Result<LocatedFile> {
    let path = path.as_ref();
    let Some(url) = parse(path)? else {
        let (folder, name) = LocalStorage::split_path(&local_path(path)?)?;
        return Ok(LocatedFile { storage: Arc::new(LocalStorage::new(folder)), name });
    };
    let is_folder = without_query(path).to_str().is_some_and(|text| text.ends_with('/'));
    let Some((folder, file)) = url.address.rsplit_once('/').filter(|_| !is_folder) else {
        return Err(Error::input(format!("{url} does not name a file; add a name to it: {url}/NAME")));
    };
    let name = if url.scheme.starts_with("http") { percent_decoded(file) } else { Some(file.to_owned()) };
    let name = name.ok_or_else(|| Error::input(format!("{url} is not percent-encoded as an address is")))?;
    let (folder, file) = (folder.to_owned(), Some(file.to_owned()));
    Ok(LocatedFile { storage: open(&FolderUrl { address: folder, file, ..url })?, name })
}

/// The storage of the files in a folder, given by its path or URL: `data`, `s3://bucket/prefix`.
///
/// # Errors
/// [`Cause::UnknownScheme`](crate::Cause::UnknownScheme); errors of the scheme's storage.
pub fn locate_folder(path: impl AsRef<Path>) -> Result<Arc<dyn Storage>> {
    let path = path.as_ref();
    match parse(path)? {
        Some(url) => open(&url),
        None => Ok(Arc::new(LocalStorage::new(local_path(path)?))),
    }
}

fn open(url: &FolderUrl) -> Result<Arc<dyn Storage>> {
    let found = SCHEMES.read().unwrap_or_else(PoisonError::into_inner).get(&url.scheme).cloned();
    found.ok_or_else(|| unknown_scheme(url))?(url)
}

fn unknown_scheme(url: &FolderUrl) -> Error {
    let scheme = &url.scheme;
    if OBJECT_STORE_SCHEMES.contains(&scheme.as_str()) {
        let detail = format!(
            "the scheme '{scheme}' belongs to the crate ogive-object-store, which this program has not registered"
        );
        return Error::unknown_scheme(url.to_string(), detail).advise(Advice::Use(Call::RegisterObjectStores));
    }
    let detail = format!("there is no storage for the scheme '{scheme}'; give a path, file://, s3://, gs:// or az://");
    Error::unknown_scheme(url.to_string(), detail)
}

/// Scheme and rest of a URL.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.len() <= SCHEME_CHARS_MAX
        && scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char));
    is_scheme.then_some((scheme, rest))
}

/// The URL, if the path is one of another scheme than `file`.
fn parse(path: &Path) -> Result<Option<FolderUrl>> {
    let Some((scheme, rest)) = remote_url(path).and_then(split_scheme) else { return Ok(None) };
    let (address, query) = match rest.split_once('?') {
        Some((address, query)) => (address, Some(query.to_owned())),
        None => (rest, None),
    };
    let scheme = scheme.to_ascii_lowercase();
    let address = address.strip_suffix('/').unwrap_or(address);
    if address.contains("//") || (address.ends_with('/') && !address.starts_with('/')) {
        return Err(Error::input(format!(
            "{scheme}://{address} has an empty part between two slashes; objects of such names cannot be reached"
        )));
    }
    if address.is_empty() || address.starts_with('/') {
        return Err(Error::input(format!(
            "{scheme}://{address} names no bucket or host; give it as {scheme}://BUCKET/NAME"
        )));
    }
    Ok(Some(FolderUrl { scheme, address: address.to_owned(), file: None, query }))
}

/// The path of a `file://` URL, or a path as it is.
///
/// # Errors
/// [`Cause::Input`](crate::Cause::Input) for a URL that leads to no local file.
pub fn local_path(path: &Path) -> Result<PathBuf> {
    let Some((_, rest)) = path.to_str().and_then(split_scheme) else { return Ok(path.to_owned()) };
    let absolute = rest.strip_prefix("localhost").unwrap_or(rest);
    let decoded = absolute.starts_with('/').then(|| percent_decoded(absolute)).flatten();
    decoded.map(PathBuf::from).ok_or_else(|| {
        Error::input(format!("file://{rest} is no local file; give its absolute path: file:///FOLDER/NAME"))
    })
}

/// The text of a path in which `%20` stands for a space, and so on; `None` for what is no such text.
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digits = [bytes.next()?, bytes.next()?];
        let digits = std::str::from_utf8(&digits).ok().filter(|digits| !digits.starts_with('+'))?;
        decoded.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::io::MemoryStorage;

    #[test]
    fn a_url_leads_to_the_storage_of_its_scheme_and_its_query_is_shown_nowhere() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
        let given = storage.clone();
        register_scheme("Test-Scheme", move |url| {
            assert_eq!((url.scheme(), url.query()), ("test-scheme", Some("secret=1")));
            assert_eq!(format!("{url} {url:?}"), "test-scheme://bucket/a test-scheme://bucket/a");
            Ok(given.clone())
        });
        let place = locate("TEST-scheme://bucket/a/b.table?secret=1").unwrap();
        assert!(place.name == "b.table" && Arc::ptr_eq(&place.storage, &storage));
        locate_folder("test-scheme://bucket/a/?secret=1").unwrap();
        assert!(matches!(locate("test-scheme://bucket?secret=1"), Err(Error { cause: Cause::Input, .. })));
        assert!(matches!(locate("test-scheme:///b?secret=1"), Err(Error { cause: Cause::Input, .. })));
        for url in ["test-scheme://bucket/a/?secret=1", "test-scheme://bucket//b", "test-scheme://bucket/a//b?secret=1"]
        {
            let error = locate(url).unwrap_err();
            assert!(
                matches!(error, Error { cause: Cause::Input, .. }) && !error.to_string().contains("secret"),
                "{error}"
            );
        }
        assert_eq!(without_query(Path::new("a://b/c?d=e")), Path::new("a://b/c"));
        assert_eq!(without_query(Path::new("b/c?d=e")), Path::new("b/c?d=e"));
    }

    #[test]
    fn a_scheme_that_is_not_registered_is_an_error_that_names_the_crate() {
        let error = locate("gs://bucket/a?key=secret").unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, Error { cause: Cause::UnknownScheme, .. }) && text.contains("ogive-object-store"),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
        assert!(locate("tape://drive/a").unwrap_err().to_string().contains("no storage"));
    }

    #[test]
    fn paths_and_file_urls_are_the_local_file_system() {
        for (path, folder, name) in [
            ("file:///tmp/a%20b/c", "/tmp/a b", "c"),
            ("file://localhost/tmp/c", "/tmp", "c"),
            ("/tmp/c", "/tmp", "c"),
            ("/tmp/we ird://c", "/tmp/we ird:", "c"),
        ] {
            let place = locate(path).unwrap();
            assert_eq!((place.storage.path(&place.name), place.name.as_str()), (Path::new(folder).join(name), name));
            assert!(!place.storage.is_object_store() && remote_url(Path::new(path)).is_none());
        }
        for path in ["file://host/c", "file:///c%2", "file:///c%+1"] {
            assert!(matches!(locate(path), Err(Error { cause: Cause::Input, .. })), "{path}");
        }
    }
}
