//! Lookups that do not wait for their reads, so that the reads of many lookups go side by side.
//!
//! ```text
//! every lookup:  search in memory ---> answer
//!                     |  a block is missing: note it, give up
//!                     v
//! all together:  read what is missing in one wave, then repeat the lookups that gave up
//! ```
//!
//! A repeated lookup takes the same way, finds the block in memory, and ends or notes the next one. So there is one
//! code for lookups, whatever the index of a table is, and a lookup through n layers takes at most n + 1 waves. What a
//! batch read stays in its [`DeferredReads`], even without a cache.

use super::context::{MissingParts, ReadContext};
use super::reader::{Table, TableInner};
use crate::error::{Error, Result};
use crate::io::{PendingReads, Purpose, RangeRequest, ReadBuffer};
use crate::table::format::meta::{FilterMeta, Section};
use std::io::ErrorKind;
use std::sync::Arc;

/// Largest read that is merged from smaller ones, in bytes.
const MERGED_READ_BYTES_MAX: u64 = 1 << 20;

/// The level of pages of the filter, among the children that lookups lack.
const FILTER_LEVEL: usize = usize::MAX;
/// The level of the record counts, which are one child.
const COUNTS_LEVEL: usize = usize::MAX - 1;

/// The reads of a batch of lookups in one table.
#[derive(Debug)]
pub(crate) struct DeferredReads<'r> {
    pub(in crate::table) context: ReadContext<'r>,
}

impl Default for DeferredReads<'_> {
    fn default() -> Self {
        Self::of(ReadContext::default())
    }
}

/// The outcome of a lookup in a batch.
#[derive(Debug)]
pub(crate) enum Deferrable<T> {
    Done(T),
    /// It lacks something, and must be repeated after the next wave.
    Deferred,
}

/// A wave of reads of one table, in progress.
#[derive(Debug)]
pub(crate) struct StartedReads {
    /// Of each level: its number, its runs of children, and their reads.
    levels: Vec<(usize, Vec<ChildRun>, Box<dyn PendingReads>)>,
    filter: Option<(FilterMeta, Box<dyn PendingReads>)>,
}

/// Children that are read by one request: where it lies, and each child with its own location.
#[derive(Debug)]
struct ChildRun {
    whole: Section,
    parts: Vec<(u64, Section)>,
}

impl<'r> DeferredReads<'r> {
    /// Reads with a trace, or with blocks read before.
    pub(in crate::table) fn of(context: ReadContext<'r>) -> Self {
        Self { context: ReadContext { missing: Some(MissingParts::default()), ..context } }
    }

    fn missing(&mut self) -> &mut MissingParts {
        self.context.missing.get_or_insert_default()
    }

    /// Whether some lookup lacks something.
    pub(crate) fn has_missing(&self) -> bool {
        self.context.missing.as_ref().is_some_and(|missing| !missing.is_empty())
    }

    /// Bytes of what is missing.
    pub(crate) fn missing_bytes(&self) -> u64 {
        self.context.missing.as_ref().map_or(0, |missing| missing.bytes)
    }

    /// Adds what lookups of `other` lack.
    pub(crate) fn take_missing(&mut self, other: &mut DeferredReads<'_>) {
        let theirs = std::mem::take(other.missing());
        let own = self.missing();
        own.children.extend(theirs.children);
        own.bytes += theirs.bytes;
        own.wants_filter |= theirs.wants_filter && !own.gave_filter_up;
    }

    /// Runs a lookup. An error counts only if nothing was missing.
    #[inline]
    pub(crate) fn attempt<T>(
        &mut self,
        look_up: impl FnOnce(&mut ReadContext<'r>) -> Result<T>,
    ) -> Result<Deferrable<T>> {
        let before = self.missing().deferrals;
        let outcome = look_up(&mut self.context);
        match outcome {
            Err(_) if self.missing().deferrals > before => Ok(Deferrable::Deferred),
            outcome => outcome.map(Deferrable::Done),
        }
    }
}

impl Table {
    /// Notes the first block that may hold records at or after a key as missing, unless it is in memory, or only reads
    /// lead there.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn defer_start(&self, key: &[u8], reads: &mut DeferredReads<'_>) -> Result<()> {
        let Some(block) = self.inner.resident_block_of(key).filter(|&block| block < self.inner.meta.blocks) else {
            return Ok(());
        };
        if self.inner.cached(block).is_none() {
            let section = self.inner.section(0, block)?;
            // It fails, as a lookup does that is repeated later.
            _ = self.inner.defer_children(0, [(block, section)].into_iter(), &mut reads.context);
        }
        Ok(())
    }

