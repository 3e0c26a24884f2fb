//! Goal: every fuzz target compiles, is registered everywhere, and holds on inputs that are the same in every run.
//! Method: each target runs on its seeds, on every truncation of them, on copies with a few bytes changed, and on
//! pseudo-random bytes of many lengths. What libFuzzer finds beyond that becomes a test beside the decoder.

use ogive_fuzz::TARGETS;
use std::collections::BTreeSet;
use std::path::Path;

const MUTATIONS_PER_SEED: u32 = 2000;
const RANDOM_INPUTS: u32 = 2000;
const TRUNCATIONS_PER_SEED: usize = 500;

/// Targets whose inputs take long, and how many times fewer of them are tried.
const SLOW: [(&str, u32); 4] = [("shapes", 40), ("index", 4), ("changes", 20), ("archive", 10)];

/// Number of inputs, fewer for a slow target.
fn inputs(target: &str, count: u32) -> u32 {
    SLOW.iter().find(|(name, _)| *name == target).map_or(count, |(_, times)| count / times)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Mostly small, sometimes up to `limit`: its size in bits is even.
    fn skewed(&mut self, limit: usize) -> usize {
        let bits = self.below(limit.max(2).ilog2() as usize + 2);
        self.below(limit.min(1 << bits))
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

#[test]
fn every_target_holds_on_its_seeds_and_their_truncations() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seed", target.name);
        for seed in seeds {
            (target.run)(&seed);
            let step = seed.len().div_ceil(TRUNCATIONS_PER_SEED).max(1);
            (0..seed.len()).step_by(step).for_each(|length| (target.run)(&seed[..length]));
        }
    }
}

/// Runs every second target, from this one on: two tests of half of the targets run side by side.
fn change_seeds_of_targets_from(first: usize) {
    let mut random = Random(1);
    for target in TARGETS.iter().skip(first).step_by(2) {
        for seed in (target.seeds)() {
            for _ in 0..inputs(target.name, MUTATIONS_PER_SEED.min(40_000_000 / (seed.len() as u32 + 1))) {
                let mut changed = seed.clone();
                for _ in 0..=random.below(4) {
                    let at = random.skewed(seed.len());
                    changed[at] = random.next() as u8;
                }
                (target.run)(&changed);
            }
        }
    }
}

#[test]
fn even_targets_hold_on_seeds_with_a_few_bytes_changed() {
    change_seeds_of_targets_from(0);
}

#[test]
fn odd_targets_hold_on_seeds_with_a_few_bytes_changed() {
    change_seeds_of_targets_from(1);
}

#[test]
fn every_target_holds_on_random_bytes() {
    let mut random = Random(2);
    for target in TARGETS {
        for _ in 0..inputs(target.name, RANDOM_INPUTS) {
            let length = random.skewed(4096);
            (target.run)(&random.bytes(length));
        }
    }
}

#[test]
fn every_target_has_its_file_and_every_file_its_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let files = std::fs::read_dir(folder).expect("the folder of targets");
    let files: BTreeSet<String> =
        files.map(|file| file.expect("an entry").file_name().into_string().expect("a name")).collect();
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| format!("{}.rs", target.name)).collect();
    assert_eq!(files, targets);
}
