//! Keys chosen to mislead a linear regression: the greedy poisoning attack on learned indexes.
//!
//! Kornaropoulos et al., "The Price of Tailoring the Index to Your Data: Poisoning Attacks on Learned Index
//! Structures", SIGMOD 2022, Algorithm 1: add, one by one, the key after whose insertion the least-squares line from
//! key to rank has the largest error. Between two keys the error is convex in the place of the new one, so only the two
//! ends of each gap need a look. The attack is made on every [`CHUNK_KEYS`] keys for itself, as on the models of an
//! RMI's second layer.

use super::source::{Distinct, Source};
use super::spec::Plan;
use super::uniforms::SortedUniforms;
use crate::error::Result;
use crate::random::Random;

/// Honest keys of a chunk.
const CHUNK_KEYS: usize = 250;
/// Keys that the attacker adds to a chunk: one for ten.
const POISON_KEYS: usize = CHUNK_KEYS / 10;

/// Uniform keys, and among them one key in eleven placed by the attacker.
pub(super) fn poison(plan: &Plan) -> Result<Box<dyn Source>> {
    let chunk = (CHUNK_KEYS + POISON_KEYS) as u64;
    // An incomplete chunk is not poisoned.
    let chunks_left = plan.count / chunk;
    let honest = plan.count - chunks_left * POISON_KEYS as u64;
    let uniforms = SortedUniforms::new(honest, Random::new(plan.seed, "sorted uniforms"));
    Ok(Distinct::boxed(Poisoned { uniforms, pending: Vec::new(), chunks_left }, plan.name.clone()))
}

struct Poisoned {
    uniforms: SortedUniforms,
    /// Honest keys that do not yet fill a chunk.
    pending: Vec<u64>,
    chunks_left: u64,
}

impl Source for Poisoned {
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
        while self.pending.len() < CHUNK_KEYS {
            let before = self.pending.len();
            self.uniforms.next_leaf(&mut self.pending);
            if self.pending.len() == before {
                break;
            }
        }
        let chunks = self.chunks_left.min((self.pending.len() / CHUNK_KEYS) as u64);
        if chunks == 0 {
            block.append(&mut self.pending);
            return Ok(());
        }
        self.chunks_left -= chunks;
        let attacked = chunks as usize * CHUNK_KEYS;
        for honest in self.pending[..attacked].chunks(CHUNK_KEYS) {
            block.extend(attack(honest, POISON_KEYS));
        }
        self.pending.drain(..attacked);
        Ok(())
    }
}

/// The keys with `additions` more, each placed where it hurts most; fewer where the keys have no gap left.
fn attack(keys: &[u64], additions: usize) -> Vec<u64> {
    let mut keys = keys.to_vec();
    for _ in 0..additions {
        let Some((place, key)) = worst_addition(&keys) else {
            // No integer is free between the keys: repeat one, the caller makes it distinct.
            keys.extend(keys.last().copied());
            continue;
        };
        keys.insert(place, key);
    }
    keys
}

/// The key whose addition leaves the regression with the largest error, and its place among the keys.
fn worst_addition(keys: &[u64]) -> Option<(usize, u64)> {
    let (first, last) = (*keys.first()?, *keys.last()?);
    let width = (last - first).max(1) as f64;
    let at = |key: u64| (key - first) as f64 / width;
    let count = (keys.len() + 1) as f64;
    let (mut sum, mut squares, mut products) = (0.0, 0.0, 0.0);
    for (rank, key) in keys.iter().enumerate() {
        sum += at(*key);
        squares += at(*key) * at(*key);
        products += at(*key) * rank as f64;
    }
    // The ranks are 0..=n in any case; what is left unexplained is least where cov^2 / var is least.
    let explained = |key: u64, rank: usize, after: f64| {
        let x = at(key);
        let mean = (sum + x) / count;
        let variance = squares + x * x - count * mean * mean;
        let covariance = products + after + x * rank as f64 - mean * count * (count - 1.0) / 2.0;
        covariance * covariance / variance
    };
    let mut after = sum;
    let mut worst: Option<(f64, usize, u64)> = None;
    for (rank, pair) in keys.windows(2).enumerate() {
        after -= at(pair[0]);
        if pair[1] - pair[0] < 2 {
            continue;
        }
        for key in [pair[0] + 1, pair[1] - 1] {
            let score = explained(key, rank + 1, after);
            if worst.is_none_or(|(least, ..)| score < least) {
                worst = Some((score, rank + 1, key));
            }
        }
    }
    worst.map(|(_, place, key)| (place, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean squared error of the least-squares line from key to rank.
    fn error(keys: &[u64]) -> f64 {
        let n = keys.len() as f64;
        let x: Vec<f64> =
            keys.iter().map(|key| (key - keys[0]) as f64 / (keys[keys.len() - 1] - keys[0]) as f64).collect();
        let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, (n - 1.0) / 2.0);
        let covariance: f64 = x.iter().enumerate().map(|(y, x)| (x - mean_x) * (y as f64 - mean_y)).sum();
        let variance: f64 = x.iter().map(|x| (x - mean_x) * (x - mean_x)).sum();
        let slope = covariance / variance;
        x.iter().enumerate().map(|(y, x)| (y as f64 - mean_y - slope * (x - mean_x)).powi(2)).sum::<f64>() / n
    }

    #[test]
    fn the_greedy_key_is_the_worst_of_all_integers() {
        let keys = [0, 3, 4, 9, 17, 18, 30];
        let with = |key: u64| {
            let mut keys = keys.to_vec();
            keys.push(key);
            keys.sort_unstable();
            error(&keys)
        };
        let worst = (1..30).filter(|key| !keys.contains(key)).map(with).fold(0.0, f64::max);
        let found = worst_addition(&keys).map(|(_, key)| with(key)).unwrap_or_default();
        assert!((found - worst).abs() < 1e-12, "{found} of {worst}");
    }

    #[test]
    fn poison_multiplies_the_error_of_a_line() {
        let keys: Vec<u64> = (0..250).map(|index| index * 1_000 + index * index % 997).collect();
        let poisoned = attack(&keys, POISON_KEYS);
        assert!(poisoned.is_sorted() && poisoned.len() == 275);
        assert!(error(&poisoned) > 10.0 * error(&keys), "{} of {}", error(&poisoned), error(&keys));
    }

    #[test]
    fn keys_without_a_gap_cannot_be_poisoned_but_stay_sorted_and_complete() {
        assert!(worst_addition(&[5, 6, 7]).is_none());
        assert_eq!(attack(&[5, 6, 7], 2), [5, 6, 7, 7, 7]);
    }
}
