//! The append-only log: segments of records that are checksummed and bound to their place, and commits that make the records
//! before them count.
//!
//! A [`RecordWriter`] appends to a file of any owner, and [`replay_records`] reads it back. For the log of a paged file, whose
//! segments have numbers of their own, a [`SegmentWriter`] appends; [`replay`] reads a segment back and tells a torn tail from damage; a [`Segment`] reads one record
//! again, for readers that find their data in the log. `log` knows no record but the commit.

mod record;
mod replay;
mod segment;
mod writer;

pub(crate) use record::{BODY_BYTES_MAX, RecordPlace};
pub(crate) use replay::{Commit, Entry, Records, Visit, replay, replay_records};
pub(crate) use segment::{Segment, SegmentHeader, SegmentId, SegmentWriter, segment_name, segment_numbers};
pub(crate) use writer::RecordWriter;
