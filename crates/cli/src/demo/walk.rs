//! The walk over the machine's files: paths, sizes and modification times.

use crate::system::device;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundFile {
    /// Its full path.
    pub(crate) path: Box<[u8]>,
    /// Its size in bytes.
    pub(crate) size_bytes: u64,
    /// Modification time in nanoseconds since 1970; 0 for earlier times.
    pub(crate) modified_ns: u64,
}

/// A depth-first walk over the files below a directory. Follows no symbolic links, stays on one file system, and skips
/// unreadable entries.
#[derive(Debug)]
pub(crate) struct Walk {
    device: u64,
    waiting: Vec<PathBuf>,
    listing: Option<fs::ReadDir>,
    unreadable: u64,
}

impl Walk {
    /// Starts in the directory `root`.
    ///
    /// # Errors
    /// When `root` cannot be examined or is not a directory.
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(root)?;
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { device: device(&metadata), waiting: vec![root.to_owned()], listing: None, unreadable: 0 })
    }

    /// Directories and files that could not be read so far.
    pub(crate) fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Continues with the next directory; false at the end of the walk.
    fn descend(&mut self) -> bool {
        while let Some(directory) = self.waiting.pop() {
            match fs::read_dir(&directory) {
                Ok(listing) => {
                    self.listing = Some(listing);
                    return true;
                }
                Err(_) => self.unreadable += 1,
            }
        }
        false
    }

    fn visit(&mut self, entry: &fs::DirEntry) -> Option<FoundFile> {
        // Does not follow symbolic links.
        let Ok(metadata) = entry.metadata() else {
            self.unreadable += 1;
            return None;
        };
        if device(&metadata) != self.device {
            return None;
        }
        if metadata.is_dir() {
            self.waiting.push(entry.path());
            return None;
        }
        metadata.is_file().then(|| FoundFile {
            path: entry.path().as_os_str().as_encoded_bytes().into(),
            size_bytes: metadata.len(),
            modified_ns: modified_ns(&metadata),
        })
    }
}

impl Iterator for Walk {
    type Item = FoundFile;

    fn next(&mut self) -> Option<FoundFile> {
        loop {
            if self.listing.is_none() && !self.descend() {
                return None;
            }
            match self.listing.as_mut().and_then(Iterator::next) {
                Some(Ok(entry)) => {
                    if let Some(found) = self.visit(&entry) {
                        return Some(found);
                    }
                }
                Some(Err(_)) => self.unreadable += 1,
                None => self.listing = None,
            }
        }
    }
}

fn modified_ns(metadata: &Metadata) -> u64 {
    let since = metadata.modified().ok().and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_walk_finds_every_file_once_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/deep"), "four").unwrap();
        fs::write(root.join("top"), "").unwrap();
        symlink(root, root.join("a/loop")).unwrap();
        symlink(root.join("top"), root.join("link")).unwrap();
        let mut found: Vec<FoundFile> = Walk::new(root).unwrap().collect();
        found.sort_by(|left, right| left.path.cmp(&right.path));
        let expected = [("a/b/deep", 4), ("top", 0)];
        assert_eq!(found.len(), expected.len());
        for (file, (path, size_bytes)) in found.iter().zip(expected) {
            assert_eq!(&*file.path, root.join(path).as_os_str().as_encoded_bytes());
            assert_eq!(file.size_bytes, size_bytes);
            assert!(file.modified_ns > 1_600_000_000_000_000_000);
        }
    }

    #[test]
    fn a_walk_stays_on_its_file_system() {
        let device_of = |path: &str| fs::metadata(path).map(|metadata| device(&metadata)).ok();
        let Some(mounted) = ["/proc", "/sys", "/dev"].into_iter().find(|path| device_of(path) != device_of("/")) else {
            return;
        };
        let mut walk = Walk::new(Path::new("/")).unwrap();
        walk.descend();
        let entry = fs::read_dir("/").unwrap().flatten().find(|entry| entry.path() == Path::new(mounted)).unwrap();
        assert_eq!(walk.visit(&entry), None);
        assert!(walk.waiting.is_empty());
    }

    #[test]
    fn a_walk_starts_in_a_directory() {
        assert!(Walk::new(Path::new("/proc/self/stat")).is_err());
        assert!(Walk::new(Path::new("/nowhere/at/all")).is_err());
    }
}
