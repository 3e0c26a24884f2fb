//! Moments in the history of a store, to which an archive leads.

use crate::lsm::ChangePosition;
use crate::types::{KeyType, TimeUnit, encode_i64};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// The outcome of a run of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ArchiveSummary {
    /// The last moment that can be restored now.
    pub moment: ArchivedMoment,
    /// Number and length of the files that were written.
    pub segments: u64,
    /// Their length in bytes.
    pub bytes: u64,
    /// Number of batches, ingestions and drops of keyspaces in them.
    pub batches: u64,
    /// Whether it is the beginning, or begins anew since changes were lost: earlier moments lead up to the run before.
    pub began: bool,
}

/// A moment that can be restored: the end of a run of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ArchivedMoment {
    /// The position behind the last change.
    pub position: ChangePosition,
    /// When the run ended, in milliseconds since the start of 1970, by the clock of the machine that made it: no later
    /// change is in it.
    pub made_ms: u64,
    /// Number of the file.
    pub segment: u64,
}

impl Display for ArchivedMoment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let at = encode_i64(i64::try_from(self.made_ms).unwrap_or(i64::MAX));
        let at = KeyType::Timestamp(TimeUnit::Millisecond).display(&at);
        write!(f, "{at} UTC, position {}", self.position)
    }
}

/// A moment in the history of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moment {
    /// The last run of the archive that ended at this time or before: with runs each minute, up to a minute earlier.
    Time {
        /// The time in milliseconds since the start of 1970.
        made_ms: u64,
    },
    /// The batch that ends at a position, or the last one before it.
    Position(ChangePosition),
    /// The last moment that is archived.
    Newest,
}
