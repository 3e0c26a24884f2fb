//! The torn-tail rule of index logs, store logs and manifests: whether the bytes after the valid records of a file are
//! the remains of an interrupted write, or damage.
//!
//! ```text
//! | record | record | record | ? ? ? ? ? ? | record: "durable up to S" | ? ?
//!                            ^ end of the valid records
//! ```
//!
//! A crash can leave anything after the last durable record, even whole records of later writes, so the first record
//! that is incomplete or invalid ends the file. But records state up to where the file was durable when they were
//! written. If one beyond the end states a position after the end, a durable record was lost: that is damage, never a
//! shorter file.

use std::ops::Range;

/// Applies the rule to possible records after `end`, the end of the valid records. `synced_at` returns what a valid
/// record at an offset states as durable. Returns the largest of these positions, 0 if there is none, and `None` if the
/// file is damaged.
#[inline]
pub(crate) fn durable_after(
    end: u64,
    offsets: Range<usize>,
    mut synced_at: impl FnMut(usize) -> Option<u64>,
) -> Option<u64> {
    let mut durable = 0;
    for offset in offsets {
        if let Some(synced) = synced_at(offset) {
            if synced > end {
                return None;
            }
            durable = durable.max(synced);
        }
    }
    Some(durable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_record_that_was_written_after_the_end_was_durable_proves_damage() {
        let stated = [None, Some(5), None, Some(10), Some(7)];
        assert_eq!(durable_after(10, 0..5, |offset| stated[offset]), Some(10));
        assert_eq!(durable_after(9, 0..5, |offset| stated[offset]), None);
        assert_eq!(durable_after(9, 0..3, |offset| stated[offset]), Some(5));
        assert_eq!(durable_after(9, 0..0, |_| Some(99)), Some(0));
    }
}
