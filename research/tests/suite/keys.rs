//! Properties of key sets: order, count, distinctness, repeatability, and the shape of their curve.

use ogive_research::keys::{generators, open, open_with};
use ogive_research::{Error, Result};

/// The largest distance between the keys' curve and a distribution function; for n keys drawn from that distribution
/// it exceeds 1.95 / sqrt(n) once in a thousand times (Kolmogorov and Smirnov).
fn distance(keys: &[u64], probability_below: impl Fn(f64) -> f64) -> f64 {
    let n = keys.len() as f64;
    let apart = |(index, key): (usize, &u64)| (probability_below(*key as f64) - (index as f64 + 0.5) / n).abs();
    keys.iter().enumerate().map(apart).fold(0.0, f64::max)
}

/// Probability that a standard normal variable lies below `z` (Abramowitz and Stegun, 7.1.26: within 1.5e-7).
fn normal_below(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let sum = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592]
        .into_iter()
        .fold(0.0, |sum, coefficient| sum * t + coefficient);
    let tail = sum * t * (-x * x).exp() / 2.0;
    if z > 0.0 { 1.0 - tail } else { tail }
}

fn critical(count: usize) -> f64 {
    1.95 / (count as f64).sqrt()
}

#[test]
fn every_set_is_sorted_and_has_exactly_its_keys() -> Result<()> {
    for generator in generators() {
        for count in [0, 1, 2, 63, 1_000, 1_099, 20_001, 300_000] {
            let count = generator.most_keys.min(count);
            let options = if generator.name == "outliers" { ":outliers=0" } else { "" };
            let set = open(&format!("{}:{count}:seed=2{options}", generator.name))?;
            let keys = set.load()?;
            assert_eq!((keys.len() as u64, set.len()), (count, count), "{}", set.name());
            let ordered = if generator.distinct { keys.is_sorted_by(|a, b| a < b) } else { keys.is_sorted() };
            assert!(ordered, "{} is out of order", set.name());
        }
    }
    Ok(())
}

#[test]
fn a_set_is_the_same_each_time_and_another_under_another_seed() -> Result<()> {
    let alike = ["linear", "staircase", "dense-runs", "powers", "nested-halves", "far-runs", "clusters", "fibonacci"];
    let alike = [&alike[..], &["bit-reversed"]].concat();
    for generator in generators() {
        let load = |seed| open_with(generator.name, 5_000, Some(seed))?.load();
        assert_eq!(load(1)?, load(1)?, "{}", generator.name);
        assert_eq!(load(1)? == load(2)?, alike.contains(&generator.name), "{}", generator.name);
    }
    Ok(())
}

/// The first keys of each random set, written down once: a change of a generator would silently change every figure
/// that was measured with it, and so would a machine with another mathematics library.
#[test]
fn keys_never_change_between_versions_and_machines() -> Result<()> {
    let fingerprint = |spec: &str| -> Result<u64> {
        let keys = open(spec)?.load()?;
        Ok(keys.iter().fold(0xcbf2_9ce4_8422_2325, |hash, key| (hash ^ key).wrapping_mul(0x100_0000_01b3)))
    };
    let mut found = String::new();
    for generator in generators() {
        found += &format!(
            "{} {:016x}\n",
            generator.name,
            fingerprint(&format!("{}:{}", generator.name, generator.most_keys.min(10_000)))?
        );
    }
    assert_eq!(found, include_str!("fingerprints.txt"), "if a generator was meant to change, change this file with it");
    Ok(())
}

#[test]
fn lognormal_keys_follow_their_distribution() -> Result<()> {
    let keys = open("lognormal:200k:seed=9")?.load()?;
    let far = distance(&keys, |key| normal_below((key.max(1.0) / 1e12).ln() / 2.0));
    assert!(far < critical(keys.len()), "{far}");
    let logarithms: Vec<f64> = keys.iter().map(|key| (*key as f64 / 1e12).ln()).collect();
    let n = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / n;
    let deviation = (logarithms.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
    assert!(mean.abs() < 4.0 * 2.0 / n.sqrt() && (deviation - 2.0).abs() < 4.0 * 2.0 / (2.0 * n).sqrt());
    Ok(())
}

#[test]
fn uniform_normal_sparse_and_dense_keys_follow_their_distributions() -> Result<()> {
    type Below = fn(f64) -> f64;
    let cases: [(&str, Below); 4] = [
        ("uniform:200k", |key| key / 2f64.powi(62)),
        ("sparse:200k", |key| key / 2f64.powi(64)),
        ("dense:200k", |key| key / 400e3),
        ("normal:200k", |key| normal_below((key - 2f64.powi(55)) / 2f64.powi(50))),
    ];
    for (spec, below) in cases {
        let keys = open(spec)?.load()?;
        let far = distance(&keys, below);
        assert!(far < critical(keys.len()), "{spec}: {far}");
    }
    assert!(open("uniform:200k")?.load()?[199_999] < 1 << 62);
    Ok(())
}

#[test]
fn log_uniform_keys_fill_each_octave_alike() -> Result<()> {
    let keys = open("log-uniform:64k")?.load()?;
    // The octaves below have fewer integers than keys, and spill over.
    for octave in 15..64 {
        let below = |key: u64| keys.partition_point(|found| *found < key);
        let end = if octave == 63 { keys.len() } else { below(2 << octave) };
        let (all, lower_half) = (end - below(1 << octave), below(3 << (octave - 1)) - below(1 << octave));
        assert!(all.abs_diff(1_000) < 160, "{all} keys in octave {octave}");
        let share = lower_half as f64 / all as f64;
        assert!((share - 1.5f64.log2()).abs() < 0.08, "{share} of octave {octave} in its lower half");
    }
    Ok(())
}

#[test]
fn a_mixture_has_a_hundred_clusters() -> Result<()> {
    let keys = open("gmm:300k")?.load()?;
    // A deviation is at most 2^54, so neighbours of one cluster are hardly ever further apart; clusters are.
    let clusters = 1 + keys.windows(2).filter(|pair| pair[1] - pair[0] > 1 << 54).count();
    assert!((40..=100).contains(&clusters), "{clusters}");
    Ok(())
}

#[test]
fn steps_and_segments_have_their_lengths_and_gaps() -> Result<()> {
    for (name, length, widest) in [("step", 1_000, 1_000_000_000), ("seg1", 100, 100_000), ("seg10", 10, 10_000)] {
        let keys = open(&format!("{name}:100k"))?.load()?;
        let mut gaps = Vec::new();
        for (index, pair) in keys.windows(2).enumerate() {
            let gap = pair[1] - pair[0];
            if (index + 1) % length == 0 {
                gaps.push(gap as f64);
            } else {
                assert_eq!(gap, 1, "{name}");
            }
        }
        assert!(gaps.iter().all(|gap| *gap <= widest as f64));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean / (widest as f64 / 2.0) - 1.0).abs() < 0.25, "{name}: mean gap {mean}");
    }
    Ok(())
}

