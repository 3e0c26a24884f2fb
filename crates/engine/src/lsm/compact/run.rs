//! The execution of one flush or compaction job, from merged inputs to new files.

use super::context::JobContext;
use super::levels_below::LevelsBelow;
use super::output::{OutputLimits, OutputWriter};
use super::relocate::{CollectedFiles, Relocator};
use super::retain::{RetainDecision, RetentionFilter};
use crate::error::Result;
use crate::lsm::state::compaction_job::OutputCuts;
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{EXPIRY_BYTES, Entry, Sequence, ValueKind};
use crate::lsm::state::live_snapshots::SeenAt;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::range_tombstones::RangeTombstones;
use crate::lsm::state::version::{FileKind, TableFileMeta, file_name};
use crate::vlog::ValueFile;
use std::borrow::Cow;
use std::sync::Arc;

/// A job checks for interruption after this many entries.
const ENTRIES_PER_CHECK: u64 = 1 << 12;

/// The inputs and rules of a flush or compaction job.
#[derive(Debug)]
pub(crate) struct MergeJob<'a> {
    /// A cursor over all inputs, merged.
    pub(crate) cursor: Box<dyn EntryCursor>,
    /// The range tombstones of all inputs.
    pub(crate) tombstones: Vec<Arc<RangeTombstones>>,
    /// The output level. The output to level 0 is a single table.
    pub(crate) level: usize,
    /// Additional rules that end a table.
    pub(crate) cuts: Option<OutputCuts<'a>>,
    /// The points of live snapshots, ascending.
    pub(crate) snapshots: &'a [SeenAt],
    /// Others see no entry that expires up to this time.
    pub(crate) expired_by_ms: u64,
    /// The tables with older entries than the inputs.
    pub(crate) below: LevelsBelow,
    /// Value files being collected.
    pub(crate) collected: &'a CollectedFiles,
    /// Inline values of at least this many bytes are moved to a value file.
    pub(crate) separated_from_bytes: u64,
    /// The key range of the job.
    pub(crate) part: JobRange,
}

/// The keys from `from` up to `to`, exclusively.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobRange {
    pub(crate) from: Option<Vec<u8>>,
    pub(crate) to: Option<Vec<u8>>,
}

/// The output of a job.
#[derive(Debug, Default)]
pub(crate) struct JobOutput {
    pub(crate) tables: Vec<TableFileMeta>,
    pub(crate) value_files: Vec<Arc<ValueFile>>,
    /// The number of input entries, and of those dropped.
    pub(crate) entries: u64,
    pub(crate) dropped: u64,
    /// Bytes of values moved from value file to value file, and from memtables to value files.
    pub(crate) moved_bytes: u64,
    pub(crate) separated_bytes: u64,
}

impl JobOutput {
    pub(super) fn join(&mut self, other: Self) {
        self.tables.extend(other.tables);
        self.value_files.extend(other.value_files);
        self.entries += other.entries;
        self.dropped += other.dropped;
        self.moved_bytes += other.moved_bytes;
        self.separated_bytes += other.separated_bytes;
    }

    /// Removes all new files.
    pub(crate) fn discard(&self, context: &JobContext<'_>) {
        context.discard(self.tables.iter().map(|table| file_name(table.number, FileKind::Table)));
        context.discard(self.value_files.iter().map(|file| file_name(file.number(), FileKind::Values)));
    }
}

