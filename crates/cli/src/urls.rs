//! URLs in the place of files: `s3://bucket/fruit.ogive`, with the feature `object-store`.
//!
//! A URL is a path like any other in this program, but for its query, which may contain secrets: it is taken off where
//! arguments are parsed, kept here, and joined again where a storage is opened. So no message, result or trace has it.

use crate::disk_cache::CacheArgument;
use crate::failure::{Failure, Result};
pub(crate) use crate::places::{is_folder, is_http, is_url};
use ogive::io::{
    LocalStorage, LocatedFile, PendingReads, Profile, Purpose, RangeRequest, ReadBuffer, ReadRequest, ReadableFile,
    Storage, open_compared,
};
use ogive::{Error, io::locate};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
#[cfg(feature = "object-store")]
use std::io::IsTerminal;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
#[cfg(feature = "object-store")]
use std::time::Duration;

/// The profile of tables behind URLs, unless another is given.
pub(crate) const URL_PROFILE: &str = "s3";
/// Schemes after which one slash is a mistake.
const OBJECT_SCHEMES: [&str; 5] = ["s3", "gs", "az", "http", "https"];
/// Bytes of an input that are read at a time, and how many such reads are ahead.
const PIECE_BYTES: u64 = 4 << 20;
const PIECES_AHEAD: usize = 4;

/// Time between two lines about calls that an object store keeps waiting.
#[cfg(feature = "object-store")]
const WAITING_EVERY: Duration = Duration::from_secs(4);
#[cfg(feature = "object-store")]
const WAITING_EVERY_WITHOUT_TERMINAL: Duration = Duration::from_secs(60);

/// The queries of URLs, by the URL without it.
static QUERIES: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// The options of the command line, for a program that is started in the place of this one.
static GIVEN: OnceLock<Vec<StorageOption>> = OnceLock::new();

/// An option of object stores, as `--storage-option` takes it.
#[derive(Clone)]
pub(crate) struct StorageOption {
    name: String,
    value: String,
}

/// The value may be a secret.
impl std::fmt::Debug for StorageOption {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl std::str::FromStr for StorageOption {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("give it as KEY=VALUE")?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

/// The path of an argument. The query of a URL is kept apart, and `file://` is a plain path.
///
/// # Errors
/// A hint for a path that was meant to be a URL.
pub(crate) fn path_argument(argument: OsString) -> Result<PathBuf, String> {
    let path = PathBuf::from(argument);
    if path.to_str().is_some_and(|text| text.starts_with("file://")) {
        return Ok(locate(&path).map_or(path, |LocatedFile { storage, name }| storage.path(&name)));
    }
    if let Some(text) = path.to_str()
        && let Some((scheme, rest)) = text.split_once(":/").filter(|(_, rest)| !rest.starts_with('/'))
        && OBJECT_SCHEMES.contains(&scheme)
    {
        return Err(format!("write {scheme}://{rest} for a URL, or ./{text} for a path"));
    }
    let clean = ogive::io::without_query(&path);
    if let (Some(url), Some(clean)) = (path.to_str(), clean.to_str())
        && let Some(query) = url.strip_prefix(clean).and_then(|rest| rest.strip_prefix('?'))
    {
        let mut queries = QUERIES.lock().unwrap_or_else(PoisonError::into_inner);
        // As a `FolderUrl` shows it, by which it is looked for.
        let (scheme, address) = clean.split_once("://").unwrap_or_default();
        queries
            .insert(format!("{}://{}", scheme.to_ascii_lowercase(), address.trim_end_matches('/')), query.to_owned());
    }
    Ok(clean)
}

/// Registers the object stores, with a cache on the local disk if one is given, and keeps the options.
pub(crate) fn register(options: &[StorageOption], cache: Option<&CacheArgument>) {
    register_stores(options, cache);
    _ = GIVEN.set(options.to_vec());
}

/// The options that were given, as words of a command line.
pub(crate) fn storage_option_words() -> Vec<String> {
    let words = |StorageOption { name, value }: &StorageOption| format!("--storage-option={name}={value}");
    GIVEN.get().into_iter().flatten().map(words).collect()
}

#[cfg(feature = "object-store")]
fn register_stores(options: &[StorageOption], cache: Option<&CacheArgument>) {
    use crate::disk_cache::OpenedCache;
    use ogive_object_store::{ObjectOptions, ObjectStorage, SCHEMES, report_waiting_calls};
    let every = if std::io::stderr().is_terminal() { WAITING_EVERY } else { WAITING_EVERY_WITHOUT_TERMINAL };
    report_waiting_calls(every, |call| crate::output::note(format_args!("ogive: {call}")));
    let given =
        options.iter().fold(ObjectOptions::default(), |given, StorageOption { name, value }| given.value(name, value));
    for scheme in SCHEMES {
        let (given, cache) = (given.clone(), OpenedCache(cache.cloned()));
        ogive::io::register_scheme(scheme, move |url| {
            let key = url.file().map_or_else(|| url.to_string(), |file| format!("{url}/{file}"));
            let query = QUERIES.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
            let url = query.map_or_else(|| url.clone(), |query| url.with_query(&query));
            Ok(Arc::new(ObjectStorage::connect(&url, &cache.add_to(&given)?)?))
        });
    }
}

/// Without object stores there is nothing to register.
#[cfg(not(feature = "object-store"))]
fn register_stores(_options: &[StorageOption], _cache: Option<&CacheArgument>) {}

/// The storage and the name of a file. `direct` bypasses the page cache of local files.
pub(crate) fn place(path: &Path, direct: bool) -> ogive::Result<(Arc<dyn Storage>, String)> {
    if is_url(path) {
        let LocatedFile { storage, name } = locate(path)?;
        return Ok((storage, name));
    }
    let (folder, name) = LocalStorage::split_path(path)?;
    let storage = if direct { LocalStorage::direct(folder) } else { LocalStorage::new(folder) };
    Ok((Arc::new(storage), name))
}

/// The profile of a file's storage, where none is given.
pub(crate) fn profile_of(path: &Path) -> ogive::Result<Profile> {
    if is_url(path) { Profile::named(URL_PROFILE) } else { Ok(Profile::default()) }
}

/// The measurement of an object store.
#[derive(Debug)]
pub(crate) struct UrlProfile {
    pub(crate) profile: Profile,
    /// Size of the read that opens a table.
    pub(crate) opening_bytes: u64,
}

/// Measures the store of a folder.
#[cfg(feature = "object-store")]
pub(crate) fn measure_url_profile(path: &Path, time_s: f64) -> Result<UrlProfile> {
    use crate::progress::{Progress, Unit};
    use ogive_object_store::{ObjectMeasureOptions, measure_objects, opening_bytes};
    let storage = ogive::io::locate_folder(path)?;
    let options = ObjectMeasureOptions::default().time_s(time_s);
    let name = path.display().to_string();
    let measure = |progress: &mut dyn FnMut(u64, u64)| measure_objects(&storage, &name, &options, progress);
    let profile = Progress::during("measuring", Unit::Items, measure)?;
    let opening_bytes = opening_bytes(&profile);
    Ok(UrlProfile { profile, opening_bytes })
}

/// Without object stores, no URL can be opened.
#[cfg(not(feature = "object-store"))]
pub(crate) fn measure_url_profile(path: &Path, _time_s: f64) -> Result<UrlProfile> {
    ogive::io::locate_folder(path)?;
    Ok(UrlProfile { profile: profile_of(path)?, opening_bytes: 0 })
}

/// Refuses a URL where a file is updated in place.
pub(crate) fn refuse_updated(path: &Path) -> Result<()> {
    if !is_url(path) {
        return Ok(());
    }
    Err(Failure::refused(
        format!("{} is in an object store, where an index cannot be", path.display()),
        "an index is updated in place, and objects are written once, as a whole; keep it on a file system, or use a \
         table (`ogive build`)",
    ))
}

/// An input behind a URL, read from front to back with several requests in flight.
#[derive(Debug)]
pub(crate) struct UrlInput {
    file: Arc<dyn ReadableFile>,
    /// Offset of the next read to start.
    next: u64,
    ahead: VecDeque<Box<dyn PendingReads>>,
    piece: ReadBuffer,
    /// Bytes of the piece that were taken.
    taken: usize,
}

impl UrlInput {
    /// Opens the file at a URL.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let opened = place(path, false).and_then(|(storage, name)| open_compared(&*storage, &name));
        let file = opened.map_err(plain)?;
        Ok(Self { file, next: 0, ahead: VecDeque::new(), piece: ReadBuffer::default(), taken: 0 })
    }

