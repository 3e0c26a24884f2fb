//! Files that are not part of the newest version, and wait for their removal, since readers may still use them.

use crate::io::local::sync::Mutex;
use crate::io::unix_time_s;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Those whose grace period has passed, but that are kept for followers.
    held: Mutex<BTreeMap<String, u64>>,
    /// When to look for files that are not known yet.
    next_search_s: Mutex<u64>,
    /// No collection begins before: one that failed is not repeated at once.
    rests_until_s: Mutex<u64>,
}

impl RetiredFiles {
    pub(super) fn new(grace_s: u64) -> Self {
        let next_search_s = Mutex::new(unix_time_s().saturating_add(grace_s));
        let (files, held) = Default::default();
        Self { grace_s, files, held, next_search_s, rests_until_s: Mutex::default() }
    }

    /// Lets a file wait from now on, unless it waits already.
    pub(super) fn add(&self, name: &str) {
        self.add_since(name, unix_time_s());
    }

    /// Lets a file wait since a time, unless it waits already.
    pub(crate) fn add_since(&self, name: &str, since_s: u64) {
        if self.held.lock().contains_key(name) {
            return;
        }
        self.files.lock().entry(name.to_owned()).or_insert(since_s);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.lock().contains_key(name) || self.held.lock().contains_key(name)
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

    /// Lets a file stay after its grace period, until it is [released](Self::release).
    pub(super) fn hold(&self, name: &str) {
        if let Some(since_s) = self.files.lock().remove(name) {
            self.held.lock().insert(name.to_owned(), since_s);
        }
    }

    /// Lets those wait again that stayed, and are not kept any more.
    pub(super) fn release(&self, kept: &BTreeSet<String>) {
        let mut held = self.held.lock();
        let (kept, released) = std::mem::take(&mut *held).into_iter().partition(|(name, _)| kept.contains(name));
        *held = kept;
        let released: BTreeMap<String, u64> = released;
        self.files.lock().extend(released);
    }

    /// Seconds for which a file waits.
    pub(in crate::lsm) fn grace_s(&self) -> u64 {
        self.grace_s
    }

    /// All of them, also those that are kept for followers.
    pub(crate) fn all(&self) -> BTreeMap<String, u64> {
        let mut all = self.files.lock().clone();
        all.extend(self.held.lock().clone());
        all
    }
}

#[cfg(test)]
mod tests {
    use crate::io::{MemoryStorage, Storage};
    use crate::lsm::objects::ObjectFolder;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    #[test]
    fn a_file_that_begins_to_wait_while_others_are_removed_stays_until_it_is_known_what_is_kept() {
        let memory = MemoryStorage::objects();
        let folder = ObjectFolder::new(Arc::new(memory.clone()), 7);
        let names = ["000002.table", "000003.table"];
        names.iter().for_each(|name| memory.put(name, vec![1]).unwrap());
        folder.remove(names[0]).unwrap();
        let kept = |_: &[_]| folder.remove(names[1]).map(|()| BTreeSet::new());
        folder.collect(7, None, |_| false, kept).unwrap();
        assert_eq!(names.map(|name| memory.content(name).is_ok()), [false, true]);
    }
}
