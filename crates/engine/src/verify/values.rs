//! Verification of one value file of a store.

use super::store::StoreVerifier;
use crate::error::Result;
use crate::lsm::state::version::{FileKind, file_name};
use crate::vlog::ScannedItem;

impl StoreVerifier<'_> {
    /// Checks every record of a complete value file, including dead ones.
    pub(crate) fn value_file(&mut self, number: u64, bytes: u64) -> Result<()> {
        let name = file_name(number, FileKind::Values);
        let Some(file) = self.values.get(&number) else { return Ok(()) };
        self.report.value_files += 1;
        if file.len_bytes() != bytes {
            self.report.add(&name, bytes, "its length differs from that recorded at its completion");
        }
        let report = &mut self.report;
        let scanned = file.scan(&mut |found| {
            match found {
                ScannedItem::Record { .. } => report.values += 1,
                // Left by a failed write before the file was resumed; no entry points there.
                ScannedItem::Part { .. } => {}
                ScannedItem::Unknown { offset, bytes } => {
                    report.add(&name, offset, format!("{bytes} bytes are not part of any value"));
                }
            }
            Ok(())
        });
        if let Some(scanned) = self.report.note(&name, scanned)?
            && !scanned.is_proved
            && !self.report.has_finding(&name)
        {
            self.report.add(&name, scanned.end, "its footer does not prove that it is complete");
        }
        self.advance(bytes);
        Ok(())
    }
}
