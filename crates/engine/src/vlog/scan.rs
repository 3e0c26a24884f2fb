//! The sequential scan of an untrusted value file: to verify it, to recover intact records, or to resume writing.

use super::chunk::{ChunkHead, ChunkPart, STORED_BYTES_MAX};
use super::file::{FOOTER_BYTES, Footer, VALUES_START, ValueFile};
use super::pointer::ValueFilePointer;
use crate::block::window::ReadWindow;
use crate::error::{Error, Result};
use crate::io::Purpose;

/// Read size in bytes.
const READ_BYTES: usize = 1 << 20;

/// An item of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScannedItem<'a> {
    /// A record, all of whose chunks are intact.
    Record {
        /// The key stored with the value.
        key: &'a [u8],
        /// The location of the value.
        pointer: ValueFilePointer,
    },
    /// ValueChunks of an incomplete record: abandoned, or with a damaged end.
    Part {
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// Bytes that are not a chunk. At the end of an unfinished file, they may be a torn write.
    Unknown {
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
}

/// The totals of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScanSummary {
    /// Number of intact records.
    pub(crate) records: u64,
    /// Total length of their values.
    pub(crate) value_bytes: u64,
    /// Whether the file was finished and still has as many records as then.
    pub(crate) is_proved: bool,
    /// End of the last intact chunk.
    pub(crate) end: u64,
}

impl ValueFile {
    /// Passes everything in the file to `visit`, in order. Every chunk is verified, none is decompressed.
    ///
    /// After bytes that are not a chunk, the scan searches for the next one byte by byte.
    pub(crate) fn scan(&self, visit: &mut dyn FnMut(ScannedItem<'_>) -> Result<()>) -> Result<ScanSummary> {
        let footer = self.footer()?;
        let end = self.len_bytes() - if footer.is_some() { FOOTER_BYTES as u64 } else { 0 };
        let mut scan = ValueFileScan::new(self, end);
        scan.run(visit)?;
        let counted = |scanned: &ScanSummary| (scanned.records, scanned.value_bytes);
        scan.scanned.is_proved = footer.is_some_and(|footer| {
            (footer.records, footer.value_bytes) == counted(&scan.scanned) && scan.unknown_bytes == 0
        });
        Ok(scan.scanned)
    }

    /// The footer of a finished file that ends with the value before `end`.
    ///
    /// # Errors
    /// As [`ValueFileWriter::resume`](super::ValueFileWriter::resume).
    pub(crate) fn footer_at(&self, end: u64) -> Result<Vec<u8>> {
        let scanned = self.scan_to(end)?;
        let footer = Footer { records: scanned.records, value_bytes: scanned.value_bytes };
        Ok(footer.encode(self.identity, end).to_vec())
    }

    /// Counts the records before `end`.
    pub(super) fn scan_to(&self, end: u64) -> Result<ScanSummary> {
        if !(VALUES_START..=self.len_bytes()).contains(&end) {
            return Err(Error::damaged(self.file.path(), end, "the value file ends before its values do"));
        }
        let mut scan = ValueFileScan::new(self, end);
        scan.run(&mut |found| match found {
            ScannedItem::Unknown { offset, .. } => {
                Err(Error::damaged(self.file.path(), offset, "no valid chunk is here, though values follow"))
            }
            _ => Ok(()),
        })?;
        Ok(scan.scanned)
    }
}

/// The state of a scan.
struct ValueFileScan<'a> {
    file: &'a ValueFile,
    window: ReadWindow,
    position: u64,
    end: u64,
    /// The current record: its key, its offset, and the length of its value so far.
    open: Option<(Vec<u8>, u64, u64)>,
    unknown_bytes: u64,
    scanned: ScanSummary,
}

impl<'a> ValueFileScan<'a> {
    fn new(file: &'a ValueFile, end: u64) -> Self {
        let position = VALUES_START;
        let scanned = ScanSummary { end: position, ..ScanSummary::default() };
        let window = ReadWindow::new(end, READ_BYTES, Purpose::Walk);
        Self { file, window, position, end, open: None, unknown_bytes: 0, scanned }
    }

    fn run(&mut self, visit: &mut dyn FnMut(ScannedItem<'_>) -> Result<()>) -> Result<()> {
        while self.position < self.end {
            let (identity, position) = (self.file.identity, self.position);
            let bytes = self.window.at(&*self.file.file, position, STORED_BYTES_MAX)?;
            let Some(head) = ChunkHead::checked(identity, position, bytes) else {
                self.report_incomplete(visit)?;
                self.skip(visit)?;
                continue;
            };
            let key = bytes.get(head.key.clone()).unwrap_or_default().to_vec();
            let belongs = self.open.is_some() && !head.part.begins();
            if !belongs {
                self.report_incomplete(visit)?;
            }
            self.position += head.chunk_bytes() as u64;
            self.scanned.end = self.position;
            self.take(&head, position, key, visit)?;
        }
        self.report_incomplete(visit)
    }

    /// Adds a chunk to its record.
    fn take(
        &mut self,
        head: &ChunkHead,
        position: u64,
        key: Vec<u8>,
        visit: &mut dyn FnMut(ScannedItem<'_>) -> Result<()>,
    ) -> Result<()> {
        let length = head.length as u64;
        let (key, offset, length) = match (head.part, self.open.take()) {
            (ChunkPart::Whole | ChunkPart::First, _) => (key, position, length),
            (_, Some((key, offset, before))) => (key, offset, before + length),
            // Its beginning is damaged.
            (_, None) => return visit(ScannedItem::Part { offset: position, bytes: self.position - position }),
        };
        if !head.part.ends() {
            self.open = Some((key, offset, length));
            return Ok(());
        }
        self.scanned.records += 1;
        self.scanned.value_bytes += length;
        let stored_bytes = self.position - offset;
        visit(ScannedItem::Record {
            key: &key,
            pointer: ValueFilePointer { file: self.file.number(), offset, stored_bytes, length },
        })
    }

    /// Reports the current record as incomplete.
    fn report_incomplete(&mut self, visit: &mut dyn FnMut(ScannedItem<'_>) -> Result<()>) -> Result<()> {
        match self.open.take() {
            Some((_, offset, _)) => visit(ScannedItem::Part { offset, bytes: self.scanned.end - offset }),
            None => Ok(()),
        }
    }

    /// Moves to the next offset at which a chunk begins, or to the end.
    fn skip(&mut self, visit: &mut dyn FnMut(ScannedItem<'_>) -> Result<()>) -> Result<()> {
        let (identity, offset) = (self.file.identity, self.position);
        self.position += 1;
        while self.position < self.end {
            let bytes = self.window.at(&*self.file.file, self.position, STORED_BYTES_MAX)?;
            if ChunkHead::checked(identity, self.position, bytes).is_some() {
                break;
            }
            self.position += 1;
        }
        let bytes = self.position - offset;
        self.unknown_bytes += bytes;
        visit(ScannedItem::Unknown { offset, bytes })
    }
}
