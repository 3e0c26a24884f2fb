//! Options of a store as nobody would choose them: drawn anew for each opening.

use ogive::block::Compression;
use ogive::lsm::{DbOptions, Durability, Learning, ModelReads};
use ogive_testkit::Random;

/// One of these.
fn any<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// A size around another one: a quarter of it to four times as much.
fn around(random: &mut Random, bytes: u64) -> u64 {
    (bytes / 4).max(1) << random.below(5)
}

/// All options anew. Sizes lie around those given, so that as much happens; threads there are none where there were none, so that a run
/// can be repeated exactly.
pub(crate) fn drawn(random: &mut Random, like: &DbOptions) -> DbOptions {
    DbOptions {
        memory_bytes: like.memory_bytes << random.below(4),
        memtable_bytes: around(random, like.memtable_bytes),
        table_bytes: around(random, like.table_bytes),
        level_bytes: around(random, like.level_bytes),
        level_factor: 2 + random.below(10) as u32,
        block_bytes: 512 << random.below(6),
        durability: any(random, &[Durability::Synced, Durability::Grouped, Durability::Buffered]),
        group_bytes: around(random, like.group_bytes),
        separation_threshold: any(random, &[0, 30, 100, 200, 1_000, u64::MAX]),
        compression: any(random, &[Compression::None, Compression::Lz4]),
        filter_bits_per_key: any(random, &[None, Some(1), Some(10), Some(20)]),
        dead_share: any(random, &[0.05, 0.2, 0.6]),
        learning: any(random, &Learning::ALL),
        // Whoever writes would learn a level anew at each of its changes, for minutes: `lsm/learn` tests them.
        level_models: like.level_models,
        model_reads: any(random, &[ModelReads::Block, ModelReads::Window]),
        model_error: 1 << random.below(7),
        threads: if like.threads == 0 { 0 } else { random.below(4) as usize },
        fast_paths: ogive_testkit::fast_paths::drawn(random),
        ..like.clone()
    }
}

/// Tells, when a test fails, the options that were drawn last and the command that runs it again.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) test: &'static str,
    pub(crate) seed: u64,
    pub(crate) drawn: Vec<DbOptions>,
}

impl Drop for Told {
    #[expect(clippy::disallowed_macros, reason = "a test says how it is run again")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let last = self.drawn.last();
            eprintln!("seed {}, opening {}, with {last:?}; again by", self.seed, self.drawn.len());
            eprintln!("cargo test -p ogive --test {}", self.test);
        }
    }
}
