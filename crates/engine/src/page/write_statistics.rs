//! Write statistics: pages and time of a transaction by phase, the breakdown that the evaluations print.

use super::pages::{Page, PageNumber};
use crate::io::{Purpose, Timer};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

/// The phases of a write operation, as in the papers (AULID, Figures 13 to 15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PagePhase {
    /// Finding the position of an entry.
    #[default]
    Search,
    /// Inserting the entry.
    Insert,
    /// Structure modification: splits, merges, new nodes, rebuilding.
    Structure,
    /// Statistics that guide structure modifications.
    Statistics,
}

/// A page touched by an operation of a watched transaction, for evaluations that count blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTouch {
    /// The page.
    pub page: PageNumber,
    /// The purpose of the access.
    pub purpose: Purpose,
    /// Whether it was read, cached or not; new pages are not read.
    pub read: bool,
    /// Whether it was changed.
    pub changed: bool,
}

/// Statistics of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagePhaseStatistics {
    /// Distinct pages read per operation in this phase, cached or not.
    pub pages_read: u64,
    /// Pages changed.
    pub pages_changed: u64,
    /// Time, in nanoseconds; 0 unless the transaction is timed.
    pub time_ns: u64,
}

/// Statistics of a transaction since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageWriteStatistics {
    /// Work by phase.
    pub phases: BTreeMap<PagePhase, PagePhaseStatistics>,
    /// Structure modifications by name, such as "leaf split".
    pub structure_modifications: BTreeMap<&'static str, u64>,
}

/// Most pages kept for a running operation; beyond, all are dropped.
const KEPT_PAGES_MAX: usize = 512;

const PHASES: [PagePhase; 4] = [PagePhase::Search, PagePhase::Insert, PagePhase::Structure, PagePhase::Statistics];

/// Records the statistics of a transaction, and the pages that the running operation has read.
#[derive(Debug, Default)]
pub(super) struct StatisticsRecorder {
    phase: PagePhase,
    pages_read: [Cell<u64>; PHASES.len()],
    pages_changed: [u64; PHASES.len()],
    time_ns: [u64; PHASES.len()],
    timer: Option<Timer>,
    structure_modifications: BTreeMap<&'static str, u64>,
    touched: RefCell<HashMap<PageNumber, Option<Page>>>,
    /// The pages touched since the last call of [`Self::take_touched`], if watched.
    watched: RefCell<Option<Vec<PageTouch>>>,
}

impl StatisticsRecorder {
    /// A page that the running operation has read before.
    pub(super) fn kept(&self, page: PageNumber) -> Option<Page> {
        self.touched.borrow().get(&page).cloned().flatten()
    }

    /// Starts or stops recording touched pages.
    pub(super) fn watch(&mut self, on: bool) {
        self.watched = RefCell::new(on.then(Vec::new));
    }

    /// The pages touched since the last call, in order.
    pub(super) fn take_touched(&mut self) -> Vec<PageTouch> {
        self.watched.get_mut().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Records a read or a change, if watched.
    fn note(&self, page: PageNumber, purpose: Purpose, changed: bool) {
        let mut watched = self.watched.borrow_mut();
        let Some(watched) = watched.as_mut() else { return };
        match watched.iter_mut().find(|touched| touched.page == page) {
            Some(touched) => touched.changed |= changed,
            None => watched.push(PageTouch { page, purpose, read: !changed, changed }),
        }
    }

    /// Counts a page read by the operation, and keeps `page` for it.
    pub(super) fn touch(&self, number: PageNumber, purpose: Purpose, page: Option<&Page>) {
        self.note(number, purpose, false);
        let mut touched = self.touched.borrow_mut();
        if touched.len() >= KEPT_PAGES_MAX {
            touched.clear();
        }
        if touched.insert(number, page.cloned()).is_none() {
            let read = &self.pages_read[self.phase as usize];
            read.set(read.get() + 1);
        }
    }

    /// Drops a page that is about to change.
    pub(super) fn forget(&self, number: PageNumber) {
        if let Some(page) = self.touched.borrow_mut().get_mut(&number) {
            *page = None;
        }
    }

    pub(super) fn count_change(&mut self, page: PageNumber, purpose: Purpose) {
        self.note(page, purpose, true);
        self.pages_changed[self.phase as usize] += 1;
    }

    pub(super) fn count(&mut self, modification: &'static str) {
        *self.structure_modifications.entry(modification).or_default() += 1;
    }

    pub(super) fn enter(&mut self, phase: PagePhase) {
        if let Some(timer) = &mut self.timer {
            self.time_ns[self.phase as usize] += (timer.elapsed_us() * 1e3) as u64;
            *timer = Timer::start();
        }
        self.phase = phase;
        if phase == PagePhase::Search {
            self.touched.borrow_mut().clear();
        }
    }

    pub(super) fn set_timed(&mut self, timed: bool) {
        self.timer = timed.then(Timer::start);
    }

    pub(super) fn write_statistics(&self) -> PageWriteStatistics {
        let mut phases = BTreeMap::new();
        for (index, &phase) in PHASES.iter().enumerate() {
            let write_statistics = PagePhaseStatistics {
                pages_read: self.pages_read[index].get(),
                pages_changed: self.pages_changed[index],
                time_ns: self.time_ns[index],
            };
            if write_statistics != PagePhaseStatistics::default() {
                phases.insert(phase, write_statistics);
            }
        }
        PageWriteStatistics { phases, structure_modifications: self.structure_modifications.clone() }
    }
}
