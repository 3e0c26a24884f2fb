//! The findings of a verification of a store, for `ogive verify`.

use crate::commands::ordered_map::Report;
use crate::failure::Result;
use crate::output::Output;
use crate::urls::is_url;
use crate::values::size::{counted, grouped};
use ogive::verify::StoreReport;
use serde::Serialize;
use serde_json::json;
use std::path::Path;

impl Report for StoreReport {
    fn to_json(&self) -> Result<impl Serialize> {
        Ok(json!({
            "sound": self.is_sound(),
            "findings": self.findings,
            "further_findings": self.further_findings,
            "keyspaces": self.keyspaces,
            "tables": self.tables,
            "records": self.records,
            "pointers": self.pointers,
            "value_files": self.value_files,
            "values": self.values,
            "logs": self.logs,
            "groups": self.groups,
            "log_records": self.log_records,
            "bytes": self.bytes,
            "index_faults": self.index_faults,
            "orphans": self.orphans,
        }))
    }

    fn print(&self, name: &str, output: &mut Output) -> Result<()> {
        for finding in &self.findings {
            output.line(format_args!("{} at byte {}: {}", finding.file, finding.offset, finding.detail))?;
        }
        for fault in &self.index_faults {
            output.line(fault)?;
        }
        if self.further_findings > 0 {
            output.line(format_args!("and {} more findings", grouped(self.further_findings)))?;
        }
        output.line(format_args!(
            "{name}: {}; {} with {}, {} with {}, {} with {}",
            if self.is_sound() { "sound" } else { "damaged" },
            counted(self.tables, "table"),
            counted(self.records, "record"),
            counted(self.value_files, "value file"),
            counted(self.values, "value"),
            counted(self.logs, "log"),
            counted(self.log_records, "record")
        ))
    }

    fn remarks(&self, name: &str, is_json: bool) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.orphans.is_empty() && is_url(Path::new(name)) {
            let files = counted(self.orphans.len() as u64, "file");
            remarks.push(format!(
                "{files} not part of this version: kept for readers of older ones, or left by a killed writer; the \
                 next writer removes what is older than the grace period"
            ));
        } else if !self.orphans.is_empty() {
            let orphans = self.orphans.join(", ");
            let remark = "left by a crash, and removed when the store is opened for writing, or being written just now";
            remarks.push(format!("{orphans}: not part of the store ({remark})"));
        }
        if !self.index_faults.is_empty() {
            remarks.push("hint: drop the index and create it again with `ogive db index`".to_owned());
        } else if !self.is_sound() {
            let repair = ", or run `ogive repair` to keep what passes its checksums";
            let repair = if is_url(Path::new(name)) { "" } else { repair };
            remarks.push(format!("hint: restore it from a backup{repair}"));
        }
        if is_json { Vec::new() } else { remarks }
    }

    fn is_sound(&self) -> bool {
        self.is_sound()
    }
}
