//! Key sets in SOSD files: a little-endian u64 count, then ascending little-endian u64 keys.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::set::KeySet;
use super::source::{BLOCK_KEYS, Source};
use crate::error::{Error, Result};

const KEY_BYTES: usize = 8;
/// Bytes read or written at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// Reads a SOSD file block by block, and checks its length and the order of its keys.
#[derive(Debug)]
pub struct SosdReader {
    path: PathBuf,
    file: BufReader<File>,
    count: u64,
    read: u64,
    last: u64,
    bytes: Vec<u8>,
}

impl SosdReader {
    /// Opens a file and compares its length with its count.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::SosdHeader`] for less than 8 bytes; [`Error::SosdLength`] if the file is shorter or
    /// longer than its count says.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = open_file(path)?;
        let found_bytes = file.metadata().map_err(|source| Error::io("read the length of", path, source))?.len();
        if found_bytes < KEY_BYTES as u64 {
            return Err(Error::SosdHeader { path: path.into(), length_bytes: found_bytes });
        }
        let mut count = [0; KEY_BYTES];
        file.read_exact(&mut count).map_err(|source| Error::io("read", path, source))?;
        let count = u64::from_le_bytes(count);
        let expected_bytes = (u128::from(count) + 1) * KEY_BYTES as u128;
        if expected_bytes != u128::from(found_bytes) {
            return Err(Error::SosdLength { path: path.into(), count, expected_bytes, found_bytes });
        }
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Self { path: path.into(), file, count, read: 0, last: 0, bytes: Vec::new() })
    }

    /// Number of keys in the file.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether the file holds no key.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Source for SosdReader {
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
        let keys = (self.count - self.read).min(BLOCK_KEYS as u64);
        self.bytes.resize(keys as usize * KEY_BYTES, 0);
        self.file.read_exact(&mut self.bytes).map_err(|source| Error::io("read", &self.path, source))?;
        for bytes in self.bytes.as_chunks::<KEY_BYTES>().0 {
            let key = u64::from_le_bytes(*bytes);
            if key < self.last {
                return Err(Error::Unsorted { path: self.path.clone(), index: self.read, hint: "" });
            }
            self.last = key;
            self.read += 1;
            block.push(key);
        }
        Ok(())
    }
}

/// Writes the keys of `set` to a new SOSD file; the name appears only once the file is complete and synced.
///
/// Calls `progress` from time to time with the number of keys written so far.
///
/// # Errors
/// [`Error::Exists`] if there is such a file and `replace` is not set; [`Error::Io`]; whatever the key set's stream
/// yields.
pub fn write_sosd(set: &KeySet, path: &Path, replace: bool, progress: &mut dyn FnMut(u64)) -> Result<()> {
    if !replace && path.exists() {
        return Err(Error::Exists { path: path.into() });
    }
    let failed = |action| move |source| Error::io(action, path, source);
    let unfinished = unfinished(path)?;
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, unfinished.as_file());
    file.write_all(&set.len().to_le_bytes()).map_err(failed("write"))?;
    let (mut stream, mut written) = (set.stream()?, 0);
    loop {
        let block = stream.next_block()?;
        if block.is_empty() {
            break;
        }
        for key in block {
            file.write_all(&key.to_le_bytes()).map_err(failed("write"))?;
        }
        written += block.len() as u64;
        progress(written);
    }
    file.flush().map_err(failed("write"))?;
    drop(file);
    publish(unfinished, path, replace)
}

/// A file in the folder of `path` that is removed unless it is published.
pub(super) fn unfinished(path: &Path) -> Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".ogive-research-")
        .make_in(folder_of(path), |path| OpenOptions::new().write(true).create_new(true).open(path))
        .map_err(|source| Error::io("create", path, source))
}

/// Gives a complete file its name.
pub(super) fn publish(unfinished: NamedTempFile, path: &Path, replace: bool) -> Result<()> {
    let failed = |action| move |source| Error::io(action, path, source);
    unfinished.as_file().sync_all().map_err(failed("sync"))?;
    let persisted = if replace { unfinished.persist(path) } else { unfinished.persist_noclobber(path) };
    persisted.map_err(|error| Error::io("create", path, error.error))?;
    File::open(folder_of(path)).and_then(|folder| folder.sync_all()).map_err(failed("sync the directory of"))
}

/// Opens a file of keys. A pipe is refused: it has no length, and keys are read more than once.
pub(super) fn open_file(path: &Path) -> Result<File> {
    let failed = |source| Error::io("open", path, source);
    let found = fs::metadata(path).map_err(failed)?;
    if found.is_file() || found.is_dir() {
        return File::open(path).map_err(failed);
    }
    Err(failed(io::Error::other("it is no regular file; write the keys to one first")))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
