//! The records that a store must hold, and the errors of one that does not.

use anyhow::{Error, Result, anyhow, bail, ensure};

use crate::workload::Records;

/// The version of a record that is not there.
const ABSENT: u32 = u32::MAX;
/// Bytes of an answer that an error shows.
const SHOWN_BYTES: usize = 12;

/// The version of each record that was written last.
#[derive(Debug)]
pub(super) struct Content {
    versions: Vec<u32>,
}

impl Content {
    /// A store without any of the records.
    pub(super) fn new(records: &Records) -> Self {
        Self { versions: vec![ABSENT; records.len()] }
    }

    /// Has the first version of the records at these places, and no other records.
    pub(super) fn load<'p>(&mut self, places: impl IntoIterator<Item = &'p u64>) {
        self.versions.fill(ABSENT);
        places.into_iter().for_each(|place| self.put(*place, 0));
    }

    /// Notes that a version of the record at a place was written.
    pub(super) fn put(&mut self, place: u64, version: u32) {
        if let Some(slot) = self.versions.get_mut(place as usize) {
            *slot = version;
        }
    }

    /// Replaces `out` by the value at a place; false if it is not there.
    fn value(&self, records: &Records, place: u64, out: &mut Vec<u8>) -> bool {
        let version = self.versions.get(place as usize).copied().filter(|version| *version != ABSENT);
        out.clear();
        version.into_iter().for_each(|version| records.value(place, version.into(), out));
        version.is_some()
    }

    /// Compares the answer to a get of the record at a place.
    pub(super) fn check_get(&self, records: &Records, place: u64, answer: Option<&[u8]>) -> Result<()> {
        let mut value = Vec::new();
        let expected = self.value(records, place, &mut value).then_some(value.as_slice());
        if answer == expected {
            return Ok(());
        }
        let mut key = Vec::new();
        records.key(place, &mut key);
        Err(wrong_get(&key, answer, expected))
    }

    /// Compares the answer to a scan of `entries` records from the one at a place: their number, keys and values.
    pub(super) fn check_scan(
        &self,
        records: &Records,
        place: u64,
        entries: usize,
        (passed, answer): (usize, &[u8]),
    ) -> Result<()> {
        let mut from = Vec::new();
        records.key(place, &mut from);
        let request = || format!("scan of {entries} records from key {}", hex(&from));
        let behind = self.versions.get(place as usize..).unwrap_or_default();
        let there = (place..).zip(behind).filter(|(_, version)| **version != ABSENT).map(|(place, _)| place);
        let expected: Vec<u64> = there.take(entries).collect();
        ensure!(passed == expected.len(), "{} answered {passed} records instead of {}", request(), expected.len());
        let (mut rest, mut part) = (answer, Vec::new());
        for (number, place) in expected.into_iter().enumerate() {
            for what in ["key", "value"] {
                if what == "key" {
                    records.key(place, &mut part);
                } else {
                    self.value(records, place, &mut part);
                }
                let Some(after) = rest.strip_prefix(part.as_slice()) else {
                    let answered = shown(&rest[..rest.len().min(part.len())]);
                    let right = shown(&part);
                    bail!("{} answered {answered} instead of {right} as {what} of record {number}", request());
                };
                rest = after;
            }
        }
        ensure!(rest.is_empty(), "{} answered {} bytes behind the last record", request(), rest.len());
        Ok(())
    }
}

/// The error of a get that was answered wrongly.
pub(super) fn wrong_get(key: &[u8], answer: Option<&[u8]>, expected: Option<&[u8]>) -> Error {
    let told = |value: Option<&[u8]>| value.map_or_else(|| "that there is none".into(), shown);
    let place = match (answer, expected) {
        (Some(answer), Some(expected)) => format!(": they differ at byte {}", common_bytes(answer, expected)),
        _ => String::new(),
    };
    anyhow!("get of key {} answered {} instead of {}{place}", hex(key), told(answer), told(expected))
}

/// The error of a get that did not find a record that is there.
pub(super) fn missing(key: &[u8]) -> Error {
    anyhow!("get of key {} answered that there is none instead of a value", hex(key))
}

/// Bytes at the start of both.
fn common_bytes(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// A key or a value, as errors show it.
fn shown(bytes: &[u8]) -> String {
    let more = if bytes.len() > SHOWN_BYTES { "..." } else { "" };
    format!("{}{more} ({} bytes)", hex(&bytes[..bytes.len().min(SHOWN_BYTES)]), bytes.len())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".into(), |text, byte| format!("{text}{byte:02x}"))
}
