//! Keys that are looked up, from a file with one on each line.

use crate::failure::{Failure, Result};
use crate::input::InputError;
use crate::key;
use crate::pipe::{InputFile, STANDARD_INPUT};
use crate::system::argument;
use ogive::KeyType;
use ogive::table::KEY_BYTES_MAX;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Keys that are kept. Of a longer file, evenly spaced lines are: a million weigh the blocks of any table well.
const KEYS_MAX: usize = 1 << 20;
/// Longest line in bytes: that of the longest key, with each of its bytes as an escape.
const LINE_BYTES_MAX: u64 = 4 * KEY_BYTES_MAX as u64 + 2;

/// The lines of a file of keys, in their order.
#[derive(Debug)]
pub(crate) struct Lookups {
    path: PathBuf,
    /// The keys as they are written, each with the number of its line.
    lines: Vec<(u64, Vec<u8>)>,
}

impl Lookups {
    /// Reads a file, or standard input if the path is `-`.
    ///
    /// # Errors
    /// [`InputError`] when it cannot be read, is empty, or has a line that is longer than any key.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let path = if path == Path::new("-") { Path::new(STANDARD_INPUT) } else { path };
        let unread = |source: io::Error| InputError::Io { path: path.to_owned(), source };
        let mut reader = BufReader::new(InputFile::open(path).map_err(unread)?);
        let mut found = Self { path: path.to_owned(), lines: Vec::new() };
        let (mut line, mut apart) = (0_u64, 1);
        loop {
            let mut written = Vec::new();
            if reader.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut written).map_err(unread)? == 0 {
                break;
            }
            line += 1;
            if written.len() as u64 > LINE_BYTES_MAX {
                let limit_bytes = KEY_BYTES_MAX as u64;
                return Err(InputError::LineTooLong { path: path.to_owned(), line, limit_bytes }.into());
            }
            written.pop_if(|last| *last == b'\n');
            written.pop_if(|last| *last == b'\r');
            if !(line - 1).is_multiple_of(apart) {
                continue;
            }
            if found.lines.len() == KEYS_MAX {
                apart *= 2;
                found.lines.retain(|(line, _)| (line - 1).is_multiple_of(apart));
            }
            if (line - 1).is_multiple_of(apart) {
                found.lines.push((line, written));
            }
        }
        if found.lines.is_empty() {
            return Err(InputError::NoKeys { path: found.path }.into());
        }
        Ok(found)
    }

    /// The keys as bytes of this type.
    ///
    /// # Errors
    /// [`InputError::WrongKey`] for a line that is no key of the type.
    pub(crate) fn keys(&self, key_type: KeyType) -> Result<Vec<Vec<u8>>> {
        let parse = |(line, written): &(u64, Vec<u8>)| {
            let parsed = argument(written).map(|written| key::from_argument(key_type, written));
            parsed.and_then(Result::ok).ok_or_else(|| {
                Failure::from(InputError::WrongKey {
                    path: self.path.clone(),
                    line: *line,
                    written: key::shortened(written),
                    wanted: key_type.to_string(),
                    described: key::describe(key_type),
                })
            })
        };
        self.lines.iter().map(parse).collect()
    }
}
