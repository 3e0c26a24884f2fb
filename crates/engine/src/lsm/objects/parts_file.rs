//! A file in memory that consists of the parts of a chain.

use super::tag;
use crate::error::{Error, Result};
use crate::io::{ReadRequest, ReadableFile, check_range};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The parts of a chain as a file. What lies before the first of them is not there, and not asked for.
#[derive(Debug)]
pub(super) struct PartsFile {
    /// The parts, each with its offset, and its length without its tag.
    parts: Vec<(u64, u64, Arc<[u8]>)>,
    length_bytes: u64,
    path: PathBuf,
}

impl PartsFile {
    /// A file whose parts begin at an offset.
    pub(super) fn new(first: u64, parts: Vec<Arc<[u8]>>, path: PathBuf) -> Self {
        let mut length_bytes = first;
        let placed = parts.into_iter().map(|part| {
            let (at, bytes) = (length_bytes, (part.len() - tag::length(&part)) as u64);
            length_bytes += bytes;
            (at, bytes, part)
        });
        let parts = placed.collect();
        Self { parts, length_bytes, path }
    }
}

impl ReadableFile for PartsFile {
    fn len(&self) -> u64 {
        self.length_bytes
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check_range(&self.path, self.length_bytes, &request)?;
        if request.offset < self.parts.first().map_or(self.length_bytes, |(first, ..)| *first) {
            return Err(Error::io("read", self.path.clone(), ErrorKind::NotFound.into()));
        }
        let mut at = request.offset;
        let mut rest = request.buffer;
        let first = self.parts.partition_point(|(start, bytes, _)| start + bytes <= at);
        for (start, bytes, part) in self.parts.iter().skip(first) {
            let from = part.len() as u64 - bytes + at.saturating_sub(*start);
            let within = part.get(from as usize..).unwrap_or_default();
            let (filled, behind) = rest.split_at_mut(within.len().min(rest.len()));
            filled.copy_from_slice(&within[..filled.len()]);
            at += filled.len() as u64;
            rest = behind;
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
