//! Files that are not part of the newest version, and wait for their removal, since readers may still use them.

use crate::io::local::sync::Mutex;
use crate::io::unix_time_s;
use std::collections::BTreeMap;

/// Seconds between two collections.
const REST_S: u64 = 1;

/// Files that wait for their removal, by name, with the time since when, in seconds since the start of 1970.
///
/// The manifests of a store carry this list from opening to opening, so that the grace period passes also where
/// openings are short. A clock that is wrong makes files live longer or shorter, and no answer wrong. Times that lie in
/// the future are of a clock that was ahead: they become now.
#[derive(Debug)]
pub(crate) struct RetiredFiles {
    grace_s: u64,
    files: Mutex<BTreeMap<String, u64>>,
    /// When to look for files that are not known yet.
    next_search_s: Mutex<u64>,
    /// No collection begins before: one that failed is not repeated at once.
    rests_until_s: Mutex<u64>,
}

impl RetiredFiles {
    pub(super) fn new(grace_s: u64) -> Self {
        let next_search_s = Mutex::new(unix_time_s().saturating_add(grace_s));
        Self { grace_s, files: Mutex::default(), next_search_s, rests_until_s: Mutex::default() }
    }

    /// Lets a file wait from now on, unless it waits already.
    pub(super) fn add(&self, name: &str) {
        self.add_since(name, unix_time_s());
    }

    /// Lets a file wait since a time, unless it waits already.
    pub(crate) fn add_since(&self, name: &str, since_s: u64) {
        self.files.lock().entry(name.to_owned()).or_insert(since_s);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.lock().contains_key(name)
    }

    /// The time now. No time that is kept lies further in the future than it did when it was set.
    fn now_s(&self) -> u64 {
        let now_s = unix_time_s();
        self.files.lock().values_mut().for_each(|since_s| *since_s = now_s.min(*since_s));
        for (at_s, ahead_s) in [(&self.next_search_s, self.grace_s), (&self.rests_until_s, REST_S)] {
            let mut at_s = at_s.lock();
            *at_s = now_s.saturating_add(ahead_s).min(*at_s);
        }
        now_s
    }

    /// The files whose grace period has passed.
    pub(super) fn due(&self) -> Vec<String> {
        let now_s = self.now_s();
        let files = self.files.lock();
        let due = files.iter().filter(|(_, since_s)| since_s.saturating_add(self.grace_s) <= now_s);
        due.map(|(name, _)| name.clone()).collect()
    }

    /// Seconds until a collection is due.
    pub(crate) fn wait_s(&self) -> u64 {
        let now_s = self.now_s();
        let oldest_s = self.files.lock().values().min().copied();
        let due_s = oldest_s.map_or(u64::MAX, |since_s| since_s.saturating_add(self.grace_s));
        due_s.min(*self.next_search_s.lock()).max(*self.rests_until_s.lock()).saturating_sub(now_s)
    }

    /// Begins a collection. After it, even if it fails, the next one is due later.
    pub(super) fn begin_collection(&self) {
        let now_s = unix_time_s();
        *self.next_search_s.lock() = now_s.saturating_add(self.grace_s);
        *self.rests_until_s.lock() = now_s.saturating_add(REST_S);
    }

    pub(super) fn forget(&self, name: &str) {
        self.files.lock().remove(name);
    }

    /// All of them.
    pub(crate) fn all(&self) -> BTreeMap<String, u64> {
        self.files.lock().clone()
    }
}
