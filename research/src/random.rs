//! Deterministic random numbers: a generator, fair coins in bulk, exact binomials, and permutations without tables.

/// The SplitMix64 generator (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

/// SplitMix64's finaliser: a bijection of 64 bits that spreads every bit of its input.
pub fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Random {
    /// A generator for one `purpose`: the same seed gives independent streams to different purposes.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let start = mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        Self { state: purpose.bytes().fold(start, |state, byte| mix(state ^ u64::from(byte).rotate_left(56))) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number in `0..bound`, or 0 if the bound is 0. Its bias is below `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number strictly between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// The number of heads among `count` fair coins, with 64 coins per draw.
    pub fn heads(&mut self, count: u64) -> u64 {
        let whole: u64 = (0..count / 64).map(|_| u64::from(self.bits().count_ones())).sum();
        let rest = count % 64;
        whole + u64::from((self.bits() & ((1u64 << rest) - 1)).count_ones())
    }

    /// The number of successes in `count` independent trials with `probability`: an exact binomial variable.
    ///
    /// A trial succeeds if a uniform number lies below the probability. All numbers are compared at once, bit by bit
    /// from the top: at each bit, fair coins split those that are still undecided.
    pub fn binomial(&mut self, count: u64, probability: f64) -> u64 {
        let (mut undecided, mut successes, mut rest) = (count, 0, probability.clamp(0.0, 1.0));
        if rest == 1.0 {
            return count;
        }
        while undecided > 0 && rest > 0.0 {
            let ones = self.heads(undecided);
            rest *= 2.0;
            if rest >= 1.0 {
                rest -= 1.0;
                successes += undecided - ones;
                undecided = ones;
            } else {
                undecided -= ones;
            }
        }
        successes
    }
}

/// A random permutation of `0..length` that is computed, not stored: a Feistel network, walked until it lands inside.
#[derive(Debug, Clone)]
pub struct Permutation {
    length: u64,
    half_bits: u32,
    round_keys: [u64; 4],
}

impl Permutation {
    /// A permutation of `0..length`, chosen by the generator.
    pub fn new(length: u64, random: &mut Random) -> Self {
        let bits = u64::BITS - length.saturating_sub(1).leading_zeros();
        Self { length, half_bits: bits.div_ceil(2).max(1), round_keys: [(); 4].map(|()| random.bits()) }
    }

    /// The image of `index`. An index outside the permuted range maps to itself.
    pub fn apply(&self, index: u64) -> u64 {
        if index >= self.length {
            return index;
        }
        // The network permutes at most four times as many numbers, so that about four steps lead back inside.
        let mut at = self.network(index);
        while at >= self.length {
            at = self.network(at);
        }
        at
    }

    fn network(&self, index: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (index >> self.half_bits, index & mask);
        for key in self.round_keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_and_seeds_give_different_streams_and_equal_ones_the_same() {
        let first = |seed, purpose| Random::new(seed, purpose).bits();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "ab"), first(1, "ba"));
    }

    #[test]
    fn binomials_have_the_mean_and_variance_of_theory() {
        let mut random = Random::new(7, "binomial");
        for probability in [0.001, 0.3, 0.5, 0.9] {
            let (trials, rounds) = (1_000, 4_000);
            let draws: Vec<f64> = (0..rounds).map(|_| random.binomial(trials, probability) as f64).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(rounds);
            let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(rounds);
            let (expected, spread) = (1_000.0 * probability, 1_000.0 * probability * (1.0 - probability));
            assert!((mean - expected).abs() < 5.0 * (spread / f64::from(rounds)).sqrt(), "mean {mean} of {expected}");
            assert!((variance / spread - 1.0).abs() < 0.15, "variance {variance} of {spread}");
        }
        assert_eq!((random.binomial(9, 0.0), random.binomial(9, 1.0), random.binomial(0, 0.5)), (0, 9, 0));
    }

    #[test]
    fn permutations_reach_each_place_once() {
        let mut random = Random::new(1, "permutation");
        for length in [1, 2, 3, 64, 65, 1_000] {
            let permutation = Permutation::new(length, &mut random);
            let mut places: Vec<u64> = (0..length).map(|index| permutation.apply(index)).collect();
            assert!(length < 64 || places.iter().enumerate().any(|(index, place)| index as u64 != *place));
            places.sort_unstable();
            assert_eq!(places, (0..length).collect::<Vec<_>>());
        }
    }
}
