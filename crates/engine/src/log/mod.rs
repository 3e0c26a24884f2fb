//! An append-only record log: records with checksums bound to their position, and commit records that make the
//! preceding records valid.
//!
//! `LogWriter` appends to a file of any owner, and `replay_records` reads it back. The log of a page file consists
//! of numbered segments: a `SegmentWriter` appends to one, `replay` reads one back and distinguishes a torn tail from
//! damage, and a `Segment` reads single records again, for readers whose data is still in the log. The only record kind
//! that this module interprets is the commit.

mod record;
mod replay;
mod segment;
mod torn_tail;
mod writer;

pub(crate) use record::{BODY_BYTES_MAX, RecordLocation};
pub(crate) use replay::{Commit, LogEntry, LogExtent, RecordSource, ReplayStep, replay, replay_records};
pub(crate) use segment::{Segment, SegmentHeader, SegmentId, SegmentWriter, segment_name, segment_numbers};
pub(crate) use torn_tail::durable_after;
pub(crate) use writer::LogWriter;