/// Runs a job. The new files are durable when it returns.
///
/// # Errors
/// Errors of the storage, damage of the inputs, [`Cause::Interrupted`](crate::Cause::Interrupted); new files are then
/// removed.
pub(crate) fn run_job(context: &JobContext<'_>, mut job: MergeJob<'_>) -> Result<JobOutput> {
    let tombstones = gather(&job.tombstones, &job.part);
    let mut retain = RetentionFilter::new((job.snapshots, job.expired_by_ms), &tombstones, job.below, job.level > 0);
    let table_bytes = if job.level > 0 { context.form.table_bytes } else { u64::MAX };
    let limits = OutputLimits { table_bytes, cuts: job.cuts };
    let ends = match context.learner {
        Some(learner) if learner.fits_while_writing() => ends(&mut *job.cursor)?,
        _ => None,
    };
    let mut outputs = OutputWriter::new(context, retain.surviving_tombstones(), limits, ends);
    let mut relocator = Relocator::new(context, job.collected);
    let mut outcome = JobOutput::default();
    let cursor = &mut *job.cursor;
    match &job.part.from {
        Some(from) => cursor.seek(from, Sequence::MAX)?,
        None => cursor.first()?,
    }
    while let Some(entry) = cursor.entry() {
        if job.part.to.as_deref().is_some_and(|to| entry.key >= to) {
            break;
        }
        outcome.entries += 1;
        outputs.note_newest(entry.sequence);
        match retain.decide(&entry) {
            RetainDecision::Drop => outcome.dropped += 1,
            RetainDecision::KeepRemoval(sequence) => outputs.add(entry.key, ValueKind::Remove, sequence, &[])?,
            RetainDecision::Keep(sequence) if entry.kind.expires() => {
                let (kind, value) = written(context, &mut relocator, &entry, job.separated_from_bytes)?;
                let time = entry.value.get(..EXPIRY_BYTES).unwrap_or_default();
                outputs.add(entry.key, kind, sequence, &[time, &*value].concat())?;
            }
            RetainDecision::Keep(sequence) => {
                let (kind, value) = written(context, &mut relocator, &entry, job.separated_from_bytes)?;
                outputs.add(entry.key, kind, sequence, &value)?;
            }
        }
        if outcome.entries.is_multiple_of(ENTRIES_PER_CHECK) {
            context.check_stop()?;
        }
        cursor.next()?;
    }
    outcome.moved_bytes = relocator.read_bytes;
    outcome.separated_bytes = relocator.separated_bytes;
    outcome.value_files = relocator.finish()?;
    match outputs.finish() {
        Ok(tables) => outcome.tables = tables,
        Err(error) => {
            outcome.discard(context);
            return Err(error);
        }
    }
    Ok(outcome)
}

/// The kind of an entry in the output, and its value or the pointer to it, without its time.
#[inline]
fn written<'a>(
    context: &JobContext<'_>,
    relocator: &'a mut Relocator<'_>,
    entry: &Entry<'a>,
    separated_from_bytes: u64,
) -> Result<(ValueKind, Cow<'a, [u8]>)> {
    let stored = entry.stored();
    if entry.kind.is_pointer() {
        let moved = relocator.moved(entry.key, stored)?;
        return Ok((entry.kind, Cow::Borrowed(moved.unwrap_or(stored))));
    }
    if entry.kind == ValueKind::Remove {
        return Ok((entry.kind, Cow::Borrowed(stored)));
    }
    let value = context.rewritten(stored);
    match value.len() as u64 >= separated_from_bytes {
        true => Ok((entry.kind.separated(), Cow::Borrowed(relocator.separated(entry.key, &value)?))),
        false => Ok((entry.kind, value)),
    }
}

/// The first and the last key of all inputs, for a model.
fn ends(cursor: &mut dyn EntryCursor) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    cursor.last()?;
    let Some(last) = cursor.entry().map(|entry| entry.key.to_vec()) else { return Ok(None) };
    cursor.first()?;
    Ok(cursor.entry().map(|entry| (entry.key.to_vec(), last)))
}

/// The parts of the range tombstones within the job's range.
fn gather(all: &[Arc<RangeTombstones>], part: &JobRange) -> RangeTombstones {
    let mut gathered = RangeTombstones::default();
    all.iter().filter(|tombstones| !tombstones.is_empty()).for_each(|tombstones| gathered.extend(tombstones));
    match part {
        JobRange { from: None, to: None } => gathered,
        JobRange { from, to } => gathered.clip(from.as_deref(), to.as_deref()),
    }
}

/// Flushes a memtable to one table of level 0, or to none if none of its entries need to stay.
///
/// # Errors
/// As [`run_job`].
pub(crate) fn flush(
    context: &JobContext<'_>,
    memtable: &Arc<Memtable>,
    (snapshots, expired_by_ms): (&[SeenAt], u64),
    below: LevelsBelow,
    collected: &CollectedFiles,
) -> Result<JobOutput> {
    let job = MergeJob {
        cursor: Box::new(memtable.cursor()),
        tombstones: vec![memtable.tombstones()],
        level: 0,
        cuts: None,
        snapshots,
        expired_by_ms,
        below,
        collected,
        separated_from_bytes: context.options.separated_from_bytes(),
        part: JobRange::default(),
    };
    run_job(context, job)
}
