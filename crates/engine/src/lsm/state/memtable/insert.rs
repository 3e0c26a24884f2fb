//! Insertion into the skiplist, by one thread at a time.

use super::arena::{Arena, ArenaEnd};
use super::key_prefix::distinguishing_prefix;
use super::list::{FIRST_LINK_WORD, GUIDE_LEVEL, HEAD, HEIGHT_MAX, List, NULL_LINK, NodeRecord, SearchTarget, link_to};
#[cfg(test)]
use crate::io::reads::test_schedule;
use crate::lsm::state::entry::{Action, GROUP_HEAD_BYTES, Operation};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Groups of at least this many operations are sorted before insertion, since nearby nodes are cheaper to find.
const SORTED_OPERATIONS_MIN: usize = 8;

/// From this many keys on, their common prefix is assumed for all later keys.
const PREFIX_KEYS_MIN: usize = 16;

/// Any number except 0.
const RANDOM_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Overhead of a buffer in bytes: the counts of its handle, and the vector.
const BUFFER_BYTES: usize = 2 * size_of::<usize>() + size_of::<Vec<u8>>();

/// The state of the inserting thread.
#[derive(Debug)]
pub(super) struct Inserter {
    words: ArenaEnd,
    groups: ArenaEnd,
    random: u64,
    /// For each level, the last node that does not lie after the last inserted node. Levels above the guide's are
    /// updated only by taller nodes.
    before: [u32; HEIGHT_MAX],
    /// The link to the last inserted node.
    last: u64,
    /// The expected common prefix of the keys.
    prefix: Option<Vec<u8>>,
    /// Whether the list was begun with too few keys to tell their common prefix.
    is_learning: bool,
    /// Nodes for the next guide.
    recent: Vec<(u64, u32)>,
    /// The operations to insert, in order: key prefix and index.
    order: Vec<(u64, u32)>,
}

impl Inserter {
    /// Creates the state for an empty list, with the expected prefix of its keys.
    pub(super) fn new(prefix: Option<Vec<u8>>) -> Self {
        let (words, groups, before) = (ArenaEnd::default(), ArenaEnd::default(), [HEAD; HEIGHT_MAX]);
        Self {
            words,
            groups,
            random: RANDOM_SEED,
            before,
            last: NULL_LINK,
            prefix,
            is_learning: false,
            recent: Vec::new(),
            order: Vec::new(),
        }
    }

    /// A lower bound of the operations that still fit.
    pub(super) fn room(&self) -> usize {
        let nodes = Arena::<u64>::room(&self.words) / (FIRST_LINK_WORD + HEIGHT_MAX);
        if Arena::<u64>::room(&self.groups) == 0 { 0 } else { nodes }
    }

    /// Creates the list for its first operations; returns it with its memory in bytes.
    pub(super) fn begin(&mut self, buffer: &[u8], operations: &[Operation]) -> (List, u64) {
        let expected = self.prefix.take();
        self.is_learning = expected.is_none() && keys_of(buffer, operations).count() < PREFIX_KEYS_MIN;
        let learned = || common_prefix(keys_of(buffer, operations)).unwrap_or_default();
        let (list, words, bytes) = List::new(expected.as_deref().unwrap_or_else(learned));
        self.words = words;
        (list, bytes)
    }

    /// Creates a list that replaces `list`, if its keys and those of `operations` are enough to tell a common prefix
    /// that was unknown so far. Returns it, with the entries of `list`, and its memory in bytes.
    pub(super) fn begin_again(&mut self, list: &List, buffer: &[u8], operations: &[Operation]) -> Option<(List, u64)> {
        if !self.is_learning {
            return None;
        }
        let nodes = || std::iter::successors(Some(list.after(HEAD)), |&node| Some(list.after(node)));
        let nodes = || nodes().take_while(|&node| node != HEAD);
        let older = nodes().filter_map(|node| list.entry(node)).map(|entry| entry.key);
        let prefix = common_prefix(older.chain(keys_of(buffer, operations)))?;
        self.is_learning = false;
        if prefix.is_empty() {
            return None;
        }
        let (again, words, mut bytes) = List::new(prefix);
        *self = Self { words, random: self.random, ..Self::new(None) };
        for group in list.groups.from(0).iter().map_while(|group| group.get()) {
            let (number, grown) = again.groups.take(&mut self.groups, 1)?;
            again.groups.from(number).first()?.get_or_init(|| Arc::clone(group));
            bytes += grown;
        }
        for node in nodes() {
            let (record, key) = list.record(node, &again.key_prefixes)?;
            bytes += self.insert_one(&again, &record, key)?;
        }
        Some((again, bytes))
    }

    /// Inserts the entries among `operations`, which must fit; returns the bytes allocated.
    pub(super) fn insert(&mut self, list: &List, buffer: &Arc<Vec<u8>>, operations: &[Operation]) -> u64 {
        let Some((group, mut bytes)) = self.add_group(list, buffer, operations) else { return 0 };
        self.sort(list, buffer, operations);
        let order = std::mem::take(&mut self.order);
        for &(key_prefix, index) in &order {
            let operation = &operations[index as usize];
            let Action::Put(kind) = operation.action else { continue };
            let record = NodeRecord {
                key_prefix,
                group,
                key_start: operation.key.start,
                key_bytes: operation.key.end - operation.key.start,
                sequence: operation.sequence,
                kind,
            };
            bytes += self.insert_one(list, &record, key_of(buffer, operation)).unwrap_or(0);
        }
        self.order = order;
        bytes
    }

