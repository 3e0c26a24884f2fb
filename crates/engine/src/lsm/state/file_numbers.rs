//! File numbers, reserved in the manifest before any file uses one.
//!
//! A file whose number is not reserved therefore proves that the manifest is older than the file; no crash leaves such
//! a file. Numbers are reserved in batches, usually by edits that are written for other reasons, so few syncs
//! serve the reservation alone. Manifests are exempt: each states the reservation itself.

use super::version::ManifestEdit;
use crate::error::Result;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers reserved ahead at a time.
const RESERVED_BATCH: u64 = 64;

/// A source of numbers for new files.
pub(crate) trait FileNumberSource: Debug + Sync {
    /// Returns an unused, reserved number.
    fn take_number(&self) -> Result<u64>;

    /// The nonce of the opening that wrote a value file; `None` for a file that the job itself created.
    fn nonce_of_values(&self, number: u64) -> Option<u64>;
}

/// The file numbers of an open store.
#[derive(Debug)]
pub(in crate::lsm) struct FileNumbers {
    next: AtomicU64,
    /// The end of the numbers that the manifest durably reserves.
    reserved: AtomicU64,
}

impl FileNumbers {
    pub(in crate::lsm) fn new(next: u64) -> Self {
        Self { next: AtomicU64::new(next), reserved: AtomicU64::new(0) }
    }

    /// The next number.
    pub(in crate::lsm) fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Takes a number, reserved or not; for manifests.
    pub(in crate::lsm) fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Passes over numbers up to this one, which files have.
    pub(in crate::lsm) fn pass(&self, used: u64) {
        self.next.fetch_max(used.saturating_add(1), Ordering::Relaxed);
    }

    /// The reservation of a new manifest.
    pub(in crate::lsm) fn batch_end(&self) -> u64 {
        self.next().saturating_add(RESERVED_BATCH).max(self.reserved.load(Ordering::Acquire))
    }

    /// The reservation of an edit, if one is due.
    fn due(&self) -> Option<u64> {
        let is_due = self.next().saturating_add(RESERVED_BATCH / 2) > self.reserved.load(Ordering::Acquire);
        is_due.then(|| self.batch_end())
    }

    /// Records a durable reservation.
    pub(in crate::lsm) fn note_reserved(&self, end: u64) {
        self.reserved.fetch_max(end, Ordering::AcqRel);
    }

    pub(in crate::lsm) fn is_reserved(&self, number: u64) -> bool {
        number < self.reserved.load(Ordering::Acquire)
    }

    /// Adds the next file number to an edit, and a reservation if one is due.
    pub(in crate::lsm) fn put_into(&self, edit: &mut ManifestEdit) {
        edit.next_file = Some(self.next());
        edit.reserved = self.due();
    }
}

/// For work on a store that is not open.
impl FileNumberSource for AtomicU64 {
    fn take_number(&self) -> Result<u64> {
        Ok(self.fetch_add(1, Ordering::Relaxed))
    }

    fn nonce_of_values(&self, _: u64) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_reserve_a_batch_when_half_of_one_is_used_and_never_less_than_what_was_taken() {
        let numbers = FileNumbers::new(10);
        numbers.note_reserved(numbers.batch_end());
        let mut reservations = 0;
        for _ in 0..10 * RESERVED_BATCH {
            let number = numbers.take();
            let mut edit = ManifestEdit::default();
            numbers.put_into(&mut edit);
            if let Some(end) = edit.reserved {
                reservations += 1;
                numbers.note_reserved(end);
            }
            assert!(numbers.is_reserved(number) && edit.next_file == Some(number + 1));
            assert!(numbers.reserved.load(Ordering::Relaxed) <= number + 1 + RESERVED_BATCH);
        }
        assert!((10..=21).contains(&reservations), "{reservations}");
    }
}
