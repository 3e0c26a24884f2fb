//! The sequential scan of an untrusted value file: to verify it, to recover intact records, or to resume writing.

use super::chunk::{ChunkHead, ChunkPart, STORED_BYTES_MAX};
use super::file::{FOOTER_BYTES, ValueFile};
use super::pointer::ValuePointer;
use crate::block::window::Window;
use crate::error::{Error, Result};
use crate::io::Purpose;

/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

/// What a scan meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScannedItem<'a> {
    /// A record all of whose chunks are what was written.
    Record {
        /// The key beside the value.
        key: &'a [u8],
        /// Where it lies.
        place: ValuePointer,
    },
    /// Chunks of a record that was given up, or whose end is damaged.
    Part {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// Bytes that are no chunk. Where an unfinished file ends with them, they may be what a crash left.
    Unknown {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u64,
    },
}

/// What a scan met in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScanSummary {
    /// Whole records.
    pub(crate) records: u64,
    /// The lengths of their values.
    pub(crate) value_bytes: u64,
    /// Whether the file was finished, and has as many records as it had then.
    pub(crate) is_proved: bool,
    /// Where the last whole chunk ends.
    pub(crate) end: u64,
}

impl ValueFile {
    /// Shows `visit` all that the file holds, in order, whatever it is. Every chunk is checked, none is unpacked.
    ///
    /// Behind bytes that are no chunk the scan looks for the next one, place by place.
    pub(crate) fn scan(&self, visit: &mut dyn FnMut(ScannedItem<'_>) -> Result<()>) -> Result<ScanSummary> {
        let footer = self.footer()?;
        let end = self.len_bytes() - if footer.is_some() { FOOTER_BYTES as u64 } else { 0 };
        let mut scan = FileScan::new(self, end);
        scan.run(visit)?;
        let counted = |scanned: &ScanSummary| (scanned.records, scanned.value_bytes);
        scan.scanned.is_proved = footer.is_some_and(|footer| {
            (footer.records, footer.value_bytes) == counted(&scan.scanned) && scan.unknown_bytes == 0
        });
        Ok(scan.scanned)
    }

    /// Counts the records before `end`.
    pub(super) fn scan_to(&self, end: u64) -> Result<ScanSummary> {
        if !(self.start..=self.len_bytes()).contains(&end) {
            return Err(Error::damaged(self.file.path(), end, "the value file ends before its values do"));
        }
        let mut scan = FileScan::new(self, end);
        scan.run(&mut |found| match found {
            ScannedItem::Unknown { offset, .. } => {
                Err(Error::damaged(self.file.path(), offset, "this is no chunk of a value, though values follow"))
            }
            _ => Ok(()),
        })?;
        Ok(scan.scanned)
    }
}

/// A scan at some place.
struct FileScan<'a> {
    file: &'a ValueFile,
    window: Window,
    position: u64,
    end: u64,
    /// The record that has begun: its key, where it began, the length of its value so far.
    open: Option<(Vec<u8>, u64, u64)>,
    unknown_bytes: u64,
    scanned: ScanSummary,
}

impl<'a> FileScan<'a> {
    fn new(file: &'a ValueFile, end: u64) -> Self {
        let position = file.start;
        let scanned = ScanSummary { end: position, ..ScanSummary::default() };
        let window = Window::new(end, READ_BYTES, Purpose::Walk);
        Self { file, window, position, end, open: None, unknown_bytes: 0, scanned }
    }

    fn run(&mut self, visit: &mut dyn FnMut(ScannedItem<'_>) -> Result<()>) -> Result<()> {
        while self.position < self.end {
            let (identity, position) = (self.file.identity, self.position);
            let bytes = self.window.at(&*self.file.file, position, STORED_BYTES_MAX)?;
            let Some(head) = ChunkHead::checked(identity, position, bytes) else {
                self.give_up(visit)?;
                self.skip(visit)?;
                continue;
            };
            let key = bytes.get(head.key.clone()).unwrap_or_default().to_vec();
            let belongs = self.open.is_some() && !head.part.begins();
            if !belongs {
                self.give_up(visit)?;
            }
            self.position += head.chunk_bytes() as u64;
            self.scanned.end = self.position;
            self.take(&head, position, key, visit)?;
        }
        self.give_up(visit)
    }

    /// Makes a chunk part of its record.
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
            place: ValuePointer { file: self.file.number(), offset, stored_bytes, length },
        })
    }

    /// Says that the record that has begun does not end.
    fn give_up(&mut self, visit: &mut dyn FnMut(ScannedItem<'_>) -> Result<()>) -> Result<()> {
        match self.open.take() {
            Some((_, offset, _)) => visit(ScannedItem::Part { offset, bytes: self.scanned.end - offset }),
            None => Ok(()),
        }
    }

    /// Goes on to the next place where a chunk begins, or to the end.
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
