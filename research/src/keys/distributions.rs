//! Key sets drawn from a distribution: sorted uniform numbers mapped by its quantile function.

use super::source::{Counted, Distinct, Mapped, Source, SourceResult};
use super::spec::Plan;
use super::uniforms::{LEAF_KEYS, SortedUniforms};
use crate::error::{Error, Result};
use crate::math::{exp, normal_quantile};
use crate::random::Random;

/// Number of clusters of the Gaussian mixture (AirIndex, Section 7.1).
const CLUSTERS: usize = 100;

/// Distinct keys of the distribution whose quantile function is `quantile`; it must ascend.
fn drawn(plan: &Plan, quantile: impl FnMut(u64) -> u64 + Send + 'static) -> SourceResult {
    let inner = SortedUniforms::new(plan.count, Random::new(plan.seed, "sorted uniforms"));
    Ok(Distinct::boxed(Mapped::new(inner, quantile), plan.name.clone()))
}

/// The share `fraction / 2^64` of `width`, rounded down.
fn share(fraction: u64, width: u64) -> u64 {
    ((u128::from(fraction) * u128::from(width)) >> 64) as u64
}

/// Uniform in `1..2^62`.
pub(super) fn uniform(plan: &Plan) -> SourceResult {
    drawn(plan, |fraction| 1 + share(fraction, (1 << 62) - 1))
}

/// Uniform in `0..2^64`.
pub(super) fn sparse(plan: &Plan) -> SourceResult {
    drawn(plan, |fraction| fraction)
}

/// exp(N(0, 2)) times 10^12, rounded down: a standard deviation of 2 for the logarithm.
pub(super) fn lognormal(plan: &Plan) -> SourceResult {
    drawn(plan, |fraction| (exp(2.0 * normal_quantile(fraction)) * 1e12) as u64)
}

/// N(2^55, 2^50), rounded down, within the range that a double resolves.
pub(super) fn normal(plan: &Plan) -> SourceResult {
    drawn(plan, |fraction| scaled_normal(fraction, 1 << 55, (1u64 << 50) as f64))
}

/// A normal key, for a centre above 16 deviations: no fraction of 64 bits lies more than 9.2 of them out.
fn scaled_normal(fraction: u64, centre: u64, deviation: f64) -> u64 {
    centre.saturating_add_signed((deviation * normal_quantile(fraction)) as i64)
}

/// The logarithm is uniform: as many keys between 2^k and 2^(k+1) for every k, until the small integers are used up.
pub(super) fn log_uniform(plan: &Plan) -> SourceResult {
    drawn(plan, |fraction| {
        // The top six bits choose the octave, the rest the place in it, by its logarithm.
        let octave = fraction >> 58;
        let place = (fraction << 6) as f64 / 18_446_744_073_709_551_616.0;
        let significand = (exp(place * std::f64::consts::LN_2).min(2.0 - f64::EPSILON) * (1u64 << 52) as f64) as u64;
        if octave >= 52 { significand << (octave - 52) } else { significand >> (52 - octave) }
    })
}

/// A mixture of [`CLUSTERS`] normal distributions whose centres are uniform in `2^58..2^62`, whose deviations are
/// log-uniform between 2^40 and 2^54, and whose weights are uniform.
pub(super) fn gaussian_mixture(plan: &Plan) -> SourceResult {
    let mut random = Random::new(plan.seed, "clusters");
    let weights: Vec<f64> = (0..CLUSTERS).map(|_| random.unit()).collect();
    let (mut keys_left, mut weight_left) = (plan.count, weights.iter().sum::<f64>());
    let mut streams = Vec::with_capacity(CLUSTERS);
    for (cluster, weight) in weights.iter().enumerate() {
        // A multinomial split, one binomial at a time; the last cluster takes what is left.
        let last = cluster + 1 == CLUSTERS;
        let count = if last { keys_left } else { random.binomial(keys_left, weight / weight_left) };
        keys_left -= count;
        weight_left -= weight;
        let centre = (1u64 << 58) + random.below((1 << 62) - (1 << 58));
        let deviation = exp((40.0 + 14.0 * random.unit()) * std::f64::consts::LN_2);
        let inner = SortedUniforms::new(count, Random::new(plan.seed, &format!("cluster {cluster}")));
        let change = move |fraction| scaled_normal(fraction, centre, deviation);
        streams.push(Box::new(Mapped::new(inner, change)) as Box<dyn Source>);
    }
    Ok(Distinct::boxed(Merged::new(streams)?, plan.name.clone()))
}

/// Ascending sources merged into one.
struct Merged {
    /// Each source with its block of keys, which is empty only at its end, and how many of them are handed out.
    streams: Vec<(Box<dyn Source>, Vec<u64>, usize)>,
}

impl Merged {
    fn new(sources: Vec<Box<dyn Source>>) -> Result<Self> {
        let mut streams = Vec::with_capacity(sources.len());
        for mut source in sources {
            let mut block = Vec::with_capacity(LEAF_KEYS as usize);
            source.fill(&mut block)?;
            streams.push((source, block, 0));
        }
        Ok(Self { streams })
    }
}

impl Source for Merged {
    /// All keys up to the lowest end of a block are loaded: take and sort them.
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
        let Some(end) = self.streams.iter().filter_map(|(_, keys, _)| keys.last().copied()).min() else {
            return Ok(());
        };
        for (source, keys, taken) in &mut self.streams {
            let count = keys[*taken..].partition_point(|key| *key <= end);
            block.extend_from_slice(&keys[*taken..*taken + count]);
            *taken += count;
            if *taken == keys.len() {
                keys.clear();
                *taken = 0;
                source.fill(keys)?;
            }
        }
        block.sort_unstable();
        Ok(())
    }
}

/// Uniform ids below a thousand times their number, and a few keys at the top of the key space, 2^40 apart, `u64::MAX`
/// among them: the shape of SOSD's `fb`.
pub(super) fn outliers(plan: &Plan) -> SourceResult {
    let far = plan.option("outliers");
    if far.fract() != 0.0 || far > plan.count.min(1 << 20) as f64 {
        return Err(Error::spec(
            &plan.name,
            "outliers must be an integer, at most 2^20 and at most the number of keys",
        ));
    }
    let far = far as u64;
    let ids = plan.count - far;
    let Some(space) = ids.checked_mul(1_000).filter(|space| *space < 1 << 62) else {
        return Err(plan.too_many("the ids would exceed 62 bits"));
    };
    let uniforms = SortedUniforms::new(ids, Random::new(plan.seed, "sorted uniforms"));
    let low = Mapped::new(uniforms, move |fraction| share(fraction, space));
    let top = Counted::boxed(far, move |index| u64::MAX - ((far - 1 - index) << 40));
    Ok(Distinct::boxed(Merged::new(vec![Box::new(low), top])?, plan.name.clone()))
}
