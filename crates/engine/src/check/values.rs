//! Verification of one value file of a store.

use super::verify::Walk;
use crate::error::Result;
use crate::lsm::version::{FileKind, file_name};
use crate::vlog::Found;

impl Walk<'_> {
    /// Checks every record of a complete value file, dead ones included.
    pub(super) fn value_file(&mut self, number: u64, bytes: u64) -> Result<()> {
        let name = file_name(number, FileKind::Values);
        let Some(file) = self.values.get(&number) else { return Ok(()) };
        self.report.value_files += 1;
        if file.len_bytes() != bytes {
            self.report.add(&name, bytes, "it is not as long as it was when it was complete");
        }
        let report = &mut self.report;
        let walked = file.walk(&mut |found| {
            match found {
                Found::Record { .. } => report.values += 1,
                // What a failed write had left when the file was gone on with; no entry points there.
                Found::Part { .. } => {}
                Found::Unknown { offset, bytes } => {
                    report.add(&name, offset, format!("{bytes} bytes are no values"));
                }
            }
            Ok(())
        });
        if let Some(walked) = self.report.note(&name, walked)?
            && !walked.is_proved
            && !self.report.has_finding(&name)
        {
            self.report.add(&name, walked.end, "its end does not prove that it is whole");
        }
        self.advance(bytes);
        Ok(())
    }
}
