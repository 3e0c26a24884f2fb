//! Reads in progress: ranges of one or several files that are read while the caller does something else.

use crate::error::Result;
use crate::io::local::positional::AlignedBuffer;
use crate::io::storage::request::{Purpose, ReadRequest};
use std::fmt::Debug;
use std::ops::{Deref, Range};

/// A range to read into a buffer of the storage, with
/// [`ReadableFile::start_reads`](crate::io::ReadableFile::start_reads).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeRequest {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Length in bytes. The caller must have compared it with the file: memory is taken for it.
    pub bytes: usize,
    /// The purpose of the read.
    pub purpose: Purpose,
}

/// Reads that were started. Dropping them gives up what is not read yet.
pub trait PendingReads: Debug + Send {
    /// Waits for all ranges and returns them in the order of the request.
    ///
    /// # Errors
    /// The first error of any of them.
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>>;
}

/// The bytes of a range, in a buffer that may begin before them.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    bytes: Vec<u8>,
    range: Range<usize>,
}

impl ReadBuffer {
    /// A range of an aligned buffer, which must contain it.
    pub(in crate::io) fn of_aligned(buffer: AlignedBuffer, range: Range<usize>) -> Self {
        Self { bytes: buffer.into_bytes(), range }
    }

    /// The buffer, for another read.
    pub(in crate::io) fn into_aligned(self) -> AlignedBuffer {
        AlignedBuffer::of(self.bytes)
    }
}

impl Deref for ReadBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.range.clone()).unwrap_or_default()
    }
}

impl From<Vec<u8>> for ReadBuffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), bytes }
    }
}

/// Reads that ended before they were waited for.
#[derive(Debug)]
struct FinishedReads(Vec<Vec<u8>>);

impl PendingReads for FinishedReads {
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        Ok(self.0.into_iter().map(ReadBuffer::from).collect())
    }
}

/// Reads ranges before they are waited for.
pub(in crate::io) fn read_at_once(
    ranges: &[RangeRequest],
    read_many: impl FnOnce(Vec<ReadRequest<'_>>) -> Result<()>,
) -> Result<Box<dyn PendingReads>> {
    let mut buffers: Vec<Vec<u8>> = ranges.iter().map(|range| vec![0; range.bytes]).collect();
    let requests = ranges.iter().zip(&mut buffers);
    let requests = requests
        .map(|(&RangeRequest { offset, purpose, .. }, buffer)| ReadRequest { offset, buffer, purpose })
        .collect();
    read_many(requests)?;
    Ok(Box::new(FinishedReads(buffers)))
}
