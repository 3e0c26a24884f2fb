//! Retention: the decision whether an entry or a range tombstone survives a compaction.

use super::levels_below::LevelsBelow;
use crate::lsm::state::entry::{Entry, Sequence, ValueKind};
use crate::lsm::state::live_snapshots::SeenAt;
use crate::lsm::state::range_tombstones::{RangeTombstones, reaches};

/// The decision on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetainDecision {
    /// Drop the entry, since no reader can see it.
    Drop,
    /// Keep the entry, with this sequence number.
    Keep(Sequence),
    /// Keep a removal instead of the entry, which has expired: it may hide older ones.
    KeepRemoval(Sequence),
}

/// Decides on the entries of a compaction, in order.
///
/// Live snapshots divide the sequence numbers into stripes. No reader can distinguish the versions of a key within a
/// stripe, so only the newest of each is kept, and not even that if a newer range tombstone of the same stripe covers
/// it:
///
/// ```text
/// snapshots            4          9
/// stripes         0..=4 | 5..=9 | 10..
/// entries of a     a@3    a@6 a@8     a@12       kept: a@12, a@8, a@3
/// and [a, b)@7 too                               the same: a@8 is newer than the tombstone
/// and [a, b)@9 too                               kept: a@12, a@3, and the tombstone
/// ```
///
/// If nothing lies below the output (at the *bottom*), a tombstone in the oldest stripe has nothing left to remove and
/// is dropped, and an entry in the oldest stripe needs no sequence number any more. It keeps its number if an older
/// range tombstone covers it, since that may stay for the sake of neighbouring keys.
///
/// An entry that has expired, for the snapshots of its stripe too, is as a tombstone: an older entry of its key that
/// lies below would be seen else.
#[derive(Debug)]
pub(crate) struct RetentionFilter<'a> {
    /// Ascending.
    snapshots: &'a [SeenAt],
    /// Entries that expire up to this time have done so for all readers but snapshots.
    expired_by_ms: u64,
    tombstones: &'a RangeTombstones,
    below: LevelsBelow,
    lowers_sequence: bool,
    /// Key and stripe of the previous entry.
    key: Vec<u8>,
    stripe: Option<Sequence>,
}

impl<'a> RetentionFilter<'a> {
    /// `snapshots` are the live ones, ascending, and others see no entry that expires up to `expired_by_ms`;
    /// `tombstones` are those of all inputs; `lowers_sequence` allows sequence numbers to be zeroed at the bottom.
    pub(crate) fn new(
        (snapshots, expired_by_ms): (&'a [SeenAt], u64),
        tombstones: &'a RangeTombstones,
        below: LevelsBelow,
        lowers_sequence: bool,
    ) -> Self {
        debug_assert!(snapshots.is_sorted_by_key(|snapshot| snapshot.sequence), "snapshots rise");
        Self { snapshots, expired_by_ms, tombstones, below, lowers_sequence, key: Vec::new(), stripe: None }
    }

    /// The stripe of a sequence number, identified by its newest number.
    #[inline]
    fn stripe_of(&self, sequence: Sequence) -> Sequence {
        if self.snapshots.is_empty() {
            return Sequence::MAX;
        }
        let at = self.snapshots.partition_point(|snapshot| snapshot.sequence < sequence);
        self.snapshots.get(at).map_or(Sequence::MAX, |snapshot| snapshot.sequence)
    }

    /// Whether an expiring entry has expired for all who see its stripe, or a later one without a newer entry.
    #[cold]
    fn has_expired(&self, entry: &Entry<'_>, stripe: Sequence) -> bool {
        let at = self.snapshots.partition_point(|snapshot| snapshot.sequence < stripe);
        let seen_ms = self.snapshots[at..].iter().map(|snapshot| snapshot.now_ms).min().unwrap_or(u64::MAX);
        entry.expires_ms().is_some_and(|expires_ms| expires_ms <= self.expired_by_ms.min(seen_ms))
    }

    fn oldest_stripe(&self) -> Sequence {
        self.snapshots.first().map_or(Sequence::MAX, |snapshot| snapshot.sequence)
    }

    /// Decides on the next entry.
    #[inline]
    pub(crate) fn decide(&mut self, entry: &Entry<'_>) -> RetainDecision {
        let stripe = self.stripe_of(entry.sequence);
        let is_same_key = self.stripe.is_some() && self.key == entry.key;
        if is_same_key && self.stripe == Some(stripe) {
            return RetainDecision::Drop;
        }
        if !is_same_key {
            self.key.clear();
            self.key.extend_from_slice(entry.key);
        }
        self.stripe = Some(stripe);
        if !self.tombstones.is_empty() && self.tombstones.covering(entry.key, stripe) > entry.sequence {
            return RetainDecision::Drop;
        }
        if entry.kind.expires() && self.has_expired(entry, stripe) {
            let is_needed = stripe != self.oldest_stripe() || !self.below.is_free(entry.key);
            return if is_needed { RetainDecision::KeepRemoval(entry.sequence) } else { RetainDecision::Drop };
        }
        if stripe != self.oldest_stripe() || (entry.kind != ValueKind::Remove && !self.lowers_sequence) {
            return RetainDecision::Keep(entry.sequence);
        }
        if !self.below.is_free(entry.key) {
            return RetainDecision::Keep(entry.sequence);
        }
        if entry.kind == ValueKind::Remove {
            return RetainDecision::Drop;
        }
        let is_covered = !self.tombstones.is_empty() && self.tombstones.covering(entry.key, Sequence::MAX) > 0;
        RetainDecision::Keep(if is_covered { entry.sequence } else { 0 })
    }

    /// The range tombstones that are kept.
    pub(crate) fn surviving_tombstones(&self) -> RangeTombstones {
        let oldest = self.oldest_stripe();
        // Of tombstones with the same start, the newest comes first.
        let mut before: Option<(&[u8], &[u8], Sequence)> = None;
        let surviving = self.tombstones.iter().filter(|tombstone| {
            let stripe = self.stripe_of(tombstone.sequence);
            let is_shadowed = before.is_some_and(|(start, end, its_stripe)| {
                its_stripe == stripe && *start == *tombstone.start && reaches(end, &tombstone.end)
            });
            let is_idle = stripe == oldest && self.below.is_range_free(&tombstone.start, &tombstone.end);
            let stays = !is_shadowed && !is_idle;
            if stays {
                before = Some((&tombstone.start, &tombstone.end, stripe));
            }
            stays
        });
        RangeTombstones::of(surviving.cloned())
    }
}