    /// Stores a buffer; returns its number, and the bytes it counts for: only a share if other memtables share it.
    fn add_group(&mut self, list: &List, buffer: &Arc<Vec<u8>>, operations: &[Operation]) -> Option<(u32, u64)> {
        let (group, grown) = list.groups.take(&mut self.groups, 1)?;
        list.groups.from(group).first()?.get_or_init(|| Arc::clone(buffer));
        let here: u64 = operations.iter().map(|operation| u64::from(operation.encoded_bytes)).sum();
        let all = (buffer.len() as u64).saturating_sub(GROUP_HEAD_BYTES as u64).max(here).max(1);
        let whole = (buffer.capacity() + BUFFER_BYTES) as u128;
        Some((group, grown + (whole * u128::from(here)).div_ceil(u128::from(all)) as u64))
    }

    fn sort(&mut self, list: &List, buffer: &[u8], operations: &[Operation]) {
        self.order.clear();
        let entries = operations.iter().zip(0..).filter(|(operation, _)| operation.action != Action::RemoveRange);
        self.order
            .extend(entries.map(|(operation, index)| (list.target(key_of(buffer, operation), 0).key_prefix, index)));
        if self.order.len() >= SORTED_OPERATIONS_MIN {
            let key = |index: u32| key_of(buffer, &operations[index as usize]);
            // The newest version of a key comes first, as in the list.
            self.order.sort_unstable_by(|one, other| {
                one.0.cmp(&other.0).then_with(|| key(one.1).cmp(key(other.1))).then(other.1.cmp(&one.1))
            });
        }
    }

    fn insert_one(&mut self, list: &List, record: &NodeRecord, key: &[u8]) -> Option<u64> {
        let height = self.height();
        let target = SearchTarget { key_prefix: record.key_prefix, key, sequence: record.sequence };
        let (from, level) = self.start(list, &target, height);
        list.descend(from, level, &target, |level, node| self.before[level] = node);
        let (node, grown) = list.words.take(&mut self.words, FIRST_LINK_WORD + height)?;
        let words = list.words.from(node);
        for (word, content) in words.iter().zip(record.words()) {
            word.store(content, Relaxed);
        }
        if height > list.height.load(Relaxed) as usize {
            list.height.store(height as u32, Relaxed);
        }
        for (level, before) in self.before[..height].iter_mut().enumerate() {
            let link = &list.words.from(*before)[FIRST_LINK_WORD + level];
            words[FIRST_LINK_WORD + level].store(link.load(Relaxed), Relaxed);
            #[cfg(test)]
            test_schedule::pass();
            // A reader that follows this link sees the complete node.
            link.store(link_to(node, record.key_prefix), Release);
            *before = node;
        }
        self.last = link_to(node, record.key_prefix);
        if height > GUIDE_LEVEL {
            self.recent.push((record.key_prefix, node));
            return Some(grown + list.guides.renew(&mut self.recent));
        }
        Some(grown)
    }

    /// The starting point of a search: a node before the target, and one of its levels. The levels above are skipped if
    /// a node of `height` levels is not linked there, or if nothing has changed there.
    fn start(&self, list: &List, target: &SearchTarget<'_>, height: usize) -> (u32, usize) {
        if height <= GUIDE_LEVEL + 1 {
            if let Some(level) = self.level_of_rest(list, target).map(|level| level.saturating_sub(1)) {
                return (self.before[level], level);
            }
            if let Some(node) = list.guided(target) {
                return (node, GUIDE_LEVEL);
            }
        }
        (HEAD, HEIGHT_MAX - 1)
    }

    /// The lowest level on which no node lies between the last insertion and a target after it; the same then holds for
    /// the levels above.
    fn level_of_rest(&self, list: &List, target: &SearchTarget<'_>) -> Option<usize> {
        if !list.precedes(self.last, target) {
            return None;
        }
        (0..=GUIDE_LEVEL).find(|&level| {
            let link = list.words.from(self.before[level])[FIRST_LINK_WORD + level].load(Relaxed);
            !list.precedes(link, target)
        })
    }

    /// A random height: half of the nodes of a level are also on the next.
    fn height(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random.trailing_zeros() as usize + 1).min(HEIGHT_MAX)
    }
}

/// The common prefix of keys, if there are enough of them to tell.
fn common_prefix<'a>(keys: impl Iterator<Item = &'a [u8]> + Clone) -> Option<&'a [u8]> {
    let mut others = keys.clone();
    let first = others.next()?;
    (keys.take(PREFIX_KEYS_MIN).count() == PREFIX_KEYS_MIN).then(|| distinguishing_prefix(first, others))
}

/// The keys of the entries of a group.
fn keys_of<'a>(buffer: &'a [u8], operations: &'a [Operation]) -> impl Iterator<Item = &'a [u8]> + Clone {
    let entries = operations.iter().filter(|operation| operation.action != Action::RemoveRange);
    entries.map(|operation| key_of(buffer, operation))
}

fn key_of<'a>(buffer: &'a [u8], operation: &Operation) -> &'a [u8] {
    buffer.get(operation.key.start as usize..operation.key.end as usize).unwrap_or_default()
}
