//! Key sets in text files: one key per line, in ascending byte order.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::sosd::open_file;
use crate::error::{Error, Result};

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// Number of lines of a file; a last line without an end counts.
pub(super) fn count_lines(path: &Path) -> Result<u64> {
    let mut file = open_file(path)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut lines, mut last) = (0, b'\n');
    loop {
        let length = match file.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read.map_err(|source| Error::io("read", path, source))?,
        };
        let Some(end) = buffer[..length].last() else {
            return Ok(lines + u64::from(last != b'\n'));
        };
        last = *end;
        lines += buffer[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
    }
}

/// The lines of a text file, without their ends. After an error it ends.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    index: u64,
    last: Vec<u8>,
    ended: bool,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = open_file(path)?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Self { path: path.into(), file, index: 0, last: Vec::new(), ended: false })
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let read = self.file.read_until(b'\n', &mut line).map_err(|source| Error::io("read", &self.path, source))?;
        if read == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line < self.last {
            let hint = ": LC_ALL=C sort FILE";
            return Err(Error::Unsorted { path: self.path.clone(), index: self.index, hint });
        }
        self.index += 1;
        self.last.clone_from(&line);
        Ok(Some(line))
    }
}

impl Iterator for Lines {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        if self.ended {
            return None;
        }
        let line = self.read();
        self.ended = !matches!(line, Ok(Some(_)));
        line.transpose()
    }
}
