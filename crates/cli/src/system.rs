//! Identity and kind of files, by the means of each operating system.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::Path;

/// The file system of a file; where the standard library does not tell, all files seem to be on one.
pub(crate) fn device(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::dev(metadata);
    #[cfg(not(unix))]
    {
        _ = metadata;
        0
    }
}

/// Whether two paths lead to one file, through links of any kind; elsewhere than on Unix, through symbolic ones.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |path| std::fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
        identity(one).is_some_and(|found| Some(found) == identity(other))
    }
    #[cfg(not(unix))]
    one.canonicalize().is_ok_and(|found| other.canonicalize().is_ok_and(|other| found == other))
}

/// Bytes as an argument of the command line would be; `None` for those that none of this system has.
pub(crate) fn argument(bytes: &[u8]) -> Option<&OsStr> {
    #[cfg(unix)]
    return Some(std::os::unix::ffi::OsStrExt::from_bytes(bytes));
    #[cfg(not(unix))]
    std::str::from_utf8(bytes).ok().map(OsStr::new)
}

/// Whether a path leads to a pipe with a name, or without.
pub(crate) fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    return std::fs::metadata(path).is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_fifo(&found.file_type()));
    #[cfg(not(unix))]
    {
        _ = path;
        false
    }
}
