//! Keys that are looked up, from a file with one on each line.

use super::pipe::InputFile;
use super::standard_input::input_named;
use crate::failure::{Failure, Result};
use crate::input::InputError;
use crate::system::argument;
use crate::values::key;
use ogive::KeyType;
use ogive::TableWriteOptions;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Keys that are kept, and their bytes. Of a longer file, each line is kept with the same chance: a million weigh the
/// blocks of any table well. Evenly spaced ones might fall in with a rhythm of the lookups.
const KEYS_MAX: usize = 1 << 20;
const KEYS_BYTES_MAX: usize = 64 << 20;
/// Longest line in bytes: that of the longest key, with each of its bytes as an escape.
const LINE_BYTES_MAX: u64 = 4 * TableWriteOptions::KEY_BYTES_MAX as u64 + 2;

/// The lines of a file of keys, in their order.
#[derive(Debug)]
pub(crate) struct Lookups {
    path: PathBuf,
    /// The keys as they are written, each with the number of its line.
    lines: Vec<(u64, Vec<u8>)>,
    /// Lines of the file.
    lines_of_file: u64,
}

/// Numbers that choose lines: the same ones for the same file, so that a design does not change.
#[derive(Debug, Default)]
struct Choices(u64);

impl Choices {
    /// A number below `count`. D. E. Knuth, "The Art of Computer Programming", volume 2, 3.3.4 (MMIX).
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(count)) >> 64) as u64
    }
}

impl Lookups {
    /// Reads a file, or standard input if the path is `-`.
    ///
    /// # Errors
    /// [`InputError`] when it cannot be read, is empty, or has a line that is longer than any key.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let path = input_named(path.as_os_str());
        let unread = |source: io::Error| InputError::Io { path: path.to_owned(), source };
        let mut reader = BufReader::new(InputFile::open(path).map_err(unread)?);
        let mut lines: Vec<(u64, Vec<u8>)> = Vec::new();
        let (mut line, mut keys_max, mut bytes) = (0_u64, KEYS_MAX, 0);
        let mut choices = Choices::default();
        loop {
            let mut written = Vec::new();
            if reader.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut written).map_err(unread)? == 0 {
                break;
            }
            line += 1;
            if written.len() as u64 > LINE_BYTES_MAX {
                let limit_bytes = TableWriteOptions::KEY_BYTES_MAX as u64;
                return Err(InputError::LineTooLong { path: path.to_owned(), line, limit_bytes }.into());
            }
            written.pop_if(|last| *last == b'\n');
            written.pop_if(|last| *last == b'\r');
            // A reservoir, which is smaller for long keys: Knuth, volume 2, 3.4.2, algorithm R.
            if lines.len() < keys_max {
                bytes += written.len();
                lines.push((line, written));
            } else if let Some(place) = lines.get_mut(choices.below(line) as usize) {
                bytes += written.len();
                bytes -= std::mem::replace(place, (line, written)).1.len();
            }
            while bytes > KEYS_BYTES_MAX {
                keys_max = lines.len().div_ceil(2);
                while lines.len() > keys_max {
                    bytes -= lines.swap_remove(choices.below(lines.len() as u64) as usize).1.len();
                }
            }
        }
        if lines.is_empty() {
            return Err(InputError::NoKeys { path: path.to_owned() }.into());
        }
        lines.sort_unstable_by_key(|(line, _)| *line);
        Ok(Self { path: path.to_owned(), lines, lines_of_file: line })
    }

    /// Number of lines of the file.
    pub(crate) fn lines_of_file(&self) -> u64 {
        self.lines_of_file
    }

    /// Up to `keys_max` of the keys in their order, each with the same chance.
    ///
    /// # Errors
    /// As [`Self::keys`].
    pub(crate) fn some_keys(&self, key_type: KeyType, keys_max: usize) -> Result<Vec<Vec<u8>>> {
        let mut choices = Choices::default();
        let (mut wanted, mut left) = (keys_max.min(self.lines.len()) as u64, self.lines.len() as u64);
        // Knuth, volume 2, 3.4.2, algorithm S.
        let is_chosen = |_: &&(u64, Vec<u8>)| {
            let is_chosen = choices.below(left) < wanted;
            (wanted, left) = (wanted - u64::from(is_chosen), left - 1);
            is_chosen
        };
        self.lines.iter().filter(is_chosen).map(|line| self.parsed(key_type, line)).collect()
    }

    /// The keys as bytes of this type.
    ///
    /// # Errors
    /// [`InputError::WrongKey`] for a line that is no key of the type.
    pub(crate) fn keys(&self, key_type: KeyType) -> Result<Vec<Vec<u8>>> {
        self.lines.iter().map(|line| self.parsed(key_type, line)).collect()
    }

    fn parsed(&self, key_type: KeyType, (line, written): &(u64, Vec<u8>)) -> Result<Vec<u8>> {
        let parsed = argument(written).map(|written| key::from_argument(key_type, written));
        parsed.and_then(Result::ok).ok_or_else(|| {
            Failure::from(InputError::WrongKey {
                path: self.path.clone(),
                line: *line,
                written: ogive_text::shortened(written),
                wanted: key_type.to_string(),
                described: key::describe(key_type),
            })
        })
    }
}
