//! The skiplist: its nodes, and searches in it.

use super::arena::{Arena, ArenaEnd};
use super::guide::Guides;
use crate::block::{KeyPrefixes, Slice};
#[cfg(test)]
use crate::io::reads::test_schedule;
use crate::lsm::state::entry::{Entry, Sequence, ValueKind, take_varint};
use std::cmp::Ordering;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

/// Maximum number of levels: with half of the nodes of a level on the next, enough for 2^24 nodes.
pub(super) const HEIGHT_MAX: usize = 24;

/// The level whose nodes are in the guide: one node in eight.
pub(super) const GUIDE_LEVEL: usize = 3;

/// Steps on the guide's level before a search gives up on the guide; if it needs more, most nodes are newer than the
/// guide.
const GUIDED_STEPS_MAX: u32 = 8;

/// The head node, which has no entry.
pub(super) const HEAD: u32 = 0;

/// The link of the last node of a level. Nothing links to the head, so its number is free for this.
pub(super) const NULL_LINK: u64 = (u32::MAX as u64) << 32;

/// Number of words of a node before its links.
pub(super) const FIRST_LINK_WORD: usize = 3;

/// Bits of the kind in the word shared with the sequence number.
const KIND_BITS: u32 = 8;

/// Buffers of groups, by number.
pub(super) type GroupArena = Arena<OnceLock<Arc<Vec<u8>>>>;

/// The location of an entry, as stored in its node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeRecord {
    pub(super) key_prefix: u64,
    pub(super) group: u32,
    pub(super) key_start: u32,
    pub(super) key_bytes: u32,
    pub(super) sequence: Sequence,
    pub(super) kind: ValueKind,
}

impl NodeRecord {
    pub(super) fn words(&self) -> [u64; FIRST_LINK_WORD] {
        [
            u64::from(self.key_start) << 32 | u64::from(self.key_prefix as u32),
            u64::from(self.group) << 32 | u64::from(self.key_bytes),
            self.sequence << KIND_BITS | u64::from(self.kind as u8),
        ]
    }
}

/// The link to a node.
pub(super) fn link_to(node: u32, key_prefix: u64) -> u64 {
    key_prefix >> 32 << 32 | u64::from(node)
}

/// A position between entries: before the versions of `key` at or below `sequence`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchTarget<'a> {
    pub(super) key_prefix: u64,
    pub(super) key: &'a [u8],
    pub(super) sequence: Sequence,
}

/// The list, as seen by readers.
#[derive(Debug)]
pub(super) struct List {
    pub(super) words: Arena<AtomicU64>,
    pub(super) groups: GroupArena,
    pub(super) guides: Guides,
    /// Number of levels in use, at least one.
    pub(super) height: AtomicU32,
    pub(super) key_prefixes: KeyPrefixes,
}

impl List {
    /// Creates an empty list of keys that mostly have a prefix; returns it with the position of the next node, and its
    /// memory in bytes.
    pub(super) fn new(prefix: &[u8]) -> (Self, ArenaEnd, u64) {
        let (words, mut end) = (Arena::<AtomicU64>::new(), ArenaEnd::default());
        // The first node of an arena always fits, and has number 0.
        let grown = words.take(&mut end, FIRST_LINK_WORD + HEIGHT_MAX).map_or(0, |(_, grown)| grown);
        for link in words.from(HEAD).iter().skip(FIRST_LINK_WORD).take(HEIGHT_MAX) {
            link.store(NULL_LINK, Relaxed);
        }
        let list = Self {
            words,
            groups: Arena::new(),
            guides: Guides::new(),
            height: AtomicU32::new(1),
            key_prefixes: KeyPrefixes::after(prefix),
        };
        (list, end, grown + size_of::<Self>() as u64)
    }

