//! The cache on the local disk for files that are read by URL: `--cache DIR[:SIZE]`.

use crate::values::size::ByteSize;
use std::path::PathBuf;
use std::str::FromStr;

/// A folder and a size, as `--cache` takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheArgument {
    folder: PathBuf,
    size_bytes: Option<u64>,
}

impl FromStr for CacheArgument {
    type Err = String;

    /// What follows the last colon is the size, if it begins with a digit.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_size = |size: &str| size.starts_with(|first: char| first.is_ascii_digit()) && !size.contains('/');
        let (folder, size_bytes) = match text.rsplit_once(':').filter(|(_, size)| is_size(size)) {
            Some((folder, size)) => (folder, Some(size.parse::<ByteSize>()?.0)),
            None => (text, None),
        };
        if folder.is_empty() || folder.contains("://") {
            return Err("use a local folder, and a size if you like, as in /var/cache/ogive:10GiB".into());
        }
        Ok(Self { folder: folder.into(), size_bytes })
    }
}

#[cfg(feature = "object-store")]
pub(crate) use opened::{OpenedCache, bypass, note_failure};

/// Without object stores there is nothing to cache.
#[cfg(not(feature = "object-store"))]
pub(crate) fn bypass() {}

/// Without object stores there is nothing to cache.
#[cfg(not(feature = "object-store"))]
pub(crate) fn note_failure() {}

#[cfg(feature = "object-store")]
mod opened {
    use super::CacheArgument;
    use crate::output::note;
    use ogive::{Cause, Error};
    use ogive_object_store::{CACHE_BYTES_DEFAULT, DiskCache, ObjectOptions};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};

    /// The cache of this process, once a URL was opened.
    static OPENED: Mutex<Option<Arc<DiskCache>>> = Mutex::new(None);
    static BYPASSED: AtomicBool = AtomicBool::new(false);
    static HAS_FAILED: AtomicBool = AtomicBool::new(false);

    /// The cache of the command line, opened with the first URL: of commands that run at once, the first one writes it.
    #[derive(Clone, Debug)]
    pub(crate) struct OpenedCache(pub(crate) Option<CacheArgument>);

    impl OpenedCache {
        /// The options with the cache, if there is one.
        pub(crate) fn add_to(&self, options: &ObjectOptions) -> ogive::Result<ObjectOptions> {
            let Some(CacheArgument { folder, size_bytes }) = &self.0 else { return Ok(options.clone()) };
            if BYPASSED.load(Ordering::Relaxed) {
                return Ok(options.clone());
            }
            let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
            let cache = match &*opened {
                Some(cache) => Arc::clone(cache),
                None if HAS_FAILED.load(Ordering::Relaxed) => return Ok(options.clone()),
                None => match DiskCache::open(folder, size_bytes.unwrap_or(CACHE_BYTES_DEFAULT)) {
                    Ok(cache) => Arc::clone(opened.insert(cache)),
                    // A disk that is full or read only makes no read fail.
                    Err(error @ Error { cause: Cause::Io(_), .. }) => {
                        note(format_args!("warning: there is no cache: {}", error.message()));
                        HAS_FAILED.store(true, Ordering::Relaxed);
                        return Ok(options.clone());
                    }
                    Err(error) => return Err(error),
                },
            };
            Ok(options.clone().cache(cache))
        }
    }

    /// Reads everything from the stores from now on: for commands that check what lies there.
    pub(crate) fn bypass() {
        BYPASSED.store(true, Ordering::Relaxed);
    }

    /// Says so if the cache could not be written.
    pub(crate) fn note_failure() {
        let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = opened.as_ref().and_then(|cache| cache.counts().failure) {
            note(format_args!("warning: the cache was not written: {failure}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_a_folder_with_or_without_a_size() {
        let parsed = |text: &str| text.parse::<CacheArgument>().map(|cache| (cache.folder, cache.size_bytes));
        assert_eq!(parsed("/a/b:10GiB"), Ok(("/a/b".into(), Some(10 << 30))));
        assert_eq!(parsed("/a/b"), Ok(("/a/b".into(), None)));
        assert_eq!(parsed("/a:b"), Ok(("/a:b".into(), None)), "a folder with a colon");
        assert_eq!(parsed("c:4096"), Ok(("c".into(), Some(4096))));
        assert!(parsed("c:10XB").is_err(), "no size");
        assert!(parsed(":1GiB").is_err() && parsed("").is_err() && parsed("s3://bucket/a:1GiB").is_err());
    }
}
