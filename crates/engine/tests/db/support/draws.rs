//! Randomly drawn store options for tests, including unusual ones.

#![allow(clippy::disallowed_macros, reason = "a test says what it drew")]

use crate::learning::{Scope, USUAL_SCOPE, drawn as drawn_policy};
use ogive::Durability;
use ogive::block::Compression;
use ogive::io::{FastPaths, LocalStorage, Storage};
use ogive::lsm::{DbOptions, KeyspaceOptions};
use ogive_testkit::{Random, fast_paths};
use std::path::Path;
use std::sync::Arc;

/// One of these.
fn any<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// A size between a quarter and four times another.
fn around(random: &mut Random, bytes: u64) -> u64 {
    (bytes / 4).max(1) << random.below(5)
}

/// Options of a keyspace, each other than that of the store or not.
pub(super) fn drawn_keyspace_options(random: &mut Random) -> KeyspaceOptions {
    KeyspaceOptions::default()
        .compression(any(random, &[None, Some(Compression::None), Some(Compression::Lz4)]))
        .filter_bits_per_key(any(random, &[None, Some(0), Some(3), Some(20)]))
        .separation_bytes(any(random, &[None, Some(0), Some(50), Some(150), Some(u64::MAX)]))
        .block_bytes(any(random, &[None, Some(512), Some(4096), Some(16 << 10)]))
}

/// Draws options. When a test fails, it prints the last ones.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    random: Random,
    like: DbOptions,
    is_timeless: bool,
    scope: Scope,
    openings: u64,
    last: Option<DbOptions>,
}

impl Draws {
    /// Sizes are drawn around those of `like`, so that as much happens. There are no threads if `like` has none.
    pub(crate) fn new(seed: u64, like: &DbOptions) -> Self {
        // Work is drawn by the same seed, and must be independent of the options.
        let random = Random::new(seed.wrapping_mul(1_000_003));
        Self { random, like: like.clone(), is_timeless: false, scope: USUAL_SCOPE, openings: 0, last: None }
    }

    /// Only options whose calls to the storage do not depend on time, with all fast paths, which limit the number of
    /// calls.
    pub(crate) fn timeless(mut self) -> Self {
        self.is_timeless = true;
        self
    }

    /// What models cover from now on.
    pub(crate) fn use_scope(&mut self, scope: Scope) {
        // Writers would relearn a level at each change, for minutes, unless the test asks for it.
        self.scope = scope;
    }

    /// Other draws of the same kind, for a second or later store.
    pub(crate) fn others(&self, salt: u64) -> Self {
        let random = Random::new(self.random.clone().next_u64() ^ salt);
        Self { random, like: self.like.clone(), openings: 0, last: None, ..*self }
    }

    /// Draws all options anew.
    pub(crate) fn next(&mut self) -> DbOptions {
        let (random, like) = (&mut self.random, &self.like);
        let drawn = like
            .clone()
            .memory_bytes(like.memory_bytes << random.below(4))
            .writes(|writes| writes.memtable_bytes(around(random, like.writes.memtable_bytes)))
            .levels(|levels| {
                levels
                    .table_bytes(around(random, like.levels.table_bytes))
                    .level_bytes(around(random, like.levels.level_bytes))
                    .level_factor(2 + random.below(10) as u32)
                    .block_bytes(512 << random.below(6))
            })
            .durability(any(random, &[Durability::Synced, Durability::Grouped, Durability::Buffered]))
            .writes(|writes| writes.group_bytes(around(random, like.writes.group_bytes)))
            .values(|values| values.separation_bytes(any(random, &[0, 30, 100, 200, 1_000, u64::MAX])))
            .compression(any(random, &[Compression::None, Compression::Lz4]))
            .levels(|levels| levels.filter_bits_per_key(any(random, &[None, Some(1), Some(10), Some(20)])))
            .values(|values| values.dead_share(any(random, &[0.05, 0.2, 0.6])))
            .learning(drawn_policy(random, self.is_timeless, self.scope))
            .threads(if like.threads == 0 { 0 } else { random.below(4) as usize })
            .open_files(any(random, &[None, Some(8), Some(64)]))
            .fast_paths(if self.is_timeless { FastPaths::ALL } else { fast_paths::drawn(random) });
        (self.openings, self.last) = (self.openings + 1, Some(drawn.clone()));
        drawn
    }

    /// The folder of a store, read through the page cache or past it, with the limit of open files in the options.
    pub(crate) fn storage(&mut self, folder: &Path, options: &DbOptions) -> Arc<dyn Storage> {
        let storage = if self.random.one_in(2) { LocalStorage::new(folder) } else { LocalStorage::direct(folder) };
        Arc::new(options.open_files.map_or(storage.clone(), |limit| storage.with_open_files(limit)))
    }
}

impl Drop for Draws {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(last) = &self.last
        {
            eprintln!("opening {} was with {last:?}", self.openings);
        }
    }
}