    pub(super) fn target<'a>(&self, key: &'a [u8], sequence: Sequence) -> SearchTarget<'a> {
        SearchTarget { key_prefix: self.key_prefixes.of(key), key, sequence }
    }

    /// The node before a target, or the head, and the node after it, or [`HEAD`] if there is none.
    pub(super) fn find(&self, target: &SearchTarget<'_>) -> (u32, u32) {
        let guided = self.guided(target).map(|at| self.descend(at, GUIDE_LEVEL, target, |_, _| ()));
        guided.unwrap_or_else(|| self.descend(HEAD, self.height.load(Relaxed) as usize - 1, target, |_, _| ()))
    }

    /// The last node of the guide's level before a target, found by the guide.
    #[inline]
    pub(super) fn guided(&self, target: &SearchTarget<'_>) -> Option<u32> {
        let mut at = self.guides.before(target.key_prefix)?;
        for _ in 0..GUIDED_STEPS_MAX {
            let link = self.words.from(at)[FIRST_LINK_WORD + GUIDE_LEVEL].load(Acquire);
            if !self.precedes(link, target) {
                return Some(at);
            }
            at = link as u32;
        }
        None
    }

    /// Searches from a node before the target, down from one of its levels; passes the last node before the target on
    /// each level to `show`.
    #[inline]
    pub(super) fn descend(
        &self,
        from: u32,
        level: usize,
        target: &SearchTarget<'_>,
        mut show: impl FnMut(usize, u32),
    ) -> (u32, u32) {
        let (mut at, mut node, mut level) = (from, self.words.from(from), level);
        let mut bound = NULL_LINK;
        loop {
            #[cfg(test)]
            test_schedule::pass();
            let link = node[FIRST_LINK_WORD + level].load(Acquire);
            if link != bound && self.precedes(link, target) {
                at = link as u32;
                node = self.words.from(at);
                continue;
            }
            show(level, at);
            if level == 0 {
                return (at, link as u32);
            }
            bound = link;
            level -= 1;
        }
    }

    /// The next node, or [`HEAD`].
    pub(super) fn after(&self, node: u32) -> u32 {
        #[cfg(test)]
        test_schedule::pass();
        self.words.from(node)[FIRST_LINK_WORD].load(Acquire) as u32
    }

    /// The last node, or the head.
    pub(super) fn last(&self) -> u32 {
        let mut at = HEAD;
        for level in (0..self.height.load(Relaxed) as usize).rev() {
            while let link = self.words.from(at)[FIRST_LINK_WORD + level].load(Acquire)
                && link as u32 != HEAD
            {
                at = link as u32;
            }
        }
        at
    }

    /// Whether the target of a link precedes `target`.
    #[inline]
    pub(super) fn precedes(&self, link: u64, target: &SearchTarget<'_>) -> bool {
        let (linked, wanted) = ((link >> 32) as u32, (target.key_prefix >> 32) as u32);
        if linked == wanted { self.node_precedes(link as u32, target) } else { linked < wanted }
    }

    /// As [`precedes`](Self::precedes), if the high halves of the key prefixes are equal.
    fn node_precedes(&self, node: u32, target: &SearchTarget<'_>) -> bool {
        if node == HEAD {
            return false;
        }
        let words = self.words.from(node);
        let (low, wanted) = (words[0].load(Relaxed) as u32, target.key_prefix as u32);
        if low != wanted {
            return low < wanted;
        }
        match self.key(words).cmp(target.key) {
            Ordering::Equal => words[2].load(Relaxed) >> KIND_BITS > target.sequence,
            order => order == Ordering::Less,
        }
    }

    fn group(&self, words: &[AtomicU64]) -> Option<&Arc<Vec<u8>>> {
        self.groups.from((words[1].load(Relaxed) >> 32) as u32).first()?.get()
    }

    fn key(&self, words: &[AtomicU64]) -> &[u8] {
        let start = (words[0].load(Relaxed) >> 32) as usize;
        let end = start + (words[1].load(Relaxed) as u32) as usize;
        self.group(words).and_then(|group| group.get(start..end)).unwrap_or_default()
    }

    /// The entry of a node; `None` for the head.
    pub(super) fn entry(&self, node: u32) -> Option<Entry<'_>> {
        self.parts(node).map(|(entry, _)| entry)
    }

    /// The value of a node's entry, sharing its buffer.
    pub(super) fn value_slice(&self, node: u32) -> Option<Slice> {
        let (entry, start) = self.parts(node)?;
        Slice::of_buffer(self.group(self.words.from(node))?, start..start + entry.value.len())
    }

    /// The content of a node, with its key, for a list of other key prefixes that has the same groups.
    pub(super) fn record(&self, node: u32, key_prefixes: &KeyPrefixes) -> Option<(NodeRecord, &[u8])> {
        let words = self.words.from(node);
        let (place, extent) = (words.first()?.load(Relaxed), words.get(1)?.load(Relaxed));
        let Entry { key, sequence, kind, .. } = self.entry(node)?;
        let record = NodeRecord {
            key_prefix: key_prefixes.of(key),
            group: (extent >> 32) as u32,
            key_start: (place >> 32) as u32,
            key_bytes: extent as u32,
            sequence,
            kind,
        };
        Some((record, key))
    }

    /// The entry of a node, and the offset of its value in the buffer.
    fn parts(&self, node: u32) -> Option<(Entry<'_>, usize)> {
        if node == HEAD {
            return None;
        }
        let words = self.words.from(node);
        let buffer = self.group(words)?;
        let key_start = (words[0].load(Relaxed) >> 32) as usize;
        let mut at = key_start + (words[1].load(Relaxed) as u32) as usize;
        let key = buffer.get(key_start..at)?;
        let word = words[2].load(Relaxed);
        let kind = ValueKind::from_code(word as u8)?;
        // The value follows the key, with its length in front, as operations are encoded.
        let value_bytes = if kind == ValueKind::Remove { 0 } else { take_varint(buffer, &mut at)? as usize };
        let value = buffer.get(at..at.checked_add(value_bytes)?)?;
        Some((Entry { key, sequence: word >> KIND_BITS, kind, value }, at))
    }
}