    /// The first bytes of the file at a URL, at most `bytes_max`.
    pub(crate) fn head(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        let file = Self::open(path)?.file;
        let mut head = vec![0; file.len().min(bytes_max) as usize];
        file.read(ReadRequest { offset: 0, buffer: &mut head, purpose: Purpose::Input }).map_err(plain)?;
        Ok(head)
    }

    /// The time of its last change, as [`ReadableFile::modified_ns`] gives it.
    pub(crate) fn modified_ns(&self) -> Option<u64> {
        self.file.modified_ns()
    }

    /// The length in bytes.
    pub(crate) fn length_bytes(&self) -> u64 {
        self.file.len()
    }

    fn fill(&mut self) -> ogive::Result<()> {
        while self.ahead.len() < PIECES_AHEAD && self.next < self.file.len() {
            let bytes = PIECE_BYTES.min(self.file.len() - self.next);
            let range = RangeRequest { offset: self.next, bytes: bytes as usize, purpose: Purpose::Input };
            self.ahead.push_back(self.file.start_reads(&[range])?);
            self.next += bytes;
        }
        crate::interrupt::check_anywhere()?;
        if let Some(first) = self.ahead.pop_front() {
            (self.piece, self.taken) = (first.wait()?.pop().unwrap_or_default(), 0);
        }
        Ok(())
    }
}

impl Read for UrlInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.piece.len() {
            (self.piece, self.taken) = (ReadBuffer::default(), 0);
            self.fill().map_err(plain)?;
        }
        let length = buffer.len().min(self.piece.len() - self.taken);
        buffer[..length].copy_from_slice(&self.piece[self.taken..][..length]);
        self.taken += length;
        Ok(length)
    }
}

/// An error without the name of the file, which the caller adds.
fn plain(error: Error) -> io::Error {
    error.into_io_error().unwrap_or_else(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_url_is_taken_off_and_found_again() {
        let path_argument = |text: &str| path_argument(text.into()).unwrap();
        let path = path_argument("s3://bucket/a?secret_access_key=SECRET");
        assert_eq!(path, Path::new("s3://bucket/a"));
        assert!(QUERIES.lock().unwrap().get("s3://bucket/a").is_some_and(|query| query.contains("SECRET")));
        path_argument("S3://bucket/B?region=x");
        assert!(QUERIES.lock().unwrap().contains_key("s3://bucket/B"));
        assert_eq!(path_argument("a?b"), Path::new("a?b"));
        assert_eq!(path_argument("file:///a/b%20c"), Path::new("/a/b c"));
        assert_eq!(path_argument("./s3:/a"), Path::new("./s3:/a"));
        assert!(super::path_argument("s3:/a".into()).unwrap_err().contains("s3://a"));
        assert!(format!("{:?}", "key=SECRET".parse::<StorageOption>().unwrap()) == "key");
        assert!("key".parse::<StorageOption>().is_err());
    }
}
