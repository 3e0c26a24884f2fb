//! The record writer, which appends records and commits to a log file.

use super::record::{self, COMMIT_BODY_BYTES, COMMIT_KIND, RecordLocation};
use crate::block::appender::{Appender, FLUSH_BYTES};
use crate::error::Result;
use crate::io::{Purpose, UpdatableFile};
use std::sync::Arc;

/// Appends records and commits.
#[derive(Debug)]
pub(crate) struct LogWriter {
    appender: Appender,
    identity: u64,
}

impl LogWriter {
    /// Begins a file with the owner's header, followed by records whose checksums are bound to `identity`. Old records
    /// in the file stay until they are overwritten; they are bound to another identity.
    pub(crate) fn new(file: Arc<dyn UpdatableFile>, identity: u64, header: &[u8]) -> Self {
        let mut appender = Appender::new(file, Purpose::Log);
        appender.buffer().extend_from_slice(header);
        Self { appender, identity }
    }

    /// Offset of the next record, and so the length of the valid part.
    pub(crate) fn position(&self) -> u64 {
        self.appender.position()
    }

    /// Appends a record, which becomes valid with a commit.
    pub(crate) fn append(&mut self, kind: u8, parts: &[&[u8]]) -> Result<RecordLocation> {
        let position = self.position();
        let location = record::encode(self.appender.buffer(), self.identity, position, kind, parts);
        if self.appender.waiting_bytes() >= FLUSH_BYTES {
            self.flush()?;
        }
        Ok(location)
    }

    /// Appends a commit of all records from `first` on, and writes buffered bytes.
    pub(crate) fn commit(&mut self, sequence: u64, first: u64) -> Result<()> {
        let mut body = [0; COMMIT_BODY_BYTES];
        body[..8].copy_from_slice(&sequence.to_le_bytes());
        body[8..16].copy_from_slice(&first.to_le_bytes());
        body[16..].copy_from_slice(&self.appender.synced().to_le_bytes());
        self.append(COMMIT_KIND, &[&body])?;
        self.flush()
    }

    /// Writes buffered bytes; a crash of the machine may still lose them.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.appender.flush()
    }

    /// Syncs all written bytes.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.appender.sync()
    }
}
