//! The log chain: the segments that the header of the page file leads to, each verified to exist.

use super::header::Header;
use crate::error::{Error, Result};
use crate::io::ReadableFile;
use crate::log::{LogEntry, ReplayStep, Segment, SegmentHeader, SegmentId, replay, segment_name};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A segment found on the storage.
#[derive(Debug)]
pub(super) struct FoundSegment {
    pub(super) number: u32,
    pub(super) file: Arc<dyn ReadableFile>,
}

/// A segment of the log, and its header, if it begins with one.
pub(super) type LogLink = (Arc<Segment>, Option<SegmentHeader>);

type Unread = BTreeMap<u32, LogLink>;

/// The segments of the log in order. `one_slot` says that the other slot of the header is not valid: that one may have
/// led to further segments.
///
/// # Errors
/// [`Error::Damaged`] where a segment that the header leads to is missing or is not the one that was meant, and where a
/// segment that it does not lead to has commits all the same.
pub(super) fn links(page_file: &Path, header: &Header, one_slot: bool, found: &[FoundSegment]) -> Result<Vec<LogLink>> {
    let mut unread = Unread::new();
    for segment in found.iter().filter(|segment| segment.number >= header.first_segment) {
        let head = SegmentHeader::read(&*segment.file, header.file_id, segment.number)?;
        let id = head.map_or(SegmentId { number: segment.number, nonce: 0 }, |head| head.id);
        let read = Arc::new(Segment::new(Arc::clone(&segment.file), header.file_id, id));
        unread.insert(segment.number, (read, head));
    }
    let mut chain = back_from(page_file, header, &mut unread)?;
    if one_slot {
        chain.extend(beyond(header.last_segment, &mut unread));
    }
    unread.values().try_for_each(without_commits)?;
    Ok(chain)
}

/// The segments from the first that is needed up to the last that the header leads to, taken out of `unread`.
fn back_from(page_file: &Path, header: &Header, unread: &mut Unread) -> Result<Vec<LogLink>> {
    let mut chain = Vec::new();
    let mut next = header.last_segment;
    while next.number != 0 && next.number >= header.first_segment {
        let path = segment_path(page_file, next.number);
        let Some((segment, head)) = unread.remove(&next.number) else {
            let detail = "this segment of the log is missing, and acknowledged commits with it; put back the page \
                file and all of its log, or let `ogive repair --in-place` go on without them";
            return Err(Error::damaged(path, 0, detail));
        };
        let Some(head) = head.filter(|head| head.id == next) else {
            let detail = match head {
                None if segment.file.is_empty() => "this segment of the log is empty, though it was written",
                None => "this does not begin as the segment of the log that was written here",
                Some(_) => "this segment of the log was written by a copy of the file, or by another opening",
            };
            return Err(Error::damaged(
                path,
                0,
                format!(
                    "{detail}; put back the page file and all of its log, \
                      or let `ogive repair --in-place` go on without it"
                ),
            ));
        };
        chain.push((segment, Some(head)));
        if head.previous.number >= next.number {
            return Err(Error::damaged(path, 0, "the header of this segment of the log leads to no earlier one"));
        }
        next = head.previous;
    }
    chain.reverse();
    Ok(chain)
}

/// The segments after `last` to which only a lost header slot led.
fn beyond(last: SegmentId, unread: &mut Unread) -> Vec<LogLink> {
    let candidates: Vec<u32> = unread.keys().rev().copied().collect();
    for newest in candidates {
        let (mut numbers, mut next) = (Vec::new(), newest);
        while let Some((_, Some(head))) = unread.get(&next) {
            numbers.push(next);
            if head.previous == last {
                return numbers.iter().rev().filter_map(|number| unread.remove(number)).collect();
            }
            let before = unread.get(&head.previous.number).and_then(|(_, before)| *before);
            if head.previous.number >= next || before.is_none_or(|before| before.id != head.previous) {
                break;
            }
            next = head.previous.number;
        }
    }
    Vec::new()
}

/// A segment to which nothing leads holds no commits: power was lost before the page file's header led to it, and
/// commits come only later.
fn without_commits((segment, head): &LogLink) -> Result<()> {
    let mut commits = false;
    replay(segment, head.is_some(), &mut |entry| {
        commits |= matches!(entry, LogEntry::Commit(_));
        Ok(if commits { ReplayStep::Stop } else { ReplayStep::Continue })
    })?;
    if commits {
        let detail = "this segment of the log has commits that the page file does not know of: the page \
                      file is an older one, or a copy's; put back the page file and all of its log, \
                      or let `ogive repair --in-place` go on without it";
        return Err(Error::damaged(segment.file.path(), 0, detail));
    }
    Ok(())
}

/// The path of a segment.
fn segment_path(page_file: &Path, number: u32) -> PathBuf {
    let name = page_file.file_name().unwrap_or_default().to_string_lossy();
    page_file.with_file_name(segment_name(&name, number))
}
