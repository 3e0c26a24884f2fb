//! The working state of an operation on a table: its trace, blocks that were read for it, and those it lacks.

use super::read_trace::{ReadTrace, TracedRead};
use crate::block::NumberHash;
use crate::error::Result;
use crate::io::Purpose;
use crate::table::format::meta::Section;
use std::collections::HashMap;
use std::sync::Arc;

/// The working state of one operation: its read trace, and blocks and pages that were prefetched for it.
#[derive(Debug, Default)]
pub(crate) struct ReadContext<'r> {
    pub(in crate::table) trace: Option<&'r mut ReadTrace>,
    /// By level (0 is data) and number.
    pub(in crate::table) ahead: HashMap<(usize, u64), Arc<[u8]>, NumberHash>,
    /// In a batch of lookups: what they lack. Nothing is read then.
    pub(in crate::table) missing: Option<MissingParts>,
}

impl ReadContext<'_> {
    pub(in crate::table) fn note(&mut self, purpose: Purpose, section: Section) {
        if let Some(trace) = &mut self.trace {
            trace.reads.push(TracedRead { purpose, offset: section.offset, bytes: section.bytes });
        }
    }

    /// Runs `work` with reads that are made at once, even in a batch.
    pub(in crate::table) fn at_once<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let missing = self.missing.take();
        let outcome = work(self);
        self.missing = missing;
        outcome
    }
}

/// Blocks and pages that lookups lack.
#[derive(Debug, Default)]
pub(in crate::table) struct MissingParts {
    /// Level (0 is data) and number.
    pub(super) children: Vec<(usize, u64)>,
    pub(super) bytes: u64,
    /// Times that a lookup gave up.
    pub(super) deferrals: u64,
    pub(super) wants_filter: bool,
    /// Whether the filter was read in vain, for lack of memory: its pages are then read one by one.
    pub(super) gave_filter_up: bool,
}

impl MissingParts {
    pub(super) fn is_empty(&self) -> bool {
        self.children.is_empty() && !self.wants_filter
    }
}
