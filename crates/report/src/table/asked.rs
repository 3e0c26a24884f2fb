//! Keys that a report was asked for: the lookup as the engine made it.

use super::picture::bytes_text;
use ogive::ReadTrace;
use ogive::Table;
use ogive::io::Purpose;
use ogive::table::RouteStep;
use serde::Serialize;

/// A key that the engine looked up for the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedKey {
    /// The key as text.
    pub text: String,
    /// Its bytes, in hexadecimal digits.
    pub hex: String,
    /// Whether it has a record.
    pub is_found: bool,
    /// The pages and blocks to which the index led, from the top.
    pub route: Vec<RouteStep>,
    /// The reads of the lookup, without the one that opened the table.
    pub reads: Vec<AskedRead>,
}

/// A read of a lookup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskedRead {
    /// `layer 1`, `filter` or `data`.
    pub purpose: String,
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl AskedKey {
    /// Looks a key up. The table should have no cache, so that all reads are seen.
    pub(super) fn look_up(table: &Table, key: &[u8]) -> ogive::Result<Self> {
        let mut trace = ReadTrace::new();
        let is_found = table.traced(&mut trace).contains_key(key)?;
        let read = |read: &ogive::table::TracedRead| AskedRead {
            purpose: match read.purpose {
                Purpose::Layer(number) => format!("layer {number}"),
                Purpose::Filter => "filter".to_owned(),
                _ => "data".to_owned(),
            },
            offset: read.offset,
            bytes: read.bytes,
        };
        Ok(Self {
            text: table.key_type().display(key),
            hex: bytes_text(key),
            is_found,
            route: table.route(key)?,
            reads: trace.reads.iter().map(read).collect(),
        })
    }
}