    /// Starts to read what lookups lack.
    ///
    /// # Errors
    /// Storage errors.
    pub(crate) fn start_deferred(&self, reads: &mut DeferredReads<'_>) -> Result<StartedReads> {
        self.inner.start_deferred(reads)
    }

    /// Waits for reads, and passes them to the lookups.
    ///
    /// # Errors
    /// Storage errors and damage.
    pub(crate) fn finish_deferred(&self, started: StartedReads, reads: &mut DeferredReads<'_>) -> Result<()> {
        self.inner.finish_deferred(started, reads)
    }
}

impl TableInner {
    /// In a batch, notes that children are missing and fails; otherwise does nothing.
    pub(in crate::table) fn defer_children(
        &self,
        level: usize,
        children: impl Iterator<Item = (u64, Section)>,
        reads: &mut ReadContext<'_>,
    ) -> Result<()> {
        let Some(missing) = &mut reads.missing else { return Ok(()) };
        for (child, section) in children {
            // Keys ascend, so those of one block follow each other.
            if missing.children.last() != Some(&(level, child)) {
                missing.bytes += section.bytes.max(1);
                missing.children.push((level, child));
            }
        }
        missing.deferrals += 1;
        Err(self.deferred())
    }

    /// A page of the filter that the batch has read. If there is none, notes that it is missing and fails.
    pub(in crate::table) fn deferred_filter_page<'a>(
        &self,
        page: u64,
        section: Section,
        reads: &'a mut ReadContext<'_>,
    ) -> Result<Option<&'a Arc<[u8]>>> {
        if !reads.ahead.contains_key(&(FILTER_LEVEL, page)) {
            self.defer_children(FILTER_LEVEL, [(page, section)].into_iter(), reads)?;
        }
        Ok(reads.ahead.get(&(FILTER_LEVEL, page)))
    }

    /// In a batch, notes that the filter is missing and fails, unless it would not fit memory.
    pub(in crate::table) fn defer_filter(&self, meta: &FilterMeta, reads: &mut ReadContext<'_>) -> Result<()> {
        match &mut reads.missing {
            Some(missing) if !missing.gave_filter_up && self.has_room_for_filter(meta) => {
                missing.bytes += meta.section.bytes.max(1);
                missing.deferrals += 1;
                missing.wants_filter = true;
                Err(self.deferred())
            }
            _ => Ok(()),
        }
    }

    /// In a batch, notes that the record counts are missing and fails; otherwise does nothing.
    pub(in crate::table) fn defer_counts(&self, reads: &mut ReadContext<'_>) -> Result<()> {
        self.defer_children(COUNTS_LEVEL, [(0, self.meta.counts)].into_iter(), reads)
    }

    /// The error of a lookup that lacks something; the batch never returns it.
    #[cold]
    fn deferred(&self) -> Error {
        Error::io("read", self.files.own().path(), ErrorKind::WouldBlock.into())
    }

    /// The runs of sorted children that are not read already; lookups have not found them in the cache. Separate runs
    /// are joined where one longer read is cheaper than two.
    fn runs_of(
        &self,
        level: usize,
        children: impl Iterator<Item = u64>,
        merge: impl Fn(Section, Section) -> bool,
        reads: &ReadContext<'_>,
    ) -> Result<Vec<ChildRun>> {
        let mut runs: Vec<ChildRun> = Vec::new();
        for child in children {
            if reads.ahead.contains_key(&(level, child)) {
                continue;
            }
            if level >= COUNTS_LEVEL {
                let section = match level {
                    COUNTS_LEVEL => Some(self.meta.counts),
                    _ => self.filter_page_section(child),
                };
                runs.extend(section.map(|section| ChildRun { whole: section, parts: vec![(child, section)] }));
                continue;
            }
            let section = self.section(level, child)?;
            match runs.last_mut() {
                Some(run) if section.offset < run.whole.end() => {}
                Some(run) if run.whole.end() == section.offset || merge(run.whole, section) => {
                    run.whole.bytes = section.offset + section.bytes - run.whole.offset;
                    run.parts.push((child, section));
                }
                _ => runs.push(ChildRun { whole: section, parts: vec![(child, section)] }),
            }
        }
        Ok(runs)
    }

    /// Whether one read of both sections and what lies between takes less time than two. Where the storage serves
    /// several reads at once, the second one waits for nothing, and the bytes between would be read for nothing.
    fn merges(&self, one: Section, other: Section) -> bool {
        let whole = other.offset + other.bytes - one.offset;
        self.profile.parallel() == 1
            && whole <= MERGED_READ_BYTES_MAX
            && self.profile.time_us(whole) < self.profile.time_us(one.bytes) + self.profile.time_us(other.bytes)
    }

    /// Starts to read runs of children.
    fn start_runs(&self, level: usize, runs: &[ChildRun]) -> Result<Box<dyn PendingReads>> {
        let file = self.files.of_level(level);
        let purpose = match level {
            FILTER_LEVEL => Purpose::Filter,
            COUNTS_LEVEL => Purpose::Counts,
            _ => Self::purpose(level),
        };
        let range = |run: &ChildRun| {
            let Section { offset, bytes } = run.whole;
            RangeRequest { offset, bytes: bytes as usize, purpose }
        };
        file.start_reads(&runs.iter().map(range).collect::<Vec<_>>())
    }

    /// Checks the children of runs that were read, and keeps them for the lookups.
    fn keep_runs(
        &self,
        level: usize,
        runs: &[ChildRun],
        filled: &[ReadBuffer],
        reads: &mut ReadContext<'_>,
    ) -> Result<()> {
        for (ChildRun { whole, parts }, bytes) in runs.iter().zip(filled) {
            if level == FILTER_LEVEL {
                reads.note(Purpose::Filter, *whole);
                for &(page, section) in parts {
                    reads.ahead.insert((level, page), self.keep_filter_page(page, section.offset, bytes)?);
                }
                continue;
            }
            if level == COUNTS_LEVEL {
                reads.note(Purpose::Counts, *whole);
                self.keep_counts(bytes.to_vec())?;
                continue;
            }
            reads.note(Self::purpose(level), *whole);
            for &(child, section) in parts {
                let at = (section.offset - whole.offset) as usize;
                let kept = self.keep(level, child, section, &bytes[at..][..section.bytes as usize])?;
                reads.ahead.insert((level, child), kept);
            }
        }
        Ok(())
    }

    pub(in crate::table) fn start_deferred(&self, reads: &mut DeferredReads<'_>) -> Result<StartedReads> {
        let missing = reads.missing();
        let mut children = std::mem::take(&mut missing.children);
        let wants_filter = std::mem::take(&mut missing.wants_filter);
        missing.bytes = 0;
        children.sort_unstable();
        children.dedup();
        let mut levels = Vec::new();
        for of_level in children.chunk_by(|one, other| one.0 == other.0) {
            let level = of_level.first().map_or(0, |&(level, _)| level);
            let numbers = of_level.iter().map(|&(_, child)| child);
            let runs = self.runs_of(level, numbers, |one, other| self.merges(one, other), &reads.context)?;
            if !runs.is_empty() {
                let pending = self.start_runs(level, &runs)?;
                levels.push((level, runs, pending));
            }
        }
        let filter = match self.filter.asked().copied().filter(|_| wants_filter && self.filter.resident().is_none()) {
            Some(meta) => {
                let Section { offset, bytes } = meta.section;
                let range = RangeRequest { offset, bytes: bytes as usize, purpose: Purpose::Filter };
                Some((meta, self.files.own().start_reads(&[range])?))
            }
            None => None,
        };
        Ok(StartedReads { levels, filter })
    }

    pub(in crate::table) fn finish_deferred(&self, started: StartedReads, reads: &mut DeferredReads<'_>) -> Result<()> {
        for (level, runs, pending) in started.levels {
            reads.context.ahead.reserve(runs.iter().map(|run| run.parts.len()).sum());
            self.keep_runs(level, &runs, &pending.wait()?, &mut reads.context)?;
        }
        if let Some((meta, pending)) = started.filter {
            let filled = pending.wait()?;
            reads.context.note(Purpose::Filter, meta.section);
            let bytes = filled.first().map(|bytes| &**bytes).unwrap_or_default();
            let is_kept = self.reserve_filter(&meta, || self.keep_filter(&meta, bytes))?;
            reads.missing().gave_filter_up = !is_kept;
        }
        Ok(())
    }
}
