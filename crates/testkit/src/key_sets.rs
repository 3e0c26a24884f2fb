//! Adversarial key sets: sorted, deterministic, and known to have broken learned indexes.

use crate::random::Random;

/// Every nasty set, sorted ascending, with its name. Sets have at most `size` keys (or one or two more), and fewer
/// where the pattern has no more. `all_equal` and `zipf_duplicates` repeat keys; the others do not.
pub fn nasty(size: usize) -> Vec<(&'static str, Vec<u64>)> {
    let n = size as u64;
    let mut sets = vec![
        ("empty", vec![]),
        ("one_zero", vec![0]),
        ("one_max", vec![u64::MAX]),
        ("two_ends", vec![0, u64::MAX]),
        ("two_neighbours_at_the_top", vec![u64::MAX - 1, u64::MAX]),
        ("dense_at_0", dense(0, n)),
        ("dense_at_2_32", dense((1 << 32) - n / 2, n)),
        ("dense_at_2_53", dense((1 << 53) - n / 2, n)),
        ("dense_at_2_63", dense((1 << 63) - n / 2, n)),
        ("dense_at_the_top", (0..n).map(|i| u64::MAX - (n - 1 - i)).collect()),
        ("dense_everywhere", dense_everywhere(n)),
        ("powers_of_two", (0..64).map(|bit| 1 << bit).collect()),
        ("nested_halves", nested_halves()),
        ("two_runs_2_63_apart", [dense(0, n / 2), dense(1 << 63, n / 2)].concat()),
        ("thousand_clusters", thousand_clusters(n)),
        ("log_uniform", log_uniform(n)),
        ("fibonacci", fibonacci()),
        ("bit_reversed_counter", (0..n).map(u64::reverse_bits).collect()),
        ("nearly_linear", nearly_linear(n)),
        ("staircase_of_width_9", staircase(n, 9)),
        ("staircase_of_width_65", staircase(n, 65)),
        ("staircase_of_width_129", staircase(n, 129)),
        ("all_equal", vec![1 << 40; size]),
        ("zipf_duplicates", zipf_duplicates(n)),
        ("greedy_poison", greedy_poison(n)),
        ("alternating_slopes", alternating_slopes(n)),
        ("random_deletes", random_deletes(n)),
    ];
    for (name, keys) in &mut sets {
        keys.sort_unstable();
        if !matches!(*name, "all_equal" | "zipf_duplicates") {
            keys.dedup();
        }
        keys.truncate(size.max(2));
    }
    sets
}

fn dense(start: u64, count: u64) -> Vec<u64> {
    (0..count).map(|i| start + i).collect()
}

/// A run at each place where an integer or a float changes its mind, in one set.
fn dense_everywhere(n: u64) -> Vec<u64> {
    let run = n / 6;
    let starts = [0, (1 << 32) - run / 2, (1 << 53) - run / 2, (1 << 63) - run / 2];
    let mut keys: Vec<u64> = starts.into_iter().flat_map(|start| dense(start, run)).collect();
    keys.extend((0..run).map(|i| u64::MAX - i));
    keys
}

/// 2^64 halved again and again, from both sides of each cut.
fn nested_halves() -> Vec<u64> {
    (0..64).flat_map(|depth| [(u64::MAX >> depth) - 1, u64::MAX >> depth, u64::MAX - (u64::MAX >> depth)]).collect()
}

fn thousand_clusters(n: u64) -> Vec<u64> {
    let run = (n / 1000).max(1);
    (0..1000).flat_map(|cluster| dense(cluster << 43, run)).collect()
}

fn log_uniform(n: u64) -> Vec<u64> {
    let mut random = Random::new(11);
    (0..n)
        .map(|_| {
            let bits = random.below(64);
            (1 << bits) | (random.next_u64() & ((1 << bits) - 1))
        })
        .collect()
}

fn fibonacci() -> Vec<u64> {
    let mut keys = vec![1_u64, 2];
    while let [.., before, last] = keys[..]
        && let Some(next) = last.checked_add(before)
    {
        keys.push(next);
    }
    keys
}

/// A line through wide gaps, each key one off at random.
fn nearly_linear(n: u64) -> Vec<u64> {
    let gap = (u64::MAX / n.max(1)).clamp(3, 1 << 44);
    let mut random = Random::new(12);
    (0..n).map(|i| (i * gap + 1).wrapping_add(random.below(3)).wrapping_sub(1)).collect()
}

/// Dense steps of `width` keys, far apart: each step just exceeds the corridor of error (width - 1) / 2.
fn staircase(n: u64, width: u64) -> Vec<u64> {
    (0..n).map(|i| ((i / width) << 32) + i % width).collect()
}

/// Each key as often as Zipf's law with exponent 1 says.
fn zipf_duplicates(n: u64) -> Vec<u64> {
    let distinct = (n / 4).max(1);
    let harmonic: f64 = (1..=distinct).map(|rank| 1.0 / rank as f64).sum();
    let mut random = Random::new(13);
    let mut keys = Vec::new();
    for rank in 1..=distinct {
        let count = (n as f64 / harmonic / rank as f64).ceil() as u64;
        let key = random.next_u64();
        keys.extend((0..count.min(n - keys.len() as u64)).map(|_| key));
    }
    keys
}

/// Uniform keys and, after "The Price of Tailoring the Index to Your Data" (Kornaropoulos, Ren and Tamassia, 2022), a
/// tenth more packed around the densest places, which bends the curve most.
fn greedy_poison(n: u64) -> Vec<u64> {
    let mut random = Random::new(14);
    let mut keys: Vec<u64> = (0..n - n / 10).map(|_| random.next_u64() >> 1).collect();
    keys.sort_unstable();
    for poison in 0..4 {
        let around = keys.get(keys.len() / 5 * (poison + 1)).copied().unwrap_or(0);
        keys.extend((1..=n / 40).map(|i| around + i));
    }
    keys
}

/// Runs of doubling length, by turns dense and sparse: no straight line serves two neighbours.
fn alternating_slopes(n: u64) -> Vec<u64> {
    let mut keys = Vec::new();
    let (mut key, mut run, mut sparse) = (0_u64, 1_u64, false);
    while (keys.len() as u64) < n {
        for _ in 0..run.min(n - keys.len() as u64) {
            keys.push(key);
            key += if sparse { 1 << 30 } else { 1 };
        }
        sparse = !sparse;
        run = if run >= 512 { 1 } else { run * 2 };
    }
    keys
}

/// A dense run with a random half removed, and one long hole.
fn random_deletes(n: u64) -> Vec<u64> {
    let mut random = Random::new(15);
    (0..3 * n).filter(|i| (*i < n / 2 || *i > n) && random.one_in(2)).map(|i| (1 << 50) + i).collect()
}
