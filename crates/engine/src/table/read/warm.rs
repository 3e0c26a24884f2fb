//! Filling the cache of a table before it is used.

use super::context::ReadContext;
use super::reader::Table;
use crate::block::cache::ENTRY_OVERHEAD_BYTES;
use crate::error::Result;
use crate::io::Profile;

/// Shortest and longest requests.
const REQUEST_BYTES: std::ops::RangeInclusive<u64> = 256 << 10..=16 << 20;
/// A request is so long that its latency is one part in this many of its time.
const LATENCY_PARTS: f64 = 8.0;

impl Table {
    /// Reads what most lookups need into the cache, in long requests, until that is `bytes` of the file: the layers of
    /// the index from the top, since a page of a higher layer is met by more lookups, then the data blocks in order.
    /// What the cache cannot hold is not read, by the lengths in the file; compressed blocks take more. Returns the
    /// bytes of the pages and blocks; those that were in the cache already count.
    ///
    /// A reader that is opened for many lookups is faster so: they would read the same one block at a time
    /// ([`TableOptions::warm_bytes`](crate::table::TableOptions::warm_bytes)).
    ///
    /// ```
    /// use ogive::io::MemoryStorage;
    /// use ogive::{Table, TableOptions, TableWriteOptions, TableWriter};
    /// use std::sync::Arc;
    ///
    /// let storage = Arc::new(MemoryStorage::new());
    /// let mut writer = TableWriter::create((storage.clone(), "words.ogive"), TableWriteOptions::default())?;
    /// writer.append(b"apple", b"red")?;
    /// writer.finish()?;
    /// let table = Table::open((storage, "words.ogive"), &TableOptions::default())?;
    /// assert!(table.warm(1 << 20)? > 0);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// Source: AirIndex, Appendix C.1, which proposes it.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub fn warm(&self, bytes: u64) -> Result<u64> {
        let inner = &self.inner;
        // A request is held twice while its parts are checked.
        let request_bytes = request_bytes(&inner.profile).min(inner.memory.working_bytes() / 4);
        let (mut read, mut held) = (0, 0);
        for level in (0..inner.meta.layers.len().max(1)).rev() {
            let children = inner.children(level);
            let mut first = 0;
            while first < children {
                let mut end = first;
                let mut piece = 0;
                while end < children {
                    let next = inner.section(level, end)?.bytes;
                    // Beside its bytes, the cache charges its own of each block.
                    let is_full = held + next + ENTRY_OVERHEAD_BYTES > inner.memory.cache().budget_bytes();
                    if is_full || read + piece + next > bytes || (end > first && piece + next > request_bytes) {
                        break;
                    }
                    (end, piece, held) = (end + 1, piece + next, held + next + ENTRY_OVERHEAD_BYTES);
                }
                if end == first {
                    return Ok(read);
                }
                inner.row(level, first, end - 1, &mut ReadContext::default())?;
                (first, read) = (end, read + piece);
            }
        }
        Ok(read)
    }
}

/// The length of requests for this storage.
fn request_bytes(profile: &Profile) -> u64 {
    let lengths = (0..).map(|doublings| REQUEST_BYTES.start() << doublings);
    let is_enough = |&bytes: &u64| profile.time_us(bytes) >= LATENCY_PARTS * profile.time_us(0);
    lengths.take_while(|bytes| bytes < REQUEST_BYTES.end()).find(is_enough).unwrap_or(*REQUEST_BYTES.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_longer_where_latency_is_higher() -> Result<()> {
        let of = |name: &str| Ok(request_bytes(&Profile::named(name)?));
        let (nvme, s3) = (of("nvme")?, of("s3")?);
        assert!(nvme < s3 && REQUEST_BYTES.contains(&nvme) && REQUEST_BYTES.contains(&s3), "{nvme}, {s3}");
        Ok(())
    }
}
