//! Keys as numbers, and the fences between the records of a table.

use ogive_model::Fence;

/// The fences between records that come in order.
///
/// The number of a key is formed by its eight bytes after the common prefix of the table. Keys with equal numbers share
/// a window.
#[derive(Debug)]
pub(super) struct KeyFences {
    prefix: Vec<u8>,
    fences: Vec<Fence>,
    last: Option<u64>,
}

/// The eight bytes of a key after `prefix`, as a number.
#[inline]
pub(super) fn key_number(prefix: &[u8], key: &[u8]) -> u64 {
    let Some(rest) = key.strip_prefix(prefix) else {
        return if key < prefix { 0 } else { u64::MAX };
    };
    match rest.first_chunk() {
        Some(&bytes) => u64::from_be_bytes(bytes),
        None => rest.iter().enumerate().fold(0, |number, (at, &byte)| number | u64::from(byte) << (56 - 8 * at)),
    }
}

impl KeyFences {
    /// For keys from `smallest` to `largest`.
    pub(super) fn new(smallest: &[u8], largest: &[u8]) -> Self {
        let shared = smallest.iter().zip(largest).take_while(|(one, other)| one == other).count();
        Self { prefix: smallest[..shared].to_vec(), fences: Vec::new(), last: None }
    }

    /// The next record's key.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8]) {
        let x = key_number(&self.prefix, key);
        if let Some(low) = self.last {
            // Keys out of order would be a fault of the caller; the model is a hint in any case.
            self.fences.push(Fence { low, high: x.max(low) });
        }
        self.last = Some(self.last.map_or(x, |last| last.max(x)));
    }

    /// The fences that have not been dropped.
    pub(super) fn fences(&self) -> &[Fence] {
        &self.fences
    }

    /// Drops the first `count` fences.
    pub(super) fn drop_first(&mut self, count: usize) {
        self.fences.drain(..count);
    }

    /// Whether no key was added.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// The common prefix.
    pub(super) fn into_prefix(self) -> Vec<u8> {
        self.prefix
    }
}
