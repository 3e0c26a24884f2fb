//! Distinct keys in ascending order, one after another in one buffer: a million keys are one or two allocations.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Keys in the order in which they are added.
#[derive(Clone, Default)]
pub(crate) struct KeyBuffer {
    bytes: Vec<u8>,
    count: usize,
    /// The width of all keys, as long as `ends` is empty.
    width: usize,
    /// Where each key ends, if they differ in width.
    ends: Vec<usize>,
}

impl KeyBuffer {
    /// Adds a key.
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.push_parts(&[key]);
    }

    /// Adds a key that consists of parts.
    pub(crate) fn push_parts(&mut self, parts: &[&[u8]]) {
        let width = parts.iter().map(|part| part.len()).sum();
        if self.count == 0 {
            self.width = width;
        } else if self.ends.is_empty() && width != self.width {
            self.ends.extend((1..=self.count).map(|count| count * self.width));
        }
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        if !self.ends.is_empty() {
            self.ends.push(self.bytes.len());
        }
        self.count += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The key at a place; the empty one behind the last.
    fn get(&self, at: usize) -> &[u8] {
        let range = match (self.ends.get(at), at.checked_sub(1)) {
            (None, _) => at * self.width..(at + 1) * self.width,
            (Some(&end), None) => 0..end,
            (Some(&end), Some(before)) => self.ends.get(before).copied().unwrap_or(end)..end,
        };
        self.bytes.get(range).unwrap_or_default()
    }

    /// The keys, as they were added.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count).map(|at| self.get(at))
    }

    /// The keys in ascending order, without repetitions.
    fn sorted(self) -> Self {
        if (1..self.count).all(|at| self.get(at - 1) < self.get(at)) {
            return self;
        }
        let mut sorted = Self { bytes: Vec::with_capacity(self.bytes.len()), ..Self::default() };
        if self.ends.is_empty() && self.width == size_of::<u64>() {
            // Keys of eight bytes, which most are, are sorted as numbers.
            let mut words: Vec<u64> = self.bytes.as_chunks().0.iter().map(|&word| u64::from_be_bytes(word)).collect();
            words.sort_unstable();
            words.dedup();
            words.iter().for_each(|word| sorted.push(&word.to_be_bytes()));
        } else {
            let mut keys: Vec<&[u8]> = self.keys().collect();
            keys.sort_unstable();
            keys.dedup();
            keys.iter().for_each(|key| sorted.push(key));
        }
        sorted
    }
}

impl<'k> Extend<&'k [u8]> for KeyBuffer {
    fn extend<I: IntoIterator<Item = &'k [u8]>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.push(key));
    }
}

impl<'k> FromIterator<&'k [u8]> for KeyBuffer {
    fn from_iter<I: IntoIterator<Item = &'k [u8]>>(keys: I) -> Self {
        let mut buffer = Self::default();
        buffer.extend(keys);
        buffer
    }
}

/// Distinct keys in ascending order. Clones and parts share the buffer.
#[derive(Clone)]
pub(crate) struct PackedKeys {
    buffer: Arc<KeyBuffer>,
    range: Range<usize>,
}

impl PackedKeys {
    /// Keys in any order, perhaps repeated.
    pub(crate) fn of(buffer: KeyBuffer) -> Self {
        let buffer = buffer.sorted();
        Self { range: 0..buffer.len(), buffer: Arc::new(buffer) }
    }

    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    /// The key at a place.
    pub(crate) fn get(&self, at: usize) -> Option<&[u8]> {
        (at < self.len()).then(|| self.buffer.get(self.range.start + at))
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        self.range.clone().map(|at| self.buffer.get(at))
    }

    /// The keys at these places, as far as there are any.
    pub(crate) fn part(&self, places: Range<usize>) -> Self {
        let end = (self.range.start + places.end).min(self.range.end);
        let range = (self.range.start + places.start).min(end)..end;
        Self { buffer: Arc::clone(&self.buffer), range }
    }

    /// The number of keys in front of the first for which `is_before` is false; it is monotone.
    pub(crate) fn partition_point(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        self.partition_point_in(0..self.len(), is_before)
    }

    fn partition_point_in(&self, places: Range<usize>, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (places.start, places.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&is_before) { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.get(self.partition_point(|own| own < key)) == Some(key)
    }

    /// The keys that others have, too.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let (mut found, mut from) = (KeyBuffer::default(), 0);
        for key in self.iter() {
            // The next one is near where the last one was, if there are many.
            let (mut step, mut to) = (1, from);
            while other.get(to).is_some_and(|at| at < key) {
                (from, to, step) = (to + 1, to + step, step * 2);
            }
            from = other.partition_point_in(from..to.min(other.len()), |at| at < key);
            match other.get(from).map(|at| at.cmp(key)) {
                Some(Ordering::Equal) => found.push(key),
                Some(_) => {}
                None => break,
            }
        }
        Self { range: 0..found.len(), buffer: Arc::new(found) }
    }

    /// The keys of both.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut buffer: KeyBuffer = self.iter().collect();
        buffer.extend(other.iter());
        Self::of(buffer)
    }
}

impl PartialEq for PackedKeys {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for PackedKeys {}

impl fmt::Debug for PackedKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}
