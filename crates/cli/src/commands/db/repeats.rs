//! Rows of an import that replace earlier ones of it, since they have the same key.
//!
//! Keys are remembered by hashes of 64 bits, up to a number of them: a column that is no key repeats its values long
//! before.

use crate::values::size::grouped;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

/// Most keys that are remembered, in about 20 MB.
const KEYS_MAX: usize = 1 << 20;

/// Counts the rows with the key of an earlier one.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    seen: HashSet<u64>,
    rows: u64,
}

impl Repeats {
    /// Takes the key of the next row.
    pub(super) fn see(&mut self, key: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write(key);
        let hash = hasher.finish();
        let is_new = if self.seen.len() < KEYS_MAX { self.seen.insert(hash) } else { !self.seen.contains(&hash) };
        self.rows += u64::from(!is_new);
    }

    /// The number of these rows; those with keys that were not remembered are missing.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// What to say of them, if there are any; `key` names the columns of the key.
    pub(super) fn told(&self, key: &str) -> Option<String> {
        let bound = if self.seen.len() < KEYS_MAX { "" } else { "at least " };
        let (rows, verb) = (grouped(self.rows), if self.rows == 1 { "row" } else { "rows" });
        (self.rows > 0).then(|| {
            format!(
                "{bound}{rows} {verb} replaced an earlier row with the same key, column {key}, which was taken since \
                 no --key was given; --key names the columns that tell rows apart"
            )
        })
    }
}
