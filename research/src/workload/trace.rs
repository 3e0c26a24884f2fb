//! Recorded traces: files of little-endian u32 numbers, one per access.

use std::path::Path;

use crate::error::{Error, Result};

/// A trace with its numbers replaced by their ranks among the distinct ones.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) ranks: Vec<u32>,
    pub(super) distinct: u64,
}

/// Reads a whole trace into memory: 4 bytes an access, twice that while it is ranked.
pub(super) fn read(path: &Path) -> Result<Trace> {
    let bytes = std::fs::read(path).map_err(|source| Error::io("read", path, source))?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    if numbers.is_empty() || !rest.is_empty() {
        let detail = format!("{} bytes are no trace: it takes 4 bytes for each access, at least one", bytes.len());
        return Err(Error::spec(path.to_string_lossy(), detail));
    }
    let mut ranks: Vec<u32> = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    drop(bytes);
    let mut distinct = ranks.clone();
    distinct.sort_unstable();
    distinct.dedup();
    for number in &mut ranks {
        *number = distinct.partition_point(|other| other < number) as u32;
    }
    Ok(Trace { ranks, distinct: distinct.len() as u64 })
}
