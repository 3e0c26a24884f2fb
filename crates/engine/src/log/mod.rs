//! The append-only log: segments of records that are checksummed and bound to their place, and commits that make the records
//! before them count.
//!
//! A [`SegmentWriter`] appends; [`replay`] reads a segment back and tells a torn tail from damage; a [`Segment`] reads one record
//! again, for readers that find their data in the log. `log` knows no record but the commit.

mod record;
mod replay;
mod segment;

pub(crate) use record::RecordPlace;
pub(crate) use replay::{Commit, Entry, Visit, replay};
pub(crate) use segment::{Segment, SegmentHeader, SegmentWriter, segment_name, segment_numbers};
