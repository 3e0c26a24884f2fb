//! The summary of an import, as text and as JSON.

use crate::checksum::Checksum;
use crate::source::LeftOut;
use ogive_terminal::{counted, human_bytes};
use serde_json::{Value, json};
use std::fmt;

/// An import that is done.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) kind: &'static str,
    pub(crate) source: String,
    pub(crate) store: String,
    pub(crate) keyspaces: Vec<Imported>,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) seconds: f64,
}

/// A keyspace whose records were compared with those of the source.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) keyspace: String,
    /// The name in the source.
    pub(crate) from: String,
    pub(crate) checksum: Checksum,
    pub(crate) types: String,
    /// The indexes that were created, with their definitions.
    pub(crate) indexes: Vec<String>,
    pub(crate) remarks: Vec<String>,
}

impl Summary {
    /// As one object.
    pub(crate) fn to_json(&self) -> Value {
        let keyspace = |imported: &Imported| {
            json!({
                "keyspace": imported.keyspace,
                "from": imported.from,
                "records": imported.checksum.records,
                "bytes": imported.checksum.bytes,
                "checksum": imported.checksum.to_string(),
                "types": imported.types,
                "indexes": imported.indexes,
                "remarks": imported.remarks,
            })
        };
        let left = |left: &LeftOut| json!({ "what": left.what, "name": left.name, "reason": left.reason });
        json!({
            "kind": self.kind,
            "source": self.source,
            "store": self.store,
            "keyspaces": self.keyspaces.iter().map(keyspace).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(left).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Imported { keyspace, from, checksum, types, indexes, remarks } in &self.keyspaces {
            let of = if keyspace == from { String::new() } else { format!(" of {from}") };
            let (records, bytes) = (counted(checksum.records, "record"), human_bytes(checksum.bytes));
            writeln!(f, "{keyspace}: {records}{of}, {bytes}, checksum {checksum}")?;
            writeln!(f, "  {types}")?;
            indexes.iter().try_for_each(|index| writeln!(f, "  index {index}"))?;
            remarks.iter().try_for_each(|remark| writeln!(f, "  note: {remark}"))?;
        }
        for LeftOut { what, name, reason } in &self.left_out {
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            writeln!(f, "left out: {what} {name}{reason}")?;
        }
        let records = self.keyspaces.iter().map(|imported| imported.checksum.records).sum();
        let keyspaces = counted(self.keyspaces.len() as u64, "keyspace");
        match self.keyspaces.len() {
            0 => writeln!(f, "{}: there is nothing to import; no store was created", self.source),
            _ => writeln!(
                f,
                "{}: {} in {keyspaces}, read back and compared, in {:.1} s",
                self.store,
                counted(records, "record"),
                self.seconds
            ),
        }
    }
}