#[test]
fn zipf_repeats_follow_the_law() -> Result<()> {
    let keys = open("zipf:100k:skew=1:repeats=10")?.load()?;
    let mut runs: Vec<usize> = keys.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    assert_eq!(runs.len(), 10_000);
    let popular_first = runs.iter().take(100).max() < runs.iter().max();
    assert!(popular_first, "popularity is scattered over the keys");
    runs.sort_unstable_by(|a, b| b.cmp(a));
    let harmonic: f64 = (1..=10_000).map(|rank| 1.0 / f64::from(rank)).sum();
    for rank in [1, 2, 10, 100] {
        let expected = 1.0 + 90_000.0 / harmonic / rank as f64;
        assert!((runs[rank - 1] as f64 - expected).abs() <= 1.0, "rank {rank}: {} of {expected}", runs[rank - 1]);
    }
    Ok(())
}

#[test]
fn nasty_sets_have_their_landmarks() -> Result<()> {
    let dense_runs = open("dense-runs:1000")?.load()?;
    for landmark in [0, 199, 1 << 32, 1 << 53, 1 << 63, u64::MAX - 199, u64::MAX] {
        assert!(dense_runs.contains(&landmark), "{landmark}");
    }
    assert_eq!(open("powers")?.load()?, (0..64).map(|power| 1 << power).collect::<Vec<u64>>());
    let fibonacci = open("fibonacci")?.load()?;
    assert!(fibonacci.windows(3).all(|three| three[0] + three[1] == three[2]));
    assert!(fibonacci[90].checked_add(fibonacci[91]).is_none(), "the next one would not fit");
    let far = open("far-runs:10")?.load()?;
    assert_eq!(far[5] - far[0], 1 << 63);
    let clusters = open("clusters:5000")?.load()?;
    assert!((0..1_000).all(|cluster| clusters[cluster * 5] == (cluster as u64) << 43));
    let mut reversed: Vec<u64> = (0..1_000u64).map(u64::reverse_bits).collect();
    reversed.sort_unstable();
    assert_eq!(open("bit-reversed:1000")?.load()?, reversed);
    let near = open("near-linear:1000")?.load()?;
    assert!(near.iter().zip(1..).all(|(key, index)| key.abs_diff(index * 16) <= 1));
    assert!(open("equal:100")?.load()?.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(open("outliers:100k")?.load()?.iter().filter(|key| **key > 1 << 63).count(), 20);
    assert_eq!(open("staircase:130:width=65")?.load()?[64..66], [64, 1 << 20]);
    Ok(())
}

#[test]
fn nested_halves_hold_equally_many_keys_each() -> Result<()> {
    let keys = open("nested-halves:64000")?.load()?;
    let (mut start, mut counts) = (0u64, Vec::new());
    for bits in (1..64).rev() {
        let middle = start + (1 << bits);
        let last = middle + ((1 << bits) - 1);
        let outer = if bits % 2 == 1 { start..=middle - 1 } else { middle..=last };
        counts.push(keys.iter().filter(|key| outer.contains(key)).count());
        start = if bits % 2 == 1 { middle } else { start };
    }
    assert!(counts[..40].iter().all(|count| (1_000..=1_010).contains(count)), "{counts:?}");
    Ok(())
}

#[test]
fn what_cannot_be_made_is_refused_with_a_reason() {
    for (spec, reason) in [
        ("uniformly:10M", "did you mean \"uniform\"?"),
        ("uniform:10M:skew=2", "no option \"skew\""),
        ("powers:65", "at most 64"),
        ("hardness:1M:local=1:global=2", "local hardness"),
        ("zipf:repeats=0", "repeats"),
        ("zipf:repeats=nan", "finite"),
        ("staircase:width=0", "width"),
        ("outliers:5", "outliers"),
        ("step:99999999G", "64 bits"),
    ] {
        let message = open(spec).map_or_else(|error| error.to_string(), |set| format!("{} was opened", set.name()));
        assert!(message.contains(reason), "{spec}: {message}");
    }
    assert!(matches!(open("far-runs:9999999999G"), Err(Error::TooManyKeys { .. })));
}
